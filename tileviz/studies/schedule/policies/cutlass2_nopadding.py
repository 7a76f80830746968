"""CUTLASS 2.x without padding: the widest fold that divides the tiles along N."""

from __future__ import annotations

from pydantic import Field

from tileviz.studies.schedule.grid import Grid, Tasks
from tileviz.studies.schedule.policies.base import Device, Direction, Parameters, Policy, Whole
from tileviz.studies.schedule.policies.cutlass2 import device_of, made


class NoPaddingParameters(Parameters):
    """The template's N: the widest fold tried."""

    N: Whole = Field(default=8, ge=1, le=1 << 16)


def log_of(grid: Grid, parameters: NoPaddingParameters) -> int:
    """Return the log of the widest fold that leaves no block outside."""
    fits = (log for log in (3, 2, 1) if 1 << log <= parameters.N and not grid.columns % (1 << log))
    return next(fits, 0)


def tasks(grid: Grid, workers: int, parameters: NoPaddingParameters) -> Tasks:
    """Return the launched blocks."""
    return made(grid, log_of(grid, parameters))


def device(grid: Grid, workers: int, parameters: NoPaddingParameters) -> Device:
    """Return the fold as shifts and a mask."""
    return device_of(grid, log_of(grid, parameters))


def strip_starts(
    grid: Grid, workers: int, parameters: NoPaddingParameters
) -> tuple[Direction, range]:
    """Return where each fold begins."""
    return "nz", range(0, grid.columns, 1 << log_of(grid, parameters))


POLICY = Policy(
    name="cutlass2_nopadding",
    title="CUTLASS 2.x, no padding",
    system="CUTLASS",
    rule="As CUTLASS 2.x, with the widest fold that divides the tiles along N.",
    parameters=NoPaddingParameters,
    tasks=tasks,
    strips=strip_starts,
    device=device,
)
