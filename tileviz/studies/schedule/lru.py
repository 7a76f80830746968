"""Exact hit rates of an LRU cache that the waves of a schedule read through.

The model: A and B are cut in blocks of one tile by one K tile, and a block at an edge counts whole.
The workers of a wave step through K together; in every step each worker in turn reads its block of
A, then its block of B. The cache is fully associative, holds a number of bytes, and drops what was
used longest ago. An access hits when all that was read since the block's last use, the block
included, fits the cache: its reuse distance.

A strip of A (a tile row, all of K) is read step by step in every wave that touches it. Between
its reads at step k of wave v and step k of the next such wave w lie

* the steps after k of every strip of wave v, or of waves between, and
* the steps before k of every strip of wave w, or of waves between,

each strip once. So the distance is linear in k, and one event (strip, wave) stands for all steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tileviz.studies.schedule.dominance import dominated_weight

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Misses:
    """What a cache of some size misses, in bits.

    Attributes:
        missed: Bits read from memory.
        read: Bits that the workers read in all.
    """

    missed: int
    read: int

    @property
    def hit_rate(self) -> float:
        """Share of the bits read that the cache already held; 1 where nothing is read."""
        return 1.0 - self.missed / self.read if self.read else 1.0

    @property
    def missed_bytes(self) -> int:
        """Bytes read from memory."""
        return -(-self.missed // 8)


@dataclass(frozen=True, eq=False)
class Stream:
    """Reads in the order of one K step, one entry a read.

    Attributes:
        item: Strip read, numbered from 0.
        weight: Bits of one block of every strip, by number.
        wave: Wave of every read; never falls.
        longer: Which strips have one K step more than the others, by number; None for none.
    """

    item: Ints
    weight: Ints
    wave: Ints
    longer: NDArray[np.bool_] | None = None

    @cached_property
    def extra(self) -> Ints | None:
        """Bits of the block of a further step, by number; None where no strip has one."""
        return None if self.longer is None else self.weight * self.longer


@dataclass(frozen=True, eq=False)
class Events:
    """First reads of a strip in a wave.

    Attributes:
        item: The strip.
        wave: The wave.
        first: Position of the first read in the stream; likewise ``last``.
        previous: Event of the same strip in an earlier wave, or -1.
    """

    item: Ints
    wave: Ints
    first: Ints
    last: Ints
    previous: Ints

    @classmethod
    def of(cls, stream: Stream) -> Events:
        """Return the events of a stream, in the order of their first read."""
        count = len(stream.weight)
        key = stream.wave * count + stream.item
        order = np.argsort(key, kind="stable")
        ordered = key[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        ends = np.append(starts, len(ordered))[1:] - 1
        first, last = order[starts], order[ends]
        place = np.argsort(first)
        first, last = first[place], last[place]
        item = stream.item[first]
        return cls(item, stream.wave[first], first, last, previous_same(item))


def previous_same(item: Ints) -> Ints:
    """Return the position of the same item before, or -1.

    Example:
        >>> import numpy as np
        >>> previous_same(np.array([5, 7, 5, 5])).tolist()
        [-1, -1, 0, 2]
    """
    order = np.argsort(item, kind="stable")
    same = item[order][1:] == item[order][:-1]
    previous = np.full(len(item), -1, np.int64)
    previous[order[1:][same]] = order[:-1][same]
    return previous


@dataclass(frozen=True, eq=False)
class ReuseDistances:
    """Reuse distances of all reads, ready for caches of any size.

    Args:
        stream: The reads of one K step.
        steps: Number of K steps of every strip; those that are ``longer`` have one more.

    Example:
        >>> import numpy as np
        >>> one_row = Stream(np.array([0, 1, 0, 2]), np.array([8, 8, 8]), np.array([0, 0, 1, 1]))
        >>> distances = ReuseDistances(one_row, steps=4)
        >>> [distances.misses(capacity).missed // 8 for capacity in (8 * 7, 8 * 8)]
        [16, 12]
    """

    stream: Stream
    steps: int

    @cached_property
    def events(self) -> Events:
        """First reads of a strip in a wave."""
        return Events.of(self.stream)

    def _bits(self, counts: Ints) -> int:
        """Return the bits of strips read some number of times each."""
        extra = self.stream.extra
        return int(counts @ self.stream.weight) * self.steps + (
            0 if extra is None else int(counts @ extra)
        )

    @cached_property
    def read(self) -> int:
        """Bits that the workers read in all."""
        return self._bits(np.bincount(self.stream.item, minlength=len(self.stream.weight)))

    @cached_property
    def once(self) -> int:
        """Bits of everything, each strip once: what any cache must load."""
        seen = np.zeros(len(self.stream.weight), np.int64)
        seen[self.stream.item] = 1
        return self._bits(seen)

    @cached_property
    def _widest_step(self) -> int:
        """Most bits that one wave reads in one step."""
        events = self.events
        starts = np.flatnonzero(np.diff(events.wave, prepend=-1))
        if not len(starts):
            return 0
        return int(np.add.reduceat(self.stream.weight[events.item], starts).max())

    def _across(self, capacity: int) -> _Across:
        """Return the repeated events that may miss in a cache of this size, or in any larger one.

        Kept for the smallest size asked for: larger caches miss among the same events.
        """
        known: tuple[int, _Across] | None = self.__dict__.get("_kept")
        if known is None or capacity < known[0]:
            far = self._reach > capacity
            known = capacity, _Across.of(self.events, self.stream, far)
            self.__dict__["_kept"] = known
        return known[1]

    @cached_property
    def _reach(self) -> Ints:
        """No less than the largest distance of every repeated event: each wave's reads in full."""
        events, stream = self.events, self.stream
        steps = self.steps + (stream.longer is not None)
        per_wave = np.zeros(int(stream.wave.max(initial=-1)) + 1, np.int64)
        np.add.at(per_wave, events.wave, stream.weight[events.item])
        until = np.concatenate([[0], np.cumsum(per_wave)])
        again = np.flatnonzero(events.previous >= 0)
        first, last = events.wave[events.previous[again]], events.wave[again]
        reach: Ints = (until[last + 1] - until[first]) * steps
        return reach

    def misses(self, capacity: int) -> Misses:
        """Return what a cache of ``capacity`` bits misses."""
        if self.once <= capacity:
            return Misses(self.once, self.read)
        missed = self.once + self._across(capacity).missed(capacity, self.steps)
        if self._widest_step > capacity:
            missed += self._missed_inside(capacity)
        return Misses(missed, self.read)

    def _missed_inside(self, capacity: int) -> int:
        """Return the bits missed by repeated reads within one step of one wave."""
        again, distance, further = self._inside
        weight = self.stream.weight[self.stream.item[again]]
        missed = int(weight[distance > capacity].sum()) * self.steps
        if further is not None and self.stream.extra is not None:
            extra = self.stream.extra[self.stream.item[again]]
            missed += int(extra[further > capacity].sum())
        return missed

    @cached_property
    def _inside(self) -> tuple[Ints, Ints, Ints | None]:
        """Reads that repeat within a wave, and their distance in a step and in a further one."""
        stream = self.stream
        previous = previous_same(stream.item)
        same = previous >= 0
        same[same] = stream.wave[previous[same]] == stream.wave[same]
        again = np.flatnonzero(same)
        distance = distances(previous, stream.weight[stream.item], again)
        if stream.extra is None:
            return again, distance, None
        return again, distance, distances(previous, stream.extra[stream.item], again)


@dataclass(frozen=True, eq=False)
class _Across:
    """Distances from a strip's events to their previous events, one entry an event followed.

    Attributes:
        weight: Bits of a block of the strip.
        after: Bits a step of the strips of the earlier wave, or between.
        ahead: Bits a step of the strips of the later wave, or between.
        one: Bits of one step, from the last read in the earlier wave to the first in the later.
        extra: Bits of the strip's further step; None where no strip has one.
        after_extra: Bits of the further step of the strips of ``after``.
        one_extra: Bits of the further step of the strips of ``one``.
    """

    weight: Ints
    after: Ints
    ahead: Ints
    one: Ints
    extra: Ints | None = None
    after_extra: Ints | None = None
    one_extra: Ints | None = None

    @classmethod
    def of(cls, events: Events, stream: Stream, far: NDArray[np.bool_]) -> _Across:
        """Return the distances of the repeated events chosen by ``far``."""
        again = np.flatnonzero(events.previous >= 0)[far]
        item = events.item[again]
        sums = _window_sums(events, stream.weight[events.item], again)
        if stream.extra is None:
            return cls(stream.weight[item], *sums)
        after, _, one = _window_sums(events, stream.extra[events.item], again)
        return cls(stream.weight[item], *sums, stream.extra[item], after, one)

    def missed(self, capacity: int, steps: int) -> int:
        """Return the bits that repeated events miss, over all K steps."""
        # At step k: after * (steps - 1 - k) + one + ahead * k.
        base = self.after * (steps - 1) + self.one
        if self.extra is None or self.after_extra is None or self.one_extra is None:
            hits = _steps_within(base, self.ahead - self.after, capacity, steps)
            return int((steps - hits) @ self.weight)
        # Steps after k of the earlier wave include its further ones.
        hits = _steps_within(base + self.after_extra, self.ahead - self.after, capacity, steps)
        further = self.ahead * steps + self.one_extra > capacity
        return int((steps - hits) @ self.weight) + int(self.extra[further].sum())


def _window_sums(events: Events, weight: Ints, again: Ints) -> tuple[Ints, Ints, Ints]:
    """Return what the windows of repeated events weigh, each strip once.

    Args:
        events: The events.
        weight: Weight per event.
        again: The repeated events wanted.

    Returns:
        The weight of waves v to w - 1, of waves v + 1 to w, and from the strip's last read in v
        to its first in w, both included; v is the wave of the previous event, w the event's own.
    """
    if not len(again):
        return again, again, again
    before = events.previous[again]
    starts, ends = _bounds(events.wave)
    # Keys order events by the last read of their previous event; 0 for none.
    by_last = np.argsort(events.last)
    rank = np.empty_like(by_last)
    rank[by_last] = np.arange(len(by_last))
    keys = np.where(events.previous >= 0, rank[events.previous] + 1, 0)
    running = np.concatenate([[0], np.cumsum(weight)])
    running_last = np.concatenate([[0], np.cumsum(weight[by_last])])
    wave, was = events.wave[again], events.wave[before]
    prefixes = np.concatenate([starts[wave], ends[wave], again])
    bounds = np.concatenate([starts[was] + 1, ends[was] + 1, rank[before] + 1])
    after, ahead, one = np.split(dominated_weight(keys, weight, prefixes, bounds), 3)
    # Of wave v, what is read at or after the strip's own last read.
    rest = running_last[ends[was]] - running_last[rank[before]]
    return after - running[starts[was]], ahead - running[ends[was]], one - running[ends[was]] + rest


def distances(previous: Ints, weight: Ints, again: Ints) -> Ints:
    """Return reuse distances in a plain stream.

    Args:
        previous: Position of the same item's previous read, or -1, per read.
        weight: Weight per read.
        again: Reads wanted; they have a previous read.

    Example:
        >>> import numpy as np
        >>> item = np.array([0, 1, 1, 0])
        >>> distances(previous_same(item), np.array([4, 2, 2, 4]), np.array([2, 3])).tolist()
        [2, 6]
    """
    before = previous[again]
    running = np.concatenate([[0], np.cumsum(weight)])
    # Everything before the last use lies below it, and does not count.
    sums = dominated_weight(previous + 1, weight, again, before + 1)
    found: Ints = sums - running[before]
    return found


def _bounds(wave: Ints) -> tuple[Ints, Ints]:
    """Return, by wave, where its events begin and end.

    Example:
        >>> import numpy as np
        >>> [bound.tolist() for bound in _bounds(np.array([0, 0, 2]))]
        [[0, 2, 2], [2, 2, 3]]
    """
    counts = np.bincount(wave)
    ends: Ints = np.cumsum(counts)
    return ends - counts, ends


def _steps_within(base: Ints, slope: Ints, capacity: int, steps: int) -> Ints:
    """Return at how many of ``steps`` steps ``base + slope * k`` is within the capacity.

    Example:
        >>> import numpy as np
        >>> _steps_within(np.array([1, 9, 5, 6]), np.array([2, -3, 0, 0]), 5, 4).tolist()
        [3, 2, 4, 0]
    """
    room = capacity - base
    safe = np.where(slope == 0, 1, slope)
    rising = np.clip(room // safe + 1, 0, steps)
    # Falling distances fit from step ceil(-room / -slope) on.
    falling = np.clip(steps + room // np.abs(safe), 0, steps)
    flat = np.where(room >= 0, steps, 0)
    return np.where(slope > 0, rising, np.where(slope < 0, falling, flat))
