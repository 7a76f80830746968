"""Shuffles, votes, matches and reductions against a lane-by-lane reference."""

import random

import numpy as np
import pytest


def shuffled(mode, values, by, clamp, active):
    """The manual's definition, lane by lane; None where a lane reads one that is not active."""
    result = []
    for lane in range(32):
        bound, segment = clamp & 31, clamp >> 8 & 31
        low = lane & segment
        high = low | bound & ~segment
        other = {
            "up": lane - by,
            "down": lane + by,
            "bfly": lane ^ by,
            "idx": low | by & ~segment,
        }[mode]
        inside = other >= high if mode == "up" else other <= high
        source = other if inside else lane
        result.append((values[source] if active[source] else None, inside))
    return result


SHUFFLE = """
.version 8.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 out, .param .u64 flag, .param .u32 by, .param .u32 c) {
  .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<3>;
  mov.u32 %r1, %tid.x;
  ld.param.u64 %rd1, [x]; mad.wide.u32 %rd2, %r1, 4, %rd1; ld.global.u32 %r2, [%rd2];
  ld.param.u32 %r3, [by]; ld.param.u32 %r4, [c];
  shfl.sync.MODE.b32 %r5|%p1, %r2, %r3, %r4, -1;
  selp.u32 %r6, 1, 0, %p1;
  ld.param.u64 %rd1, [out]; mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r5;
  ld.param.u64 %rd1, [flag]; mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r6;
  ret; }
"""


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [32, 16, 4])
def test_shuffles(run_ptx, mode, width):
    clamp = (32 - width) << 8 | (0 if mode == "up" else 31)
    values = np.random.default_rng(1).integers(0, 1 << 32, 64, dtype=np.uint32)
    for by in (0, 1, 3, 7, 16, 31):
        run = run_ptx(
            SHUFFLE.replace("MODE", mode),
            block=64,
            arguments={
                "x": values,
                "out": ("out", "uint32", 64),
                "flag": ("out", "uint32", 64),
                "by": np.uint32(by),
                "c": np.uint32(clamp),
            },
        )
        for warp in range(2):
            part = slice(32 * warp, 32 * warp + 32)
            want = shuffled(mode, values[part].tolist(), by, clamp, [True] * 32)
            assert run.outputs["out"][part].tolist() == [value for value, _ in want]
            assert run.outputs["flag"][part].tolist() == [int(inside) for _, inside in want]
        assert run.problems == ()


def test_a_shuffle_from_an_absent_lane_is_noted(run_cuda):
    source = """
extern "C" __global__ void k(int* x) {
    int i = threadIdx.x;
    x[i] = __shfl_down_sync(0xffffffffu, x[i], 4);
}
"""
    run = run_cuda(source, block=48, arguments={"x": np.arange(48, dtype=np.int32)})
    assert run.outputs["x"][:28].tolist() == list(range(4, 32))
    assert [p.kind for p in run.problems] == ["uninitialised"]
    assert run.problems[0].message == (
        "shuffle from a lane that does not take part: block (0,0,0) thread (44,0,0), lane 12 reads "
        "lane 16, whose value is undefined, line 4"
    )


def test_a_shuffle_by_a_lane_of_its_own_choice(run_cuda):
    source = """
extern "C" __global__ void k(const int* which, int* out) {
    int i = threadIdx.x;
    out[i] = __shfl_sync(0xffffffffu, i * 10, which[i]) + __shfl_sync(0xffffffffu, i, which[i], 8);
}
"""
    which = np.random.default_rng(2).integers(0, 32, 64).astype(np.int32)
    run = run_cuda(source, block=64, arguments={"which": which, "out": ("out", "int32", 64)})
    warp = np.arange(64) // 32 * 32
    lane = np.arange(64)
    want = 10 * (warp + which) + (lane // 8 * 8 + which % 8)
    assert np.array_equal(run.outputs["out"], want)


VOTES = """
extern "C" __global__ void k(const int* x, unsigned* out, unsigned mask) {
    int i = threadIdx.x, n = blockDim.x;
    int lane = i & 31;
    if (!(mask >> lane & 1)) return;
    int value = x[i];
    out[i] = __ballot_sync(mask, value & 1);
    out[n + i] = __any_sync(mask, value > 90);
    out[2 * n + i] = __all_sync(mask, value < 90);
    out[3 * n + i] = __match_any_sync(mask, value % 5);
    int same;
    out[4 * n + i] = __match_all_sync(mask, i / 32, &same);
    out[5 * n + i] = same;
    out[6 * n + i] = __reduce_add_sync(mask, (unsigned)value);
    out[7 * n + i] = __reduce_min_sync(mask, value - 50);
    out[8 * n + i] = __reduce_max_sync(mask, value - 50);
    out[9 * n + i] = __reduce_xor_sync(mask, (unsigned)value);
    out[10 * n + i] = __activemask();
    out[11 * n + i] = __reduce_and_sync(mask, (unsigned)value);
    out[12 * n + i] = __reduce_or_sync(mask, (unsigned)value);
}
"""


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x0F0F00FF, 1])
def test_votes_matches_and_reductions(run_cuda, mask):
    n = 64
    x = np.random.default_rng(3).integers(0, 100, n).astype(np.int32)
    run = run_cuda(
        VOTES,
        block=n,
        arguments={"x": x, "out": np.zeros(13 * n, np.uint32), "mask": np.uint32(mask)},
    )
    assert run.problems == ()
    got = run.outputs["out"].reshape(13, n)
    for i in range(n):
        lane, warp = i % 32, i // 32
        if not mask >> lane & 1:
            assert not got[:, i].any()
            continue
        members = [j for j in range(32) if mask >> j & 1]
        value = {j: int(x[32 * warp + j]) for j in members}

        def bits(chosen):
            return sum(1 << j for j in chosen)

        values = list(value.values())
        want = [
            bits(j for j in members if value[j] & 1),
            any(v > 90 for v in values),
            all(v < 90 for v in values),
            bits(j for j in members if value[j] % 5 == value[lane] % 5),
            mask,
            1,
            sum(values),
            min(values) - 50,
            max(values) - 50,
            np.bitwise_xor.reduce(values),
            mask,
            np.bitwise_and.reduce(values),
            np.bitwise_or.reduce(values),
        ]
        assert [int(g) for g in got[:, i]] == [int(w) & 0xFFFFFFFF for w in want]


def test_halves_of_a_warp_vote_apart(run_cuda):
    source = """
extern "C" __global__ void k(unsigned* out) {
    int i = threadIdx.x;
    unsigned mask = i < 16 ? 0x0000ffffu : 0xffff0000u;
    out[i] = __ballot_sync(mask, i % 3 == 0);
}
"""
    run = run_cuda(source, arguments={"out": ("out", "uint32", 32)})
    low = sum(1 << i for i in range(16) if i % 3 == 0)
    high = sum(1 << i for i in range(16, 32) if i % 3 == 0)
    assert run.outputs["out"].tolist() == [low] * 16 + [high] * 16


def test_a_collective_in_one_branch_waits_for_its_members(run_cuda):
    """The lanes of the mask reach one instruction by different ways."""
    source = """
extern "C" __global__ void k(int* x) {
    int i = threadIdx.x, steps = 0;
    for (int n = x[i]; n > 0; --n) steps += n;
    x[i] = __shfl_xor_sync(0xffffffffu, steps, 1);
}
"""
    counts = random.Random(4).choices(range(20), k=32)
    run = run_cuda(source, arguments={"x": np.array(counts, np.int32)})
    sums = [n * (n + 1) // 2 for n in counts]
    assert run.outputs["x"].tolist() == [sums[i ^ 1] for i in range(32)]


def test_a_collective_whose_members_stay_away_is_a_deadlock(run_cuda):
    source = """
extern "C" __global__ void k(int* x) {
    int i = threadIdx.x;
    if (i < 8) { x[i] = __shfl_sync(0xffffffffu, i, 0); x[1] = 4; }
    else { __syncthreads(); x[i] = 1; }
}
"""
    run = run_cuda(source, arguments={"x": np.zeros(32, np.int32)})
    assert run.problems[-1].kind == "deadlock"
    assert run.problems[-1].line in (4, 5)
