"""The order of a plan as values of the CUDA templates: a formula, or a table where none exists."""

from __future__ import annotations

from typing import Any

import numpy as np

from tileviz.studies.errors import NotRunnable
from tileviz.studies.schedule.plan import SchedulePlan

MAX_TABLE = 1 << 15
MAX_CUTS = 1 << 13


def order_values(plan: SchedulePlan) -> dict[str, Any]:
    """Return the values of ``schedule_task.cuh.jinja`` and of the order it includes.

    Raises:
        NotRunnable: The order needs a table longer than a kernel's text may be.
    """
    design, schedule = plan.design, plan.schedule
    (m, n, k), (tile_m, tile_n, tile_k) = design.problem, design.tile
    rows, columns = schedule.tiles
    found: dict[str, Any] = {
        "m": m,
        "n": n,
        "k": k,
        "tile_m": tile_m,
        "tile_n": tile_n,
        "tile_k": tile_k,
        "rows": rows,
        "columns": columns,
        "tasks": len(schedule),
        "batches": design.batch,
        "depth": design.grid.depth,
        "padded": not bool(schedule.inside.all()),
        "parts": 1,
    }
    chosen = design.chosen
    if schedule.tasks.corner is not None:
        return {**found, "cuts": _cuts(plan)}
    if chosen.device is None:
        return {**found, **_table(plan)}
    device = chosen.device(design.grid, design.workers, design.parameters)
    return {**found, **device.values, "order": device.template}


def _table(plan: SchedulePlan) -> dict[str, Any]:
    schedule = plan.schedule
    if len(schedule) > MAX_TABLE:
        message = f"this order is kept in a table, of at most {MAX_TABLE} tasks"
        raise NotRunnable(f"{message}; it has {len(schedule)}")
    # The table holds all batches, so that an order may differ between them.
    numbers = np.where(schedule.inside, schedule.m * schedule.tiles[1] + schedule.n, -1)
    per_batch = numbers.reshape(plan.design.batch, -1)
    same = bool((per_batch == per_batch[0]).all())
    if not same:
        raise NotRunnable("an order that differs between batches has no kernel")
    outside = schedule.tiles[0] * schedule.tiles[1]
    order = [tile if tile >= 0 else outside for tile in per_batch[0].tolist()]
    return {"order": "schedule_table.cuh.jinja", "table": order}


def _cuts(plan: SchedulePlan) -> list[list[int]]:
    """Return batch, tile, corner and size of every task; rows count through all groups."""
    schedule = plan.schedule
    if len(schedule) > MAX_CUTS:
        message = f"cut tiles are kept in a table, of at most {MAX_CUTS} tasks"
        raise NotRunnable(f"{message}; there are {len(schedule)}")
    assert schedule.tasks.corner is not None
    row, column = schedule.tasks.corner
    if schedule.tasks.heights is not None:
        base = np.cumsum((0, *schedule.tasks.heights))
        row = row + base[schedule.batch]
    columns = (schedule.batch, schedule.m, schedule.n, row, column,
               schedule.heights, schedule.widths)  # fmt: skip
    listed: list[list[int]] = np.stack(columns, axis=1).tolist()
    return listed
