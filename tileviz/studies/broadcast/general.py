"""CINN's general tactic, which takes what the broadcast tactic declines: "before"."""

from __future__ import annotations

from dataclasses import dataclass

from tileviz.studies.broadcast.axes import Digit, Merged, digits, loop_invariant
from tileviz.studies.broadcast.design import BroadcastDesign

WARP = 32
MAX_WARPS = 8
MAX_SERIAL = 4
_BLOCKS_PER_SM = 4


@dataclass(frozen=True)
class General:
    """The launch of the general tactic: ``index = blockIdx.x * T * s + k * T + threadIdx.x``.

    Attributes:
        threads: Threads of a block (T).
        serial: Serial steps of a thread (s): 1, 2 or 4.
        grid: Blocks.
        invariant: Per operand, whether its index is the same in all steps of a thread.
    """

    threads: int
    serial: int
    grid: int
    invariant: tuple[bool, ...]

    def loads(self, operand: int) -> int:
        """Return how often a thread loads an operand: once, or once a step."""
        return 1 if self.invariant[operand] else self.serial


def general(design: BroadcastDesign) -> General:
    """Return the general tactic's launch for a static design.

    Example:
        >>> from tileviz.studies.design import validated
        >>> seed = validated(BroadcastDesign, {"operands": [[192]], "out": [64, 56, 56, 192]})
        >>> general(seed)
        General(threads=256, serial=4, grid=37632, invariant=(False,))
    """
    n = design.elements
    threads = WARP * max(1, min(MAX_WARPS, -(-n // WARP)))
    wanted = -(-n // threads) // (_BLOCKS_PER_SM * design.sm_count)
    serial = 1 << (max(1, min(MAX_SERIAL, wanted)) - 1).bit_length()
    invariant = tuple(
        loop_invariant(operand_digits(design, k), threads, serial)
        for k in range(len(design.shapes))
    )
    return General(threads, serial, -(-n // (threads * serial)), invariant)


def operand_digits(design: BroadcastDesign, operand: int) -> tuple[Digit, ...]:
    """Return the digits of the flat output index by which one operand is read."""
    merged = Merged.of(design.out, (design.shapes[operand],))
    return digits(merged.extents, merged.masks[0])
