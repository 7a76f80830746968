"""CATLASS tail split-K: whole waves as usual, and K split for the tiles of the last, part wave."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Grid, Tasks, in_batches
from tileviz.studies.schedule.policies._catlass import elements, slices, snaking_strips
from tileviz.studies.schedule.policies.base import (
    Device,
    Policy,
    StripParameters,
    check_strips,
    strip_starts,
)
from tileviz.studies.schedule.strips import count


def launched(grid: Grid, workers: int, parameters: StripParameters) -> int:
    """Return the number of tasks."""
    return (grid.tiles + workers) * grid.batch


def _splits(grid: Grid, tail: int, workers: int) -> int:
    """Return the slices of K of a tail tile: as many as keep every core busy."""
    return min(grid.depth, workers // tail) if tail else 1


def tasks(grid: Grid, workers: int, parameters: StripParameters) -> Tasks:
    """Return the tasks: ``normal`` whole tiles, then every slice of every tail tile."""
    tail = grid.tiles % workers
    normal = grid.tiles - tail
    splits = _splits(grid, tail, workers)
    first, size = slices(grid.depth, splits)
    index = np.concatenate([count(normal), normal + np.repeat(count(tail), splits)])
    m, n = snaking_strips(grid, index, parameters.offset, parameters.direction)
    k = np.concatenate([np.zeros(normal, np.int64), np.tile(first, tail)])
    whole = np.full(normal, grid.problem[2], np.int64)
    length = np.concatenate([whole, np.tile(elements(grid, first, size), tail)])
    facts = (("tail tiles", str(tail)), ("slices of K for each", str(splits)))
    made = in_batches(grid, m, n, facts)
    return Tasks(
        made.m,
        made.n,
        made.batch,
        np.tile(k, grid.batch),
        np.tile(length, grid.batch),
        facts=facts,
    )


def device(grid: Grid, workers: int, parameters: StripParameters) -> Device:
    """Return strips, and the slice of K of every task."""
    tail = grid.tiles % workers
    values = {
        "offset": parameters.offset,
        "direction": parameters.direction,
        "snake": True,
        "runs": "tail",
        "normal": grid.tiles - tail,
        "splits": _splits(grid, tail, workers),
    }
    return Device("schedule_strips.cuh.jinja", values)


POLICY = Policy(
    name="catlass_tail_splitk",
    title="CATLASS tail split-K",
    system="CATLASS",
    rule="Tiles of the last, part wave are split along K so that more cores work on it.",
    parameters=StripParameters,
    tasks=tasks,
    device=device,
    strips=strip_starts,
    launched=launched,
    check=check_strips,
    splits_k=True,
)
