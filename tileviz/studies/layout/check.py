"""Whether the layout that an operation gave does what the operation promises, element by element.

The operations work on a handful of digits by the reference's rules; here every element is looked
at. In one known case (a carry through several digits) the reference's slice is not the region.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from tileviz.layouts import (
    ComposeLayout,
    IntArray,
    TileLayout,
    canonicalize,
    identity,
    parse_layout,
    region_addresses,
    scope_of,
)
from tileviz.layouts.axes import fusion
from tileviz.studies.layout.design import LayoutDesign
from tileviz.studies.layout.grid import Layout, coordinates

Addresses = dict[str, IntArray]

MAX_CHECKED = 1 << 20


def keeps_promise(design: LayoutDesign, result: Layout) -> bool | None:
    """Return whether every element of a result lies where the operation says.

    ``canonicalize`` and ``group`` keep every address, ``slice`` those of the region, ``tile`` and
    ``direct_sum`` give the outer layout's place (times the inner span) plus the inner one's.

    Args:
        design: The operation.
        result: What it gave.

    Returns:
        None where there is nothing to check, or more than 1,048,576 elements.

    Example:
        >>> from tileviz.studies.design import validated
        >>> carry = validated(LayoutDesign, {
        ...     "op": "slice", "layout": "S[(3, 2, 4):(100, 7, 1)]", "shape": [24],
        ...     "region": [[7, 9]]})
        >>> keeps_promise(carry, parse_layout("S[(2, 1):(4, 1)] + 10"))  # the reference's answer
        False
    """
    wanted = promised(design, result.size)
    return None if wanted is None else _equal(wanted, result.table())


def promised(design: LayoutDesign, size: int) -> Addresses | None:
    """Return where every element of a result must lie, per axis in row-major order.

    Args:
        design: The operation.
        size: Elements of its result.

    Returns:
        None where the operation promises nothing, or for more than 1,048,576 elements.

    Example:
        >>> from tileviz.studies.design import validated
        >>> row = validated(LayoutDesign, {"op": "slice", "layout": "S[(4, 8):(8, 1)]",
        ...     "shape": [4, 8], "region": [[1, 2], [4, 8]]})
        >>> promised(row, 4)["m"].tolist()
        [12, 13, 14, 15]
    """
    wanted = _PROMISES.get(design.op)
    return None if wanted is None or size > MAX_CHECKED else wanted(design)


def _equal(one: Mapping[str, IntArray], other: Mapping[str, IntArray]) -> bool:
    """Return whether two tables agree; an axis that one lacks is at 0 there."""
    nowhere = np.zeros(1, dtype=np.int64)
    return all(
        bool((one.get(axis, nowhere) == other.get(axis, nowhere)).all())
        for axis in {**one, **other}
    )


def _fused(design: LayoutDesign, layout: Layout, table: Addresses) -> Addresses:
    """Return a table with the thread axes fused as the CUDA target fuses them."""
    if not design.cuda_target or isinstance(layout, ComposeLayout):
        return table
    names = fusion(scope_of(canonicalize(layout)))
    fused: Addresses = {}
    for axis, places in table.items():
        name, factor = names.get(axis, (axis, 1))
        fused[name] = np.asarray(fused.get(name, 0) + places * factor, dtype=np.int64)
    return fused


def _kept(design: LayoutDesign) -> Addresses:
    layout = parse_layout(design.layout)
    return _fused(design, layout, layout.table())


def _region(design: LayoutDesign) -> Addresses:
    layout = parse_layout(design.layout)
    shape, region = design.shape or (), design.region or ()
    base: Layout = layout
    if isinstance(layout, ComposeLayout) and layout.is_bare:
        base = ComposeLayout(layout.swizzle, identity(shape))
    found = region_addresses(base, shape, region)
    count = prod(end - begin for begin, end in region)
    flat = {
        axis: np.broadcast_to(places, (count,)) if places.ndim == 0 else places.ravel()
        for axis, places in found.items()
    }
    return _fused(design, layout, flat)


def _combined(design: LayoutDesign, scale: bool) -> Addresses:
    layout = parse_layout(design.layout)
    outer = parse_layout(design.outer or "")
    outer_shape, inner_shape = design.outer_shape or (), design.inner_shape or ()
    inner = layout
    if isinstance(layout, ComposeLayout):
        inner = identity(inner_shape) if layout.is_bare else layout.tile
    assert isinstance(inner, TileLayout) and isinstance(outer, TileLayout)
    shape = tuple(o * i for o, i in zip(outer_shape, inner_shape, strict=True))
    point = coordinates(np.arange(prod(shape)), shape)
    tiles = outer.apply(_columns(point // inner_shape), outer_shape)
    within = inner.apply(_columns(point % inner_shape), inner_shape)
    reduced = canonicalize(inner)
    axes = {item.axis for item in reduced.shard}
    total: Addresses = dict(within)
    for axis, places in tiles.items():
        step = reduced.span(axis) if scale and axis in axes else 1
        moved = (places - outer.offset_on(axis)) * step + outer.offset_on(axis)
        total[axis] = np.asarray(total.get(axis, 0) + moved, dtype=np.int64)
    if isinstance(layout, ComposeLayout):
        return {"m": layout.swizzle.apply(total.get("m", np.zeros(len(point), dtype=np.int64)))}
    return total


def _columns(points: IntArray) -> tuple[IntArray, ...]:
    return tuple(points.T)


_PROMISES: dict[str, Callable[[LayoutDesign], Addresses]] = {
    "canonicalize": _kept,
    "group": _kept,
    "slice": _region,
    "tile": lambda design: _combined(design, scale=True),
    "direct_sum": lambda design: _combined(design, scale=False),
}
