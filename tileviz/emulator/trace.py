"""Recording of memory accesses, and their grouping into `Accesses`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.kernel import source_lines
from tileviz.emulator.lanes import WARP, Lanes
from tileviz.emulator.memory import Segment, segment_at
from tileviz.memory import Accesses

if TYPE_CHECKING:
    from tileviz.emulator.access import Operation
    from tileviz.emulator.memory import GlobalBuffer

_Space = Literal["shared", "global"]


@dataclass(frozen=True)
class _Key:
    """What one `Accesses` groups; ``buffer`` is None for shared memory."""

    line: int | None
    space: _Space
    op: str
    width: int
    buffer: str | None


@dataclass(frozen=True, eq=False)
class _Record:
    """One executed instruction: addresses of the lanes that took part, and the batch's warps."""

    key: _Key
    addresses: NDArray[np.int64]
    lanes: Lanes
    warps: NDArray[np.int64]


class Trace:
    """Accesses of the traced blocks, as they happen.

    Args:
        limit: Most bytes of addresses kept. When a batch passes it, the batch is dropped, nothing
            more is recorded, and ``full`` is set.
    """

    def __init__(self, limit: int) -> None:
        self.full = False
        self._limit = limit
        self._bytes = 0
        self._records: list[_Record] = []
        self._mark = 0
        self._warps = np.zeros(0, np.int64)

    def begin(self, warps: NDArray[np.int64]) -> None:
        """Start a batch whose warps, in order, are ``warps`` of the launch."""
        self._mark = len(self._records)
        self._warps = warps

    def shared(self, operation: Operation, lanes: Lanes, addresses: NDArray[np.int64]) -> None:
        """Record an access to shared memory; the array is kept and must not change."""
        key = _Key(operation.line, "shared", operation.name, operation.width, None)
        self._add(_Record(key, addresses, lanes, self._warps))

    def buffer(
        self,
        operation: Operation,
        lanes: Lanes,
        offsets: NDArray[np.int64],
        buffer: GlobalBuffer,
    ) -> None:
        """Record an access to a global buffer; the array is kept and must not change."""
        key = _Key(operation.line, "global", operation.name, operation.width, buffer.name)
        self._add(_Record(key, offsets, lanes, self._warps))

    def _add(self, record: _Record) -> None:
        if self.full:
            return
        self._bytes += record.addresses.nbytes
        if self._bytes > self._limit:
            self.full = True
            del self._records[self._mark :]
            return
        self._records.append(record)

    def accesses(self, source: str, segments: Sequence[Segment]) -> tuple[Accesses, ...]:
        """Return everything recorded, one entry a line, space, operation, width and buffer.

        Args:
            source: The kernel's source, for the text of each line.
            segments: The arrays in shared memory, for their names.
        """
        groups: dict[_Key, list[_Record]] = {}
        for record in self._records:
            groups.setdefault(record.key, []).append(record)
        lines = source_lines(source)
        result = []
        for key, records in sorted(groups.items(), key=lambda item: item[0].line or 0):
            grids = [_by_warp(record) for record in records]
            addresses = np.concatenate([grid for grid, _, _ in grids])
            active = np.concatenate([mask for _, mask, _ in grids])
            warps = np.concatenate([numbers for _, _, numbers in grids])
            line = key.line
            text = lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else ""
            buffer = key.buffer
            if buffer is None:
                buffer = _shared_name(segments, addresses[active])
            result.append(
                Accesses(addresses, active, key.space, key.op, key.width, line, text, buffer, warps)
            )
        return tuple(result)


def _by_warp(
    record: _Record,
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Return addresses and active lanes as ``[warp, lane]``, and which warps those are.

    Warps that took no part are left out.
    """
    exact = record.lanes.exact
    if exact is None:
        grid = record.addresses.reshape(-1, WARP)
        return grid, np.ones(grid.shape, np.bool_), record.warps[: len(grid)]
    index = record.lanes.index
    start = int(index[0]) // WARP * WARP
    end = (int(index[-1]) // WARP + 1) * WARP
    addresses = np.zeros(end - start, np.int64)
    active = np.zeros(end - start, np.bool_)
    addresses[index - start] = record.addresses
    active[index - start] = True
    grid, mask = addresses.reshape(-1, WARP), active.reshape(-1, WARP)
    warps = record.warps[start // WARP : end // WARP]
    used = mask.any(axis=1)
    return (grid, mask, warps) if used.all() else (grid[used], mask[used], warps[used])


def _shared_name(segments: Sequence[Segment], addresses: NDArray[np.int64]) -> str:
    """Return the name of the one array that all addresses are in, or ""."""
    first = segment_at(segments, int(addresses.min()))
    return first if first == segment_at(segments, int(addresses.max())) else ""
