"""A kernel's parameter block, and whether what is given fits what the compiled text takes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tileviz.cuda.kernel import Buffer, Scalar
from tileviz.dtypes import dtype
from tileviz.runners.gpu.device import Argument, Pointer, Value

_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.(?P<type>[a-z]+)(?P<bits>\d+)(?:\s+\.ptr[^,)]*?)?\s+[\w$]+"
    r"(?:\[(?P<count>\d+)\])?"
)
_POINTER_BYTES = 8


def pack(arguments: Sequence[Argument]) -> bytes:
    """Return the parameter block: every argument at a multiple of its own size.

    Example:
        >>> pack([Value("int32", 1), Pointer(512, 8)]).hex()
        '01000000000000000002000000000000'
    """
    block = bytearray()
    for argument in arguments:
        if isinstance(argument, Pointer):
            raw = argument.address.to_bytes(_POINTER_BYTES, "little")
        else:
            raw = np.array(argument.value).astype(argument.dtype, casting="unsafe").tobytes()
        block += bytes(-len(block) % len(raw))
        block += raw
    return bytes(block)


def value_of(scalar: Scalar) -> Value:
    """Return a scalar parameter as an argument, in the carrier of its type."""
    return Value(dtype(scalar.dtype).numpy.name, scalar.value)


def parameter_sizes(ptx: str, entry: str) -> list[int] | None:
    """Return the bytes of each parameter of a kernel in PTX text; None where it is not found.

    Example:
        >>> parameter_sizes(".visible .entry k(.param .u64 k_0, .param .f32 k_1)\\n{", "k")
        [8, 4]
    """
    found = re.search(rf"\.entry\s+{re.escape(entry)}\s*\(([^)]*)\)", ptx)
    if found is None:
        return [] if re.search(rf"\.entry\s+{re.escape(entry)}\s*[\{{.\n]", ptx) else None
    return [
        int(match["bits"]) // 8 * int(match["count"] or 1)
        for match in _PARAMETER.finditer(found[1])
    ]


def misfit(ptx: str, entry: str, parameters: Sequence[Buffer | Scalar]) -> str | None:
    """Return why the parameters do not fit the compiled kernel, or None where they do.

    A driver takes a parameter block of any content: a kernel with too few would read garbage.

    Example:
        >>> misfit(".entry k(.param .u64 k_0)\\n{", "k", [Scalar("n", "int32", 1)])
        'n is int32, but the kernel takes 8 bytes there'
    """
    sizes = parameter_sizes(ptx, entry)
    if sizes is None:
        return f"no kernel named {entry} in the compiled text"
    if len(sizes) != len(parameters):
        return f"{entry} takes {len(sizes)} parameters, {len(parameters)} given"
    for parameter, size in zip(parameters, sizes, strict=True):
        if isinstance(parameter, Buffer):
            if size != _POINTER_BYTES:
                return f"{parameter.name} is a buffer, but the kernel takes {size} bytes there"
        elif dtype(parameter.dtype).numpy.itemsize != size:
            return f"{parameter.name} is {parameter.dtype}, but the kernel takes {size} bytes there"
    return None
