"""Kernels to export, and a PyCUDA that runs on the emulator."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tileviz import api
from tileviz.cuda.kernel import Buffer, Kernel, Scalar
from tileviz.runners.emulator import EmulatorRunner
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import STUDIES, make_design, presets

# Above this an emulated run, or its check on the host, takes seconds.
MOST_BYTES = 12 << 20

TWO_OUTPUTS = """#define N 32
#define min(a, b) ((a) < (b) ? (a) : (b))
extern "C" __global__ void two(const unsigned short* x, int n, float a, uint32_t* int_,
                               float* z, long long offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int_[i] = min(i, N) + x[i] + offset;
        z[i] = z[i] * a + FLT_MIN;
    }
}"""

DESIGNS: dict[str, dict[str, Any]] = {
    "dynamic-shared": {
        "study": "permute",
        "src": {"layout": "S[(64, 16):(16, 1)]"},
        "dst": {"layout": "S[(64, 16):(1, 65)]"},
        "dtype": "float32x4",
        "block": [64],
    },
    "gemm-float": {
        "study": "schedule",
        "problem": [70, 60, 40],
        "tile": [32, 32],
        "policy": "catlass",
        "offset": 3,
        "dtype": "float32",
    },
    "gemm-splitk": {
        "study": "schedule",
        "problem": [64, 48, 96],
        "tile": [32, 32],
        "policy": "catlass_splitk",
        "dtype": "bfloat16",
        "splitk": 2,
    },
    "gemm-batch": {
        "study": "schedule",
        "problem": [40, 48, 32],
        "tile": [32, 32],
        "policy": "triton_grouped",
        "batch": 3,
    },
    "gemm-grouped": {
        "study": "schedule",
        "problem": [69, 60, 40],
        "tile": [32, 32],
        "policy": "catlass_grouped_aswt",
        "group_m": [20, 0, 13, 36],
    },
    "relu-bfloat16": {
        "study": "broadcast",
        "operands": [[5, 1, 7], [1, 3, 1]],
        "out": [5, 3, 7],
        "dtype": "bfloat16",
        "expression": "relu(x*a+b)",
    },
    "batchnorm-double": {
        "study": "broadcast",
        "operands": [[33]],
        "out": [4, 33],
        "dtype": "float64",
        "expression": "batchnorm",
    },
    "scale-int8": {
        "study": "broadcast",
        "operands": [[33]],
        "out": [4, 33],
        "dtype": "int8",
        "expression": "scale_shift",
    },
    "atomic": {
        "study": "access",
        "op": "atom",
        "space": "global",
        "bytes": 4,
        "addresses": [4 * (lane % 5) for lane in range(32)],
    },
    "two-outputs": {
        "study": "kernel",
        "source": TWO_OUTPUTS,
        "entry": "two",
        "grid": [4],
        "block": [64],
        "buffers": [
            {"name": "x", "dtype": "float16", "shape": [256], "role": "in"},
            {"name": "int", "dtype": "uint32", "shape": [256], "role": "out"},
            {"name": "z", "dtype": "float32", "shape": [16, 16], "role": "inout"},
        ],
        "scalars": [
            {"name": "n", "dtype": "int32", "value": 256},
            {"name": "a", "dtype": "float32", "value": 0.1},
            {"name": "offset", "dtype": "int64", "value": -(2**63)},
        ],
        "order": ["x", "n", "a", "int", "z", "offset"],
    },
    "nothing-to-look-at": {
        "study": "kernel",
        "source": 'extern "C" __global__ void k() {}',
        "entry": "k",
    },
}


def _kernels() -> Iterator[tuple[str, Kernel]]:
    for preset in presets():
        if STUDIES[preset.study].runnable:
            try:
                yield preset.name, api.kernel(preset.design)
            except NotRunnable:
                continue
    for name, document in DESIGNS.items():
        yield name, api.kernel(make_design(document))


def _bytes(kernel: Kernel) -> int:
    return sum(buffer.count * 4 for buffer in kernel.buffers)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``exported``: the kernel of every preset; ``emulated``: what runs here; ``tiny``: at once."""
    sizes = {"exported": None, "emulated": MOST_BYTES, "tiny": MOST_BYTES >> 6}
    for name, most in sizes.items():
        if name in metafunc.fixturenames:
            kernels = [(title, kernel) for title, kernel in _kernels() if _fits(kernel, most)]
            values = [kernel for _, kernel in kernels]
            metafunc.parametrize(name, values, ids=[title for title, _ in kernels])


def _fits(kernel: Kernel, most: int | None) -> bool:
    threads = kernel.grid[0] * kernel.block[0]
    return most is None or (_bytes(kernel) < most and threads < 1 << 19)


@pytest.fixture(scope="session")
def every() -> dict[str, Kernel]:
    """Return every kernel by its name."""
    return dict(_kernels())


@pytest.fixture(scope="session")
def named(every: dict[str, Kernel]) -> Callable[[str], Kernel]:
    """Return the function that gives a kernel by its name."""
    return every.__getitem__


class FakeError(Exception):
    """What the fake driver raises for a fault on the device."""


class Emulated:
    """A PyCUDA whose device is the emulator.

    Attributes:
        sources: Every text that was compiled.
        rewrite: Changes a text before it is compiled.
        spoil: Changes the memory of the last pointer after a launch.
    """

    def __init__(self) -> None:
        self.sources: list[str] = []
        self.rewrite: Callable[[str], str] = lambda text: text
        self.spoil: Callable[[np.ndarray[Any, Any]], None] = lambda memory: None
        self.runner = EmulatorRunner()

    def modules(self) -> dict[str, ModuleType]:
        driver = ModuleType("pycuda.driver")
        attribute = SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
        driver.__dict__.update(
            Error=FakeError,
            mem_alloc=self.mem_alloc,
            memcpy_htod=self.memcpy_htod,
            memcpy_dtoh=self.memcpy_dtoh,
            memset_d8=self.memset_d8,
            function_attribute=attribute,
            Context=SimpleNamespace(synchronize=lambda: None),
        )
        compiler = ModuleType("pycuda.compiler")
        compiler.__dict__.update(SourceModule=self.compile)
        package = ModuleType("pycuda")
        package.__dict__.update(driver=driver, compiler=compiler)
        return {
            "pycuda": package,
            "pycuda.driver": driver,
            "pycuda.compiler": compiler,
            "pycuda.autoinit": ModuleType("pycuda.autoinit"),
        }

    def mem_alloc(self, size: int) -> np.ndarray[Any, Any]:
        return np.random.default_rng(size).integers(0, 256, size, np.uint8)

    def memcpy_htod(self, pointer: Any, content: Any) -> None:
        pointer[:] = content.view(np.uint8).reshape(-1)

    def memcpy_dtoh(self, content: Any, pointer: Any) -> None:
        content[:] = pointer

    def memset_d8(self, pointer: Any, value: int, size: int) -> None:
        assert pointer.size == size
        pointer[:] = value

    def compile(self, source: str, options: Sequence[str] = (), *, no_extern_c: bool) -> Any:
        assert no_extern_c
        self.sources.append(source)
        text = self.rewrite(source)
        return SimpleNamespace(get_function=lambda entry: _Function(self, text, entry))

    def run(self, kernel: Kernel, memory: dict[str, np.ndarray[Any, Any]]) -> None:
        execution = self.runner.run(kernel, memory, trace=False)
        if execution.problems:
            raise FakeError(execution.problems[0].message)
        for name, content in execution.outputs.items():
            memory[name][:] = content
        if memory:
            self.spoil(list(memory.values())[-1])


class _Function:
    def __init__(self, device: Emulated, text: str, entry: str) -> None:
        self.device, self.text, self.entry = device, text, entry
        self.most_shared = 48 << 10

    def set_attribute(self, attribute: int, value: int) -> None:
        assert attribute == 8
        self.most_shared = value

    def __call__(self, *arguments: Any, block: Any, grid: Any, shared: int) -> None:
        assert shared <= self.most_shared
        memory = {}
        parameters: list[Buffer | Scalar] = []
        for number, argument in enumerate(arguments):
            name = f"p{number}"
            if isinstance(argument, np.ndarray):
                memory[name] = argument
                parameters.append(Buffer(name, "uint8", (argument.size,), "inout"))
            else:
                parameters.append(Scalar(name, argument.dtype.name, argument.item()))
        kernel = Kernel(self.text, self.entry, grid, block, tuple(parameters), shared)
        self.device.run(kernel, memory)


@pytest.fixture
def pycuda(monkeypatch: pytest.MonkeyPatch) -> Emulated:
    """Put a PyCUDA in place whose device is the emulator."""
    fake = Emulated()
    for name, module in fake.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    return fake
