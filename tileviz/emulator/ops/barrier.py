"""Barriers and fences. Lanes meet in the scheduler; the step tells the race check."""

from __future__ import annotations

from tileviz.emulator.binder import Binder
from tileviz.emulator.lanes import Lanes
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.registry import operation
from tileviz.emulator.ptx import Instruction
from tileviz.emulator.state import Step


@operation("bar", "barrier")
def barrier(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``bar.sync`` orders a block, ``bar.warp.sync`` the lanes of a warp."""
    code.has("cta")
    warp = code.has("warp")
    code.has("aligned")
    code.need("sync")
    state = binder.state

    def run(lanes: Lanes) -> None:
        if state.races is not None:
            if warp:
                state.races.sync_warps(lanes)
            else:
                state.races.sync_blocks(lanes)
        if not warp:
            state.shared.settle()

    return run


@operation("membar", "fence")
def fence(code: Opcode, instruction: Instruction, binder: Binder) -> Step | None:
    """``membar`` and ``fence``: memory is coherent here, so only the race check hears of them."""
    code.take("acq_rel", "sc", "acquire", "release")
    code.need("cta", "gl", "gpu", "sys", "cluster")
    state = binder.state

    def run(lanes: Lanes) -> None:
        if state.races is not None:
            state.races.fence(lanes)

    return run


@operation("nanosleep", "prefetch", "prefetchu", "discard", "applypriority", "pmevent")
def hint(code: Opcode, instruction: Instruction, binder: Binder) -> None:
    """Instructions without an effect on results."""
    while code.take(*instruction.modifiers):
        pass
