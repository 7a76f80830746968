"""Memory of a launch: global buffers, shared and local memory, all bounds-checked.

Every space is bytes seen through one view per access width. Addresses are 64-bit: global buffers
lie far apart, and generic addresses of shared and local memory fall into windows of their own, so
that a pointer that went astray hits nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Units = NDArray[Any]

POISON = 0xFF
GLOBAL_BASE = 0x7_0000_0000
SHARED_WINDOW = 0x7F00_0000_0000
LOCAL_WINDOW = 0x7E00_0000_0000
_GAP = 4096
_ALIGNMENT = 256

# One view per access width; 16-byte items travel as complex128, which NumPy moves bit for bit.
UNIT: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.uint16),
    4: np.dtype(np.uint32),
    8: np.dtype(np.uint64),
    16: np.dtype(np.complex128),
}


def aligned(count: int, dtype: np.dtype[Any] | type, fill: int | None = None) -> NDArray[Any]:
    """Return an array on a 64-byte boundary: unaligned vector loads cost up to twice as much.

    Example:
        >>> aligned(3, np.uint32, fill=0).tolist()
        [0, 0, 0]
    """
    size = count * np.dtype(dtype).itemsize
    raw = np.empty(size + 64, np.uint8) if fill is None else np.full(size + 64, fill, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype)


def views(data: Bytes) -> dict[int, Units]:
    """Return the bytes as arrays of 1-, 2-, 4-, 8- and 16-byte units."""
    return {width: data.view(unit) for width, unit in UNIT.items()}


class Region:
    """Equal pieces of memory, one for each block or lane, with a shadow of what was written.

    Args:
        size: Bytes of a piece that may be addressed.
        stride: Bytes from one piece to the next; a multiple of 16.
        count: Number of pieces.
        tracked: Start undefined, and know which bytes have been written.

    Attributes:
        views: The bytes by unit width.
        valid: The shadow by unit width, 0xFF in a written byte; empty where all is valid.
    """

    def __init__(self, size: int, stride: int, count: int, *, tracked: bool) -> None:
        self.size = size
        self.stride = stride
        self.data: Bytes = aligned(stride * count, np.uint8, 0)
        self.views = views(self.data)
        self._shadow: Bytes = aligned(stride * count if tracked else 0, np.uint8)
        self.valid: dict[int, Units] = {}
        self.reset()

    def reset(self) -> None:
        """Make the content of a tracked region undefined again."""
        if len(self._shadow):
            self.data.fill(POISON)
            self._shadow.fill(0)
            self._shadow.reshape(-1, self.stride)[:, self.size :] = 0xFF  # never addressed
            self.valid = views(self._shadow)

    def settle(self) -> None:
        """Stop tracking once every byte has been written."""
        if self.valid and self._shadow.min() == 0xFF:
            self.valid = {}


class GlobalBuffer:
    """One allocation in global memory.

    Attributes:
        name: Name of the buffer or module variable.
        address: First address; a multiple of 256.
        size: In bytes.
    """

    def __init__(self, name: str, address: int, size: int, content: Bytes | None) -> None:
        self.name = name
        self.address = address
        self.size = size
        self.tracked = content is None
        self.valid: dict[int, Units] = {}
        self.owned = True
        if content is None:
            region = Region(size, max(16, -(-size // 16) * 16), 1, tracked=True)
            self.data, self.valid = region.data, region.valid
        elif size % 16 == 0 and content.ctypes.data % 16 == 0:
            self.data, self.owned = content, False  # copied when first stored to
        else:
            self.data = aligned(-(-size // 16) * 16, np.uint8, 0)
            self.data[:size] = content
        self.views = views(self.data)

    def own(self) -> None:
        """Make the content private, so that the caller's array is never written."""
        if not self.owned:
            copy = aligned(len(self.data), np.uint8)
            copy[:] = self.data
            self.data, self.views, self.owned = copy, views(copy), True

    def content(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the content as a flat array of ``dtype``."""
        return self.data[: self.size].view(dtype)


class GlobalMemory:
    """All global buffers, in ascending order of address."""

    def __init__(self) -> None:
        self.buffers: list[GlobalBuffer] = []
        self._next = GLOBAL_BASE
        self._starts = np.zeros(0, np.int64)

    def add(self, name: str, size: int, content: Bytes | None) -> GlobalBuffer:
        """Allocate ``size`` bytes; without ``content`` they are poisoned and tracked."""
        buffer = GlobalBuffer(name, self._next, size, content)
        self._next += -(-(size + _GAP) // _ALIGNMENT) * _ALIGNMENT
        self.buffers.append(buffer)
        self._starts = np.array([b.address for b in self.buffers], np.int64)
        return buffer

    def owner(self, addresses: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the number of the buffer at or below each address, -1 below all of them."""
        return np.searchsorted(self._starts, addresses, "right") - 1

    def nearest(self, address: int) -> GlobalBuffer | None:
        """Return the buffer that an address is in or just outside of, or None."""
        best: GlobalBuffer | None = None
        distance = 1 << 20
        for buffer in self.buffers:
            past = address - (buffer.address + buffer.size)
            gap = max(buffer.address - address, past, 0)
            if gap < distance:
                best, distance = buffer, gap
        return best


@dataclass(frozen=True)
class Segment:
    """A named piece of shared or local memory, for messages."""

    name: str
    offset: int
    size: int


def segment_at(segments: Sequence[Segment], offset: int) -> str:
    """Return the name of the segment that holds ``offset``, or "".

    Example:
        >>> segment_at([Segment("tile", 0, 64), Segment("rows", 64, 16)], 70)
        'rows'
    """
    for segment in segments:
        if segment.offset <= offset < segment.offset + segment.size:
            return segment.name
    return ""
