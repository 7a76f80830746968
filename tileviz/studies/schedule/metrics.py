"""What a schedule costs: footprint of every wave, L2 hit rate, balance, padding, coverage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.studies.schedule.coverage import Coverage, coverage
from tileviz.studies.schedule.grid import Ints
from tileviz.studies.schedule.lru import Misses, ReuseDistances
from tileviz.studies.schedule.reads import reuse_distances
from tileviz.studies.schedule.runs import Runs, TooManyReads, strips_read
from tileviz.studies.schedule.schedule import Schedule
from tileviz.studies.schedule.tail import TailDistances

NEAR_CAPACITY = 0.8
EDGES = "edges count as whole tiles"
NOTE = "near the capacity the model is optimistic: real caches are not fully associative"


@dataclass(frozen=True, eq=False)
class Metrics:
    """Exact figures of a schedule; each is computed when first asked for.

    Attributes:
        schedule: The schedule.
        bits: Bits of an element of A and B.
        l2_bytes: Size of the cache.

    Example:
        >>> from tileviz.studies.design import validated
        >>> from tileviz.studies.schedule.design import ScheduleDesign
        >>> from tileviz.studies.schedule.schedule import schedule_of
        >>> design = validated(ScheduleDesign, {"problem": [9, 9, 9], "tile": [1, 1, 1],
        ...     "policy": "triton_grouped", "group_m": 3, "workers": 9, "dtype": "int8"})
        >>> int(Metrics(schedule_of(design), 8, 1 << 20).footprints[0])
        54
    """

    schedule: Schedule
    bits: int
    l2_bytes: int

    @cached_property
    def footprints(self) -> Ints:
        """Distinct bytes of A and B that each wave reads: ``[wave]``."""
        schedule = self.schedule
        if schedule.tasks.length is None:
            return self._whole_footprints()
        runs = Runs.of(schedule)
        _, _, sizes = strips_read(schedule)
        busy = runs.a >= 0
        strip = np.concatenate([runs.a[busy], runs.b[busy]])
        wave, start = np.tile(runs.wave[busy], 2), np.tile(runs.k[busy], 2)
        depth, step = schedule.grid.problem[2], schedule.grid.tile[2]
        stop = np.minimum((start + np.tile(runs.steps[busy], 2)) * step, depth)
        fresh = _fresh_length(wave * len(sizes) + strip, start * step, stop, depth)
        found = np.zeros(schedule.waves, np.int64)
        np.add.at(found, wave, sizes[strip] * fresh * self.bits)
        return -(-found // 8)

    def _whole_footprints(self) -> Ints:
        """Return the footprints where every task reads its strips whole: one event a strip."""
        schedule, distances = self.schedule, self._distances
        assert isinstance(distances, ReuseDistances)
        events = distances.events
        sizes = distances.stream.weight[events.item] // schedule.grid.tile[2]
        found = np.zeros(schedule.waves, np.int64)
        np.add.at(found, events.wave, sizes * schedule.grid.problem[2])
        return -(-found // 8)

    @cached_property
    def _distances(self) -> ReuseDistances | TailDistances | TooManyReads:
        try:
            return reuse_distances(self.schedule, self.bits)
        except TooManyReads as reason:
            return reason

    def l2(self, l2_bytes: int | None = None) -> Misses | None:
        """Return what a cache misses, or None where a split-K order is too long to follow.

        Args:
            l2_bytes: Size of the cache; None for the design's.
        """
        found = self._distances
        if isinstance(found, TooManyReads):
            return None
        return found.misses(8 * (self.l2_bytes if l2_bytes is None else l2_bytes))

    @cached_property
    def misses(self) -> Misses | None:
        """What the design's cache misses."""
        return self.l2()

    @property
    def l2_note(self) -> str:
        """Why there is no hit rate, or a warning where the model is optimistic; else empty."""
        if isinstance(self._distances, TooManyReads):
            return str(self._distances)
        largest = int(self.footprints.max(initial=0))
        near = self.l2_bytes * NEAR_CAPACITY <= largest <= self.l2_bytes / NEAR_CAPACITY
        return NOTE if near else ""

    @property
    def edges_note(self) -> str:
        """That sizes count what edge tiles only partly fill as whole; "" where tiles divide all."""
        grid = self.schedule.grid
        fits = all(a % b == 0 for a, b in zip(grid.problem, grid.tile, strict=True))
        return "" if fits else EDGES

    @property
    def operand_bytes(self) -> int:
        """Bytes of A and B, whole tiles, each once: what any order must load."""
        if isinstance(self._distances, ReuseDistances):
            return -(-self._distances.once // 8)
        _, _, sizes = strips_read(self.schedule)
        depth = self.schedule.grid.depth * self.schedule.grid.tile[2]
        return -(-int(sizes.sum()) * depth * self.bits // 8)

    @property
    def read_bytes(self) -> int:
        """Bytes that all workers read in all, whole blocks."""
        if not isinstance(self._distances, TooManyReads):
            return -(-self._distances.read // 8)
        runs = Runs.of(self.schedule)
        _, _, sizes = strips_read(self.schedule)
        busy = runs.a >= 0
        rows = (sizes[runs.a[busy]] + sizes[runs.b[busy]]) * runs.steps[busy]
        return -(-int(rows.sum()) * self.schedule.grid.tile[2] * self.bits // 8)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Multiply-adds of every worker: ``[worker]``."""
        schedule = self.schedule
        return np.bincount(
            schedule.worker, weights=schedule.work, minlength=schedule.workers
        ).astype(np.float64)

    @property
    def balance(self) -> float:
        """Most work of a worker over the mean of all workers."""
        mean = float(self.shares.mean())
        return float(self.shares.max()) / mean if mean else 1.0

    @cached_property
    def coverage(self) -> Coverage:
        """Which tiles are missed, repeated or outside."""
        return coverage(self.schedule)

    @property
    def padding(self) -> float:
        """Share of launched tasks whose tile lies outside the grid."""
        return self.coverage.outside / len(self.schedule) if len(self.schedule) else 0.0

    def figures(self) -> dict[str, float | int | None]:
        """Return every figure that is one number, by its name in the results."""
        missed = self.misses
        return {
            "l2_hit_rate": None if missed is None else missed.hit_rate,
            "miss_bytes": None if missed is None else missed.missed_bytes,
            "balance": self.balance,
            "waves": self.schedule.waves,
            "mean_wave_footprint_bytes": float(self.footprints.mean()) if len(self.schedule) else 0,
            "padding": self.padding,
        }

    def to_json(self) -> dict[str, Any]:
        """Return the ``metrics`` object of the results."""
        figures = self.figures()
        note = self.l2_note
        return {
            "wave_footprint_bytes": self.footprints.tolist(),
            **figures,
            "coverage": self.coverage.to_json(),
            "operand_bytes": self.operand_bytes,
            **({"edges_note": self.edges_note} if self.edges_note else {}),
            **({"l2_note": note} if note else {}),
        }


def _fresh_length(group: Ints, start: Ints, stop: Ints, whole: int) -> Ints:
    """Return how much of each interval no other of its group has covered before it.

    Args:
        group: Group of every interval.
        start: Where it begins, 0 or more; likewise ``stop``, where it ends.
        whole: Largest end possible.

    Example:
        >>> import numpy as np
        >>> start, stop = np.array([0, 2, 0]), np.array([4, 6, 4])
        >>> _fresh_length(np.array([7, 7, 7]), start, stop, 6).tolist()
        [4, 2, 0]
    """
    order = np.lexsort((start, group))
    number = np.cumsum(np.diff(group[order], prepend=-1) != 0)
    # All groups on one line, a stretch of their own each.
    line = number * (whole + 1)
    reach = np.maximum.accumulate(line + stop[order])
    before = np.maximum(np.concatenate([[0], reach[:-1]]), line + start[order])
    fresh = np.zeros_like(start)
    fresh[order] = np.maximum(line + stop[order] - before, 0)
    return fresh
