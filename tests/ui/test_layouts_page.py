"""The Layouts page without a browser: links, edits, presets, faults, every operation."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_reading import page_address, page_charts, page_html, page_words
from streamlit.testing.v1 import AppTest

from tileviz.export.links import to_query
from tileviz.studies.registry import make_design, presets
from tileviz.ui.layouts import state
from tileviz.ui.layouts.form import FIELDS, LayoutForm, label

PAGE = "pages/5_Layouts.py"
PADDED = {"layout": "S[(4,32):(33,1)]"}
SLICE = {
    "op": "slice",
    "layout": "S[(16,16):(16,1)]",
    "shape": "16,16",
    "region": "4:12,8:16",
}
PRESETS = [preset for preset in presets() if preset.study == "layout"]
Opened = Callable[..., AppTest]


def test_the_first_preset_is_drawn_and_its_link_written(open_page: Opened) -> None:
    test = open_page(PAGE)
    words = page_words(test)
    assert "One-to-one: 128 elements. Addresses 0 to 127." in words
    assert "T.TileLayout(T.S[(4, 32):(32, 1)])" in words
    assert page_address(test) == {"v": "1", "layout": "S[(4,32):(32,1)]"}
    assert len(page_charts(test)) == 2


def test_a_cold_link_opens_its_design(open_page: Opened) -> None:
    test = open_page(PAGE, SLICE)
    assert test.text_input(key="layouts.layout").value == "S[(16, 16):(16, 1)]"
    assert test.text_input(key="layouts.region").value == "4:12, 8:16"
    assert test.selectbox(key="layouts.preset").value == "layout-slice"
    words = page_words(test)
    assert "Slice gives S[(8, 8):(16, 1)] + 72." in words
    assert "every element of the region stays where it was" in words
    assert "the region" in words
    assert len(page_charts(test)) == 4


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_every_preset_opens(open_page: Opened, preset: object) -> None:
    test = open_page(PAGE)
    test.selectbox(key="layouts.preset").set_value(preset.name).run()
    assert not test.exception
    assert "tv-input-error" not in page_html(test)
    assert test.selectbox(key="layouts.preset").value == preset.name
    assert len(page_charts(test)) >= 2


def test_an_edit_is_drawn_and_changes_the_address(open_page: Opened) -> None:
    test = open_page(PAGE)
    test.text_input(key="layouts.layout").set_value("S[(4, 32):(33, 1)]").run()
    assert "3 of them idle" in page_words(test)
    assert page_address(test) == {"v": "1", **PADDED}
    assert test.selectbox(key="layouts.preset").value == "custom"


def test_an_operation_brings_its_fields_and_drops_those_of_another(open_page: Opened) -> None:
    test = open_page(PAGE, SLICE)
    test.selectbox(key="layouts.op").set_value("group").run()
    assert "Group gives S[(16, 16):(16, 1)]." in page_words(test)
    assert page_address(test) == {
        "v": "1",
        "op": "group",
        "layout": "S[(16,16):(16,1)]",
        "shape": "16,16",
    }
    test.selectbox(key="layouts.op").set_value("slice").run()
    assert not test.exception
    assert test.text_input(key="layouts.region").value == "4:12, 8:16"
    assert "Slice gives S[(8, 8):(16, 1)] + 72." in page_words(test)


def test_a_missing_field_is_named_and_the_last_picture_stays(open_page: Opened) -> None:
    test = open_page(PAGE, PADDED)
    test.selectbox(key="layouts.op").set_value("tile").run()
    words = page_words(test)
    assert "Outer layout: tile needs this field." in words
    assert "The last valid design stays below." in words
    assert "One-to-one: 128 elements." in words
    test.text_input(key="layouts.outer").set_value("S[(2, 2):(2, 1)]")
    test.text_input(key="layouts.outer_shape").set_value("2, 2")
    test.text_input(key="layouts.inner_shape").set_value("4, 32").run()
    words = page_words(test)
    assert "Tile gives" in words
    assert "tv-input-error" not in page_html(test)


def test_a_typing_error_is_pointed_at_and_the_last_picture_stays(open_page: Opened) -> None:
    test = open_page(PAGE, PADDED)
    before = page_address(test)
    test.text_input(key="layouts.layout").set_value("S[(4, 32):(33, 1]").run()
    words = page_words(test)
    assert 'Layout: expected ")" before "]".' in words
    assert "S[(4, 32):(33, 1]\n                ^" in words
    assert "3 of them idle" in words
    assert test.text_input(key="layouts.layout").value == "S[(4, 32):(33, 1]"
    assert page_address(test) == before
    assert len(page_charts(test)) == 2


def test_a_bad_link_is_reported_and_the_rest_is_used(open_page: Opened) -> None:
    link = {**PADDED, "colour": "<img src=x>", "op": "fold", "dtype": "float99"}
    test = open_page(PAGE, link)
    words = page_words(test)
    assert "Link key “colour”" in words
    assert "<img" not in page_html(test)
    assert "Operation: " in words
    assert "dtype: unknown dtype" in words
    assert "The rest of the link is used." in words
    assert "3 of them idle" in words


def test_a_link_without_a_layout_says_what_is_shown_instead(open_page: Opened) -> None:
    test = open_page(PAGE, {"layout": "S[("})
    words = page_words(test)
    assert "The first preset is shown below instead." in words
    assert "One-to-one: 128 elements." in words
    assert test.text_input(key="layouts.layout").value == "S[("


@pytest.mark.parametrize(
    "query",
    [
        {"layout": "S[32:1]" * 900},
        {"layout": "S[(1048576,1048576):(1,1)]"},
        {**SLICE, "region": "0:1" + ",0:1" * 400},
        {**SLICE, "region": "9:3,0:1"},
        {**SLICE, "shape": "-4,4"},
        {**PADDED, "cuda_target": "perhaps", "v": "7"},
        {f"key{number}": "x" for number in range(50)},
    ],
    ids=["long", "huge", "rank", "order", "negative", "flags", "many"],
)
def test_hostile_links_are_reported(open_page: Opened, query: dict[str, str]) -> None:
    test = open_page(PAGE, query)
    assert "tv-input-error" in page_html(test)
    assert len(page_charts(test)) >= 2


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"layout": "S[(1024,1024):(1024,1)]"}, "1,032,192 more elements are not drawn"),
        ({"layout": "S[4:1]+R[1048576:4]"}, "Addresses 0 to 4194303."),
        ({"layout": "S[8:1]+R[1048576:4]"}, "at most 4194304 can be drawn"),
        ({"layout": "S[(2,2,2):(1099511627776@tx,1099511627776@bx,1@by)]"}, "spread too far"),
        (
            {
                "op": "tile",
                "layout": "S[1048576:1]",
                "outer": "S[1048576:1]",
                "outer_shape": "1048576",
                "inner_shape": "1048576",
            },
            "not checked, too many elements",
        ),
    ],
    ids=["large", "copies", "too many copies", "far", "tiled"],
)
def test_the_largest_layouts_are_cut_and_said_so(
    open_page: Opened, query: dict[str, str], said: str
) -> None:
    assert said in page_words(open_page(PAGE, query))


def test_what_the_reference_refuses_has_its_reason(open_page: Opened) -> None:
    words = page_words(
        open_page(PAGE, {"op": "group", "layout": "S[(4,32):(1,4)]", "shape": "3,16"})
    )
    assert "Group gives nothing." in words
    assert "cannot be grouped by the shape (3, 16)" in words


def test_a_collision_names_both_coordinates_and_is_outlined(open_page: Opened) -> None:
    test = open_page(PAGE, {"layout": "S[(4,8):(4,1)]"})
    assert "Not one-to-one: (0, 4) and (1, 0) share the address 4." in page_words(test)
    assert "share an address" in page_words(test)
    physical = page_charts(test)[1]
    assert "#D55E00" in json.dumps([trace.get("line") for trace in physical["data"]])


def test_the_switch_colours_rows_and_the_greys_print(open_page: Opened) -> None:
    test = open_page(PAGE, PADDED)
    assert "Banks" in page_words(test)
    test.button_group(key="layouts.by").set_value("row").run()
    assert "Logical row, mod 8" in page_words(test)
    test.toggle(key="layouts.grey").set_value(True).run()
    assert not test.exception
    assert "#F4F4F4" in page_html(test)


def test_the_element_decides_bytes_and_banks(open_page: Opened) -> None:
    test = open_page(PAGE, {**PADDED, "dtype": "float16"})
    assert "131, 262 bytes" in page_words(test)
    assert page_address(test)["dtype"] == "float16"


def test_coming_back_finds_what_was_typed(open_page: Opened) -> None:
    test = open_page(PAGE, PADDED)
    test.text_input(key="layouts.layout").set_value("S[(8, 16").run()
    test.switch_page("app.py").run()
    test.query_params.clear()
    test.switch_page(PAGE).run()
    assert not test.exception
    assert test.text_input(key="layouts.layout").value == "S[(8, 16"
    assert "3 of them idle" in page_words(test)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_survives_the_form(preset: object) -> None:
    read, errors = LayoutForm.of(preset.design).read()
    assert errors == ()
    assert read == preset.design or _compact(read) == _compact(preset.design)


def _compact(design: object) -> dict[str, str]:
    return {key: value.replace(" ", "") for key, value in to_query(design).items()}


@given(st.dictionaries(st.sampled_from([*FIELDS, "v", "colour"]), st.text(max_size=40)))
def test_any_link_gives_a_form_that_keeps_its_text(query: dict[str, str]) -> None:
    form = LayoutForm.from_query(query)
    assert form.layout.replace(" ", "") == query.get("layout", "").replace(" ", "")
    form.read()  # Reports; never raises.


def test_every_field_has_a_name_on_the_page() -> None:
    for field in FIELDS:
        assert not label(field).startswith("Link key")


def test_a_bad_link_in_a_running_session_keeps_what_was_drawn() -> None:
    before = state.opened(None, PADDED)
    after = state.opened(before, {"layout": "?"})
    assert after.design == before.design
    assert not after.stand_in
    assert state.address(after) is None
    assert state.opened(before, {}).design == before.design


def test_a_field_of_another_operation_does_not_stand_in_the_way() -> None:
    form = LayoutForm(op="span", layout="S[32:1]", shape="4, x", region="oops", outer="S[(")
    design, errors = form.read()
    assert errors == ()
    assert design == make_design({"study": "layout", "op": "span", "layout": "S[32:1]"})
