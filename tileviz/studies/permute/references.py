"""The move of a permute without a GPU: in NumPy, in C++ and as the text of a Python script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tileviz.cuda.kernel import Array, Reference
from tileviz.cuda.templates import render
from tileviz.dtypes import DType
from tileviz.studies.permute.geometry import Geometry

# Positions listed in an exported program's check, where layouts have no strides to print.
_MAX_LISTED = 1 << 14


@dataclass(frozen=True, eq=False)
class Move:
    """What moves where: stage after stage, every element of a stage read before any is written.

    Attributes:
        placed: Where the elements lie.
        in_place: Whether source and destination are one buffer.
        element: Their type.
    """

    placed: Geometry
    in_place: bool
    element: DType

    def numpy(self) -> Reference:
        """Return the move as a function of arrays."""
        placed, in_place, lanes = self.placed, self.in_place, self.element.lanes

        def move(inputs: Mapping[str, Array]) -> dict[str, Array]:
            source = inputs["data" if in_place else "src"].reshape(-1, lanes)
            if in_place or "dst" in inputs:
                target = inputs["data" if in_place else "dst"].reshape(-1, lanes).copy()
            else:
                target = np.empty((placed.dst.span, lanes), source.dtype)
            origin = target if in_place else source
            for read, write in zip(placed.src.positions, placed.dst.positions, strict=True):
                target[write] = origin[read]
            return {"data" if in_place else "dst": target.reshape(-1)}

        return move

    def text(self, template: str) -> str:
        """Return the move straight from both layouts, as text; "" where it would be too long.

        Args:
            template: ``permute_reference.cpp.jinja`` or ``permute_reference.py.jinja``.
        """
        placed = self.placed
        tables: list[list[int]] = []
        if placed.src.strides is None or placed.dst.strides is None:
            if placed.src.positions.size > _MAX_LISTED:
                return ""
            tables = [side.positions.ravel().tolist() for side in (placed.src, placed.dst)]
        return render(
            template,
            extents=placed.extents,
            src=placed.src,
            dst=placed.dst,
            tables=tables,
            volume=placed.src.positions.shape[1],
            stages=len(placed.src.positions),
            width=self.element.bytes,
            in_place=self.in_place,
        ).source
