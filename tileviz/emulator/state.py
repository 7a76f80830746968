"""What a running batch of blocks consists of; operations read and change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tileviz.emulator.lanes import Geometry, Lanes
from tileviz.emulator.memory import GlobalMemory, Region, Segment
from tileviz.emulator.problems import Problem, Site

if TYPE_CHECKING:
    from tileviz.emulator.pending import PendingCopies
    from tileviz.emulator.races import RaceLog
    from tileviz.emulator.trace import Trace

Step = Callable[[Lanes], None]

_MAX_NOTES = 32


class State:
    """Memory, lanes and observers of the batch that is running.

    Attributes:
        geometry: Shape of the launch and coordinates of every lane.
        memory: Global buffers, kept over batches.
        shared: Shared memory of all blocks of the batch, ``shared_stride`` bytes apart.
        local: Local memory of all lanes of the batch, ``local_stride`` bytes apart.
        parameters: The parameter block, the same for all lanes.
        live: Lanes that have not exited.
        live_count: Their number.
        trace: Where accesses are recorded, or None for a batch that is not traced.
        races: The race check of shared memory, or None.
        pending: Asynchronous copies under way, or None in a kernel that has none.
        notes: Problems that did not end the run, in order.
    """

    def __init__(
        self, geometry: Geometry, memory: GlobalMemory, shared_bytes: int, local_bytes: int
    ) -> None:
        self.geometry = geometry
        self.memory = memory
        self.shared_stride = -(-shared_bytes // 128) * 128
        self.local_stride = -(-local_bytes // 16) * 16
        self.shared = Region(shared_bytes, self.shared_stride, geometry.capacity, tracked=True)
        self.local = Region(local_bytes, self.local_stride, geometry.lanes, tracked=True)
        self.parameters = Region(0, 16, 1, tracked=False)
        self.shared_segments: list[Segment] = []
        self.local_segments: list[Segment] = []
        self.live = np.zeros(geometry.lanes, np.bool_)
        self.live_count = 0
        self.trace: Trace | None = None
        self.races: RaceLog | None = None
        self.pending: PendingCopies | None = None
        self.notes: list[Problem] = []
        self._noted: set[tuple[object, ...]] = set()
        self._bases: dict[tuple[str, int], NDArray[np.int64]] = {}

    def begin(self, ids: NDArray[np.int64]) -> Lanes:
        """Give the batch the blocks ``ids`` and return the lanes that start."""
        index = self.geometry.place(ids)
        self.live.fill(False)
        self.live[index] = True
        self.live_count = len(index)
        self.shared.reset()
        self.local.reset()
        if self.pending is not None:
            self.pending.reset()
        return self.lanes(index)

    def lanes(self, index: NDArray[np.intp]) -> Lanes:
        """Return the set of the lanes ``index``, ascending and not empty."""
        return Lanes.of(index, total=self.geometry.lanes, live=self.live_count)

    def set_segments(self, shared: list[Segment], local: list[Segment]) -> None:
        """Name the pieces of shared and local memory."""
        self.shared_segments = shared
        self.local_segments = local

    def set_parameters(self, block: bytes) -> None:
        """Fill the parameter block."""
        self.parameters = Region(len(block), -(-len(block) // 16) * 16, 1, tracked=False)
        self.parameters.data[: len(block)] = np.frombuffer(block, np.uint8)

    def units(self, space: str, width: int) -> NDArray[np.int64]:
        """Return, by lane, where its block's shared or its own local memory starts, in units."""
        key = (space, width)
        if key not in self._bases:
            geometry = self.geometry
            if space == "shared":
                base = geometry.block_of * (self.shared_stride // width)
            else:
                base = np.arange(geometry.lanes) * (self.local_stride // width)
            self._bases[key] = base
        return self._bases[key]

    def site(self, lane: int, line: int | None) -> Site:
        """Return the place of a lane of the batch, for a message."""
        geometry = self.geometry
        return Site(geometry.block_at(lane), geometry.thread_at(lane), line)

    def note(self, key: tuple[object, ...], problem: Callable[[], Problem]) -> None:
        """Keep a problem that does not end the run, once for each key."""
        if key not in self._noted and len(self.notes) < _MAX_NOTES:
            self._noted.add(key)
            self.notes.append(problem())
