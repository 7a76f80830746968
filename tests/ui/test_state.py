"""Links, edits and faults: the last good design stays, and nothing typed is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tileviz.studies.registry import presets
from tileviz.ui.permute.form import PermuteForm
from tileviz.ui.permute.state import address, edited, matching_preset, opened, with_link

DECLINED = {"src": "S[(8,16):(16,1)]", "dst": "S[(8,16):(1,8)]"}


def test_a_new_session_starts_with_the_demo() -> None:
    state = opened(None, {})
    assert matching_preset(state.form) == presets()[0]
    assert state.problems == ()
    assert not state.stand_in


def test_a_cold_link_is_drawn_and_written_back_in_full() -> None:
    state = opened(None, DECLINED)
    assert state.design.src.extents == (8, 16)
    assert address(state) == {"v": "1", **DECLINED}


def test_opening_the_address_again_changes_nothing() -> None:
    state = with_link(opened(None, DECLINED), {"v": "1", **DECLINED})
    assert opened(state, {"v": "1", **DECLINED}) is state


def test_an_unknown_key_is_reported_and_the_rest_is_used() -> None:
    state = opened(None, {**DECLINED, "colour": "<b>red</b>"})
    assert [error.field for error in state.problems] == ["colour"]
    assert state.design.src.extents == (8, 16)
    assert address(state) is None


def test_a_bad_value_is_reported_and_the_rest_is_used() -> None:
    state = opened(None, {**DECLINED, "dtype": "float99"})
    assert [error.field for error in state.problems] == ["dtype"]
    assert state.design.dtype == "float32"
    assert state.form.dtype == "float99"


def test_a_link_without_a_design_shows_the_demo_and_keeps_its_text() -> None:
    state = opened(None, {"src": "S[(4, 32", "dst": DECLINED["dst"]})
    assert state.stand_in
    assert state.form.src == "S[(4, 32"
    assert state.problems[0].position == 8
    assert matching_preset(PermuteForm.of(state.design)) == presets()[0]


def test_a_bad_link_in_a_running_session_keeps_what_was_drawn() -> None:
    before = opened(None, DECLINED)
    after = opened(before, {"src": "?", "dst": "?"})
    assert after.design == before.design
    assert not after.stand_in


def test_a_typing_error_keeps_the_drawn_design_and_the_typed_text() -> None:
    before = opened(None, DECLINED)
    after = edited(before, replace(before.form, src="S[(8, 16):(16, 1]"))
    assert after.design == before.design
    assert after.form.src == "S[(8, 16):(16, 1]"
    assert after.problems[0].position == 16
    assert address(after) is None


def test_a_repaired_error_is_drawn() -> None:
    before = opened(None, DECLINED)
    broken = edited(before, replace(before.form, src="S["))
    mended = edited(broken, replace(broken.form, src="S[(8, 16):(1, 8)]"))
    assert mended.problems == ()
    assert mended.design.src.layout == "S[(8, 16):(1, 8)]"


def test_a_design_that_only_its_plan_can_refuse_is_a_fault_too() -> None:
    before = opened(None, DECLINED)
    after = edited(before, replace(before.form, src_shape="64, 32", src_region="0:8, 0:16"))
    assert after.design == before.design
    assert after.problems[0].field == "src.shape"


def test_a_link_that_only_its_plan_can_refuse_is_reported() -> None:
    state = opened(None, {**DECLINED, "src_shape": "64,32", "src_region": "0:8,0:16"})
    assert state.stand_in
    assert state.problems[-1].field == "src.shape"


def test_link_problems_go_with_the_first_edit() -> None:
    state = opened(None, {**DECLINED, "colour": "red", "space": "far"})
    assert len(state.problems) == 2
    after = edited(state, replace(state.form, dtype="int32"))
    assert after.problems == ()
    assert after.design.dtype == "int32"


def test_coming_back_from_another_page_finds_everything_as_typed() -> None:
    before = opened(None, DECLINED)
    typed = edited(before, replace(before.form, src="S[(8, 16"))
    again = opened(typed, {})
    assert again.form == typed.form
    assert again.design == before.design
    assert again.problems == typed.problems


@pytest.mark.parametrize("preset", [p for p in presets() if p.study == "permute"], ids=str)
def test_every_preset_is_recognised(preset: object) -> None:
    assert matching_preset(PermuteForm.of(preset.design)) == preset
