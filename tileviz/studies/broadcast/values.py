"""Element types of generated kernels: how values are stored, computed with and rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.dtypes import dtype as dtype_of
from tileviz.studies.broadcast.expressions import Expression
from tileviz.studies.errors import NotRunnable

FLOATS = ("float16", "bfloat16", "float32", "float64")
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
# Relative error of the approximate reciprocal square root, then of one rounding at worst.
_TOLERANCE = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 4e-6, "float64": 1e-14}


@dataclass(frozen=True)
class ValueType:
    """How one element type is computed with.

    Attributes:
        name: The element type.
        storage: Its CUDA type in memory; 16-bit floats travel as their bits.
        compute: The CUDA type of the arithmetic.
        header: The header that converts, or "".
        to_compute: Function from storage to compute, "" where they are the same.
        to_storage: Function back, rounding once.
        array: NumPy type of the arithmetic.
    """

    name: str
    storage: str
    compute: str
    header: str
    to_compute: str
    to_storage: str
    array: str

    @classmethod
    def of(cls, name: str) -> ValueType:
        """Return the value type of an element type.

        Raises:
            NotRunnable: No arithmetic is generated for it.

        Example:
            >>> ValueType.of("bfloat16").storage, ValueType.of("bfloat16").compute
            ('unsigned short', 'float')
        """
        storage = dtype_of(name).cuda
        if name in ("float16", "bfloat16"):
            header = "cuda_fp16.h" if name == "float16" else "cuda_bf16.h"
            return cls(name, storage, "float", header, "to_float", "from_float", "float32")
        if name in ("float32", "float64"):
            return cls(name, storage, storage, "", "", "", name)
        if name in _INTEGERS:
            # Unsigned sums and products wrap, and are the same bits as those of signed values.
            if dtype_of(name).bits == 64:
                return cls(name, storage, "unsigned long long", "", "", "", "uint64")
            return cls(name, storage, "unsigned", "", "", "", "uint32")
        allowed = ", ".join((*FLOATS, *_INTEGERS))
        raise NotRunnable(f"no arithmetic is generated for {name}; kernels compute in {allowed}")

    @property
    def floating(self) -> bool:
        """Whether values are floating-point numbers."""
        return self.name in FLOATS

    def to_value(self, text: str) -> str:
        """Return CUDA text that turns a stored element into a value."""
        return f"{self.to_compute}({text})" if self.to_compute else text

    def to_element(self, text: str) -> str:
        """Return CUDA text that turns a value into a stored element."""
        return f"{self.to_storage}({text})" if self.to_storage else text

    def tolerance(self, expression: Expression) -> float:
        """Return the largest relative error of the output; 0 where the bits must agree."""
        exact = expression.exact and not (self.name == "float64" and "fma" in expression.cuda)
        return 0.0 if exact else _TOLERANCE[self.name]

    def widened(self, flat: NDArray[Any]) -> NDArray[Any]:
        """Return stored elements as values of the arithmetic."""
        if self.name == "bfloat16":
            return (flat.astype(np.uint32) << 16).view(np.float32)
        if self.name in _INTEGERS:
            # Sign extension first, as C++ converts.
            return flat.astype(np.int64).astype(self.array)
        return flat.astype(self.array, copy=False)

    def rounded(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the arithmetic as stored elements."""
        if self.name == "bfloat16":
            bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
            nearest = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
            return np.where(np.isnan(values), np.uint16(0x7FFF), nearest)
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(dtype_of(self.name).numpy, copy=False)
