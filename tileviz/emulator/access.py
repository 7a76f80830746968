"""From the addresses of an instruction to places in memory: bounds, alignment, observers.

An access resolves to *parts*: lanes that address the same region. Nearly always there is one. The
checks cost one pass over the addresses: the bitwise or of all of them has a low bit set if any is
misaligned, and is in range only if all are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tileviz.emulator.errors import UnsupportedError
from tileviz.emulator.lanes import Index, Lanes
from tileviz.emulator.memory import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    GlobalBuffer,
    Region,
    segment_at,
)
from tileviz.emulator.problems import Kind, Problem, Stop
from tileviz.emulator.state import State

Addresses = NDArray[np.int64]


@dataclass(frozen=True)
class Operation:
    """What an instruction does to memory, for checks, the trace and messages.

    Attributes:
        number: Position of the instruction in its function.
        line: Source line, or None.
        kind: ``load``, ``store`` or ``atomic``: how it orders with other accesses.
        name: The operation's name in a trace, such as ``ld`` or ``ldgsts.cg``.
        width: Bytes per lane, 1 to 16, a power of two.
    """

    number: int
    line: int | None
    kind: str
    name: str
    width: int

    @property
    def shift(self) -> int:
        """log2 of the width."""
        return self.width.bit_length() - 1


class Target(Protocol):
    """The bytes that a part addresses: a region or a global buffer."""

    views: dict[int, NDArray[Any]]
    valid: dict[int, NDArray[Any]]


class Part:
    """Lanes of an access that address one region.

    Attributes:
        target: The region or buffer.
        units: By lane, the place in the view whose unit is the width of the access.
        lanes: The lanes.
        positions: Where these lanes are among all lanes of the access; None when they are all.
    """

    __slots__ = ("lanes", "positions", "target", "units")

    def __init__(
        self, target: Target, units: Index, lanes: Lanes, positions: Index | None = None
    ) -> None:
        self.target = target
        self.units = units
        self.lanes = lanes
        self.positions = positions


Resolver = Callable[[Addresses, Lanes], "list[Part]"]


def resolver(state: State, space: str, operation: Operation) -> Resolver:
    """Return the function that resolves addresses in ``space``.

    Args:
        state: The batch.
        space: ``shared``, ``local``, ``param``, ``global``, ``const`` or ``generic``.
        operation: What is done there.
    """
    if space == "shared":
        return _Blockwise(state, operation, "shared", state.shared)
    if space == "local":
        return _Blockwise(state, operation, "local", state.local)
    if space == "param":
        return _Blockwise(state, operation, "param", state.parameters)
    if space in ("global", "const"):
        # Constants come through a cache of their own and move no sectors.
        return _Global(state, operation, traced=space == "global")
    if space == "generic":
        return _Generic(state, operation)
    raise UnsupportedError(f"unsupported PTX state space .{space}", operation.line)


def _fault(
    state: State,
    operation: Operation,
    kind: Kind,
    space: str,
    lane: int,
    detail: str,
    buffer: str | None,
) -> Stop:
    word = {"misaligned": "misaligned", "out_of_bounds": "out-of-bounds"}[kind]
    what = f"{word} {operation.width}-byte {space} {operation.kind}"
    return Stop(state.site(lane, operation.line).problem(kind, what, detail, buffer=buffer))


class _Blockwise:
    """Memory that every block or every lane has its own piece of."""

    def __init__(self, state: State, operation: Operation, space: str, region: Region) -> None:
        self.state = state
        self.operation = operation
        self.space = space
        self.region = region
        self.last = region.size - operation.width
        many = state.geometry.capacity > 1 or space == "local"
        self.base = state.units(space, operation.width) if many and space != "param" else None

    def __call__(self, addresses: Addresses, lanes: Lanes) -> list[Part]:
        operation = self.operation
        union = int(np.bitwise_or.reduce(addresses.view(np.uint64)))
        if union & (operation.width - 1) or union > self.last:
            self._check(addresses, lanes)
        units = addresses >> operation.shift
        if self.base is not None:
            units += self.base if lanes.exact is None else self.base[lanes.exact]
        if self.space == "shared":
            state = self.state
            if state.trace is not None:
                state.trace.shared(operation, lanes, addresses)
            if state.races is not None:
                state.races.access(operation, lanes, addresses)
        return [Part(self.region, units, lanes)]

    def _check(self, addresses: Addresses, lanes: Lanes) -> None:
        """Find the first lane at fault, if any: the quick test also stops at some that are fine."""
        operation = self.operation
        misaligned = addresses & (operation.width - 1) != 0
        outside = (addresses < 0) | (addresses > self.last)
        bad = misaligned | outside
        if not bad.any():
            return
        first = int(np.argmax(bad))
        offset = int(addresses[first])
        segments = (
            self.state.shared_segments if self.space == "shared" else self.state.local_segments
        )
        name = segment_at(segments, offset)
        detail = f"{self.space} memory ({self.region.size} bytes), byte offset {offset}"
        if name:
            detail = f'buffer "{name}" in {detail}'
        kind: Kind = "misaligned" if misaligned[first] else "out_of_bounds"
        lane = int(lanes.index[first])
        raise _fault(self.state, operation, kind, self.space, lane, detail, name or None)


class _Global:
    """Global buffers; the one that the instruction used last is tried first."""

    def __init__(self, state: State, operation: Operation, traced: bool = True) -> None:
        self.state = state
        self.operation = operation
        self.traced = traced
        self.buffer: GlobalBuffer | None = None

    def __call__(self, addresses: Addresses, lanes: Lanes) -> list[Part]:
        part = self._single(self.buffer, addresses, lanes) if self.buffer else None
        if part is not None:
            return [part]
        first = int(self.state.memory.owner(addresses[:1])[0])
        if first >= 0:
            buffer = self.state.memory.buffers[first]
            part = self._single(buffer, addresses, lanes)
            if part is not None:
                self.buffer = buffer
                return [part]
        return self._several(addresses, self.state.memory.owner(addresses), lanes)

    def _single(
        self, buffer: GlobalBuffer | None, addresses: Addresses, lanes: Lanes
    ) -> Part | None:
        """Return the part if all lanes address the buffer rightly, else None."""
        if buffer is None:
            return None
        operation = self.operation
        offsets = addresses - buffer.address
        last = buffer.size - operation.width
        union = int(np.bitwise_or.reduce(offsets.view(np.uint64)))
        if union & (operation.width - 1):
            return None
        if union > last and (last < 0 or int(offsets.view(np.uint64).max()) > last):
            return None
        if operation.kind != "load":
            buffer.own()
        if self.traced and self.state.trace is not None:
            self.state.trace.buffer(operation, lanes, offsets, buffer)
        return Part(buffer, offsets >> operation.shift, lanes)

    def _several(self, addresses: Addresses, owner: Index, lanes: Lanes) -> list[Part]:
        """Resolve lanes that address several buffers, or report the first that addresses none."""
        state, operation = self.state, self.operation
        buffers = state.memory.buffers
        starts = np.array([buffer.address for buffer in buffers] or [0], np.int64)
        sizes = np.array([buffer.size for buffer in buffers] or [0], np.int64)
        offsets = addresses - starts[np.maximum(owner, 0)]
        misaligned = offsets & (operation.width - 1) != 0
        outside = (owner < 0) | (offsets > sizes[np.maximum(owner, 0)] - operation.width)
        bad = misaligned | outside
        if bad.any():
            raise self._report(int(np.argmax(bad)), addresses, misaligned, lanes)
        parts = []
        for number in np.unique(owner):
            positions = np.flatnonzero(owner == number)
            some = state.lanes(lanes.index[positions])
            buffer = buffers[number]
            if operation.kind != "load":
                buffer.own()
            if self.traced and state.trace is not None:
                state.trace.buffer(operation, some, offsets[positions], buffer)
            parts.append(Part(buffer, offsets[positions] >> operation.shift, some, positions))
        return parts

    def _report(
        self, first: int, addresses: Addresses, misaligned: NDArray[np.bool_], lanes: Lanes
    ) -> Stop:
        address = int(addresses[first])
        buffer = self.state.memory.nearest(address)
        if buffer is None:
            detail = f"address 0x{address & (1 << 64) - 1:x} is in no buffer"
        else:
            offset = address - buffer.address
            detail = f'buffer "{buffer.name}" ({buffer.size} bytes), byte offset {offset}'
        kind: Kind = "misaligned" if misaligned[first] else "out_of_bounds"
        lane = int(lanes.index[first])
        name = buffer.name if buffer else None
        return _fault(self.state, self.operation, kind, "global", lane, detail, name)


class _Generic:
    """Generic addresses, sent to the space whose window each of them is in."""

    def __init__(self, state: State, operation: Operation) -> None:
        self.state = state
        self.spaces: list[tuple[int, Resolver]] = [
            (0, _Global(state, operation)),
            (LOCAL_WINDOW, _Blockwise(state, operation, "local", state.local)),
            (SHARED_WINDOW, _Blockwise(state, operation, "shared", state.shared)),
        ]
        self.windows = np.array([LOCAL_WINDOW, SHARED_WINDOW], np.int64)

    def __call__(self, addresses: Addresses, lanes: Lanes) -> list[Part]:
        which = np.searchsorted(self.windows, addresses, "right")
        parts: list[Part] = []
        for number, (window, resolve) in enumerate(self.spaces):
            here = which == number
            if here.all():
                return resolve(addresses - window, lanes)
            positions = np.flatnonzero(here)
            if not len(positions):
                continue
            some = self.state.lanes(lanes.index[positions])
            for part in resolve(addresses[positions] - window, some):
                inner = positions if part.positions is None else positions[part.positions]
                parts.append(Part(part.target, part.units, part.lanes, inner))
        return parts


def check_valid(state: State, operation: Operation, part: Part) -> None:
    """Note an uninitialised read if a lane reads bytes that were never written."""
    valid = part.target.valid
    if not valid:
        return
    width = min(operation.width, 8)
    shadow = valid[operation.width][part.units].view(f"uint{8 * width}")
    full = (1 << 8 * width) - 1
    if int(np.bitwise_and.reduce(shadow)) == full:
        return

    bad = (shadow.reshape(len(part.units), -1) != full).any(axis=1)
    first = int(np.argmax(bad))
    lane = int(part.lanes.index[first])
    state.note(
        ("uninitialised", operation.line, operation.number),
        lambda: _uninitialised(state, operation, part, first, lane),
    )


def _uninitialised(
    state: State, operation: Operation, part: Part, first: int, lane: int
) -> Problem:
    target = part.target
    offset = int(part.units[first]) << operation.shift
    name: str | None = None
    if isinstance(target, GlobalBuffer):
        space, name = "global", target.name
        detail = f'buffer "{name}" ({target.size} bytes), byte offset {offset}'
    else:
        space = "shared" if target is state.shared else "local"
        stride = state.shared_stride if space == "shared" else state.local_stride
        owner = lane // state.geometry.stride if space == "shared" else lane
        offset -= owner * stride
        segments = state.shared_segments if space == "shared" else state.local_segments
        name = segment_at(segments, offset) or None
        detail = f"{space} memory, byte offset {offset}"
        if name:
            detail = f'buffer "{name}" in {detail}'
    what = f"uninitialised {operation.width}-byte {space} {operation.kind}"
    return state.site(lane, operation.line).problem("uninitialised", what, detail, buffer=name)


def mark_valid(operation: Operation, part: Part) -> None:
    """Remember that the bytes of a store have been written."""
    valid = part.target.valid
    if valid:
        if operation.width == 16:
            shadow = valid[8].reshape(-1, 2)
            shadow[part.units] = np.uint64(0xFFFFFFFFFFFFFFFF)
        else:
            unit = valid[operation.width]
            unit[part.units] = unit.dtype.type(~unit.dtype.type(0))
