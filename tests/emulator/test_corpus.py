"""A corpus of real kernels: outputs against NumPy, access counts against numbers derived by hand.

Counts are ``{(space, operation, bytes): (warp instructions, wavefronts or sectors)}``, summed over
lines. The derivations are beside them. A full warp of consecutive 4-byte elements moves 4 sectors.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from tileviz.memory import judge

CORPUS = Path(__file__).parent / "corpus"
RNG = np.random.default_rng(42)


@pytest.fixture(params=["compute_80", "compute_121"])
def run(run_cuda, request):
    def go(name, *, problems=(), **settings):
        source = (CORPUS / f"{name}.cu").read_text()
        result = run_cuda(source, arch=request.param, **settings)
        assert tuple(p.kind for p in result.problems) == problems, result.problems
        return result

    return go


def counts(result):
    total = defaultdict(lambda: [0, 0])
    for access in result.accesses:
        entry = total[access.space, access.op, access.bytes]
        entry[0] += access.executions
        entry[1] += judge(access).cost
    return {key: tuple(value) for key, value in total.items()}


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def frozen(array):
    """An input that the kernel must not write."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def test_every_kernel_of_the_corpus_is_tested():
    text = Path(__file__).read_text()
    names = {path.stem for path in CORPUS.glob("*.cu")}
    assert len(names) >= 25
    assert {name for name in names if f'"{name}"' not in text} == set()


def close(got, want, tolerance=1e-5):
    assert np.allclose(got, np.asarray(want).reshape(-1), rtol=tolerance, atol=tolerance)


def test_reduce_shared(run):
    x = frozen(RNG.integers(-100, 100, 3 * 256).astype(np.int32))
    result = run("reduce_shared", grid=3, block=256, arguments={"x": x, "s": ("out", "int32", 3)})
    assert result.outputs["s"].tolist() == x.reshape(3, 256).sum(axis=1).tolist()
    # A block of 8 warps: the tree keeps 4, 2, 1 and then five times 1 warp busy: 12 in all.
    assert counts(result) == {
        ("global", "ld", 4): (3 * 8, 3 * 8 * 4),
        ("shared", "st", 4): (3 * (8 + 12),) * 2,
        ("shared", "ld", 4): (3 * (2 * 12 + 1),) * 2,
        ("global", "st", 4): (3, 3),
    }


def test_reduce_warp(run):
    x = frozen(RNG.integers(-100, 100, 700).astype(np.int32))
    result = run(
        "reduce_warp",
        grid=4,
        block=128,
        arguments={"x": x, "sum": np.zeros(1, np.int32), "n": np.int32(700)},
    )
    assert result.outputs["sum"][0] == x.sum()
    # 16 warps, then the 188 elements that are left: 5 full warps and 28 lanes.
    assert counts(result) == {
        ("global", "ld", 4): (22, 22 * 4),
        ("global", "atom", 4): (16, 16),
    }


def test_scan_block(run):
    x = frozen(RNG.integers(0, 100, (3, 256)).astype(np.int32))
    result = run(
        "scan_block",
        grid=3,
        block=256,
        shared_bytes=2 * 256 * 4,
        arguments={"x": x, "y": ("out", "int32", x.size)},
    )
    assert np.array_equal(result.outputs["y"], x.cumsum(axis=1).reshape(-1))
    # Eight steps; in those by 32, 64 and 128, one, two and four warps have no neighbour to add.
    loads = 8 * 8 + (8 * 8 - 1 - 2 - 4) + 8
    assert counts(result) == {
        ("global", "ld", 4): (24, 96),
        ("shared", "st", 4): (3 * 8 * 9,) * 2,
        ("shared", "ld", 4): (3 * loads,) * 2,
        ("global", "st", 4): (24, 96),
    }


def test_scan_warp(run):
    x = frozen(RNG.integers(0, 100, 256).astype(np.int32))
    result = run("scan_warp", block=256, arguments={"x": x, "y": ("out", "int32", 256)})
    assert np.array_equal(result.outputs["y"], x.cumsum())
    # Each warp stores its total, the first stores the scanned ones; seven warps read theirs.
    assert counts(result) == {
        ("global", "ld", 4): (8, 32),
        ("shared", "st", 4): (9, 9),
        ("shared", "ld", 4): (1 + 7, 1 + 7),
        ("global", "st", 4): (8, 32),
    }


@pytest.mark.parametrize(("padding", "swizzle", "ways"), [(0, 0, 32), (1, 0, 1), (0, 1, 1)])
def test_transpose(run, padding, swizzle, ways):
    a = frozen(floats(64, 96))
    result = run(
        "transpose",
        grid=(3, 2),
        block=(32, 8),
        options=(f"-DPAD={padding}", f"-DXOR={swizzle}"),
        arguments={
            "in": a,
            "out": ("out", "float32", a.size),
            "width": np.int32(96),
            "height": np.int32(64),
        },
    )
    assert np.array_equal(result.outputs["out"].reshape(96, 64), a.T)
    warps = 6 * 8 * 4
    assert counts(result) == {
        ("global", "ld", 4): (warps, 4 * warps),
        ("shared", "st", 4): (warps, warps),
        ("shared", "ld", 4): (warps, ways * warps),  # a column: 32 rows in one bank, or in 32
        ("global", "st", 4): (warps, 4 * warps),
    }


def test_histogram_shared(run):
    data = frozen(RNG.integers(0, 256, 5000).astype(np.uint8))
    result = run(
        "histogram_shared",
        grid=4,
        block=128,
        arguments={"data": data, "bins": np.zeros(256, np.uint32), "n": np.int32(5000)},
    )
    assert np.array_equal(result.outputs["bins"], np.bincount(data, minlength=256))
    found = counts(result)
    assert found["global", "ld", 1] == (157, 157)  # 5000 / 32 warps, a sector each
    assert found["shared", "atom", 4][0] == 157
    assert found["global", "atom", 4] == (4 * 8, 4 * 8 * 4)


def test_histogram_global(run):
    value = frozen(RNG.integers(0, 10, 512).astype(np.int32))
    result = run(
        "histogram_global",
        grid=4,
        block=128,
        arguments={
            "value": value,
            "count": np.zeros(10, np.int32),
            "ticket": ("out", "int32", 512),
        },
    )
    assert np.array_equal(result.outputs["count"], np.bincount(value, minlength=10))
    for number in range(10):
        tickets = result.outputs["ticket"][value == number]
        assert np.array_equal(tickets, np.arange(len(tickets)))
    assert counts(result)["global", "atom", 4][0] == 16


def test_stencil_2d(run):
    a = frozen(floats(20, 40))
    result = run(
        "stencil_2d",
        grid=(3, 2),
        block=(16, 16),
        arguments={
            "a": a,
            "b": ("out", "float32", a.size),
            "width": np.int32(40),
            "height": np.int32(20),
        },
    )
    p = np.pad(a, 1)
    around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    close(result.outputs["b"], 0.5 * a + 0.125 * around, 1e-6)
    # A warp is two rows of 16. Ten warps have rows in the image, in each of three columns of
    # blocks; a row is 5 sectors, of which the columns take 2, 2 and 1.
    found = counts(result)
    assert found["global", "st", 4] == (3 * 10, 10 * 2 * 5)
    assert found["shared", "ld", 4][0] == 5 * 30


def test_softmax(run):
    x = frozen(floats(8, 100))
    result = run(
        "softmax",
        grid=2,
        block=128,
        arguments={"x": x, "y": ("out", "float32", x.size), "columns": np.int32(100)},
    )
    e = np.exp(x - x.max(axis=1, keepdims=True))
    close(result.outputs["y"], e / e.sum(axis=1, keepdims=True))
    # Four lanes take 4 elements, the others 3. The compiler unrolls by four and runs the remainder
    # apart, so those three steps are executed besides the other four.
    found = counts(result)
    assert found["global", "ld", 4][0] == 8 * 3 * (4 + 3)
    assert found["global", "st", 4][0] == 8 * (4 + 3)


def test_layernorm(run):
    x, gain, bias = frozen(floats(3, 96)), frozen(floats(96)), frozen(floats(96))
    result = run(
        "layernorm",
        grid=3,
        block=96,
        arguments={"x": x, "gain": gain, "bias": bias, "y": ("out", "float32", x.size)},
    )
    apart = x - x.mean(axis=1, keepdims=True)
    close(result.outputs["y"], apart / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5) * gain + bias)
    # Two sums a block: each of three warps stores one part and reads three.
    assert counts(result) == {
        ("global", "ld", 4): (3 * 9, 3 * 9 * 4),
        ("shared", "st", 4): (3 * 2 * 3,) * 2,
        ("shared", "ld", 4): (3 * 2 * 9,) * 2,
        ("global", "st", 4): (9, 36),
    }


def product(run, name, rows, inner, columns, grid, block, kind=np.float32):
    if kind == np.float32:
        a, b = frozen(floats(rows, inner)), frozen(floats(inner, columns))
    else:  # small whole numbers, so that sums are exact
        a, b = (RNG.integers(-4, 5, s).astype(kind) for s in ((rows, inner), (inner, columns)))
    result = run(
        name,
        grid=grid,
        block=block,
        arguments={
            "A": frozen(a),
            "B": frozen(b),
            "C": ("out", "float32", rows * columns),
            "N": np.int32(columns),
            "K": np.int32(inner),
        },
    )
    want = a.astype(np.float64) @ b.astype(np.float64)
    close(result.outputs["C"], want, 1e-4 if kind == np.float32 else 0)
    return result


@pytest.mark.parametrize("name", ["gemm_plain", "gemm_double_buffer"])
def test_gemm_by_elements(run, name):
    result = product(run, name, 32, 64, 48, (3, 2), (16, 16))
    # 6 blocks, 4 steps, 8 warps of two rows of 16 floats: 2 x 2 sectors. A product step reads
    # two words of a, in other banks, and 16 of b.
    steps = 6 * 4 * 8
    assert counts(result) == {
        ("global", "ld", 4): (2 * steps, 2 * steps * 4),
        ("shared", "st", 4): (2 * steps,) * 2,
        ("shared", "ld", 4): (32 * steps,) * 2,
        ("global", "st", 4): (48, 48 * 4),
    }


def test_gemm_cp_async(run):
    result = product(run, "gemm_cp_async", 32, 64, 48, (3, 2), (16, 16))
    # Two warps copy 32 x 16 bytes of each operand: 4 wavefronts, 16 sectors. Reads along a are
    # merged into 16 bytes: two addresses a warp, one in each half: 2 wavefronts.
    copies, steps = 6 * 4 * 2 * 2, 6 * 4 * 8
    assert counts(result) == {
        ("shared", "ldgsts.cg", 16): (copies, 4 * copies),
        ("global", "ldgsts.cg", 16): (copies, 16 * copies),
        ("shared", "ld", 16): (4 * steps, 2 * 4 * steps),
        ("shared", "ld", 4): (16 * steps,) * 2,
        ("global", "st", 4): (48, 48 * 4),
    }


def test_gemm_register(run):
    result = product(run, "gemm_register", 128, 32, 64, (1, 2), 128)
    # 2 blocks, 2 steps, 4 warps. A is stored transposed: four lanes of one row, 4 ways. In a step
    # a lane reads 2 x 16 bytes of a (two addresses a warp: 2 wavefronts) and 16 of b (4).
    steps = 2 * 2 * 4
    assert counts(result) == {
        ("global", "ld", 16): (4 * steps, 16 * 4 * steps),
        ("shared", "st", 4): (8 * steps, 4 * 8 * steps),
        ("shared", "st", 16): (2 * steps, 4 * 2 * steps),
        ("shared", "ld", 16): (16 * 3 * steps, 16 * (2 * 2 + 4) * steps),
        ("global", "st", 16): (8 * 8, 16 * 8 * 8),
    }


def test_gemm_mma(run):
    result = product(run, "gemm_mma", 32, 32, 16, (2, 2), 32, np.float16)
    # 4 blocks of a warp, 2 steps. A: 8 loads of two rows, a sector each; B: 4 of four rows. Rows
    # of a are 32 bytes apart, so rows r and r + 4 share banks: 2 passes a matrix; those of b 16.
    steps = 4 * 2
    assert counts(result) == {
        ("global", "ld", 2): (12 * steps, (8 * 2 + 4 * 4) * steps),
        ("shared", "st", 2): (12 * steps,) * 2,
        ("shared", "ldmatrix.x4", 16): (steps, 4 * 2 * steps),
        ("shared", "ldmatrix.x2", 16): (steps, 2 * steps),
        ("global", "st", 4): (16, 16 * 8),
    }


def test_compaction(run):
    x = frozen(RNG.integers(0, 100, 1000).astype(np.int32))
    result = run(
        "compaction",
        grid=8,
        block=128,
        arguments={
            "x": x,
            "kept": np.zeros(1000, np.int32),
            "count": np.zeros(1, np.int32),
            "n": np.int32(1000),
        },
    )
    odd = x[x % 2 == 1]
    assert result.outputs["count"][0] == len(odd)
    assert np.array_equal(result.outputs["kept"][: len(odd)], odd)  # warps run in order here
    assert counts(result)["global", "atom", 4] == (32, 32)


def test_spinlock(run):
    result = run(
        "spinlock",
        grid=3,
        block=48,
        arguments={"lock": np.zeros(1, np.int32), "sum": np.zeros(1, np.int32)},
    )
    assert result.outputs["sum"][0] == 3 * sum(range(48))
    assert result.outputs["lock"][0] == 0
    assert counts(result)["global", "st", 4] == (3 * 48,) * 2  # one lane at a time


def test_bitonic_warp(run):
    x = RNG.integers(0, 1 << 32, 128, dtype=np.uint32)
    result = run("bitonic_warp", grid=4, arguments={"x": x})
    assert np.array_equal(result.outputs["x"], np.sort(x.reshape(4, 32)).reshape(-1))
    assert counts(result) == {("global", "ld", 4): (4, 16), ("global", "st", 4): (4, 16)}


def test_bitonic_shared(run):
    x = floats(512)
    result = run("bitonic_shared", block=256, arguments={"x": x})
    assert np.array_equal(result.outputs["x"], np.sort(x))
    # 45 steps, two loads by each of eight warps, and 16 at the end.
    assert counts(result)["shared", "ld", 4][0] == 45 * 2 * 8 + 16


def test_half2_axpy(run):
    x, y = (RNG.standard_normal(400).astype(np.float16) for _ in range(2))
    result = run(
        "half2_axpy",
        grid=2,
        block=128,
        arguments={"x": frozen(x), "y": y, "a": np.float16(1.5), "pairs": np.int32(200)},
    )
    want = (x.astype(np.float64) * 1.5 + y).astype(np.float16)
    assert np.array_equal(result.outputs["y"], want)
    # 200 pairs of 4 bytes: 6 warps of 4 sectors and 8 lanes in one.
    assert counts(result) == {("global", "ld", 4): (14, 50), ("global", "st", 4): (7, 25)}


def test_bfloat_scale(run):
    x = (floats(200).view(np.uint32) >> 16).astype(np.uint16)
    result = run(
        "bfloat_scale",
        grid=2,
        block=128,
        arguments={
            "x": frozen(x),
            "y": ("out", "uint16", 200),
            "s": np.float32(3.0),
            "n": np.int32(200),
        },
    )
    wide = ((x.astype(np.uint32) << 16).view(np.float32) * np.float32(3)).view(np.uint32)
    want = (wide + 0x7FFF + (wide >> 16 & 1)) >> 16
    assert np.array_equal(result.outputs["y"], want)
    assert counts(result) == {("global", "ld", 2): (7, 13), ("global", "st", 2): (7, 13)}


# Passes of a full warp by element width and stride: elements narrower than a word share words;
# 8- and 16-byte accesses go in groups of 16 and 8 lanes.
LADDER = {
    ("unsigned char", 1): {1: 1, 2: 1, 3: 1, 4: 1, 8: 2, 16: 4, 32: 8},
    ("unsigned short", 2): {1: 1, 2: 1, 3: 2, 4: 2, 8: 4, 16: 8, 32: 16},
    ("unsigned", 4): {1: 1, 2: 2, 3: 1, 4: 4, 8: 8, 16: 16, 32: 32},
    ("uint2", 8): {1: 2, 2: 4, 3: 2, 4: 8, 8: 16, 16: 32, 32: 32},
    ("Sixteen", 16): {1: 4, 2: 8, 3: 4, 4: 16, 8: 32, 16: 32, 32: 32},
}


@pytest.mark.parametrize(("kind", "width"), LADDER)
@pytest.mark.parametrize("stride", [1, 2, 3, 4, 8, 32])
def test_bank_ladder(run, kind, width, stride):
    data = frozen(RNG.integers(0, 256, 32 * stride * width).astype(np.uint8))
    result = run(
        "bank_ladder",
        options=(f"-DTYPE={kind}", f"-DWIDTH={width}", f"-DSTRIDE={stride}"),
        arguments={"in": data, "out": ("out", "uint8", data.size)},
    )
    want = data.reshape(32, stride, width).copy()
    want[:, 0] = want[::-1, 0]
    assert np.array_equal(result.outputs["out"], want.reshape(-1))
    wide = [a for a in result.accesses if a.space == "shared" and a.line in (9, 11)]
    assert [(a.op, a.bytes, a.executions) for a in wide] == [("ld", width, 1), ("st", width, 1)]
    assert [judge(a).wavefronts for a in wide] == [LADDER[kind, width][stride]] * 2


@pytest.mark.parametrize("stride", [1, 2, 4, 8, 16])
def test_strided_load(run, stride):
    x = frozen(floats(256 * stride))
    result = run(
        "strided_load",
        grid=2,
        block=128,
        arguments={"x": x, "y": ("out", "float32", 256), "stride": np.int32(stride)},
    )
    assert np.array_equal(result.outputs["y"], x[::stride])
    assert counts(result)["global", "ld", 4] == (8, 8 * min(4 * stride, 32))


def test_gather(run):
    order = frozen(RNG.permutation(256).astype(np.int32))
    result = run(
        "gather",
        grid=2,
        block=128,
        arguments={"next": order, "out": ("out", "int32", 256), "steps": np.int32(3)},
    )
    assert np.array_equal(result.outputs["out"], order[order[order]])
    loads = next(a for a in result.accesses if a.op == "ld")
    assert loads.executions == 3 * 8
    # The first step reads consecutive elements, the others where the step before pointed.
    by_step = np.sort(loads.addresses.reshape(-1, 256) // 4, axis=None)
    assert np.array_equal(by_step, np.repeat(np.arange(256), 3))


def test_permute_in_place(run):
    data = floats(8, 32, 4)
    result = run("permute_in_place", grid=2, block=128, arguments={"data": data})
    assert np.array_equal(result.outputs["data"], data.transpose(0, 2, 1).reshape(-1))
    # Written in rows twice, read once by 16 bytes a lane (merged by the compiler) and once in rows.
    assert counts(result) == {
        ("global", "ld", 4): (8 * 4, 8 * 4 * 4),
        ("shared", "st", 4): (8 * 8,) * 2,
        ("shared", "ld", 16): (8, 8 * 4),
        ("shared", "ld", 4): (8 * 4,) * 2,
        ("global", "st", 4): (8 * 4, 8 * 4 * 4),
    }


def test_matvec(run):
    a, x = frozen(floats(8, 128)), frozen(floats(128))
    result = run(
        "matvec",
        grid=2,
        block=128,
        arguments={"A": a, "x": x, "y": ("out", "float32", 8), "quads": np.int32(32)},
    )
    close(result.outputs["y"], a.astype(np.float64) @ x)
    assert counts(result) == {("global", "ld", 16): (16, 16 * 16), ("global", "st", 4): (8, 8)}


def test_collatz(run):
    x = frozen(RNG.integers(1, 2000, 128).astype(np.uint32))
    result = run("collatz", grid=2, block=64, arguments={"x": x, "s": ("out", "uint32", 128)})

    def steps(v):
        count = 0
        while v != 1:
            v = 3 * v + 1 if v & 1 else v // 2
            count += 1
        return count

    assert result.outputs["s"].tolist() == [steps(int(v)) for v in x]
    assert counts(result) == {("global", "ld", 4): (4, 16), ("global", "st", 4): (4, 16)}


def test_local_sort(run):
    x = RNG.integers(0, 100, (64, 8)).astype(np.int32)
    result = run("local_sort", grid=2, arguments={"x": x})
    assert np.array_equal(result.outputs["x"], np.sort(x).reshape(-1))
    # A lane's eight numbers are a sector: 32 sectors each time.
    assert counts(result)["global", "st", 4] == (16, 16 * 32)


def test_double_dot(run):
    x, y = (frozen(RNG.standard_normal(300)) for _ in range(2))
    result = run(
        "double_dot",
        grid=2,
        block=64,
        arguments={"x": x, "y": y, "part": ("out", "float64", 128), "n": np.int32(300)},
    )
    assert np.isclose(result.outputs["part"].sum(), x @ y)
    # Nine full warps of 8 sectors and 12 lanes in 3, of each operand.
    assert counts(result) == {
        ("global", "ld", 8): (20, 2 * (9 * 8 + 3)),
        ("global", "st", 8): (4, 32),
    }


def test_int8_dot(run):
    a, b = (RNG.integers(-128, 128, s).astype(np.int8) for s in ((64, 40), 40))
    result = run(
        "int8_dot",
        grid=2,
        arguments={
            "a": frozen(a.view(np.int32)),
            "b": frozen(b.view(np.int32)),
            "c": ("out", "int32", 64),
            "words": np.int32(10),
        },
    )
    assert np.array_equal(result.outputs["c"], a.astype(np.int64) @ b.astype(np.int64))
    # Rows are 40 bytes apart: a sector for every lane; b is one word for all.
    assert counts(result) == {
        ("global", "ld", 4): (2 * 20, 20 * 32 + 20),
        ("global", "st", 4): (2, 8),
    }


def test_math(run):
    from math import erf

    n = 200
    x = frozen(2 * floats(n))
    result = run(
        "math",
        grid=2,
        block=128,
        arguments={"x": x, "y": ("out", "float32", 16 * n), "n": np.int32(n)},
    )
    v = x.astype(np.float64)
    p = np.abs(v) + 0.5
    want = [np.sin(v), np.cos(v), np.exp(v), np.log(p), p**1.5, np.tanh(v)]
    want += [np.array([erf(t) for t in v]), np.arctan2(v, p), np.cbrt(v)]
    want += [np.fmod(v, np.float32(0.7)), 1 / np.sqrt(p), np.exp(v), v / p, 8 * v]
    want += [np.floor(v) + np.trunc(v) + np.rint(v), np.sqrt(p)]
    close(result.outputs["y"], np.array(want), 4e-6)


def test_block_order(run):
    rows, columns, group = 5, 7, 2
    result = run(
        "block_order",
        grid=rows * columns,
        arguments={
            "owner": np.full(rows * columns, -1, np.int32),
            "rows": np.int32(rows),
            "columns": np.int32(columns),
            "group": np.int32(group),
        },
    )
    want = np.empty((rows, columns), np.int32)
    order = [
        (row, column)
        for first in range(0, rows, group)
        for column in range(columns)
        for row in range(first, min(first + group, rows))
    ]
    for number, place in enumerate(order):
        want[place] = number
    assert np.array_equal(result.outputs["owner"], want.reshape(-1))


def test_broadcast(run):
    x, y = frozen(floats(4, 3, 5, 32)), frozen(floats(4, 32))
    quads = x.size // 4
    result = run(
        "broadcast",
        grid=-(-quads // 128),
        block=128,
        arguments={
            "x": x,
            "y": y,
            "out": ("out", "float32", x.size),
            "quads": np.int32(quads),
            "per_image": np.int32(quads // 4),
            "channel_quads": np.int32(8),
        },
    )
    assert np.array_equal(result.outputs["out"], (x + y[:, None, None, :]).reshape(-1))
    # 15 warps; a warp reads the 8 quads of y of its image, and three warps lie across two images.
    assert counts(result) == {
        ("global", "ld", 16): (30, 15 * 16 + 12 * 4 + 3 * 8),
        ("global", "st", 16): (15, 15 * 16),
    }
