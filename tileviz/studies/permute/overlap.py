"""Stages in each other's way: what a later one overwrites, or reads too late.

The reference judges one stage by itself, so it accepts such a move; each stage may be free of
conflicts, and the result is correct only in the sense that stages run in turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tileviz.layouts import first_repeat, injectivity_collision, region_addresses
from tileviz.studies.permute.design import PermuteDesign

SideName = Literal["src", "dst"]


@dataclass(frozen=True)
class Overlap:
    """Two elements of two stages at one address of the destination.

    Attributes:
        kind: ``write``: the later stage writes over what the earlier wrote. ``read``, in place
            only: the later stage reads what the earlier has overwritten.
        stages: The earlier stage and the later one, from 0.
        first: Coordinate that the earlier stage writes.
        second: Coordinate that the later stage writes, or reads.
        address: Their address, in elements.
        count: How many elements are lost in all stages.
        total: Elements of all stages.
    """

    kind: Literal["write", "read"]
    stages: tuple[int, int]
    first: tuple[int, ...]
    second: tuple[int, ...]
    address: int
    count: int
    total: int

    @property
    def sentence(self) -> str:
        """What is wrong, with the two elements.

        Example:
            >>> Overlap("write", (0, 1), (0, 3), (1, 0), 128, 1, 256).sentence
            'Stages overlap: stage 1 writes (1, 0) over (0, 3) of stage 0, at address 128.'
        """
        early, late = self.stages
        if self.kind == "write":
            done = f"stage {late} writes {self.second} over {self.first} of stage {early}"
        else:
            done = f"stage {late} reads {self.second} after stage {early} wrote {self.first} there"
        return f"Stages overlap: {done}, at address {self.address}."

    @property
    def loss(self) -> str:
        """How much is lost, in a sentence."""
        lost = f"{self.count:,} of {self.total:,} elements"
        verb = "is" if self.count == 1 else "are"
        when = "before the end" if self.kind == "write" else "before being read"
        return f"{lost} {verb} overwritten {when}."

    def to_json(self) -> dict[str, Any]:
        """Return the ``overlap`` object of the results."""
        return {
            "kind": self.kind,
            "stages": list(self.stages),
            "first": list(self.first),
            "second": list(self.second),
            "address": self.address,
            "count": self.count,
            "total": self.total,
        }


def stage_overlap(design: PermuteDesign) -> Overlap | None:
    """Return the first overlap of a design's stages, or None where each has its own place.

    Args:
        design: A design whose two sides name one move in memory, one-to-one in every stage.

    Example:
        >>> from tileviz.studies.design import validated
        >>> found = stage_overlap(validated(PermuteDesign, {
        ...     "src": {"layout": "S[(2, 4, 32):(128, 32, 1)]"},
        ...     "dst": {"layout": "S[(2, 4, 32):(127, 1, 4)]"}, "stages": {"count": 2}}))
        >>> found.first, found.second, found.address, found.count
        ((0, 3, 31), (1, 0, 0), 127, 1)
    """
    if design.stage_count == 1:
        return None
    return _overwritten(design) or (_read_late(design) if design.in_place else None)


def _overwritten(design: PermuteDesign) -> Overlap | None:
    if injectivity_collision(design.dst.parsed) is None:
        return None
    written = _addresses(design, "dst")
    pair = first_repeat(written.ravel())
    if pair is None:
        return None
    early, late = (_named(design, "dst", written.shape[1], at) for at in pair)
    lost = written.size - np.unique(written).size
    address = int(written.ravel()[pair[0]])
    return Overlap("write", (early[0], late[0]), early[1], late[1], address, lost, written.size)


def _read_late(design: PermuteDesign) -> Overlap | None:
    written, read = (_addresses(design, side) for side in ("dst", "src"))
    places, at = np.unique(written, return_index=True)
    found = np.minimum(np.searchsorted(places, read.ravel()), places.size - 1)
    volume = written.shape[1]
    mine = np.arange(read.size) // volume
    late = (places[found] == read.ravel()) & (at[found] // volume < mine)
    if not late.any():
        return None
    reader = int(late.argmax())
    writer = int(at[found[reader]])
    early, later = _named(design, "dst", volume, writer), _named(design, "src", volume, reader)
    address = int(read.ravel()[reader])
    count = int(np.count_nonzero(late))
    return Overlap("read", (early[0], later[0]), early[1], later[1], address, count, read.size)


def _bounds(design: PermuteDesign, side: SideName) -> list[tuple[int, int]]:
    """Return the region of all stages together."""
    stages = (0, design.stage_count - 1)
    first, last = ([(b, e or 0) for b, e in design.region(side, stage)] for stage in stages)
    return [(begin, end) for (begin, _), (_, end) in zip(first, last, strict=True)]


def _addresses(design: PermuteDesign, side: SideName) -> NDArray[np.int64]:
    """Return the address of every element: ``[stage, element]``, elements row-major."""
    tile = design.src if side == "src" else design.dst
    bounds = _bounds(design, side)
    found = region_addresses(tile.parsed, tile.extents, bounds).get("m")
    extents = tuple(end - begin for begin, end in bounds)
    if found is None:
        return np.zeros((design.stage_count, math.prod(extents) // design.stage_count), np.int64)
    assert design.stages is not None
    dim, count = design.stages.dim, design.stages.count
    parted = (*extents[:dim], count, extents[dim] // count, *extents[dim + 1 :])
    staged = np.moveaxis(np.asarray(found, np.int64).reshape(parted), dim, 0)
    return np.ascontiguousarray(staged).reshape(count, -1)


def _named(
    design: PermuteDesign, side: SideName, volume: int, at: int
) -> tuple[int, tuple[int, ...]]:
    """Return stage and coordinate of an element by its place in the order of stages."""
    stage, element = divmod(at, volume)
    region = [(begin, end or 0) for begin, end in design.region(side, stage)]
    inside = np.unravel_index(element, tuple(end - begin for begin, end in region))
    return stage, tuple(int(i) + b for i, (b, _) in zip(inside, region, strict=True))
