"""Column-major order: the other baseline."""

from __future__ import annotations

from tileviz.studies.schedule.grid import Grid, Tasks, in_batches
from tileviz.studies.schedule.policies._curves import all_tiles
from tileviz.studies.schedule.policies.base import Device, Parameters, Policy


def tasks(grid: Grid, workers: int, parameters: Parameters) -> Tasks:
    """Return the tasks, rows fastest."""
    n, m = all_tiles(grid.transposed)
    return in_batches(grid, m, n)


def device(grid: Grid, workers: int, parameters: Parameters) -> Device:
    """Return strips of one column, with no snake."""
    return Device("schedule_strips.cuh.jinja", {"offset": 1, "direction": "nz", "snake": False})


POLICY = Policy(
    name="column_major",
    title="Column-major",
    system="baseline",
    rule="Column after column.",
    parameters=Parameters,
    tasks=tasks,
    device=device,
)
