"""``cp.async``: copies from global to shared memory that complete at a later wait."""

from __future__ import annotations

from typing import Any

import numpy as np

from tileviz.emulator.access import Operation, Resolver, check_valid, resolver
from tileviz.emulator.binder import Addresses, Binder
from tileviz.emulator.lanes import Lanes
from tileviz.emulator.memory import UNIT
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.memory import fetch
from tileviz.emulator.ops.registry import operation
from tileviz.emulator.ops.warp import pick
from tileviz.emulator.pending import PendingCopies
from tileviz.emulator.ptx import Immediate, Instruction
from tileviz.emulator.state import State, Step

Array = Any  # a NumPy array; its own types say too little to be worth their noise


@operation("cp")
def copy(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``cp.async`` and its commit and wait instructions; not the bulk forms."""
    code.need("async")
    order = code.take("commit_group", "wait_group", "wait_all")
    if order is not None:
        return _order(code, order, instruction, binder)
    cache = code.need("ca", "cg")
    code.need("shared", "shared::cta")
    code.need("global")
    code.drop_hints()
    target, source, size, *rest = instruction.operands
    if not isinstance(size, Immediate) or size.value not in (4, 8, 16) or len(rest) > 1:
        raise code.unsupported()
    width = size.value
    name, state = f"ldgsts.{cache}", binder.state
    store = Operation(instruction.index, instruction.line, "async", name, width)
    load = Operation(instruction.index, instruction.line, "load", name, width)
    put, get = resolver(state, "shared", store), resolver(state, "global", load)
    to, since = binder.addresses(target), binder.addresses(source)
    partial = binder.source(rest[0], "u32") if rest else np.uint32(width)
    source_of = _Source(state, load, get)
    pending = PendingCopies.of(state)

    def run(lanes: Lanes) -> None:
        part = put(to(lanes), lanes)[0]
        sizes = np.broadcast_to(pick(partial, lanes), lanes.count)
        pending.issue(store, part, source_of(since(lanes), lanes, sizes))

    return run


class _Source:
    """Reads the global side: whole units, or fewer bytes with zeros after them."""

    def __init__(self, state: State, operation: Operation, resolve: Resolver) -> None:
        self.state = state
        self.operation = operation
        self.resolve = resolve
        byte = Operation(operation.number, operation.line, "load", operation.name, 1)
        self.resolve_byte = resolver(state, "global", byte)

    def __call__(self, addresses: Addresses, lanes: Lanes, sizes: Array) -> Array:
        width = self.operation.width
        if (sizes == width).all():
            return self._whole(addresses, lanes)
        result = np.zeros(lanes.count, UNIT[width])
        whole = sizes >= width
        some = lanes.among(whole, self.state.live_count)
        if some is not None:
            result[whole] = self._whole(addresses[whole], some)
        self._bytes(addresses, lanes, np.where(whole, 0, sizes), result)
        return result

    def _whole(self, addresses: Addresses, lanes: Lanes) -> Array:
        parts = self.resolve(addresses, lanes)
        for part in parts:
            check_valid(self.state, self.operation, part)
        return fetch(parts, lanes.count, self.operation.width)

    def _bytes(self, addresses: Addresses, lanes: Lanes, sizes: Array, result: Array) -> None:
        """Read the lanes with an incomplete unit byte by byte, which is rare."""
        content = result.view(np.uint8).reshape(lanes.count, -1)
        for number in range(int(sizes.max())):
            here = sizes > number
            some = lanes.among(here, self.state.live_count)
            if some is not None:
                parts = self.resolve_byte(addresses[here] + number, some)
                content[here, number] = fetch(parts, some.count, 1)


def _order(code: Opcode, order: str, instruction: Instruction, binder: Binder) -> Step:
    pending = PendingCopies.of(binder.state)
    if order == "commit_group":
        return pending.commit
    if order == "wait_all":
        return lambda lanes: pending.wait(lanes, None)
    count = instruction.operands[0]
    if not isinstance(count, Immediate):
        raise code.unsupported()
    newest = count.value
    return lambda lanes: pending.wait(lanes, newest)
