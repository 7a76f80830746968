"""What tasks read: strips of A and B, and the single blocks of runs of K tiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.studies.schedule.grid import Ints
from tileviz.studies.schedule.schedule import Schedule

MAX_BLOCK_READS = 1 << 22


class TooManyReads(ValueError):
    """A split-K order whose reads are too many to follow one by one; the message says how many."""


def strips_read(schedule: Schedule) -> tuple[Ints, Ints, Ints]:
    """Return the strips of A and of B that each task in the grid reads.

    Returns:
        Number of the A strip and of the B strip per task (A strips come first, B strips follow
        on), and the rows or columns of every strip: an edge counts whole. Tasks outside the grid,
        or cut to nothing, have the number -1.
    """
    busy = schedule.inside & (schedule.heights > 0) & (schedule.widths > 0)
    a = np.full(len(schedule), -1, np.int64)
    b = np.full(len(schedule), -1, np.int64)
    sizes = []
    total = 0
    for axis, target in ((0, a), (1, b)):
        numbers, axis_sizes = _strips(schedule, axis, busy)
        target[busy] = numbers + total
        sizes.append(axis_sizes)
        total += len(axis_sizes)
    return a, b, np.concatenate(sizes)


def _strips(schedule: Schedule, axis: int, busy: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return the strip of every busy task on one axis, and the size of every strip."""
    tile = schedule.grid.tile[axis]
    plane, place = schedule.batch[busy], (schedule.m, schedule.n)[axis][busy]
    if schedule.tasks.corner is None:
        key = plane * schedule.tiles[axis] + place
        return numbered(key, np.full(len(key), tile, np.int64))
    # Tiles may be cut further: a strip is then a range of rows, not a tile row.
    start = schedule.tasks.corner[axis][busy]
    size = (schedule.heights, schedule.widths)[axis][busy]
    whole = np.full(schedule.planes, schedule.grid.problem[axis], np.int64)
    if axis == 0 and schedule.tasks.heights is not None:
        whole = np.array(schedule.tasks.heights, dtype=np.int64)
    edge = (start % tile == 0) & (start + size == whole[plane])
    key = (plane * (int(start.max(initial=0)) + 1) + start) * (tile + 1) + size
    return numbered(key, np.where(edge, tile, size))


def numbered(key: Ints, size: Ints) -> tuple[Ints, Ints]:
    """Return a number from 0 on for every key, and the size that belongs to each number.

    Example:
        >>> import numpy as np
        >>> [part.tolist() for part in numbered(np.array([7, 3, 7]), np.array([1, 2, 1]))]
        [[1, 0, 1], [2, 1]]
    """
    if not len(key):
        return key, key
    largest = int(key.max())
    if largest <= 4 * len(key) + (1 << 16):
        sizes = np.zeros(largest + 1, np.int64)
        sizes[key] = size
        used = np.zeros(largest + 1, bool)
        used[key] = True
        number = np.cumsum(used) - 1
        return number[key], sizes[used]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return inverse.reshape(-1), size[first]


def steps_of(schedule: Schedule) -> Ints:
    """Return the K steps of every task."""
    found: Ints = -(-schedule.lengths // schedule.grid.tile[2])
    return found


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of K tiles, one entry a run: the first ones of all tasks, then the second parts.

    Attributes:
        a: Strip of A, or -1 where nothing is read; likewise ``b``, the strip of B.
        k: First K tile.
        steps: Number of K tiles.
        wave: Wave.
        offset: Steps that the worker takes in this wave before the run.
        worker: Worker.
    """

    a: Ints
    b: Ints
    k: Ints
    steps: Ints
    wave: Ints
    offset: Ints
    worker: Ints

    @classmethod
    def of(cls, schedule: Schedule) -> Runs:
        """Return the runs of a schedule."""
        a, b, _ = strips_read(schedule)
        k = np.zeros_like(a) if schedule.tasks.k is None else schedule.tasks.k
        steps, wave, worker = steps_of(schedule), schedule.wave, schedule.worker
        columns = (a, b, k, steps, wave, np.zeros_like(k), worker)
        parts = schedule.parts
        if parts is None:
            return cls(*columns)
        # A part reads the strips of the task that begins its tile.
        owner = np.full(schedule.tiles, -1, np.int64)
        owner[schedule.m, schedule.n] = np.arange(len(schedule))
        own, of = owner[parts.m, parts.n], parts.task
        more = -(-parts.length // schedule.grid.tile[2])
        second = (a[own], b[own], parts.k, more, wave[of], steps[of], worker[of])
        return cls(*(np.concatenate(pair) for pair in zip(columns, second, strict=True)))

    def reads(self, wave: int) -> tuple[Ints, Ints]:
        """Return strip and K tile of every block read from ``wave`` on, in order.

        Raises:
            TooManyReads: More than ``MAX_BLOCK_READS``.
        """
        chosen = np.flatnonzero((self.wave >= wave) & (self.a >= 0))
        steps = self.steps[chosen]
        total = 2 * int(steps.sum())
        if total > MAX_BLOCK_READS:
            raise TooManyReads(f"{total} block reads; at most {MAX_BLOCK_READS} are followed")
        run = np.repeat(chosen, steps)
        step = np.arange(len(run), dtype=np.int64) - np.repeat(np.cumsum(steps) - steps, steps)
        # Workers of a wave step together: by wave, then step, then worker.
        order = np.lexsort((self.worker[run], self.offset[run] + step, self.wave[run]))
        run, step = run[order], step[order]
        strip = np.stack([self.a[run], self.b[run]], axis=1).reshape(-1)
        return strip, np.repeat(self.k[run] + step, 2)
