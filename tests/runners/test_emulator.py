"""The whole way: a kernel's text, compiled, emulated, verified and compared."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tileviz.cuda import library
from tileviz.cuda.kernel import Buffer, Kernel, Scalar
from tileviz.emulator.limits import Limits
from tileviz.errors import DesignError
from tileviz.memory import Accesses
from tileviz.runners import run_kernel, select_runner, statuses, warm
from tileviz.runners.emulator import EmulatorRunner
from tileviz.runners.words import run_statement

needs_nvrtc = pytest.mark.skipif(library.find() is None, reason="no NVRTC on this machine")

# One warp reads rows of a 32 x 32 tile and stores them as columns of a shared tile: every store
# hits one bank 32 times.
TRANSPOSE = """\
extern "C" __global__ void transpose(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ __align__(16) float tile[1024];
#pragma unroll 1
  for (int row = 0; row < 32; ++row) {
    float value = x[blockIdx.x * 1024 + row * 32 + threadIdx.x];
    tile[threadIdx.x * 32 + row] = value;
  }
  __syncthreads();
  for (int row = 0; row < 32; ++row)
    y[blockIdx.x * 1024 + row * 32 + threadIdx.x] = tile[row * 32 + threadIdx.x];
}
"""
BLOCKS = 2


def transpose(source=TRANSPOSE, **changes):
    shape = (BLOCKS, 32, 32)

    def reference(arrays):
        return {"y": arrays["x"].reshape(shape).transpose(0, 2, 1).reshape(-1).copy()}

    rows, lanes = np.arange(32)[:, None], np.arange(32)[None, :]
    predicted = Accesses.of(
        4 * (lanes * 32 + rows), space="shared", op="st", bytes=4, line=6, buffer="tile"
    )
    fields = {
        "source": source,
        "entry": "transpose",
        "grid": (BLOCKS, 1, 1),
        "block": (32, 1, 1),
        "parameters": (Buffer("x", "float32", shape, "in"), Buffer("y", "float32", shape, "out")),
        "reference": reference,
        "predicted": (predicted,),
    }
    return Kernel(**{**fields, **changes})


@needs_nvrtc
def test_a_transpose_is_verified_measured_and_compared():
    run = run_kernel(transpose(), seed=7)
    assert run.problems == () and run.verified is True and run.mismatch is None
    rows = {(row.line, row.space, row.op): row for row in run.accesses}
    store = rows[6, "shared", "st"]
    assert store.bytes == 4 and store.executions == 32 * BLOCKS
    assert store.measured.wavefronts == 32 * 32 * BLOCKS and store.measured.ideal == 32 * BLOCKS
    assert (
        store.predicted == store.measured
        and store.note == f"predicted for one of {BLOCKS} equal parts"
    )
    assert store.text == "tile[threadIdx.x * 32 + row] = value;"
    read = rows[5, "global", "ld"]
    assert read.measured.sectors == read.measured.ideal == 4 * 32 * BLOCKS
    assert read.predicted is None
    assert run.resources.registers > 0 and run.resources.shared_bytes == 4096
    assert run.arrays["y"].dtype == np.float32


@needs_nvrtc
@needs_nvrtc
def test_a_full_trace_is_no_fault_of_the_kernel(monkeypatch):
    monkeypatch.setattr("tileviz.runners.emulator.RUN_LIMITS", Limits(trace_bytes=100))
    run = run_kernel(transpose(), on="emulator")
    assert run.verified and run.problems == ()
    assert run.note == "the trace reached its limit: no block was counted"
    assert run_statement(run).sentence == "Output correct, 2,048 of 2,048 elements."
    assert run_statement(run).facts == "No access was counted."


def test_stores_that_the_compiler_merged_are_explained():
    run = run_kernel(transpose(TRANSPOSE.replace("#pragma unroll 1", "")))
    assert run.verified is True
    (store,) = (row for row in run.accesses if (row.line, row.op) == (6, "st"))
    assert store.bytes == 16 and store.executions == 8 * BLOCKS
    assert store.note.startswith(
        "compiler merged 4 x 4-byte stores into 1 x 16-byte (8 in the PTX)"
    )
    assert store.measured.wavefronts < store.predicted.wavefronts == 32 * 32 * BLOCKS


@needs_nvrtc
def test_the_run_object_is_json_of_the_agreed_form():
    document = json.loads(json.dumps(run_kernel(transpose()).to_json(), allow_nan=False))
    assert set(document) == {
        *("study", "runner", "verified", "mismatch", "accesses", "resources", "timing"),
        *("traced_blocks", "outputs", "problems", "gpu", "note", "part", "caution"),
        *("blocks", "blocks_traced"),
    }
    assert document["runner"]["name"] == "emulator" and document["runner"]["arch"] == "compute_80"
    assert document["runner"]["compiler"].startswith("NVRTC ")
    assert document["verified"] is True and document["timing"] is None
    assert document["traced_blocks"] == "all"
    output = document["outputs"]["y"]
    assert (output["dtype"], output["count"]) == ("float32", BLOCKS * 1024)
    assert len(output["sha256"]) == 64
    assert {"line", "space", "op", "bytes", "executions", "predicted", "measured", "note"} <= set(
        document["accesses"][0]
    )
    again = run_kernel(transpose()).to_json()
    assert again["outputs"] == document["outputs"]


@needs_nvrtc
def test_a_wrong_kernel_is_caught_with_its_first_element():
    wrong = TRANSPOSE.replace("tile[row * 32 + threadIdx.x];", "tile[row * 32 + 5];")
    run = run_kernel(transpose(wrong))
    assert run.verified is False and run.problems == ()
    assert run.mismatch.buffer == "y" and run.mismatch.index == (0, 0, 0)
    assert run.to_json()["mismatch"]["index"] == [0, 0, 0]


@needs_nvrtc
def test_an_element_never_written_is_caught():
    short = TRANSPOSE.replace(
        "for (int row = 0; row < 32; ++row)\n    y", "if (int row = 1)\n    y"
    )
    run = run_kernel(transpose(short))
    assert run.verified is False and run.mismatch.index == (0, 0, 0)
    assert np.isnan(run.mismatch.got) and run.mismatch.count == BLOCKS * 31 * 32


@needs_nvrtc
def test_a_race_is_never_verified():
    block = transpose(
        TRANSPOSE.replace("  __syncthreads();\n", "").replace("threadIdx.x", "(threadIdx.x % 32)"),
        block=(64, 1, 1),
    )
    run = run_kernel(block)
    assert run.verified is False
    assert run.problems[0].kind == "race" and run.to_json()["problems"][0]["kind"] == "race"


@needs_nvrtc
def test_a_compile_error_is_a_problem_with_its_line():
    run = run_kernel(transpose(TRANSPOSE.replace("= value;", "= valu;")))
    assert run.verified is False and run.outputs == {} and run.accesses == ()
    problem = run.problems[0]
    assert (problem.kind, problem.line) == ("compile", 6) and '"valu"' in problem.message


@needs_nvrtc
def test_a_missing_entry_is_one_clear_problem():
    run = run_kernel(transpose(entry="other"))
    assert run.verified is False and "other" in run.problems[0].message


@needs_nvrtc
def test_an_out_of_bounds_access_names_buffer_and_line():
    run = run_kernel(transpose(TRANSPOSE.replace("y[blockIdx", "y[9999 + blockIdx")))
    problem = run.problems[0]
    assert run.verified is False
    assert (problem.kind, problem.buffer, problem.line) == ("out_of_bounds", "y", 10)


@needs_nvrtc
def test_scalars_given_inputs_and_no_reference():
    kernel = Kernel(
        'extern "C" __global__ void scale(int* x, float a, int n) {\n'
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) x[i] = (int)(x[i] * a);\n}\n",
        "scale",
        (1, 1, 1),
        (64, 1, 1),
        (
            Buffer("x", "int32", (50,), "inout"),
            Scalar("a", "float32", 2.0),
            Scalar("n", "int32", 40),
        ),
    )
    run = run_kernel(kernel, inputs={"x": np.arange(50, dtype=np.int32)}, trace=False)
    assert run.problems == () and run.verified is None and run.accesses == ()
    want = [2 * i if i < 40 else i for i in range(50)]
    assert run.arrays["x"].tolist() == want


@needs_nvrtc
def test_half_types_travel_in_their_carriers():
    kernel = Kernel(
        "#include <cuda_bf16.h>\n"
        'extern "C" __global__ void twice(const __nv_bfloat16* x, __nv_bfloat16* y) {\n'
        "  y[threadIdx.x] = __float2bfloat16(__bfloat162float(x[threadIdx.x]) * 2.0f);\n}\n",
        "twice",
        (1, 1, 1),
        (32, 1, 1),
        (Buffer("x", "bfloat16", (32,), "in"), Buffer("y", "bfloat16", (32,), "out")),
        reference=lambda arrays: {"y": arrays["x"] + np.uint16(0x80)},  # one more in the exponent
    )
    assert run_kernel(kernel).verified is True


def test_a_worker_is_started_before_anything_heavy_is_loaded():
    code = (
        "import sys; from tileviz.runners import warm; warm(); "
        "print([m for m in ('numpy', 'pydantic', 'tileviz.emulator') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_runners_are_listed_and_chosen():
    names = [status.name for status in statuses()]
    assert names == ["emulator", "gpu"]
    for on in ("gpu", "tpu"):
        with pytest.raises(DesignError) as caught:
            select_runner(on)
        assert caught.value.field == "on"


def test_without_nvrtc_the_message_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv(library.ENVIRONMENT, str(tmp_path))
    status = EmulatorRunner().status()
    assert not status.available and str(tmp_path) in status.reason
    warm("auto")
    with pytest.raises(DesignError, match="no NVRTC library is found"):
        run_kernel(transpose())
    monkeypatch.delenv(library.ENVIRONMENT)
    monkeypatch.setattr(library, "find", lambda: None)
    monkeypatch.setattr(library.sys, "platform", "linux")
    assert EmulatorRunner().status().fix.startswith("pip install nvidia-cuda-nvrtc")
