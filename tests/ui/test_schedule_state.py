"""Links, edits and faults of a schedule: the last good design stays, nothing typed is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tileviz.studies.registry import preset, presets
from tileviz.ui.schedule.form import ScheduleForm, own_texts
from tileviz.ui.schedule.state import (
    DEMO,
    address,
    edited,
    matching_preset,
    opened,
    with_link,
)

LINK = {"problem": "300,500,64", "tile": "128,256,32", "policy": "catlass", "offset": "3"}


def test_a_new_session_starts_with_the_ragged_grid() -> None:
    state = opened(None, {})
    assert matching_preset(state.form) == preset(DEMO)
    assert state.problems == ()


def test_a_cold_link_is_drawn_and_written_back_in_full() -> None:
    state = opened(None, LINK)
    assert state.design.grid.tiles == 6
    assert address(state) == {"v": "1", **LINK}


def test_opening_the_address_again_changes_nothing() -> None:
    state = with_link(opened(None, LINK), {"v": "1", **LINK})
    assert opened(state, {"v": "1", **LINK}) is state


@pytest.mark.parametrize(
    ("key", "value"), [("colour", "<b>red</b>"), ("offset", "0"), ("workers", "-4")]
)
def test_a_fault_in_a_link_is_reported_and_the_rest_is_used(key: str, value: str) -> None:
    state = opened(None, {**LINK, key: value})
    assert [error.field for error in state.problems] == [key]
    assert state.design.grid.tiles == 6
    assert address(state) is None


def test_a_faulty_text_of_a_link_stays_in_its_field() -> None:
    state = opened(None, {**LINK, "offset": "0"})
    assert dict(state.form.own)["offset"] == "0"
    assert state.design.parameters.offset == 1


def test_a_link_without_a_design_shows_the_demo_and_keeps_its_text() -> None:
    state = opened(None, {"problem": "300,x", "policy": "catlass"})
    assert state.stand_in
    assert state.form.problem == "300, x"
    assert matching_preset(ScheduleForm.of(state.design)) == preset(DEMO)


def test_a_typing_error_keeps_the_drawn_design_and_the_typed_text() -> None:
    before = opened(None, LINK)
    after = edited(before, replace(before.form, problem="300, 500"))
    assert after.design == before.design
    assert after.form.problem == "300, 500"
    assert after.problems
    assert address(after) is None
    mended = edited(after, replace(after.form, problem="300, 500, 32"))
    assert mended.problems == ()
    assert mended.design.problem == (300, 500, 32)


def test_another_policy_brings_its_own_parameters() -> None:
    before = opened(None, LINK)
    form = replace(before.form, policy="triton_grouped", own=own_texts("triton_grouped", {}))
    after = edited(before, form)
    assert after.problems == ()
    wanted = {"v": "1", **LINK, "policy": "triton_grouped"}
    del wanted["offset"]
    assert address(after) == wanted


def test_coming_back_from_another_page_finds_everything_as_typed() -> None:
    before = opened(None, LINK)
    typed = edited(before, replace(before.form, tile="128"))
    again = opened(typed, {})
    assert (again.form, again.design, again.problems) == (
        typed.form,
        before.design,
        typed.problems,
    )


@pytest.mark.parametrize(
    "found", [one for one in presets() if one.study == "schedule"], ids=lambda one: one.name
)
def test_every_preset_is_recognised(found: Any) -> None:
    assert matching_preset(ScheduleForm.of(found.design)) == found
