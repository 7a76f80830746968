"""The outline of a set of cells as line segments, long runs drawn as one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Points = tuple[list[float | None], list[float | None]]

# Segments reach past their ends, so that thick lines meet in full corners.
_PAST = 0.06


def outline(cells: NDArray[np.bool_], row: int = 0, column: int = 0) -> Points:
    """Return the border of a set of cells as x and y of segments, parted by None.

    Args:
        cells: Which cells belong to the set, ``[row, column]``; cell centres are whole numbers.
        row: Row of the first cell; likewise ``column``.

    Example:
        >>> x, y = outline(np.array([[True, True]]))
        >>> [round(at, 2) for at in x if at is not None][:2], len(x) // 3
        ([-0.56, 1.56], 4)
    """
    inside = np.pad(cells, 1)
    across = _runs(inside[1:, 1:-1] != inside[:-1, 1:-1])
    down = _runs((inside[1:-1, 1:] != inside[1:-1, :-1]).T)
    x: list[float | None] = []
    y: list[float | None] = []
    for line, start, stop in across:
        at = row + line - 0.5
        x += [column + start - 0.5 - _PAST, column + stop - 0.5 + _PAST, None]
        y += [at, at, None]
    for line, start, stop in down:
        at = column + line - 0.5
        x += [at, at, None]
        y += [row + start - 0.5 - _PAST, row + stop - 0.5 + _PAST, None]
    return x, y


def _runs(edges: NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    """Return line, start and end of every run of edges."""
    change = np.diff(np.pad(edges, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    starts, stops = np.argwhere(change == 1), np.argwhere(change == -1)
    both = np.column_stack([starts, stops[:, 1]])
    return [(int(line), int(start), int(stop)) for line, start, stop in both]


def outline_of(m: NDArray[np.int64], n: NDArray[np.int64]) -> Points:
    """Return the border of the cells at rows ``m`` and columns ``n``.

    Example:
        >>> x, y = outline_of(np.array([4]), np.array([7]))
        >>> sorted({at for at in y if at is not None})
        [3.44, 3.5, 4.5, 4.56]
    """
    if not len(m):
        return [], []
    top, left = int(m.min()), int(n.min())
    cells = np.zeros((int(m.max()) - top + 1, int(n.max()) - left + 1), bool)
    cells[m - top, n - left] = True
    return outline(cells, top, left)
