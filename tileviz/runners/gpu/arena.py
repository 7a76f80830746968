"""All buffers of a request in one allocation, each between guard bands of known bytes.

Allocations share pages, so a small overrun does not fault by itself: the guards catch it. The
guards of inputs are 0xFF, a NaN in every float type, so that a stray read shows in the result too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tileviz.cuda.kernel import Array, Buffer
from tileviz.dtypes import dtype
from tileviz.runners.gpu.device import Device, Pointer

ALIGNMENT = 256
POISON = 0xFF
SECOND_POISON = 0x5A

_GUARD_BYTES = 64 << 10
_MAX_GUARD_BYTES = 1 << 20


@dataclass(frozen=True)
class Slot:
    """Where one buffer lies in the arena.

    Attributes:
        buffer: The buffer.
        offset: Bytes from the start of the arena; a multiple of 256.
        bytes: Its size.
        before: Bytes of guard before it, and
        after: behind it, from its very last byte on.
    """

    buffer: Buffer
    offset: int
    bytes: int
    before: int
    after: int


@dataclass(frozen=True)
class Overrun:
    """Bytes changed in a guard band.

    Attributes:
        buffer: Name of the buffer beside the band.
        side: ``"before"`` or ``"after"``.
        count: Number of bytes changed.
        index: Element index that reaches the changed byte nearest to the buffer; below 0 before it.
        elements: Elements the buffer has.
    """

    buffer: str
    side: str
    count: int
    index: int
    elements: int

    @property
    def message(self) -> str:
        """One line for people.

        Example:
            >>> Overrun("y", "after", 4, 1024, 1024).message
            'wrote 4 bytes after y: nearest is element 1024, and it has 1024'
        """
        return (
            f"wrote {self.count} bytes {self.side} {self.buffer}: nearest is element "
            f"{self.index}, and it has {self.elements}"
        )


def layout(buffers: Sequence[Buffer]) -> tuple[tuple[Slot, ...], int]:
    """Place buffers one after another and return their slots and the arena's size in bytes.

    Example:
        >>> (slot,), size = layout([Buffer("x", "float32", (100,), "in")])
        >>> slot.offset, slot.bytes, size == 2 * 65536 + 400
        (65536, 400, True)
    """
    slots, end = [], 0
    for buffer in buffers:
        kind = dtype(buffer.dtype)
        size = buffer.count * kind.lanes * kind.numpy.itemsize
        row = (buffer.shape[-1] if buffer.shape else 1) * kind.lanes * kind.numpy.itemsize
        guard = min(max(_GUARD_BYTES, row), _MAX_GUARD_BYTES)
        offset = -(-(end + guard) // ALIGNMENT) * ALIGNMENT
        slots.append(Slot(buffer, offset, size, offset - end, guard))
        end = offset + size + guard
    return tuple(slots), end


def pattern(slot: Slot, start: int, size: int) -> Array:
    """Return the bytes of a guard: 0xFF beside inputs, else bytes that depend on the position."""
    if slot.buffer.role == "in":
        return np.full(size, POISON, np.uint8)
    # A prime period: no power-of-two stride repeats it.
    return ((np.arange(start, start + size) % 251) + 1).astype(np.uint8)


class Arena:
    """The buffers of one kernel on a device.

    Args:
        device: Where.
        buffers: In parameter order.
        inputs: Flat content of every ``in`` and ``inout`` buffer by name.

    Raises:
        DeviceError: There is not so much memory.
    """

    def __init__(self, device: Device, buffers: Sequence[Buffer], inputs: dict[str, Array]) -> None:
        self.slots, self.bytes = layout(buffers)
        self._device = device
        self._inputs = {
            name: np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            for name, array in inputs.items()
        }
        self._saved: dict[str, int] = {}
        self._base = device.allocate(self.bytes)
        for slot in self.slots:
            for start, size in _bands(slot):
                device.write(self._base + start, pattern(slot, start, size))

    def pointers(self) -> dict[str, Pointer]:
        """Return the device memory of each buffer by name."""
        return {
            slot.buffer.name: Pointer(self._base + slot.offset, slot.bytes) for slot in self.slots
        }

    def fill(self, poison: int = POISON) -> None:
        """Put the inputs in place, and every byte of an output to ``poison``."""
        for slot in self.slots:
            address = self._base + slot.offset
            if slot.buffer.role == "out":
                self._device.fill(address, poison, slot.bytes)
            else:
                self._device.write(address, self._inputs[slot.buffer.name])

    def save(self) -> None:
        """Keep the content of ``inout`` buffers on the device, for `restore`."""
        for slot in self.slots:
            if slot.buffer.role == "inout" and slot.bytes:
                kept = self._device.allocate(slot.bytes)
                self._saved[slot.buffer.name] = kept
                self._device.write(kept, self._inputs[slot.buffer.name])

    def restore(self) -> None:
        """Put saved content back, on the device: a kernel timed twice must see the same input."""
        for slot in self.slots:
            if slot.buffer.name in self._saved:
                address = self._base + slot.offset
                self._device.copy(address, self._saved[slot.buffer.name], slot.bytes)

    def outputs(self) -> dict[str, Array]:
        """Return the content of every ``out`` and ``inout`` buffer in its carrier type."""
        return {
            slot.buffer.name: self._device.read(self._base + slot.offset, slot.bytes).view(
                dtype(slot.buffer.dtype).numpy
            )
            for slot in self.slots
            if slot.buffer.role != "in"
        }

    def overruns(self) -> list[Overrun]:
        """Return which guard bands were written."""
        found = []
        for slot in self.slots:
            for start, size in _bands(slot):
                got = self._device.read(self._base + start, size)
                changed = np.flatnonzero(got != pattern(slot, start, size))
                if changed.size:
                    found.append(_overrun(slot, start, changed))
        return found

    def written_inputs(self) -> list[str]:
        """Return the names of ``in`` buffers whose content is not what was given."""
        return [
            slot.buffer.name
            for slot in self.slots
            if slot.buffer.role == "in"
            and not np.array_equal(
                self._device.read(self._base + slot.offset, slot.bytes),
                self._inputs[slot.buffer.name],
            )
        ]

    def release(self) -> None:
        """Free everything."""
        for address in (*self._saved.values(), self._base):
            self._device.release(address)
        self._saved.clear()


def reveal_unwritten(first: Array, second: Array) -> Array:
    """Return the first run's output, with elements that were never written made visible.

    The poison of a first run, 0xFF, is -1 as an integer: a legal result. What holds the poison in
    that run and the other poison in the second was written by neither, and gets the second's.

    Args:
        first: Content after a run over bytes 0xFF.
        second: Content after the same run over bytes 0x5A.

    Example:
        >>> reveal_unwritten(np.array([-1, 7, -1], np.int8), np.array([-1, 7, 0x5A], np.int8))
        array([-1,  7, 90], dtype=int8)
    """
    bits = np.dtype(f"u{first.dtype.itemsize}")
    poisons = [
        np.full(first.dtype.itemsize, byte, np.uint8).view(bits)[0]
        for byte in (POISON, SECOND_POISON)
    ]
    unwritten = (first.view(bits) == poisons[0]) & (second.view(bits) == poisons[1])
    return np.where(unwritten, second, first)


def _bands(slot: Slot) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return start and size of the guard before and the guard behind a buffer."""
    return (
        (slot.offset - slot.before, slot.before),
        (slot.offset + slot.bytes, slot.after),
    )


def _overrun(slot: Slot, start: int, changed: Array) -> Overrun:
    item = max(slot.bytes // max(slot.buffer.count, 1), 1) or 1
    before = start < slot.offset
    nearest = start + int(changed[-1] if before else changed[0])
    return Overrun(
        slot.buffer.name,
        "before" if before else "after",
        int(changed.size),
        (nearest - slot.offset) // item,
        slot.buffer.count,
    )
