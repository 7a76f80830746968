"""Element types: their tileviz name, width, NumPy carrier and CUDA spelling.

Types that NumPy lacks (bfloat16, the 8-bit floats, uint128) travel as unsigned integers of the same
width: every study here either moves bits, or converts explicitly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tileviz.errors import DesignError


@dataclass(frozen=True)
class DType:
    """One element type.

    Attributes:
        name: NumPy's name where there is one, else the field's.
        bits: Width of one element.
        carrier: NumPy dtype of one lane of the carrier.
        lanes: Carrier elements per element (4 for float32x4; 2 for uint128 over uint64).
        cuda: A CUDA C++ type of that width which needs no header and moves the bits unchanged.
    """

    name: str
    bits: int
    carrier: str
    lanes: int
    cuda: str

    @property
    def bytes(self) -> int:
        """Bytes per element, rounded down (0 for sub-byte types)."""
        return self.bits // 8

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The carrier as a NumPy dtype."""
        return np.dtype(self.carrier)


# Header-free CUDA types: they move the bits of every type of that width unchanged.
_MOVER = {
    8: "unsigned char",
    16: "unsigned short",
    32: "unsigned int",
    64: "unsigned long long",
    128: "uint4",
}

_SCALARS: dict[str, tuple[int, str, int, str]] = {
    "int8": (8, "int8", 1, "signed char"),
    "uint8": (8, "uint8", 1, "unsigned char"),
    "bool": (8, "uint8", 1, "unsigned char"),
    "float8_e4m3fn": (8, "uint8", 1, _MOVER[8]),
    "float8_e5m2": (8, "uint8", 1, _MOVER[8]),
    "float4_e2m1fn": (4, "uint8", 1, _MOVER[8]),
    "int16": (16, "int16", 1, "short"),
    "uint16": (16, "uint16", 1, "unsigned short"),
    "float16": (16, "float16", 1, _MOVER[16]),
    "bfloat16": (16, "uint16", 1, _MOVER[16]),
    "int32": (32, "int32", 1, "int"),
    "uint32": (32, "uint32", 1, "unsigned int"),
    "float32": (32, "float32", 1, "float"),
    "int64": (64, "int64", 1, "long long"),
    "uint64": (64, "uint64", 1, "unsigned long long"),
    "float64": (64, "float64", 1, "double"),
    "uint128": (128, "uint64", 2, _MOVER[128]),
}

_VECTOR_CUDA = {"float32": "float", "int32": "int", "uint32": "uint", "float64": "double"}

NAMES: tuple[str, ...] = tuple(_SCALARS)


def dtype(name: str) -> DType:
    """Return the element type called ``name``, such as ``float32`` or ``float32x4``.

    Raises:
        DesignError: The name is unknown; the message lists the known ones.

    Example:
        >>> dtype("float32x4").bytes, dtype("float32x4").cuda, dtype("bfloat16").carrier
        (16, 'float4', 'uint16')
    """
    if name in _SCALARS:
        return DType(name, *_SCALARS[name])
    match = re.fullmatch(r"(\w+?)x([1-9]\d?)", name, re.ASCII) if isinstance(name, str) else None
    if match and match[1] in _SCALARS and int(match[2]) in (2, 3, 4, 8, 16, 32):
        base, count = dtype(match[1]), int(match[2])
        bits = base.bits * count
        native = _VECTOR_CUDA.get(base.name)
        cuda = f"{native}{count}" if native and count <= 4 else _MOVER.get(bits, "")
        return DType(name, bits, base.carrier, count * base.lanes, cuda)
    allowed = ", ".join(NAMES) + ", or a vector of one such as float32x4"
    raise DesignError("dtype", f"unknown dtype; allowed: {allowed}", name)
