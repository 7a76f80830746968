"""CATLASS column: whole tile columns per core; the columns left over are split over all cores."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Grid, Tasks, by_round
from tileviz.studies.schedule.policies._catlass import slices
from tileviz.studies.schedule.policies.base import Parameters, Policy


def launched(grid: Grid, workers: int, parameters: Parameters) -> int:
    """Return the number of tasks."""
    width, step = grid.problem[1], workers * grid.tile[1]
    return grid.rows * (width // step * workers + min(width % step, workers))


def tasks(grid: Grid, workers: int, parameters: Parameters) -> Tasks:
    """Return the tasks: per core its whole columns, then its share of the columns left over."""
    height, width = grid.problem[:2]
    tile_m, tile_n = grid.tile[:2]
    own = width // (workers * tile_n)
    left = own * workers * tile_n
    offset, share = slices(width - left, workers)
    worker, wave, _ = by_round((own + (share > 0)) * grid.rows)
    step = wave // grid.rows
    m = wave - step * grid.rows
    tail = step == own
    n = np.where(tail, own * workers, worker * own + step)
    row = m * tile_m
    return Tasks(
        m,
        n,
        corner=(row, np.where(tail, left + offset[worker], n * tile_n)),
        extent=(np.minimum(row + tile_m, height) - row, np.where(tail, share[worker], tile_n)),
        worker=worker,
        wave=wave,
        facts=(
            ("whole tile columns a core", str(own)),
            ("columns of N split over all cores", str(width - left)),
        ),
    )


POLICY = Policy(
    name="catlass_column",
    title="CATLASS column",
    system="CATLASS",
    rule="Whole tile columns per core; the columns left over are split evenly over all cores.",
    parameters=Parameters,
    tasks=tasks,
    launched=launched,
    batches=False,
)
