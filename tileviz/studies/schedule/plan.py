"""The schedule plan: the order of the tasks, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.grid import Ints
from tileviz.studies.schedule.metrics import Metrics
from tileviz.studies.schedule.schedule import Schedule, schedule_of


@dataclass(frozen=True, eq=False)
class SchedulePlan:
    """Everything decided about a schedule design.

    Attributes:
        design: The design.
        schedule: Its tasks in order.
        metrics: What the order costs; each figure is computed when first asked for.
    """

    design: ScheduleDesign
    schedule: Schedule
    metrics: Metrics

    @cached_property
    def baseline(self) -> Metrics:
        """What row-major order costs on the same grid."""
        return plan(self.design.with_policy("row_major")).metrics

    def order(self) -> list[list[int]]:
        """Return the tile of every task: ``[m, n]``, batch first and first K tile last if any."""
        schedule, tasks = self.schedule, self.schedule.tasks
        columns = [schedule.m, schedule.n]
        if schedule.planes > 1:
            columns.insert(0, schedule.batch)
        if self.design.chosen.splits_k:
            columns.append(np.zeros_like(tasks.m) if tasks.k is None else tasks.k)
        return _listed(columns)

    def shapes(self) -> list[list[int]]:
        """Return rows, columns and K elements that every task really computes."""
        schedule = self.schedule
        # Few sizes occur, each combination is listed once and shared: millions fit in memory.
        shared: list[list[int]] = [[]]
        which = np.zeros(len(schedule), np.int64)
        for column in (schedule.heights, schedule.widths, schedule.lengths):
            sizes, place = np.unique(column, return_inverse=True)
            shared = [[*begun, size] for begun in shared for size in sizes.tolist()]
            which = which * len(sizes) + place.reshape(-1)
        return [shared[kind] for kind in which.tolist()]

    def scalars(self) -> dict[str, float | int | None]:
        """Return every figure that is one number, by name."""
        return self.metrics.figures()

    def to_json(self) -> dict[str, Any]:
        """Return the ``schedule`` object of the results."""
        schedule = self.schedule
        document = {
            "study": "schedule",
            "policy": self.design.policy,
            "tiles": list(schedule.tiles),
            "count": len(schedule),
            "order": self.order(),
            "per_core": schedule.per_core(),
            "shapes": self.shapes(),
            "metrics": self.metrics.to_json(),
            "facts": dict(schedule.tasks.facts),
        }
        parts, corner = schedule.parts, schedule.tasks.corner
        if parts is not None:
            columns = (parts.task, parts.m, parts.n, parts.k, parts.length)
            document["parts"] = np.stack(columns, axis=1).tolist()
        if corner is not None:
            document["corners"] = np.stack(corner, axis=1).tolist()
        return document


def plan(design: ScheduleDesign) -> SchedulePlan:
    """Order the tiles of a design.

    Example:
        >>> from tileviz.studies.design import validated
        >>> design = validated(ScheduleDesign, {"problem": [6, 6, 1], "tile": [1, 1],
        ...     "policy": "catlass", "offset": 3, "workers": 20})
        >>> made = plan(design)
        >>> made.order()[:4], made.metrics.coverage.exact
        ([[0, 0], [1, 0], [2, 0], [0, 1]], True)
    """
    schedule = schedule_of(design)
    return SchedulePlan(design, schedule, Metrics(schedule, design.bits, design.l2_bytes))


def _listed(columns: list[Ints]) -> list[list[int]]:
    """Return columns as rows of plain integers, equal ones shared."""
    largest = max((int(column.max(initial=0)) for column in columns), default=0)
    if largest >= len(columns[0]) + (1 << 16):
        return [list(row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    shared = list(range(largest + 1))
    plain = [map(shared.__getitem__, column.tolist()) for column in columns]
    return list(map(list, zip(*plain, strict=True)))
