"""Whole kernels: outputs, accesses, faults and limits."""

import numpy as np
import pytest

from tileviz.cuda.kernel import Buffer, Scalar
from tileviz.emulator import LaunchError, Limits, UnsupportedError, emulate

PERMUTE = """
extern "C" __global__ void __launch_bounds__(128) k(const float* in, float* out, int n) {
    __shared__ __align__(16) float tile[4][128];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int base = (blockIdx.x * 4 + warp) * 128;
    if (base >= n) return;
    for (int i = 0; i < 4; ++i) tile[warp][lane * 4 + i] = in[base + i * 32 + lane];
    SYNC
    for (int i = 0; i < 4; ++i) out[base + lane * 4 + i] = tile[warp][lane * 4 + i];
}
"""

IN_PLACE = """
extern "C" __global__ void k(float* data) {
    __shared__ float tile[32];
    int lane = threadIdx.x;
    tile[lane] = data[lane];
    __syncwarp();
    float value = tile[31 - lane];
    SYNC
    tile[lane] = value;
    __syncwarp();
    data[lane] = tile[lane];
}
"""


@pytest.mark.parametrize("arch", ["compute_75", "compute_80", "compute_90", "compute_121"])
def test_a_permutation_through_shared_memory_is_bit_exact(run_cuda, arch):
    n = 16 * 512
    data = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    run = run_cuda(
        PERMUTE.replace("SYNC", "__syncwarp();"),
        grid=16,
        block=128,
        arch=arch,
        arguments={"in": data, "out": ("out", "float32", n), "n": np.int32(n)},
    )
    want = data.reshape(-1, 4, 32).transpose(0, 2, 1)
    assert run.problems == ()
    assert np.array_equal(run.outputs["out"], want.reshape(-1))
    assert run.traced_blocks == "all"


def test_accesses_are_grouped_by_line_and_addressed_by_buffer(run_cuda):
    n = 2 * 512
    data = np.arange(n, dtype=np.float32)
    source = PERMUTE.replace("SYNC", "__syncwarp();")
    run = run_cuda(
        source,
        grid=2,
        block=128,
        arguments={"in": data, "out": ("out", "float32", n), "n": np.int32(n)},
    )
    found = {(a.space, a.op): a for a in run.accesses}
    load = found["global", "ld"]
    assert (load.line, load.bytes, load.buffer) == (7, 4, "in")
    assert load.text == source.splitlines()[6].strip()
    assert load.executions == 2 * 4 * 4  # blocks, warps, unrolled loop
    lanes = 4 * np.arange(32)
    first = load.addresses[load.addresses[:, 0].argsort()]
    assert np.array_equal(first[0], lanes)
    assert np.array_equal(first[:, 0], 128 * np.arange(32))
    assert load.active.all()
    shared = found["shared", "st"]
    # The compiler made one 16-byte store of the four in the text; both counts show it.
    assert (shared.line, shared.buffer, shared.bytes) == (7, "tile", 16)
    assert np.array_equal(shared.addresses[0], 4 * lanes)
    assert shared.executions == 2 * 4
    static = {(s.space, s.op): s for s in run.static}
    assert (static["shared", "st"].bytes, static["shared", "st"].count) == (16, 1)
    assert (static["global", "ld"].bytes, static["global", "ld"].count) == (4, 4)
    assert sum(a.bytes * a.executions * 32 for a in run.accesses if a.space == "global") == 8 * n


def test_lanes_that_left_early_are_inactive(run_cuda):
    source = """
    extern "C" __global__ void k(int* data, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        data[i] += 1;
    }
    """
    run = run_cuda(
        source, grid=2, block=48, arguments={"data": np.zeros(70, np.int32), "n": np.int32(70)}
    )
    assert run.outputs["data"].tolist() == [1] * 70
    store = next(a for a in run.accesses if a.op == "st")
    assert store.active.sum(axis=1).tolist() == [32, 16, 22]


@pytest.mark.parametrize(
    ("sync", "kinds"), [("__syncwarp();", set()), ("", {"race"}), ("__syncthreads();", set())]
)
def test_a_missing_sync_in_one_warp_is_a_race(run_cuda, sync, kinds):
    data = np.arange(32, dtype=np.float32)
    run = run_cuda(IN_PLACE.replace("SYNC", sync), arguments={"data": data})
    assert np.array_equal(run.outputs["data"], data[::-1])  # lock-step hides the race
    assert {p.kind for p in run.problems} == kinds


def test_a_race_names_both_sides(run_cuda):
    run = run_cuda(IN_PLACE.replace("SYNC", ""), arguments={"data": np.zeros(32, np.float32)})
    race = run.problems[0]
    assert (race.line, race.block, race.buffer) == (9, (0, 0, 0), "tile")
    assert race.message == (
        'race on 4-byte shared store: block (0,0,0) thread (0,0,0), buffer "tile" in shared '
        "memory, byte offset 0, with the load of thread (31,0,0) at line 7 and no barrier between, "
        "line 9"
    )


def test_out_of_bounds_stops_with_block_thread_buffer_and_line(run_cuda):
    source = """
extern "C" __global__ void k(const float* src, float* dst) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    dst[i] = src[i + 1];
}
"""
    src = np.arange(512, dtype=np.float32)
    run = run_cuda(
        source, grid=4, block=128, arguments={"src": src, "dst": ("out", "float32", 512)}
    )
    assert [p.kind for p in run.problems] == ["out_of_bounds"]
    problem = run.problems[0]
    assert problem.message == (
        'out-of-bounds 4-byte global load: block (3,0,0) thread (127,0,0), buffer "src" '
        "(2048 bytes), byte offset 2048, line 4"
    )
    assert (problem.block, problem.thread, problem.buffer) == ((3, 0, 0), (127, 0, 0), "src")


def test_misaligned_and_uninitialised_accesses_are_found(run_cuda):
    source = """
extern "C" __global__ void k(float* data, int which) {
    __shared__ float tile[64];
    int i = threadIdx.x;
    if (which == 0) data[i] = *(float*)((char*)data + 2);
    if (which == 1) data[i] = tile[i];
    if (which == 2) tile[i * 4] = 1.0f;
}
"""
    found = {}
    for which in range(3):
        run = run_cuda(
            source, arguments={"data": np.zeros(32, np.float32), "which": np.int32(which)}
        )
        found[which] = run.problems[0].message
    assert found[0] == (
        'misaligned 4-byte global load: block (0,0,0) thread (0,0,0), buffer "data" (128 bytes), '
        "byte offset 2, line 5"
    )
    assert found[1] == (
        'uninitialised 4-byte shared load: block (0,0,0) thread (0,0,0), buffer "tile" in shared '
        "memory, byte offset 0, line 6"
    )
    assert found[2] == (
        "out-of-bounds 4-byte shared store: block (0,0,0) thread (16,0,0), shared memory "
        "(256 bytes), byte offset 256, line 7"
    )


def test_outputs_are_poisoned_and_tracked(run_cuda):
    source = """
extern "C" __global__ void k(int* a, int* b) {
    int i = threadIdx.x;
    if (i < 8) a[i] = i;
    __syncthreads();
    b[i] = a[i];
}
"""
    run = run_cuda(source, arguments={"a": ("out", "int32", 32), "b": ("out", "int32", 32)})
    assert run.outputs["a"].tolist() == [*range(8), *[-1] * 24]
    assert run.problems[0].message == (
        'uninitialised 4-byte global load: block (0,0,0) thread (8,0,0), buffer "a" (128 bytes), '
        "byte offset 32, line 6"
    )


def test_inputs_are_never_written(run_cuda):
    source = 'extern "C" __global__ void k(int* a) { a[threadIdx.x] = 7; }'
    given = np.zeros(32, np.int32)
    ptx_parameters = {"a": given}
    run = run_cuda(source, arguments=ptx_parameters)
    assert run.outputs["a"].tolist() == [7] * 32
    assert not given.any()


def test_a_divergent_barrier_is_a_deadlock(run_cuda):
    source = """
extern "C" __global__ void k(int* a) {
    if (threadIdx.x < 16) { a[0] = 1; __syncthreads(); a[1] = 2; }
    else { a[2] = 3; __syncthreads(); a[3] = 4; }
}
"""
    run = run_cuda(source, block=64, arguments={"a": np.zeros(8, np.int32)})
    problem = run.problems[-1]
    assert (problem.kind, problem.line, problem.block) == ("deadlock", 3, (0, 0, 0))
    assert "16 of 64 threads" in problem.message


def test_threads_that_exited_do_not_hold_a_barrier_up(run_cuda):
    source = """
extern "C" __global__ void k(int* a) {
    if (threadIdx.x >= 40) return;
    __syncthreads();
    a[threadIdx.x] = 1;
}
"""
    run = run_cuda(source, block=64, arguments={"a": np.zeros(64, np.int32)})
    assert run.problems == ()
    assert run.outputs["a"].sum() == 40


def test_an_endless_loop_meets_a_limit(run_cuda):
    source = """
extern "C" __global__ void k(volatile int* a) {
    while (a[0] == 0) { }
}
"""
    run = run_cuda(
        source,
        arguments={"a": np.zeros(1, np.int32)},
        limits=Limits(thread_instructions=100_000),
    )
    problem = run.problems[-1]
    assert problem.kind == "limit"
    assert problem.message == (
        "limit of 100,000 thread instructions reached: block (0,0,0) thread (0,0,0), line 3"
    )
    slow = run_cuda(source, arguments={"a": np.zeros(1, np.int32)}, limits=Limits(seconds=0.05))
    assert slow.problems[-1].message.startswith("limit of 0.05 s reached: block (0,0,0)")


def test_other_limits_have_their_own_words(run_cuda):
    source = """
extern "C" __global__ void k(int* a) {
    int local[64];
    for (int i = 0; i < 64; ++i) local[(i * a[0]) & 63] = i;
    a[threadIdx.x] = local[a[1] & 63];
}
"""
    given = {"a": np.zeros(32, np.int32)}
    arena = run_cuda(source, arguments=given, limits=Limits(arena_bytes=100)).problems
    local = run_cuda(source, arguments=given, limits=Limits(local_bytes=100)).problems
    trace = run_cuda(source, arguments=given, limits=Limits(trace_bytes=100))
    assert [p.kind for p in (*arena, *local)] == ["limit", "limit"]
    assert "buffers of 128 bytes" in arena[0].message
    assert "local memory" in local[0].message
    assert trace.problems == () and trace.trace_full
    assert trace.traced_blocks == ()
    assert trace.accesses == ()
    size = run_cuda(source, arguments=given, limits=Limits(ptx_instructions=5))
    assert [p.kind for p in size.problems] == ["limit"]
    assert size.problems[0].message == "the kernel has more than 5 PTX instructions"


def test_an_unknown_opcode_is_refused_before_anything_runs(run_cuda):
    source = """
extern "C" __global__ void k(int* a) {
    a[0] = 1;
    asm volatile("wgmma.fence.sync.aligned;");
}
"""
    with pytest.raises(UnsupportedError, match=r"wgmma\.fence\.sync\.aligned, line 4"):
        run_cuda(source, arguments={"a": np.zeros(1, np.int32)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entry": "other"}, "no kernel 'other'; it has: k"),
        ({"block": (1025, 1, 1)}, "too large"),
        ({"block": (0, 1, 1)}, "at least 1"),
        ({"grid": (1, 65536, 1)}, "too large"),
        ({"parameters": ()}, "takes 2 parameters, 0 given"),
        (
            {"parameters": (Buffer("a", "int32", (1,), "inout"), Scalar("n", "int32", 2**31))},
            "n = 2147483648 is no int32",
        ),
        (
            {"parameters": (Buffer("a", "int32", (1,), "inout"), Scalar("n", "float64", 1.0))},
            "n is float64, but the kernel's parameter has 4 bytes",
        ),
        ({"arrays": {}}, "no array for the buffer a"),
        ({"arrays": {"a": np.zeros(3, np.int8)}}, "has 3 bytes"),
        ({"shared_bytes": 1 << 20}, "shared memory"),
        ({"blocks": [(5, 0, 0)]}, "outside the grid"),
    ],
)
def test_a_launch_that_no_gpu_takes_is_an_error(compile_cuda, change, message):
    source = """
extern "C" __global__ void k(int* a, int n) { extern __shared__ int s[]; s[0] = n; a[0] = s[0]; }
"""
    call = {
        "source": source,
        "entry": "k",
        "grid": (1, 1, 1),
        "block": (1, 1, 1),
        "shared_bytes": 4,
        "parameters": (Buffer("a", "int32", (1,), "inout"), Scalar("n", "int32", 7)),
        "arrays": {"a": np.zeros(1, np.int32)},
    }
    ptx = compile_cuda(source)
    assert emulate(ptx, **call).outputs["a"].tolist() == [7]
    with pytest.raises(LaunchError, match=message):
        emulate(ptx, **{**call, **change})


def test_big_grids_are_traced_by_sample_and_computed_whole(run_cuda):
    source = """
extern "C" __global__ void k(int* a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
}
"""
    blocks, threads = 1000, 256
    run = run_cuda(
        source, grid=blocks, block=threads, arguments={"a": ("out", "int32", blocks * threads)}
    )
    assert np.array_equal(run.outputs["a"], np.arange(blocks * threads))
    assert isinstance(run.traced_blocks, tuple)
    assert {(0, 0, 0), (1, 0, 0), (999, 0, 0)} <= set(run.traced_blocks)
    store = run.accesses[0]
    assert store.executions == len(run.traced_blocks) * threads // 32
    starts = {int(a) for a in store.addresses[:, 0]}
    assert all(4 * threads * block[0] in starts for block in run.traced_blocks)


def test_chosen_blocks_run_alone(run_cuda):
    source = """
extern "C" __global__ void k(int* a) {
    a[blockIdx.y * gridDim.x + blockIdx.x] = 1;
}
"""
    run = run_cuda(
        source,
        grid=(3, 2),
        block=1,
        arguments={"a": np.zeros(6, np.int32)},
        blocks=[(2, 1, 0), (0, 0, 0)],
    )
    assert run.outputs["a"].tolist() == [1, 0, 0, 0, 0, 1]
    assert run.traced_blocks == ((0, 0, 0), (2, 1, 0))


def test_generic_pointers_reach_every_space(run_cuda):
    source = """
extern "C" __global__ void k(float* data, int which) {
    __shared__ float tile[32];
    float own[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    int i = threadIdx.x;
    tile[i] = 10.0f + i;
    __syncthreads();
    float* p = i % 3 == 0 ? data + i : i % 3 == 1 ? tile + i : own + (which & 3);
    float value = *(volatile float*)p;
    data[32 + i] = value;
}
"""
    data = np.arange(64, dtype=np.float32)
    run = run_cuda(source, arguments={"data": data, "which": np.int32(2)})
    lane = np.arange(32)
    want = np.select([lane % 3 == 0, lane % 3 == 1], [data[:32], 10.0 + lane], 3.0)
    assert run.problems == ()
    assert np.array_equal(run.outputs["data"][32:], want)


def test_module_variables_and_dynamic_shared_memory(run_cuda):
    source = """
__constant__ float weight[4] = {1.0f, 2.0f, 4.0f, 8.0f};
__device__ int counter = 5;
__device__ int* pointer = &counter;
extern __shared__ float dynamic[];
extern "C" __global__ void k(float* out) {
    __shared__ float fixed[32];
    int i = threadIdx.x;
    fixed[i] = weight[i & 3];
    dynamic[i] = fixed[i] * 2.0f;
    __syncthreads();
    out[i] = dynamic[31 - i] + *pointer;
}
"""
    run = run_cuda(source, shared_bytes=128, arguments={"out": ("out", "float32", 32)})
    lane = 31 - np.arange(32)
    assert run.problems == ()
    assert np.array_equal(run.outputs["out"], 2.0 ** ((lane & 3) + 1) + 5)


def test_every_access_names_its_warp(run_cuda):
    source = """
    extern "C" __global__ void k(int* y) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (threadIdx.x >= 64) y[i] = 1;
        if (blockIdx.x == 2) for (int j = 0; j < 2; ++j) atomicAdd(y + i, 1);
    }
    """
    given = {"y": np.zeros(5 * 80, np.int32)}
    run = run_cuda(source, grid=5, block=80, arguments=given)
    by_op = {access.op: access for access in run.accesses}
    # Three warps a block: only the last, of 16 lanes, stores.
    assert by_op["st"].warps.tolist() == [2, 5, 8, 11, 14]
    assert sorted(by_op["atom"].warps.tolist()) == [6, 6, 7, 7, 8, 8]
    chosen = run_cuda(source, grid=5, block=80, arguments=given, blocks=((3, 0, 0), (1, 0, 0)))
    assert sorted(chosen.accesses[0].warps.tolist()) == [5, 11]
