"""Decisions and plans against slow enumerations written for these tests."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tileviz.studies.broadcast.blocksize import candidates, early_block_size
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.general import general
from tileviz.studies.broadcast.ours import THREADS
from tileviz.studies.broadcast.plan import BroadcastPlan, bytes_moved, plan
from tileviz.studies.design import validated


def planned(operands: Any, out: Any, **fields: Any) -> BroadcastPlan:
    return plan(validated(BroadcastDesign, {"operands": operands, "out": out, **fields}))


def operand_index(shape: tuple[int, ...], out: tuple[int, ...]) -> np.ndarray:
    """Position in the operand that every flat output element reads."""
    size = int(np.prod(shape, dtype=int))
    return np.broadcast_to(np.arange(size).reshape(shape), out).ravel()


@st.composite
def shapes(draw: st.DrawFn, most: int = 200_000) -> tuple[list[list[int]], list[int]]:
    """One to three operands of one output, broadcast on any axes, ranks cut."""
    rank = draw(st.integers(1, 5))
    sizes = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 16, 24, 32, 33, 64, 96, 255, 256, 257, 1024])
    out: list[int] = []
    for _ in range(rank):
        room = most // int(np.prod(out, dtype=int))
        out.append(min(draw(sizes), max(1, room)))
    operands = []
    for _ in range(draw(st.integers(1, 3))):
        keep = draw(st.lists(st.booleans(), min_size=rank, max_size=rank))
        shape = [extent if kept else 1 for extent, kept in zip(out, keep, strict=True)]
        cut = draw(st.integers(0, rank))
        while cut and shape and shape[0] == 1:
            shape, cut = shape[1:], cut - 1
        operands.append(shape)
    return operands, out


@settings(max_examples=60, deadline=None)
@given(shapes(most=20_000), st.sampled_from([1, 2, 4, 80]))
def test_general_loads_are_those_of_the_index(found: Any, sm_count: int) -> None:
    operands, out = found
    design = validated(BroadcastDesign, {"operands": operands, "out": out, "sm_count": sm_count})
    launch = general(design)
    n = design.elements
    chunk = launch.threads * launch.serial
    for position, shape in enumerate(design.shapes):
        index = operand_index(shape, design.out)
        padded = np.full(launch.grid * chunk, -1)
        padded[:n] = index
        steps = padded.reshape(launch.grid, launch.serial, launch.threads)
        whole = (steps >= 0).all(axis=1)
        constant = ((steps == steps[:, :1]).all(axis=1) | ~whole).all()
        if launch.invariant[position]:
            assert constant
        elif whole.all():
            assert not constant


@settings(max_examples=80, deadline=None)
@given(shapes(), st.sampled_from(["int8", "float16", "float32", "float64"]))
def test_every_element_once_and_values_that_stay(found: Any, dtype: str) -> None:
    """Enumerate our schedule: coverage, and what a thread's vectors read."""
    operands, out = found
    decided = planned(operands, out, dtype=dtype, sm_count=4)
    ours, proof = decided.ours, decided.proof
    assert ours is not None and proof is not None and proof.holds
    lanes = np.arange(ours.grid * THREADS)
    block, thread = lanes // THREADS, lanes % THREADS
    step = np.arange(ours.steps)[:, None]
    if ours.kind == "stationary":
        vector = lanes + step * ours.grid * THREADS
        inside = vector < ours.vectors
    elif ours.kind == "flat_fastdiv":
        vector = block * THREADS * ours.unroll + step * THREADS + thread
        inside = vector < ours.vectors
    else:
        row = ours.merged.inner // ours.vector
        column = block % ours.tiles * THREADS * ours.unroll + step * THREADS + thread
        vector = block // ours.tiles * row + column
        inside = column < row
    covered = np.sort(vector[inside])
    assert np.array_equal(covered, np.arange(ours.vectors))
    if ours.kind == "flat_fastdiv":
        return
    element = vector[:, :, None] * ours.vector + np.arange(ours.vector)
    element = np.where(inside[:, :, None], element, 0)
    for position in ours.merged.broadcasting:
        read = operand_index(decided.design.shapes[position], decided.design.out)[element]
        same = (read == read[:1]) | ~inside[:, :, None]
        assert same.all()


def test_odd_forms_are_stationary() -> None:
    forms = [([c], [64, 56, 56, c]) for c in (24, 33, 48, 100, 255, 257, 1000, 1184, 65536)]
    forms += [([1, 56, 1, 192], [64, 56, 56, 192]), ([1, 1, 56, 56], [64, 192, 56, 56])]
    for operand, out in forms:
        ours = planned([operand], out).ours
        assert ours is not None
        assert (ours.kind, ours.loads_per_thread) == ("stationary", 1), operand


def test_squeeze_excite_forms() -> None:
    nchw = planned([[8, 32, 1, 1]], [8, 32, 64, 64]).ours
    nhwc = planned([[8, 1, 1, 32]], [8, 64, 64, 32]).ours
    assert nchw is not None and nhwc is not None
    assert (nchw.kind, nchw.loads_per_thread) == ("row_tile", 1)
    assert nhwc.kind == "flat_fastdiv"
    assert nhwc.loads_per_thread == nhwc.steps


def test_sizes_over_32_bits() -> None:
    found = planned([[192]], [1 << 24, 192], dtype="int8").ours
    assert found is not None and found.wide
    assert not planned([[192]], [64, 192]).ours.wide  # type: ignore[union-attr]


def test_every_width() -> None:
    widths = {"int8": 16, "bfloat16": 8, "float32": 4, "float64": 2}
    for dtype, vector in widths.items():
        found = planned([[33]], [512, 28, 33], dtype=dtype).ours
        assert found is not None and found.vector == vector


def test_grid_of_the_tactic_can_be_unlaunchable() -> None:
    trap = planned([[1, 2, 1, 1]], [262148, 2, 4, 8]).cinn
    assert trap.launch is not None and trap.launch.grid == (2, 65537)
    assert trap.launchable is False


def test_early_description_differs() -> None:
    rejected = planned([[1, 8, 1, 192]], [4, 8, 16, 192])
    assert not rejected.cinn.applies
    assert rejected.early is not None and rejected.early.applies
    assert rejected.early.block == (192, 1)
    large = planned([[2048]], [64, 28, 28, 2048]).early
    assert large is not None and large.block == (1024, 1)
    assert "thread coarsening" in large.note
    assert planned([[192]], [64, 56, 56, 192]).early is None


def test_block_size_finder_lists_all_candidates() -> None:
    found = {candidate.K: candidate for candidate in candidates(192)}
    assert list(found) == list(range(32, 1025, 32))
    assert found[192].chosen and found[192].loads == 1 and found[192].lane_use == 1
    assert found[256].loads == 4 and found[256].lane_use == 0.75
    assert found[64].divides and not found[64].in_range
    assert found[384].packs and found[384].loads == 1
    assert not any(candidate.chosen for candidate in candidates(33))


def test_early_block_size_is_the_nearest_divisor() -> None:
    for warps in range(1, 1100):
        channels = 32 * warps
        fitting = [K for K in range(128, 1025, 32) if channels % K == 0]
        want = min(fitting, key=lambda K: abs(K - channels)) if fitting else None
        assert early_block_size(channels) == want


def test_published_bytes() -> None:
    for out in ([256, 64, 64, 192], [128, 72, 72, 224], [256, 48, 48, 224], [400, 72, 72, 384]):
        design = validated(
            BroadcastDesign, {"operands": [[out[3]]], "out": out, "expression": "batchnorm"}
        )
        assert bytes_moved(design) == 8 * int(np.prod(out)) + 16 * out[3]


def test_unit_axes_are_preserved() -> None:
    for out, reason in (([1, 64, 8, 8], "nchw_group_empty"), ([1, 64], "no_common_broadcast_axis")):
        shape = [64, 1, 1][: 3 if len(out) == 4 else 1]
        assert planned([shape], out).cinn.reason == reason


def test_dynamic_grids_are_text() -> None:
    for out, operand in itertools.product([[-1, 16, 16, 512]], [[512], [1, 1, 1, 512]]):
        found = planned([operand], out).to_json()
        assert found["cinn"]["grid"] == ["B*2", 1]
        assert found["plan"] is None and "run time" in found["plan_reason"]
