"""The Broadcast page without a browser: links, edits, presets, faults, one block, CUDA, a run."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page_reading import page_address, page_charts, page_html, page_words
from streamlit.testing.v1 import AppTest

from tileviz.export.differences import line_marks
from tileviz.export.links import to_query
from tileviz.studies.broadcast.bandwidth import PUBLISHED
from tileviz.studies.broadcast.blocksize import candidates
from tileviz.studies.broadcast.explain import verdict
from tileviz.studies.broadcast.link import PAGE
from tileviz.studies.broadcast.plan import plan
from tileviz.studies.registry import make_design, presets
from tileviz.ui.broadcast import state
from tileviz.ui.broadcast.axes import axes
from tileviz.ui.broadcast.cached import code_of, standalone_of, versions_of
from tileviz.ui.broadcast.decision import finder, finder_table
from tileviz.ui.broadcast.form import FIELDS, BroadcastForm, label
from tileviz.ui.broadcast.loads import loads
from tileviz.ui.broadcast.words import about
from tileviz.ui.frame import page_of

SCRIPT = "pages/3_Broadcast.py"
ODD = {"operands": "1,1,1,255", "out": "64,32,32,255", "expression": "batchnorm"}
SMALL = {"operands": "64", "out": "8,14,14,64", "expression": "mul"}
PRESETS = [preset for preset in presets() if preset.study == "broadcast"]
Opened = Callable[..., AppTest]


def _press(test: AppTest, key: str, value: str) -> None:
    test.button_group(key=key).set_value(value).run()
    assert not test.exception


def test_the_page_is_the_one_that_links_name() -> None:
    page = page_of("broadcast")
    assert page is not None
    assert page.script == SCRIPT == f"pages/3_{PAGE}.py"


def test_the_first_preset_is_drawn_and_its_link_written(open_page: Opened) -> None:
    test = open_page(SCRIPT)
    words = page_words(test)
    assert "CINN's tactic applies (nhwc_equal): 4 loads a thread before, 1 after." in words
    assert "rows of C values" in words
    assert page_address(test) == {"v": "1", "operands": "1,1,1,192", "out": "64,56,56,192"}
    assert len(page_charts(test)) == 3
    assert [code.value.count("b_value") > 0 for code in test.code] == [True, False]


def test_a_cold_link_opens_its_design_with_the_step_that_decided(open_page: Opened) -> None:
    test = open_page(SCRIPT, ODD)
    assert test.text_input(key="broadcast.out").value == "64, 32, 32, 255"
    assert test.selectbox(key="broadcast.expression").value == "batchnorm"
    assert test.selectbox(key="broadcast.preset").value == "custom"
    assert "CINN's tactic declines: the channels are not a multiple of 32." in page_words(test)
    decided = re.findall(r'<li class="decides">.*?</li>', page_html(test))
    assert len(decided) == 1
    assert "255 = 32 * 7 + 31" in decided[0]
    assert "tv-reject" in decided[0]
    assert page_html(test).count('<li class="skipped">') == 2
    # Where CINN declines, its kernel is the general one: two blocks, not three.
    assert len(page_charts(test)) == 2


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_every_preset_opens(open_page: Opened, preset: object) -> None:
    test = open_page(SCRIPT, to_query(preset.design))
    assert "tv-input-error" not in page_html(test)
    assert test.selectbox(key="broadcast.preset").value == preset.name
    assert verdict(plan(preset.design)).sentence in page_words(test)
    assert 2 <= len(page_charts(test)) <= 3
    assert all(code.value for code in test.code)


def test_choosing_a_preset_fills_every_field(open_page: Opened) -> None:
    test = open_page(SCRIPT, ODD)
    test.selectbox(key="broadcast.preset").set_value("broadcast-33").run()
    assert not test.exception
    assert test.selectbox(key="broadcast.dtype").value == "float16"
    assert test.selectbox(key="broadcast.expression").value == "relu(x*a+b)"
    assert page_address(test)["out"] == "32,28,28,33"


def test_an_edit_is_drawn_and_changes_the_address(open_page: Opened) -> None:
    test = open_page(SCRIPT)
    test.text_input(key="broadcast.out").set_value("64, 56, 56, 96")
    test.text_input(key="broadcast.operands").set_value("96").run()
    assert "nhwc_narrow" in page_words(test)
    assert page_address(test) == {"v": "1", "operands": "96", "out": "64,56,56,96"}
    assert test.selectbox(key="broadcast.preset").value == "custom"
    test.number_input(key="broadcast.sm_count").set_value(132).run()
    assert page_address(test)["sm_count"] == "132"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("operands", "1, 1, 1, 100", "b does not broadcast on axis 3: extent 100, must be 1"),
        ("operands", "1,1,1,192;x", "Operand shapes: "),
        ("out", "64, 0, 56, 192", "axis 1 has extent 0"),
        ("out", "1,1,1,1,1,1,1,1,192", "has rank 9; at most 8 is allowed"),
        ("out", "4194304,4194304,192", "(2^40) are allowed"),
        ("out", "", "Output shape: "),
    ],
    ids=["clash", "text", "zero", "rank", "huge", "empty"],
)
def test_a_fault_is_named_and_the_last_picture_stays(
    open_page: Opened, field: str, value: str, said: str
) -> None:
    test = open_page(SCRIPT)
    before = page_address(test)
    test.text_input(key=f"broadcast.{field}").set_value(value).run()
    assert not test.exception
    words = page_words(test)
    assert said in words
    assert "The last valid design stays below." in words
    assert "nhwc_equal" in words
    assert page_address(test) == before
    assert test.text_input(key=f"broadcast.{field}").value == value


def test_a_bad_link_is_reported_and_the_rest_is_used(open_page: Opened) -> None:
    test = open_page(SCRIPT, {**ODD, "colour": "<img src=x>", "dtype": "float99", "v": "7"})
    words = page_words(test)
    assert "Link key “colour”" in words
    assert "<img" not in page_html(test)
    assert "dtype: unknown dtype" in words
    assert "The rest of the link is used." in words
    assert "CINN's tactic declines: the channels are not a multiple of 32." in words


@pytest.mark.parametrize(
    "query",
    [
        {"out": "1,2", "operands": "3" + ",1" * 3000},
        {"out": "9" * 400, "operands": "1"},
        {"out": "8,8", "operands": ";".join(["8"] * 50)},
        {"out": "8,8", "operands": "8", "sm_count": "-3"},
        {"out": "8,8", "operands": "8", "sm_count": "9" * 5000},
        {f"key{number}": "x" for number in range(50)},
    ],
    ids=["long", "digits", "many operands", "negative", "count", "many keys"],
)
def test_hostile_links_are_reported(open_page: Opened, query: dict[str, str]) -> None:
    test = open_page(SCRIPT, query)
    assert "tv-input-error" in page_html(test)
    assert "Decision path" in page_words(test)


def test_an_alias_in_a_link_is_the_expression(open_page: Opened) -> None:
    test = open_page(SCRIPT, {**SMALL, "expression": "relu"})
    assert test.selectbox(key="broadcast.expression").value == "relu(x*a+b)"
    assert "tv-input-error" not in page_html(test)


def test_a_dynamic_extent_is_decided_without_kernels(open_page: Opened) -> None:
    test = open_page(SCRIPT, {"operands": "64", "out": "-1,7,7,64"})
    words = page_words(test)
    assert "CINN's tactic applies (nhwc_flat)" in words
    assert "an extent is known only at run time" in words
    assert "Nothing to draw." in words
    assert "Nothing to run." in words
    assert "× ?" in words
    assert page_charts(test) == []


def test_what_no_kernel_can_do_is_said(open_page: Opened) -> None:
    test = open_page(SCRIPT, {"operands": "16,8", "out": "8,16"})
    words = page_words(test)
    assert "b is read as a transpose" in words
    assert "No CUDA." in words
    test = open_page(SCRIPT, {**ODD, "dtype": "int8"})
    assert "Batchnorm needs a floating type, not int8." in page_words(test)


def test_a_grid_that_cannot_launch_is_marked(open_page: Opened) -> None:
    test = open_page(SCRIPT, {"operands": "1,2,1,1", "out": "262148,2,4,8"})
    words = page_words(test)
    assert "grid 2 × 65,537 cannot be launched" in words
    assert "Not drawn." in words
    decided = re.findall(r'<li class="decides">.*?</li>', page_html(test))
    assert "tv-attention" in decided[0]
    assert len(page_charts(test)) == 2


def test_the_block_can_be_chosen(open_page: Opened) -> None:
    test = open_page(SCRIPT)
    test.number_input(key="broadcast.block").set_value(2559).run()
    test.number_input(key="broadcast.warp").set_value(7).run()
    assert not test.exception
    words = page_words(test)
    assert "block 2,559, warp 7, 4 steps" in words
    # Smaller grids and blocks show their last.
    assert "block 2,559, warp 5, 4 steps" in words
    assert "block 2,558, warp 7, first 4 of 15 steps, first of 4 values" in words
    before = page_charts(test)[0]["data"]
    hover = next(trace["customdata"] for trace in before if trace.get("customdata"))
    assert hover


def test_the_greys_print(open_page: Opened) -> None:
    test = open_page(SCRIPT)
    test.toggle(key="broadcast.grey").set_value(True).run()
    assert not test.exception
    assert "#F4F4F4" in page_html(test)


def test_every_pair_of_versions_can_be_compared(open_page: Opened) -> None:
    test = open_page(SCRIPT)
    _press(test, "broadcast.version", "cinn")
    _press(test, "broadcast.beside", "before")
    left, right = (code.value for code in test.code)
    assert "b[at]" in left or "b[i % 192]" in left
    assert "const float b_value = b[c];" in right
    assert re.search(r"Tinted: \d+ lines? only on the left", page_words(test))
    styles = [element.proto.body for element in test.get("html") if "1lh" in element.proto.body]
    assert any("broadcast_code_was" in style for style in styles)
    _press(test, "broadcast.beside", "alone")
    assert [code.value for code in test.code] == [right]
    assert "What this version does" in page_words(test)
    _press(test, "broadcast.beside", "cinn")
    assert len(test.code) == 1  # Nothing differs from itself.


def test_a_run_verifies_every_version(open_page: Opened) -> None:
    test = open_page(SCRIPT, SMALL)
    for version in ("before", "cinn", "ours"):
        _press(test, "broadcast.version", version)
        next(button for button in test.button if button.label == "Run").click().run()
        for _ in range(200):
            if "Output correct" in page_words(test) or "tv-error" in page_html(test):
                break
            time.sleep(0.1)
            test.run()
        assert "Output correct, 100,352 of 100,352 elements." in page_words(test)
        # Of the tactic's few blocks all are counted.
        sampled = re.search(r"counts of 9 of 392 blocks", page_words(test)) is not None
        assert sampled == (version == "before")
        assert "Emulated counts equal the prediction." in page_words(test)


def test_what_a_run_leaves_out_is_said(open_page: Opened) -> None:
    test = open_page(SCRIPT, {"operands": "1,1,1,192", "out": "256,64,64,192"})
    assert re.search(r"Here it runs the first [\d,]+ of 201,326,592 elements", page_words(test))
    assert "its own count of vectors aside" in page_words(test)
    _press(test, "broadcast.version", "before")
    assert "Here it runs the first 1,048,576 of 201,326,592 elements (0.52 %)" in page_words(test)
    test = open_page(SCRIPT, SMALL)
    assert "Here it" not in page_words(test)


def test_published_rows_are_labelled_and_ours_is_empty(open_page: Opened) -> None:
    test = open_page(SCRIPT)
    words = page_words(test)
    assert words.count("published (#71434)") == 4 and "900 GB/s" in words
    for row in PUBLISHED:
        assert f"{row.peak_percent:.2f}" in words
        assert f"{row.us:,.0f} µs" in words
    assert "830.2 GB/s" in words
    assert "Not measured on any device of ours: all of these shapes." in words
    assert page_html(test).count("hatched") == 1
    links = re.findall(r'href="([^"]+)"', page_html(test))
    assert len(links) == len(PUBLISHED)
    assert links[0].startswith("Broadcast?v=1&amp;operands=1,1,1,192&amp;out=256,64,64,192")


def test_coming_back_finds_what_was_typed(open_page: Opened) -> None:
    test = open_page(SCRIPT, ODD)
    test.text_input(key="broadcast.out").set_value("64, 32, 32").run()
    test.switch_page("app.py").run()
    test.query_params.clear()
    test.switch_page(SCRIPT).run()
    assert not test.exception
    assert test.text_input(key="broadcast.out").value == "64, 32, 32"
    assert "not a multiple of 32" in page_words(test)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_survives_the_form(preset: object) -> None:
    read, errors = BroadcastForm.of(preset.design).read()
    assert errors == ()
    assert read == preset.design


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from([*FIELDS, "v", "colour"]), st.text(max_size=40)))
def test_any_link_gives_a_form_that_keeps_its_text(query: dict[str, str]) -> None:
    form = BroadcastForm.from_query(query)
    assert form.out.replace(" ", "") == query.get("out", "").replace(" ", "")
    form.read()  # Reports; never raises.


def test_every_field_has_a_name_on_the_page() -> None:
    for field in FIELDS:
        assert not label(field).startswith("Link key")


def test_a_bad_link_in_a_running_session_keeps_what_was_drawn() -> None:
    before = state.opened(None, ODD)
    after = state.opened(before, {"out": "?"})
    assert after.design == before.design
    assert not after.stand_in
    assert state.address(after) is None
    assert state.opened(before, {}).design == before.design


def test_axes_are_drawn_right_aligned() -> None:
    made = plan(
        make_design(
            {
                "study": "broadcast",
                "operands": [[64, 1, 1], [64, 1, 1]],
                "out": [8, 64, 16, 32],
                "expression": "scale_shift",
            }
        )
    )
    drawn = axes(made)
    assert "scale, shift" in drawn  # One row for one shape.
    parts = re.findall(r'<div class="part ([^"]+)">(.*?)</div>', drawn)
    assert [css for css, _ in parts] == ["spread missing", "kept", "spread", "spread"]
    assert [unescape(re.sub("<[^>]+>", "", body)) for _, body in parts] == [
        "– × 8",
        "64",
        "1 × 16",
        "1 × 32",
    ]
    assert drawn.count('class="axis spread"') == 3
    assert "P = C" in drawn


def test_the_finder_marks_what_the_rule_takes() -> None:
    tiles = finder(candidates(512))
    assert len(re.findall(r'<div class="[^"]*" title="K = ', tiles)) == 32
    assert 'title="K = 256: chosen"' in tiles
    early = re.search(r'<div class="([^"]*)" title="K = 512', tiles)
    assert early is not None
    assert "early" in early[1]
    rows = finder_table(candidates(512))
    assert rows.count("<tr") == 33


def test_loads_give_outputs_a_load() -> None:
    rows = re.findall(r"<tr>(.*?)</tr>", loads(plan(PRESETS[0].design)))
    cells = [re.sub(r"<[^>]+>", " ", row).split() for row in rows[1:]]
    assert [row[-2:] for row in cells] == [["1", "4"], ["4", "1"], ["60", "1"]]


@pytest.mark.parametrize("version", ["before", "cinn", "ours"])
def test_the_download_is_the_text_shown_with_a_main(version: str) -> None:
    design = PRESETS[0].design
    shown, program = code_of(design, version).source, standalone_of(design, version)
    assert shown.strip() in program
    assert "int main(" in program
    assert "int main(" not in shown


def test_versions_that_are_alike_are_drawn_once() -> None:
    assert versions_of(PRESETS[0].design) == ("before", "cinn", "ours")
    odd = next(preset for preset in PRESETS if preset.name == "broadcast-33")
    assert versions_of(odd.design) == ("before", "ours")


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_lines_that_are_not_marked_are_the_same(left: list[str], right: list[str]) -> None:
    marks = line_marks("\n".join(left), "\n".join(right))
    kept = [
        [line for number, line in enumerate(lines, start=1) if number not in marked]
        for lines, marked in ((left, marks.left), (right, marks.right))
    ]
    assert kept[0] == kept[1]


def test_the_general_kernel_is_not_said_to_load_again_what_it_keeps() -> None:
    for channels, said in ((128, "the value is loaded once"), (192, "loaded, in every step")):
        made = plan(make_design({"study": "broadcast", "operands": [[channels]],
                                 "out": [64, 56, 56, channels]}))  # fmt: skip
        assert said in about(made, "before")
