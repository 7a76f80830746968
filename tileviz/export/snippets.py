"""Exports that stand alone: the executed kernel text inside a program that checks itself."""

from __future__ import annotations

from dataclasses import dataclass

from tileviz.cuda.kernel import Buffer, Kernel, Scalar
from tileviz.cuda.templates import render
from tileviz.dtypes import dtype as dtype_of

# Bits of a float's mantissa, and the exponent that makes it a number from 0.5 to 1.
_NUMBERS = {
    "float16": ("0x03FF", "0x3800"),
    "bfloat16": ("0x007F", "0x3F00"),
    "float32": ("0x007FFFFFu", "0x3F000000u"),
    "float64": ("0x000FFFFFFFFFFFFFull", "0x3FE0000000000000ull"),
}


@dataclass(frozen=True)
class _HostBuffer:
    """A buffer as the host program sees it."""

    name: str
    type: str
    role: str
    count: int
    width: int
    bytes: int
    number: tuple[str, str] | None

    @classmethod
    def of(cls, buffer: Buffer) -> _HostBuffer:
        kind = dtype_of(buffer.dtype)
        size = buffer.count * kind.bytes
        number = _NUMBERS.get(buffer.dtype)
        return cls(buffer.name, kind.cuda, buffer.role, buffer.count, kind.bytes, size, number)


def standalone_cu(kernel: Kernel) -> str:
    """Return one .cu file: the kernel byte for byte, host code, and a check of every element.

    Args:
        kernel: A kernel with one output and a host reference.

    Raises:
        ValueError: The kernel has no host reference, or scalar parameters.

    Example:
        >>> from tileviz import api
        >>> from tileviz.studies.registry import preset
        >>> demo = api.kernel(preset("permute-demo").design)
        >>> demo.source in standalone_cu(demo)
        True
    """
    if not kernel.host_reference or any(isinstance(p, Scalar) for p in kernel.parameters):
        raise ValueError("only a kernel with a host reference and no scalars stands alone")
    buffers = [_HostBuffer.of(buffer) for buffer in kernel.buffers]
    (target,) = [buffer for buffer in buffers if buffer.role != "in"]
    inputs = [f"{buffer.name}_bytes" for buffer in buffers if buffer.role == "in"]
    return render(
        "standalone.cu.jinja",
        kernel=kernel.source,
        entry=kernel.entry,
        host_reference=kernel.host_reference,
        buffers=buffers,
        target=target,
        reference_arguments=", ".join([*inputs, "want"]),
        grid=kernel.grid,
        block=kernel.block,
        shared_bytes=kernel.shared_bytes,
        tolerance=kernel.tolerance,
        numbers=any(buffer.number for buffer in buffers),
        kind={"float16": (10, 15), "bfloat16": (7, 127)}.get(_target_dtype(kernel)),
    ).source


def _target_dtype(kernel: Kernel) -> str:
    return next(buffer.dtype for buffer in kernel.buffers if buffer.role != "in")
