"""A kernel's text on the stand-in: compiled for the device, checked first, run, timed, judged."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tileviz.cuda import library, nvrtc
from tileviz.cuda.kernel import Buffer, Kernel, Scalar
from tileviz.errors import DesignError
from tileviz.runners import run_kernel, select_runner, statuses
from tileviz.runners import select as select_module
from tileviz.runners.gpu import compiling, look
from tileviz.runners.gpu import runner as runner_module
from tileviz.runners.gpu.compiling import target_for
from tileviz.runners.gpu.faults import Fault
from tileviz.runners.gpu.runner import GpuRunner
from tileviz.runners.gpu.target import Target, choose
from tileviz.runners.inputs import make_arrays
from tileviz.runners.launch import MAX_BUFFER_BYTES
from tileviz.runners.protocol import RunnerStatus, RunnerUnavailable
from tileviz.runners.results import judge_execution
from tileviz.runners.timing import speedup
from tileviz.workers.shared import EMULATOR, shared_pool

pytestmark = pytest.mark.skipif(library.find() is None, reason="no NVRTC on this machine")

REVERSE = """\
extern "C" __global__ void reverse(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float tile[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  tile[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (i < n) y[i] = tile[255 - t];
}
"""
COUNT = 512


def reverse(source=REVERSE, **changes):
    def reference(arrays):
        return {"y": arrays["x"].reshape(-1, 256)[:, ::-1].reshape(-1).copy()}

    fields = {
        "source": source,
        "entry": "reverse",
        "grid": (COUNT // 256, 1, 1),
        "block": (256, 1, 1),
        "parameters": (
            Buffer("x", "float32", (COUNT,), "in"),
            Buffer("y", "float32", (COUNT,), "out"),
            Scalar("n", "int32", COUNT),
        ),
        "reference": reference,
    }
    return Kernel(**{**fields, **changes})


@pytest.fixture
def gpu(make_queue, quick):
    return GpuRunner(queue=make_queue(), settings=quick)


@pytest.fixture
def on_gpu(gpu, monkeypatch):
    """Make ``gpu`` the runner that is found here."""
    here = RunnerStatus("gpu", True, "a stand-in")
    monkeypatch.setattr(gpu, "status", lambda: here)
    monkeypatch.setitem(select_module._RUNNERS, "gpu", lambda: gpu)
    return gpu


def judged(gpu, kernel, **options):
    arrays = make_arrays(kernel)
    return judge_execution(kernel, arrays, gpu.run(kernel, arrays, **options))


def test_a_kernel_is_verified_timed_and_counted(on_gpu):
    run = run_kernel(reverse(), on="auto")
    assert run.verified is True and run.note == "" and run.problems == ()
    assert (run.runner.name, run.runner.device, run.runner.arch) == (
        *("gpu", "Stand-in GPU", "sm_90"),
    )
    assert run.runner.compiler.startswith("NVRTC ")
    assert run.resources.shared_bytes == 1024
    assert run.timing.mode == "cold" and run.timing.resolved and run.timing.floor_us == 2.0
    assert run.gpu.moved_bytes == 2 * 4 * COUNT
    assert run.gpu.bytes_per_s == pytest.approx(run.gpu.moved_bytes / run.timing.median_us * 1e6)
    assert run.gpu.ceiling_bytes_per_s > 0 and len(run.gpu.clocks_mhz) == 2
    assert {(row.line, row.op) for row in run.gpu.cycles} == {(4, "st"), (6, "ld")}
    assert run.gpu.checked.startswith("every access was checked")
    assert "ptxas info" in run.gpu.log and "1024 bytes smem" in run.gpu.log
    stores = next(row for row in run.accesses if (row.line, row.space) == (4, "shared"))
    assert stores.measured.wavefronts == stores.measured.ideal  # from the emulator


def test_the_gpu_object_is_json(gpu):
    document = json.loads(json.dumps(judged(gpu, reverse()).to_json(), allow_nan=False))
    assert document["gpu"]["device"]["arch"] == "sm_90" and document["timing"]["n"] >= 6
    assert {"median_us", "p10_us", "p90_us", "n", "mode"} <= set(document["timing"])
    assert document["gpu"]["cycles"][0]["cycles"] > 0 and document["gpu"]["counters"] is None


def test_a_wrong_result_is_caught(gpu):
    run = judged(gpu, reverse(REVERSE.replace("255 - t", "254 - t & 255")))
    assert run.verified is False and run.mismatch.buffer == "y"
    assert run.timing is not None  # it ran, and only its result is wrong


def test_a_fault_the_emulator_sees_is_never_launched(gpu):
    run = judged(gpu, reverse(REVERSE.replace("y[i]", "y[i + 9999]")))
    assert run.verified is False and run.note.startswith("not launched")
    assert run.problems[0].kind == "out_of_bounds" and run.problems[0].line == 6
    assert run.runner.name == "gpu" and run.timing is None and run.outputs == {}
    assert run.resources is not None


def test_a_race_is_reported_beside_the_times(gpu):
    run = judged(gpu, reverse(REVERSE.replace("  __syncthreads();\n", "")))
    assert run.problems[0].kind == "race" and run.verified is False and run.timing is not None


def test_what_the_emulator_cannot_run_is_launched_and_said_to_be_unchecked(gpu, monkeypatch):
    def slow(*arguments, **options):
        from tileviz.emulator.problems import Problem
        from tileviz.runners.protocol import Execution, RunnerInfo

        problem = Problem("limit", "more than 20 seconds")
        return Execution(RunnerInfo("emulator", "", ""), problems=(problem,))

    monkeypatch.setattr(gpu._emulator, "run", slow)
    run = judged(gpu, reverse())
    assert run.verified is True and run.problems == ()
    assert run.gpu.checked == "not checked beforehand: more than 20 seconds"


def test_a_compile_error_is_a_problem_with_its_line(gpu):
    run = judged(gpu, reverse(REVERSE.replace("tile[t] =", "tile[t] = oops +")))
    assert run.problems[0].kind == "compile" and run.problems[0].line == 4
    assert run.verified is False and run.runner.device == "Stand-in GPU"


def test_parameters_that_do_not_fit_are_never_launched(gpu):
    run = judged(gpu, reverse(parameters=reverse().parameters[:2], reference=None))
    assert "takes 3 parameters, 2 given" in run.problems[0].message


@pytest.mark.parametrize("includes", ['#include "/etc/passwd"\n', '#include "../secret.h"\n'])
def test_hostile_includes_are_refused_before_any_worker(gpu, includes):
    with pytest.raises(DesignError) as caught:
        judged(gpu, reverse(includes + REVERSE))
    assert caught.value.field == "source"


def test_two_kernels_are_timed_in_one_request_and_compared(gpu):
    kernels = [(kernel, make_arrays(kernel)) for kernel in (reverse(), reverse())]
    first, second = gpu.run_together(kernels)
    assert first.timing.n == second.timing.n
    assert speedup(first.timing, second.timing).ratio is None  # the same text: no difference


def test_one_bad_kernel_of_several_does_not_stop_the_others(gpu):
    bad = reverse(REVERSE.replace("float* __restrict__ y", "flout* y"))
    kernels = [(kernel, make_arrays(kernel)) for kernel in (bad, reverse())]
    first, second = gpu.run_together(kernels)
    assert first.problems[0].kind == "compile" and second.timing is not None


def test_a_launch_may_take_half_of_the_devices_memory(gpu, standin):
    assert gpu.memory_bytes() == standin.FACTS.memory_bytes // 2 > MAX_BUFFER_BYTES
    count = gpu.memory_bytes() // 8
    large = reverse(
        parameters=(
            Buffer("x", "float32", (count,), "in"),
            Buffer("y", "float32", (count + 1,), "out"),
            Scalar("n", "int32", COUNT),
        )
    )
    with pytest.raises(DesignError, match="all buffers together may take 2048 MiB"):
        gpu.run_together([(large, {})])


def test_what_the_emulator_cannot_hold_is_launched_unchecked(gpu, monkeypatch):
    monkeypatch.setattr(runner_module, "MAX_BUFFER_BYTES", 8 * COUNT - 1)
    monkeypatch.setattr(gpu._emulator, "run", lambda *a, **k: pytest.fail("asked the emulator"))
    run = judged(gpu, reverse())
    assert run.verified is True and run.gpu.checked.startswith("not checked beforehand: the buf")


# -- falling back ----------------------------------------------------------------------------------


def test_auto_falls_back_to_the_emulator_and_says_why(on_gpu, monkeypatch):
    def busy():
        raise RunnerUnavailable("another process holds the GPU for itself; end it")

    monkeypatch.setattr(on_gpu._queue, "facts", busy)
    run = run_kernel(reverse(), on="auto")
    assert run.verified is True and run.runner.name == "emulator"
    assert run.note == (
        "run on the emulator, not the GPU: another process holds the GPU for itself; end it"
    )
    with pytest.raises(DesignError, match="another process") as caught:
        run_kernel(reverse(), on="gpu")
    assert caught.value.field == "on"


def test_a_kernel_that_kills_the_worker_is_a_problem_not_a_fallback(on_gpu, monkeypatch):
    from tileviz.runners.gpu.client import Fatal

    def crash(*arguments, **options):
        raise Fatal("the GPU worker crashed: killed by SIGSEGV", "trap")

    monkeypatch.setattr(on_gpu._queue, "run", crash)
    run = run_kernel(reverse(), on="auto")
    assert run.runner.name == "gpu" and run.problems[0].kind == "trap"


def test_without_a_gpu_the_emulator_is_chosen_and_the_reason_known(monkeypatch):
    monkeypatch.setattr(runner_module, "look", lambda: Fault("no NVIDIA GPU on this machine"))
    assert select_runner("auto").name == "emulator"
    (gpu,) = (status for status in statuses() if status.name == "gpu")
    assert not gpu.available and gpu.reason == "no NVIDIA GPU on this machine" and gpu.fix == ""
    with pytest.raises(DesignError, match="no NVIDIA GPU"):
        select_runner("gpu")


def test_with_a_gpu_it_is_chosen_and_described(monkeypatch, standin):
    monkeypatch.setattr(runner_module, "look", lambda: standin.FACTS)
    assert select_runner("auto").name == "gpu"
    (status,) = (status for status in statuses() if status.name == "gpu")
    assert status.available and status.reason.startswith(
        "Stand-in GPU, sm_90, driver for CUDA 13.0"
    )
    assert select_runner("emulator").name == "emulator"


# -- looking for a device --------------------------------------------------------------------------


@pytest.fixture
def looking():
    look.look.cache_clear()
    yield
    look.look.cache_clear()


def test_no_driver_and_no_card(monkeypatch, looking):
    monkeypatch.setattr(look, "has_driver", lambda: False)
    monkeypatch.setattr(look, "_has_card", lambda: False)
    assert look.look() == Fault("no NVIDIA GPU on this machine")


def test_a_card_without_a_driver(monkeypatch, looking):
    monkeypatch.setattr(look, "has_driver", lambda: False)
    monkeypatch.setattr(look, "_has_card", lambda: True)
    assert look.look().fix == "install the NVIDIA driver"


def test_a_driver_without_pycuda(monkeypatch, looking):
    monkeypatch.setattr(look, "has_driver", lambda: True)
    monkeypatch.setattr(look, "find_spec", lambda name: None)
    assert look.look().fix == "python -m tileviz.runners.install_gpu"


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ('{"facts": null, "fault": "cuInit failed: no CUDA-capable device"}', "the driver finds"),
        ("", "looking for a GPU failed"),
        ('{"facts": {"name": 1}, "fault": ""}', "looking for a GPU failed"),
        ("[]", "looking for a GPU failed"),
    ],
)
def test_what_the_child_says_is_checked(monkeypatch, looking, printed, message):
    import subprocess

    monkeypatch.setattr(look, "has_driver", lambda: True)
    monkeypatch.setattr(look, "find_spec", lambda name: True)
    done = subprocess.CompletedProcess([], 0, printed, "Traceback\nboom")
    monkeypatch.setattr(look.subprocess, "run", lambda *a, **k: done)
    assert look.look().message.startswith(message)


# -- targets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capability", "source", "target"),
    [
        ((8, 6), "", Target("compute_86", "sm_86")),
        ((9, 0), "wgmma.mma_async", Target("compute_90a", "sm_90a")),
        ((8, 6), "wgmma.mma_async", Target("compute_86", "sm_86")),
        ((10, 2), "", Target("compute_100", None)),
        ((5, 0), "", None),
    ],
)
def test_targets(capability, source, target):
    assert choose(capability, (75, 80, 86, 90, 100, 120), source) == target


def test_a_compiler_newer_than_the_driver_is_said_before_anything_is_tried(monkeypatch, standin):
    old = replace(standin.FACTS, driver=nvrtc.version()[0] * 1000 - 1000)
    with pytest.raises(RunnerUnavailable, match=r"newer than the driver.*nvrtc-cu12==12\.9\.86"):
        target_for(old)
    monkeypatch.setattr(compiling.nvrtc, "architectures", lambda: (75, 80))
    with pytest.raises(RunnerUnavailable, match="no longer compiles for sm_61"):
        target_for(replace(standin.FACTS, capability=(6, 1)))


def test_without_a_compiler_there_is_no_gpu_either(monkeypatch, standin, tmp_path):
    monkeypatch.setattr(runner_module, "look", lambda: standin.FACTS)
    monkeypatch.setenv(library.ENVIRONMENT, str(tmp_path))
    assert not GpuRunner().status().available


@pytest.mark.parametrize("capability", [(7, 5), (8, 0), (9, 0), (10, 0), (12, 0), (13, 0)])
def test_the_measuring_kernels_compile_for_every_device(standin, capability):
    facts = replace(standin.FACTS, capability=capability)
    compiler = compiling.DeviceCompiler(shared_pool(EMULATOR))
    images = compiler.probes(facts)
    assert images.ptx.startswith(b"//") and bool(images.code) == (capability != (13, 0))
    assert compiler.probes(facts) is images  # compiled once


def test_probes_count_what_they_say():
    """The counted loop of the PTX holds exactly eight accesses, between two looks at the clock."""
    ptx = nvrtc.compile_ptx(compiling.PROBES.read_text(), arch="compute_90").ptx
    body = ptx[ptx.index(".entry probe_ld_4") :]
    body = body[: body.index("\n}")]
    first = body.index("%clock64")
    second = body.index("%clock64", first + 1)
    assert body[first:second].count("ld.volatile.shared.u32") == 8
    assert np.prod([8, 32]) == 256


def test_cycles_that_were_not_counted_are_not_shown(gpu, monkeypatch):
    real = gpu._queue.run

    def uncounted(request, **options):
        answer = real(request, **options)
        return replace(answer, cycles=(0.0, *answer.cycles[1:]))

    monkeypatch.setattr(gpu._queue, "run", uncounted)
    run = judged(gpu, reverse())
    assert run.verified is True and run.gpu.cycles == () and run.gpu.calibration == {}
