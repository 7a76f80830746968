"""Compiling and running small kernels in the test process."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from tileviz.cuda import nvrtc
from tileviz.cuda.kernel import Buffer, Scalar
from tileviz.emulator import Emulation, emulate


@cache
def _compiled(source: str, arch: str, options: tuple[str, ...]) -> str:
    return nvrtc.compile_ptx(source, arch=arch, options=options).ptx


def _three(extents: Sequence[int] | int) -> tuple[int, int, int]:
    given = (extents,) if isinstance(extents, int) else tuple(extents)
    return (*given, *(1,) * (3 - len(given)))  # type: ignore[return-value]


@pytest.fixture(scope="session")
def compile_cuda() -> Callable[..., str]:
    """Compile CUDA text to PTX; each text once a session."""
    if nvrtc.find() is None:
        pytest.skip("no NVRTC here")

    def run(source: str, arch: str = "compute_80", options: Sequence[str] = ()) -> str:
        return _compiled(source, arch, tuple(options))

    return run


@pytest.fixture(scope="session")
def run_cuda(compile_cuda: Callable[..., str]) -> Callable[..., Emulation]:
    """Run the kernel ``k`` of a CUDA text.

    Arguments by name become parameters in order: an array is an ``inout`` buffer, ``("out", dtype,
    count)`` an output, a NumPy scalar a by-value parameter.
    """

    def run(
        source: str,
        *,
        grid: Sequence[int] | int = 1,
        block: Sequence[int] | int = 32,
        entry: str = "k",
        arch: str = "compute_80",
        options: Sequence[str] = (),
        arguments: Mapping[str, Any],
        **settings: Any,
    ) -> Emulation:
        parameters, arrays = as_parameters(arguments)
        return emulate(
            compile_cuda(source, arch, options),
            source=source,
            entry=entry,
            grid=_three(grid),
            block=_three(block),
            parameters=parameters,
            arrays=arrays,
            **settings,
        )

    return run


@pytest.fixture(scope="session")
def run_ptx() -> Callable[..., Emulation]:
    """Run PTX text, with arguments as for ``run_cuda``."""

    def run(
        ptx: str,
        *,
        grid: Sequence[int] | int = 1,
        block: Sequence[int] | int = 32,
        entry: str = "k",
        source: str = "",
        arguments: Mapping[str, Any],
        **settings: Any,
    ) -> Emulation:
        parameters, arrays = as_parameters(arguments)
        return emulate(
            ptx,
            source=source,
            entry=entry,
            grid=_three(grid),
            block=_three(block),
            parameters=parameters,
            arrays=arrays,
            **settings,
        )

    return run


def as_parameters(
    arguments: Mapping[str, Any],
) -> tuple[list[Buffer | Scalar], dict[str, np.ndarray]]:
    """Turn arguments by name into parameters and arrays."""
    parameters: list[Buffer | Scalar] = []
    arrays = {}
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            role = "inout" if value.flags.writeable else "in"
            parameters.append(Buffer(name, str(value.dtype), (value.size,), role))
            arrays[name] = value
        elif isinstance(value, tuple):
            role, kind, count = value
            parameters.append(Buffer(name, kind, (count,), role))
        else:
            parameters.append(Scalar(name, str(value.dtype), value.item()))
    return parameters, arrays
