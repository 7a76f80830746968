"""The race check against a slow pairwise reference, on random histories."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileviz.emulator.access import Operation
from tileviz.emulator.lanes import Geometry
from tileviz.emulator.memory import GlobalMemory
from tileviz.emulator.races import RaceLog
from tileviz.emulator.replay import Replay
from tileviz.emulator.state import State

THREADS = 64
BYTES = 32

_lanes = st.lists(st.sampled_from([0, 1, 2, 31, 32, 33, 63]), min_size=1, max_size=5, unique=True)
_width = st.sampled_from([1, 2, 4, 8])
_kind = st.sampled_from(["load", "store", "atomic"])
_access = st.tuples(_kind, _lanes, _width, st.integers(0, 7), st.integers(0, 2), st.integers(0, 2))
_sync = st.sampled_from([("block",), ("warp", 0), ("warp", 1), ("warps",)])
histories = st.lists(st.one_of(_access, _access, _access, _sync), min_size=1, max_size=14)


def addresses(lanes, width, start, stride):
    """Byte addresses in ``BYTES``, aligned to the width."""
    return [(start + stride * i) % (BYTES // width) * width for i in range(len(lanes))]


def reference(history):
    """Tell whether two unordered conflicting accesses exist, comparing every pair."""
    uses = []  # step, kind, lane, byte, value
    syncs = []  # step, lanes
    for step, event in enumerate(history):
        if event[0] in ("load", "store", "atomic"):
            kind, lanes, width, start, stride, value = event
            lanes = sorted(lanes)
            for lane, address in zip(lanes, addresses(lanes, width, start, stride), strict=True):
                uses += [(step, kind, lane, address + b, value) for b in range(width)]
        elif event[0] == "block":
            syncs.append((step, set(range(THREADS))))
        else:
            warps = [event[1]] if event[0] == "warp" else [0, 1]
            syncs += [(step, set(range(32 * w, 32 * w + 32))) for w in warps]
    for a, b in combinations(uses, 2):
        (s, kind, lane, byte, value), (t, other_kind, other, other_byte, other_value) = a, b
        if byte != other_byte or lane == other or {kind, other_kind} == {"load"}:
            continue
        if kind == other_kind == "atomic":
            continue
        if kind == other_kind == "store" and value == other_value:
            continue
        if any(s < step < t and {lane, other} <= members for step, members in syncs):
            continue
        return True
    return False


def replayed(history, force):
    state = State(Geometry((1, 1, 1), (THREADS, 1, 1), 1), GlobalMemory(), BYTES, 0)
    first = state.begin(np.zeros(1, np.int64))
    log = RaceLog(state, 1)
    log.begin()
    log._simple = not force
    for event in history:
        if event[0] in ("load", "store", "atomic"):
            kind, lanes, width, start, stride, value = event
            lanes = sorted(lanes)
            operation = Operation(0, None, kind, kind, width)
            log.access(
                operation,
                state.lanes(np.array(lanes)),
                np.array(addresses(lanes, width, start, stride), np.int64),
            )
            if kind == "store":
                log.stored(
                    np.full(
                        len(lanes),
                        value * 0x0101010101010101 & ((1 << 8 * width) - 1),
                        f"uint{8 * width}",
                    )
                )
        elif event[0] == "block":
            log.sync_blocks(first)
            log._simple = log._simple and not force
        elif event[0] == "warps":
            log.sync_warps(first)
        else:
            log.sync_warps(state.lanes(np.arange(32 * event[1], 32 * event[1] + 32)))
    log.judge()
    return bool(state.notes)


@settings(max_examples=300, deadline=None)
@given(history=histories)
def test_a_race_is_found_exactly_where_two_accesses_are_unordered(history):
    want = reference(history)
    assert replayed(history, force=True) == want
    assert replayed(history, force=False) == want


def test_the_quick_tests_are_used(monkeypatch):
    """Guards the property above: without a race, ordinary intervals are not replayed."""

    def refuse(self, events):
        raise AssertionError("replayed")

    monkeypatch.setattr(Replay, "run", refuse)
    every = list(range(8))
    apart = [("store", every, 2, 0, 1, 0), ("load", every, 2, 0, 1, 0), ("block",)]
    permuted = [("store", every, 2, 0, 1, 0), ("warps",), ("load", every[::-1], 4, 0, 1, 0)]
    assert not replayed(apart, force=False)
    assert not replayed(permuted, force=False)
    with pytest.raises(AssertionError, match="replayed"):
        replayed([("store", every, 2, 0, 1, 0), ("load", [9, 10], 4, 0, 1, 0)], force=False)


SOURCE = """
extern "C" __global__ void k(TYPE* out) {
    __shared__ TYPE tile[64];
    int i = threadIdx.x;
    BODY
    out[i] = tile[i];
}
"""


@pytest.mark.parametrize(
    ("kind", "body", "races"),
    [
        # Neighbours in one word are not the same byte.
        ("unsigned char", "tile[i] = i;", False),
        ("unsigned short", "tile[i ^ 1] = i; __syncthreads();", False),
        ("unsigned char", "tile[i ^ 1] = i;", True),
        # Everybody writes one value, or different ones.
        ("int", "tile[i] = 0; __syncthreads(); tile[3] = 7; __syncthreads();", False),
        ("int", "tile[i] = 0; __syncthreads(); tile[3] = i; __syncthreads();", True),
        # Atomics among themselves, and beside a plain access.
        (
            "int",
            "tile[i] = 0; __syncthreads(); atomicAdd(&tile[i & 3], 1); __syncthreads();",
            False,
        ),
        ("int", "tile[i] = 0; __syncthreads(); atomicAdd(&tile[i & 3], 1);", True),
        # __syncwarp orders one warp only.
        ("int", "tile[i ^ 1] = i; __syncwarp();", False),
        ("int", "tile[i ^ 32] = i; __syncwarp();", True),
        # All have read before the barrier; only then it is written again.
        (
            "int",
            "tile[i] = i; __syncthreads(); int v = tile[63 - i]; __syncthreads(); tile[i] = v;",
            False,
        ),
        ("int", "tile[i] = i; __syncthreads(); int v = tile[63 - i]; tile[i] = v;", True),
    ],
)
def test_kernels_with_and_without_a_race(run_cuda, kind, body, races):
    name = {"unsigned char": "uint8", "unsigned short": "uint16", "int": "int32"}[kind]
    run = run_cuda(
        SOURCE.replace("TYPE", kind).replace("BODY", body),
        block=64,
        arguments={"out": ("out", name, 64)},
    )
    assert {p.kind for p in run.problems} == ({"race"} if races else set())


def test_blocks_that_reach_a_barrier_at_different_times(run_cuda):
    source = """
extern "C" __global__ void k(const int* n, int* out) {
    __shared__ int tile[64];
    int i = threadIdx.x;
    for (int j = 0; j < n[blockIdx.x]; ++j) {
        tile[i] = j;
        __syncthreads();
        out[blockIdx.x * 64 + i] = tile[63 - i];
        SYNC
    }
}
"""
    n = np.array([3, 1, 5], np.int32)
    for sync, kinds in (("__syncthreads();", set()), ("", {"race"})):
        run = run_cuda(
            source.replace("SYNC", sync),
            grid=3,
            block=64,
            arguments={"n": n, "out": np.zeros(192, np.int32)},
        )
        assert {p.kind for p in run.problems} == kinds
