"""CATLASS ASWT: snaking windows of 4 rows, and a last wave whose tiles are split further."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Grid, Ints, Tasks, by_round
from tileviz.studies.schedule.policies.base import Direction, Parameters, Policy
from tileviz.studies.schedule.strips import merged_strips

WINDOW = 4


class AswtParameters(Parameters):
    """Whether tiles of a last wave that leaves half the cores idle are split."""

    tail_split_allowed: bool = True


def windows(grid: Grid, index: Ints) -> tuple[Ints, Ints]:
    """Return tile row and column; the last window absorbs the rows that make no whole window.

    Example:
        >>> import numpy as np
        >>> windows(Grid((5, 1, 1), (1, 1, 1)), np.arange(5))[0].tolist()
        [0, 1, 2, 3, 4]
    """
    window = min(WINDOW, grid.rows)
    last = grid.rows // window - 1
    strip, _, side, deep = merged_strips(index, grid.rows, grid.columns, window, last=last)
    return strip * window + side, np.where(strip & 1, grid.columns - 1 - deep, deep)


def fitted(most: int, rows: int, columns: int) -> tuple[int, int]:
    """Return into how many parts a tile is split on each axis, at most ``most`` in all."""
    down, across = min(rows, most), min(columns, most)
    while down * across > most:
        if down >= across:
            down -= 1
        else:
            across -= 1
    return down, across


def ceil_div(value: int, step: int) -> int:
    """Return ``value / step``, rounded up."""
    return -(-value // step)


def tail_rows(grid: Grid) -> int:
    """Return the rows of the last tile row."""
    return grid.problem[0] - (grid.rows - 1) * grid.tile[0]


def tail_columns(grid: Grid) -> int:
    """Return the columns of the last tile column."""
    return grid.problem[1] - (grid.columns - 1) * grid.tile[1]


def _split(grid: Grid, parts: int) -> tuple[int, int]:
    """Return the split of a tail tile; parts that the corner tile could not fill are dropped."""
    down, across = fitted(parts, tail_rows(grid), tail_columns(grid))
    rows, columns = tail_rows(grid), tail_columns(grid)
    return ceil_div(rows, ceil_div(rows, down)), ceil_div(columns, ceil_div(columns, across))


def tasks(grid: Grid, workers: int, parameters: AswtParameters) -> Tasks:
    """Return the tasks: whole tiles in turns, then the parts of the last wave's tiles."""
    tail = (grid.tiles - 1) % workers + 1
    split = (1, 1)
    if parameters.tail_split_allowed and tail <= workers // 2:
        split = _split(grid, workers // tail)
    parts = split[0] * split[1]
    whole = grid.tiles - tail
    counts = np.full(workers, whole // workers, np.int64)
    counts[: tail * parts] += 1
    worker, wave, _ = by_round(counts)
    cut = wave == whole // workers
    index = wave * workers + np.where(cut, worker // parts, worker)
    m, n = windows(grid, index)
    part = worker % parts
    rows, first = _along(grid, 0, m, np.where(cut, split[0], 1), part % split[0])
    columns, left = _along(grid, 1, n, np.where(cut, split[1], 1), part // split[0])
    empty = (rows <= 0) | (columns <= 0)
    facts = (
        ("window", f"{min(WINDOW, grid.rows)} rows"),
        ("tail tiles", str(tail)),
        ("parts of a tail tile", f"{split[0]} x {split[1]}"),
    )
    return Tasks(
        m,
        n,
        corner=(first, left),
        extent=(np.where(empty, 0, rows), np.where(empty, 0, columns)),
        worker=worker,
        wave=wave,
        facts=facts,
    )


def _along(grid: Grid, axis: int, tile: Ints, parts: Ints, part: Ints) -> tuple[Ints, Ints]:
    """Return length and start of a tile's part on one axis, in elements."""
    start = tile * grid.tile[axis]
    length = np.minimum(start + grid.tile[axis], grid.problem[axis]) - start
    step = -(-length // parts)
    offset = np.where(parts > 1, part, 0) * step
    return np.minimum(length - offset, step), start + offset


def strip_starts(grid: Grid, workers: int, parameters: AswtParameters) -> tuple[Direction, range]:
    """Return where each window begins."""
    window = min(WINDOW, grid.rows)
    return "zn", range(0, (grid.rows // window - 1) * window + 1, window)


POLICY = Policy(
    name="catlass_aswt",
    title="CATLASS ASWT",
    system="CATLASS",
    rule="Snaking windows of 4 rows, the last of 4 to 7; tiles of a thin last wave are split.",
    parameters=AswtParameters,
    tasks=tasks,
    strips=strip_starts,
    batches=False,
)
