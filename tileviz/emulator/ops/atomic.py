"""``atom`` and ``red``: read-modify-write in global, shared or generic memory.

Lanes that hit the same place act one after another, in ascending order, so results are
reproducible; a GPU may take any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tileviz.emulator.access import Operation, Part, check_valid, mark_valid, resolver
from tileviz.emulator.binder import DTYPE, Binder
from tileviz.emulator.lanes import Lanes
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops import half
from tileviz.emulator.ops.memory import space_of
from tileviz.emulator.ops.registry import operation
from tileviz.emulator.ops.warp import pick
from tileviz.emulator.ptx import WIDTH, Instruction
from tileviz.emulator.state import Step

Array = Any  # a NumPy array; its own types say too little to be worth their noise
Update = Callable[..., Array]  # old value and operands to new value

_UFUNCS: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_OTHERS: dict[str, Update] = {
    "exch": lambda old, value: value,
    "cas": lambda old, expected, value: np.where(old == expected, value, old),
    "inc": lambda old, top: np.where(old >= top, 0, old + old.dtype.type(1)),
    "dec": lambda old, top: np.where((old == 0) | (old > top), top, old - old.dtype.type(1)),
}
_KINDS: dict[str, tuple[str, ...]] = {
    "add": ("u32", "s32", "u64", "s64", "f32", "f64", *half.KINDS),
    "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"),
    **dict.fromkeys(("and", "or", "xor", "exch"), ("b32", "b64", "u32", "s32", "u64", "s64")),
    "cas": ("b16", "b32", "b64", "u32", "s32", "u64"),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
}


@operation("atom", "red")
def atomic(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``atom`` gives the old value, ``red`` none."""
    name = code.need(*_KINDS)
    kind = code.type()
    if kind not in _KINDS[name]:
        raise code.unsupported()
    code.take("acquire", "release", "acq_rel")
    code.take("noftz")
    operands = instruction.operands
    target = operands[0] if code.name == "atom" else None
    address, *given = operands[1:] if code.name == "atom" else operands
    space = space_of(code, binder, address)
    code.drop_hints()
    if len(given) != (2 if name == "cas" else 1) or space not in ("global", "shared", "generic"):
        raise code.unsupported()
    access = Operation(instruction.index, instruction.line, "atomic", "atom", WIDTH[kind] // 8)
    resolve = resolver(binder.state, space, access)
    read = binder.addresses(address)
    values = [binder.source(operand, kind) for operand in given]
    row = binder.destination(target, kind) if target is not None else None
    update = _Update(name, kind)
    state = binder.state

    def run(lanes: Lanes) -> None:
        if state.races is not None:
            state.races.atomic(lanes)
        parts = resolve(read(lanes), lanes)
        chosen = [np.broadcast_to(pick(value, lanes), lanes.count) for value in values]
        old = np.empty(lanes.count, DTYPE[kind]) if row is not None else None
        for part in parts:
            check_valid(state, access, part)
            some = slice(None) if part.positions is None else part.positions
            before = update(part, [value[some] for value in chosen], wanted=old is not None)
            mark_valid(access, part)
            if old is not None:
                old[some] = before
        if row is not None:
            row[slice(None) if lanes.exact is None else lanes.exact] = old

    return run


class _Update:
    """Applies one kind of update to the places of a part, lane after lane."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.ufunc = _UFUNCS.get(name) if kind not in half.KINDS else None
        if kind in half.KINDS:
            self.function: Update = half.adder(kind)
        else:
            self.function = self.ufunc if self.ufunc is not None else _OTHERS[name]

    def __call__(self, part: Part, values: list[Array], *, wanted: bool) -> Array | None:
        """Update memory; return what each lane found there, if wanted."""
        view = part.target.views[WIDTH[self.kind] // 8].view(DTYPE[self.kind])
        units = part.units
        if not wanted and self.ufunc is not None:
            self.ufunc.at(view, units, values[0])
            return None
        order = np.argsort(units, kind="stable")
        places = units[order]
        starts = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
        if len(starts) == len(places):  # no two lanes meet
            old = view[units]
            view[units] = self.function(old, *values)
            return old
        if self.name == "add" and self.kind[0] in "us":
            return self._sums(view, order, places, starts, values[0])
        if self.name == "cas" and _uniform(order, starts, values):
            return self._contest(view, order, places, starts, values)
        return self._turns(view, order, places, starts, values)

    def _contest(
        self, view: Array, order: Array, places: Array, starts: Array, values: list[Array]
    ) -> Array:
        """Lanes that all try the same swap, as for a lock: at most the first one succeeds."""
        expected, value = values
        first = order[starts]
        here = places[starts]
        found = view[here]
        after = np.where(found == expected[first], value[first], found)
        view[here] = after
        old = np.empty(len(places), view.dtype)
        old[order] = np.repeat(after, np.diff(np.r_[starts, len(places)]))
        old[first] = found
        return old

    def _sums(
        self, view: Array, order: Array, places: Array, starts: Array, values: Array
    ) -> Array:
        """Integer sums wrap, so what came before a lane is a running sum."""
        ordered = values[order]
        running = np.cumsum(ordered, dtype=values.dtype) - ordered
        lengths = np.diff(np.r_[starts, len(places)])
        before = running - np.repeat(running[starts], lengths)
        old = np.empty_like(values)
        old[order] = view[places] + before
        np.add.at(view, places, ordered)
        return old

    def _turns(
        self, view: Array, order: Array, places: Array, starts: Array, values: list[Array]
    ) -> Array:
        """Lanes of one place take turns; each turn takes one lane of every place."""
        lengths = np.diff(np.r_[starts, len(places)])
        old = np.empty(len(places), view.dtype)
        turn = 0
        while len(starts):
            chosen = order[starts + turn]
            here = places[starts]
            found = view[here]
            old[chosen] = found
            view[here] = self.function(found, *(value[chosen] for value in values))
            turn += 1
            more = lengths > turn
            starts, lengths = starts[more], lengths[more]
        return old


def _uniform(order: Array, starts: Array, values: list[Array]) -> bool:
    """Tell whether all lanes of a place bring the same values."""
    lengths = np.diff(np.r_[starts, len(order)])
    return all(
        bool((value[order] == np.repeat(value[order[starts]], lengths)).all()) for value in values
    )
