"""CATLASS split-K: K is cut into slices, and the slices are the outermost loop."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from tileviz.errors import DesignError
from tileviz.studies.schedule.grid import Grid, Tasks
from tileviz.studies.schedule.policies._catlass import elements, slices, snaking_strips
from tileviz.studies.schedule.policies.base import (
    UINT32,
    Device,
    Policy,
    StripParameters,
    Whole,
    check_strips,
    strip_starts,
)
from tileviz.studies.schedule.strips import count


class SplitKParameters(StripParameters):
    """Strips, and the number of slices of K."""

    splitk: Whole = Field(default=1, ge=1, le=UINT32)


def check(grid: Grid, workers: int, parameters: SplitKParameters) -> None:
    """Refuse more slices than K tiles: the reference then gives slices of negative length."""
    check_strips(grid, workers, parameters)
    if parameters.splitk > grid.depth:
        message = f"at most {grid.depth} slices: K has {grid.depth} tiles"
        raise DesignError("splitk", message, parameters.splitk)


def launched(grid: Grid, workers: int, parameters: SplitKParameters) -> int:
    """Return the number of tasks."""
    return grid.tiles * grid.batch * parameters.splitk


def tasks(grid: Grid, workers: int, parameters: SplitKParameters) -> Tasks:
    """Return the tasks: batch, then slice, then strips."""
    m, n = snaking_strips(grid, count(grid.tiles), parameters.offset, parameters.direction)
    first, size = slices(grid.depth, parameters.splitk)
    repeats = grid.batch * parameters.splitk
    k = np.tile(np.repeat(first, grid.tiles), grid.batch)
    length = np.tile(np.repeat(elements(grid, first, size), grid.tiles), grid.batch)
    batch = np.repeat(np.arange(grid.batch, dtype=np.int64), grid.tiles * parameters.splitk)
    return Tasks(
        np.tile(m, repeats),
        np.tile(n, repeats),
        batch if grid.batch > 1 else None,
        k,
        length,
        facts=(("K tiles a slice", f"{size[-1]} to {size[0]}"),),
    )


def device(grid: Grid, workers: int, parameters: SplitKParameters) -> Device:
    """Return strips, and the slice of K of every task."""
    values = {
        "offset": parameters.offset,
        "direction": parameters.direction,
        "snake": True,
        "runs": "slices",
        "splits": parameters.splitk,
    }
    return Device("schedule_strips.cuh.jinja", values)


POLICY = Policy(
    name="catlass_splitk",
    title="CATLASS split-K",
    system="CATLASS",
    rule="`splitk` slices of K, one after the other; each is a whole CATLASS order.",
    parameters=SplitKParameters,
    tasks=tasks,
    device=device,
    strips=strip_starts,
    launched=launched,
    check=check,
    splits_k=True,
)
