"""What any device would refuse to launch, found before anything is allocated."""

from __future__ import annotations

import math
import re

from tileviz.cuda.kernel import Buffer, Kernel, Scalar
from tileviz.dtypes import dtype
from tileviz.errors import DesignError

# What a run in the emulator may allocate; a GPU's limit follows its memory.
MAX_BUFFER_BYTES = 512 << 20
MAX_PARAMETERS = 64
MAX_SHARED_BYTES = 227 << 10

_MAX_GRID = (2**31 - 1, 65535, 65535)
_MAX_BLOCK = (1024, 1024, 64)
_MAX_THREADS = 1024
_NAME = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)


def buffer_bytes(buffer: Buffer) -> int:
    """Return the bytes of a buffer's carrier array, computed without overflow."""
    kind = dtype(buffer.dtype)
    return math.prod(buffer.shape) * kind.lanes * kind.numpy.itemsize


def check_launch(kernel: Kernel, *, memory_bytes: int = MAX_BUFFER_BYTES) -> None:
    """Refuse a launch over the limits of a GPU or of this program.

    Args:
        kernel: Its launch and its parameters are looked at.
        memory_bytes: Bytes that all buffers together may take.

    Raises:
        DesignError: Names the field, the value and what is allowed.

    Example:
        >>> check_launch(Kernel("", "k", (1, 1, 1), (2048, 1, 1), ()))
        Traceback (most recent call last):
        tileviz.errors.DesignError: block: 2048 in dimension 0; allowed: 1 to 1024
    """
    if not (isinstance(kernel.entry, str) and _NAME.fullmatch(kernel.entry)):
        raise DesignError("entry", "must be the name of the kernel function", kernel.entry)
    _check_extents("grid", kernel.grid, _MAX_GRID)
    _check_extents("block", kernel.block, _MAX_BLOCK)
    threads = math.prod(kernel.block)
    if threads > _MAX_THREADS:
        raise DesignError("block", f"{threads} threads; at most {_MAX_THREADS}", kernel.block)
    if not 0 <= kernel.shared_bytes <= MAX_SHARED_BYTES:
        message = f"{kernel.shared_bytes} bytes; allowed: 0 to {MAX_SHARED_BYTES}"
        raise DesignError("shared_bytes", message, kernel.shared_bytes)
    if len(kernel.parameters) > MAX_PARAMETERS:
        count = len(kernel.parameters)
        raise DesignError("buffers", f"{count} parameters; at most {MAX_PARAMETERS}", count)
    _check_parameters(kernel, memory_bytes)


def _check_extents(field: str, extents: tuple[int, ...], most: tuple[int, int, int]) -> None:
    if len(extents) != 3:
        raise DesignError(field, "needs three extents x, y, z", extents)
    for axis, (extent, limit) in enumerate(zip(extents, most, strict=True)):
        if not 1 <= extent <= limit:
            message = f"{extent} in dimension {axis}; allowed: 1 to {limit}"
            raise DesignError(field, message, extents)


def _check_parameters(kernel: Kernel, memory_bytes: int) -> None:
    names: set[str] = set()
    total = 0
    for parameter in kernel.parameters:
        field = "scalars" if isinstance(parameter, Scalar) else "buffers"
        if not _NAME.fullmatch(parameter.name):
            raise DesignError(field, "a parameter's name must be an identifier", parameter.name)
        if parameter.name in names:
            raise DesignError(field, "two parameters have this name", parameter.name)
        names.add(parameter.name)
        if isinstance(parameter, Scalar):
            _check_scalar(parameter)
            continue
        if parameter.role not in ("in", "out", "inout"):
            raise DesignError(field, "role must be in, out or inout", parameter.role)
        if any(extent < 0 for extent in parameter.shape):
            raise DesignError(field, "a negative extent", list(parameter.shape))
        total += buffer_bytes(parameter)
        if total > memory_bytes:
            message = (
                f"{total / (1 << 20):.1f} MiB up to {parameter.name!r}; "
                f"all buffers together may take {memory_bytes >> 20} MiB"
            )
            raise DesignError(field, message, list(parameter.shape))


def _check_scalar(scalar: Scalar) -> None:
    kind = dtype(scalar.dtype)
    if kind.lanes != 1 or kind.numpy.itemsize > 8:
        raise DesignError("scalars", "a scalar must be of a plain type", scalar.dtype)
    if isinstance(scalar.value, float) and kind.numpy.kind != "f" and kind.name != "bfloat16":
        raise DesignError("scalars", f"{scalar.name} is {kind.name}: not a float", scalar.value)
    if kind.numpy.kind in "iu" and kind.name != "bfloat16":
        signed = kind.numpy.kind == "i"
        low = -(1 << (kind.numpy.itemsize * 8 - 1)) if signed else 0
        high = (1 << (kind.numpy.itemsize * 8 - signed)) - 1
        if not low <= scalar.value <= high:
            message = f"{scalar.name} is {kind.name}; allowed: {low} to {high}"
            raise DesignError("scalars", message, scalar.value)
