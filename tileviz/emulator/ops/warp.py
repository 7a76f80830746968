"""Operations across the lanes of a warp: shuffles, votes, matches and reductions.

The scheduler has made every lane of the member mask that is still alive arrive. A lane's partners
are the executing lanes of its warp that are in its own mask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tileviz.emulator.binder import DTYPE, Binder
from tileviz.emulator.lanes import WARP, Lanes
from tileviz.emulator.meeting import warp_masks
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.registry import operation
from tileviz.emulator.problems import Problem
from tileviz.emulator.ptx import Instruction, Pair
from tileviz.emulator.state import State, Step

Array = Any  # a NumPy array; its own types say too little to be worth their noise

_BITS = np.uint32(1) << np.arange(WARP, dtype=np.uint32)


def where(lanes: Lanes) -> Any:
    """Return the lanes as an index of a row."""
    return slice(None) if lanes.exact is None else lanes.exact


def pick(value: Any, lanes: Lanes) -> Any:
    """Return the lanes of a row, or a scalar as it is."""
    varies = isinstance(value, np.ndarray) and lanes.exact is not None
    return value[lanes.exact] if varies else value


def executing(lanes: Lanes, state: State) -> Array:
    """Return one 32-bit mask of executing lanes for each warp of the batch."""
    active = np.zeros(state.geometry.lanes, np.bool_)
    active[where(lanes)] = True
    return warp_masks(active)


class Votes:
    """The predicates of executing lanes, warp by warp."""

    def __init__(self, binder: Binder, operand: Any, mask: Any) -> None:
        self.state = binder.state
        self.value, self.negated = binder.predicate(operand)
        self.mask = binder.source(mask, "u32")

    def __call__(self, lanes: Lanes) -> tuple[Array, Array]:
        """Return for each executing lane the votes for, and the voters, among its partners."""
        votes = np.zeros(self.state.geometry.lanes, np.bool_)
        value = pick(self.value, lanes)
        votes[where(lanes)] = ~value if self.negated else value
        warps = lanes.index // WARP
        mask = pick(self.mask, lanes)
        return warp_masks(votes)[warps] & mask, executing(lanes, self.state)[warps] & mask


@operation("vote")
def vote(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``vote.sync``: all, any, uni and ballot."""
    code.need("sync")
    mode = code.need("all", "any", "uni", "ballot")
    kind = code.type()
    if kind != ("b32" if mode == "ballot" else "pred"):
        raise code.unsupported()
    target, operand, mask = instruction.operands
    row = binder.destination(target, kind)
    votes = Votes(binder, operand, mask)

    def run(lanes: Lanes) -> None:
        yes, voters = votes(lanes)
        if mode == "ballot":
            result = yes
        elif mode == "any":
            result = yes != 0
        else:
            result = yes == voters
            if mode == "uni":
                result |= yes == 0
        if row is not None:
            row[where(lanes)] = result

    return run


@operation("activemask")
def active_mask(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``activemask``: the lanes that execute together just now."""
    if code.type() != "b32":
        raise code.unsupported()
    row = binder.destination(instruction.operands[0], "b32")
    state = binder.state

    def run(lanes: Lanes) -> None:
        if row is not None:
            row[where(lanes)] = executing(lanes, state)[lanes.index // WARP]

    return run


@operation("shfl")
def shuffle(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``shfl.sync``: read a register of another lane of the warp."""
    code.need("sync")
    mode = code.need("up", "down", "bfly", "idx")
    if code.type() != "b32":
        raise code.unsupported()
    target, operand, distance, clamp, _ = instruction.operands
    result, inside = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    row = binder.destination(result, "b32")
    flag = binder.destination(inside, "pred") if inside is not None else None
    value = binder.source(operand, "b32")
    by, limit = binder.source(distance, "u32"), binder.source(clamp, "u32")
    state = binder.state
    lane_of = state.geometry.lane.astype(np.int64)
    fixed = None
    if not isinstance(by, np.ndarray) and not isinstance(limit, np.ndarray):
        fixed = _partner(mode, lane_of, np.int64(by), np.int64(limit))
        starts = np.arange(state.geometry.lanes) - lane_of
        fixed = (fixed[0] + starts, fixed[1])

    def run(lanes: Lanes) -> None:
        if fixed is not None:
            partner, valid = (pick(part, lanes) for part in fixed)
        else:
            lane = pick(lane_of, lanes)
            counts = (np.asarray(pick(part, lanes)).astype(np.int64) for part in (by, limit))
            partner, valid = _partner(mode, lane, *counts)
            partner = partner + (lanes.index - lane)
        if lanes.exact is not None:
            partner = _active_partner(state, instruction, lanes, partner)
        if row is not None:
            taken = value.take(partner) if isinstance(value, np.ndarray) else value
            row[where(lanes)] = taken
        if flag is not None:
            flag[where(lanes)] = valid

    return run


def _partner(mode: str, lane: Array, by: Array, limit: Array) -> tuple[Array, Array]:
    """Return the lane that each lane reads, and whether it is inside its segment.

    ``limit`` holds the segment mask in bits 8 to 12 and the clamp in bits 0 to 4.
    """
    by, clamp, segment = by & 31, limit & 31, limit >> 8 & 31
    low = lane & segment
    high = low | (clamp & ~segment)
    if mode == "up":
        other = lane - by
        valid = other >= high
    else:
        if mode == "down":
            other = lane + by
        elif mode == "bfly":
            other = lane ^ by
        else:
            other = low | (by & ~segment)
        valid = other <= high
    return np.where(valid, other, lane), valid


def _active_partner(state: State, instruction: Instruction, lanes: Lanes, partner: Array) -> Array:
    """Replace partners that do not execute by the lane itself, and note the first such read."""
    active = np.zeros(state.geometry.lanes, np.bool_)
    active[where(lanes)] = True
    absent = ~active[partner]
    if not absent.any():
        return partner
    first = int(np.argmax(absent))
    lane, other = int(lanes.index[first]), int(partner[first])

    def problem() -> Problem:
        detail = f"lane {lane % WARP} reads lane {other % WARP}, whose value is undefined"
        return state.site(lane, instruction.line).problem(
            "uninitialised", "shuffle from a lane that does not take part", detail
        )

    state.note(("shuffle", instruction.line, instruction.index), problem)
    return np.where(absent, lanes.index, partner)


class _Partners:
    """Values of the whole warp for each executing lane, and which of them count."""

    def __init__(self, binder: Binder, operand: Any, mask: Any, kind: str) -> None:
        self.state = binder.state
        self.value = binder.source(operand, kind)
        self.mask = binder.source(mask, "u32")
        self.dtype = DTYPE[kind]

    def __call__(self, lanes: Lanes) -> tuple[Array, Array]:
        """Return values and participation, each ``[executing lane, lane of its warp]``."""
        full = np.zeros(self.state.geometry.lanes, self.dtype)
        full[where(lanes)] = pick(self.value, lanes)
        warps = lanes.index // WARP
        members = executing(lanes, self.state)[warps] & pick(self.mask, lanes)
        return full.reshape(-1, WARP)[warps], (members[:, None] & _BITS) != 0


@operation("match")
def match(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``match.any`` gives the lanes with the same value; ``match.all`` asks if all have it."""
    mode = code.need("any", "all")
    code.need("sync")
    kind = code.type()
    if kind not in ("b32", "b64"):
        raise code.unsupported()
    target, operand, mask = instruction.operands
    result, agreed = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    row = binder.destination(result, "b32")
    flag = binder.destination(agreed, "pred") if agreed is not None else None
    partners = _Partners(binder, operand, mask, kind)

    def run(lanes: Lanes) -> None:
        values, members = partners(lanes)
        mine = values[np.arange(lanes.count), lanes.index % WARP]
        same = (values == mine[:, None]) & members
        found = (same * _BITS).sum(axis=1, dtype=np.uint32)
        if mode == "all":
            everyone = (same == members).all(axis=1)
            found = np.where(everyone, found, np.uint32(0))
            if flag is not None:
                flag[where(lanes)] = everyone
        if row is not None:
            row[where(lanes)] = found

    return run


_REDUCTIONS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "add": (np.add, lambda info: 0),
    "min": (np.minimum, lambda info: info.max),
    "max": (np.maximum, lambda info: info.min),
    "and": (np.bitwise_and, lambda info: info.max),
    "or": (np.bitwise_or, lambda info: 0),
    "xor": (np.bitwise_xor, lambda info: 0),
}


@operation("redux")
def reduce(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``redux.sync``: one value of all partners."""
    code.need("sync")
    ufunc, identity = _REDUCTIONS[code.need(*_REDUCTIONS)]
    kind = code.type()
    if kind not in ("b32", "u32", "s32"):
        raise code.unsupported()
    target, operand, mask = instruction.operands
    row = binder.destination(target, kind)
    partners = _Partners(binder, operand, mask, kind)
    neutral = DTYPE[kind].type(identity(np.iinfo(DTYPE[kind])))

    def run(lanes: Lanes) -> None:
        values, members = partners(lanes)
        if row is not None:
            chosen = np.where(members, values, neutral)
            row[where(lanes)] = ufunc.reduce(chosen, axis=1, dtype=DTYPE[kind])

    return run


@operation("elect")
def elect(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``elect.sync``: the lowest partner is the leader."""
    code.need("sync")
    target, mask = instruction.operands
    if not isinstance(target, Pair):
        raise code.unsupported()
    row = binder.destination(target.first, "b32")
    flag = binder.destination(target.second, "pred")
    members = binder.source(mask, "u32")
    state = binder.state

    def run(lanes: Lanes) -> None:
        present = executing(lanes, state)[lanes.index // WARP] & pick(members, lanes)
        leader = np.bitwise_count((present & (~present + np.uint32(1))) - np.uint32(1))
        if row is not None:
            row[where(lanes)] = leader
        if flag is not None:
            flag[where(lanes)] = leader == lanes.index % WARP

    return run
