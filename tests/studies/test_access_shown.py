"""One instruction at a time: what is shown, the window of the tile, a cell's bits, the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.dtypes import dtype as dtype_of
from tileviz.layouts import parse_layout
from tileviz.memory import bank_load
from tileviz.studies.access.cell import cell, formula, why
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.explain import verdict as said
from tileviz.studies.access.plan import plan
from tileviz.studies.access.shown import Instruction, instruction, sweeps
from tileviz.studies.access.window import SIDE, window
from tileviz.studies.design import validated
from tileviz.studies.registry import Preset, presets

PRESETS = [found for found in presets() if found.study == "access"]


def designed(**fields: Any) -> AccessDesign:
    return validated(AccessDesign, fields)


def first(design: AccessDesign, access: int = 0) -> Instruction:
    sweep = sweeps(design)[access]
    return instruction(design, sweep, sweep.start)


@pytest.mark.parametrize("found", PRESETS, ids=lambda one: one.name)
def test_the_start_is_what_the_plan_judges(found: Preset) -> None:
    design = found.design
    made = plan(design)
    for access, verdict in enumerate([made.verdict, *(other.verdict for other in made.also)]):
        shown = first(design, access)
        assert (shown.verdict.cost, shown.verdict.ideal) == (verdict.cost, verdict.ideal)


def test_a_lane_map_that_starts_elsewhere_is_found_again() -> None:
    design = designed(layout="S[16,16]", pattern=[[3, 5], None, [4, 6]])
    (sweep,) = sweeps(design)
    shown = instruction(design, sweep, sweep.start)
    assert sweep.count > 1
    assert shown.coordinates[:, [0, 2]].T.tolist() == [[3, 5], [4, 6]]


def test_lanes_beyond_the_matrices_take_no_part() -> None:
    design = designed(op="ldmatrix.x1", addresses=[16 * lane for lane in range(32)])
    assert first(design).active.tolist() == [lane < 8 for lane in range(32)]


_LAYOUTS = (
    "S[8,8]",
    "S[(32,32):(33,1)]",
    "Sw<5,0,5> o S[(32,32):(32,1)]",
    "Sw<3,3,3> o S[(64,64):(64,1)]",
    "S[(40,96):(96,1)]",
    "S[(64,64):(1,64)]",
    "S[100:1]",
    "S[3,7,11]",
    "S[(8,8):(8,1)] + 5",
    "S[256,512]",
)


@given(
    st.sampled_from(_LAYOUTS), st.sampled_from(["int8", "float16", "float32", "float64"]), st.data()
)
def test_a_window_shows_who_touches_what(text: str, dtype: str, data: st.DataObject) -> None:
    layout, width = parse_layout(text), dtype_of(dtype).bytes
    point = st.tuples(*(st.integers(0, extent - 1) for extent in layout.extents))
    lanes = data.draw(st.lists(st.none() | point, min_size=1, max_size=5))
    design = designed(layout=text, dtype=dtype, pattern=lanes)
    shown = first(design)
    part = window(design, shown)
    rows, columns = part.element.shape
    assert rows <= SIDE and columns <= SIDE
    seen: dict[int, set[int]] = {}
    for lane, coordinate in enumerate(lanes):
        if coordinate is None:
            continue
        flat = int(np.ravel_multi_index(coordinate, layout.extents))
        row, column = divmod(flat, part.shape[1])
        at = row - part.row, (column - part.column) // part.per_cell
        if 0 <= at[0] < rows and column >= part.column and at[1] < columns:
            seen.setdefault(at[0] * columns + at[1], set()).add(lane)
    # One element a lane: a cell is touched by exactly the lanes whose element is in it.
    assert {int(at) for at in np.flatnonzero(part.lane.ravel() >= 0)} == set(seen)
    for at, who in seen.items():
        assert part.lane.ravel()[at] == min(who)
        assert part.lanes.ravel()[at] == len(who)
    active = sum(coordinate is not None for coordinate in lanes)
    assert part.outside == active - sum(len(who) for who in seen.values())
    for row in (0, rows - 1):
        element = int(part.element[row, 0])
        if element >= 0:
            place = layout.apply(np.unravel_index(element, layout.extents), layout.extents)["m"]
            assert part.byte[row, 0] == int(place) * width


@given(
    st.sampled_from(_LAYOUTS), st.sampled_from(["int8", "float16", "float32", "float64"]), st.data()
)
def test_the_steps_of_a_cell_lead_to_its_bank(text: str, dtype: str, data: st.DataObject) -> None:
    layout, width = parse_layout(text), dtype_of(dtype).bytes
    point = data.draw(st.tuples(*(st.integers(0, extent - 1) for extent in layout.extents)))
    design = designed(layout=text, dtype=dtype, pattern=[point])
    found = cell(design, point)
    place = int(layout.apply(point, layout.extents)["m"])
    assert found.place == place
    assert found.bank == place * width // 4 % 32 == found.steps[-1].value
    steps = {step.label: step for step in found.steps}
    if "after XOR" in steps:
        before, moved, after = (steps[k] for k in ("offset", "bits that move", "after XOR"))
        assert before.bits ^ moved.bits == after.bits
        assert sum(before.bits >> at & 1 for at in before.taken) == moved.bits.bit_count()
        assert moved.taken == after.changed
    for step in found.steps:
        assert step.bits < 1 << step.high
        assert step.bits & (1 << step.low) - 1 == 0
    assert formula(design, found).endswith(f"= {found.offset}")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"layout": "S[32,32]", "pattern": "column"}, "takes 32 passes"),
        ({"layout": "S[32,32]", "pattern": "row"}, "one pass serves all lanes"),
        ({"addresses": [8 * lane for lane in range(32)]}, "2 lanes want different words of bank 0"),
        ({"addresses": [16 * lane for lane in range(32)]}, "every eighth lane"),
        ({"addresses": [0] * 32}, "All lanes want the same place."),
        ({"addresses": [0] * 32, "op": "atom"}, "takes one lane a pass, which takes 32 passes"),
        ({"addresses": [None]}, "No lane takes part."),
        ({"addresses": [16 * lane for lane in range(32)], "bytes": 16}, "4 groups of 8"),
        ({"addresses": [0, 64], "space": "global"}, "8 bytes of 2 sectors in 1 line: 64 bytes"),
    ],
    ids=range(9),
)
def test_the_reason_is_said(fields: Any, said: str) -> None:
    shown = first(designed(**fields))
    assert said in why(shown)


@given(st.lists(st.none() | st.integers(0, 4000), min_size=1, max_size=32))
def test_the_reason_names_the_passes(units: list[int | None]) -> None:
    shown = first(designed(addresses=[None if at is None else 4 * at for at in units]))
    ways = int(bank_load(shown.accesses).max())
    assert (f"takes {ways} passes" in why(shown)) == (ways > 1)


def test_evidence_of_several_accesses_is_that_of_the_least_known() -> None:
    both = next(found for found in PRESETS if found.name == "banks-transpose-32x32")
    facts = said(plan(both.design)).facts
    alone, together = facts.split(" Of both accesses: ")
    assert alone == "Rule measured on sm_80, 86, 89, 110, 120 and 121."
    assert together == "measured on sm_110, 120 and 121."
    assert "Of" not in said(plan(designed(bytes=4, addresses=[0, 128]))).facts
