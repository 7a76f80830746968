"""Whatever a text does to compiler or emulator, the caller gets one clear line."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tileviz.cuda import library
from tileviz.cuda.kernel import Buffer, Kernel
from tileviz.emulator import client
from tileviz.emulator.limits import Limits
from tileviz.emulator.transport import Request
from tileviz.errors import DesignError
from tileviz.runners.emulator import EmulatorRunner
from tileviz.runners.inputs import make_arrays
from tileviz.workers import WorkerPool
from tileviz.workers.shared import EMULATOR

pytestmark = [
    pytest.mark.skipif(library.find() is None, reason="no NVRTC on this machine"),
    pytest.mark.skipif(sys.platform == "win32", reason="no resource limits on Windows"),
]

ROOT = Path(__file__).parents[2]


def launch(body, before="", count=32, **changes):
    source = f'{before}\nextern "C" __global__ void k(float* a) {{\n{body}\n}}\n'
    fields = {
        "source": source,
        "entry": "k",
        "grid": (1, 1, 1),
        "block": (32, 1, 1),
        "parameters": (Buffer("a", "float32", (count,), "inout"),),
    }
    return Kernel(**{**fields, **changes})


GOOD = launch("a[threadIdx.x] += 1;")


@pytest.fixture(scope="module")
def pool():
    made = WorkerPool(EMULATOR, size=1, max_failures=100)
    yield made
    made.close()


@pytest.fixture
def run(pool):
    runner = EmulatorRunner(pool=pool, limits=Limits(seconds=1.0), compile_seconds=1.0)

    def go(kernel):
        return runner.run(kernel, make_arrays(kernel))

    yield go
    after = EmulatorRunner(pool=pool).run(GOOD, make_arrays(GOOD))
    assert after.problems == (), "the next request must be served"


MACROS = "#define A0 x = x * x + x;\n" + "".join(
    f"#define A{i} A{i - 1} A{i - 1} A{i - 1} A{i - 1}\n" for i in range(1, 16)
)
TEMPLATES = """\
template <int N, int M> struct T { static const int v = T<N-1, 2*M>::v + T<N-1, 2*M+1>::v; };
template <int M> struct T<0, M> { static const int v = M; };
"""


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        (launch("float x = a[0]; A15 a[0] = x;", MACROS), "compile"),
        (launch("a[0] = T<24, 0>::v;", TEMPLATES), "compile"),
        (launch("a[0] = " + "(" * 100_000 + "1" + ")" * 100_000 + ";"), None),
        (launch('asm volatile("wgmma.fence.sync.aligned;");'), None),
        (launch("a[0] = big[threadIdx.x];", "__device__ int big[1ull << 34];"), None),
        (launch("while (true) a[threadIdx.x] += 1;"), "limit"),
        (launch("volatile float* p = a; while (*p == *p) { }"), "limit"),
        (launch("for (long long i = 0; i < (1ll << 40); i += 997) a[i] = 1;"), "out_of_bounds"),
        (launch("*(volatile int*)0 = 1;"), "out_of_bounds"),
        (launch("*(volatile int*)((char*)a + 1) = 1;"), "misaligned"),
        (launch('asm volatile("trap;");'), None),
        (launch("if (threadIdx.x < 7) __syncthreads(); else while (a[0] == a[0]) { }"), None),
        (launch("k2<<<1, 1>>>(a);", "__global__ void k2(float*);"), None),
        (launch("}}}}"), "compile"),
        (launch('printf("%s", a);'), None),
        (launch("volatile char deep[1 << 20]; deep[threadIdx.x] = 1; a[0] = deep[5];"), None),
        (launch("", source="\\" * 1000), "compile"),
        (launch("", source=""), None),
        (launch("", source='extern "C" __global__ void k(int a, int b, int c) {}'), None),
    ],
    ids=lambda value: "" if value is None or isinstance(value, str) else value.source[-60:-3],
)
def test_a_hostile_kernel_is_one_clear_problem(run, kernel, kind):
    found = run(kernel)
    assert found.problems, "something must be said"
    for problem in found.problems:
        assert "\n" not in problem.message and 0 < len(problem.message) <= 1000
    if kind is not None:
        assert found.problems[0].kind == kind


def test_nothing_is_written_past_the_buffers(run):
    kernel = launch("a[threadIdx.x * 1000003ull] = 1;")
    found = run(kernel)
    assert found.problems[0].kind == "out_of_bounds" and "no buffer" in found.problems[0].message
    assert found.outputs["a"][1:].tobytes() == make_arrays(kernel)["a"][1:].tobytes()


@pytest.mark.parametrize(
    "text", ['#include "/etc/passwd"', '#if __has_include("/etc/passwd")\n#endif', "#line 3"]
)
def test_a_text_that_could_open_a_file_never_reaches_a_worker(run, text):
    with pytest.raises(DesignError) as caught:
        run(launch("", text))
    assert caught.value.field == "source"


def test_the_worker_checks_the_text_too(pool):
    request = Request('#include "/etc/passwd"', "k", (1, 1, 1), (1, 1, 1), ())
    with pytest.raises(DesignError, match="cannot include"):
        client.run(request, {}, pool=pool)


def test_a_huge_buffer_is_refused_before_it_exists(run):
    with pytest.raises(DesignError, match="MiB"):
        run(launch("", count=10 << 28))


# A worker whose lexical check is switched off: what then still stops the compiler?
UNCHECKED = """\
from tileviz.cuda import nvrtc
from tileviz.workers import process
nvrtc.check_source = lambda source: None
from tileviz.emulator import worker
service = worker.Service()
process.serve(service.handle, prepare=service.prepare, limits=worker.LIMITS)
"""


@pytest.fixture(scope="module")
def unchecked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unchecked")
    (folder / "unchecked_worker.py").write_text(UNCHECKED)
    (folder / "secret.h").write_text("the secret\n")
    made = WorkerPool("unchecked_worker", size=1, search=[str(folder)])
    yield made, folder / "secret.h"
    made.close()


def test_the_compiler_can_open_no_file_even_without_the_check(unchecked):
    pool, secret = unchecked
    for path in (secret, "/etc/passwd"):
        request = Request(f'#include "{path}"', "k", (1, 1, 1), (1, 1, 1), ())
        (problem,) = client.run(request, {}, pool=pool).problems
        assert problem.kind == "compile" and "cannot open source file" in problem.message
        assert "secret\n" not in problem.message and "root:" not in problem.message


def test_the_compiler_cannot_tell_whether_a_file_exists_even_without_the_check(unchecked):
    pool, secret = unchecked
    said = set()
    for path in (secret, f"{secret}.missing"):
        source = f'#if __has_include("{path}")\n#error YES\n#else\n#error NO\n#endif'
        (problem,) = client.run(
            Request(source, "k", (1, 1, 1), (1, 1, 1), ()), {}, pool=pool
        ).problems
        said.add(problem.message)
    assert said == {"#error directive: NO"}


@pytest.mark.skipif(sys.platform != "linux", reason="user ids as on Linux")
def test_the_worker_is_confined_also_when_started_as_root(pool):
    worker = next(iter(pool._workers.values()), None)
    if worker is None or not worker.alive:
        client.run(Request("", "k", (1, 1, 1), (1, 1, 1), ()), {}, pool=pool)
        worker = next(iter(pool._workers.values()))
    granted = worker.wait_ready()["confinement"]
    assert set(granted["limits"]) == {"CORE", "AS", "FSIZE", "NPROC", "NOFILE"}
    assert granted["uid"] != 0 and (os.getuid() == 0) == (granted["uid"] != os.getuid())


def test_texts_alone_can_be_compiled(pool):
    texts = client.compile_source(GOOD.source, entry="k", image_arch="sm_90", pool=pool)
    assert ".entry k(" in texts.ptx and texts.image[:4] == b"\x7fELF" and texts.problems == ()
    assert texts.resources.registers > 0 and "Compiling entry function 'k'" in texts.image_log
    assert texts.compiler.startswith("NVRTC ")
    plain = client.compile_source(GOOD.source, arch="compute_75", pool=pool)
    assert ".target sm_75" in plain.ptx and plain.image == b"" and plain.resources is None
    wrong = client.compile_source("int x = ;", pool=pool)
    assert wrong.ptx == "" and wrong.problems[0].line == 1
    other = client.compile_source(GOOD.source, entry="other", image_arch="sm_80", pool=pool)
    assert other.ptx and not other.image and "other" in other.problems[0].message
    slow = client.compile_source(
        MACROS + GOOD.source[:-2] + "float x = 1; A15 }", seconds=1, pool=pool
    )
    assert slow.problems[0].kind == "compile" and "more than 1 s" in slow.problems[0].message
    with pytest.raises(DesignError):
        client.compile_source("#line 3", pool=pool)


def test_a_failing_worker_is_no_exception_for_the_caller(tmp_path):
    (tmp_path / "broken_worker.py").write_text("import sys; sys.exit('no such library')\n")
    pool = WorkerPool("broken_worker", size=1, search=[str(tmp_path)], max_failures=2)
    try:
        request = Request("", "k", (1, 1, 1), (1, 1, 1), ())
        said = [client.run(request, {}, pool=pool).problems[0] for _ in range(3)]
    finally:
        pool.close()
    assert all(problem.kind == "limit" for problem in said)
    assert "no such library" in said[0].message and "in a row" in said[2].message


def test_importing_the_worker_loads_nothing_heavy():
    code = (
        "import sys; import tileviz.emulator.worker; "
        "print([m for m in ('pydantic', 'jinja2', 'typer', 'streamlit', 'plotly', 'rich') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_requests_of_many_threads_do_not_mix(pool):
    from concurrent.futures import ThreadPoolExecutor

    runner = EmulatorRunner(pool=pool)

    def one(value):
        kernel = launch(f"a[threadIdx.x] = {value}.0f;")
        return runner.run(kernel, make_arrays(kernel)).outputs["a"]

    with ThreadPoolExecutor(8) as threads:
        for value, array in enumerate(threads.map(one, range(8))):
            assert np.all(array == value)
