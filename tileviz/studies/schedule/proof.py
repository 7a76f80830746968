"""Proofs that run: every tile exactly once on the real grid, by the kernel's own arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tileviz.cuda.kernel import Array, Buffer, Kernel
from tileviz.cuda.templates import render
from tileviz.studies.design import validated
from tileviz.studies.errors import NotRunnable
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.device import order_values
from tileviz.studies.schedule.grid import Grid, Ints
from tileviz.studies.schedule.kernel import KINDS
from tileviz.studies.schedule.plan import SchedulePlan
from tileviz.studies.schedule.schedule import Schedule

THREADS = 256
SMALL = 8
MOST_TASKS = 1 << 14
MOST_STEPS = 16
MOST_WORK = 1 << 27


def proof_kernel(plan: SchedulePlan) -> Kernel:
    """Return a kernel that walks the whole grid, one thread a task, and computes nothing else.

    It uses the same device function as the product. ``computed`` counts, on top of what it held,
    how often every tile is computed (where tiles or K are cut: how many multiply-adds of it);
    ``tile_of`` names the tile of every task, -1 outside the grid.

    Raises:
        NotRunnable: The order needs a table longer than a kernel's text may be.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.schedule.plan import plan
        >>> proof = proof_kernel(plan(make_design({"study": "schedule", "policy": "catlass",
        ...     "problem": [6, 6, 1], "tile": [1, 1], "offset": 3})))
        >>> proof.reference({"computed": np.zeros(36, np.uint32)})["computed"].tolist() == [1] * 36
        True
    """
    schedule = plan.schedule
    tiles = schedule.planes * schedule.tiles[0] * schedule.tiles[1]
    weighted = schedule.tasks.corner is not None or schedule.tasks.length is not None
    rendered = render(
        "schedule_proof.cu.jinja",
        title=f"{plan.design.chosen.title}: every tile exactly once, {len(schedule)} tasks.",
        weighted=weighted,
        threads=THREADS,
        **order_values(plan),
    )
    return Kernel(
        source=rendered.source,
        entry="visits",
        grid=(-(-len(schedule) // THREADS), 1, 1),
        block=(THREADS, 1, 1),
        parameters=(
            Buffer("computed", "uint32", (tiles,), "inout"),
            Buffer("tile_of", "int32", (len(schedule),), "out"),
        ),
        reference=lambda inputs: _visited(schedule, weighted, inputs),
    )


def _visited(schedule: Schedule, weighted: bool, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return what the kernel should leave: from the plan's arrays, not from the arithmetic."""
    columns = schedule.tiles[1]
    named = (schedule.batch * schedule.tiles[0] + schedule.m) * columns + schedule.n
    busy = schedule.inside & (schedule.heights > 0)
    counts = inputs["computed"].astype(np.int64)
    if weighted:
        np.add.at(counts, named[busy], _work(schedule)[busy])
        _add_parts(schedule, counts)
    else:
        # Once each is the claim; the plan's own coverage proves that it is the plan's too.
        counts += 1
    computed = (counts & 0xFFFFFFFF).astype(np.uint32)
    return {"computed": computed, "tile_of": np.where(busy, named, -1).astype(np.int32)}


def _work(schedule: Schedule) -> Ints:
    """Return multiply-adds per task, modulo 2^32."""
    area = schedule.heights * schedule.widths & 0xFFFFFFFF
    return area * (schedule.lengths & 0xFFFFFFFF) & 0xFFFFFFFF


def _add_parts(schedule: Schedule, counts: Ints) -> None:
    parts = schedule.parts
    if parts is None:
        return
    grid = schedule.grid
    high = np.minimum(grid.tile[0], grid.problem[0] - parts.m * grid.tile[0])
    wide = np.minimum(grid.tile[1], grid.problem[1] - parts.n * grid.tile[1])
    np.add.at(counts, parts.m * schedule.tiles[1] + parts.n, high * wide * parts.length)


def emulated(design: ScheduleDesign) -> ScheduleDesign:
    """Return a design that an emulator runs in seconds: itself, or the same grid of small tiles.

    The grid, its raggedness, the policy and the workers stay; tiles become 8 x 8, and K one tile
    (a few where the policy splits it). A correct product then proves that every tile is written,
    and as there are as many tasks as tiles, exactly once.

    Raises:
        NotRunnable: The grid has too many tasks; `proof_kernel` walks those.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> small = emulated(preset("schedule-ragged").design)
        >>> small.problem, small.tile, (small.grid.rows, small.grid.columns)
        ((150, 188, 8), (8, 8, 8), (19, 24))
    """
    m, n, k = design.problem
    known = design.dtype in KINDS
    if known and m * n * k * design.batch <= MOST_WORK and len(design.problem) == 3:
        return design
    grid = design.grid
    if grid.tiles * grid.batch > MOST_TASKS:
        message = f"a grid of {grid.tiles * grid.batch} tiles; a product of at most {MOST_TASKS}"
        raise NotRunnable(f"{message} is emulated")
    document = design.document()
    document.update(_shrunk(design, grid))
    document["dtype"] = design.dtype if known else "float16"
    return validated(ScheduleDesign, document)


def _shrunk(design: ScheduleDesign, grid: Grid) -> dict[str, Any]:
    """Return the sizes of the same grid in small tiles."""
    if design.policy == "catlass_conv2d":
        raise NotRunnable("a convolution of this size is not emulated; choose a smaller image")
    steps = min(grid.depth, MOST_STEPS) if design.chosen.splits_k else 1
    steps = max(steps, getattr(design.parameters, "splitk", 1))
    heights = getattr(design.parameters, "group_m", None)
    small: dict[str, Any] = {"tile": [SMALL, SMALL, SMALL]}
    rows = _scaled(design.problem[0], design.tile[0])
    if isinstance(heights, tuple):
        small["group_m"] = [_scaled(height, design.tile[0]) for height in heights]
        rows = sum(small["group_m"])
    return {**small, "problem": [rows, _scaled(design.problem[1], design.tile[1]), steps * SMALL]}


def _scaled(size: int, tile: int) -> int:
    """Return a size with as many small tiles, the last as full as before."""
    whole, rest = divmod(size, tile)
    return whole * SMALL + -(-rest * SMALL // tile)
