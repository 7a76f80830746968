"""A schedule: the tasks of a policy, with everything about them filled in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.grid import Grid, Ints, Parts, Tasks


@dataclass(frozen=True, eq=False)
class Schedule:
    """The tasks of a design in the order in which they start, one array entry a task.

    Attributes:
        grid: The grid of tiles.
        workers: Number of workers.
        tasks: What the policy decided.
    """

    grid: Grid
    workers: int
    tasks: Tasks

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def m(self) -> Ints:
        """Tile row."""
        return self.tasks.m

    @property
    def n(self) -> Ints:
        """Tile column."""
        return self.tasks.n

    @property
    def parts(self) -> Parts | None:
        """Second parts of tasks that run on into another tile."""
        return self.tasks.parts

    @property
    def tiles(self) -> tuple[int, int]:
        """Tile rows and columns of the real grid (of the highest group)."""
        return self.tasks.tiles or (self.grid.rows, self.grid.columns)

    @property
    def planes(self) -> int:
        """Number of batches or groups."""
        return self.grid.batch if self.tasks.heights is None else len(self.tasks.heights)

    @cached_property
    def batch(self) -> Ints:
        """Batch or group."""
        given = self.tasks.batch
        return np.zeros(len(self), np.int64) if given is None else given

    @cached_property
    def rows_of(self) -> Ints:
        """Tile rows of every plane."""
        if self.tasks.heights is None:
            return np.full(self.planes, self.tiles[0], np.int64)
        heights = np.array(self.tasks.heights, dtype=np.int64)
        return -(-heights // self.grid.tile[0])

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Whether the task's tile lies in the real grid."""
        return (self.m < self.rows_of[self.batch]) & (self.n < self.tiles[1])

    @cached_property
    def heights(self) -> Ints:
        """Rows really computed; 0 outside the grid."""
        return self._extent(0)

    @cached_property
    def widths(self) -> Ints:
        """Columns really computed; 0 outside the grid."""
        return self._extent(1)

    def _extent(self, axis: int) -> Ints:
        if self.tasks.extent is not None:
            return self.tasks.extent[axis]
        tile, whole = self.grid.tile[axis], self.grid.problem[axis]
        place = self.m if axis == 0 else self.n
        return np.clip(whole - place * tile, 0, tile)

    @cached_property
    def lengths(self) -> Ints:
        """K elements."""
        given = self.tasks.length
        return np.full(len(self), self.grid.problem[2], np.int64) if given is None else given

    @cached_property
    def worker(self) -> Ints:
        """Worker that computes the task."""
        if self.tasks.worker is not None:
            return self.tasks.worker
        return np.arange(len(self), dtype=np.int64) % self._turns

    @cached_property
    def wave(self) -> Ints:
        """Wave: how many tasks the worker has done before."""
        if self.tasks.wave is not None:
            return self.tasks.wave
        return np.arange(len(self), dtype=np.int64) // self._turns

    @property
    def _turns(self) -> int:
        return self.tasks.turns or self.workers

    @cached_property
    def waves(self) -> int:
        """Number of waves."""
        return int(self.wave.max()) + 1 if len(self) else 0

    @cached_property
    def work(self) -> NDArray[np.float64]:
        """Multiply-adds per task, second part included; they may exceed 64 bits."""
        done = self.heights.astype(np.float64) * self.widths * self.lengths
        parts = self.parts
        if parts is not None:
            high = np.clip(self.grid.problem[0] - parts.m * self.grid.tile[0], 0, self.grid.tile[0])
            wide = np.clip(self.grid.problem[1] - parts.n * self.grid.tile[1], 0, self.grid.tile[1])
            done[parts.task] += high.astype(np.float64) * wide * parts.length
        return done

    def per_core(self) -> list[list[int]]:
        """Return the tasks of every worker, in order; idle workers have none."""
        order = np.argsort(self.worker, kind="stable")
        counts = np.bincount(self.worker, minlength=self.workers)
        return [part.tolist() for part in np.split(order, np.cumsum(counts)[:-1])]


def schedule_of(design: ScheduleDesign) -> Schedule:
    """Return the schedule of a design.

    Example:
        >>> from tileviz.studies.design import validated
        >>> design = validated(ScheduleDesign, {"problem": [3, 2, 1], "tile": [1, 1],
        ...                                     "policy": "catlass", "offset": 2})
        >>> made = schedule_of(design)
        >>> list(zip(made.m.tolist(), made.n.tolist()))
        [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (2, 0)]
    """
    grid = design.grid
    return Schedule(
        grid, design.workers, design.chosen.tasks(grid, design.workers, design.parameters)
    )
