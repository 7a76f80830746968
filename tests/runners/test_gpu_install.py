"""The parts of the PyCUDA build; the whole takes a minute and a network, and is run by hand."""

import ctypes
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from tileviz.runners import install_gpu
from tileviz.runners.install_gpu import (
    InstallError,
    Tools,
    build_stub,
    main,
    obstacles,
    stub_source,
    telling_line,
)

needs_gcc = pytest.mark.skipif(which("gcc") is None or sys.platform != "linux", reason="no gcc")
TOOLS = Tools(sys.executable, which("gcc") or "gcc", quiet=True)

HEADER = """\
CUresult CUDAAPI cuInit(unsigned int Flags);
#define cuMemAlloc cuMemAlloc_v2
CUresult CUDAAPI cuMemAlloc(CUdeviceptr *dptr, size_t bytesize);
#define CUDA_VERSION 12090
typedef struct CUctx_st *CUcontext; /* a cubin, cuda, cuXYZ123_ptsz */
"""


def test_the_stub_defines_every_name_of_the_headers_once():
    text = stub_source([HEADER, HEADER])
    names = [line.split("(")[0].split()[-1] for line in text.splitlines()]
    assert names == sorted(set(names))
    assert {"cuInit", "cuMemAlloc", "cuMemAlloc_v2", "cuXYZ123_ptsz"} <= set(names)
    assert "cubin" not in names and "cuda" not in names


@needs_gcc
def test_a_library_linked_against_the_stub_keeps_it(tmp_path):
    include = tmp_path / "include"
    include.mkdir()
    (include / "cuda.h").write_text(HEADER)
    (include / "cudaProfiler.h").write_text("CUresult CUDAAPI cuProfilerStart(void);\n")
    stub = build_stub(TOOLS, [include], tmp_path / "stub")
    library = ctypes.CDLL(str(stub / "libcuda.so.1"))
    assert library.cuInit(0) == 34 and library.cuProfilerStart() == 34
    user = tmp_path / "user.c"
    user.write_text("int cuInit(unsigned); int use(void) { return cuInit(0); }\n")
    built = tmp_path / "user.so"
    command = ["gcc", "-shared", "-fPIC", "-Wl,--as-needed", "-o", built, user]
    subprocess.run([*command, f"-L{stub}", "-lcuda"], check=True)
    assert b"libcuda.so.1" in built.read_bytes()


@needs_gcc
def test_headers_that_are_missing_are_said_to_be(tmp_path):
    with pytest.raises(InstallError, match=r"no cuda\.h"):
        build_stub(TOOLS, [tmp_path], tmp_path / "stub")


def test_what_is_missing_is_said_before_anything_starts(monkeypatch, capsys):
    monkeypatch.setattr(install_gpu, "has_driver", lambda: True)
    monkeypatch.setattr(install_gpu, "_works", lambda tools: False)
    monkeypatch.setattr(install_gpu.sys, "platform", "linux")
    monkeypatch.setattr(install_gpu.shutil, "which", lambda name: None)
    monkeypatch.setattr(install_gpu.sysconfig, "get_path", lambda name: "/nowhere")
    monkeypatch.setattr(install_gpu, "build_wheel", lambda *a: pytest.fail("started to build"))
    assert len(obstacles()) == 2
    assert main(["--quiet"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert "g++" in said[0] and "Python headers in /nowhere" in said[0] and len(said) == 2
    assert said[1].startswith("tileviz: the emulator works without it; to try again: ")


def test_without_a_driver_nothing_is_built(monkeypatch, capsys):
    monkeypatch.setattr(install_gpu, "has_driver", lambda: False)
    monkeypatch.setattr(install_gpu, "build_wheel", lambda *a: pytest.fail("started to build"))
    assert main([]) == 1
    assert "no NVIDIA driver" in capsys.readouterr().err


def test_where_it_works_already_nothing_is_built(monkeypatch, capsys):
    monkeypatch.setattr(install_gpu, "has_driver", lambda: True)
    monkeypatch.setattr(install_gpu, "check", lambda tools: "PyCUDA finds a GPU")
    monkeypatch.setattr(install_gpu, "build_wheel", lambda *a: pytest.fail("started to build"))
    assert main([]) == 0


def test_a_failed_step_is_one_line(tmp_path):
    script = "import sys; print('x.cpp:1:2: fatal error: curand.h: No such', file=sys.stderr); 1/0"
    with pytest.raises(InstallError, match=r"^building: x\.cpp:1:2: fatal error: curand\.h"):
        TOOLS.run("building", [sys.executable, "-c", script])
    with pytest.raises(InstallError, match=r"^looking: "):
        TOOLS.run("looking", [str(tmp_path / "absent")])
    assert telling_line("") == "it printed nothing"
    assert telling_line("a\nERROR: No matching distribution found for x\nb").startswith("ERROR: No")


def test_the_module_needs_nothing_but_the_standard_library():
    code = (
        "import sys, tileviz.runners.install_gpu; "
        "print([m for m in ('numpy', 'pydantic', 'typer') if m in sys.modules])"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert done.stdout.strip() == "[]", done.stderr
