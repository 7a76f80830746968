"""The Banks page without a browser: links, edits, presets, faults, the fix, a run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_reading import page_address, page_charts, page_html, spaced_words
from streamlit.testing.v1 import AppTest

from tileviz.export.links import to_query
from tileviz.studies.access import link
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.registry import Preset, make_design, presets
from tileviz.ui import frame
from tileviz.ui.access import state
from tileviz.ui.access.form import FIELDS, AccessForm, label

PAGE = "pages/4_Banks_and_swizzles.py"
COLUMN = {"layout": "S[(32,32):(32,1)]", "pattern": "column", "also": "st//row"}
PRESETS = [preset for preset in presets() if preset.study == "access"]
Opened = Callable[..., AppTest]


def _button(test: AppTest, key: str) -> object:
    return next(button for button in test.button if button.key == key)


def test_the_page_is_where_links_point() -> None:
    entry = frame.page_of("access")
    assert entry is not None
    assert entry.script == f"pages/4_{link.PAGE}.py" == PAGE


def test_the_first_preset_is_drawn_and_its_link_written(open_page: Opened) -> None:
    test = open_page(PAGE)
    words = spaced_words(test)
    assert "32 wavefronts, ideal 1, 32-way bank conflict." in words
    assert "so every lane is back at the same bank" in words
    assert "fewer than 5 XORs frees every access" in words
    assert page_address(test) == {"v": "1", **COLUMN}
    assert len(page_charts(test)) == 3


def test_a_cold_link_opens_its_design(open_page: Opened) -> None:
    test = open_page(PAGE, {**COLUMN, "layout": "Sw<5,0,5> o S[(32,32):(32,1)]"})
    assert test.text_input(key="banks.layout").value == "S[(32, 32):(32, 1)]"
    assert test.selectbox(key="banks.swizzle").value.replace(" ", "") == "Sw<5,0,5>"
    words = spaced_words(test)
    assert "1 wavefront, ideal 1, conflict-free." in words
    assert "Without the swizzle: 32 wavefronts." in words
    assert "32 wavefronts instead of 1" in words
    assert "What each XOR of the swizzle buys" in words


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_every_preset_opens(open_page: Opened, preset: Preset) -> None:
    test = open_page(PAGE)
    test.selectbox(key="banks.preset").set_value(preset.name).run()
    assert not test.exception
    assert "tv-input-error" not in page_html(test)
    assert test.selectbox(key="banks.preset").value == preset.name
    assert len(page_charts(test)) in (2, 3)
    expected = {key: value.replace(", ", ",") for key, value in to_query(preset.design).items()}
    assert page_address(test) == expected


def test_an_edit_is_drawn_and_changes_the_address(open_page: Opened) -> None:
    test = open_page(PAGE)
    test.text_input(key="banks.layout").set_value("S[(32, 32):(33, 1)]").run()
    assert "1 wavefront, ideal 1, conflict-free." in spaced_words(test)
    assert page_address(test) == {"v": "1", **COLUMN, "layout": "S[(32,32):(33,1)]"}
    assert test.selectbox(key="banks.preset").value == "banks-padding-33"


def test_the_fix_changes_the_design(open_page: Opened) -> None:
    test = open_page(PAGE)
    assert "1 wavefront instead of 32" in spaced_words(test)
    _button(test, "banks.apply").click().run()
    assert not test.exception
    assert "1 wavefront, ideal 1, conflict-free." in spaced_words(test)
    assert page_address(test)["layout"] == "Swizzle(0,5,5) o S[(32,32):(32,1)]"
    assert test.selectbox(key="banks.swizzle").value == "Swizzle(0, 5, 5)"
    assert _button(test, "banks.apply").disabled
    assert len(page_charts(test)) == 3


def test_padding_is_a_fix_too(open_page: Opened) -> None:
    test = open_page(PAGE)
    test.selectbox(key="banks.pick").set_value(1).run()
    _button(test, "banks.apply").click().run()
    assert page_address(test)["layout"] == "S[(32,32):(33,1)]"
    assert "1 wavefront, ideal 1, conflict-free." in spaced_words(test)


def test_the_fix_is_said_in_every_notation(open_page: Opened) -> None:
    test = open_page(PAGE, to_query(PRESETS[2].design))
    words = spaced_words(test)
    assert "per_element = 3, swizzle_len = 3, atom_len = 3" in words
    assert "Swizzle<3,3,3>" in words
    assert "bit 4 ^= bit 7" in words
    how = test.button_group(key="banks.how")
    how.set_value("Bit matrix").run()
    assert page_html(test).count('class="bit one"') == 8
    how = test.button_group(key="banks.how")
    how.set_value("CUDA").run()
    assert any("element_index(int row, int column)" in code.value for code in test.code)


def test_a_cell_is_explained_and_another_can_be_chosen(open_page: Opened) -> None:
    test = open_page(PAGE, {**COLUMN, "layout": "Sw<5,0,5> o S[(32,32):(32,1)]"})
    assert "row 9, column 0, lane 9" in spaced_words(test)
    test.number_input(key="banks.column").set_value(5).run()
    words = spaced_words(test)
    assert "row 9, column 5, wanted by no lane" in words
    assert "element 9·32 + 5·1 = 293, swizzled 300; byte 1200, bank 12." in words


def test_other_accesses_and_instructions_are_shown(open_page: Opened) -> None:
    test = open_page(PAGE)
    test.slider(key="banks.number").set_value(7).run()
    assert "row 9, column 7, lane 9" in spaced_words(test)
    assert any(code.value == "dst[lane] = tile[lane * 32 + 7];" for code in test.code)
    test.selectbox(key="banks.shown").set_value(1).run()
    assert "row 0, column 9, lane 9" in spaced_words(test)
    assert "one pass serves all lanes" in spaced_words(test)
    assert any(code.value == "tile[lane] = src[lane];" for code in test.code)
    assert "32-way bank conflict" in spaced_words(test)


def test_the_views_of_the_memory(open_page: Opened) -> None:
    test = open_page(PAGE)
    for view, rows in (("wavefronts", 32), ("lanes", 1), ("banks", 1)):
        switch = test.button_group(key="banks.view")
        switch.set_value(view).run()
        assert not test.exception
        before, after = page_charts(test)[1:]
        assert len(before["layout"]["yaxis"]["ticktext"]) == rows
        assert len(after["layout"]["yaxis"]["ticktext"]) == 1


def test_global_memory_shows_sectors_and_lines(open_page: Opened) -> None:
    test = open_page(PAGE, {"layout": "S[(32,32):(32,1)]", "pattern": "column", "space": "global"})
    words = spaced_words(test)
    assert "32 sectors in 32 lines, ideal 4." in words
    assert "1,024 bytes move, 12.5 % of them used" in words
    assert "No search." in words
    assert len(page_charts(test)[1]["layout"]["yaxis"]["ticktext"]) == 32


def test_byte_addresses_need_no_layout(open_page: Opened) -> None:
    test = open_page(PAGE, {"addresses": "0,128,256,-,4"})
    assert test.selectbox(key="banks.access").value == "addresses"
    words = spaced_words(test)
    assert "3 wavefronts, ideal 1, 3-way bank conflict." in words
    assert "Nothing to search." in words
    assert len(page_charts(test)) == 1
    test.text_input(key="banks.addresses").set_value("0,4,5").run()
    words = spaced_words(test)
    assert "Byte address of each lane: must be a multiple of 4 bytes." in words
    assert "The last valid design stays below." in words
    assert "3 wavefronts" in words


def test_lane_by_lane(open_page: Opened) -> None:
    test = open_page(PAGE)
    test.selectbox(key="banks.access").set_value("lanes").run()
    assert "Access:" in spaced_words(test)
    test.text_input(key="banks.lanes").set_value("0,0;1,0;-;2,1").run()
    assert "2 wavefronts, ideal 1" in spaced_words(test)
    assert page_address(test)["pattern"] == "0,0;1,0;-;2,1"
    test.text_input(key="banks.lanes").set_value("0,0;99,0").run()
    assert "must lie inside [32, 32]" in spaced_words(test)


def test_a_typing_error_is_pointed_at_and_the_last_picture_stays(open_page: Opened) -> None:
    test = open_page(PAGE)
    before = page_address(test)
    test.text_input(key="banks.layout").set_value("S[(32, 32):(32, 1]").run()
    words = spaced_words(test)
    assert 'Layout: expected ")" before "]".' in words
    assert "give either addresses" not in words
    assert "32-way bank conflict" in words
    assert page_address(test) == before
    assert len(page_charts(test)) == 3


def test_what_only_the_plan_can_tell_is_a_fault_of_the_input(open_page: Opened) -> None:
    test = open_page(PAGE, {**COLUMN, "layout": "S[(32,32):(33,1)]"})
    test.selectbox(key="banks.bytes").set_value("16").run()
    assert "not a multiple of 16" in spaced_words(test)
    assert "conflict-free" in spaced_words(test)


def test_a_bad_link_is_reported_and_the_rest_is_used(open_page: Opened) -> None:
    query = {**COLUMN, "colour": "<img src=x>", "op": "lds", "dtype": "float99", "bytes": "3"}
    test = open_page(PAGE, query)
    words = spaced_words(test)
    assert "Link key “colour”" in words
    assert "<img" not in page_html(test)
    assert "Op: should be" in words
    assert "The rest of the link is used." in words
    assert "32-way bank conflict" in words


@pytest.mark.parametrize(
    "query",
    [
        {"layout": "S[("},
        {**COLUMN, "layout": "S[32:1]" * 900},
        {**COLUMN, "layout": "S[(1048576,1048576):(1,1)]"},
        {**COLUMN, "layout": "Sw<40,40,40> o S[32,32]"},
        {"addresses": ",".join("0" * 40)},
        {"addresses": "99999999999999999"},
        {**COLUMN, "also": "|".join(["st//row"] * 9)},
        {**COLUMN, "also": "st/3/row"},
        {**COLUMN, "pattern": "0,0;x"},
        {**COLUMN, "layout": "S[(4,8):(8@laneid,1)]"},
        {f"key{number}": "x" for number in range(50)},
    ],
    ids=range(11),
)
def test_hostile_links_are_reported(open_page: Opened, query: dict[str, str]) -> None:
    test = open_page(PAGE, query)
    assert "tv-input-error" in page_html(test)
    assert page_charts(test)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"layout": "S[8,8]", "pattern": "-;-"}, "No lane takes part."),
        ({"layout": "S[(4,32):(16,1)]", "pattern": "row"}, "Overlaps"),
        ({"layout": "S[1024:1]", "pattern": "0;33"}, "row 0, column 0, lane 0"),
        ({"layout": "S[4,8,16]", "pattern": "0,0,0;3,7,15"}, "wavefront"),
        ({"layout": "S[1:1]", "pattern": "row"}, "wavefront"),
        ({"layout": "S[512,512]", "pattern": "column"}, "columns 0 to 31 of 512"),
        (
            {"layout": "S[64,64]", "pattern": "ldmatrix", "op": "stmatrix.x2", "dtype": "float16"},
            "Stmatrix needs sm_90",
        ),
        ({"layout": "Sw<1,0,5> o S[64,64]", "pattern": "0,0;0,4", "bytes": "16"}, "tears vectors"),
        ({"layout": "S[(64,64):(1,64)]", "pattern": "row", "dtype": "int8"}, "wavefront"),
        ({"layout": "S[33,7]", "pattern": "column", "dtype": "int8"}, "wavefront"),
    ],
    ids=range(10),
)
def test_odd_designs_are_drawn(open_page: Opened, query: dict[str, str], said: str) -> None:
    test = open_page(PAGE, query)
    assert "tv-input-error" not in page_html(test)
    assert said in spaced_words(test)


def test_coming_back_finds_what_was_typed(open_page: Opened) -> None:
    test = open_page(PAGE, {**COLUMN, "layout": "S[(32,32):(33,1)]"})
    test.text_input(key="banks.layout").set_value("S[(8, 16").run()
    test.switch_page("app.py").run()
    test.query_params.clear()
    test.switch_page(PAGE).run()
    assert not test.exception
    assert test.text_input(key="banks.layout").value == "S[(8, 16"
    assert "conflict-free" in spaced_words(test)


def test_home_shows_the_presets(open_page: Opened) -> None:
    words = spaced_words(open_page("app.py"))
    assert "ld 4 B column: 32 wavefronts, ideal 1" in words


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_survives_the_form(preset: Preset) -> None:
    read, errors = AccessForm.of(state.preset_design(preset)).read()
    assert errors == ()
    assert read is not None and _compact(read) == _compact(preset.design)
    assert state.matching_preset(AccessForm.of(state.preset_design(preset))) == preset


def _compact(design: object) -> dict[str, str]:
    return {key: value.replace(" ", "") for key, value in to_query(design).items()}


@given(st.dictionaries(st.sampled_from([*link.KEYS, "v", "colour"]), st.text(max_size=40)))
def test_any_link_gives_a_form_that_reads_or_reports(query: dict[str, str]) -> None:
    form = AccessForm.from_query(query)
    assert form.addresses == query.get("addresses", "")
    form.read()  # Reports; never raises.


def test_every_field_has_a_name_on_the_page() -> None:
    for field in FIELDS:
        assert not label(field).startswith("Link key")


def test_a_bad_link_in_a_running_session_keeps_what_was_drawn() -> None:
    before = state.opened(None, COLUMN)
    after = state.opened(before, {"layout": "?"})
    assert after.design == before.design
    assert not after.stand_in
    assert state.address(after) is None
    assert state.opened(before, {}).design == before.design


def test_a_layout_with_its_swizzle_may_be_typed_in_one_field() -> None:
    form = AccessForm(layout="Sw<5,0,5> o S[32,32]", access="column")
    design, errors = form.read()
    assert errors == ()
    assert isinstance(design, AccessDesign)
    wanted = {"study": "access", "layout": "Sw<5,0,5> o S[32,32]", "pattern": "column"}
    assert design == make_design(wanted)
