"""CATLASS single-core split-K: every core owns a range of tiles and walks it once per K tile."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Grid, Ints, Tasks, by_round
from tileviz.studies.schedule.policies._catlass import elements, slices
from tileviz.studies.schedule.policies.base import (
    Device,
    Policy,
    StripParameters,
    check_strips,
)
from tileviz.studies.schedule.strips import merged_strips


def _last_strip(grid: Grid, parameters: StripParameters) -> tuple[int, int]:
    """Return the tiles along which strips are cut, and the number of the last strip."""
    rows = parameters.direction == "zn"
    along = grid.rows if rows else grid.columns
    width = parameters.offset
    last = -(-along // width) - 1
    tail = along - last * width
    # A short last strip joins the one before.
    short = tail <= width // 2 if rows else tail < width // 2
    return along, last - (last > 0 and short)


def _coordinates(grid: Grid, index: Ints, parameters: StripParameters) -> tuple[Ints, Ints]:
    """Return tile row and column: strips that snake on both axes."""
    along, last = _last_strip(grid, parameters)
    across, width = grid.tiles // along, parameters.offset
    strip, height, side, deep = merged_strips(index, along, across, width, last=last)
    deep = np.where(strip & 1, across - 1 - deep, deep)
    side = np.where(deep & 1, height - 1 - side, side)
    first = strip * width + side
    return (first, deep) if parameters.direction == "zn" else (deep, first)


def launched(grid: Grid, workers: int, parameters: StripParameters) -> int:
    """Return the number of tasks."""
    return grid.tiles * grid.depth


def tasks(grid: Grid, workers: int, parameters: StripParameters) -> Tasks:
    """Return the tasks: per core its range of tiles, K outermost."""
    start, size = slices(grid.tiles, workers)
    worker, wave, _ = by_round(size * grid.depth)
    k = wave // size[worker]
    m, n = _coordinates(grid, start[worker] + wave - k * size[worker], parameters)
    length = elements(grid, k, np.ones_like(k))
    return Tasks(m, n, k=k, length=length, worker=worker, wave=wave)


def device(grid: Grid, workers: int, parameters: StripParameters) -> Device:
    """Return strips, the last of which may be merged, and the K tile of every task."""
    _, last = _last_strip(grid, parameters)
    values = {
        "offset": parameters.offset,
        "direction": parameters.direction,
        "snake": True,
        "last": last,
        "runs": "ranges",
        "ranges": divmod(grid.tiles, workers),
        "workers": workers,
    }
    return Device("schedule_strips.cuh.jinja", values)


POLICY = Policy(
    name="catlass_single_core_splitk",
    title="CATLASS single-core split-K",
    system="CATLASS",
    rule="Every core owns a range of tiles and adds up one K tile of each before the next.",
    parameters=StripParameters,
    tasks=tasks,
    device=device,
    launched=launched,
    check=check_strips,
    batches=False,
    splits_k=True,
)
