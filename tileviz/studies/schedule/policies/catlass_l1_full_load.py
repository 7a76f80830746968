"""CATLASS L1 full load: every core walks one contiguous run of the CATLASS order."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Grid, Tasks
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
    """Return the tasks: task ``t`` is round ``t div workers`` of core ``t mod workers``."""
    per_core, rest = divmod(grid.tiles, workers)
    task = count(grid.tiles)
    turn = task // workers
    core = task - turn * workers
    index = core * per_core + np.minimum(core, rest) + turn
    m, n = snaking_strips(grid, index, parameters.offset, parameters.direction)
    return Tasks(m, n)


def device(grid: Grid, workers: int, parameters: StripParameters) -> Device:
    """Return the reference's own arithmetic."""
    values = {
        "offset": parameters.offset,
        "direction": parameters.direction,
        "snake": True,
        "per_worker": divmod(grid.tiles, workers),
        "workers": workers,
    }
    return Device("schedule_strips.cuh.jinja", values)


POLICY = Policy(
    name="catlass_l1_full_load",
    title="CATLASS L1 full load",
    system="CATLASS",
    rule="Every core walks one contiguous run of the CATLASS order, so that it can keep A in L1.",
    parameters=StripParameters,
    tasks=tasks,
    strips=strip_starts,
    check=check_strips,
    device=device,
    batches=False,
)
