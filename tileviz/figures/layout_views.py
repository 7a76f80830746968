"""What a picture of a layout says: the class, the text and the size of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tileviz.figures.tokens import IDLE
from tileviz.layouts import LayoutError
from tileviz.studies.layout.forms import Facts, facts_of
from tileviz.studies.layout.grid import MAX_NUMBERED, Grid, Layout, logical_grid
from tileviz.studies.layout.physical import physical_grid
from tileviz.studies.layout.plan import LayoutPlan

ColourBy = Literal["place", "row"]
Palette = Literal["order", "lanes"]
Side = Literal["operand", "result"]

CLASSES = 8
# Around the cells: room for the column labels, and for half of a thick line.
TOP, RIGHT, BOTTOM = 17, 3, 3
_CHUNK_BYTES = 16
# As wide as the page at 1280 pixels allows.
_WIDEST = 960
_NUMBERED_COLUMNS, _PLAIN_COLUMNS = 32, 128
_MOST_TEXT_CELLS = 4096
_FOLD = 32


@dataclass(frozen=True, eq=False)
class Colouring:
    """The class of each cell, and what the classes mean.

    Attributes:
        classes: 0 to 7, ``IDLE`` where no element lives, int8 ``[row, column]``.
        palette: Which of a theme's colours.
        name: What the colours mean.
        labels: What each class means.
    """

    classes: NDArray[np.int8]
    palette: Palette
    name: str
    labels: tuple[str, ...]


def colouring(grid: Grid, by: ColourBy) -> Colouring:
    """Return a picture's colours; one element has the same colour in every picture.

    Args:
        grid: The picture.
        by: ``place``: where the element lives (its banks, four by four; or its lane). ``row``: the
            row of the logical tile that it belongs to.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> from tileviz.studies.layout.grid import logical_grid
        >>> grid = logical_grid(TileLayout([(2, 33, "m"), (8, 1, "m")]))
        >>> found = colouring(grid, "place")
        >>> found.classes[1].tolist(), found.name, found.labels[1]
        ([0, 0, 0, 1, 1, 1, 1, 2], 'Banks', '4–7')
    """
    palette: Palette = "order"
    labels = tuple(map(str, range(CLASSES)))
    if by == "row":
        inner = grid.shape[-1] if len(grid.shape) > 1 else _FOLD
        numbers = grid.element // inner
        name = "Logical row, mod 8" if len(grid.shape) > 1 else f"Element ÷ {_FOLD}, mod 8"
    elif grid.in_memory:
        numbers = grid.byte // _CHUNK_BYTES
        name = "Banks"
        labels = tuple(f"{4 * index}–{4 * index + 3}" for index in range(CLASSES))
    else:
        numbers = grid.address[:, :, 0]
        name, palette = f"{grid.axes[0]}, mod 8", "lanes"
    classes = np.where(grid.element >= 0, numbers % CLASSES, IDLE).astype(np.int8)
    return Colouring(classes, palette, name, labels)


def most_columns(facts: Facts) -> int:
    """Return how many columns a layout's logical picture has at most, so that its numbers fit.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> from tileviz.studies.layout.forms import facts_of
        >>> most_columns(facts_of(TileLayout([(32, 1 << 20, "m"), (32, 1, "m")])))
        18
    """
    if facts.size > MAX_NUMBERED:
        return _PLAIN_COLUMNS
    digits = [max(len(str(low)), len(str(high))) for _, low, high in facts.reach]
    return max(min(_NUMBERED_COLUMNS, _WIDEST // _cell_width(sum(digits) + len(digits) - 1)), 1)


def most_physical_columns(facts: Facts) -> int:
    """Return how many columns a layout's physical picture has at most.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> from tileviz.studies.layout.forms import facts_of
        >>> most_physical_columns(facts_of(TileLayout([(4096, 1, "m")])))
        128
    """
    return _PLAIN_COLUMNS if facts.size > MAX_NUMBERED else _NUMBERED_COLUMNS


def _cell_width(characters: int) -> int:
    """Return the width of a cell for a text of 11 pixels: digits are 6 wide."""
    return max(18, 6 * characters + 3)


@dataclass(frozen=True)
class MapSize:
    """Pixels of a picture.

    Attributes:
        cell: Width and height of a cell.
        left: Room for the row labels.
        width: Of the whole picture; likewise ``height``.
        numbered: Whether cells hold numbers.
    """

    cell: tuple[int, int]
    left: int
    width: int
    height: int
    numbered: bool


@dataclass(frozen=True)
class Room:
    """Room that pictures share, so that they line up below each other.

    Attributes:
        left: Pixels for row labels, at least.
        characters: Characters that fit in a cell, at least.
    """

    left: int = 0
    characters: int = 0


def room_for(labelled: Sequence[Grid], written: Sequence[Grid] = ()) -> Room:
    """Return the room that the row labels of some pictures, and the text of some, need.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> from tileviz.studies.layout.grid import logical_grid
        >>> grid = logical_grid(TileLayout([(4, 32, "m"), (32, 1, "m")]))
        >>> room_for([grid], [grid])
        Room(left=18, characters=3)
    """
    labels = [len(label) for grid in labelled for label in grid.rows]
    texts = [int(np.char.str_len(cell_text(grid)).max(initial=1)) for grid in written]
    return Room(12 + 6 * max(labels, default=0), max(texts, default=0))


# A picture that stands alone.
OWN = Room()


def map_size(grid: Grid, room: Room = OWN) -> MapSize:
    """Return the size of a picture: square cells where the numbers allow it.

    Args:
        grid: The picture.
        room: What it shares with others.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> from tileviz.studies.layout.grid import logical_grid
        >>> size = map_size(logical_grid(TileLayout([(4, 32, "m"), (32, 1, "m")])))
        >>> size.cell, size.numbered
        ((21, 21), True)
    """
    rows, columns = grid.element.shape
    live = int((grid.element >= 0).sum())
    own = room_for([grid], [grid])
    wide = _cell_width(max(own.characters, room.characters))
    fits = columns * wide <= _WIDEST and grid.element.size <= _MOST_TEXT_CELLS
    numbered = live <= MAX_NUMBERED and fits
    if numbered:
        wide = max(wide, 30 if columns <= 8 else 26 if columns <= 16 else 0)
        cell = (wide, min(wide, 30 if rows <= 8 else 22))
    else:
        side = min(max(_WIDEST // columns, 7), 18, max(900 // rows, 7))
        cell = (side, side)
    left = max(own.left, room.left)
    width = left + columns * cell[0] + RIGHT
    return MapSize(cell, left, width, rows * cell[1] + TOP + BOTTOM, numbered)


def cell_text(grid: Grid) -> NDArray[np.str_]:
    """Return what each cell says: its address, or (physical) its element or how many meet.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> from tileviz.studies.layout.grid import logical_grid
        >>> cell_text(logical_grid(TileLayout([(2, 4, "laneid"), (2, 1, "m")]))).tolist()
        [['0·0', '0·1'], ['4·0', '4·1']]
    """
    if grid.kind == "physical":
        many = np.char.add(grid.meets.astype(str), "×")
        text = np.where(grid.meets > 1, many, grid.element.astype(str))
    else:
        text = grid.address[:, :, 0].astype(str)
        for at in range(1, len(grid.axes)):
            text = np.char.add(np.char.add(text, "·"), grid.address[:, :, at].astype(str))
    return np.where(grid.element >= 0, text, "")


def cells_key(grid: Grid) -> str:
    """Return what rows, columns and numbers are, in a few words.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> from tileviz.studies.layout.grid import logical_grid
        >>> cells_key(logical_grid(TileLayout([(2, 4, "laneid"), (2, 1, "m")])))
        'rows: dim 0, columns: dim 1, cells: laneid·m'
    """
    if not map_size(grid).numbered:
        return grid.note
    held = "element" if grid.kind == "physical" else "·".join(grid.axes)
    return f"{grid.note}, cells: {'address' if held == 'm' else held}"


def describe(grid: Grid, facts: Facts) -> str:
    """Return a sentence for people who cannot see the picture.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> from tileviz.studies.layout.grid import logical_grid
        >>> from tileviz.studies.layout.forms import facts_of
        >>> padded = TileLayout([(4, 33, "m"), (32, 1, "m")])
        >>> print(describe(logical_grid(padded), facts_of(padded)))
        Logical picture: 4 rows by 32 columns, each cell an element with its address.
        128 elements at addresses 0 to 130, 3 of them idle.
    """
    rows, columns = grid.element.shape
    held = "an element with its address" if grid.kind == "logical" else "an address, its element"
    elements = f"{facts.size} element{'s' * (facts.size != 1)}"
    shared = f" {facts.collision}." if facts.collision is not None else ""
    cut = f" {grid.left_out} are not drawn." if grid.left_out else ""
    return (
        f"{grid.kind.capitalize()} picture: {rows} row{'s' * (rows != 1)} by {columns} "
        f"column{'s' * (columns != 1)}, each cell {held}. "
        f"{elements} at {facts.addresses}.{shared}{cut}"
    )


@dataclass(frozen=True, eq=False)
class Drawn:
    """A design's operand or result, as its two pictures.

    Attributes:
        layout: The layout.
        shape: Its logical extents.
        facts: What is true of it.
        logical: Its elements.
        physical: Its addresses, None where they cannot be drawn.
        reason: Why they cannot.
    """

    layout: Layout
    shape: tuple[int, ...]
    facts: Facts
    logical: Grid
    physical: Grid | None
    reason: str

    def colliding(self) -> NDArray[np.bool_] | None:
        """Return which elements share an address, bool ``[element]``; None where none do."""
        pair = self.facts.collision
        if pair is None:
            return None
        elements = np.zeros(self.facts.size, dtype=bool)
        for point in (pair.first, pair.second):
            elements[np.ravel_multi_index(point, self.logical.shape)] = True
        return elements


def drawn(plan: LayoutPlan, side: Side) -> Drawn:
    """Return the pictures of a plan's operand, or of its result.

    Args:
        plan: The plan.
        side: ``result`` only where the operation has one.

    Example:
        >>> from tileviz import api
        >>> from tileviz.studies.registry import preset
        >>> drawn(api.plan(preset("layout-padded-33").design), "operand").facts.size
        1024
    """
    layout, shape = plan.operand, plan.operand_shape
    if side == "result" and plan.result is not None:
        layout, shape = plan.result, plan.result_shape
    facts = facts_of(layout, shape)
    width = plan.design.element_bytes
    block = plan.design.inner_shape if side == "result" and len(shape) > 1 else None
    logical = logical_grid(
        layout, shape, element_bytes=width, max_columns=most_columns(facts), block=block
    )
    physical, reason = None, ""
    try:
        physical = physical_grid(
            layout, shape, element_bytes=width, max_columns=most_physical_columns(facts)
        )
    except LayoutError as error:
        reason = str(error)
    return Drawn(layout, shape, facts, logical, physical, reason)
