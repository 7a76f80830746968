"""Asynchronous copies between their issue and the wait that completes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.emulator.access import Operation, Part, mark_valid
from tileviz.emulator.lanes import Index, Lanes
from tileviz.emulator.state import State


class _Copy:
    """Units on their way to shared memory, one a lane, each in a group of its lane."""

    def __init__(
        self, operation: Operation, lanes: Index, units: Index, data: Any, group: Index
    ) -> None:
        self.operation = operation
        self.lanes = lanes
        self.units = units
        self.data = data
        self.group = group

    def only(self, mask: NDArray[np.bool_]) -> _Copy:
        """Return the copies of some of the lanes."""
        return _Copy(
            self.operation, self.lanes[mask], self.units[mask], self.data[mask], self.group[mask]
        )


class PendingCopies:
    """The ``cp.async`` of a batch that no wait has completed.

    The bytes are read at the issue and written at the wait, so a kernel that reads too early sees
    what was there before, and the checks of races and uninitialised reads see it too.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.committed = np.zeros(state.geometry.lanes, np.int64)
        self.copies: list[_Copy] = []

    @classmethod
    def of(cls, state: State) -> PendingCopies:
        """Return the pending copies of a batch, made when a kernel first asks."""
        if state.pending is None:
            state.pending = cls(state)
        return state.pending

    def reset(self) -> None:
        """Forget everything: a new batch starts."""
        self.committed.fill(0)
        self.copies.clear()

    def issue(self, operation: Operation, part: Part, data: Any) -> None:
        """Add the copy of one instruction; ``data`` has a unit for each lane of the part."""
        lanes = part.lanes.index
        group = self.committed[lanes]
        self.copies.append(_Copy(operation, lanes, part.units, data, group))

    def commit(self, lanes: Lanes) -> None:
        """Close the group of each lane."""
        self.committed[lanes.index] += 1

    def wait(self, lanes: Lanes, newest: int | None) -> None:
        """Complete the groups of each lane but the ``newest``; all copies if None."""
        limit = np.full(len(self.committed), -1, np.int64)
        index = lanes.index
        limit[index] = np.iinfo(np.int64).max if newest is None else self.committed[index] - newest
        left = []
        for copy in self.copies:
            done = copy.group < limit[copy.lanes]
            if done.all():
                self._complete(copy)
            elif done.any():
                self._complete(copy.only(done))
                left.append(copy.only(~done))
            else:
                left.append(copy)
        self.copies = left

    def _complete(self, copy: _Copy) -> None:
        state = self.state
        lanes = state.lanes(copy.lanes)
        part = Part(state.shared, copy.units, lanes)
        state.shared.views[copy.operation.width][copy.units] = copy.data
        mark_valid(copy.operation, part)
        if state.races is not None:
            state.races.completed(copy.operation, lanes, self.addresses(copy))

    def addresses(self, copy: _Copy) -> NDArray[np.int64]:
        """Return where a copy goes, in bytes from the start of each lane's shared memory."""
        base = self.state.units("shared", copy.operation.width)[copy.lanes]
        return (copy.units - base) << copy.operation.shift
