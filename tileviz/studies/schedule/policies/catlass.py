"""CATLASS ``GemmIdentityBlockSwizzle``: snaking strips of rows (Zn) or columns (Nz)."""

from __future__ import annotations

from tileviz.studies.schedule.grid import Grid, Tasks, in_batches
from tileviz.studies.schedule.policies._catlass import snaking_strips
from tileviz.studies.schedule.policies.base import (
    Device,
    Policy,
    StripParameters,
    check_strips,
    strip_starts,
)
from tileviz.studies.schedule.strips import count


def tasks(grid: Grid, workers: int, parameters: StripParameters) -> Tasks:
    """Return the tasks; the snake starts again in every batch."""
    m, n = snaking_strips(grid, count(grid.tiles), parameters.offset, parameters.direction)
    return in_batches(grid, m, n)


def device(grid: Grid, workers: int, parameters: StripParameters) -> Device:
    """Return the reference's own arithmetic."""
    values = {"offset": parameters.offset, "direction": parameters.direction, "snake": True}
    return Device("schedule_strips.cuh.jinja", values)


POLICY = Policy(
    name="catlass",
    title="CATLASS",
    system="CATLASS",
    rule="Strips of `offset` rows (Zn) or columns (Nz); every second strip runs backwards.",
    parameters=StripParameters,
    tasks=tasks,
    strips=strip_starts,
    check=check_strips,
    device=device,
)
