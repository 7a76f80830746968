"""Space-filling curves over the smallest power-of-two square around the grid."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Grid, Ints


def square_bits(grid: Grid) -> int:
    """Return the log of the side of the smallest square of 2^k around the grid.

    Example:
        >>> square_bits(Grid((5, 3, 1), (1, 1, 1)))
        3
    """
    return (max(grid.rows, grid.columns) - 1).bit_length()


def all_tiles(grid: Grid) -> tuple[Ints, Ints]:
    """Return row and column of every tile, row-major."""
    index = np.arange(grid.tiles, dtype=np.int64)
    m = index // grid.columns
    return m, index - m * grid.columns


def along_curve(m: Ints, n: Ints, place: Ints) -> tuple[Ints, Ints]:
    """Return the tiles in the order of their place on the curve."""
    order = np.argsort(place)
    return m[order], n[order]
