"""Who must arrive before lanes may go on: barriers of a block, and warp-wide instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.emulator.binder import Binder
from tileviz.emulator.errors import UnsupportedError
from tileviz.emulator.lanes import WARP, Index
from tileviz.emulator.ptx import Instruction
from tileviz.emulator.state import State

# Warp-wide instructions that name their participants in the last operand.
_MASKED = ("shfl", "vote", "match", "redux")


class Meeting:
    """The condition of one meeting point.

    A block barrier waits for every thread of the block that has not exited; a warp-wide instruction
    for the lanes in its member mask that have not exited, or for the whole warp where it has none.
    """

    def __init__(self, instruction: Instruction, binder: Binder) -> None:
        self.instruction = instruction
        parts = instruction.opcode.split(".")
        self.block = instruction.name in ("bar", "barrier") and "warp" not in parts
        self.members: Any = None
        if self.block and len(instruction.operands) > 1 and "red" not in parts:
            raise UnsupportedError("barrier with a thread count is not emulated", instruction.line)
        masked = instruction.name in _MASKED or (not self.block and "warp" in parts)
        if masked:
            if not instruction.operands:
                raise UnsupportedError(f"{instruction.opcode} without a mask", instruction.line)
            self.members = binder.source(instruction.operands[-1], "u32")

    def ready(self, here: Index, state: State) -> NDArray[np.bool_]:
        """Return which of the lanes ``here`` (ascending) have all their partners here too."""
        live = state.live
        if self.block:
            stride = state.geometry.stride
            blocks = len(live) // stride
            arrived = np.bincount(here // stride, minlength=blocks)
            living = live.reshape(blocks, stride).sum(axis=1)
            complete: NDArray[np.bool_] = arrived >= living
            return complete[here // stride]
        present = np.zeros(len(live), np.bool_)
        present[here] = True
        missing = warp_masks(live & ~present)[here // WARP]
        if self.members is not None:
            varies = isinstance(self.members, np.ndarray)
            missing = missing & (self.members[here] if varies else self.members)
        return np.equal(missing, 0)


def warp_masks(lanes: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return one 32-bit mask a warp from one truth value a lane.

    Example:
        >>> warp_masks(np.arange(64) % 32 == 1).tolist()
        [2, 2]
    """
    return np.packbits(lanes, bitorder="little").view(np.uint32)
