"""From addresses back to elements: who lives where, which addresses stay idle, who collides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from tileviz.layouts import IntArray, LayoutError
from tileviz.memory import BANK_BYTES, BANKS
from tileviz.studies.layout.grid import (
    IDLE,
    MAX_CELLS,
    OUTSIDE,
    Grid,
    Layout,
    axes_of,
    checked_shape,
    too_long,
)

# One wavefront's worth of memory: 32 banks of four bytes.
ROW_BYTES = BANKS * BANK_BYTES
MAX_ADDRESSES = 1 << 22
# Longer runs of idle rows shrink to one row.
_IDLE_ROWS = 3
_MAX_ROWS = 1 << 62


@dataclass(frozen=True)
class _Frame:
    """How addresses are laid out on paper: one axis across, the others and its rest down."""

    axes: tuple[str, ...]
    starts: tuple[int, ...]
    counts: tuple[int, ...]
    width: int

    @property
    def folds(self) -> int:
        """How many rows the axis across takes."""
        return -(-self.counts[0] // self.width)

    @property
    def total_rows(self) -> int:
        """Rows in all."""
        return prod(self.counts[1:]) * self.folds

    def place(self, address: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
        """Return row and column of addresses, one array an axis."""
        across = address[0] - self.starts[0]
        row = np.zeros_like(across)
        for values, start, count in zip(address[1:], self.starts[1:], self.counts[1:], strict=True):
            row = row * count + (values - start)
        return row * self.folds + across // self.width, across % self.width

    def address(self, rows: IntArray) -> IntArray:
        """Return the address of every cell of some rows, ``[row, column, axis]``."""
        parts = np.unravel_index(rows, (*self.counts[1:], self.folds))
        across = parts[-1][:, None] * self.width + np.arange(self.width)
        found = [across + self.starts[0]]
        for part, start in zip(parts[:-1], self.starts[1:], strict=True):
            found.append(np.broadcast_to(part[:, None] + start, across.shape))
        return np.stack(found, axis=2).astype(np.int64)


def physical_grid(
    layout: Layout,
    shape: Sequence[int] | None = None,
    *,
    element_bytes: int = 4,
    max_columns: int = 32,
) -> Grid:
    """Return one cell an address, with the element that lives there.

    Memory lies in rows of 128 bytes (32 banks): in equal parts of them where ``max_columns`` asks
    for it, several side by side where there are many. Thread axes lie across, registers and the
    other axes down. Rows from the lowest address to the highest are drawn until ``MAX_CELLS`` is
    reached; long idle runs become one row.

    Args:
        layout: The layout, all of its copies included.
        shape: The logical shape; None takes the shard's extents.
        element_bytes: Bytes of one element.
        max_columns: The most columns.

    Raises:
        LayoutError: More than 4,194,304 addresses, or they spread too far to be drawn.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> grid = physical_grid(TileLayout([(2, 3, "m"), (2, 1, "m")]))
        >>> grid.element[0].tolist()  # address 2 is a gap
        [0, 1, -1, 2, 3]
    """
    shape = checked_shape(layout, shape)
    axes, address = _listed(layout)
    frame = _framed(axes, address, element_bytes, max_columns)
    row, column = frame.place(address)
    used = np.unique(row)
    number, position = _drawn_rows(used, max(MAX_CELLS // frame.width, 1))
    live = row <= used[len(position) - 1]
    slot = position[np.searchsorted(used, row[live])]
    cell = slot * frame.width + column[live]
    element = np.broadcast_to(np.arange(layout.size)[:, None], address[0].shape)[live]
    held = _gather(cell, element, layout.size, len(number) * frame.width)
    first, other, meets = (part.reshape(len(number), frame.width) for part in held)
    places = frame.address(np.maximum(number, 0))
    first[(meets == 0) & ~_within(places, number, axes, address)] = OUTSIDE
    return Grid(
        kind="physical",
        shape=shape,
        axes=axes,
        element=first,
        other=other,
        meets=meets,
        address=places,
        rows=_row_labels(frame, places, number),
        columns=_column_labels(frame, places, element_bytes),
        row_lines=_row_lines(frame, places, number, element_bytes),
        column_lines=_column_lines(frame, element_bytes),
        left_out=int(row.size - live.sum()),
        copies=layout.replicas,
        element_bytes=element_bytes,
        note=_note(frame, element_bytes),
    )


def _listed(layout: Layout) -> tuple[tuple[str, ...], list[IntArray]]:
    """Return the axes, and every address on each of them, ``[element, copy]``."""
    count = layout.size * layout.replicas
    if count > MAX_ADDRESSES:
        raise LayoutError(f"{count} addresses; at most {MAX_ADDRESSES} can be drawn")
    every = layout.apply_all(np.arange(layout.size))
    axes, shape = axes_of(layout), (layout.size, layout.replicas)
    nowhere = np.zeros(shape, dtype=np.int64)
    return axes, [np.broadcast_to(every.get(axis, nowhere), shape) for axis in axes]


def _framed(
    axes: tuple[str, ...], address: Sequence[IntArray], element_bytes: int, most: int
) -> _Frame:
    lows = [int(values.min()) for values in address]
    counts = [int(values.max()) - low + 1 for values, low in zip(address, lows, strict=True)]
    width = counts[0]
    if axes == ("m",):
        width = max(ROW_BYTES // element_bytes, 1)
        # Rows start where bank 0 does.
        start = lows[0] // width * width
        lows[0], counts[0] = start, counts[0] + lows[0] - start
        rows = min(-(-counts[0] // width), address[0].size)
        # A lone row ends with its last address.
        width = counts[0] if rows == 1 else width
        while 2 * width <= most and too_long(rows, width):
            width, rows = 2 * width, rows // 2
    if width > most:
        parts = [part for part in range(most // 2 + 1, most + 1) if width % part == 0]
        width = parts[-1] if axes == ("m",) and parts else most
    frame = _Frame(axes, tuple(lows), tuple(counts), width)
    if frame.total_rows > _MAX_ROWS:
        raise LayoutError("the addresses spread too far over several axes to be drawn")
    return frame


def _drawn_rows(used: IntArray, most: int) -> tuple[IntArray, IntArray]:
    """Choose the rows to draw from those that hold something.

    Args:
        used: Numbers of the rows that hold an element, ascending.
        most: The most rows.

    Returns:
        The number of each drawn row, -1 for the one that stands for a long idle run; and where
        each used row is drawn, for the first of them, as many as fit.
    """
    used = used[:most]
    idle = np.diff(used) - 1
    step = np.where(idle <= _IDLE_ROWS, idle + 1, 2)
    position = np.concatenate([[0], np.cumsum(step)])
    position = position[position < most]
    used, idle = used[: len(position)], idle[: len(position) - 1]
    number = np.full(int(position[-1]) + 1, -1, dtype=np.int64)
    number[position] = used
    for behind in range(1, _IDLE_ROWS + 1):
        short = (idle >= behind) & (idle <= _IDLE_ROWS)
        number[position[:-1][short] + behind] = used[:-1][short] + behind
    return number, np.asarray(position, dtype=np.int64)


def _gather(
    cell: IntArray, element: IntArray, size: int, cells: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return, per cell, its first element, its second, and how many there are."""
    # Copies of one element at one address count once.
    pairs = np.unique(cell * size + element)
    where, who = pairs // size, pairs % size
    meets = np.bincount(where, minlength=cells)
    start = np.cumsum(meets) - meets
    padded = np.concatenate([who, [IDLE, IDLE]])
    first = np.where(meets > 0, padded[start], IDLE)
    other = np.where(meets > 1, padded[np.minimum(start + 1, len(who))], IDLE)
    return first, other, meets


def _within(
    places: IntArray, number: IntArray, axes: tuple[str, ...], address: Sequence[IntArray]
) -> NDArray[np.bool_]:
    """Return which cells lie between the lowest and the highest address on every axis."""
    inside = np.broadcast_to((number >= 0)[:, None], places.shape[:2])
    for at in range(len(axes)):
        values = places[:, :, at]
        inside = inside & (values >= address[at].min()) & (values <= address[at].max())
    return np.asarray(inside)


def _row_labels(frame: _Frame, places: IntArray, number: IntArray) -> tuple[str, ...]:
    first = places[:, 0, :].tolist()
    labels = []
    for row, values in zip(number.tolist(), first, strict=True):
        shown = values[1:] if frame.folds == 1 and len(values) > 1 else [*values[1:], values[0]]
        labels.append("⋯" if row < 0 else ", ".join(map(str, shown)))
    return tuple(labels)


def _column_labels(frame: _Frame, places: IntArray, element_bytes: int) -> tuple[str, ...]:
    if _whole_rows(frame, element_bytes):
        bank = places[0, :, 0] * element_bytes // BANK_BYTES % BANKS
        fresh = np.concatenate([[True], np.diff(bank) != 0])
        return tuple(str(b) if new else "" for b, new in zip(bank.tolist(), fresh, strict=True))
    start = 0 if frame.folds > 1 else frame.starts[0]
    return tuple(str(start + column) for column in range(frame.width))


def _whole_rows(frame: _Frame, element_bytes: int) -> bool:
    """Return whether every row of the picture is one row of all banks, or several."""
    whole = frame.width * element_bytes % ROW_BYTES == 0
    return frame.axes == ("m",) and (whole or frame.folds == 1)


def _column_lines(frame: _Frame, element_bytes: int) -> tuple[int, ...]:
    if not _whole_rows(frame, element_bytes):
        return ()
    step = ROW_BYTES // element_bytes
    return tuple(range(step, frame.width, step))


def _row_lines(
    frame: _Frame, places: IntArray, number: IntArray, element_bytes: int
) -> tuple[int, ...]:
    """Return the rows that start 128 bytes of memory, or another number on an outer axis."""
    if frame.axes == ("m",):
        outer = places[:, 0, 0] * element_bytes // ROW_BYTES
        whole = _whole_rows(frame, element_bytes)
    else:
        outer = places[:, 0, 1] if len(frame.axes) > 1 else np.zeros(len(places), dtype=np.int64)
        whole = len(frame.axes) == 2 and frame.folds == 1
    starts = np.flatnonzero((np.diff(outer) != 0) & (number[1:] >= 0)) + 1
    return () if whole else tuple(starts.tolist())


def _note(frame: _Frame, element_bytes: int) -> str:
    if frame.axes == ("m",):
        if _whole_rows(frame, element_bytes):
            beside = -(-frame.width * element_bytes // ROW_BYTES)
            more = f", {beside} rows of banks side by side" if beside > 1 else ""
            return f"rows: address, columns: bank{more}"
        return f"rows: address, columns: the next {frame.width}"
    across, *down = frame.axes
    if frame.folds > 1:
        return f"rows: {', '.join([*down, across])}, columns: the next {frame.width} of {across}"
    return f"rows: {', '.join(down)}, columns: {across}" if down else f"columns: {across}"
