"""DeepGEMM: strips of 8 or 16, whichever reads less per wave, split for pairs of blocks."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from tileviz.studies.schedule.grid import Grid, Ints, Tasks, in_batches
from tileviz.studies.schedule.policies.base import Device, Direction, Parameters, Policy, Whole
from tileviz.studies.schedule.strips import count, strips

GROUPS = (8, 16)


class DeepGemmParameters(Parameters):
    """Blocks that share loads by TMA multicast, and whether they share A."""

    multicast: Whole = Field(default=1, ge=1, le=2)
    multicast_on_a: bool = False


def usage(grid: Grid, workers: int, on_a: bool) -> tuple[int, int]:
    """Return the rows and columns that one wave reads, for strips of 8 and of 16.

    Example:
        >>> usage(Grid((1088, 1536, 64), (64, 256, 64)), 132, on_a=False)
        (4864, 3328)
    """
    along, across = (grid.tile[1], grid.tile[0]) if on_a else (grid.tile[0], grid.tile[1])
    low, high = (group * along + -(-workers // group) * across for group in GROUPS)
    return low, high


def group_of(grid: Grid, workers: int, parameters: DeepGemmParameters) -> int:
    """Return the strip width: 8 unless 16 reads less."""
    low, high = usage(grid, workers, parameters.multicast_on_a)
    return GROUPS[high < low]


def _paired(task: Ints, along: int, across: int, group: int, multicast: int) -> tuple[Ints, Ints]:
    """Return the position along and across; an odd strip is an even one and one of width 1."""
    strip = task // (group * across)
    rest = task - strip * (group * across)
    start = strip * group
    width = np.minimum(group, along - start)
    if multicast > 1:
        even = width - 1
        odd = (width & 1) == 1
        second = odd & (rest >= even * across)
        rest = np.where(second, rest - even * across, rest)
        start = np.where(second, start + even, start)
        width = np.where(second, 1, np.where(odd, even, width))
    deep = rest // width
    return start + rest - deep * width, deep


def tasks(grid: Grid, workers: int, parameters: DeepGemmParameters) -> Tasks:
    """Return the tasks; a batched product is not swizzled."""
    index = count(grid.tiles)
    on_a = parameters.multicast_on_a
    if grid.batch > 1:
        return in_batches(grid, *_plain(grid, index, on_a))
    group = group_of(grid, workers, parameters)
    along, across = (grid.columns, grid.rows) if on_a else (grid.rows, grid.columns)
    first, deep = _paired(index, along, across, group, parameters.multicast)
    m, n = (deep, first) if on_a else (first, deep)
    low, high = usage(grid, workers, on_a)
    facts = (("strip", f"{group} tiles"), ("rows and columns a wave", f"8: {low}, 16: {high}"))
    return Tasks(m, n, facts=facts)


def _plain(grid: Grid, index: Ints, on_a: bool) -> tuple[Ints, Ints]:
    if on_a:
        return strips(index, grid.rows, grid.columns, 1, snake=False)
    return strips(index, grid.rows, grid.columns, grid.rows, snake=False)


def device(grid: Grid, workers: int, parameters: DeepGemmParameters) -> Device:
    """Return the scheduler's arithmetic as device code."""
    if grid.batch > 1:
        width = 1 if parameters.multicast_on_a else grid.rows
        values = {"offset": width, "direction": "zn", "snake": False}
        return Device("schedule_strips.cuh.jinja", values)
    values = {
        "offset": group_of(grid, workers, parameters),
        "direction": "nz" if parameters.multicast_on_a else "zn",
        "snake": False,
        "paired": parameters.multicast > 1,
    }
    return Device("schedule_strips.cuh.jinja", values)


def strip_starts(
    grid: Grid, workers: int, parameters: DeepGemmParameters
) -> tuple[Direction, range]:
    """Return where each strip begins."""
    step = group_of(grid, workers, parameters)
    if parameters.multicast_on_a:
        return "nz", range(0, grid.columns, step)
    return "zn", range(0, grid.rows, step)


POLICY = Policy(
    name="deepgemm",
    title="DeepGEMM",
    system="DeepGEMM",
    rule="Strips of 8 or 16 tiles, whichever reads less a wave; multicast splits odd strips.",
    parameters=DeepGemmParameters,
    tasks=tasks,
    strips=strip_starts,
    device=device,
)
