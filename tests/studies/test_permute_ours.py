"""Our schedules: complete, at the bound, and as cheap on hardware as claimed."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileviz.memory import judge
from tileviz.studies.design import validated
from tileviz.studies.permute import explain
from tileviz.studies.permute.alternatives import alternatives
from tileviz.studies.permute.colouring import colour_edges, group_elements, perfect_matching
from tileviz.studies.permute.design import PermuteDesign
from tileviz.studies.permute.lane_space import lane_space
from tileviz.studies.permute.plan import Ours, PermutePlan, plan

WIDTHS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "uint128"}


def planned(src: str, dst: str, **fields: Any) -> PermutePlan:
    sides = {"src": {"layout": src}, "dst": {"layout": dst}}
    return plan(validated(PermuteDesign, {**sides, **fields}))


def text(extents: list[int], strides: list[int]) -> str:
    return f"S[({','.join(map(str, extents))}):({','.join(map(str, strides))})]"


def fullest(offsets: list[int], element_bytes: int) -> int:
    """The most items that one bank slot holds: passes that no order avoids."""
    slots = 128 // max(element_bytes, 4)
    return max(Counter(offset % slots for offset in offsets).values())


def check(decided: PermutePlan) -> Ours:
    """Check what is claimed against both layouts and the rules of the banks."""
    ours, design = decided.ours, decided.design
    assert ours is not None, decided.ours_reason
    assert decided.ours_reason is None
    document = ours.to_json()
    per_access = document["bytes"] // ours.schedule.read.element_bytes
    source, target = (
        {place: element for element, place in enumerate(side.parsed.table()["m"].tolist())}
        for side in (design.src, design.dst)
    )
    read: dict[int, list[int]] = {}
    write: dict[int, list[int]] = {}
    for sources, targets in zip(document["src_addr"], document["dst_addr"], strict=True):
        assert len(sources) == len(targets) == 32
        for lane, (start, end) in enumerate(zip(sources, targets, strict=True)):
            assert (start is None) == (end is None)
            for part in range(per_access if start is not None else 0):
                read.setdefault(lane, []).append(source[start + part])
                write.setdefault(lane, []).append(target[end + part])
    if document["bytes_permuted"]:
        # A lane writes what it has read, in another order.
        read, write = ({lane: sorted(e) for lane, e in held.items()} for held in (read, write))
    assert read == write
    assert sorted(e for held in read.values() for e in held) == list(range(len(source)))
    for name, phase in (("read", ours.schedule.read), ("write", ours.schedule.write)):
        assert judge(phase.accesses).wavefronts == document[name]["wavefronts"]
        assert document[name]["ideal"] <= document[name]["wavefronts"]
    assert ours.groups == max(document["read"]["wavefronts"], document["write"]["wavefronts"])
    assert ours.lower_bound <= ours.groups
    return ours


@st.composite
def moves(draw: st.DrawFn) -> dict[str, Any]:
    """Any shape of up to 400 elements, any order of strides, padding and gaps."""
    rank = draw(st.integers(1, 3))
    extents = [draw(st.integers(1, 24 // rank)) for _ in range(rank)]

    def strides() -> list[int]:
        found, reach = [0] * rank, 1
        for dim in draw(st.permutations(range(rank))):
            found[dim] = reach + draw(st.sampled_from([0, 0, 0, 1, 5, 31]))
            reach = found[dim] * extents[dim]
        return found

    return {
        "extents": extents,
        "src": strides(),
        "dst": strides(),
        "width": draw(st.sampled_from([4, 4, 8, 16])),
    }


@settings(max_examples=400, deadline=None)
@given(moves())
def test_any_move_reaches_the_bound_of_its_busier_phase(move: dict[str, Any]) -> None:
    layouts = text(move["extents"], move["src"]), text(move["extents"], move["dst"])
    decided = planned(*layouts, dtype=WIDTHS[move["width"]])
    ours = check(decided)
    bounds = [
        fullest(side.parsed.table()["m"].tolist(), move["width"])
        for side in (decided.design.src, decided.design.dst)
    ]
    assert ours.groups == ours.lower_bound == max(bounds)
    if bounds[0] == bounds[1]:
        read, write = ours.schedule.read, ours.schedule.write
        assert (read.cost, write.cost) == (bounds[0], bounds[0])
        assert ours.kind == "xor" or read.n_way == write.n_way == 1


@settings(max_examples=200, deadline=None)
@given(st.integers(5, 10), st.sampled_from([4, 8, 16]), st.integers(0, 1 << 30))
def test_reordered_bits_get_a_formula_or_an_xor(bits: int, width: int, seed: int) -> None:
    random = Random(seed)
    extents = [1 << (bits - 7)] + [2] * 7 if bits > 7 else [2] * bits
    sides = []
    for _ in range(2):
        order = list(range(len(extents)))
        random.shuffle(order)
        found, reach = [0] * len(extents), 1
        for dim in order:
            found[dim] = reach
            reach *= extents[dim]
        sides.append(text(extents, found))
    ours = check(planned(*sides, dtype=WIDTHS[width]))
    assert ours.kind in ("xor", "f2")
    assert ours.schedule.excess == 0
    assert ours.groups == (1 << bits) * width // 128


def transpose(rows: int, columns: int, dtype: str, **fields: Any) -> PermutePlan:
    shape = [rows, columns]
    return planned(text(shape, [columns, 1]), text(shape, [1, rows]), dtype=dtype, **fields)


@pytest.mark.parametrize("shape", [(8, 16), (16, 16), (32, 8), (64, 4), (32, 4), (16, 64)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float32x4"])
def test_transposes_have_formulas_without_conflicts(shape: tuple[int, int], dtype: str) -> None:
    ours = check(transpose(*shape, dtype))
    assert ours.kind in ("xor", "f2")
    assert ours.schedule.read.n_way == ours.schedule.write.n_way == 1


@pytest.mark.parametrize(
    ("shape", "dtype", "passes"),
    [((32, 32), "float16", 16), ((16, 32), "bfloat16", 8), ((32, 32), "uint8", 8)],
)
def test_small_elements_move_as_whole_words(
    shape: tuple[int, int], dtype: str, passes: int
) -> None:
    ours = check(transpose(*shape, dtype))
    assert ours.schedule.read.bytes == 4
    assert (ours.groups, ours.lower_bound) == (passes, passes)


def test_words_that_stay_together_are_scheduled_whole() -> None:
    decided = planned("S[(32, 4, 2):(8, 2, 1)]", "S[(32, 4, 2):(2, 64, 1)]", dtype="float16")
    ours = check(decided)
    assert ours.schedule.read.bytes == 4
    assert not ours.to_json()["bytes_permuted"]
    assert ours.groups == ours.lower_bound == 4


def test_torn_words_of_odd_shapes_report_what_was_found() -> None:
    ours = check(transpose(5, 7, "float16"))
    assert (ours.groups, ours.lower_bound) == (2, 1)
    assert ours.proof.startswith("Best found: 2 passes")


def test_a_swizzled_destination_has_a_schedule() -> None:
    decided = planned("S[(32, 32):(32, 1)]", "Sw<3,2,3> o S[(32, 32):(1, 32)]")
    assert decided.reference.reason == "dst_not_tile"
    assert check(decided).kind == "f2"


def test_the_fuller_side_decides_and_the_other_does_not_pay_for_it() -> None:
    decided = planned("S[(4, 32):(32, 1)]", "S[(4, 32):(1, 64)]")
    ours = check(decided)
    assert (ours.schedule.read.cost, ours.schedule.write.cost) == (4, 32)
    assert ours.schedule.registers == 4


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"dst": {"layout": "S[(4, 32):(1, 3)]"}}, "(0, 1) and (3, 0) share the destination off"),
        ({"src": {"layout": "S[(4, 32):(0, 1)]"}}, "(0, 0) and (1, 0) share the source offset 0"),
        ({"dst": {"layout": "S[(8, 32):(1, 8)]"}}, "128 and 256 elements: not the same elements"),
        ({"dst": {"layout": "S[(4, 32):(1, 4)]", "dtype": "int32"}}, "float32 and int32"),
        ({"dst": {"layout": "S[(4, 32):(1, 4@laneid)]"}}, "thread or tensor axes"),
        ({"dst": {"layout": "S[(4, 32):(1, 4)] + R[2:128]"}}, "2 copies of each element"),
        ({"scope": "cta"}, "the scope is cta"),
    ],
)
def test_no_schedule_has_a_reason(fields: dict[str, Any], reason: str) -> None:
    base = {"src": {"layout": "S[(4, 32):(32, 1)]"}, "dst": {"layout": "S[(4, 32):(1, 4)]"}}
    decided = plan(validated(PermuteDesign, {**base, **fields}))
    assert decided.ours is None
    assert reason in (decided.ours_reason or "")
    document = decided.to_json()
    assert document["ours"] is None and document["ours_reason"] == decided.ours_reason


def test_too_many_elements_say_how_many_fit() -> None:
    decided = planned("S[(64, 33):(33, 1)]", "S[(64, 33):(1, 64)]")
    assert decided.ours_reason == "2112 elements; a warp holds at most 2048, 64 a lane"


def test_global_memory_counts_sectors() -> None:
    decided = transpose(32, 32, "float32", space="global")
    ours = decided.ours
    assert ours is not None and ours.kind == "f2"
    best = min(schedule.cost for schedule in decided.schedules)
    assert ours.schedule.cost == 384 < best == 1152


def test_alternatives_cost_more_or_take_memory() -> None:
    decided = transpose(8, 16, "float32")
    plain, padded, staged = alternatives(decided)
    assert (plain.read, plain.write, plain.extra_bytes) == (4, 16, 0)
    assert (padded.write, padded.layout) == (4, "S[(8, 16):(1, 10)]")
    again = planned(decided.design.src.layout, padded.layout)
    assert again.schedules[0].write.cost == padded.write
    assert staged.read + staged.write == 2 * decided.ours.schedule.cost
    assert alternatives(transpose(8, 16, "float32", space="global")) == ()


def test_words_of_a_plan() -> None:
    declined = transpose(8, 16, "float32")
    assert explain.verdict(declined).facts == "Best k needs 4 + 8."
    card = explain.cards(declined)[2]
    assert (card.who, card.outcome) == ("Ours · F2 formula", "4 + 4 wavefronts, excess 0")
    assert [row.label for row in explain.k_rows(declined)] == ["0", "1", "2", "ours", "ideal"]
    assert "meets both kernels only in 0" in explain.why(declined)
    rejected = transpose(4, 48, "float32")
    said = explain.verdict(rejected)
    assert said.sentence == (
        "The reference rejects this; our schedule is conflict-free with 6 + 6 wavefronts."
    )
    assert explain.cards(rejected)[2].evidence == "Proof: maximum degree 6, six perfect matchings"
    assert "always splits into 6 perfect matchings" in explain.why(rejected)
    assert explain.formulas(rejected)[-1] == ("Table", "192 entries a side, 384 bytes")
    table = explain.placements(rejected)
    assert table is not None and len(table.rows) == 6
    torn = transpose(32, 32, "float16")
    assert "permutes their bytes in registers" in explain.why(torn)
    for decided in (declined, rejected, torn):
        for phase in ("read", "write"):
            rows = explain.cell_bits(decided, "ours", phase, 9, 1)
            assert 0 <= rows[-1].value < 32


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_colours_are_as_few_as_the_degree(data: st.DataObject) -> None:
    slots = data.draw(st.sampled_from([2, 8, 16, 32]))
    ends = st.integers(0, slots - 1)
    edges = data.draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=150))
    left, right = (np.array(side) for side in zip(*edges, strict=True))
    degree = max(max(Counter(side.tolist()).values()) for side in (left, right))
    colours = colour_edges(left, right, degree)
    assert set(colours.tolist()) <= set(range(degree))
    for side in (left, right):
        seen = Counter(zip(side.tolist(), colours.tolist(), strict=True))
        assert max(seen.values()) == 1
    grouping = group_elements(left, right, slots)
    passes = [0, 0]
    for group in range(grouping.count):
        inside = grouping.group == group
        for number, side in enumerate((left, right)):
            passes[number] += max(Counter(side[inside].tolist()).values(), default=0)
    assert max(passes) == grouping.bound == degree


def test_a_graph_that_is_not_regular_has_no_perfect_matching() -> None:
    with pytest.raises(ValueError, match="not regular"):
        perfect_matching([0b01, 0b01])


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_linear_maps_that_reach_every_slot_have_a_lane_space(data: st.DataObject) -> None:
    group = data.draw(st.sampled_from([3, 4, 5]))
    bits = data.draw(st.integers(5, 9))
    images = st.lists(st.integers(0, (1 << group) - 1), min_size=bits, max_size=bits)
    maps = [tuple(data.draw(images)) for _ in range(2)]

    def image(columns: tuple[int, ...], vector: int) -> int:
        total = 0
        for bit, column in enumerate(columns):
            total ^= column * (vector >> bit & 1)
        return total

    reach = [{image(columns, vector) for vector in range(1 << bits)} for columns in maps]
    space = lane_space(maps[0], maps[1], group)
    if min(map(len, reach)) < 1 << group:
        assert space is None
        return
    assert space is not None
    vectors = space.lanes + space.registers
    elements = [image(vectors, source) for source in range(1 << bits)]
    assert sorted(elements) == list(range(1 << bits))
    for columns in maps:
        for start in range(0, 1 << bits, 1 << group):
            slots = {image(columns, element) for element in elements[start : start + (1 << group)]}
            assert len(slots) == 1 << group
