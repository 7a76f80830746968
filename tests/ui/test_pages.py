"""The pages' logic without a browser: links, edits, presets, faults, the switch, the run."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from page_reading import page_address, page_html, page_words
from streamlit.testing.v1 import AppTest

from tileviz.studies.registry import presets
from tileviz.ui.broadcast.cached import one_number as broadcast_number
from tileviz.ui.frame import PAGES, page_of

PERMUTE = "pages/1_Permute_layout.py"
DECLINED = {"src": "S[(8,16):(16,1)]", "dst": "S[(8,16):(1,8)]"}
Opened = Callable[..., AppTest]


def test_every_listed_page_opens(open_page: Opened) -> None:
    for page in PAGES:
        words = page_words(open_page(page.script))
        assert page.title in words or page.script == "app.py"


def test_home_says_what_this_is_and_shows_every_preset(open_page: Opened) -> None:
    home = open_page("app.py")
    words = page_words(home)
    assert "One engine plans it" in words
    assert "Compiler" in words
    pictures = page_html(home).count('class="thumb') + page_html(home).count("tv-thumb-empty")
    assert pictures == len([preset for preset in presets() if page_of(preset.study)])


def test_no_two_presets_on_home_read_the_same() -> None:
    titles = [preset.title for preset in presets()]
    assert sorted(set(titles)) == sorted(titles)
    published = [preset for preset in presets() if preset.name.startswith("broadcast-published")]
    numbers = {broadcast_number(preset.design) for preset in published}  # type: ignore[arg-type]
    assert len(numbers) == len(published) == 4


def test_the_demo_is_drawn_and_its_link_written(open_page: Opened) -> None:
    test = open_page(PERMUTE)
    assert "Conflict-free: read 4 wavefronts (ideal 4), write 4 (ideal 4)." in page_words(test)
    assert page_address(test) == {
        "v": "1",
        "src": "S[(2,1,4,32):(128,128,32,1)]",
        "dst": "S[(2,1,4,32):(128,128,1,4)]",
        "stages": "2",
    }
    assert "b[s * 128 + lane * 4 + j] = reg[r];" in test.code[0].value


def test_a_cold_link_opens_its_design(open_page: Opened) -> None:
    test = open_page(PERMUTE, DECLINED)
    assert test.text_input(key="permute.src").value == "S[(8, 16):(16, 1)]"
    assert test.selectbox(key="permute.preset").value == "permute-declined"
    assert "The reference declines" in page_words(test)


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.name)
def test_every_preset_opens(open_page: Opened, preset: object) -> None:
    if preset.study != "permute":
        pytest.skip("opened by another page")
    test = open_page(PERMUTE)
    test.selectbox(key="permute.preset").set_value(preset.name).run()
    assert not test.exception
    assert "tv-input-error" not in page_html(test)
    assert test.selectbox(key="permute.preset").value == preset.name


def test_an_edit_is_drawn_and_changes_the_address(open_page: Opened) -> None:
    test = open_page(PERMUTE)
    test.text_input(key="permute.src").set_value(DECLINED["src"])
    test.text_input(key="permute.dst").set_value(DECLINED["dst"])
    test.number_input(key="permute.stages").set_value(1)
    test.run()
    assert "The reference declines" in page_words(test)
    assert page_address(test) == {"v": "1", **DECLINED}
    assert test.selectbox(key="permute.preset").value == "permute-declined"


def test_a_typing_error_is_pointed_at_and_the_last_picture_stays(open_page: Opened) -> None:
    test = open_page(PERMUTE, DECLINED)
    before = page_address(test)
    test.text_input(key="permute.src").set_value("S[(8, 16):(16, 1]").run()
    assert not test.exception
    words = page_words(test)
    assert 'Source layout: expected ")" before "]".' in words
    assert "The last valid design stays below." in words
    assert "S[(8, 16):(16, 1]\n                ^" in words
    assert "The reference declines" in words
    assert test.text_input(key="permute.src").value == "S[(8, 16):(16, 1]"
    assert page_address(test) == before


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("src", "", "Source layout: a layout text is empty"),
        ("src_shape", "8, x", "Source shape: a whole number is expected"),
        ("src_region", "0:9, 0:16", "Source region"),
        ("block", "33", "Block: x must be a multiple of 32"),
        ("dst_dtype", "<script>", "Destination dtype: unknown dtype"),
    ],
)
def test_bad_input_names_the_field(open_page: Opened, field: str, value: str, said: str) -> None:
    test = open_page(PERMUTE, DECLINED)
    test.session_state[f"permute.{field}"] = value
    test.run()
    assert not test.exception
    assert said in page_words(test)
    assert "<script" not in page_html(test)
    assert "The reference declines" in page_words(test)


def test_a_bad_link_is_reported_and_the_rest_is_used(open_page: Opened) -> None:
    link = {**DECLINED, "colour": "<img src=x>", "space": "far", "dtype": "float99"}
    test = open_page(PERMUTE, link)
    words = page_words(test)
    assert "dtype: unknown dtype; allowed: int8" in words
    assert "Link key “colour”" in words
    assert "<img src=x>" in words
    assert "<img" not in page_html(test)
    assert "Memory: " in words
    assert "The rest of the link is used." in words
    assert "The reference declines" in words


def test_a_link_without_a_design_says_what_is_shown_instead(open_page: Opened) -> None:
    test = open_page(PERMUTE, {"src": "S[("})
    words = page_words(test)
    assert "The demo is shown below instead." in words
    assert "Conflict-free" in words
    assert test.text_input(key="permute.src").value == "S[("


@pytest.mark.parametrize(
    "query",
    [
        {"src": "S[32:1]" * 900, "dst": "S[32:1]"},
        {"src": "S[(1048576,1048576):(1,1)]", "dst": "S[32:1]"},
        {"stages": "99999999999999999999", **DECLINED},
        {"src_region": "0:1" + ",0:1" * 400, **DECLINED},
        {"block": "-" * 50, **DECLINED},
        {"in_place": "maybe", "v": "7", **DECLINED},
        {f"key{number}": "x" for number in range(50)},
    ],
    ids=["long", "huge", "stages", "region", "block", "flags", "many"],
)
def test_hostile_links_are_reported(open_page: Opened, query: dict[str, str]) -> None:
    test = open_page(PERMUTE, query)
    assert "tv-input-error" in page_html(test)
    assert "wavefronts" in page_words(test)


def test_the_switch_shows_another_schedule_and_its_cuda(open_page: Opened) -> None:
    test = open_page(PERMUTE)
    switch = test.button_group(key="permute.k")
    switch.set_value(0).run()
    assert not test.exception
    assert "16 wavefronts, ideal 4, excess 12" in page_words(test)
    assert "const int j" not in test.code[0].value
    assert "Why it is not free" in page_words(test)


def test_a_new_design_starts_with_its_own_schedule(open_page: Opened) -> None:
    test = open_page(PERMUTE)
    test.button_group(key="permute.k").set_value(0).run()
    test.selectbox(key="permute.preset").set_value("permute-declined").run()
    switch = test.button_group(key="permute.k")
    assert switch.value == "ours"


def test_where_the_reference_rejects_ours_is_shown(open_page: Opened) -> None:
    words = page_words(open_page(PERMUTE, {"src": "S[(4,48):(48,1)]", "dst": "S[(4,48):(1,4)]"}))
    assert "The reference rejects this" in words
    assert "Rejects: per_thread" in words
    assert "source offset → destination offset" in words


def test_a_design_without_any_schedule_has_reasons_and_empty_panels(open_page: Opened) -> None:
    words = page_words(open_page(PERMUTE, {"src": "S[(4,32):(32,1)]", "dst": "S[(4,32):(0,1)]"}))
    assert "The reference rejects this" in words
    assert "No schedule to draw." in words
    assert "Nothing to run." in words


def test_global_memory_is_shown_in_sectors(open_page: Opened) -> None:
    words = page_words(open_page(PERMUTE, {**DECLINED, "space": "global"}))
    assert "Bytes used of each 32-byte sector" in words
    assert "sectors per warp and stage" in words
    assert "Passes the bank needs" not in words


def test_coming_back_finds_what_was_typed(open_page: Opened) -> None:
    test = open_page(PERMUTE, DECLINED)
    test.text_input(key="permute.src").set_value("S[(8, 16").run()
    test.switch_page("app.py").run()
    test.query_params.clear()
    test.switch_page(PERMUTE).run()
    assert not test.exception
    assert test.text_input(key="permute.src").value == "S[(8, 16"
    assert "The reference declines" in page_words(test)


def test_a_run_is_verified_and_set_beside_the_prediction(open_page: Opened) -> None:
    test = open_page(PERMUTE, DECLINED)
    assert "Not run yet." in page_words(test)
    next(button for button in test.button if button.label == "Run").click().run()
    for _ in range(200):
        if "Output" in page_words(test):
            break
        time.sleep(0.1)
        test.run()
    words = page_words(test)
    assert "Output correct, 128 of 128 elements." in words
    assert "Emulated counts equal the prediction." in words
    test.text_input(key="permute.dst").set_value("S[(8, 16):(16, 1)]").run()
    assert "Not run yet." in page_words(test)
