"""The race check of shared memory.

Lock-step execution hides races: a kernel without ``__syncthreads`` may well compute the right
answer here. So accesses are checked by what orders them, not by what they read. Two accesses to the
same byte by different threads, one of them a write, are a race unless a barrier of the block, or a
``__syncwarp`` of their warp, lies between them. Two writes of the same value are not, nor are two
atomics.

Accesses are logged as they happen and judged at the next barrier that all threads reach. Most
intervals between barriers cannot contain a race, and two quick tests show it: no access overlaps a
write, or every written granule has one lane that uses it. Other intervals are replayed in order,
see `tileviz.emulator.replay`. A *granule* is the width of the narrowest shared access in the
kernel, so the check is exact to the byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tileviz.emulator.lanes import WARP, Lanes
from tileviz.emulator.replay import Event, Replay

if TYPE_CHECKING:
    from tileviz.emulator.access import Operation
    from tileviz.emulator.state import State

_LOG_LIMIT = 1 << 22  # addresses kept before a log without barriers is judged
_LANE_BITS = 14
_LANE = (1 << _LANE_BITS) - 1
_MAX_PHASES = 1 << 16


class RaceLog:
    """Accesses to shared memory since the last barrier of all threads.

    Args:
        state: The batch.
        granule: Bytes of a granule: 1, 2, 4 or 8.
    """

    def __init__(self, state: State, granule: int) -> None:
        self.state = state
        self.granule = granule
        self.events: list[Event] = []
        self._size = 0
        self._time = 1
        self._phase = 0
        self._simple = True  # the quick tests may be tried
        entries = state.shared_stride // granule * state.geometry.capacity
        self._owner = np.empty(entries, np.int32)
        self._lanes = np.arange(state.geometry.lanes, dtype=np.int32)
        self._replay = Replay(state, granule)

    def begin(self) -> None:
        """Start a batch: nothing that came before matters."""
        self._forget()
        self._replay.order_all(self._tick())

    # -- what happens ------------------------------------------------------------------------------

    def access(self, operation: Operation, lanes: Lanes, addresses: NDArray[np.int64]) -> None:
        """Log an access; the array is kept and must not change."""
        self._log(Event(operation.kind, lanes, self._phase, operation, addresses))
        self._size += len(addresses)
        if self._size > _LOG_LIMIT:
            self._judge_by_replay()

    def completed(self, operation: Operation, lanes: Lanes, addresses: NDArray[np.int64]) -> None:
        """Log that an asynchronous copy has arrived."""
        self._log(Event("arrival", lanes, self._phase, operation, addresses))

    def stored(self, values: Any) -> None:
        """Add the values of the store that was logged last."""
        self.events[-1].values = np.array(values)

    def atomic(self, lanes: Lanes) -> None:
        """Log that lanes execute an atomic, in any memory: it may take a lock."""
        self._log(Event("acquire", lanes, self._phase))

    def fence(self, lanes: Lanes) -> None:
        """Log a fence: it may come before a lock is given back."""
        self._log(Event("fence", lanes, self._phase))

    def sync_blocks(self, lanes: Lanes) -> None:
        """Log a barrier of whole blocks."""
        if lanes.count == self.state.live_count:
            self.judge()
            self._replay.order_all(self._tick())
        else:
            self._simple = False
            self._log(Event("block", lanes, self._phase))

    def sync_warps(self, lanes: Lanes) -> None:
        """Log a barrier of warps, or of some lanes of a warp."""
        self._log(Event("warp", lanes, self._phase))
        if lanes.count == self.state.live_count and self._phase < _MAX_PHASES:
            self._phase += 1
        else:
            self._simple = False

    def _log(self, event: Event) -> None:
        event.time = self._tick()
        self.events.append(event)

    def _tick(self) -> int:
        self._time += 1
        return self._time

    # -- judgement ---------------------------------------------------------------------------------

    def judge(self) -> None:
        """Judge what has been logged and forget it: it is ordered before all that follows."""
        if self.events and not self._harmless():
            self._replay.run(self.events)
        self._forget()

    def _judge_by_replay(self) -> None:
        """Judge a log that grew too long; its shadow matters to what follows."""
        self._replay.run(self.events)
        self.events.clear()
        self._size = 0
        self._simple = False

    def _forget(self) -> None:
        self.events.clear()
        self._size = 0
        self._phase = 0
        self._simple = True
        pending = self.state.pending
        if pending is not None:
            # Copies still under way may collide with anything in the next interval.
            for copy in pending.copies:
                lanes = self.state.lanes(copy.lanes)
                event = Event("flying", lanes, 0, copy.operation, pending.addresses(copy))
                self._log(event)

    def _harmless(self) -> bool:
        """Tell whether the interval cannot contain a race, without looking at its order."""
        accesses = [event for event in self.events if event.addresses is not None]
        writes = [event for event in accesses if event.kind not in ("load", "arrival")]
        if not writes:
            return True
        if not self._simple or any(event.kind == "atomic" for event in writes):
            return False
        loads = [event for event in accesses if event.kind == "load"]
        apart = _ranges_apart(loads, writes)
        if not apart and any(event.kind in ("async", "flying") for event in writes):
            return False
        return self._one_user_each([] if apart else loads, writes)

    def _one_user_each(self, loads: list[Event], writes: list[Event]) -> bool:
        """Tell whether every written granule is written once, and read by that lane or later.

        "Later" is after a ``__syncwarp`` of the writer's own warp.
        """
        owner = self._owner
        owner.fill(-1)
        coded = []
        for event in writes:
            place = event.granules(self.granule, self.state)
            code = self._code(event)
            owner[place] = code
            coded.append((place, code))
        if not all((owner[place] == code).all() for place, code in coded):
            return False
        for event in loads:
            place = event.granules(self.granule, self.state)
            writer = owner[place]
            differ = writer ^ self._code(event)
            same_lane = (differ & _LANE) == 0
            same_warp = (differ & (_LANE & -WARP)) == 0
            later = (differ >> _LANE_BITS) != 0
            if not ((writer < 0) | same_lane | (same_warp & later)).all():
                return False
        return True

    def _code(self, event: Event) -> NDArray[np.int32]:
        """Return phase and lane of an event in one number a lane, as a column."""
        exact = event.lanes.exact
        lanes = self._lanes if exact is None else self._lanes[exact]
        return np.asarray(lanes | np.int32(event.phase << _LANE_BITS))[:, None]


def _ranges_apart(loads: list[Event], writes: list[Event]) -> bool:
    """Tell whether no load's range of addresses overlaps a write's."""
    if not loads:
        return True
    load, write = (
        np.array([event.span() for event in events], np.int64) for events in (loads, writes)
    )
    overlap = (load[:, None, 0] < write[None, :, 1]) & (write[None, :, 0] < load[:, None, 1])
    return not bool(overlap.any())
