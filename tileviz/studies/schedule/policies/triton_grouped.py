"""Triton's grouped order: groups of GROUP_SIZE_M rows, column by column, with no snake."""

from __future__ import annotations

from pydantic import Field

from tileviz.studies.schedule.grid import Grid, Tasks, in_batches
from tileviz.studies.schedule.policies.base import (
    UINT32,
    Device,
    Direction,
    Parameters,
    Policy,
    Whole,
)
from tileviz.studies.schedule.strips import count, strips


class GroupedParameters(Parameters):
    """Rows of a group, ``GROUP_SIZE_M``."""

    group_m: Whole = Field(default=8, ge=1, le=UINT32)


def tasks(grid: Grid, workers: int, parameters: GroupedParameters) -> Tasks:
    """Return the tasks; a short last group uses its own height."""
    index = count(grid.tiles)
    m, n = strips(index, grid.rows, grid.columns, parameters.group_m, snake=False)
    return in_batches(grid, m, n)


def device(grid: Grid, workers: int, parameters: GroupedParameters) -> Device:
    """Return the tutorial's arithmetic; a group higher than the grid is the grid."""
    width = min(parameters.group_m, grid.rows)
    return Device("schedule_strips.cuh.jinja", {"offset": width, "direction": "zn", "snake": False})


def strip_starts(
    grid: Grid, workers: int, parameters: GroupedParameters
) -> tuple[Direction, range]:
    """Return where each group of rows begins."""
    return "zn", range(0, grid.rows, parameters.group_m)


POLICY = Policy(
    name="triton_grouped",
    title="Triton grouped",
    system="Triton",
    rule="Groups of GROUP_SIZE_M rows, column by column; a short last group uses its own height.",
    parameters=GroupedParameters,
    tasks=tasks,
    strips=strip_starts,
    device=device,
)
