"""The part of a tile that a picture has room for, and who touches which cell of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.layouts import ComposeLayout, TileLayout
from tileviz.memory import BANK_BYTES
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.phases import element_offsets
from tileviz.studies.access.plan import memory_layout
from tileviz.studies.access.shown import Instruction, element_bytes

Ints = NDArray[np.int64]
SIDE = 32
_BLOCK = 8


@dataclass(frozen=True, eq=False)
class Window:
    """Cells of a tile, at most 32 by 32.

    Attributes:
        shape: Rows and columns of the whole tile, in elements; dimensions but the last are rows.
        row: First row shown; likewise ``column``, in elements.
        per_cell: Elements of one cell, side by side in a row.
        element: Row-major number of the first element of each cell, -1 beyond the tile; int64
            ``[row, column]``.
        byte: Address of the first element of each cell, likewise.
        lane: The first lane that touches each cell, -1 where none does.
        lanes: How many lanes touch it.
        outside: Active lanes whose first element is not shown.
    """

    shape: tuple[int, int]
    row: int
    column: int
    per_cell: int
    element: Ints
    byte: Ints
    lane: Ints
    lanes: Ints
    outside: int

    @property
    def complete(self) -> bool:
        """Whether the whole tile is shown."""
        rows, columns = self.element.shape
        return (rows, columns * self.per_cell) == self.shape


def window(design: AccessDesign, shown: Instruction) -> Window:
    """Return the part of the design's tile around an instruction.

    A cell is an element; or as many neighbours in a row as make a word, and more for vectors of
    wide tiles, where the layout keeps them together.

    Args:
        design: A design with a layout.
        shown: One of its instructions.

    Example:
        >>> from tileviz.studies.access.shown import instruction, sweeps
        >>> from tileviz.studies.registry import preset
        >>> design = preset("banks-ldmatrix-64x64").design
        >>> found = window(design, instruction(design, sweeps(design)[0], 0))
        >>> found.element.shape, found.per_cell, found.lane[1, :6].tolist()
        ((32, 32), 2, [1, 1, 1, 1, 17, 17])
    """
    layout, width = memory_layout(design), element_bytes(design)
    shape = _shape(layout.extents)
    per_cell = _per_cell(layout, shape, width, max(shown.accesses.bytes // width, 1))
    rows, columns = _places(shown, layout.extents, shape)
    row = _start(rows, shape[0], 1)
    column = _start(columns, shape[1], per_cell)
    high = min(SIDE, shape[0] - row)
    wide = min(SIDE, -(-(shape[1] - column) // per_cell))
    across = column + np.arange(wide * per_cell).reshape(wide, per_cell)
    every = (row + np.arange(high))[:, None, None] * shape[1] + across
    inside = (every < layout.size) & (across < shape[1])
    points = np.stack(np.unravel_index(np.where(inside, every, 0), layout.extents))
    byte = element_offsets(layout, points.astype(np.int64)) * width
    lane, lanes = _touching(byte, inside, width, shown)
    seen = (rows >= row) & (rows < row + high)
    seen &= (columns >= column) & (columns < column + wide * per_cell)
    return Window(
        shape,
        row,
        column,
        per_cell,
        np.where(inside[:, :, 0], every[:, :, 0], -1),
        np.where(inside[:, :, 0], byte[:, :, 0], -1),
        lane,
        lanes,
        int((~seen).sum()),
    )


def _shape(extents: tuple[int, ...]) -> tuple[int, int]:
    """Return rows and columns; one dimension alone is cut into rows of 32."""
    if len(extents) < 2:
        size = extents[0] if extents else 1
        return -(-size // SIDE), min(size, SIDE)
    rows = 1
    for extent in extents[:-1]:
        rows *= extent
    return rows, extents[-1]


def _per_cell(
    layout: TileLayout | ComposeLayout, shape: tuple[int, int], width: int, vector: int
) -> int:
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    if not tile.strides or tile.strides[-1] != 1:
        return 1
    together = 1 << layout.swizzle.per_element if isinstance(layout, ComposeLayout) else shape[1]
    starts = [*tile.strides[:-1], *(value for _, value in tile.offset)]

    def fits(count: int) -> bool:
        aligned = all(start % count == 0 for start in starts)
        return count <= together and shape[1] % count == 0 and aligned

    found = max(BANK_BYTES // width, 1)
    if not fits(found):
        return 1
    while shape[1] // found > SIDE and 2 * found <= vector and fits(2 * found):
        found *= 2
    return found


def _places(
    shown: Instruction, extents: tuple[int, ...], shape: tuple[int, int]
) -> tuple[Ints, Ints]:
    """Return row and column of the first element of every active lane."""
    points = shown.coordinates[:, shown.active]
    flat = np.ravel_multi_index(tuple(points), extents) if len(points) else np.zeros(0, np.int64)
    return np.asarray(flat // shape[1], dtype=np.int64), np.asarray(flat % shape[1], np.int64)


def _start(places: Ints, extent: int, per_cell: int) -> int:
    """Return where to begin, so that as many places as can be are shown."""
    room = SIDE * per_cell
    if not places.size or extent <= room:
        return 0
    low, high = int(places.min()), int(places.max())
    aligned = low // room * room
    if high >= aligned + room:
        step = _BLOCK * per_cell
        aligned = low // step * step
    last = -(-(extent - room) // per_cell) * per_cell
    return min(aligned, last)


def _touching(
    byte: Ints, inside: NDArray[np.bool_], width: int, shown: Instruction
) -> tuple[Ints, Ints]:
    """Return the first lane that touches each cell, and how many do."""
    unit = 16 if "matrix" in shown.accesses.op else shown.accesses.bytes
    lanes = np.flatnonzero(shown.active)
    cell = byte.shape[2] * width
    # The bytes [begin, end) of each element against those of each lane.
    first = np.full(byte.shape[:2], -1, dtype=np.int64)
    count = np.zeros(byte.shape[:2], dtype=np.int64)
    if not lanes.size or not cell:
        return first, count
    start = shown.accesses.addresses[0, lanes]
    begin = byte[:, :, :, None]
    meets = (begin < start + unit) & (begin + width > start) & inside[:, :, :, None]
    by_lane = meets.any(axis=2)
    count = by_lane.sum(axis=2).astype(np.int64)
    first = np.where(count > 0, lanes[by_lane.argmax(axis=2)], -1)
    return first, count
