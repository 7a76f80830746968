"""The layout design: one operation on layouts."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import field_validator, model_validator

from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, TileLayout, parse_layout
from tileviz.studies.design import MAX_ELEMENTS, MAX_RANK, Design

Op = Literal["apply", "canonicalize", "group", "slice", "tile", "direct_sum", "span"]
_NEEDS: dict[str, tuple[str, ...]] = {
    "group": ("shape",),
    "slice": ("shape", "region"),
    "tile": ("outer", "outer_shape", "inner_shape"),
    "direct_sum": ("outer", "outer_shape", "inner_shape"),
}
_TAKES: dict[str, tuple[str, ...]] = {
    "apply": ("shape",),
    "canonicalize": ("cuda_target",),
    "slice": ("cuda_target",),
}


def uses(op: str) -> tuple[str, ...]:
    """Return the fields that an operation reads besides the layout, the required ones first.

    Example:
        >>> uses("slice"), uses("span")
        (('shape', 'region', 'cuda_target'), ())
    """
    return (*_NEEDS.get(op, ()), *_TAKES.get(op, ()))


class LayoutDesign(Design):
    """One operation on a layout.

    Attributes:
        op: ``apply`` (address of every element), ``canonicalize``, ``group`` (by ``shape``),
            ``slice`` (``region`` of a buffer of ``shape``), ``tile`` and ``direct_sum`` (the
            layout is the inner one), or ``span``.
        cuda_target: Whether canonicalize and slice fuse thread axes.
        dtype: What an element is; it decides bytes and banks, never addresses.
    """

    study: Literal["layout"] = "layout"
    op: Op = "apply"
    layout: str
    shape: tuple[int, ...] | None = None
    region: tuple[tuple[int, int], ...] | None = None
    outer: str | None = None
    outer_shape: tuple[int, ...] | None = None
    inner_shape: tuple[int, ...] | None = None
    cuda_target: bool = False
    dtype: str = "float32"

    @field_validator("dtype")
    @classmethod
    def _dtype_name(cls, name: str) -> str:
        try:
            found = dtype_of(name)
        except DesignError as error:
            raise DesignError("", error.message, name) from None
        if found.bits % 8:
            raise DesignError("", "needs a dtype of whole bytes", name)
        return name

    @field_validator("layout", "outer")
    @classmethod
    def _layout_text(cls, text: str | None) -> str | None:
        if text is not None:
            try:
                parse_layout(text)
            except DesignError as error:
                raise DesignError("", error.message, text, position=error.position) from None
        return text

    @field_validator("shape", "outer_shape", "inner_shape")
    @classmethod
    def _within_limits(cls, shape: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if shape is None:
            return shape
        if len(shape) > MAX_RANK:
            raise DesignError("", f"needs at most {MAX_RANK} dimensions", list(shape))
        if any(extent < 1 for extent in shape) or math.prod(shape) > MAX_ELEMENTS:
            allowed = f"extents must be 1 or more, {MAX_ELEMENTS} elements at most in all"
            raise DesignError("", allowed, list(shape))
        return shape

    @model_validator(mode="after")
    def _complete(self) -> LayoutDesign:
        for name in _NEEDS.get(self.op, ()):
            if getattr(self, name) is None:
                raise DesignError(name, f"{self.op} needs this field", None)
        if self.region is not None and self.shape is not None:
            if len(self.region) != len(self.shape):
                message = f"needs one [begin, end) for each of {len(self.shape)} dimensions"
                raise DesignError("region", message, len(self.region))
            for dim, ((begin, end), extent) in enumerate(zip(self.region, self.shape, strict=True)):
                if not 0 <= begin < end <= extent:
                    allowed = f"0 <= begin < end <= {extent} is allowed"
                    raise DesignError(f"region.{dim}", allowed, [begin, end])
        return self

    @property
    def parsed(self) -> TileLayout | ComposeLayout:
        """The layout as an object."""
        return parse_layout(self.layout)

    @property
    def element_bytes(self) -> int:
        """Bytes of one element."""
        return dtype_of(self.dtype).bytes
