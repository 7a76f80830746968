"""TileLang rasterization: snaking panels of rows or columns, the same order as CATLASS strips."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tileviz.studies.schedule.grid import Grid, Tasks, in_batches
from tileviz.studies.schedule.policies._catlass import snaking_strips
from tileviz.studies.schedule.policies.base import (
    UINT32,
    Device,
    Direction,
    Parameters,
    Policy,
    Whole,
    check_offset,
)
from tileviz.studies.schedule.strips import count


class PanelParameters(Parameters):
    """Tiles a panel is wide; ``row`` is ``rasterization2DRow``, ``column`` the other."""

    panel: Whole = Field(default=10, ge=1, le=UINT32)
    axis: Literal["row", "column"] = "row"

    @property
    def direction(self) -> Direction:
        """The CATLASS direction of the same order."""
        return "zn" if self.axis == "row" else "nz"


def check(grid: Grid, workers: int, parameters: PanelParameters) -> None:
    """Refuse a panel beyond 32-bit arithmetic."""
    check_offset(grid, parameters.panel, parameters.direction)


def tasks(grid: Grid, workers: int, parameters: PanelParameters) -> Tasks:
    """Return the tasks."""
    m, n = snaking_strips(grid, count(grid.tiles), parameters.panel, parameters.direction)
    return in_batches(grid, m, n)


def device(grid: Grid, workers: int, parameters: PanelParameters) -> Device:
    """Return the panels as device code."""
    values = {"offset": parameters.panel, "direction": parameters.direction, "snake": True}
    return Device("schedule_strips.cuh.jinja", values)


def strip_starts(grid: Grid, workers: int, parameters: PanelParameters) -> tuple[Direction, range]:
    """Return where each panel begins."""
    along = grid.rows if parameters.direction == "zn" else grid.columns
    return parameters.direction, range(0, along, parameters.panel)


POLICY = Policy(
    name="tilelang_panel",
    title="TileLang panel",
    system="TileLang",
    rule="Snaking panels of rows or columns, the same order as CATLASS Zn and Nz.",
    parameters=PanelParameters,
    tasks=tasks,
    strips=strip_starts,
    check=check,
    device=device,
)
