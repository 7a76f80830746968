"""Exports that stand alone: the kernel inside is the one that runs, and the program builds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tileviz import api
from tileviz.cuda.kernel import Kernel
from tileviz.export.snippets import standalone_cu
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import STUDIES, make_design, presets


def kernels() -> list[tuple[str, Kernel]]:
    found = []
    for preset in presets():
        # An own kernel has no reference that a program could check itself against.
        if not STUDIES[preset.study].runnable or preset.study == "kernel":
            continue
        try:
            found.append((preset.name, api.kernel(preset.design)))
        except NotRunnable:
            continue
    wide = {
        "study": "permute",
        "src": {"layout": "S[(64, 16):(16, 1)]"},
        "dst": {"layout": "S[(64, 16):(1, 65)]"},
        "dtype": "float32x4",
        "block": [64],
    }
    return [*found, ("dynamic-shared", api.kernel(make_design(wide)))]


KERNELS = kernels()


@pytest.mark.parametrize(("name", "kernel"), KERNELS, ids=[name for name, _ in KERNELS])
def test_kernel_text_is_exported_byte_for_byte(name: str, kernel: Kernel) -> None:
    text = standalone_cu(kernel)
    assert kernel.source in text
    assert "{{" not in text and "{%" not in text


@pytest.mark.parametrize(("name", "kernel"), KERNELS[:1] + KERNELS[-1:], ids=["demo", "dynamic"])
def test_export_builds_with_nvcc(name: str, kernel: Kernel, tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    path = tmp_path / "export.cu"
    path.write_text(standalone_cu(kernel))
    command = [nvcc, "-std=c++17", "-Werror", "all-warnings", "-c", str(path), "-o", "export.o"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


def test_host_check_compares_what_numpy_computes(tmp_path: Path) -> None:
    """Build the host reference alone with a C++ compiler and compare it with NumPy's."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed")
    import numpy as np

    _, kernel = KERNELS[2]
    inputs = {
        buffer.name: np.random.default_rng(1).standard_normal(buffer.count).astype(np.float32)
        for buffer in kernel.buffers
    }
    program = f"""#include <cstdio>
#include <cstring>
#include <vector>
{kernel.host_reference}
std::vector<unsigned char> load(const char* name) {{
    std::FILE* file = std::fopen(name, "rb");
    std::vector<unsigned char> bytes;
    for (int c; (c = std::fgetc(file)) != EOF;) bytes.push_back(static_cast<unsigned char>(c));
    return bytes;
}}
int main() {{
    auto src = load("src"), dst = load("dst");
    reference(src, dst);
    std::fwrite(dst.data(), 1, dst.size(), stdout);
}}
"""
    (tmp_path / "host.cpp").write_text(program)
    for name, values in inputs.items():
        (tmp_path / name).write_bytes(values.tobytes())
    subprocess.run([compiler, "host.cpp", "-o", "host"], cwd=tmp_path, check=True)
    done = subprocess.run(["./host"], cwd=tmp_path, check=True, capture_output=True)
    assert kernel.reference is not None
    assert done.stdout == kernel.reference(inputs)["dst"].tobytes()
