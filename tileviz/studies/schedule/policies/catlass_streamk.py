"""CATLASS stream-K: the K tiles of the last, part wave are shared out evenly over all cores."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Grid, Parts, Tasks
from tileviz.studies.schedule.policies._catlass import elements, slices, snaking_strips
from tileviz.studies.schedule.policies.base import (
    Device,
    Policy,
    StripParameters,
    check_strips,
    strip_starts,
)
from tileviz.studies.schedule.strips import count


def tasks(grid: Grid, workers: int, parameters: StripParameters) -> Tasks:
    """Return the tasks: whole tiles, then runs of K tiles that may go on into the next tile."""
    tail, depth = grid.tiles % workers, grid.depth
    normal = grid.tiles - tail
    streaming = min(tail * depth, workers)
    start, size = slices(tail * depth, workers)
    start, size = start[:streaming], size[:streaming]
    tile, k = start // depth, start % depth
    here = np.minimum(size, depth - k)
    index = np.concatenate([count(normal), normal + tile])
    m, n = snaking_strips(grid, index, parameters.offset, parameters.direction)
    length = np.concatenate([np.full(normal, grid.problem[2], np.int64), elements(grid, k, here)])
    on = np.flatnonzero(size > here)
    next_m, next_n = snaking_strips(
        grid, normal + tile[on] + 1, parameters.offset, parameters.direction
    )
    ahead = (size - here)[on]
    zero = np.zeros_like(ahead)
    parts = Parts(normal + on, next_m, next_n, zero, elements(grid, zero, ahead))
    facts = (
        ("whole tiles", str(normal)),
        ("stream-K tiles", str(tail)),
        ("K tiles a worker of them", f"{tail * depth / workers:.3g}"),
    )
    return Tasks(
        m,
        n,
        k=np.concatenate([np.zeros(normal, np.int64), k]),
        length=length,
        parts=parts if len(on) else None,
        facts=facts,
    )


def device(grid: Grid, workers: int, parameters: StripParameters) -> Device:
    """Return strips, and the K tiles of every task and of the tile it runs on into."""
    tail = grid.tiles % workers
    values = {
        "offset": parameters.offset,
        "direction": parameters.direction,
        "snake": True,
        "runs": "stream",
        "normal": grid.tiles - tail,
        "share": divmod(tail * grid.depth, workers),
        "parts": 2,
    }
    return Device("schedule_strips.cuh.jinja", values)


POLICY = Policy(
    name="catlass_streamk",
    title="CATLASS stream-K",
    system="CATLASS",
    rule="The K tiles of the last, part wave are dealt out evenly; a worker may cross into a tile.",
    parameters=StripParameters,
    tasks=tasks,
    device=device,
    strips=strip_starts,
    check=check_strips,
    batches=False,
    splits_k=True,
)
