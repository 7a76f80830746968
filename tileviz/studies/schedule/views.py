"""A plan as arrays that can be drawn: the order map, a wave, strips, tails, the L2 curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tileviz.studies.schedule.grid import Ints
from tileviz.studies.schedule.plan import SchedulePlan

CURVE_SHARES = (1 / 6, 1 / 3, 1 / 2, 2 / 3, 1.0, 4 / 3, 2.0)


@dataclass(frozen=True, eq=False)
class WaveView:
    """What one wave does.

    Attributes:
        wave: Number of the wave.
        tasks: Its tasks, in order.
        m: Tile row of every task; likewise ``n``, the tile column.
        rows: Distinct tile rows whose strip of A it reads; likewise ``columns``, of B.
        footprint_bytes: Distinct bytes it reads.
    """

    wave: int
    tasks: Ints
    m: Ints
    n: Ints
    rows: Ints
    columns: Ints
    footprint_bytes: int


@dataclass(frozen=True)
class Strips:
    """Strips of tiles: on which axis they are cut, and where each begins.

    Attributes:
        axis: ``"rows"`` where strips are runs of tile rows, else ``"columns"``.
        starts: First tile row or column of every strip.
    """

    axis: Literal["rows", "columns"]
    starts: tuple[int, ...]


def order_map(plan: SchedulePlan, batch: int = 0) -> Ints:
    """Return the number of the task that first computes each tile, or -1: ``[row, column]``.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.schedule.plan import plan
        >>> made = plan(make_design({"study": "schedule", "problem": [2, 2, 1], "tile": [1, 1],
        ...                          "policy": "catlass", "offset": 1}))
        >>> order_map(made).tolist()
        [[0, 1], [3, 2]]
    """
    schedule = plan.schedule
    found = np.full(schedule.tiles, -1, np.int64)
    chosen = np.flatnonzero(schedule.inside & (schedule.batch == batch))[::-1]
    # Written last to first, so that the first task of a tile stays.
    found[schedule.m[chosen], schedule.n[chosen]] = chosen
    return found


def worker_map(plan: SchedulePlan, batch: int = 0) -> Ints:
    """Return the worker that first computes each tile, or -1: ``[row, column]``."""
    tasks = order_map(plan, batch)
    return np.where(tasks >= 0, plan.schedule.worker[np.maximum(tasks, 0)], -1)


def wave_view(plan: SchedulePlan, wave: int) -> WaveView:
    """Return what a wave computes and reads.

    Args:
        plan: A plan.
        wave: 0 to the number of waves, exclusive.

    Raises:
        ValueError: There is no such wave.
    """
    schedule = plan.schedule
    if not 0 <= wave < schedule.waves:
        raise ValueError(f"no wave {wave} of {schedule.waves}")
    tasks = np.flatnonzero(schedule.wave == wave)
    inside = tasks[schedule.inside[tasks]]
    m, n = schedule.m[inside], schedule.n[inside]
    footprint = int(plan.metrics.footprints[wave])
    return WaveView(wave, inside, m, n, np.unique(m), np.unique(n), footprint)


def strips(plan: SchedulePlan) -> Strips | None:
    """Return the strips of a plan, or None where its policy has none.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.schedule.plan import plan
        >>> made = plan(make_design({"study": "schedule", "problem": [7, 2, 1], "tile": [1, 1],
        ...                          "policy": "triton_grouped", "group_m": 3}))
        >>> strips(made)
        Strips(axis='rows', starts=(0, 3, 6))
    """
    find = plan.design.chosen.strips
    if find is None:
        return None
    direction, starts = find(plan.design.grid, plan.design.workers, plan.design.parameters)
    return Strips("rows" if direction == "zn" else "columns", tuple(starts))


def tails(plan: SchedulePlan) -> tuple[int, int]:
    """Return rows of the last tile row and columns of the last tile column, 0 where whole."""
    (m, n, _), (tile_m, tile_n, _) = plan.design.problem, plan.design.tile
    return m % tile_m, n % tile_n


def l2_curve(plan: SchedulePlan, sizes: Sequence[int] | None = None) -> tuple[Ints, list[float]]:
    """Return hit rates of caches of several sizes, by default around the design's.

    Returns:
        Sizes in bytes, and hit rates from 0 to 1; no rates where the order is too long to follow.
    """
    chosen = sizes or [max(1, round(share * plan.design.l2_bytes)) for share in CURVE_SHARES]
    found = [plan.metrics.l2(size) for size in chosen]
    return np.array(chosen), [misses.hit_rate for misses in found if misses is not None]
