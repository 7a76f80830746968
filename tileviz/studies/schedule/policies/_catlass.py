"""What the CATLASS policies share: strips in either direction, and slices of K."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Grid, Ints
from tileviz.studies.schedule.policies.base import Direction
from tileviz.studies.schedule.strips import strips


def snaking_strips(grid: Grid, index: Ints, offset: int, direction: Direction) -> tuple[Ints, Ints]:
    """Return tile row and column of tasks of one batch: Zn, or Nz, its exact transpose.

    Example:
        >>> import numpy as np
        >>> m, n = snaking_strips(Grid((3, 2, 1), (1, 1, 1)), np.arange(6), 2, "nz")
        >>> list(zip(m.tolist(), n.tolist()))
        [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    """
    if direction == "zn":
        return strips(index, grid.rows, grid.columns, offset, snake=True)
    n, m = strips(index, grid.columns, grid.rows, offset, snake=True)
    return m, n


def slices(tiles: int, count: int) -> tuple[Ints, Ints]:
    """Return first tile and number of tiles of every slice; the first ones get one more.

    Example:
        >>> first, size = slices(10, 4)
        >>> first.tolist(), size.tolist()
        ([0, 3, 6, 8], [3, 3, 2, 2])
    """
    part, extra = divmod(tiles, count)
    number = np.arange(count, dtype=np.int64)
    return number * part + np.minimum(number, extra), part + (number < extra).astype(np.int64)


def elements(grid: Grid, first: Ints, size: Ints) -> Ints:
    """Return the K elements of runs of K tiles; the run that ends K takes what is left of it."""
    step, whole = grid.tile[2], grid.problem[2]
    found: Ints = np.minimum((first + size) * step, whole) - first * step
    return found
