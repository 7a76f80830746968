"""Results of real kernels, every element against NumPy; times, floors, ceilings and cycles."""

from pathlib import Path

import numpy as np
import pytest

from tileviz.cuda import nvrtc
from tileviz.cuda.kernel import Buffer, Kernel
from tileviz.runners.gpu import counters
from tileviz.runners.gpu.patterns import WAYS
from tileviz.runners.gpu.settings import Settings
from tileviz.runners.gpu.transport import Images, Program, Request
from tileviz.runners.inputs import make_arrays
from tileviz.runners.results import judge_execution
from tileviz.runners.timing import speedup

pytestmark = pytest.mark.gpu

HERE = Path(__file__).parent


def run(gpu, kernel, pattern="random", seed=0):
    arrays = make_arrays(kernel, seed=seed, pattern=pattern)
    return judge_execution(kernel, arrays, gpu.run(kernel, arrays))


@pytest.fixture(scope="session")
def untimed(queue):
    from tileviz.runners.gpu.runner import GpuRunner

    return GpuRunner(queue=queue, settings=Settings(timing=False, limit_seconds=5.0))


def test_the_device_is_named(facts, measured):
    version = "{}.{}".format(*nvrtc.version())
    measured(f"{facts.name}, {facts.arch}, driver for CUDA {facts.driver_text}, {facts.library}")
    measured(f"NVRTC {version}; {facts.multiprocessors} multiprocessors, L2 {facts.l2_bytes} bytes")
    assert facts.memory_bytes > 0 and facts.multiprocessors > 0


MOVED = {
    "float32": "float",
    "float64": "double",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "float16": "unsigned short",
    "bfloat16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "uint128": "uint4",
    "float32x4": "float4",
    "float8_e4m3fn": "unsigned char",
    "float8_e5m2": "unsigned char",
}


@pytest.mark.parametrize("pattern", ["random", "index", "adversarial"])
@pytest.mark.parametrize("name", MOVED)
def test_every_type_is_moved_bit_for_bit(untimed, name, pattern):
    text = (
        f'extern "C" __global__ void k(const {MOVED[name]}* x, {MOVED[name]}* y) '
        "{ int i = blockIdx.x * 256 + threadIdx.x; y[i] = x[1023 - i]; }"
    )
    lanes = 4 if name == "float32x4" else 2 if name == "uint128" else 1
    kernel = Kernel(
        text,
        "k",
        (4, 1, 1),
        (256, 1, 1),
        (Buffer("x", name, (1024,), "in"), Buffer("y", name, (1024,), "out")),
        reference=lambda a: {"y": a["x"].reshape(-1, lanes)[::-1].reshape(-1).copy()},
    )
    done = run(untimed, kernel, pattern)
    assert done.verified is True and done.problems == ()


def rounded(values, name):
    if name == "bfloat16":
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return values.astype(name)


def exact(values, name):
    if name == "bfloat16":
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return values.astype(np.float64)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("float32", "y[i] = x[i] * 0.5f + 1.0f;"),
        ("float64", "y[i] = x[i] * 0.5 + 1.0;"),
        ("float16", "y[i] = __float2half(__half2float(x[i]) * 0.5f + 1.0f);"),
        ("bfloat16", "y[i] = __float2bfloat16(__bfloat162float(x[i]) * 0.5f + 1.0f);"),
    ],
)
def test_arithmetic_agrees_with_float64(untimed, name, text):
    kinds = {"float32": "float", "float64": "double"}
    kinds |= {"float16": "__half", "bfloat16": "__nv_bfloat16"}
    header = {"float16": "#include <cuda_fp16.h>\n", "bfloat16": "#include <cuda_bf16.h>\n"}
    kind = kinds[name]
    source = (
        f'{header.get(name, "")}extern "C" __global__ void k(const {kind}* x, {kind}* y) '
        f"{{ int i = blockIdx.x * 256 + threadIdx.x; {text} }}"
    )

    def reference(arrays):
        return {"y": rounded(exact(arrays["x"], name) * 0.5 + 1.0, name)}

    buffers = (Buffer("x", name, (1024,), "in"), Buffer("y", name, (1024,), "out"))
    kernel = Kernel(
        source, "k", (4, 1, 1), (256, 1, 1), buffers, reference=reference, tolerance=2.0**-22
    )
    done = run(untimed, kernel)
    if done.problems and "include" in done.problems[0].message:
        pytest.skip(f"no half-precision headers here: {done.problems[0].message}")
    assert done.problems == () and done.verified is True


def test_generated_kernels_are_right(untimed, generated):
    kernel, seed = generated
    done = run(untimed, kernel, seed=seed)
    assert done.problems == () and done.verified is True
    assert done.gpu.checked.startswith("every access was checked")


# -- times -----------------------------------------------------------------------------------------

COPY = """
extern "C" __global__ void k(const float4* x, float4* y) {
  int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = x[i];
}
"""


def copier(mebibytes):
    count = (mebibytes << 20) // 16
    return Kernel(
        COPY,
        "k",
        (count // 256, 1, 1),
        (256, 1, 1),
        (Buffer("x", "float32x4", (count,), "in"), Buffer("y", "float32x4", (count,), "out")),
        reference=lambda arrays: {"y": arrays["x"]},
    )


def test_a_large_copy_comes_near_the_ceiling_and_not_above_it(gpu, measured):
    done = run(gpu, copier(128))
    report = done.gpu
    measured(
        f"copy of 128 MiB: {done.timing.median_us:.1f} us ({done.timing.p10_us:.1f} to "
        f"{done.timing.p90_us:.1f}, n = {done.timing.n}, {done.timing.mode}), "
        f"{report.bytes_per_s / 1e12:.3f} TB/s of {report.ceiling_bytes_per_s / 1e12:.3f}; "
        f"clocks {[round(mhz) for mhz in report.clocks_mhz]} MHz"
    )
    assert done.verified is True and done.timing.resolved
    assert 0.3 < report.bytes_per_s / report.ceiling_bytes_per_s < 1.2
    assert report.clocks_mhz and all(100 < mhz < 5000 for mhz in report.clocks_mhz)


def test_a_warm_cache_is_faster_than_a_cold_one(gpu, measured):
    done = run(gpu, copier(4))
    cold, warm = done.gpu.timings[:2]
    measured(
        f"copy of 4 MiB: cold {cold.median_us:.2f} us, warm {warm.median_us:.2f} us, floors "
        f"{cold.floor_us:.2f} and {warm.floor_us:.2f} us; a copy of that size "
        f"{done.gpu.copy_us:.2f} us"
    )
    assert (cold.mode, warm.mode) == ("cold", "warm")
    assert warm.median_us < cold.median_us


def test_an_empty_kernel_is_never_given_a_time(gpu, measured):
    kernel = Kernel(
        'extern "C" __global__ void k(int* x) {}',
        "k",
        (1, 1, 1),
        (32, 1, 1),
        (Buffer("x", "int32", (32,), "inout"),),
        reference=lambda arrays: {"x": arrays["x"]},
    )
    done = run(gpu, kernel)
    lines = [f"{t.mode} x{t.launches} {t.median_us:.2f} us" for t in done.gpu.timings]
    measured(f"an empty kernel: {', '.join(lines)}")
    assert done.verified is True and not done.timing.resolved
    assert len(done.gpu.timings) == 3 and done.gpu.bytes_per_s is None


TRANSPOSE = """
extern "C" __global__ void k(const float* x, float* y) {{
  __shared__ float tile[32 * {pitch}];
  const float* from = x + blockIdx.x * 1024;
  float* to = y + blockIdx.x * 1024;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int r = warp; r < 32; r += 8) tile[lane * {pitch} + r] = from[r * 32 + lane];
  __syncthreads();
  for (int r = warp; r < 32; r += 8) to[r * 32 + lane] = tile[r * {pitch} + lane];
}}
"""


def transpose(pitch, blocks=4096):
    def reference(arrays):
        return {"y": arrays["x"].reshape(-1, 32, 32).transpose(0, 2, 1).reshape(-1).copy()}

    buffers = tuple(
        Buffer(name, "float32", (blocks, 32, 32), role)
        for name, role in (("x", "in"), ("y", "out"))
    )
    return Kernel(
        TRANSPOSE.format(pitch=pitch),
        "k",
        (blocks, 1, 1),
        (256, 1, 1),
        buffers,
        reference=reference,
    )


def test_calibration_shows_every_way_of_conflict(gpu, measured):
    done = run(gpu, transpose(32, blocks=1))
    for op, cycles in done.gpu.calibration.items():
        listed = ", ".join(f"{w}: {c:.2f}" for w, c in zip(WAYS, cycles, strict=True))
        measured(f"cycles of one {op} by ways of conflict: {listed}")
        assert list(cycles) == sorted(cycles)
        assert cycles[5] > 8 * cycles[0]


def test_a_conflict_costs_cycles_that_padding_saves(gpu, measured):
    kernels = [transpose(32), transpose(33)]
    given = [(kernel, make_arrays(kernel)) for kernel in kernels]
    plain, padded = [
        judge_execution(kernel, arrays, execution)
        for (kernel, arrays), execution in zip(given, gpu.run_together(given), strict=True)
    ]
    assert plain.verified is True and padded.verified is True
    store = next(row for row in plain.gpu.cycles if row.op == "st")
    measured(
        f"32-way store: {store.cycles:.2f} cycles, conflict-free {store.free_cycles:.2f}; "
        f"padded transpose: {speedup(plain.timing, padded.timing).statement}"
    )
    assert store.wavefronts == 32 and store.cycles > 8 * store.free_cycles


# -- compilers, counters ---------------------------------------------------------------------------


def test_machine_code_of_nvrtc_12_loads_too(queue, facts):
    if facts.capability != (9, 0):
        pytest.skip(f"the kept machine code is for sm_90, this is {facts.arch}")
    code = (HERE / "kernels" / "add_sm90_nvrtc12.cubin").read_bytes()
    x = np.arange(32, dtype=np.int32)
    buffers = (Buffer("x", "int32", (32,), "inout"),)
    program = Program("k", (1, 1, 1), (32, 1, 1), buffers, 0, Images(code, b""), {"x": x})
    (outcome,) = queue.run(Request((program,), Settings(timing=False))).outcomes
    assert outcome.outputs["x"].tolist() == (x + 1).tolist()


def test_counters_agree_with_the_emulator_or_say_why_there_are_none(gpu, compiler, facts, measured):
    kernel = transpose(32, blocks=1)
    arrays = make_arrays(kernel)
    execution = gpu.run(kernel, arrays)
    done = judge_execution(kernel, arrays, execution)
    images = compiler.compile(kernel.source, kernel.entry, facts).images
    program = Program(
        kernel.entry, kernel.grid, kernel.block, kernel.parameters, 0, images, {"x": arrays["x"]}
    )
    found, reason = counters.count(program)
    measured(f"hardware counters: {found or reason}")
    if found is None:
        pytest.skip(reason)
    shared = [row.measured for row in done.accesses if row.space == "shared"]
    assert found.shared_ideal == sum(total.ideal for total in shared)
    assert found.shared_wavefronts == sum(total.wavefronts for total in shared)
