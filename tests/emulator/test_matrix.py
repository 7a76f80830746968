"""``ldmatrix``, ``stmatrix``, ``movmatrix`` and ``mma`` against plain loops."""

import numpy as np
import pytest

LOAD = """
extern "C" __global__ void k(const unsigned short* in, unsigned* out) {
    __shared__ __align__(16) unsigned short tile[32 * 24];
    int lane = threadIdx.x;
    for (int i = lane; i < 32 * 24; i += 32) tile[i] = in[i];
    __syncthreads();
    unsigned r[4] = {0, 0, 0, 0};
    unsigned p = (unsigned)__cvta_generic_to_shared(&tile[lane * 24]);
    asm volatile("ldmatrix.sync.aligned.m8n8.xCOUNT.TRANS.shared.b16 {LIST}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(p));
    for (int i = 0; i < 4; ++i) out[i * 32 + lane] = r[i];
}
"""


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", [False, True])
def test_load_matrix(run_cuda, count, trans):
    data = np.arange(32 * 24, dtype=np.uint16)
    names = ", ".join(f"%{i}" for i in range(count))
    source = (
        LOAD.replace("COUNT", str(count))
        .replace(".TRANS", ".trans" if trans else "")
        .replace("LIST", names)
    )
    source = source.replace('"=r"', '"+r"')  # the registers that are not loaded keep their zeros
    run = run_cuda(source, arguments={"in": data, "out": ("out", "uint32", 128)})
    assert run.problems == ()
    got = run.outputs["out"].view(np.uint16).reshape(4, 32, 2)
    rows = data.reshape(32, 24)[:, :8]
    for number in range(count):
        matrix = rows[8 * number : 8 * number + 8]
        if trans:
            matrix = matrix.T
        for lane in range(32):
            want = [matrix[lane // 4, lane % 4 * 2 + i] for i in range(2)]
            assert got[number, lane].tolist() == want
    access = next(a for a in run.accesses if a.op.startswith("ldmatrix"))
    assert (access.op, access.bytes, access.space) == (f"ldmatrix.x{count}", 16, "shared")
    assert access.active[0].tolist() == [lane < 8 * count for lane in range(32)]
    assert access.addresses[0][: 8 * count].tolist() == [48 * lane for lane in range(8 * count)]


def test_store_matrix_reverses_load_matrix(run_cuda):
    source = """
extern "C" __global__ void k(const unsigned* in, unsigned short* out) {
    __shared__ __align__(16) unsigned short tile[16 * 8];
    int lane = threadIdx.x;
    unsigned p = (unsigned)__cvta_generic_to_shared(&tile[(lane % 16) * 8]);
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
                 :: "r"(p), "r"(in[lane]), "r"(in[32 + lane]));
    __syncthreads();
    for (int i = lane; i < 128; i += 32) out[i] = tile[i];
}
"""
    data = np.arange(128, dtype=np.uint16)
    run = run_cuda(
        source,
        arch="compute_90",
        arguments={"in": data.view(np.uint32), "out": ("out", "uint16", 128)},
    )
    assert run.problems == ()
    assert np.array_equal(run.outputs["out"], data)


def test_move_matrix_transposes(run_cuda):
    source = """
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
    unsigned r;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(in[threadIdx.x]));
    out[threadIdx.x] = r;
}
"""
    data = np.arange(64, dtype=np.uint16)
    run = run_cuda(source, arguments={"in": data.view(np.uint32), "out": ("out", "uint32", 32)})
    want = data.reshape(8, 8).T
    assert np.array_equal(run.outputs["out"].view(np.uint16).reshape(8, 8), want)


MMA = """
extern "C" __global__ void k(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* d) {
    int lane = threadIdx.x;
    unsigned A[4] = {}, B[2] = {}, C[4] = {}, D[4] = {};
    for (int i = 0; i < NA; ++i) A[i] = a[i * 32 + lane];
    for (int i = 0; i < NB; ++i) B[i] = b[i * 32 + lane];
    for (int i = 0; i < NC; ++i) C[i] = c[i * 32 + lane];
    asm volatile("mma.sync.aligned.SHAPE {DL}, {AL}, {BL}, {CL};"
        : "=r"(D[0]), "=r"(D[1]), "=r"(D[2]), "=r"(D[3])
        : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]),
          "r"(C[0]), "r"(C[1]), "r"(C[2]), "r"(C[3]));
    for (int i = 0; i < NC; ++i) d[i * 32 + lane] = D[i];
}
"""

# Shape, bits of an element of A and B, kind of A and B, kind of C and D.
SHAPES = [
    ("m16n8k16.row.col.f32.f16.f16.f32", 16, "f16", "f32"),
    ("m16n8k8.row.col.f32.f16.f16.f32", 8, "f16", "f32"),
    ("m16n8k16.row.col.f16.f16.f16.f16", 16, "f16", "f16"),
    ("m16n8k16.row.col.f32.bf16.bf16.f32", 16, "bf16", "f32"),
    ("m16n8k8.row.col.f32.bf16.bf16.f32", 8, "bf16", "f32"),
    ("m16n8k8.row.col.f32.tf32.tf32.f32", 8, "tf32", "f32"),
    ("m16n8k4.row.col.f32.tf32.tf32.f32", 4, "tf32", "f32"),
    ("m16n8k32.row.col.s32.s8.s8.s32", 32, "s8", "s32"),
    ("m16n8k16.row.col.s32.u8.u8.s32", 16, "u8", "s32"),
]
CARRIER = {"f16": np.float16, "f32": np.float32, "tf32": np.float32, "s8": np.int8}
CARRIER |= {"u8": np.uint8, "s32": np.int32, "bf16": np.float32}


def element_places(kind, k):
    """Row and column of every element of A and B by lane and position, as the manual draws them."""
    per = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4}[kind]
    blocks = k // (4 * per)
    a, b = {}, {}
    for lane in range(32):
        group, member = lane // 4, lane % 4
        for i in range(2 * blocks * per):
            register, item = divmod(i, per)
            row = group + (8 if register % 2 else 0)
            column = member * per + item + (register // 2) * 4 * per
            a[lane, register, item] = (row, column)
        for i in range(blocks * per):
            register, item = divmod(i, per)
            b[lane, register, item] = (member * per + item + register * 4 * per, group)
    return a, b, per, blocks


def packed(matrix, places, registers, per, kind):
    content = np.zeros((registers, 32, per), CARRIER[kind])
    for (lane, register, item), place in places.items():
        content[register, lane, item] = matrix[place]
    if kind == "bf16":
        return (content.view(np.uint32) >> 16).astype(np.uint16).reshape(-1).view(np.uint32)
    return content.reshape(-1).view(np.uint32)


@pytest.mark.parametrize(("shape", "k", "kind", "total"), SHAPES)
def test_multiply_accumulate(run_cuda, shape, k, kind, total):
    source = np.random.default_rng(k)
    # Small whole numbers: every product and sum is exact in every format.
    low = 0 if kind == "u8" else -4
    a, b = (source.integers(low, 5, s).astype(CARRIER[kind]) for s in ((16, k), (k, 8)))
    c = source.integers(-4, 5, (16, 8)).astype(CARRIER[total])
    a_places, b_places, per, blocks = element_places(kind, k)
    count = 2 if total == "f16" else 4
    sums = {}
    for lane in range(32):
        for i in range(4):
            row, column = lane // 4 + (8 if i >= 2 else 0), lane % 4 * 2 + i % 2
            place = (lane, i // 2, i % 2) if total == "f16" else (lane, i, 0)
            sums[place] = (row, column)
    width = 2 if total == "f16" else 1

    def names(start, n):
        return "{" + ", ".join(f"%{start + i}" for i in range(n)) + "}"

    text = MMA.replace("SHAPE", shape).replace("NA", str(2 * blocks)).replace("NB", str(blocks))
    text = text.replace("NC", str(count)).replace("{DL}", names(0, count))
    text = text.replace("{AL}", names(4, 2 * blocks)).replace("{BL}", names(8, blocks))
    text = text.replace("{CL}", names(10, count))
    run = run_cuda(
        text,
        arguments={
            "a": packed(a, a_places, 2 * blocks, per, kind),
            "b": packed(b, b_places, blocks, per, kind),
            "c": packed(c, sums, count, width, total),
            "d": ("out", "uint32", 32 * count),
        },
    )
    want = a.astype(np.int64) @ b.astype(np.int64) + c.astype(np.int64)
    got = run.outputs["d"].view(CARRIER[total]).reshape(count, 32, width)
    for (lane, register, item), place in sums.items():
        assert got[register, lane, item] == want[place]


def test_matrix_operations_need_whole_warps(run_cuda):
    source = MMA.replace("SHAPE", SHAPES[0][0]).replace("NA", "4").replace("NB", "2")
    source = source.replace("NC", "4").replace("{DL}", "{%0,%1,%2,%3}")
    source = source.replace("{AL}", "{%4,%5,%6,%7}").replace("{BL}", "{%8,%9}")
    source = source.replace("{CL}", "{%10,%11,%12,%13}")
    zeros = np.zeros(128, np.uint32)
    run = run_cuda(
        source, block=24, arguments={"a": zeros, "b": zeros, "c": zeros, "d": zeros.copy()}
    )
    assert run.problems[0].kind == "unsupported"
    assert run.problems[0].message == (
        "mma needs all 32 lanes of a warp: block (0,0,0) thread (0,0,0), line 11"
    )
