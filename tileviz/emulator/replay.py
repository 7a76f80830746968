"""The exact race check: an interval's accesses replayed in order against a shadow of the memory.

For every granule the shadow knows who has written it last, who has read it, and who has updated it
by an atomic. An access races with what it finds there unless the two are ordered: the same lane, a
barrier in between, or a lock. A lock is seen where the earlier lane executes a fence after its
access and the later lane an atomic after that fence: so critical sections are not reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tileviz.emulator.lanes import WARP, Lanes
from tileviz.emulator.memory import segment_at
from tileviz.emulator.problems import Problem

if TYPE_CHECKING:
    from tileviz.emulator.access import Operation
    from tileviz.emulator.state import State

Times = NDArray[np.int64]
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]

# How many lanes have used a granule since it was last ordered.
_ONE_LANE, _ONE_WARP, _MANY_WARPS = 0, 1, 2

# The time of a write that may happen at any moment: an asynchronous copy under way.
_ALWAYS = np.iinfo(np.int64).max
_TIME_BITS = 44


@dataclass(eq=False)
class Event:
    """Something that matters for races.

    Attributes:
        kind: ``load``, ``store``, ``atomic``; ``async`` for the issue of a copy, ``flying`` for one
            issued in an earlier interval, ``arrival`` for its end; ``block`` and ``warp`` for
            barriers; ``acquire`` and ``fence`` for what locks are made of.
        lanes: Who takes part.
        phase: Barriers of all warps so far in the interval.
        operation, addresses, values: Of an access.
        time: When, in a count that never repeats.
    """

    kind: str
    lanes: Lanes
    phase: int
    operation: Operation | None = None
    addresses: NDArray[np.int64] | None = None
    values: Any = None
    time: int = 0

    def granules(self, granule: int, state: State) -> Places:
        """Return the granules of an access, ``[lane, granule]``."""
        assert self.addresses is not None
        assert self.operation is not None
        first = self.addresses >> (granule.bit_length() - 1)
        if state.geometry.capacity > 1:
            base, exact = state.units("shared", granule), self.lanes.exact
            first += base if exact is None else base[exact]
        count = self.operation.width // granule
        return first[:, None] if count <= 1 else first[:, None] + np.arange(count)

    def span(self) -> tuple[int, int]:
        """Return the first and the last byte of an access, plus one."""
        assert self.addresses is not None
        assert self.operation is not None
        return int(self.addresses.min()), int(self.addresses.max()) + self.operation.width


class _Order:
    """Which earlier access is known to have happened before a lane's present one."""

    def __init__(self, state: State) -> None:
        self.stride = state.geometry.stride
        self.block_sync = np.zeros(state.geometry.capacity, np.int64)
        self.warp_sync = np.zeros(state.geometry.lanes // WARP, np.int64)
        self.acquired = np.zeros(state.geometry.lanes, np.int64)
        self.fences = np.zeros(0, np.int64)

    def know_fences(self, events: list[Event]) -> None:
        """Take the fences of an interval: lane and time in one number each, sorted."""
        keys = [e.lanes.index << _TIME_BITS | e.time for e in events if e.kind == "fence"]
        self.fences = np.sort(np.concatenate(keys)) if keys else np.zeros(0, np.int64)

    def by_block(self, time: Times, me: Places) -> Mask:
        """A barrier of the block came after ``time``."""
        return np.asarray(time < self.block_sync[me // self.stride])

    def by_warp(self, time: Times, other: Places, me: Places) -> Mask:
        """Both are in one warp, and a barrier of that warp came after ``time``."""
        return np.asarray((time < self.warp_sync[me // WARP]) & (other // WARP == me // WARP))

    def by_lock(self, time: Times, other: Places, me: Places) -> Mask:
        """``other`` executed a fence after ``time``, and ``me`` an atomic after that fence."""
        moment = (1 << _TIME_BITS) - 1
        key = other << _TIME_BITS | np.minimum(time, moment)
        found = np.searchsorted(self.fences, key, "right")
        fence = self.fences[np.minimum(found, len(self.fences) - 1)]
        same = (found < len(self.fences)) & (fence >> _TIME_BITS == other)
        return np.asarray(same & (fence & moment < self.acquired[me]))


class _Shadow:
    """The last uses of one sort (writes, reads or atomics) of every granule."""

    def __init__(self, count: int, order: _Order) -> None:
        self.order = order
        self.time = np.zeros(count, np.int64)
        self.lane = np.zeros(count, np.int64)
        self.level = np.zeros(count, np.int8)

    def unordered(self, place: Places, me: Places) -> Mask:
        """Tell where a use by another lane is not known to come before lane ``me`` now."""
        time, lane, level = self.time[place], self.lane[place], self.level[place]
        order = self.order
        mine = (level == _ONE_LANE) & (lane == me) & (time != _ALWAYS)
        in_warp = (level != _MANY_WARPS) & order.by_warp(time, lane, me)
        mask = np.asarray(~(order.by_block(time, me) | mine | in_warp))
        if len(order.fences) and mask.any():
            mask &= ~((level == _ONE_LANE) & order.by_lock(time, lane, me))
        return mask

    def replace(self, place: Places, me: Places, time: int) -> None:
        """Make ``me`` the only user; of lanes that collide, one of them."""
        self.time[place] = time
        self.lane[place] = np.broadcast_to(me, place.shape)
        self.level[place] = _ONE_LANE

    def add(self, place: Places, me: Places, time: int) -> None:
        """Add ``me`` to the users; users that are ordered before it need not be kept."""
        same_warp = self.lane[place] // WARP == me // WARP
        joined = np.where(same_warp & (self.level[place] != _MANY_WARPS), _ONE_WARP, _MANY_WARPS)
        level = np.where(self.unordered(place, me), joined, _ONE_LANE)
        self.replace(place, me, time)
        # Several lanes of this instruction may share a granule; the last of them was kept.
        kept = self.lane[place]
        shared = np.where(kept // WARP == me // WARP, _ONE_WARP, _MANY_WARPS)
        level = np.maximum(level, np.where(kept == me, _ONE_LANE, shared)).astype(np.int8)
        np.maximum.at(self.level, place, level)


class Replay:
    """The shadows of a batch's shared memory, kept over intervals.

    Args:
        state: The batch.
        granule: Bytes of a granule: 1, 2, 4 or 8.
    """

    def __init__(self, state: State, granule: int) -> None:
        self.state = state
        self.granule = granule
        self.order = _Order(state)
        self._shadows: tuple[_Shadow, _Shadow, _Shadow] | None = None
        self._by_time: dict[int, Event] = {}
        self._flying = False

    def order_all(self, time: int) -> None:
        """All accesses before ``time`` are ordered before all that follow.

        Copies under way are not, but the next interval's log names them again.
        """
        self.order.block_sync.fill(time)
        if self._flying and self._shadows is not None:
            writes = self._shadows[0]
            writes.time[writes.time == _ALWAYS] = 0
            self._flying = False

    def run(self, events: list[Event]) -> None:
        """Replay events in order and note every race."""
        self._by_time = {event.time: event for event in events}
        self.order.know_fences(events)
        for event in events:
            index = event.lanes.index
            if event.kind == "block":
                self.order.block_sync[np.unique(index // self.order.stride)] = event.time
            elif event.kind == "warp":
                self._sync_warps(event)
            elif event.kind == "acquire":
                self.order.acquired[index] = event.time
            elif event.kind != "fence":
                self._access(event)
        self._by_time = {}

    def _sync_warps(self, event: Event) -> None:
        """A barrier of some lanes of a warp orders nothing here unless the others have exited."""
        warps, counts = np.unique(event.lanes.index // WARP, return_counts=True)
        living = self.state.live.reshape(-1, WARP).sum(axis=1)
        self.order.warp_sync[warps[counts >= living[warps]]] = event.time

    def _access(self, event: Event) -> None:
        writes, reads, atomics = self._all_shadows()
        place = event.granules(self.granule, self.state)
        me = event.lanes.index[:, None]
        self._flying |= event.kind in ("async", "flying")
        if event.kind == "flying":
            writes.replace(place, me, _ALWAYS)
        elif event.kind == "arrival":
            writes.replace(place, me, event.time)
        elif event.kind == "load":
            self._check(event, place, me, writes, atomics)
            reads.add(place, me, event.time)
        elif event.kind == "atomic":
            self._check(event, place, me, writes, reads)
            atomics.add(place, me, event.time)
        else:
            self._check(event, place, me, reads, atomics)
            self._check_writes(event, place, me, writes)
            if event.kind == "async":
                writes.replace(place, me, _ALWAYS)
            else:  # lanes that wrote the same value stay writers together
                writes.add(place, me, event.time)
            self._check_collisions(event, place, me, writes)

    def _all_shadows(self) -> tuple[_Shadow, _Shadow, _Shadow]:
        if self._shadows is None:
            count = self.state.shared_stride // self.granule * self.state.geometry.capacity
            self._shadows = (
                _Shadow(count, self.order),
                _Shadow(count, self.order),
                _Shadow(count, self.order),
            )
        return self._shadows

    # -- conflicts ---------------------------------------------------------------------------------

    def _check(self, event: Event, place: Places, me: Places, *shadows: _Shadow) -> None:
        for shadow in shadows:
            conflict = shadow.unordered(place, me)
            if conflict.any():
                self._report(event, conflict, shadow.time[place], shadow.lane[place])

    def _check_writes(self, event: Event, place: Places, me: Places, writes: _Shadow) -> None:
        conflict = writes.unordered(place, me)
        if conflict.any():
            time, lane = writes.time[place], writes.lane[place]
            conflict &= ~self._same_value(event, place, time, lane, conflict)
            self._report(event, conflict, time, lane)

    def _check_collisions(self, event: Event, place: Places, me: Places, writes: _Shadow) -> None:
        """Look for lanes of one store that wrote different values to one place."""
        lane = writes.lane[place]
        collide = lane != me
        if collide.any():
            time = np.full(place.shape, event.time)
            collide &= ~self._same_value(event, place, time, lane, collide)
            self._report(event, collide, time, lane)

    def _same_value(
        self, event: Event, place: Places, time: Times, lane: Places, conflict: Mask
    ) -> Mask:
        """Tell which granules get the very value that the write at ``time`` by ``lane`` gave."""
        same = np.zeros(place.shape, np.bool_)
        mine = self._values(event)
        for moment in np.unique(time[conflict]):
            earlier = self._by_time.get(int(moment))
            theirs = self._values(earlier) if earlier is not None else None
            if earlier is None or mine is None or theirs is None:
                continue
            here = conflict & (time == moment)
            first = earlier.granules(self.granule, self.state)[:, 0]
            row = np.searchsorted(earlier.lanes.index, lane[here])
            same[here] = theirs[row, place[here] - first[row]] == mine[here]
        return same

    def _values(self, event: Event) -> Any:
        """Return the values of a store ``[lane, granule]``, or None where they are not known."""
        if event.values is None or event.kind != "store":
            return None
        values = np.ascontiguousarray(np.broadcast_to(event.values, event.lanes.count))
        return values.view(f"uint{8 * self.granule}").reshape(event.lanes.count, -1)

    # -- messages ----------------------------------------------------------------------------------

    def _report(self, event: Event, conflict: Mask, time: Times, lane: Places) -> None:
        """Note the first of the conflicts of an access with earlier ones."""
        if not conflict.any():
            return
        assert event.operation is not None
        assert event.addresses is not None
        row, column = (int(axis[0]) for axis in np.nonzero(conflict))
        me, other = int(event.lanes.index[row]), int(lane[row, column])
        line, kind = self._describe(int(time[row, column]))
        offset = int(event.addresses[row]) + column * self.granule
        operation, state = event.operation, self.state

        def problem() -> Problem:
            name = segment_at(state.shared_segments, offset)
            where = f'buffer "{name}" in ' if name else ""
            thread = "({},{},{})".format(*state.geometry.thread_at(other))
            at = f" at line {line}" if line is not None else ""
            detail = (
                f"{where}shared memory, byte offset {offset}, with the {kind} of thread "
                f"{thread}{at} and no barrier between"
            )
            what = f"race on {operation.width}-byte shared {_WORDS.get(event.kind, event.kind)}"
            return state.site(me, operation.line).problem("race", what, detail, buffer=name or None)

        state.note(("race", operation.line, line, event.kind, kind), problem)

    def _describe(self, time: int) -> tuple[int | None, str]:
        """Return line and name of the earlier side of a race."""
        earlier = self._by_time.get(time)
        if earlier is not None and earlier.operation is not None:
            return earlier.operation.line, _WORDS.get(earlier.kind, earlier.kind)
        return None, "cp.async under way" if time == _ALWAYS else "access"


_WORDS = {"async": "cp.async", "flying": "cp.async", "arrival": "cp.async"}
