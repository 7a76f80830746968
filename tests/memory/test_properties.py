"""The vectorised rules against slow plain Python, on random accesses."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tileviz.memory import (
    Accesses,
    bank_load,
    global_sectors,
    judge,
    shared_evidence,
    shared_wavefronts,
    weakest,
)

Lanes = list[int | None]


def slow_wavefronts(lanes: Lanes, op: str, width: int) -> tuple[int, int]:
    """The bank rule, written for people: dictionaries and loops."""
    size = 32 if width <= 4 else 128 // width
    if op == "ld" and width >= 8:
        for distance in (1, 2):
            if all(lanes[i] is None or lanes[i ^ distance] in (None, lanes[i]) for i in range(32)):
                size *= 2
                break
    total = ideal = 0
    for start in range(0, 32, size):
        banks: dict[int, list[int]] = {}
        group = [lane for lane in lanes[start : start + size] if lane is not None]
        for address in group:
            for byte in range(address, address + width, min(width, 4)):
                banks.setdefault(byte // 4 % 32, []).append(byte // 4)
        if group:
            ideal += 1
            merge = len if op == "ldgsts.ca" else lambda words: len(set(words))
            total += max(merge(words) for words in banks.values())
    return total, ideal


def slow_sectors(lanes: Lanes, width: int) -> tuple[int, int, int]:
    used = {b for lane in lanes if lane is not None for b in range(lane, lane + width)}
    return len({b // 32 for b in used}), len({b // 128 for b in used}), len(used)


@st.composite
def instructions(draw: st.DrawFn) -> tuple[list[Lanes], str, int]:
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    op = draw(st.sampled_from(["ld", "st", "ldgsts.ca"] if width >= 4 else ["ld", "st"]))
    reach = draw(st.sampled_from([2, 8, 64, 512]))
    lane = st.one_of(st.none(), st.integers(0, reach - 1).map(lambda unit: unit * width))
    row = st.lists(lane, min_size=32, max_size=32)
    twins = st.lists(lane, min_size=16, max_size=16).map(lambda r: [x for x in r for _ in (0, 1)])
    return draw(st.lists(st.one_of(row, twins), min_size=1, max_size=4)), op, width


def pack(rows: list[Lanes], op: str, width: int, space: str) -> Accesses:
    return Accesses.of(
        np.array([[0 if lane is None else lane for lane in row] for row in rows]),
        active=np.array([[lane is not None for lane in row] for row in rows]),
        space=space,  # type: ignore[arg-type]
        op=op,
        bytes=width,
    )


@given(instructions())
def test_wavefronts_equal_slow_rule(drawn: tuple[list[Lanes], str, int]) -> None:
    rows, op, width = drawn
    verdict = shared_wavefronts(pack(rows, op, width, "shared"))
    found = list(zip(verdict.wavefronts.tolist(), verdict.ideal.tolist(), strict=True))
    assert found == [slow_wavefronts(row, op, width) for row in rows]


@given(instructions())
def test_sectors_equal_slow_rule(drawn: tuple[list[Lanes], str, int]) -> None:
    rows, op, width = drawn
    verdict = global_sectors(pack(rows, op, width, "global"))
    found = zip(
        verdict.sectors.tolist(), verdict.lines.tolist(), verdict.bytes_used.tolist(), strict=True
    )
    assert list(found) == [slow_sectors(row, width) for row in rows]


@given(instructions(), st.integers(0, 31))
def test_moving_by_words_only_rotates_the_banks(
    drawn: tuple[list[Lanes], str, int], steps: int
) -> None:
    rows, op, width = drawn
    here = pack(rows, op, width, "shared")
    moved = Accesses.of(
        here.addresses + 16 * steps, active=here.active, space="shared", op=op, bytes=width
    )
    assert judge(here).wavefronts == judge(moved).wavefronts


def test_many_instructions_are_judged_in_batches() -> None:
    rng = np.random.default_rng(0)
    addresses = 16 * rng.integers(0, 64, size=(70_000, 32))
    whole = Accesses.of(addresses, space="shared", op="ld", bytes=16)
    tail = Accesses.of(addresses[-3:], space="shared", op="ld", bytes=16)
    assert shared_wavefronts(whole).wavefronts[-3:].tolist() == (
        shared_wavefronts(tail).wavefronts.tolist()
    )


def test_no_instruction_costs_nothing() -> None:
    nothing = Accesses.of(np.zeros((0, 32), int), space="shared", op="ld", bytes=4)
    verdict = judge(nothing)
    assert (verdict.wavefronts, verdict.ideal, verdict.executions) == (0, 0, 0)


@given(instructions())
def test_busiest_bank_load_is_n_way(drawn: tuple[list[Lanes], str, int]) -> None:
    rows, op, width = drawn
    accesses = pack(rows, op, width, "shared")
    assert bank_load(accesses).max(axis=1).tolist() == (shared_wavefronts(accesses).n_way.tolist())


def test_two_rules_together_are_known_no_better_than_the_less_known() -> None:
    load, store = shared_evidence("ld", 4), shared_evidence("st", 4)
    both = weakest(load, store)
    assert set(both.archs) == {110, 120, 121} and both.source.startswith("measured on sm_110")
    assert weakest(load, load) is load
    assert weakest(load, shared_evidence("st", 1)).confidence == "derived"
    # Measured where nothing is common: both are told.
    assert weakest(shared_evidence("ld", 16, merged=True), store).source.count("sm_") > 1
