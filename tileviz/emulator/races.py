"""The race check of shared memory.

Lock-step execution hides races: a kernel without ``__syncthreads`` may well compute the right
answer here. So accesses are checked by what orders them, not by what they read. Two accesses to the
same byte by different threads, one of them a write, are a race unless a barrier of the block, or a
``__syncwarp`` of their warp, lies between them. Two writes of the same value are not, nor are two
atomics.

Accesses are logged as they happen and judged at the next barrier that all threads reach. Most
intervals between barriers cannot contain a race, which a glance at address ranges shows; the others
are replayed in order against a shadow of the memory. The shadow has one entry for each *granule*,
the width of the narrowest shared access in the kernel, so the check is exact to the byte.
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

_LOG_LIMIT = 1 << 24  # addresses kept before a log without barriers is judged

# Who has read a granule since it was last ordered.
_ONE_LANE, _ONE_WARP, _MANY_WARPS = 0, 1, 2


@dataclass(eq=False)
class _Event:
    """An access, or a barrier (``kind`` "block" or "warp")."""

    time: int
    kind: str
    lanes: Lanes
    addresses: NDArray[np.int64] | None = None
    operation: Operation | None = None
    values: Any = None


class RaceLog:
    """Accesses since the last barrier of all threads, and the shadow they are judged against.

    Args:
        state: The batch.
        granule: Bytes of a granule: 1, 2, 4 or 8.
    """

    def __init__(self, state: State, granule: int) -> None:
        self.state = state
        self.granule = granule
        geometry = state.geometry
        self.entries = max(1, state.shared_stride // granule)
        count = self.entries * geometry.capacity
        self.time = 1
        self.size = 0
        self.events: list[_Event] = []
        self.by_time: dict[int, _Event] = {}
        self.write_time = np.zeros(count, np.int64)
        self.write_lane = np.zeros(count, np.int64)
        self.read_time = np.zeros(count, np.int64)
        self.read_lane = np.zeros(count, np.int64)
        self.read_level = np.zeros(count, np.int8)
        self.block_sync = np.zeros(geometry.capacity, np.int64)
        self.warp_sync = np.zeros(geometry.lanes // WARP, np.int64)
        self.warps_per_block = geometry.warps

    # -- the log -----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start a batch: nothing that came before matters."""
        self.events.clear()
        self.size = 0
        self.time += 1
        self.block_sync.fill(self.time)

    def access(self, operation: Operation, lanes: Lanes, addresses: NDArray[np.int64]) -> None:
        """Log an access; the array is kept and must not change."""
        self._log(_Event(self.time, operation.kind, lanes, addresses, operation))
        self.size += len(addresses)
        if self.size > _LOG_LIMIT:
            self._replay()

    def stored(self, values: Any) -> None:
        """Add the values of the store that was logged last."""
        if self.events:
            self.events[-1].values = np.array(values)

    def sync_blocks(self, lanes: Lanes) -> None:
        """Log a barrier of whole blocks."""
        if lanes.count == self.state.live_count:
            self.judge()
            self.time += 1
            self.block_sync.fill(self.time)
        else:
            self._log(_Event(self.time, "block", lanes))

    def sync_warps(self, lanes: Lanes) -> None:
        """Log a barrier of warps."""
        self._log(_Event(self.time, "warp", lanes))

    def fence(self, lanes: Lanes) -> None:
        """Log a fence."""

    def _log(self, event: _Event) -> None:
        self.time += 1
        event.time = self.time
        self.events.append(event)

    def judge(self) -> None:
        """Judge what has been logged and forget it: it is ordered before all that follows."""
        if self.events and not self._harmless():
            self._replay()
        self.events.clear()
        self.size = 0

    def _harmless(self) -> bool:
        """Tell whether address ranges alone rule a race out."""
        return all(event.kind not in ("store", "atomic") for event in self.events)

    # -- the exact check ---------------------------------------------------------------------------

    def _replay(self) -> None:
        self.by_time = {event.time: event for event in self.events}
        for event in self.events:
            if event.kind == "block":
                self.block_sync[np.unique(event.lanes.index // self.state.geometry.stride)] = (
                    event.time
                )
            elif event.kind == "warp":
                self._replay_warp_sync(event)
            elif event.kind == "load":
                self._replay_load(event)
            else:
                self._replay_store(event)
        self.events.clear()
        self.by_time = {}
        self.size = 0

    def _replay_warp_sync(self, event: _Event) -> None:
        self.warp_sync[np.unique(event.lanes.index // WARP)] = event.time

    def _granules(self, event: _Event) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the granules of an access, ``[lane, granule]``, and its lanes as a column."""
        assert event.addresses is not None
        assert event.operation is not None
        lanes = event.lanes.index
        first = event.addresses // self.granule + lanes // self.state.geometry.stride * self.entries
        count = max(1, event.operation.width // self.granule)
        return first[:, None] + np.arange(count), lanes[:, None]

    def _ordered(
        self, time: NDArray[np.int64], other: NDArray[np.int64], me: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Tell which accesses of lanes ``other`` at ``time`` come before those of ``me`` now."""
        by_barrier = self._ordered_by_block(time, me) | self._ordered_by_warp(time, other, me)
        return np.asarray(by_barrier | (other == me))

    def _ordered_by_block(
        self, time: NDArray[np.int64], me: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        return np.asarray(time < self.block_sync[me // self.state.geometry.stride])

    def _ordered_by_warp(
        self, time: NDArray[np.int64], other: NDArray[np.int64], me: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        return np.asarray((time < self.warp_sync[me // WARP]) & (other // WARP == me // WARP))

    def _reads_ordered(self, place: NDArray[np.int64], me: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which granules have no read that could race with a write of ``me`` now."""
        time, lane, level = self.read_time[place], self.read_lane[place], self.read_level[place]
        mine = (level == _ONE_LANE) & (lane == me)
        in_warp = (level != _MANY_WARPS) & self._ordered_by_warp(time, lane, me)
        return np.asarray(self._ordered_by_block(time, me) | mine | in_warp)

    def _replay_load(self, event: _Event) -> None:
        place, me = self._granules(event)
        conflict = ~self._ordered(self.write_time[place], self.write_lane[place], me)
        if conflict.any():
            self._report(event, conflict, self.write_time[place], self.write_lane[place])
        self._remember_read(event, place, me)

    def _remember_read(
        self, event: _Event, place: NDArray[np.int64], me: NDArray[np.int64]
    ) -> None:
        same_warp = self.read_lane[place] // WARP == me // WARP
        level = np.where(
            self._reads_ordered(place, me),
            _ONE_LANE,
            np.where(same_warp & (self.read_level[place] != _MANY_WARPS), _ONE_WARP, _MANY_WARPS),
        )
        self.read_time[place] = event.time
        self.read_lane[place] = me
        self.read_level[place] = _ONE_LANE
        # Several lanes of this instruction may read one granule; the last of them was remembered.
        kept = self.read_lane[place]
        shared = np.where(kept // WARP == me // WARP, _ONE_WARP, _MANY_WARPS)
        level = np.maximum(level, np.where(kept == me, _ONE_LANE, shared)).astype(np.int8)
        np.maximum.at(self.read_level, place, level)

    def _replay_store(self, event: _Event) -> None:
        place, me = self._granules(event)
        time, lane = self.write_time[place], self.write_lane[place]
        unordered = ~self._ordered(time, lane, me)
        if unordered.any():
            unordered &= ~self._same_value(event, place, time, lane, unordered)
        if unordered.any():
            self._report(event, unordered, time, lane)
        reads = ~self._reads_ordered(place, me)
        if reads.any():
            self._report(event, reads, self.read_time[place], self.read_lane[place])
        self.write_time[place] = event.time
        self.write_lane[place] = np.broadcast_to(me, place.shape)
        kept = self.write_lane[place]
        collide = kept != me
        if collide.any():
            now = np.full(place.shape, event.time)
            collide &= ~self._same_value(event, place, now, kept, collide)
            if collide.any():
                self._report(event, collide, now, kept)

    def _same_value(
        self,
        event: _Event,
        place: NDArray[np.int64],
        time: NDArray[np.int64],
        lane: NDArray[np.int64],
        where: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Tell which granules get the very value that the write at ``time`` by ``lane`` gave."""
        same = np.zeros(place.shape, np.bool_)
        mine = self._values(event, place.shape)
        for moment in np.unique(time[where]):
            earlier = self.by_time.get(int(moment))
            if mine is None or earlier is None or earlier.values is None:
                continue
            theirs_place, theirs_lane = self._granules(earlier)
            theirs = self._values(earlier, theirs_place.shape)
            assert theirs is not None
            here = where & (time == moment)
            row = np.searchsorted(theirs_lane[:, 0], lane[here])
            column = place[here] - theirs_place[row, 0]
            same[here] = theirs[row, column] == mine[here]
        return same

    def _values(self, event: _Event, shape: tuple[int, ...]) -> Any:
        """Return the values of a store by granule, or None where they are not known."""
        if event.values is None or event.kind != "store":
            return None
        values = np.broadcast_to(event.values, shape[0])
        unit = np.dtype(f"uint{8 * self.granule}")
        return np.ascontiguousarray(values).view(unit).reshape(shape[0], -1)

    # -- messages ----------------------------------------------------------------------------------

    def _report(
        self,
        event: _Event,
        conflict: NDArray[np.bool_],
        time: NDArray[np.int64],
        lane: NDArray[np.int64],
    ) -> None:
        """Note the first conflict of an access with an earlier one."""
        assert event.operation is not None
        assert event.addresses is not None
        row, column = (int(axis[0]) for axis in np.nonzero(conflict))
        me, other = int(event.lanes.index[row]), int(lane[row, column])
        earlier = self.by_time.get(int(time[row, column]))
        line = earlier.operation.line if earlier and earlier.operation else None
        kind = earlier.operation.kind if earlier and earlier.operation else "access"
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
            site = state.site(me, operation.line)
            what = f"race on {operation.width}-byte shared {operation.kind}"
            return site.problem("race", what, detail, buffer=name or None)

        state.note(("race", operation.line, line, operation.kind, kind), problem)
