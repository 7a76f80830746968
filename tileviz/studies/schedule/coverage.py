"""The proof that a schedule computes every tile exactly once, or the tiles where it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.studies.schedule.grid import Ints
from tileviz.studies.schedule.schedule import Schedule

LISTED = 1024


@dataclass(frozen=True, eq=False)
class Coverage:
    """Which tiles of the real grid a schedule misses or repeats.

    Attributes:
        tiles: Tiles of the real grid, all batches or groups.
        missing: Tiles not (or only in part) computed, int64 ``[tile, (batch, m, n)]``.
        repeated: Tiles of which some element is computed more than once, same shape.
        outside: Launched tasks whose tile lies outside the grid.
        batched: Whether tiles are named with their batch.
    """

    tiles: int
    missing: Ints
    repeated: Ints
    outside: int
    batched: bool

    @property
    def exact(self) -> bool:
        """Whether every tile is computed exactly once."""
        return not len(self.missing) and not len(self.repeated)

    def named(self, tiles: Ints) -> list[list[int]]:
        """Return tiles as ``[m, n]``, or ``[batch, m, n]`` where there are batches."""
        shown: list[list[int]] = tiles[:LISTED, 0 if self.batched else 1 :].tolist()
        return shown

    def to_json(self) -> dict[str, Any]:
        """Return the ``coverage`` object; long lists are cut, their counts are not."""
        return {
            "missing": self.named(self.missing),
            "repeated": self.named(self.repeated),
            "outside": self.outside,
            "missing_count": len(self.missing),
            "repeated_count": len(self.repeated),
            "tiles": self.tiles,
            "exact": self.exact,
        }


def coverage(schedule: Schedule) -> Coverage:
    """Return which tiles a schedule misses or repeats.

    Example:
        >>> from tileviz.studies.design import validated
        >>> from tileviz.studies.schedule.design import ScheduleDesign
        >>> from tileviz.studies.schedule.schedule import schedule_of
        >>> design = validated(ScheduleDesign, {"problem": [2, 2, 1], "tile": [1, 1],
        ...     "policy": "custom", "order": [[0, 0], [0, 1], [0, 1], [5, 5]]})
        >>> coverage(schedule_of(design)).to_json()["missing"]
        [[1, 0], [1, 1]]
    """
    if schedule.tasks.corner is not None:
        missing, repeated = _by_element(schedule)
    elif schedule.tasks.length is not None:
        missing, repeated = _by_run(schedule)
    else:
        missing, repeated = _by_tile(schedule)
    return Coverage(
        tiles=int(schedule.rows_of.sum()) * schedule.tiles[1],
        missing=missing,
        repeated=repeated,
        outside=int((~schedule.inside).sum()),
        batched=schedule.planes > 1,
    )


def _number(schedule: Schedule, batch: Ints, m: Ints, n: Ints) -> Ints:
    rows, columns = schedule.tiles
    return (batch * rows + m) * columns + n


def _named(schedule: Schedule, numbers: Ints) -> Ints:
    rows, columns = schedule.tiles
    row = numbers // columns
    return np.stack([row // rows, row % rows, numbers % columns], axis=1)


def _by_tile(schedule: Schedule) -> tuple[Ints, Ints]:
    inside = slice(None) if schedule.inside.all() else schedule.inside
    numbers = _number(schedule, schedule.batch[inside], schedule.m[inside], schedule.n[inside])
    rows, columns = schedule.tiles
    counts = np.bincount(numbers, minlength=schedule.planes * rows * columns)
    missing, repeated = np.flatnonzero(counts == 0), np.flatnonzero(counts > 1)
    return _named(schedule, missing), _named(schedule, repeated)


def _by_run(schedule: Schedule) -> tuple[Ints, Ints]:
    """Check that the runs of K of every tile follow each other from 0 to K."""
    whole, step = schedule.grid.problem[2], schedule.grid.tile[2]
    k = np.zeros(len(schedule), np.int64) if schedule.tasks.k is None else schedule.tasks.k
    tile = _number(schedule, schedule.batch, schedule.m, schedule.n)
    start, length = k * step, schedule.lengths
    parts = schedule.parts
    if parts is not None:
        more = _number(schedule, schedule.batch[parts.task], parts.m, parts.n)
        tile = np.concatenate([tile, more])
        start = np.concatenate([start, parts.k * step])
        length = np.concatenate([length, parts.length])
    order = np.lexsort((start, tile))
    tile, start, stop = tile[order], start[order], (start + length)[order]
    # Positions on one long line, a stretch of K + 1 for every tile.
    reach = np.maximum.accumulate(tile * (whole + 1) + stop) - tile * (whole + 1)
    first = np.diff(tile, prepend=-1) != 0
    before = np.where(first, 0, np.concatenate([[0], reach[:-1]]))
    last = np.append(first[1:], True)
    gap = (start > before) | (last & (reach < whole))
    rows, columns = schedule.tiles
    seen = np.zeros(schedule.planes * rows * columns, bool)
    seen[tile] = True
    missing = np.union1d(np.flatnonzero(~seen), tile[gap])
    return _named(schedule, missing), _named(schedule, np.unique(tile[start < before]))


def _by_element(schedule: Schedule) -> tuple[Ints, Ints]:
    """Count how often every element is computed, on a grid of all edges that occur."""
    assert schedule.tasks.corner is not None
    busy = (schedule.heights > 0) & (schedule.widths > 0)
    heights = schedule.tasks.heights or (schedule.grid.problem[0],)
    base = np.cumsum((0, *heights))
    top = schedule.tasks.corner[0][busy] + base[schedule.batch[busy]]
    left = schedule.tasks.corner[1][busy]
    bottom, right = top + schedule.heights[busy], left + schedule.widths[busy]
    tile_m, tile_n = schedule.grid.tile[:2]
    row_edges = [start + np.arange(0, height, tile_m) for start, height in zip(base[:-1], heights,
                 strict=True)]  # fmt: skip
    ys = np.unique(np.concatenate([*row_edges, base, top, bottom]))
    width = schedule.grid.problem[1]
    xs = np.unique(np.concatenate([np.arange(0, width, tile_n), [width], left, right]))
    times = _times(
        np.searchsorted(ys, np.stack([top, bottom])),
        np.searchsorted(xs, np.stack([left, right])),
        ys,
        xs,
    )
    plane = np.searchsorted(base, ys[:-1], side="right") - 1
    row = (ys[:-1] - base[plane]) // tile_m

    def tiles(cells: NDArray[np.bool_]) -> Ints:
        y, x = np.nonzero(cells)
        numbers = _number(schedule, plane[y], row[y], xs[x] // tile_n)
        return _named(schedule, np.unique(numbers))

    return tiles(times < 1), tiles(times > 1)


def _times(rows: Ints, columns: Ints, ys: Ints, xs: Ints) -> Ints:
    """Return how many rectangles cover each cell between neighbouring edges."""
    shape = len(ys), len(xs)
    top, bottom = rows * len(xs)
    left, right = columns
    begins = np.concatenate([top + left, bottom + right])
    ends = np.concatenate([top + right, bottom + left])
    change = np.bincount(begins, minlength=shape[0] * shape[1])
    change -= np.bincount(ends, minlength=shape[0] * shape[1])
    found: Ints = change.reshape(shape).cumsum(axis=0).cumsum(axis=1)[:-1, :-1]
    return found
