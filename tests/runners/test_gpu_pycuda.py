"""The real PyCUDA over a driver library made here, which has no device behind it."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the driver library is an ELF file"),
    pytest.mark.skipif(find_spec("pycuda") is None, reason="PyCUDA is not installed"),
    pytest.mark.skipif(which("gcc") is None or which("nm") is None, reason="no gcc"),
]

SOURCE = Path(__file__).parent / "standin" / "fake_driver.c"
ROOT = Path(__file__).resolve().parents[2]

KERNEL = """
import json, os, sys
import numpy as np
from tileviz.cuda.kernel import Buffer, Kernel
from tileviz.errors import DesignError
from tileviz.runners import run_kernel, statuses
from tileviz.runners.gpu.client import shared_queue
from tileviz.runners.gpu.runner import GpuRunner
from tileviz.runners.gpu.settings import Settings
from tileviz.runners import select
if "FAKE_CUDA_TOTAL" in os.environ:
    Settings.total_seconds = float(os.environ["FAKE_CUDA_TOTAL"])
quick = Settings(limit_seconds=1.0, seconds=0.05, warm_up_seconds=0.01, least=6, most=10)
select._RUNNERS["gpu"] = lambda: GpuRunner(settings=quick)
text = '''extern "C" __global__ void k(const int* x, int* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[i]; }'''
buffers = Buffer("x", "int32", (1024,), "in"), Buffer("y", "int32", (1024,), "out")
kernel = Kernel(text, "k", (4, 1, 1), (256, 1, 1), buffers, reference=lambda a: {"y": a["x"]})
status = [status for status in statuses() if status.name == "gpu"][0]
found = {"available": status.available, "reason": status.reason, "fix": status.fix}
for on in sys.argv[1:]:
    try:
        run = run_kernel(kernel, on=on, inputs={"x": np.full(1024, -1, np.int32)})
        found["run"] = run.to_json()
    except DesignError as error:
        found["error"] = str(error)
found["pids"] = shared_queue().pool.pids()
print(json.dumps(found))
"""


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    """Build the library: what is not defined in the source answers 801, not supported."""
    folder = tmp_path_factory.mktemp("driver")
    binding = next(Path(find_spec("pycuda").submodule_search_locations[0]).glob("_driver*.so"))
    names = subprocess.run(
        ["nm", "-D", "--undefined-only", binding], capture_output=True, text=True
    )
    wanted = {word for word in names.stdout.split() if word.startswith("cu")}
    text = SOURCE.read_text()
    missing = sorted(name for name in wanted if f" {name}(" not in text)
    rest = folder / "rest.c"
    rest.write_text("".join(f"int {name}(void) {{ return 801; }}\n" for name in missing))
    options = ["-O1", "-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    library = folder / "libcuda.so.1"
    subprocess.run(["gcc", *options, "-o", library, SOURCE, rest], check=True)
    return folder


@pytest.fixture
def run(driver):
    def start(*on, **settings):
        environment = {
            **os.environ,
            "LD_LIBRARY_PATH": str(driver),
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            **{f"FAKE_CUDA_{name}": str(value) for name, value in settings.items()},
        }
        done = subprocess.run(
            [sys.executable, "-c", KERNEL, *on],
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
            cwd=ROOT,
        )
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    return start


def test_a_kernel_is_run_verified_and_timed(run):
    found = run("gpu", COPY=4096)
    assert found["available"] and found["reason"].startswith("Fake GPU, sm_90, driver for CUDA 13")
    document = found["run"]
    assert document["verified"] is True and document["runner"]["arch"] == "sm_90"
    assert document["timing"]["n"] >= 6 and document["gpu"]["ceiling_bytes_per_s"] > 0
    assert document["gpu"]["device"]["library"].startswith("PyCUDA ")
    assert len(found["pids"]) == 1


def test_what_is_never_written_shows_though_minus_one_is_right(run):
    document = run("gpu", COPY=4096 - 4)["run"]
    assert document["verified"] is False and document["mismatch"]["index"] == [1023]
    assert document["mismatch"]["want"] == -1 and document["mismatch"]["got"] == 0x5A5A5A5A


@pytest.mark.parametrize(("offset", "index"), [(4100, 1025), (-4, -1)])
def test_a_stray_write_is_found(run, offset, index):
    (problem,) = run("gpu", COPY=4096, STRAY=offset)["run"]["problems"]
    assert (problem["kind"], problem["buffer"]) == ("out_of_bounds", "y")
    assert f"element {index}," in problem["message"]


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (700, "out_of_bounds", "illegal memory access"),
        (716, "misaligned", "misaligned address"),
        (702, "limit", "the driver ended the kernel"),
        (710, "trap", "an assert"),
        (719, "trap", "the kernel failed"),
        (701, "limit", "more registers or shared memory"),
        (-2, "trap", "killed by SIGABRT"),
        (-3, "limit", "more than 1 s"),
    ],
)
def test_every_error_of_a_launch_is_a_problem_in_words(run, error, kind, words):
    found = run("gpu", LAUNCH=error)
    (problem,) = found["run"]["problems"]
    assert problem["kind"] == kind and words in problem["message"]
    assert bool(found["pids"]) == (error == 701)  # every other one ends the worker


def test_a_launch_that_never_returns_is_killed_with_its_worker(run):
    """PyCUDA holds the interpreter's lock in a launch: only a kill from outside helps."""
    found = run("gpu", LAUNCH=-1, TOTAL=0.5)
    (problem,) = found["run"]["problems"]
    assert problem["kind"] == "limit" and "held the GPU too long" in problem["message"]
    assert found["pids"] == []


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"INIT": 34}, "stub"),
        ({"INIT": 100}, "finds no GPU"),
        ({"INIT": 999}, "unknown error"),
    ],
)
def test_no_device_is_seen_without_a_context(run, setting, words):
    found = run("gpu", **setting)
    assert not found["available"] and words in found["reason"] and words in found["error"]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"CONTEXT": 46}, "another process holds the GPU"),
        ({"CONTEXT": 2}, "no memory left"),
        ({"LOAD": 209}, "for another GPU"),
        ({"LOAD": 222}, "NVRTC is newer"),
        ({"MEMORY": 1 << 19}, "the buffers take"),
    ],
)
def test_what_is_not_the_kernels_fault_falls_back_and_says_so(run, setting, words):
    found = run("gpu", "auto", **setting)
    assert found["available"] and words in found["error"]
    assert found["run"]["runner"]["name"] == "emulator" and found["run"]["verified"] is True
    assert words in found["run"]["note"]


def test_the_one_launch_child_ends_well(driver):
    """What profilers watch: a context left on the stack would abort the process at its end."""
    script = """
import sys
import numpy as np
from tileviz.cuda.kernel import Buffer
from tileviz.runners.gpu.counters import launch_once
from tileviz.runners.gpu.transport import Images, Program
b = Buffer("x", "int32", (4,), "in"), Buffer("y", "int32", (4,), "out")
p = Program("k", (1,1,1), (4,1,1), b, 0, Images(b"x", b""), {"x": np.zeros(4, np.int32)})
print(launch_once(["env"], p, 60.0))
"""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(driver), "PYTHONPATH": str(ROOT)}
    environment["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, cwd=ROOT
    )
    assert done.stdout.strip() == "('', '')", done.stderr
