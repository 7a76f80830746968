"""The classic ways round a bank conflict, for comparison: plain order, padding, staging.

They change what we are asked to keep (a layout, or the number of passes), so they are no answers to
the question; they show what an optimal order saves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.layouts import TileLayout
from tileviz.memory import BANK_BYTES, BANKS, Accesses, shared_wavefronts
from tileviz.studies.permute.plan import PermutePlan
from tileviz.studies.permute.reference import Alignment, element_offsets

_LINE_BYTES = BANKS * BANK_BYTES


@dataclass(frozen=True)
class Alternative:
    """One classic way, in plain order.

    Attributes:
        name: What it is called.
        read: Wavefronts of all reads; likewise ``write``.
        extra_bytes: Shared memory beyond the design's own.
        note: What it changes, and what was tried.
        layout: The changed layout as text, "" where none is.
    """

    name: str
    read: int
    write: int
    extra_bytes: int
    note: str
    layout: str = ""


def alternatives(plan: PermutePlan) -> tuple[Alternative, ...]:
    """Return the classic ways of moving the same elements, per warp and stage.

    Only for shared memory, and where the reference gets as far as aligning both layouts.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> from tileviz.studies.permute.plan import plan
        >>> found = alternatives(plan(preset("permute-declined").design))
        >>> for way in found: print(way.name, way.read, way.write, way.extra_bytes)
        plain order 4 16 0
        padded destination 4 4 120
        staged, swizzled 8 8 512
    """
    aligned = plan.reference.alignment
    if plan.design.space != "shared" or aligned is None or plan.ours is None or not plan.schedules:
        return ()
    plain = plan.schedules[0]
    found = [Alternative("plain order", plain.read.cost, plain.write.cost, 0, "k = 0, no XOR")]
    padded = _padded(plan, aligned)
    if padded is not None:
        found.append(padded)
    found.append(_staged(plan))
    return tuple(found)


def _padded(plan: PermutePlan, aligned: Alignment) -> Alternative | None:
    """Return the smallest padding of the destination that frees the write, else the best one.

    Only pitches modulo 128 bytes differ, so trying them all is a proof.
    """
    plain = plan.schedules[0]
    if plain.write.cost == plain.write.ideal:
        return None
    width = plain.write.element_bytes
    elements, active = plain.elements, plain.write.active
    best: tuple[int, int, tuple[int, ...]] | None = None
    tried = 0
    order = sorted(
        (dim for dim in range(len(aligned.extents)) if aligned.extents[dim] > 1),
        key=lambda dim: abs(aligned.dst_strides[dim]),
    )
    step = max(BANK_BYTES // width, 1)
    for dim in order[1:]:
        pitch = aligned.dst_strides[dim]
        for pad in range(step, _LINE_BYTES // width + step, step):
            strides = tuple(_widened(stride, pitch, pad) for stride in aligned.dst_strides)
            cost = _cost(element_offsets(aligned.extents, strides), elements, active, width)
            extra = _span(aligned.extents, strides) - _span(aligned.extents, aligned.dst_strides)
            tried += 1
            if best is None or (cost, extra) < best[:2]:
                best = cost, extra, strides
            if cost == plain.write.ideal:
                break
    if best is None:
        return None
    cost, extra, strides = best
    free = cost == plain.write.ideal
    note = "the smallest pitch that is free" if free else f"none of {tried} pitches is free"
    shard = [(e, s, "m") for e, s in zip(aligned.extents, strides, strict=True)]
    text = str(TileLayout(shard))
    return Alternative("padded destination", plain.read.cost, cost, extra * width, note, text)


def _widened(stride: int, pitch: int, pad: int) -> int:
    """Return a stride after the pitch grew by ``pad``: whole pitches grow, smaller steps stay."""
    if abs(stride) < abs(pitch):
        return stride
    grown = stride // pitch * pad
    return stride + grown if pitch > 0 else stride - grown


def _span(extents: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return 1 + sum(
        (extent - 1) * abs(stride) for extent, stride in zip(extents, strides, strict=True)
    )


def _cost(
    offsets: NDArray[np.int64],
    elements: NDArray[np.int64],
    active: NDArray[np.bool_] | None,
    width: int,
) -> int:
    accesses = Accesses.of(
        offsets[elements] * width, space="shared", op="st", bytes=width, active=active
    )
    return int(shared_wavefronts(accesses).wavefronts.sum())


def _staged(plan: PermutePlan) -> Alternative:
    """Return the cost of two free moves instead of one: into a swizzled tile, then out of it.

    Reads of the source, the tile's two sides and the writes are all free, so each costs its bound;
    what is paid is a second pass and a tile of the region's size.
    """
    ours = plan.ours
    assert ours is not None
    schedule = ours.schedule
    volume = int(np.prod(plan.extents, dtype=np.int64))
    read, write = schedule.read.ideal, schedule.write.ideal
    size = volume * schedule.read.element_bytes
    return Alternative(
        "staged, swizzled",
        read + write,
        read + write,
        size,
        "through a swizzled tile: every element moves twice",
    )
