"""Barriers and fences. Lanes meet in the scheduler; the step tells the race check."""

from __future__ import annotations

import numpy as np

from tileviz.emulator.binder import Binder
from tileviz.emulator.lanes import Lanes
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.registry import operation
from tileviz.emulator.ops.warp import pick, where
from tileviz.emulator.ptx import Instruction
from tileviz.emulator.state import State, Step


@operation("bar", "barrier")
def barrier(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``bar.sync`` orders a block, ``bar.warp.sync`` a warp; ``bar.red`` also votes."""
    code.has("cta")
    warp = code.has("warp")
    code.has("aligned")
    state = binder.state
    if code.need("sync", "red") == "red":
        return _reduction(code, instruction, binder)
    if warp:
        return lambda lanes: state.races.sync_warps(lanes) if state.races is not None else None
    return lambda lanes: _meet(state, lanes)


def _meet(state: State, lanes: Lanes) -> None:
    if state.races is not None:
        state.races.sync_blocks(lanes)
    state.shared.settle()


def _reduction(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``bar.red``: a barrier that gives every thread the count, and, or or of a predicate."""
    mode = code.need("popc", "and", "or")
    kind = code.type()
    target, _, *counts, predicate = instruction.operands
    if counts or kind != ("u32" if mode == "popc" else "pred"):
        raise code.unsupported()
    row = binder.destination(target, kind)
    value, negated = binder.predicate(predicate)
    state = binder.state

    def run(lanes: Lanes) -> None:
        block = lanes.index // state.geometry.stride
        holds = np.broadcast_to(pick(value, lanes) != negated, lanes.count)
        total = np.bincount(block, minlength=state.geometry.capacity)
        true = np.bincount(block[holds], minlength=state.geometry.capacity)
        result = {"popc": true, "and": true == total, "or": true > 0}[mode]
        if row is not None:
            row[where(lanes)] = result[block]
        _meet(state, lanes)

    return run


@operation("membar", "fence")
def fence(code: Opcode, instruction: Instruction, binder: Binder) -> Step | None:
    """``membar`` and ``fence``: memory is coherent here, so only the race check hears of them."""
    code.take("acq_rel", "sc", "acquire", "release")
    code.need("cta", "gl", "gpu", "sys", "cluster")
    state = binder.state
    return lambda lanes: state.races.fence(lanes) if state.races is not None else None


@operation("nanosleep", "prefetch", "prefetchu", "discard", "applypriority", "pmevent")
def hint(code: Opcode, instruction: Instruction, binder: Binder) -> None:
    """Instructions without an effect on results."""
    while code.take(*instruction.modifiers):
        pass
