"""Which lanes of a batch execute an instruction, and where each lane comes from."""

from __future__ import annotations

from typing import Union

import numpy as np
from numpy.typing import NDArray

from tileviz.emulator.problems import Coordinates

WARP = 32

Index = NDArray[np.intp]
Pick = Union[slice, Index]  # noqa: UP007 (an alias evaluated on Python 3.10)


class Lanes:
    """A set of lanes, in the two forms operations need.

    Lanes are numbered over the whole batch: block by block, each block padded to whole warps, so
    that lane ``i`` belongs to warp ``i // 32``.

    Attributes:
        count: Lanes that execute.
        exact: Exactly these lanes: a slice, an index array, or None for every lane of the batch.
        loose: A cheaper superset for operations that only write registers: it may add lanes that
            have exited. None means every lane of the batch.

    Example:
        >>> Lanes.of(np.array([4, 5, 6]), total=32, live=32).exact
        slice(4, 7, None)
    """

    __slots__ = ("_index", "count", "exact", "loose", "total")

    def __init__(self, index: Index | None, exact: Pick | None, loose: Pick | None, total: int):
        self._index = index
        self.exact = exact
        self.loose = loose
        self.total = total
        if index is not None:
            self.count = len(index)
        elif isinstance(exact, slice):
            self.count = exact.stop - exact.start
        else:
            self.count = total

    @classmethod
    def of(cls, index: Index, *, total: int, live: int) -> Lanes:
        """Return the lanes ``index``, ascending, of ``total``, ``live`` of them alive."""
        count = len(index)
        if count == total:
            return cls(None, None, None, total)
        first, end = int(index[0]), int(index[-1]) + 1
        span = slice(first, end)
        exact: Pick = span if end - first == count else index
        return cls(index, exact, span if count == live else exact, total)

    @property
    def index(self) -> Index:
        """The lane numbers, ascending."""
        if self._index is None:
            whole = slice(0, self.total)
            span = self.exact if isinstance(self.exact, slice) else whole
            self._index = np.arange(span.start, span.stop)
        return self._index

    def among(self, mask: NDArray[np.bool_], live: int) -> Lanes | None:
        """Return the lanes for which ``mask`` (one element a lane of these) holds, or None."""
        kept = self.index[mask]
        return Lanes.of(kept, total=self.total, live=live) if len(kept) else None


class Geometry:
    """The shape of a launch and of a batch of its blocks.

    Attributes:
        grid, block: Extents in x, y, z.
        threads: Threads in a block.
        stride: Lanes a block takes in a batch: its threads rounded up to whole warps.
        capacity: Blocks in a batch.
        lanes: Lanes in a batch.
        thread_index: Three uint32 rows, the thread coordinates of every lane.
        block_index: Three uint32 rows, set for every batch.
        lane: Lane in its warp, uint32.
        block_of: Block in the batch, by lane.

    Example:
        >>> geometry = Geometry((2, 1, 1), (8, 5, 1), capacity=2)
        >>> geometry.stride, geometry.lanes, geometry.thread_index[1][39]
        (64, 128, np.uint32(4))
    """

    def __init__(self, grid: Coordinates, block: Coordinates, capacity: int) -> None:
        self.grid = grid
        self.block = block
        self.threads = block[0] * block[1] * block[2]
        self.stride = -(-self.threads // WARP) * WARP
        self.warps = self.stride // WARP
        self.capacity = capacity
        self.lanes = capacity * self.stride
        number = np.arange(self.lanes)
        self.block_of = number // self.stride
        linear = number - self.block_of * self.stride
        x, y, _ = block
        self.linear = linear
        self.thread_index = tuple(
            part.astype(np.uint32) for part in (linear % x, linear // x % y, linear // (x * y))
        )
        self.block_index = tuple(np.zeros(self.lanes, np.uint32) for _ in range(3))
        self.lane = (number % WARP).astype(np.uint32)
        self.ids = np.zeros(0, np.int64)

    def place(self, ids: NDArray[np.int64]) -> Index:
        """Give the batch the blocks ``ids`` (linear); return the lanes that start, ascending."""
        self.ids = ids
        x, y, _ = self.grid
        count = len(ids) * self.stride
        for row, part in zip(
            self.block_index, (ids % x, ids // x % y, ids // (x * y)), strict=True
        ):
            row[:count] = np.repeat(part, self.stride)
        if self.threads == self.stride:
            return np.arange(count)
        return np.flatnonzero(self.linear[:count] < self.threads)

    def coordinates(self, linear_block: int) -> Coordinates:
        """Return x, y, z of a linear block number."""
        x, y, _ = self.grid
        return (linear_block % x, linear_block // x % y, linear_block // (x * y))

    def block_at(self, lane: int) -> Coordinates:
        """Return the block coordinates of a lane of the batch."""
        return self.coordinates(int(self.ids[lane // self.stride]))

    def thread_at(self, lane: int) -> Coordinates:
        """Return the thread coordinates of a lane of the batch."""
        x, y, z = (int(row[lane]) for row in self.thread_index)
        return (x, y, z)
