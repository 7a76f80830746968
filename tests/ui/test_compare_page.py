"""The Compare page without a browser: links, edits, faults, files, what was sent, runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_reading import page_address, page_charts, page_html, page_words, put_address
from streamlit.testing.v1 import AppTest

from tileviz.comparing.comparison import MAX_NAME, MAX_NOTE
from tileviz.comparing.inputs import fields_of
from tileviz.comparing.pairs import MAX_FILE, MAX_PAIR_LINK, Pair, pair_file, read_pair, read_side
from tileviz.errors import DesignError
from tileviz.export.links import page_url
from tileviz.figures.overview import pictures
from tileviz.figures.tokens import LIGHT
from tileviz.studies.registry import make_design, preset, presets, study_of
from tileviz.ui.compare.files import opened
from tileviz.ui.compare.fitting import fitted
from tileviz.ui.compare.form import FIELDS, CompareForm, label
from tileviz.ui.compare.starts import starts
from tileviz.ui.compare.state import RULES, CompareState, arrived, too_long

PAGE = "pages/7_Compare.py"
Opened = Callable[..., AppTest]


def _design(name: str) -> Any:
    found = preset(name)
    assert found is not None
    return found.design


BANKS = Pair(_design("banks-transpose-32x32"), _design("banks-padding-33")).query()
HOSTILE = "<img src=x onerror=alert(1)>"


def test_an_empty_page_says_what_it_is_for_and_offers_three_pairs(open_page: Opened) -> None:
    test = open_page(PAGE)
    assert "Nothing to compare yet." in page_words(test)
    assert page_address(test) == {}
    assert len(starts()) == 3
    for number, start in enumerate(starts()):
        assert test.button(key=f"compare.start.{number}").label == start.title
    test.button(key="compare.start.0").click().run()
    assert not test.exception
    assert "“33 columns” is better: 1 wavefront against 32" in page_words(test)
    assert page_address(test) == starts()[0].pair.query()
    assert len(page_charts(test)) == 4


def test_a_cold_link_shows_both_and_marks_what_differs(open_page: Opened) -> None:
    test = open_page(PAGE, {**BANKS, "right_name": "padded", "note": f"See\n{HOSTILE}"})
    words = page_words(test)
    assert "“padded” is better: 1 wavefront against 32, 31 fewer (−97%)." in words
    assert f"See\n{HOSTILE}" in words
    assert "<img" not in page_html(test)
    assert "1 of 7 differ" in words
    assert re.search(r"layout≠differsS\[\(32, 32\):\(32, 1\)\]S\[\(32, 32\):\(33, 1\)\]", words)
    assert "6 equal inputs" in words
    assert "ld 4 B column, wavefronts lower is better32better: ✓ 1−31" in words
    assert "2 lines changed." in words
    assert "<mark>33</mark>" in page_html(test)
    assert test.text_input(key="compare.left").value == BANKS["left"]
    assert page_address(test) == {**BANKS, "right_name": "padded", "note": f"See\n{HOSTILE}"}


@pytest.mark.parametrize("number", range(len(starts())))
def test_every_start_opens_cold(open_page: Opened, number: int) -> None:
    pair = starts()[number].pair
    test = open_page(PAGE, pair.query())
    assert "is better" in page_words(test)
    assert "tv-input-error" not in page_html(test)
    assert page_address(test) == pair.query()


@pytest.mark.parametrize("study", ["permute", "layout", "kernel"])
def test_the_other_studies_open_too(open_page: Opened, study: str) -> None:
    known = [found.design for found in presets() if found.study == study][:2]
    test = open_page(PAGE, Pair(known[0], known[1]).query())
    assert "tv-input-error" not in page_html(test)
    assert "Inputs" in page_words(test)
    assert ("Run both" in page_words(test)) == (study != "layout")


def test_a_side_is_edited_and_the_address_follows(open_page: Opened) -> None:
    test = open_page(PAGE, BANKS)
    test.text_input(key="compare.right").set_value("banks-transpose-32x32").run()
    assert "Equal: both sides are the same design." in page_words(test)
    assert page_address(test) == {**BANKS, "right": BANKS["left"]}
    test.text_input(key="compare.left").set_value(
        json.dumps(_design("banks-tma-128b").document())
    ).run()
    assert "Left is better" in page_words(test)
    assert page_address(test)["left"] == page_url(_design("banks-tma-128b"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/Layouts?v=2&layout=S[32:1]", "Left, v: written by another version of tileviz"),
        ("/Compare?v=1&left=/Layouts", "Left: is the link of a comparison"),
        ("no-such-preset", "Left: is no link, preset or JSON"),
        (HOSTILE, "Left: is no link, preset or JSON"),
        ('{"study": "access", "pattern": "row", "layout": "S[(4"}', "Left, layout: "),
    ],
)
def test_a_fault_on_one_side_leaves_everything_drawn(
    open_page: Opened, text: str, said: str
) -> None:
    test = open_page(PAGE, BANKS)
    test.text_input(key="compare.left").set_value(text).run()
    assert not test.exception
    words = page_words(test)
    assert said in words
    assert "The last valid design stays below." in words
    assert "Right is better: 1 wavefront against 32" in words
    assert "<img" not in page_html(test)
    # Nothing typed is lost, and a reload finds the last good pair.
    assert test.text_input(key="compare.left").value == text
    assert page_address(test) == BANKS


def test_a_link_with_one_broken_side_draws_the_other(open_page: Opened) -> None:
    link = {**BANKS, "left": "/Banks_and_swizzles?v=1&layout=S[(", "colour": HOSTILE, "v": "2"}
    test = open_page(PAGE, link)
    words = page_words(test)
    assert "Link: written by another version of tileviz" in words
    assert "Link key “colour”: unknown key of a comparison" in words
    assert "Left, layout: " in words
    assert "1 wavefront, ideal 1, conflict-free." in words
    assert len(page_charts(test)) == 2
    assert "<img" not in page_html(test)
    assert test.text_input(key="compare.left").value == link["left"]


def test_two_studies_are_not_comparable_and_both_are_shown(open_page: Opened) -> None:
    query = Pair(_design("permute-demo"), _design("schedule-zn-3")).query()
    test = open_page(PAGE, query)
    words = page_words(test)
    assert "Not comparable: left is of Permute layout, right is of Block schedule." in words
    assert "Conflict-free: read 4 wavefronts" in words
    assert "Order cannot change what is read" in words
    assert page_address(test) == query


def test_one_side_alone_says_what_is_missing(open_page: Opened) -> None:
    test = open_page(PAGE, {"v": "1", "right": BANKS["right"]})
    words = page_words(test)
    assert "The left side is empty." in words
    assert "1 wavefront, ideal 1, conflict-free." in words


def test_swapping_changes_everything_over(open_page: Opened) -> None:
    test = open_page(PAGE, {**BANKS, "left_name": "plain"})
    test.button(key="compare.swap").click().run()
    assert "Left is better: 1 wavefront against 32" in page_words(test)
    assert page_address(test) == {
        "v": "1", "left": BANKS["right"], "right": BANKS["left"], "right_name": "plain",
    }  # fmt: skip


def test_names_and_notes_are_text_within_limits(open_page: Opened) -> None:
    test = open_page(PAGE, BANKS)
    test.text_input(key="compare.left_name").set_value(HOSTILE)
    test.text_area(key="compare.note").set_value("</p><script>x</script>").run()
    assert f"{HOSTILE}▲Attention: 32 wavefronts" in page_words(test)
    assert "<img" not in page_html(test)
    assert "<script" not in page_html(test)
    assert page_address(test)["left_name"] == HOSTILE
    test.text_input(key="compare.left_name").set_value("x" * 500).run()
    assert f"Left name: at most {MAX_NAME} characters" in page_words(test)
    assert test.text_input(key="compare.left_name").value == "x" * 500
    assert f"\n{'x' * MAX_NAME}▲" in page_words(test)


def test_presets_fill_a_side_and_drop_the_name_of_a_start(open_page: Opened) -> None:
    test = open_page(PAGE, starts()[0].pair.query())
    test.selectbox(key="compare.left.preset").set_value("banks-tma-128b").run()
    assert not test.exception
    assert read_side(test.text_input(key="compare.left").value).study == "access"
    assert test.text_input(key="compare.left_name").value == ""
    assert test.text_input(key="compare.right_name").value == "33 columns"
    assert test.selectbox(key="compare.left.preset").value is None


# -- what other pages sent -------------------------------------------------------------------------


def _sent(open_page: Opened, *names: str, query: Mapping[str, str] | None = None) -> AppTest:
    test = open_page("app.py")
    test.session_state["compare.sent"] = [_design(name).document() for name in names]
    put_address(test, query or {})
    test.switch_page(PAGE).run()
    assert not test.exception
    return test


def test_what_was_sent_fills_empty_sides(open_page: Opened) -> None:
    test = _sent(open_page, "banks-transpose-32x32", "banks-padding-33")
    assert "Right is better: 1 wavefront against 32" in page_words(test)
    assert page_address(test) == BANKS


def test_what_was_sent_goes_where_people_put_it(open_page: Opened) -> None:
    names = ("banks-transpose-32x32", "banks-padding-33", "banks-tma-128b")
    test = _sent(open_page, *names)
    chosen = test.selectbox(key="compare.chosen_sent")
    assert chosen.label == "Sent here (3)"
    assert "Banks and swizzles: 4 wavefronts" in chosen.options[2]
    test.button(key="compare.sent_to_left").click().run()
    assert page_address(test)["left"] == page_url(_design("banks-tma-128b"))
    test.selectbox(key="compare.chosen_sent").set_value(0).run()
    test.button(key="compare.sent_to_right").click().run()
    assert page_address(test)["right"] == BANKS["left"]
    test.button(key="compare.clear_sent").click().run()
    assert not test.exception
    assert "Left is better" in page_words(test)
    assert [box.key for box in test.selectbox if box.key == "compare.chosen_sent"] == []


def test_a_link_comes_before_what_was_sent(open_page: Opened) -> None:
    test = _sent(open_page, "permute-demo", query=BANKS)
    assert "Right is better: 1 wavefront" in page_words(test)
    assert test.selectbox(key="compare.chosen_sent").label == "Sent here (1)"


@pytest.mark.parametrize("held", ["nonsense", [{"study": "weave"}, 7, None], [[]] * 100])
def test_nonsense_in_the_list_is_left_out(open_page: Opened, held: Any) -> None:
    test = open_page("app.py")
    test.session_state["compare.sent"] = held
    test.switch_page(PAGE).run()
    assert not test.exception
    assert "Nothing to compare yet." in page_words(test)


def test_coming_back_finds_what_was_typed(open_page: Opened) -> None:
    test = open_page(PAGE, BANKS)
    test.text_input(key="compare.left").set_value("/Layouts?layout=S[(").run()
    test.switch_page("app.py").run()
    test.query_params.clear()
    test.switch_page(PAGE).run()
    assert not test.exception
    assert test.text_input(key="compare.left").value == "/Layouts?layout=S[("
    assert "Right is better" in page_words(test)


# -- runs ------------------------------------------------------------------------------------------


def _ran(test: AppTest) -> str:
    next(button for button in test.button if button.label == "Run").click().run()
    for _ in range(400):
        assert not test.exception
        if "Measured" in page_words(test) or "Did not run" in page_words(test):
            return page_words(test)
        test.run()
    raise AssertionError(page_words(test)[-400:])


@pytest.mark.parametrize("number", range(len(starts())))
def test_both_run_and_what_was_measured_stands_side_by_side(open_page: Opened, number: int) -> None:
    words = _ran(open_page(PAGE, starts()[number].pair.query()))
    assert words.count("Output correct") == 2
    assert "registers a thread" in words
    if number == 0:
        assert "Measured. “33 columns” is better: 1 wavefront against 32, 31 fewer (−97%)." in words
        assert "The kernels, which also fill and show memory, take 64 and 33 wavefronts" in words
        assert words.index("The access alone, in wavefronts") < words.index("what fills and shows")
        assert "ld.shared10tile[lane * 32]32110tile[lane * 33]11" in words
    if number == 1:
        assert "ran instead" in words


def test_a_side_without_a_kernel_leaves_the_other_to_run(open_page: Opened) -> None:
    dynamic = {"study": "broadcast", "operands": [[1, 1, 1, 192]], "out": [-1, 56, 56, 192]}
    test = open_page(PAGE, Pair(make_design(dynamic), _design("broadcast-192")).query())
    assert "Right is better: it has a plan of ours, left has none" in page_words(test)
    assert "No CUDA." in page_words(test)
    words = _ran(test)
    assert "Did not run." in words
    assert words.count("Output correct") == 1


def test_own_kernels_are_compared_by_what_is_measured(open_page: Opened) -> None:
    pair = Pair(_design("kernel-transpose"), _design("kernel-transpose-padded"))
    test = open_page(PAGE, pair.query())
    assert "Open: nothing is predicted for kernels of your own" in page_words(test)
    words = _ran(test)
    # Once there is a measurement, it is the verdict of the page, too.
    assert words.count("Measured. Right is better: 256 wavefronts against 4,224") == 2
    assert "Open: nothing is predicted" not in words


# -- the rules, without a page -----------------------------------------------------------------


def test_a_pair_too_long_for_a_link_leaves_the_address_and_says_so(open_page: Opened) -> None:
    source = 'extern "C" __global__ void k() {}\n' + "".join(
        f"// {number:05d} not in order, so that nothing is short\n" for number in range(600)
    )
    long = make_design({"study": "kernel", "source": source, "entry": "k"})
    text = json.dumps(long.document())
    test = open_page(PAGE)
    test.text_input(key="compare.left").set_value(text)
    test.text_input(key="compare.right").set_value(text).run()
    assert not test.exception
    assert "Equal: both sides are the same design." in page_words(test)
    assert too_long(Pair(long, long)) > MAX_PAIR_LINK
    assert "too long for a link" in page_words(test)
    assert page_address(test) == {"v": "1"}


@given(st.dictionaries(st.sampled_from([*FIELDS, "v", "colour"]), st.text(max_size=60)))
def test_any_link_gives_a_state_that_keeps_its_text(query: dict[str, str]) -> None:
    state = RULES.opened(None, query)
    for name in FIELDS:
        assert getattr(state.form, name) == query.get(name, "")
    assert RULES.opened(state, query) is state


def test_an_edit_without_a_change_keeps_the_faults_of_a_link() -> None:
    state = RULES.opened(None, {"colour": "red", **BANKS})
    assert state.problems
    assert RULES.edited(state, state.form) is state
    assert RULES.address(state) is None
    clean = RULES.edited(state, CompareForm.from_query({**BANKS, "note": "x"}))
    assert RULES.address(clean) == {**BANKS, "note": "x"}


def test_an_emptied_side_is_empty() -> None:
    state = RULES.opened(None, BANKS)
    emptied = RULES.edited(state, CompareForm(left="", right=state.form.right))
    assert emptied.pair.left is None
    assert RULES.address(emptied) == {"v": "1", "right": BANKS["right"]}


def test_arrivals_fill_each_empty_side_once() -> None:
    one, two, three = (
        _design(name).document()
        for name in ("banks-transpose-32x32", "banks-padding-33", "banks-tma-128b")
    )
    form = arrived(CompareForm(), [one, one, two, three])
    assert (form.left, form.right) == (BANKS["left"], BANKS["right"])
    assert arrived(CompareForm(left="typed {"), [one]).right == BANKS["left"]
    assert CompareState().form.empty


def test_every_field_has_a_name_on_the_page() -> None:
    for field in FIELDS:
        assert not label(field).startswith("Link key")


class _File:
    def __init__(self, content: bytes, size: int | None = None) -> None:
        self.content, self.size = content, len(content) if size is None else size
        self.read = False

    def getvalue(self) -> bytes:
        self.read = True
        return self.content


def test_a_file_is_a_design_or_a_comparison() -> None:
    pair = Pair(_design("banks-padding-33"), None, note="größer")
    assert opened(_File(pair_file(pair).encode("utf-8-sig"))) == pair
    assert read_pair(pair_file(pair)) == pair
    design = _design("schedule-zn-3")
    assert opened(_File(json.dumps(design.document()).encode())) == design


def test_a_file_of_fifty_megabytes_is_refused_unread() -> None:
    file = _File(b"", size=50 << 20)
    with pytest.raises(DesignError, match=r"has 50\.0 MiB; a design or comparison has at most 1"):
        opened(file)
    assert not file.read


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe\x00", "is no UTF-8 text"),
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[1]", "a design is a JSON object"),
        (b'{"study": "weave"}', "study: must be one of"),
        (b'{"kind": "comparison", "v": 2}', "written by another version"),
        (b" " * (MAX_FILE - 1), "is not JSON"),
    ],
)
def test_a_broken_file_gets_one_line(content: bytes, said: str) -> None:
    with pytest.raises(DesignError) as caught:
        opened(_File(content))
    assert said in str(caught.value)


@pytest.mark.parametrize("known", presets(), ids=lambda known: known.name)
def test_pictures_are_narrowed_with_square_cells(known: Any) -> None:
    plan = study_of(known.design).plan(known.design)
    for picture in pictures([plan], LIGHT)[0]:
        before = picture.figure.to_json()
        narrow = fitted(picture, 300)
        assert picture.figure.to_json() == before
        if picture.width is None or picture.width <= 300:
            assert narrow is picture
        else:
            assert narrow.width == narrow.figure.layout.width == 300
            assert narrow.figure.layout.height < picture.figure.layout.height


def test_links_of_sides_are_the_links_of_their_pages() -> None:
    parts = urlsplit(Pair(_design("permute-demo"), _design("permute-declined")).link())
    query = dict(parse_qsl(parts.query))
    for side, name in (("left", "permute-demo"), ("right", "permute-declined")):
        assert query[side] == page_url(_design(name))
        assert all(f.same for f in fields_of(read_side(query[side]), _design(name)))


def test_a_note_has_its_limit() -> None:
    _, faults = CompareForm(note="x" * (MAX_NOTE + 1)).pair()
    assert [fault.field for fault in faults] == ["note"]
