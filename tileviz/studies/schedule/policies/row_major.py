"""Row-major order: the baseline."""

from __future__ import annotations

from tileviz.studies.schedule.grid import Grid, Tasks, in_batches
from tileviz.studies.schedule.policies._curves import all_tiles
from tileviz.studies.schedule.policies.base import Device, Parameters, Policy


def tasks(grid: Grid, workers: int, parameters: Parameters) -> Tasks:
    """Return the tasks, columns fastest."""
    return in_batches(grid, *all_tiles(grid))


def device(grid: Grid, workers: int, parameters: Parameters) -> Device:
    """Return strips of one row, with no snake."""
    return Device("schedule_strips.cuh.jinja", {"offset": 1, "direction": "zn", "snake": False})


POLICY = Policy(
    name="row_major",
    title="Row-major",
    system="baseline",
    rule="Row after row.",
    parameters=Parameters,
    tasks=tasks,
    device=device,
)
