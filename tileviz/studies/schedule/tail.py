"""Exact hit rates where the last waves split K unevenly: whole strips first, then single blocks.

Up to the first wave with a part of a tile, strips are read whole and their reuse distances are
linear in k. What comes behind is read block by block, and is little: at most one wave of K tiles.
A block's distance then has two pieces: what the strips still read since its use, in closed form,
and what the blocks have read since, other than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tileviz.studies.schedule.dominance import dominated_weight
from tileviz.studies.schedule.grid import Ints
from tileviz.studies.schedule.lru import Misses, ReuseDistances, previous_same


@dataclass(frozen=True, eq=False)
class TailDistances:
    """Reuse distances of strips read whole, followed by single blocks.

    Attributes:
        main: The strips read whole, by wave.
        strip: Strip of every block read behind them, in order.
        k: K tile of every such block.

    Example:
        >>> import numpy as np
        >>> from tileviz.studies.schedule.lru import Stream
        >>> strips = Stream(np.array([0, 1]), np.array([8, 8]), np.array([0, 0]))
        >>> made = TailDistances(ReuseDistances(strips, 2), np.array([0, 1]), np.array([0, 0]))
        >>> [made.misses(bits).missed // 8 for bits in (16, 24, 32)]
        [6, 6, 4]
    """

    main: ReuseDistances
    strip: Ints
    k: Ints

    @cached_property
    def _block(self) -> Ints:
        return self.strip * self.main.steps + self.k

    @cached_property
    def _weight(self) -> Ints:
        return self.main.stream.weight[self.strip]

    @cached_property
    def _last_event(self) -> Ints:
        """Last event of every strip among those read whole, or -1."""
        last = np.full(len(self.main.stream.weight), -1, np.int64)
        # Later events overwrite earlier ones.
        last[self.main.events.item] = np.arange(len(self.main.events.item))
        return last

    @cached_property
    def _previous(self) -> Ints:
        """Previous read of the same block among the single blocks, or -1."""
        return previous_same(self._block)

    @cached_property
    def _strips_since(self) -> tuple[Ints, Ints]:
        """Reads whose block was last used with its whole strip, and what strips read since."""
        events, weight = self.main.events, self.main.stream.weight
        last = self._last_event
        used = np.flatnonzero((self._previous < 0) & (last[self.strip] >= 0))
        seen = np.flatnonzero(last >= 0)
        order = seen[np.argsort(events.last[last[seen]])]
        wave, at = events.wave[last[order]], events.last[last[order]]
        # Weight of the strips from a place of that order on.
        behind = np.append(np.cumsum(weight[order][::-1])[::-1], 0)
        mine = last[self.strip[used]]
        later = behind[np.searchsorted(wave, events.wave[mine], side="right")]
        same = behind[np.searchsorted(wave, events.wave[mine], side="left")] - later
        here = behind[np.searchsorted(at, events.last[mine])] - later
        steps = self.main.steps
        return used, later * steps + same * (steps - 1 - self.k[used]) + here

    @cached_property
    def _stamps(self) -> Ints:
        """When each read's block was used before, as a rank; 0 for never."""
        events = self.main.events
        event = self._last_event[self.strip]
        whole = (self._previous < 0) & (event >= 0)
        used = np.flatnonzero(whole)
        wave, last = events.wave[event[used]], events.last[event[used]]
        order = np.lexsort((last, self.k[used], wave))
        fresh = np.ones(len(order), bool)
        fresh[1:] = (np.diff(wave[order]) != 0) | (np.diff(last[order]) != 0)
        fresh[1:] |= np.diff(self.k[used][order]) != 0
        stamps = np.zeros(len(self.strip), np.int64)
        stamps[used[order]] = np.cumsum(fresh)
        base = int(stamps.max(initial=0)) + 1
        again = self._previous >= 0
        stamps[again] = base + self._previous[again]
        return stamps

    @cached_property
    def _distances(self) -> tuple[Ints, Ints]:
        """Reads that have a previous use, and the distance of each."""
        again = np.flatnonzero(self._stamps > 0)
        used, since = self._strips_since
        stamps = self._stamps
        sums = dominated_weight(stamps, self._weight, again, stamps[again])
        # The blocks up to the last use lie below it, and do not count.
        running = np.concatenate([[0], np.cumsum(self._weight)])
        distance = sums - running[np.maximum(self._previous[again], 0)]
        distance[np.searchsorted(again, used)] += since
        return again, distance

    @cached_property
    def read(self) -> int:
        """Bits that the workers read in all."""
        return self.main.read + int(self._weight.sum())

    def misses(self, capacity: int) -> Misses:
        """Return what a cache of ``capacity`` bits misses."""
        before = self.main.misses(capacity)
        again, distance = self._distances
        missed = int(self._weight.sum()) - int(self._weight[again][distance <= capacity].sum())
        return Misses(before.missed + missed, self.read)
