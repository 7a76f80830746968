"""``ld`` and ``st`` in every state space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tileviz.emulator.access import Operation, Part, check_valid, mark_valid, resolver
from tileviz.emulator.binder import DTYPE, Binder
from tileviz.emulator.lanes import Lanes
from tileviz.emulator.memory import UNIT
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.registry import operation
from tileviz.emulator.ptx import WIDTH, Address, Instruction, Operand, Register
from tileviz.emulator.state import Step

Array = Any  # a NumPy array; its own types say too little to be worth their noise

_SPACES = ("global", "shared", "shared::cta", "local", "const", "param", "param::entry")


def space_of(code: Opcode, binder: Binder, address: Operand) -> str:
    """Return the state space of an access, from its opcode or the variable it names."""
    named = code.take(*_SPACES)
    if isinstance(address, Address):
        direct = binder.space_of(address)
        if direct is not None:  # a call's parameters, in local memory, are named ".param"
            return direct
    return "generic" if named is None else named.partition("::")[0]


def vector_of(code: Opcode) -> int:
    """Return the number of elements per lane."""
    vector = code.take("v2", "v4", "v8")
    return int(vector[1]) if vector else 1


@operation("ld", "ldu")
def load(code: Opcode, instruction: Instruction, binder: Binder) -> Step | None:
    """``ld``: read one, two or four elements a lane."""
    kind = code.type()
    count = vector_of(code)
    size = WIDTH[kind] // 8
    targets = binder.vector(instruction.operands[0], count)
    address = instruction.operands[1]
    space = space_of(code, binder, address)
    code.take("acquire")
    code.drop_hints()
    if size * count > 16 or not size:
        raise code.unsupported("more than 16 bytes a lane")
    if space == "param" and isinstance(address, Address):
        start = binder.constant_address(address)
        if start is not None:
            return _parameter(instruction, binder, targets, kind, start)
    access = Operation(instruction.index, instruction.line, "load", "ld", size * count)
    resolve = resolver(binder.state, space, access)
    read = binder.addresses(address)
    write = writer(binder, targets, kind)
    whole = _whole_row(binder, targets, kind)
    state = binder.state

    def run(lanes: Lanes) -> None:
        parts = resolve(read(lanes), lanes)
        for part in parts:
            check_valid(state, access, part)
        part = parts[0]
        if whole is not None and lanes.exact is None and part.positions is None:
            part.target.views[size].take(part.units, out=whole, mode="wrap")
            return
        write(fetch(parts, lanes.count, access.width), lanes)

    return run


def _parameter(
    instruction: Instruction, binder: Binder, targets: tuple[Operand, ...], kind: str, start: int
) -> Step | None:
    """Read a kernel parameter: a constant, so usually no step at all."""
    dtype = DTYPE[kind]
    end = start + dtype.itemsize * len(targets)
    content = binder.state.parameters.data[start:end].tobytes()
    values = np.frombuffer(content.ljust(end - start, b"\0"), dtype)
    left: list[tuple[Array, np.generic]] = []
    for target, value in zip(targets, values, strict=True):
        if binder.settle(target, instruction, value):
            continue
        row = _row(binder, target, kind)
        if row is not None:
            left.append((row, value))
    if not left:
        return None

    def run(lanes: Lanes) -> None:
        for row, value in left:
            row[slice(None) if lanes.loose is None else lanes.loose] = value

    return run


@operation("st")
def store(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``st``: write one, two or four elements a lane."""
    kind = code.type()
    count = vector_of(code)
    size = WIDTH[kind] // 8
    address = instruction.operands[0]
    space = space_of(code, binder, address)
    code.take("release")
    code.drop_hints()
    if space in ("param", "const"):
        raise code.unsupported(f"store to .{space}")
    if size * count > 16 or not size:
        raise code.unsupported("more than 16 bytes a lane")
    access = Operation(instruction.index, instruction.line, "store", "st", size * count)
    resolve = resolver(binder.state, space, access)
    read = binder.addresses(address)
    gather = reader(binder, binder.vector(instruction.operands[1], count), f"b{size * 8}")
    state = binder.state

    def run(lanes: Lanes) -> None:
        parts = resolve(read(lanes), lanes)
        values = gather(lanes)
        if state.races is not None:
            for part in parts:
                if part.target is state.shared:
                    state.races.stored(_chosen(values, part))
        put(parts, values, access)

    return run


def fetch(parts: list[Part], count: int, width: int) -> Array:
    """Return the unit of ``width`` bytes that each lane addresses."""
    if parts[0].positions is None:
        part = parts[0]
        taken: Array = part.target.views[width].take(part.units, mode="wrap")
        return taken
    result = np.empty(count, UNIT[width])
    for part in parts:
        result[part.positions] = part.target.views[width][part.units]
    return result


def put(parts: list[Part], values: Any, access: Operation) -> None:
    """Store a unit a lane; where lanes collide the highest lane wins."""
    for part in parts:
        part.target.views[access.width][part.units] = _chosen(values, part)
        mark_valid(access, part)


def _chosen(values: Any, part: Part) -> Any:
    """Return the values, one a lane or one for all, of the lanes of a part."""
    varies = isinstance(values, np.ndarray) and part.positions is not None
    return values[part.positions] if varies else values


def _row(binder: Binder, target: Operand, kind: str) -> Array | None:
    """Return a destination row wide enough for ``kind``, of its signedness, or None for ``_``."""
    if not isinstance(target, Register):
        return binder.destination(target, kind)
    width = binder.width(target)
    if width == WIDTH[kind]:
        return binder.row(target.name, f"b{width}")
    return binder.row(target.name, f"{'s' if kind[0] == 's' else 'u'}{width}")


def _whole_row(binder: Binder, targets: tuple[Operand, ...], kind: str) -> Array | None:
    """Return the row that a load of one element can go to directly, or None."""
    if len(targets) != 1 or not isinstance(targets[0], Register):
        return None
    same = binder.width(targets[0]) == WIDTH[kind]
    return binder.row(targets[0].name, f"b{WIDTH[kind]}") if same else None


def writer(
    binder: Binder, targets: tuple[Operand, ...], kind: str
) -> Callable[[Array, Lanes], None]:
    """Return the function that spreads loaded units over the destination rows.

    Elements narrower than their register are extended by the signedness of ``kind``.
    """
    rows = [_row(binder, target, kind) for target in targets]
    element = DTYPE[kind] if kind[0] in "su" else np.dtype(f"uint{WIDTH[kind]}")

    def write(units: Array, lanes: Lanes) -> None:
        columns = units.view(element).reshape(lanes.count, len(rows))
        where = slice(None) if lanes.exact is None else lanes.exact
        for number, row in enumerate(rows):
            if row is not None:
                row[where] = columns[:, number]

    return write


def reader(binder: Binder, items: tuple[Operand, ...], kind: str) -> Callable[[Lanes], Any]:
    """Return the function that packs the elements of each lane into one unit."""
    values = [binder.source(item, kind) for item in items]
    element = DTYPE[kind]
    unit = UNIT[element.itemsize * len(values)]
    if len(values) == 1:
        single: Any = values[0]
        if not isinstance(single, np.ndarray):
            return lambda lanes: single
        return lambda lanes: single if lanes.exact is None else single[lanes.exact]

    def pack(lanes: Lanes) -> Array:
        columns = np.empty((lanes.count, len(values)), element)
        for number, value in enumerate(values):
            row: Any = value
            varies = isinstance(value, np.ndarray) and lanes.exact is not None
            columns[:, number] = row[lanes.exact] if varies else row
        return columns.view(unit)[:, 0]

    return pack
