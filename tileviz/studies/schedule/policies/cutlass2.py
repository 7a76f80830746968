"""CUTLASS 2.x ``GemmIdentityThreadblockSwizzle``: the grid folded by a power of two."""

from __future__ import annotations

from pydantic import Field

from tileviz.studies.schedule.grid import Grid, Ints, Tasks, in_batches
from tileviz.studies.schedule.policies.base import Device, Direction, Parameters, Policy, Whole
from tileviz.studies.schedule.strips import count


class Cutlass2Parameters(Parameters):
    """An explicit log, or the template's N from which it is picked."""

    log_tile: Whole | None = Field(default=None, ge=0, le=16)
    N: Whole = Field(default=8, ge=1, le=1 << 16)


def picked_log(columns: int, most: int) -> int:
    """Return the log that CUTLASS picks: few blocks that exit at once.

    Example:
        >>> picked_log(6, 8), picked_log(5, 8), picked_log(2, 8), picked_log(6, 1)
        (3, 2, 1, 0)
    """
    for log, least in ((3, 6), (2, 3), (1, 2)):
        if most >= 1 << log and columns >= least:
            return log
    return 0


def log_of(grid: Grid, parameters: Cutlass2Parameters) -> int:
    """Return the log of the fold."""
    if parameters.log_tile is not None:
        return parameters.log_tile
    return picked_log(grid.columns, parameters.N)


def folded(grid: Grid, log: int) -> tuple[Ints, Ints]:
    """Return tile row and column of every launched block, x fastest; some lie outside."""
    wide = grid.rows << log
    block = count(wide * -(-grid.columns >> log))
    y = block // wide
    x = block - y * wide
    return x >> log, (y << log) + (x & ((1 << log) - 1))


def launch(grid: Grid, log: int) -> tuple[int, int]:
    """Return the launch grid, x and y."""
    return grid.rows << log, -(-grid.columns >> log)


def launched(grid: Grid, workers: int, parameters: Cutlass2Parameters) -> int:
    """Return the number of tasks."""
    x, y = launch(grid, log_of(grid, parameters))
    return x * y * grid.batch


def tasks(grid: Grid, workers: int, parameters: Cutlass2Parameters) -> Tasks:
    """Return the launched blocks; those outside the grid exit at once."""
    return made(grid, log_of(grid, parameters))


def made(grid: Grid, log: int) -> Tasks:
    """Return the tasks of a fold by ``2 ** log``."""
    x, y = launch(grid, log)
    facts = (("log_tile", str(log)), ("launch grid", f"{x} x {y}"))
    return in_batches(grid, *folded(grid, log), facts)


def device(grid: Grid, workers: int, parameters: Cutlass2Parameters) -> Device:
    """Return the fold as shifts and a mask."""
    return device_of(grid, log_of(grid, parameters))


def device_of(grid: Grid, log: int) -> Device:
    """Return the device function of a fold."""
    return Device("schedule_fold.cuh.jinja", {"log": log, "wide": launch(grid, log)[0]})


def strip_starts(
    grid: Grid, workers: int, parameters: Cutlass2Parameters
) -> tuple[Direction, range]:
    """Return where each fold begins."""
    return "nz", range(0, grid.columns, 1 << log_of(grid, parameters))


POLICY = Policy(
    name="cutlass2",
    title="CUTLASS 2.x identity",
    system="CUTLASS",
    rule="The launch grid is folded by 2^log_tile columns; blocks outside the grid exit at once.",
    parameters=Cutlass2Parameters,
    tasks=tasks,
    strips=strip_starts,
    launched=launched,
    device=device,
)
