"""CATLASS tail split-K: whole waves as usual, and K split for the tiles of the last, part wave."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Grid, Tasks, in_batches
from tileviz.studies.schedule.policies._catlass import elements, slices, snaking_strips
from tileviz.studies.schedule.policies.base import (
    Policy,
    StripParameters,
    check_strips,
    strip_starts,
)
from tileviz.studies.schedule.strips import count


def launched(grid: Grid, workers: int, parameters: StripParameters) -> int:
    """Return the number of tasks."""
    return (grid.tiles + workers) * grid.batch


def tasks(grid: Grid, workers: int, parameters: StripParameters) -> Tasks:
    """Return the tasks: ``normal`` whole tiles, then every slice of every tail tile."""
    tail = grid.tiles % workers
    normal = grid.tiles - tail
    splits = min(grid.depth, workers // tail) if tail else 1
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


POLICY = Policy(
    name="catlass_tail_splitk",
    title="CATLASS tail split-K",
    system="CATLASS",
    rule="Tiles of the last, part wave are split along K so that more cores work on it.",
    parameters=StripParameters,
    tasks=tasks,
    strips=strip_starts,
    launched=launched,
    check=check_strips,
    splits_k=True,
)
