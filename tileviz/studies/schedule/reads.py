"""The reuse distances of a schedule: which closed form fits the way it reads A and B."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Ints
from tileviz.studies.schedule.lru import ReuseDistances, Stream
from tileviz.studies.schedule.runs import Runs, numbered, steps_of, strips_read
from tileviz.studies.schedule.schedule import Schedule
from tileviz.studies.schedule.tail import TailDistances


def reuse_distances(schedule: Schedule, bits: int) -> ReuseDistances | TailDistances:
    """Return the reuse distances of a schedule's reads.

    Args:
        schedule: The schedule.
        bits: Bits of one element of A and B.

    Raises:
        TooManyReads: Tasks split K unevenly, and their reads are too many to follow one by one.
    """
    if schedule.tasks.length is None:
        return ReuseDistances(strip_stream(schedule, bits), schedule.grid.depth)
    steps = steps_of(schedule)
    fewest = int(steps.min())
    even = schedule.parts is None and int(steps.max()) <= fewest + 1
    if even and _disjoint(schedule, steps):
        return ReuseDistances(strip_stream(schedule, bits), fewest)
    return _with_tail(schedule, bits)


def strip_stream(schedule: Schedule, bits: int) -> Stream:
    """Return the reads of one K step: each task's strip of A, then its strip of B.

    Where K is cut into slices, the slices of a strip are strips of their own.
    """
    a, b, sizes = strips_read(schedule)
    busy = a >= 0
    item = np.stack([a[busy], b[busy]], axis=1).reshape(-1)
    wave = np.repeat(schedule.wave[busy], 2)
    weight = sizes * (schedule.grid.tile[2] * bits)
    if schedule.tasks.k is None:
        return Stream(item, weight, wave)
    key = item * schedule.grid.depth + np.repeat(schedule.tasks.k[busy], 2)
    number, slice_weight = numbered(key, weight[item])
    steps = np.repeat(steps_of(schedule)[busy], 2)
    longer = np.zeros(len(slice_weight), bool)
    longer[number] = steps > steps.min(initial=1 << 62)
    if not longer.any() and steps.max(initial=1) == 1:
        # A single step: waves do not matter, and one plain stream is quicker.
        wave = np.zeros_like(wave)
    return Stream(number, slice_weight, wave, longer if longer.any() else None)


def _disjoint(schedule: Schedule, steps: Ints) -> bool:
    """Return whether runs of K that overlap are the same run."""
    k = schedule.tasks.k
    if k is None or not len(k):
        return True
    start, first, number = np.unique(k, return_index=True, return_inverse=True)
    length = steps[first]
    same = bool((steps == length[number.reshape(-1)]).all())
    return same and bool((start[1:] >= (start + length)[:-1]).all())


def _with_tail(schedule: Schedule, bits: int) -> TailDistances:
    """Return the distances of whole tiles up to the first wave with parts, and of all behind."""
    runs = Runs.of(schedule)
    cut = (runs.steps != schedule.grid.depth) & (runs.a >= 0)
    begin = int(runs.wave[cut].min(initial=schedule.waves))
    a, b, sizes = strips_read(schedule)
    early = (a >= 0) & (schedule.wave < begin)
    item = np.stack([a[early], b[early]], axis=1).reshape(-1)
    weight = sizes * (schedule.grid.tile[2] * bits)
    stream = Stream(item, weight, np.repeat(schedule.wave[early], 2))
    return TailDistances(ReuseDistances(stream, schedule.grid.depth), *runs.reads(begin))
