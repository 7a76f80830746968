"""Pictures of a layout as grids: where each element lives, by its logical coordinate.

``physical.py`` has the other direction, from addresses back to elements. Both give a ``Grid``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tileviz.layouts import AXES, ComposeLayout, IntArray, LayoutError, TileLayout, group
from tileviz.layouts.addressing import unflatten
from tileviz.memory import BANK_BYTES, BANKS

Layout = TileLayout | ComposeLayout

# A browser takes seconds to paint more cells, or more numbers in them.
MAX_CELLS = 16_384
MAX_NUMBERED = 1_024
# What a cell holds where it holds no element: a gap between addresses, or no address at all.
IDLE = -1
OUTSIDE = -2

# Shorter pictures fit on a screen.
_LONG = 64
# The axis whose numbers run across a picture, the first of these that a layout has.
_ACROSS = ("laneid", "tid_in_wg", "tx", "TCol")


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells of one picture of a layout; arrays are int64 ``[row, column]``.

    Attributes:
        kind: ``logical`` (one cell an element) or ``physical`` (one cell an address).
        shape: The logical shape.
        axes: The axes of an address; the first is the one that runs across.
        element: The element in each cell, counted row by row; ``IDLE`` or ``OUTSIDE`` where there
            is none, the first where several share the address.
        other: The next element at the same address, -1 where there is none.
        meets: How many elements the cell holds.
        address: The address of each cell, ``[row, column, axis]``, in elements.
        rows: Label of each row; likewise ``columns``.
        row_lines: Rows that start behind a thick line; likewise ``column_lines``.
        left_out: Elements (in the physical picture: copies of elements) that are not drawn.
        copies: Copies of each element that the layout has.
        element_bytes: Bytes of one element.
        note: What rows and columns are, in a few words.
    """

    kind: Literal["logical", "physical"]
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    element: IntArray
    other: IntArray
    meets: IntArray
    address: IntArray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_lines: tuple[int, ...]
    column_lines: tuple[int, ...]
    left_out: int
    copies: int
    element_bytes: int
    note: str

    @property
    def in_memory(self) -> bool:
        """Whether addresses are plain memory, so that they have bytes and banks."""
        return self.axes == ("m",)

    @property
    def byte(self) -> IntArray:
        """First byte of each cell; of use where ``in_memory``."""
        return np.asarray(self.address[:, :, 0] * self.element_bytes, dtype=np.int64)

    @property
    def bank(self) -> IntArray:
        """First bank of each cell, were the layout in shared memory from address 0."""
        return np.asarray(self.byte // BANK_BYTES % BANKS, dtype=np.int64)

    @property
    def coordinate(self) -> IntArray:
        """Coordinate of each cell's element, ``[row, column, dimension]``; 0 without one."""
        return coordinates(self.element, self.shape)

    def holds(self, elements: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which cells hold one of some elements.

        Args:
            elements: Which elements, bool of the layout's size, counted row by row.
        """
        inside = (self.element >= 0) & (self.element < elements.size)
        first = inside & elements[np.clip(self.element, 0, elements.size - 1)]
        second = (self.other >= 0) & elements[np.clip(self.other, 0, elements.size - 1)]
        return np.asarray(first | second)


def coordinates(elements: IntArray, shape: Sequence[int]) -> IntArray:
    """Return the coordinate of each element as a last axis; negative numbers count as 0.

    Example:
        >>> coordinates(np.array([5, 37]), (4, 32)).tolist()
        [[0, 5], [1, 5]]
    """
    parts = np.unravel_index(np.clip(elements, 0, prod(shape) - 1), tuple(shape))
    return np.stack(parts, axis=-1).astype(np.int64)


def axes_of(layout: Layout) -> tuple[str, ...]:
    """Return every axis of a layout's addresses, copies included, the one across first.

    Example:
        >>> axes_of(TileLayout([(8, 4, "laneid"), (2, 1, "m")], replica=[(2, 1, "warpid")]))
        ('laneid', 'warpid', 'm')
    """
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    found = dict.fromkeys([*tile.axes, *(item.axis for item in tile.replica)])
    if not found:
        return ("m",)
    threads = [name for name in found if AXES[name].thread]
    first = next((name for name in (*_ACROSS, *threads, *found) if name in found), "m")
    rest = [name for name in found if name != first]
    # Memory last, so that the registers of one thread stay together.
    return (first, *sorted(rest, key=lambda name: not AXES[name].thread))


def logical_grid(
    layout: Layout,
    shape: Sequence[int] | None = None,
    *,
    element_bytes: int = 4,
    max_columns: int = 32,
    block: Sequence[int] | None = None,
) -> Grid:
    """Return one cell an element, in logical order, at most ``MAX_CELLS`` of them.

    Args:
        layout: The layout.
        shape: The logical shape; None takes the shard's extents.
        element_bytes: Bytes of one element.
        max_columns: Longer rows are folded.
        block: Where thick lines go: the inner extent of each dimension; None finds it from the
            layout's own digits.

    Raises:
        LayoutError: The shape has another size than the layout, or an address leaves 62 bits.

    Example:
        >>> grid = logical_grid(TileLayout([(2, 33, "m"), (4, 1, "m")]))
        >>> grid.address[:, :, 0].tolist(), grid.note
        ([[0, 1, 2, 3], [33, 34, 35, 36]], 'rows: dim 0, columns: dim 1')
    """
    shape = checked_shape(layout, shape)
    columns = _folded(shape, max_columns)
    drawn = min(layout.size, max(MAX_CELLS // columns, 1) * columns)
    rows = -(-drawn // columns)
    number = np.arange(rows * columns, dtype=np.int64).reshape(rows, columns)
    element = np.where(number < drawn, number, OUTSIDE)
    axes = axes_of(layout)
    places = layout.apply(np.minimum(number, drawn - 1))
    nowhere = np.zeros_like(number)
    address = np.stack([places.get(axis, nowhere) for axis in axes], axis=2)
    lines = _block_lines(shape, columns, rows, block or _blocks(layout, shape))
    return Grid(
        kind="logical",
        shape=shape,
        axes=axes,
        element=element,
        other=np.full_like(element, IDLE),
        meets=(element >= 0).astype(np.int64),
        address=np.asarray(address, dtype=np.int64),
        rows=_row_labels(shape, columns, rows),
        columns=tuple(map(str, range(columns))),
        row_lines=lines[0],
        column_lines=lines[1],
        left_out=layout.size - drawn,
        copies=layout.replicas,
        element_bytes=element_bytes,
        note=_note(shape, columns),
    )


def checked_shape(layout: Layout, shape: Sequence[int] | None) -> tuple[int, ...]:
    """Return the logical shape, at least one dimension long; None takes the shard's extents.

    Raises:
        LayoutError: It has another size than the layout.

    Example:
        >>> checked_shape(TileLayout([(4, 1, "m")]), None), checked_shape(TileLayout(), ())
        ((4,), (1,))
    """
    shape = tuple(layout.extents if shape is None else shape) or (1,)
    if prod(shape) != layout.size:
        raise LayoutError(f"the shape {shape} has {prod(shape)} elements and not {layout.size}")
    return shape


def _folded(shape: tuple[int, ...], most: int) -> int:
    """Return how many elements go across: whole inner dimensions where they fit, else a part."""
    columns = shape[-1]
    for extent in reversed(shape[:-1]):
        rest = prod(shape) // (columns * extent)
        if columns * extent > most or rest == 1:
            break
        columns *= extent
    if columns > most:
        parts = [part for part in range(most // 2 + 1, most + 1) if columns % part == 0]
        columns = parts[-1] if parts else most
    # Several short rows side by side keep a long, narrow picture on the screen.
    while 2 * columns <= most and too_long(prod(shape) // columns, columns):
        columns *= 2
    return columns


def too_long(rows: int, columns: int) -> bool:
    """Return whether a picture runs off the screen while there is room beside it.

    Example:
        >>> too_long(16, 4), too_long(512, 32)
        (False, True)
    """
    return rows > max(_LONG, 2 * columns)


def _inner_dimensions(shape: tuple[int, ...], columns: int) -> int | None:
    """Return how many inner dimensions one row holds exactly, or None."""
    product = 1
    for count, extent in enumerate(reversed(shape), start=1):
        product *= extent
        if product == columns:
            return count
    return None


def _row_labels(shape: tuple[int, ...], columns: int, rows: int) -> tuple[str, ...]:
    inner = _inner_dimensions(shape, columns)
    keep = len(shape) if inner is None else max(len(shape) - inner, 1)
    starts = (unflatten(row * columns, shape)[:keep] for row in range(rows))
    return tuple(", ".join(map(str, start)) for start in starts)


def _note(shape: tuple[int, ...], columns: int) -> str:
    inner = _inner_dimensions(shape, columns)
    if inner is None or inner == len(shape):
        return "in row-major order"
    outer = len(shape) - inner
    return f"rows: {_dimensions(0, outer)}, columns: {_dimensions(outer, len(shape))}"


def _dimensions(start: int, stop: int) -> str:
    return f"{'dim' if stop - start == 1 else 'dims'} {', '.join(map(str, range(start, stop)))}"


def _blocks(layout: Layout, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the innermost extent of each dimension: the runs that one stride covers."""
    if isinstance(layout, ComposeLayout):
        return (*(1,) * (len(shape) - 1), 1 << layout.swizzle.per_element)
    try:
        grouped, separators = group(layout, shape)
    except LayoutError:
        return (1,) * len(shape)
    blocks = []
    for start, end in pairwise(separators):
        digits = [item.extent for item in grouped.shard[start:end] if item.extent > 1]
        blocks.append(digits[-1] if len(digits) > 1 else 1)
    return tuple(blocks)


def _block_lines(
    shape: tuple[int, ...], columns: int, rows: int, block: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the rows and the columns that start a block, or another run of an outer dimension."""
    inner = _inner_dimensions(shape, columns)
    if inner is None or inner == len(shape):
        width = shape[-1] if columns % shape[-1] == 0 else columns
        return (), tuple(range(width, columns, width)) if width > 1 else ()
    outer = len(shape) - inner
    down = _starts(shape[outer - 1], block[outer - 1], rows)
    return down, _starts(shape[-1], block[-1], columns)


def _starts(extent: int, block: int, count: int) -> tuple[int, ...]:
    step = block if 1 < block < extent and extent % block == 0 else extent
    return tuple(range(step, count, step)) if step > 1 else ()
