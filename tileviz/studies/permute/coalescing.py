"""Our schedule for global memory: the lanes of an access share as few sectors as can be.

Banks do not matter there. A warp that takes whole source sectors reads at the ideal, one that takes
whole destination sectors writes at the ideal; five lane bits are shared out between both so that
the sum is least. Over F2 that is exact: an access of the lane space W touches
``2 ** (5 - dim(W & K))`` sectors, where K holds the elements of one sector.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tileviz.layouts.f2 import Columns, Span, completed, image_table, kernel_basis, linear_columns
from tileviz.memory import LANES, SECTOR_BYTES, Accesses, judge
from tileviz.studies.permute.lane_space import LaneSpace
from tileviz.studies.permute.moves import Move, NoSchedule
from tileviz.studies.permute.schedule import Ours, OwnSchedule, Phase, XorSchedule

_LANE_BITS = LANES.bit_length() - 1


def global_schedule(move: Move, family: Sequence[XorSchedule]) -> Ours:
    """Return our schedule for global memory.

    Args:
        move: What moves.
        family: The reference's XOR schedules, where they address these very elements.

    Raises:
        NoSchedule: Neither is the XOR family coalesced nor are both layouts linear over bits.
    """
    best = min(family, key=lambda schedule: schedule.cost, default=None)
    if best is not None and not best.excess:
        proof = "Every request touches the fewest sectors that can hold its bytes"
        return Ours("xor", best.registers, best.registers, best, proof)
    space = sector_space(move)
    if space is None:
        raise NoSchedule(
            "in global memory sectors count, not banks, and for these the layouts are not linear "
            "over bits; the XOR family is judged instead"
        )
    proof = "Fewest sectors of all lane maps that are linear over bits"
    own = _schedule(move, space)
    if best is not None and best.cost <= own.cost:
        return Ours("xor", best.registers, best.registers, best, proof)
    return Ours("f2", own.registers, own.registers, own, proof)


def sector_space(move: Move) -> LaneSpace | None:
    """Return the lane space that touches the fewest sectors in both phases together.

    None where a layout's sectors are not linear over the element's bits, or a warp is not filled.
    """
    bits = move.volume.bit_length() - 1
    per_sector = SECTOR_BYTES // move.element_bytes
    columns = [_sectors(offsets, per_sector) for offsets in (move.source, move.target)]
    if columns[0] is None or columns[1] is None or bits < _LANE_BITS:
        return None
    read, write = (list(kernel_basis(part)) for part in (columns[0], columns[1]))
    lanes = _shared_out(read, write)
    # What is left over goes to the lowest bits, so that neighbouring lanes stay close.
    span = Span(lanes)
    lanes += [1 << bit for bit in range(bits) if len(lanes) < _LANE_BITS and span.add(1 << bit)]
    lanes = lanes[:_LANE_BITS]
    return LaneSpace(tuple(lanes), tuple(sorted(completed(lanes, bits))))


def _sectors(offsets: NDArray[np.int64], per_sector: int) -> Columns | None:
    """Return the sector of every element bit; also checks that the offsets can be printed."""
    places = offsets - offsets[0]
    if linear_columns(places) is None:
        return None
    return linear_columns(places // per_sector)


def _shared_out(read: list[int], write: list[int]) -> list[int]:
    """Return at most five vectors of both kernels, so shared out that the sum of costs is least."""
    common_span = Span(write)
    # A kernel of a layout that only reorders bits is spanned by single bits, so this meets it.
    common = [vector for vector in read if vector in common_span][:_LANE_BITS]
    only_read = _independent(read, common)
    only_write = _independent(write, common)
    room = _LANE_BITS - len(common)
    splits = [(p, min(room - p, len(only_write))) for p in range(min(room, len(only_read)) + 1)]
    start = len(common)
    p, q = min(
        splits,
        key=lambda split: sum(2 ** (_LANE_BITS - start - part) for part in split),
    )
    return common + only_read[:p] + only_write[:q]


def _independent(vectors: list[int], of: list[int]) -> list[int]:
    span = Span(of)
    return [vector for vector in vectors if span.add(vector)]


def _schedule(move: Move, space: LaneSpace) -> OwnSchedule:
    chosen = image_table(space.registers)[:, None] ^ image_table(space.lanes)
    phases = []
    for op, offsets in (("ld", move.source), ("st", move.target)):
        where, width = offsets[chosen], move.element_bytes
        verdict = judge(Accesses.of(where * width, space="global", op=op, bytes=width))
        phases.append(
            Phase(
                where,
                "global",
                op,
                width,
                verdict.cost,
                verdict.ideal,
                None,
                verdict.evidence,
                width,
            )
        )
    every = np.arange(move.volume)
    return OwnSchedule(chosen, phases[0], phases[1], "f2", every, chosen, space)
