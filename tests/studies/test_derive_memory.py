"""What accesses cost, counted lane by lane, is what the fast rules say; for any accesses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileviz import api
from tileviz.memory import Accesses, judge, shared_wavefronts
from tileviz.studies.address_steps import address_steps, bank_steps
from tileviz.studies.derivation import Bits, Step
from tileviz.studies.lane_groups import groups_of, pairs_agree
from tileviz.studies.memory_steps import (
    cost_steps,
    fewest_steps,
    histogram_step,
    line_steps,
    n_way_steps,
    used_steps,
)
from tileviz.studies.registry import preset

Check = Callable[[str], Any]
OPS = ("ld", "st", "ldgsts.ca", "ldmatrix.x1", "ldmatrix.x2", "ldmatrix.x4", "stmatrix.x4", "atom")


@st.composite
def accesses(draw: st.DrawFn, space: str) -> Accesses:
    """Draw a few instructions: scattered, strided, or with lanes that want the same."""
    op = draw(st.sampled_from(OPS if space == "shared" else ("ld", "st")))
    if "matrix" in op:
        width = 16
    else:
        widths = (4, 8, 16) if op.startswith("ldgsts") else (1, 2, 4, 8, 16)
        width = draw(st.sampled_from(widths))
    rows = draw(st.integers(1, 12))
    seed, spread = draw(st.integers(0, 1 << 16)), draw(st.sampled_from((1, 4, 40, 2000)))
    random = np.random.default_rng(seed)
    units = random.integers(0, spread, (rows, 32))
    if draw(st.booleans()):
        units = units[:, :1] + draw(st.integers(0, 33)) * (np.arange(32) // draw(st.integers(1, 4)))
    active = random.random((rows, 32)) < draw(st.sampled_from((1.0, 0.7, 0.05)))
    return Accesses.of(units * width, active=active, space=space, op=op, bytes=width)  # type: ignore[arg-type]


def _value(steps: list[Step], check: Check) -> Any:
    return [check(step.arithmetic) for step in steps if step.arithmetic][-1]


@settings(max_examples=150)
@given(made=accesses("shared"))
def test_shared_costs_agree_with_the_rules(made: Accesses, check_arithmetic: Check) -> None:
    verdict = judge(made)
    assert _value(cost_steps(made), check_arithmetic) == verdict.wavefronts
    assert _value(fewest_steps(made), check_arithmetic) == verdict.ideal
    assert _value(n_way_steps(made), check_arithmetic) == verdict.n_way
    banks = shared_wavefronts(made)
    for row in range(made.executions):
        assert pairs_agree(made, row) == banks.merged[row]
        passes = [group.passes for group in groups_of(made, row)]
        assert passes == [n for n in banks.passes[row].tolist() if n]


@settings(max_examples=80)
@given(made=accesses("global"))
def test_global_costs_agree_with_the_rules(made: Accesses, check_arithmetic: Check) -> None:
    verdict = judge(made)
    assert _value(cost_steps(made), check_arithmetic) == verdict.sectors
    assert _value(fewest_steps(made), check_arithmetic) == verdict.ideal
    assert _value(line_steps(made), check_arithmetic) == verdict.lines
    assert _value(used_steps(made), check_arithmetic) == verdict.bytes_used


def test_many_instructions_are_counted_fast_and_the_worst_is_shown(check_arithmetic: Check) -> None:
    random = np.random.default_rng(0)
    addresses = 4 * random.integers(0, 1 << 12, (100_000, 32))
    addresses[31_337] = 128 * np.arange(32)
    made = Accesses.of(addresses, space="shared", op="ld", bytes=4)
    steps = cost_steps(made, "execution")
    assert "Execution 31337: 1 bank is asked" in steps[1].text
    assert _value(steps, check_arithmetic) == judge(made).wavefronts


def test_no_lane_and_no_instruction(check_arithmetic: Check) -> None:
    none = np.zeros((1, 32), bool)
    idle = Accesses.of(np.zeros(32, int), active=none, space="shared", op="ld", bytes=4)
    empty = Accesses.of(np.zeros((0, 32), int), space="shared", op="ld", bytes=4)
    far = Accesses.of(np.zeros((0, 32), int), space="global", op="ld", bytes=4)
    for made in (idle, empty, far):
        for work in (cost_steps, fewest_steps):
            assert _value(work(made), check_arithmetic) == 0
    assert _value(n_way_steps(empty), check_arithmetic) == 0
    assert histogram_step(empty).arithmetic == "0"


def test_lanes_that_meet_are_shown_bit_by_bit() -> None:
    column = Accesses.of(128 * np.arange(32), space="shared", op="ld", bytes=4)
    bits = cost_steps(column)[1].bits
    assert [row.label for row in bits[:2]] == ["lane 0: word", "lane 1: word"]
    assert {row.bits & 31 for row in bits} == {0}
    assert bits[-1] == Bits("bank = word mod 32", 0, 0, 0, 5, (), (0, 1, 2, 3, 4))


@settings(max_examples=60)
@given(
    extents=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    strides=st.lists(st.integers(-9, 40), min_size=4, max_size=4),
    start=st.integers(0, 99),
    letters=st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(3, 4)),
    inner=st.booleans(),
    data=st.data(),
)
def test_addresses_agree_with_layouts(
    extents: list[int],
    strides: list[int],
    start: int,
    letters: tuple[int, int, int],
    inner: bool,
    data: st.DataObject,
    check_arithmetic: Check,
) -> None:
    from tileviz.layouts import ComposeLayout, Swizzle, TileLayout

    shard = [(e, abs(s) if inner else s, "m") for e, s in zip(extents, strides, strict=False)]
    tile = TileLayout(shard, offset={"m": start} if start else {})
    layout = ComposeLayout(Swizzle(*letters), tile) if inner else tile
    shape = tuple(extents)
    if data.draw(st.booleans()):
        shape = (int(np.prod(extents)),)
    at = tuple(data.draw(st.integers(0, extent - 1)) for extent in shape)
    place = int(layout.apply(at, shape)["m"])
    assert _value(address_steps(layout, at, shape), check_arithmetic) == place
    if place >= 0:
        assert _value(bank_steps(place, 2), check_arithmetic) == place * 2 // 4 % 32


@pytest.mark.parametrize("wrong", ["4 + 4 = 9", "max(4, 2) = 2", "2 / 3 ≈ 0.68", "7 = 7 = 8"])
def test_the_check_can_fail(wrong: str, check_arithmetic: Check) -> None:
    with pytest.raises(AssertionError):
        check_arithmetic(wrong)
    assert check_arithmetic("floor(1,168 / 4) mod 32 = 4") == 4


def test_sizes_of_arrangements_say_where_they_come_from() -> None:
    found = api.explain(preset("banks-ldmatrix-64x64").design)
    one = next(n for n in found if n.name.endswith(".bytes") and n.value == 9216)
    assert [step.arithmetic for step in one.steps] == [
        "64 · 64 · 2 = 8,192", "64 · 72 · 2 = 9,216",
    ]  # fmt: skip
    assert "S[(64, 64):(72, 1)]" in one.steps[1].text
    extra = found.find(one.name.replace(".bytes", ".extra_bytes"))
    assert extra.steps[-1].arithmetic == "9,216 − 8,192 = 1,024"


def test_what_a_task_reads_is_unfolded() -> None:
    found = api.explain(preset("schedule-ragged").design)
    first, last = found.find("metrics.read_bytes").steps
    assert first.arithmetic == "(128 + 256) · 64 = 24,576"
    assert last.arithmetic.startswith("(456 · 24,576) · 256")


def test_edges_are_said_to_be_whole_where_the_number_stands() -> None:
    ragged = api.plan(preset("schedule-ragged").design)
    found = api.explain(ragged.design)
    once = found.find("metrics.operand_bytes")
    assert once.label == "A and B, each once, edges as whole tiles"
    assert once.steps[0].arithmetic == "(2,400 + 6,000) · 16,384 · 16 / 8 = 275,251,200"
    assert once.value == ragged.metrics.operand_bytes > 275_251_200
    assert ragged.to_json()["metrics"]["edges_note"] == "edges count as whole tiles"
    even = api.plan(preset("schedule-zn-3").design)
    assert "edges_note" not in even.to_json()["metrics"]
    assert api.explain(even.design).find("metrics.operand_bytes").label == "A and B, each once"
