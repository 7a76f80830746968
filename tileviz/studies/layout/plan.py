"""The layout plan: the result of one operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.layouts import (
    ComposeLayout,
    LayoutError,
    TileLayout,
    canonicalize,
    direct_sum,
    group,
    parse_layout,
    slice_layout,
    tile,
)
from tileviz.studies.layout.design import LayoutDesign

Layout = TileLayout | ComposeLayout


@dataclass(frozen=True, eq=False)
class LayoutPlan:
    """What an operation gives.

    Attributes:
        design: The design.
        result: The resulting layout; None where the operation gives none.
        reason: Why there is no result.
        table: For ``apply``: the address of every element per axis, int64 in row-major order.
        value: For ``span``: the span of each axis, in elements.
        separators: For ``group``: where each dimension's iters begin.
    """

    design: LayoutDesign
    result: Layout | None = None
    reason: str | None = None
    table: dict[str, NDArray[np.int64]] | None = None
    value: dict[str, int] | None = None
    separators: tuple[int, ...] | None = field(default=None)

    @property
    def operand(self) -> Layout:
        """The layout that was operated on."""
        return self.design.parsed

    @property
    def makes_another(self) -> bool:
        """Whether the result is a layout of its own, rather than a table or numbers."""
        return self.result is not None and self.design.op not in ("apply", "span")

    @property
    def operand_shape(self) -> tuple[int, ...]:
        """The logical shape that the operand is seen in, at least one dimension."""
        design = self.design
        given = {"tile": design.inner_shape, "direct_sum": design.inner_shape}
        shape = given.get(design.op, design.shape if design.op in ("apply", "slice") else None)
        fits = shape is not None and prod(shape) == self.operand.size
        return (shape if shape is not None and fits else self.operand.extents) or (1,)

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The logical shape of the result; the operand's where the operation keeps it.

        Example:
            >>> from tileviz.studies.design import validated
            >>> part = {"op": "slice", "layout": "S[32:1]", "shape": [4, 8],
            ...         "region": [[1, 3], [0, 8]]}
            >>> plan(validated(LayoutDesign, part)).result_shape
            (2, 8)
        """
        design = self.design
        shape: tuple[int, ...] | None = self.operand_shape
        if design.op == "group":
            shape = design.shape
        elif design.op == "slice":
            shape = tuple(end - begin for begin, end in design.region or ())
        elif design.op in ("tile", "direct_sum"):
            pairs = zip(design.outer_shape or (), design.inner_shape or (), strict=False)
            shape = tuple(outer * inner for outer, inner in pairs)
        if self.result is None or prod(shape or ()) == self.result.size:
            return shape or (1,)
        return self.result.extents or (1,)

    @property
    def region_elements(self) -> NDArray[np.bool_] | None:
        """Which of the operand's elements a slice keeps, counted row by row; None otherwise."""
        design = self.design
        if design.op != "slice" or design.region is None or design.shape != self.operand_shape:
            return None
        kept = np.zeros(self.operand_shape, dtype=bool)
        kept[tuple(slice(begin, end) for begin, end in design.region)] = True
        return kept.ravel()

    def to_json(self) -> dict[str, Any]:
        """Return the ``layout`` object of the results."""
        document: dict[str, Any] = {
            "study": "layout",
            "result": None if self.result is None else self.result.to_json(),
        }
        if self.reason is not None:
            document["reason"] = self.reason
        if self.table is not None:
            document["table"] = {axis: places.tolist() for axis, places in self.table.items()}
        if self.value is not None:
            document["value"] = self.value
        if self.separators is not None:
            document["separators"] = list(self.separators)
        return document


def plan(design: LayoutDesign) -> LayoutPlan:
    """Carry out a layout operation by the reference's rules.

    Where the reference raises or gives None, the plan has no result and says why.

    Example:
        >>> from tileviz.studies.design import validated
        >>> fused = validated(LayoutDesign, {"op": "canonicalize", "layout": "S[(4, 32):(32, 1)]"})
        >>> print(plan(fused).result)
        S[128:1]
    """
    layout = parse_layout(design.layout)
    try:
        return _OPERATIONS[design.op](design, layout)
    except LayoutError as error:
        return LayoutPlan(design, reason=str(error))


def _apply(design: LayoutDesign, layout: Layout) -> LayoutPlan:
    if design.shape is not None and int(np.prod(design.shape)) != layout.size:
        message = f"the shape has {int(np.prod(design.shape))} elements, the layout {layout.size}"
        return LayoutPlan(design, reason=message)
    table = {axis: places.ravel() for axis, places in layout.table().items()}
    return LayoutPlan(design, layout, table=table)


def _canonicalize(design: LayoutDesign, layout: Layout) -> LayoutPlan:
    return LayoutPlan(design, canonicalize(layout, design.cuda_target))


def _group(design: LayoutDesign, layout: Layout) -> LayoutPlan:
    if isinstance(layout, ComposeLayout):
        return LayoutPlan(design, reason="a swizzled layout cannot be grouped; group its tile")
    grouped, separators = group(layout, design.shape or ())
    return LayoutPlan(design, grouped, separators=tuple(separators))


def _slice(design: LayoutDesign, layout: Layout) -> LayoutPlan:
    part = slice_layout(layout, design.shape or (), design.region or (), design.cuda_target)
    if part is None:
        return LayoutPlan(design, reason="this region cannot be expressed as a layout")
    return LayoutPlan(design, part)


def _combined(operation: Callable[..., Layout]) -> Callable[[LayoutDesign, Layout], LayoutPlan]:
    def run(design: LayoutDesign, layout: Layout) -> LayoutPlan:
        outer = parse_layout(design.outer or "")
        if isinstance(outer, ComposeLayout):
            return LayoutPlan(design, reason="the outer layout must be a plain tile layout")
        return LayoutPlan(
            design, operation(layout, outer, design.outer_shape or (), design.inner_shape or ())
        )

    return run


def _span(design: LayoutDesign, layout: Layout) -> LayoutPlan:
    base = layout.tile if isinstance(layout, ComposeLayout) else layout
    if isinstance(layout, ComposeLayout):
        return LayoutPlan(design, layout, value={"m": layout.span()})
    return LayoutPlan(design, layout, value={axis: base.span(axis) for axis in base.axes})


_OPERATIONS: dict[str, Callable[[LayoutDesign, Layout], LayoutPlan]] = {
    "apply": _apply,
    "canonicalize": _canonicalize,
    "group": _group,
    "slice": _slice,
    "tile": _combined(tile),
    "direct_sum": _combined(direct_sum),
    "span": _span,
}
