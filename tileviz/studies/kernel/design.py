"""The kernel design: a user's own CUDA text, its launch and its parameters."""

from __future__ import annotations

import math
import re
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tileviz.cuda.includes import check_source
from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.studies.design import MAX_RANK, Design, shown

MAX_SOURCE = 1 << 16
MAX_PARAMETERS = 64
MAX_BUFFER_ELEMENTS = 1 << 28
MAX_THREADS = 1024
_NAME = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)
_SCALARS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_FLOATS = ("float32", "float64")


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise DesignError("", "must be a C name of up to 100 characters", value)
    return value


class BufferDesign(BaseModel):
    """One pointer parameter: name, element type, extents, and ``in``, ``out`` or ``inout``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    dtype: str = "float32"
    shape: tuple[int, ...]
    role: Literal["in", "out", "inout"] = "in"

    _checked_name = field_validator("name")(_name)

    @field_validator("dtype")
    @classmethod
    def _whole_bytes(cls, name: str) -> str:
        try:
            if dtype_of(name).bytes:
                return name
        except DesignError as error:
            raise DesignError("", error.message, name) from None
        raise DesignError("", "needs a dtype of whole bytes", name)

    @field_validator("shape", mode="before")
    @classmethod
    def _one_extent(cls, value: Any) -> Any:
        return [value] if isinstance(value, int) else value

    @field_validator("shape")
    @classmethod
    def _within_limits(cls, shape: tuple[int, ...]) -> tuple[int, ...]:
        if not 1 <= len(shape) <= MAX_RANK or min(shape) < 1:
            raise DesignError("", f"needs 1 to {MAX_RANK} extents of 1 or more", list(shape))
        if math.prod(shape) > MAX_BUFFER_ELEMENTS:
            raise DesignError("", f"at most {MAX_BUFFER_ELEMENTS} elements", list(shape))
        return shape


class ScalarDesign(BaseModel):
    """One by-value parameter: name, element type and value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    dtype: Literal[
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float32",
        "float64",
    ] = "int32"
    value: int | float

    _checked_name = field_validator("name")(_name)

    @model_validator(mode="after")
    def _fits(self) -> ScalarDesign:
        if self.dtype in _FLOATS:
            most = float(np.finfo(self.dtype).max)
            if not -most <= self.value <= most:
                allowed = f"must be a finite number that {self.dtype} holds"
                raise DesignError("value", allowed, shown(self.value))
            return self
        bits = int(self.dtype.lstrip("uint"))
        signed = not self.dtype.startswith("u")
        low = -(1 << (bits - 1)) if signed else 0
        high = (1 << (bits - signed)) - 1
        if not isinstance(self.value, int) or not low <= self.value <= high:
            allowed = f"must be a whole number from {low} to {high}"
            raise DesignError("value", allowed, self.value)
        return self


class KernelDesign(Design):
    """A user's own kernel.

    Attributes:
        source: CUDA C++ text; headers of an allow-list only.
        entry: Name of the ``extern "C" __global__`` function.
        grid: Blocks in x, y, z; missing ones are 1. Likewise ``block``, in threads.
        buffers: Pointer parameters.
        scalars: By-value parameters.
        order: Names of all parameters in the order of the signature; by default buffers come
            first, then scalars.
        shared_bytes: Dynamic shared memory per block.
    """

    study: Literal["kernel"] = "kernel"
    source: str = Field(max_length=MAX_SOURCE)
    entry: str
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (32, 1, 1)
    buffers: tuple[BufferDesign, ...] = Field(default=(), max_length=MAX_PARAMETERS)
    scalars: tuple[ScalarDesign, ...] = Field(default=(), max_length=MAX_PARAMETERS)
    order: tuple[str, ...] | None = None
    shared_bytes: int = Field(default=0, ge=0, le=227 * 1024)

    _checked_entry = field_validator("entry")(_name)

    @field_validator("grid", "block", mode="before")
    @classmethod
    def _three(cls, value: Any) -> Any:
        values = [value] if isinstance(value, int) else value
        if not isinstance(values, (list, tuple)) or not 1 <= len(values) <= 3:
            raise DesignError("", "one to three whole numbers are expected", shown(value))
        return [*values, 1, 1][:3]

    @field_validator("grid")
    @classmethod
    def _grid(cls, grid: tuple[int, int, int]) -> tuple[int, int, int]:
        if min(grid) < 1 or grid[0] >= 1 << 31 or max(grid[1:]) > 65535:
            raise DesignError("", "x must be 1 to 2147483647, y and z 1 to 65535", list(grid))
        return grid

    @field_validator("block")
    @classmethod
    def _block(cls, block: tuple[int, int, int]) -> tuple[int, int, int]:
        if min(block) < 1 or block[2] > 64 or math.prod(block) > MAX_THREADS:
            message = f"must be 1 or more, z at most 64, {MAX_THREADS} threads in all"
            raise DesignError("", message, list(block))
        return block

    @field_validator("source")
    @classmethod
    def _source(cls, source: str) -> str:
        try:
            check_source(source)
        except DesignError as error:
            raise DesignError("", error.message, error.value) from None
        return source

    @model_validator(mode="after")
    def _ordered(self) -> KernelDesign:
        names = [b.name for b in self.buffers] + [s.name for s in self.scalars]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise DesignError("buffers", "parameter names must differ", twice)
        if self.order is not None and sorted(self.order) != sorted(names):
            raise DesignError(
                "order", f"must name each of {', '.join(names)} once", list(self.order)
            )
        return self
