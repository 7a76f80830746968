"""C++ programs that stand alone: the kernel inside is the one that runs, and they check it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tileviz.cuda.kernel import Buffer, Kernel, Scalar
from tileviz.cuda.nvrtc import compile_ptx
from tileviz.export.host import HostScalar
from tileviz.export.script import pycuda_script
from tileviz.export.snippets import standalone_cu
from tileviz.runners.emulator import EmulatorRunner

Named = Callable[[str], Kernel]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

START = "// ---- the kernel, byte for byte the text that tileviz runs ----\n"
END = "// ---- end of the kernel ----\n"

# A CUDA runtime without a device: memory is the host's, and a launch copies given answers.
STUB = """#pragma once
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>
enum cudaError_t { cudaSuccess, cudaErrorLaunchFailure };
enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize };
struct dim3 { unsigned x, y, z; dim3(unsigned x, unsigned y, unsigned z) : x(x), y(y), z(z) {} };
using Sizes = std::map<void*, std::size_t>;
inline Sizes& sizes() { static Sizes found; return found; }
inline const char* cudaGetErrorString(cudaError_t) { return "unspecified launch failure"; }
inline cudaError_t cudaMalloc(void** pointer, std::size_t size) {
    *pointer = std::malloc(size);
    sizes()[*pointer] = size;
    return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, int) {
    std::memcpy(to, from, size);
    return cudaSuccess;
}
inline cudaError_t cudaMemset(void* to, int value, std::size_t size) {
    std::memset(to, value, size);
    return cudaSuccess;
}
template <typename Function>
cudaError_t cudaFuncSetAttribute(Function, int, int) { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() {
    return std::getenv("STUB_FAILS") ? cudaErrorLaunchFailure : cudaSuccess;
}
inline void transfer(void* pointer, std::string name, const char* mode) {
    if (std::FILE* file = std::fopen(name.c_str(), mode)) {
        const std::size_t size = sizes()[pointer];
        if (*mode == 'r') (void)!std::fread(pointer, 1, size, file);
        else std::fwrite(pointer, 1, size, file);
        std::fclose(file);
    }
}
inline cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void** arguments, std::size_t, void*) {
    static int launches = 0;
    const std::string number = std::to_string(launches++);
    for (const char* at = std::getenv("STUB_POINTERS"); *at; at += *at == ',') {
        const int place = static_cast<int>(std::strtol(at, const_cast<char**>(&at), 10));
        void* pointer = *static_cast<void**>(arguments[place]);
        const std::string name = number + "." + std::to_string(place);
        transfer(pointer, "given." + name, "wb");
        transfer(pointer, "answer." + name, "rb");
    }
    return cudaSuccess;
}
"""


def test_the_text_is_the_kernels_byte_for_byte(exported: Kernel) -> None:
    text = standalone_cu(exported)
    inside = text[text.index(START) + len(START) : text.index(END)]
    assert inside.removesuffix("\n") == exported.source.removesuffix("\n")
    assert exported.source in text
    assert "{{" not in text.replace(exported.source, "") and "{%" not in text
    assert f"{exported.entry}.cu" in text.splitlines()[0]


def test_a_run_time_compiler_takes_every_file(exported: Kernel) -> None:
    assert f".entry {exported.entry}(" in _compiled(exported)


@pytest.mark.parametrize("name", ["permute-demo", "relu-bfloat16", "gemm-float", "two-outputs"])
def test_host_code_changes_no_instruction(name: str, named: Named) -> None:
    """The device part of the file is the kernel that the emulator runs."""
    kernel = named(name)
    assert _instructions(compile_ptx(kernel.source).ptx) == _instructions(_compiled(kernel))


def _compiled(kernel: Kernel) -> str:
    text = standalone_cu(kernel)
    host = text[text.index("#ifndef __CUDACC_RTC__") : text.index(START)]
    # Our compiler lets no such include through, even where it is skipped.
    return compile_ptx(text.replace(host, re.sub("#include .*", "", host))).ptx


def _instructions(ptx: str) -> list[str]:
    """Return the operations of a PTX text, whatever registers they use."""
    return re.findall(r"^\s+(?:@!?%\w+ )?([a-z][\w.]*)", ptx, re.MULTILINE)


def test_every_program_builds_with_nvcc(every: dict[str, Kernel], tmp_path: Path) -> None:
    """All of them as one text, so that headers are read once: each in a namespace of its own."""
    nvcc = _found("nvcc")
    parts, heads = [], set()
    for number, (name, kernel) in enumerate(every.items()):
        text = standalone_cu(kernel)
        heads |= set(re.findall(r"^#include <\w+(?:\.h)?>", text, re.MULTILINE))
        (tmp_path / f"{name}.cu").write_text(text, encoding="utf-8")
        names = (kernel.entry, "main")
        parts += [f"#define {old} {old}_{number}" for old in names]
        parts.append(f'namespace program_{number} {{\n#include "{name}.cu"\n}}')
        parts += [f"#undef {old}" for old in (*names, "N", "min")]
    (tmp_path / "all.cu").write_text("\n".join([*sorted(heads), *parts, "int main() {}\n"]))
    # No machine code is made, which would take most of the time.
    options = ["-arch=compute_80", "-Werror", "all-warnings", "-c"]
    _run([nvcc, *options, "all.cu", "-o", "all.o"], tmp_path)


@pytest.mark.parametrize("name", ["permute-demo", "two-outputs"])
def test_a_program_builds_alone(name: str, named: Named, tmp_path: Path) -> None:
    nvcc = _found("nvcc")
    (tmp_path / "export.cu").write_text(standalone_cu(named(name)), encoding="utf-8")
    _run([nvcc, "export.cu", "-o", "export"], tmp_path)
    assert (tmp_path / "export").is_file()


def test_what_a_compiler_lacks_is_said(named: Named, tmp_path: Path) -> None:
    text = standalone_cu(named("banks-cp-async"))
    assert "-arch=sm_80" in text.splitlines()[0]
    assert '#error "this kernel needs a newer GPU: build it with nvcc -arch=sm_80"' in text
    assert "#error" not in standalone_cu(named("permute-demo"))


# -- what the program says -------------------------------------------------------------------------


def _found(compiler: str) -> str:
    path = shutil.which(compiler)
    if path is None:
        pytest.skip(f"{compiler} is not installed")
    return path


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the runtime without a device, compiled once for all programs."""
    folder = tmp_path_factory.mktemp("stub")
    (folder / "stub.h").write_text(STUB)
    _run([_found("g++"), "-std=c++17", "-x", "c++-header", "stub.h", "-o", "stub.h.gch"], folder)
    return folder


@dataclass(frozen=True)
class Program:
    """The host part of an export, built with the runtime that has no device."""

    folder: Path
    pointers: list[int]

    @classmethod
    def of(cls, kernel: Kernel, stub: Path, folder: Path) -> Program:
        text = standalone_cu(kernel)
        device = text[text.index(START) : text.index(END)]
        (folder / "host.cpp").write_text(
            text.replace(device, f'extern "C" void {kernel.entry}() {{}}\n'), encoding="utf-8"
        )
        options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-include", str(stub / "stub.h")]
        _run([_found("g++"), *options, "host.cpp", "-o", "host"], folder)
        places = [n for n, given in enumerate(kernel.parameters) if isinstance(given, Buffer)]
        return cls(folder, places)

    def run(self, **environment: str) -> tuple[int, str]:
        pointers = ",".join(map(str, self.pointers))
        done = subprocess.run(
            [str(self.folder / "host")],
            cwd=self.folder,
            env={**os.environ, "STUB_POINTERS": pointers, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def given(self, place: int) -> Bytes:
        return np.fromfile(self.folder / f"given.0.{place}", np.uint8)

    def answer(self, place: int, content: Bytes, launches: tuple[int, ...] = (0, 1)) -> None:
        for launch in launches:
            content.tofile(self.folder / f"answer.{launch}.{place}")


CHECKED = [
    "permute-demo",
    "permute-padded-33",
    "permute-in-place",
    "dynamic-shared",
    "gemm-float",
    "gemm-splitk",
    "gemm-batch",
    "gemm-grouped",
    "broadcast-idle-lanes",
    "scale-int8",
    "banks-ldmatrix-64x64",
    "atomic",
]


@pytest.mark.parametrize("name", CHECKED)
def test_a_program_knows_what_is_right(name: str, named: Named, stub: Path, tmp_path: Path) -> None:
    kernel = named(name)
    program = Program.of(kernel, stub, tmp_path)
    places = dict(zip([b.name for b in kernel.buffers], program.pointers, strict=True))
    (target,) = [buffer for buffer in kernel.buffers if buffer.role != "in"]
    # A launch that does nothing leaves the output as it was before.
    assert program.run()[0] == 1
    contents = {b.name: program.given(places[b.name]) for b in kernel.buffers if b.role != "out"}
    _check_inputs_are_the_scripts(kernel, contents)
    assert kernel.reference is not None
    carried = {b.name: _carried(contents[b.name], b) for b in kernel.buffers if b.role != "out"}
    want = np.ascontiguousarray(kernel.reference(carried)[target.name]).view(np.uint8)
    program.answer(places[target.name], want)
    status, said = program.run()
    checksum = f"CRC-32 {zlib.crc32(want.tobytes()):08x}"
    assert said == f"OK: all {target.count} elements of {target.name} are right, {checksum}\n"
    assert status == 0
    wrong = want.copy()
    wrong[-1] ^= 0x80
    program.answer(places[target.name], wrong)
    last = f"element {target.count - 1} of {target.name}"
    assert program.run() == (1, f"WRONG: first difference in {last}\n")
    status, said = program.run(STUB_FAILS="1")
    assert (status, said) == (2, "CUDA error: unspecified launch failure\n")


def _carried(content: Bytes, buffer: Buffer) -> Any:
    from tileviz.dtypes import dtype

    return content.view(dtype(buffer.dtype).numpy)


def _check_inputs_are_the_scripts(kernel: Kernel, contents: dict[str, Bytes]) -> None:
    names: dict[str, Any] = {"__name__": "script"}
    exec(pycuda_script(kernel), names)
    uploaded: dict[str, Bytes] = {}

    class Recorder:
        def launch(self, poison: int, given: dict[str, Bytes]) -> dict[str, Bytes]:
            uploaded.update(given)
            return {name: np.zeros(size, np.uint8) for name, size in names["SIZES"].items()}

    names["check"](Recorder())
    assert uploaded.keys() == contents.keys()
    for name, content in contents.items():
        assert (uploaded[name] == content).all(), name


def test_without_a_reference_it_says_so(named: Named, stub: Path, tmp_path: Path) -> None:
    kernel = named("two-outputs")
    program = Program.of(kernel, stub, tmp_path)
    status, said = program.run()
    assert status == 1
    assert "WRONG: 256 of 256 elements of int were never written, first 0" in said
    contents = {
        buffer.name: _carried(program.given(place), buffer)
        for buffer, place in zip(kernel.buffers, program.pointers, strict=True)
    }
    outputs = EmulatorRunner().run(kernel, contents, trace=False).outputs
    for buffer, place in zip(kernel.buffers, program.pointers, strict=True):
        if buffer.role != "in":
            program.answer(place, outputs[buffer.name].view(np.uint8))
    status, said = program.run()
    assert status == 0
    assert said.splitlines()[-1] == (
        "RAN: every element was written and two runs agree; there is no reference to compare with"
    )
    crc = f"CRC-32 {zlib.crc32(outputs['z'].tobytes()):08x}"
    assert f"z: 256 elements, the same in two runs, {crc}" in said
    other = outputs["z"].view(np.uint8).copy()
    other[40] ^= 1
    program.answer(program.pointers[-1], other, launches=(1,))
    status, said = program.run()
    assert status == 1 and "RAN" not in said
    assert "two runs on the same inputs differ in 1 of 256 elements of z, first 10" in said


def test_scalars_keep_their_value_in_c(stub: Path, tmp_path: Path) -> None:
    scalars = [
        Scalar("a", "int8", -128),
        Scalar("b", "uint64", 2**64 - 1),
        Scalar("c", "int64", -(2**63)),
        Scalar("d", "int32", -(2**31)),
        Scalar("e", "float32", 0.1),
        Scalar("f", "float64", 0.1),
        Scalar("g", "float32", float("-inf")),
    ]
    lines = [f"{(of := HostScalar(given)).type} {of.host} = {of.value};" for given in scalars]
    lines += [
        f"std::fwrite(&{HostScalar(given).host}, 1, sizeof {HostScalar(given).host}, stdout);"
        for given in scalars
    ]
    (tmp_path / "scalars.cpp").write_text("int main() {\n" + "\n".join(lines) + "\n}\n")
    options = ["-std=c++17", "-Wall", "-Werror", "-include", str(stub / "stub.h")]
    _run([_found("g++"), *options, "scalars.cpp", "-o", "scalars"], tmp_path)
    done = subprocess.run([str(tmp_path / "scalars")], capture_output=True, check=True)
    wanted = b"".join(np.dtype(s.dtype).type(s.value).tobytes() for s in scalars)
    assert done.stdout == wanted


def test_elements_below_a_byte_are_refused() -> None:
    buffers = (Buffer("x", "float4_e2m1fn", (8,), "in"),)
    kernel = Kernel("", "k", (1, 1, 1), (32, 1, 1), buffers)
    for export in (standalone_cu, pycuda_script):
        with pytest.raises(ValueError, match="x holds float4_e2m1fn, less than a byte each"):
            export(kernel)
