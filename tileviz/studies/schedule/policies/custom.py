"""A custom order, tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import field_validator

from tileviz.errors import DesignError
from tileviz.studies.schedule.grid import Grid, Tasks, in_batches
from tileviz.studies.schedule.policies.base import Parameters, Policy

MAX_ORDER = 1 << 18
_LIMIT = 1 << 31


class CustomParameters(Parameters):
    """The tiles in the order in which they are computed: ``[m, n]`` or ``[batch, m, n]`` each."""

    order: tuple[tuple[int, ...], ...]

    @field_validator("order", mode="before")
    @classmethod
    def _tiles(cls, value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= MAX_ORDER:
            allowed = f"a list of 1 to {MAX_ORDER} tiles [m, n] is expected"
            raise DesignError("", allowed, value if not isinstance(value, list) else len(value))
        length = len(value[0]) if isinstance(value[0], (list, tuple)) else 0
        for place, tile in enumerate(value):
            shaped = isinstance(tile, (list, tuple)) and len(tile) == length and length in (2, 3)
            if not shaped or not all(type(part) is int and 0 <= part < _LIMIT for part in tile):
                allowed = "a tile is [m, n], or [batch, m, n] throughout, of numbers from 0 on"
                raise DesignError(str(place), allowed, tile)
        return tuple(map(tuple, value))


def check(grid: Grid, workers: int, parameters: CustomParameters) -> None:
    """Refuse a batch that the design does not have."""
    if len(parameters.order[0]) == 3:
        for place, (batch, *_) in enumerate(parameters.order):
            if batch >= grid.batch:
                message = f"batch {batch} is past the last, {grid.batch - 1}"
                raise DesignError(f"order.{place}", message, list(parameters.order[place]))


def launched(grid: Grid, workers: int, parameters: CustomParameters) -> int:
    """Return the number of tasks."""
    return len(parameters.order) * (grid.batch if len(parameters.order[0]) == 2 else 1)


def tasks(grid: Grid, workers: int, parameters: CustomParameters) -> Tasks:
    """Return the tasks as given; an order of [m, n] is repeated for every batch."""
    order = np.array(parameters.order, dtype=np.int64)
    if order.shape[1] == 2:
        return in_batches(grid, order[:, 0].copy(), order[:, 1].copy())
    return Tasks(order[:, 1].copy(), order[:, 2].copy(), order[:, 0].copy())


POLICY = Policy(
    name="custom",
    title="Custom",
    system="yours",
    rule="The tiles in the order that `order` lists.",
    parameters=CustomParameters,
    tasks=tasks,
    launched=launched,
    check=check,
)
