"""The search for swizzles and paddings, against brute force and the rules of the banks."""

from __future__ import annotations

import itertools
import json
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tileviz.cli import app
from tileviz.errors import DesignError
from tileviz.layouts import parse_layout
from tileviz.memory import Accesses, shared_wavefronts
from tileviz.studies.access.candidates import address_columns, as_swizzle, cute_columns
from tileviz.studies.access.demands import Demand, banks_of, demand_of
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.phases import all_points, phases_of
from tileviz.studies.access.plan import plan
from tileviz.studies.access.search import SearchResult, search
from tileviz.studies.access.swizzle_search import Search
from tileviz.studies.design import validated

ROW = {"op": "st", "pattern": "row"}
ROW16 = {"op": "st", "pattern": "row", "bytes": 16}


def designed(**fields: Any) -> AccessDesign:
    return validated(AccessDesign, fields)


def checked(design: AccessDesign) -> SearchResult:
    """Search, and judge every candidate's layout anew, instruction by instruction."""
    result = search(design)
    phases = phases_of(design)
    shape = parse_layout(design.layout).extents
    for candidate in (*result.candidates, *result.pareto):
        if candidate.layout is None or candidate in result.pareto:
            continue
        layout = parse_layout(candidate.layout)
        for phase, cost in zip(phases, candidate.costs, strict=True):
            accesses = all_points(phase, shape).accesses(layout, phase)
            judged = shared_wavefronts(accesses)
            assert cost.instructions == accesses.executions
            assert (cost.wavefronts, cost.ideal) == (
                int(judged.wavefronts.sum()),
                int(judged.ideal.sum()),
            )
    return result


def test_transpose_needs_five_xors_or_one_word_of_padding() -> None:
    result = checked(designed(layout="S[32, 32]", pattern="column", also=[ROW]))
    swizzle, padding = result.candidates
    assert (swizzle.cute, swizzle.tvm, swizzle.extra_bytes) == ("Swizzle<5,0,5>", (0, 5, 5), 0)
    assert (padding.layout, padding.extra_bytes) == ("S[(32, 32):(33, 1)]", 128)
    assert "row * 32 + (column ^ row)" in swizzle.index
    assert "fewer than 5 XORs" in result.proof


def test_ldmatrix_of_64x64_halves_needs_the_128_byte_swizzle() -> None:
    fields = {"dtype": "float16", "op": "ldmatrix.x4", "pattern": "ldmatrix", "also": [ROW16]}
    result = checked(designed(layout="S[64, 64]", **fields))
    best = result.candidates[0]
    assert (best.cute, best.tvm) == ("Swizzle<3,3,3>", (3, 3, 3))
    assert best.terms == ("bit 4 ^= bit 7", "bit 5 ^= bit 8", "bit 6 ^= bit 9")
    assert result.given[0].wavefronts == 512


def test_useless_bits_of_a_given_swizzle_are_named() -> None:
    fields = {"dtype": "float16", "op": "ldmatrix.x4", "pattern": "ldmatrix", "also": [ROW16]}
    result = search(designed(layout="Sw<4,3,4> o S[64, 128]", **fields))
    assert [bit.idle for bit in result.bits] == [False, False, False, True]
    assert result.bits[3].buys == 0
    assert result.bits[0].buys > 0


def test_a_swizzle_that_tears_vectors_apart_does_not_serve() -> None:
    fields = {"dtype": "float16", "op": "ldmatrix.x4", "pattern": "ldmatrix"}
    result = search(designed(layout="Sw<5,0,5> o S[64, 64]", **fields))
    assert result.given == ()
    assert "tears vectors of 16 bytes apart" in result.given_note


def test_mixed_widths_have_a_bound_and_a_choice() -> None:
    result = checked(designed(layout="S[64, 64]", pattern="column", also=[ROW16]))
    assert not result.found
    assert "4-way conflicts or more; the bound is reached" in result.proof
    assert result.candidates[0].costs[0].wavefronts == 4 * result.candidates[0].costs[0].ideal
    scores = [(sum(c.instructions for c in p.costs), p.wavefronts) for p in result.pareto]
    assert scores == [(160, 640), (192, 384), (256, 256)]


def test_rows_that_are_no_power_of_two_keep_their_size() -> None:
    result = checked(designed(layout="S[48, 96]", pattern="column", also=[ROW]))
    best = result.candidates[0]
    assert (best.kind, best.free, best.extra_bytes) == ("swizzle", True, 0)
    assert best.layout is None and "distances" in best.note


def test_two_accesses_of_one_width_always_have_an_answer() -> None:
    result = checked(designed(layout="S[30, 20]", pattern="column", also=[ROW]))
    best = result.candidates[0]
    assert (result.found, best.kind, best.free) == (True, "table", True)
    assert "No linear swizzle exists: complete search" in result.proof


def test_a_free_tile_needs_nothing() -> None:
    result = checked(designed(layout="S[8, 32]", pattern="row"))
    assert [candidate.kind for candidate in result.candidates] == ["plain"]
    assert result.found


def test_padding_and_swizzle_of_the_given_layout_are_taken_off_first() -> None:
    fields = {"pattern": "column", "also": [ROW]}
    plain = search(designed(layout="S[32, 32]", **fields)).candidates
    padded = search(designed(layout="S[(32, 32):(40, 1)]", **fields)).candidates
    assert plain == padded


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"layout": "S[(4, 32):(16, 1)]", "pattern": "row"}, "layout", "overlaps: (0, 16) and"),
        ({"layout": "S[(8, 8)] + R[2:64]", "pattern": "row"}, "layout", "copies"),
        ({"addresses": [0, 4]}, "layout", "needs a layout and a pattern"),
        ({"layout": "S[8,8]", "pattern": "row", "space": "global"}, "space", "shared memory"),
        ({"layout": "S[8,6]", "pattern": "column", "bytes": 16}, "pattern", "side by side in rows"),
        ({"layout": "S[8,8]", "pattern": [[0, 1]], "bytes": 16}, "layout", "not a multiple of 16"),
        ({"layout": "S[2,2,2]", "pattern": "column"}, "pattern", "2 dimensions"),
        ({"layout": "S[(8,8):(1,8)]", "pattern": "row", "bytes": 16}, "pattern", "side by side"),
    ],
)
def test_what_cannot_be_searched_says_why(fields: Any, field: str, message: str) -> None:
    with pytest.raises(DesignError) as caught:
        search(designed(**fields))
    assert caught.value.field == field
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"layout": "S[1024, 512]", "pattern": "row"}, "layout", "at most 1048576 bytes"),
        ({"layout": "Sw<5,0,3> o S[8,8]", "pattern": "row"}, "layout", "less than swizzle_len"),
        ({"layout": "S[8,8]", "pattern": [[0, 0]] * 33}, "pattern", "1 to 32 coordinates"),
        ({"layout": "S[8,8]", "pattern": [[0, 9]]}, "pattern.0", "must lie inside"),
        ({"layout": "S[8,8]", "pattern": "row", "also": [{"pattern": "row", "bytes": 3}]},
         "also.0.bytes", "1, 2, 4, 8 or 16"),
        ({"layout": "S[8,8]", "pattern": "row", "also": [{"pattern": [[8, 0]]}]},
         "also.0.pattern.0", "must lie inside"),
        ({"addresses": [0], "also": [ROW]}, "also", "needs a layout"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line(fields: Any, field: str, message: str) -> None:
    with pytest.raises(DesignError) as caught:
        plan(designed(**fields))
    assert caught.value.field == field
    assert message in caught.value.message


# -- the search itself ---------------------------------------------------------------------------


def demands(sets: list[set[int]]) -> list[Demand]:
    return [Demand(np.array(sorted(one), dtype=np.int64), 0, 0, False) for one in sets]


differences = st.sets(st.integers(1, 127), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(st.lists(differences, min_size=1, max_size=3))
def test_fewest_xors_agree_with_brute_force(sets: list[set[int]]) -> None:
    """Seven word bits: all 1,024 maps that keep lines in place."""
    union = np.array(sorted(set().union(*sets)), dtype=np.int64)
    best = None
    for pair in itertools.product(range(32), repeat=2):
        columns = (1, 2, 4, 8, 16, *pair)
        if (banks_of(columns, union) != 0).all():
            terms = sum(value.bit_count() for value in pair)
            best = terms if best is None else min(best, terms)
    found = Search(demands(sets), 7, 0).keeping_rows()
    assert found.complete
    if best is None:
        assert found.columns is None
    else:
        assert found.columns is not None
        assert (banks_of(found.columns, union) != 0).all()
        assert sum(value.bit_count() for value in found.columns[5:]) == best


@settings(max_examples=60, deadline=None)
@given(st.lists(differences, min_size=1, max_size=3))
def test_none_means_that_every_kernel_meets_a_difference(sets: list[set[int]]) -> None:
    """Seven word bits: a map exists if and only if some plane of two dimensions avoids all."""
    union = set().union(*sets)
    outside = [vector for vector in range(1, 128) if vector not in union]
    exists = any(a ^ b not in union for a, b in itertools.combinations(outside, 2))
    found = Search(demands(sets), 7, 0).anywhere()
    assert found.complete
    assert (found.columns is not None) == exists
    if found.columns is not None:
        images = [int(banks_of(found.columns, np.array([d]))[0]) for d in union]
        assert all(images)
        words = banks_of(address_columns(found.columns), np.arange(128))
        assert sorted(words.tolist()) == list(range(128))
        assert (words % 32 == banks_of(found.columns, np.arange(128))).all()


@settings(max_examples=150, deadline=None)
@given(st.integers(5, 9), st.integers(0, 1 << 30))
def test_two_phases_of_linear_lane_maps_always_have_a_swizzle(bits: int, seed: int) -> None:
    """Two subspaces of five dimensions have a common complement."""
    random = Random(seed)
    accesses = []
    for _ in range(2):
        vectors: list[int] = []
        spanned = {0}
        while len(vectors) < 5:
            vector = random.randrange(1, 1 << bits)
            if vector not in spanned:
                vectors.append(vector)
                spanned |= {other ^ vector for other in spanned}
        lanes = [0]
        for vector in vectors:
            lanes += [lane ^ vector for lane in lanes]
        accesses.append(Accesses.of(4 * np.array(lanes), space="shared", op="ld", bytes=4))
    found = Search([demand_of(part) for part in accesses], bits, 0).anywhere()
    assert found.columns is not None
    for part in accesses:
        words = banks_of(address_columns(found.columns), part.addresses // 4)
        moved = Accesses.of(4 * words, space="shared", op="ld", bytes=4)
        assert int(shared_wavefronts(moved).wavefronts[0]) == 1


@given(st.integers(0, 4), st.integers(1, 5), st.integers(1, 8))
def test_one_block_swizzles_are_recognised(m: int, b: int, s: int) -> None:
    if m + b > 5 or s < b or m + s < 5:
        return
    columns = cute_columns(12, m, b, s)
    swizzle = as_swizzle(columns, 4)
    if m + b - 1 + s >= 12:
        return
    assert not isinstance(swizzle, str)
    words = np.arange(1 << 12)
    assert (swizzle.apply(words) == banks_of(address_columns(columns), words)).all()


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([(16, 16), (32, 32), (64, 32), (8, 64), (24, 32), (12, 20)]),
    st.sampled_from(["float16", "float32", "float64"]),
    st.lists(
        st.tuples(st.sampled_from(["row", "column"]), st.sampled_from([2, 4, 8, 16])),
        min_size=1,
        max_size=3,
    ),
)
def test_every_candidate_is_judged_as_it_is(
    shape: tuple[int, int], dtype: str, accesses: list[tuple[str, int]]
) -> None:
    width = {"float16": 2, "float32": 4, "float64": 8}[dtype]
    phases = [{"pattern": p, "bytes": max(b, width)} for p, b in accesses]
    design = designed(
        layout=f"S[{shape[0]}, {shape[1]}]", dtype=dtype, **phases[0], also=phases[1:]
    )
    try:
        result = checked(design)
    except DesignError:
        return
    assert result.found == any(candidate.free for candidate in result.candidates)


def test_search_from_the_shell() -> None:
    design = {"study": "access", "layout": "S[32, 32]", "pattern": "column", "also": [ROW]}
    done = CliRunner().invoke(app, ["search", json.dumps(design), "--json"])
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert document["found"] is True and document["proof"]
    assert document["candidates"][0]["cute"] == "Swizzle<5,0,5>"
    assert len(document["candidates"][0]["matrix"]) == 5
    shown = CliRunner().invoke(app, ["search", json.dumps(design)])
    assert shown.stdout.startswith("✓ Swizzle<5,0,5> frees every access and no memory.")
    other = CliRunner().invoke(app, ["search", "permute-demo", "--json"])
    assert other.exit_code == 2
    assert json.loads(other.stdout)["error"]["field"] == "study"
