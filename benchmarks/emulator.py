"""The emulator on one core, beside plain Python loops and Numba's CUDA simulator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import ROOT, Row
from tileviz.cuda.kernel import Array, Buffer, Scalar
from tileviz.cuda.nvrtc import compile_ptx
from tileviz.emulator import Emulation, emulate

KERNELS = Path(__file__).parent / "kernels"
NUMBA = "numba==0.62.1"
ENVIRONMENT = ROOT / ".venv-numba"
BLOCKS = 64

Parameters = tuple[Buffer | Scalar, ...]
_random = np.random.default_rng(0)


def rows() -> list[Row]:
    """Run every kernel; check what can be checked before believing its time."""
    permute, permute_s = _permute()
    loop_s = _scalar_permute()
    simulator_s = _simulator()
    gemm, gemm_s = _sgemm()
    wide, wide_s = _broadcast()
    bound, _ = _fma()
    rate = bound.statistics.thread_instructions / bound.statistics.seconds / 1e9
    found = [
        Row("permute, 64 blocks, traced", 1e3 * permute.statistics.seconds, "ms", 1.5),
        Row("the same, parsing included", 1e3 * permute_s, "ms", None, ("loop", 1e3 * loop_s)),
        Row("SGEMM 256x256x64, traced", 1e3 * gemm.statistics.seconds, "ms", 15),
        Row("the same, parsing included", 1e3 * gemm_s, "ms"),
        Row("broadcast 38.5 M floats, float4", wide.statistics.seconds, "s", 0.4),
        Row("the same, parsing included", wide_s, "s"),
        Row("FMA-bound kernel, ns per 1000 thread-instructions", 1e3 / rate, "ns", 1e3),
    ]
    if simulator_s is not None:
        peer = ("Numba simulator", 1e3 * simulator_s)
        found.insert(2, Row("permute beside Numba's simulator", 1e3 * permute_s, "ms", None, peer))
    return found


def _run(
    name: str,
    grid: tuple[int, int, int],
    block: int,
    parameters: Parameters,
    arrays: Mapping[str, Array],
    repeat: int,
    **options: Any,
) -> tuple[Emulation, float]:
    """Return the fastest of several emulations, and its seconds with parsing."""
    source = (KERNELS / f"{name}.cu").read_text()
    ptx = compile_ptx(source).ptx
    best, seconds = None, float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        done = emulate(
            ptx,
            source=source,
            entry=name,
            grid=grid,
            block=(block, 1, 1),
            parameters=parameters,
            arrays=arrays,
            **options,
        )
        elapsed = time.perf_counter() - start
        if done.problems:
            raise AssertionError(done.problems[0].message)
        if best is None or elapsed < seconds:
            best, seconds = done, elapsed
    assert best is not None
    return best, seconds


def _permute() -> tuple[Emulation, float]:
    count = BLOCKS * 512
    data = np.arange(count, dtype=np.float32)
    parameters = (
        Buffer("in", "float32", (count,), "in"),
        Buffer("out", "float32", (count,), "out"),
    )
    done = _run("permute", (BLOCKS, 1, 1), 128, parameters, {"in": data}, 10)
    wanted = data.reshape(-1, 4, 32).transpose(0, 2, 1).ravel()
    if not np.array_equal(done[0].outputs["out"], wanted):
        raise AssertionError("permute is wrong")
    return done


def _scalar_permute() -> float:
    """The same addresses and moves, thread after thread in plain Python."""
    data = list(range(BLOCKS * 512))
    out = [0] * len(data)
    start = time.perf_counter()
    for block in range(BLOCKS):
        tiles = [[0] * 128 for _ in range(4)]
        for thread in range(128):
            lane, warp = thread & 31, thread >> 5
            base = (block * 4 + warp) * 128
            for r in range(4):
                tiles[warp][(lane * 4 + r) ^ (lane >> 3)] = data[base + r * 32 + lane]
        for thread in range(128):
            lane, warp = thread & 31, thread >> 5
            base = (block * 4 + warp) * 128
            for r in range(4):
                element = r * 32 + lane
                out[base + element] = tiles[warp][element ^ (element >> 5)]
    return time.perf_counter() - start


def _simulator() -> float | None:
    """Time Numba's CUDA simulator on an equal kernel; None where Numba cannot be installed."""
    python = ENVIRONMENT / "bin" / "python"
    stamp = ENVIRONMENT / "installed.txt"
    if not stamp.is_file() or stamp.read_text() != NUMBA:
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", NUMBA]
        if subprocess.run(pip, check=False).returncode:
            return None
        stamp.write_text(NUMBA)
    script = ROOT / "benchmarks" / "peers" / "numba_simulator.py"
    done = subprocess.run(
        [str(python), str(script), str(BLOCKS)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
    )
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


def _sgemm() -> tuple[Emulation, float]:
    m, n, k = 256, 256, 64
    a = _random.standard_normal((m, k)).astype(np.float32)
    b = _random.standard_normal((k, n)).astype(np.float32)
    parameters = (
        Buffer("a", "float32", (m, k), "in"),
        Buffer("b", "float32", (k, n), "in"),
        Buffer("c", "float32", (m, n), "out"),
        *(Scalar(name, "int32", value) for name, value in (("m", m), ("n", n), ("k", k))),
    )
    arrays = {"a": a.ravel(), "b": b.ravel()}
    done = _run("sgemm", (n // 64, m // 64, 1), 128, parameters, arrays, 5)
    if not np.allclose(done[0].outputs["c"].reshape(m, n), a @ b, rtol=1e-4, atol=1e-4):
        raise AssertionError("sgemm is wrong")
    return done


def _broadcast() -> tuple[Emulation, float]:
    n, image, channels = 64, 56 * 56, 192
    total = n * image * channels
    x = _random.standard_normal(total, np.float32)
    y = _random.standard_normal(n * channels, np.float32)
    parameters = (
        Buffer("x", "float32", (total,), "in"),
        Buffer("y", "float32", (n * channels,), "in"),
        Buffer("out", "float32", (total,), "out"),
        Scalar("total", "int32", total // 4),
        Scalar("image", "int32", image * channels // 4),
        Scalar("channels", "int32", channels // 4),
    )
    grid = (-(-total // 1024), 1, 1)
    done = _run("broadcast", grid, 256, parameters, {"x": x, "y": y}, 2, trace=False, races=False)
    wanted = x.reshape(n, image, channels) + y.reshape(n, 1, channels)
    if not np.array_equal(done[0].outputs["out"], wanted.ravel()):
        raise AssertionError("broadcast is wrong")
    return done


def _fma() -> tuple[Emulation, float]:
    count = 64 * 256
    parameters = (Buffer("data", "float32", (count,), "inout"),)
    arrays = {"data": _random.standard_normal(count, np.float32)}
    return _run("multiply_add", (64, 1, 1), 256, parameters, arrays, 3, trace=False, races=False)
