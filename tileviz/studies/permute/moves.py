"""What a permute moves: the address of every element of the region, on both sides."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.layouts import (
    ComposeLayout,
    LayoutError,
    TileLayout,
    first_repeat,
    region_addresses,
)
from tileviz.memory import BANK_BYTES, LANES
from tileviz.studies.permute.design import PermuteDesign
from tileviz.studies.permute.reference import Alignment, Reference, element_offsets

MAX_PER_LANE = 64
WIDTHS = (1, 2, 4, 8, 16)

SideName = Literal["src", "dst"]
Offsets = NDArray[np.int64]
NAMES: dict[SideName, str] = {"src": "source", "dst": "destination"}


class NoSchedule(Exception):
    """There is no schedule of ours; the message says why, as a clause."""


@dataclass(frozen=True, eq=False)
class Move:
    """The elements of one stage, row-major in the region.

    Attributes:
        extents: Extents of the region.
        source: Element offset of every element in the source, int64 ``[element]``.
        target: Element offset in the destination, likewise.
        element_bytes: Bytes per element.
        aligned: Whether the reference's cut of both layouts addresses these very elements.
        word_aligned: Whether the first element of every stage starts a 4-byte word on both sides.
    """

    extents: tuple[int, ...]
    source: Offsets
    target: Offsets
    element_bytes: int
    aligned: bool
    word_aligned: bool = True

    @property
    def volume(self) -> int:
        """Number of elements."""
        return len(self.source)


def move_of(design: PermuteDesign, reference: Reference, stage: int = 0) -> Move:
    """Return what moves in a stage.

    Args:
        design: A design.
        reference: The reference's decision for that stage.
        stage: Pipeline stage.

    Raises:
        NoSchedule: The two sides do not name one move; the message says why.
        DesignError: A layout's size differs from its buffer's.
    """
    _check_question(design, stage)
    width = dtype_of(design.tile_dtype("src")).bytes
    alignment = reference.alignment
    whole = design.src.region is None and design.dst.region is None and design.stages is None
    if whole and alignment is not None and alignment.memory_only:
        # The cut of a whole layout is the layout: no need to list it through its own digits.
        source, target = aligned_offsets(alignment)
        aligned, extents = True, alignment.extents
    else:
        source, target = (side_addresses(design, side, stage) for side in NAMES)
        aligned = alignment is not None and all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip((source, target), aligned_offsets(alignment), strict=True)
        )
        extents = _extents(design, "dst", stage)
    _check_volume(len(source))
    if reference.outcome == "reject" or not aligned:
        _check_one_to_one(design, "src", stage, source)
        _check_one_to_one(design, "dst", stage, target)
    starts = (source[:1], target[:1]) if design.stages is None else _starts(design)
    whole_words = not any((start * width % BANK_BYTES).any() for start in starts)
    return Move(extents, source, target, width, aligned, whole_words)


def _starts(design: PermuteDesign) -> list[Offsets]:
    """Return the offset of the first element of every stage, source then destination."""
    stages = np.arange(design.stage_count, dtype=np.int64)
    found = []
    for side in NAMES:
        tile = design.src if side == "src" else design.dst
        first, second = (design.region(side, stage) for stage in (0, min(1, len(stages) - 1)))
        coordinate = tuple(
            a + stages * (b - a) for (a, _), (b, _) in zip(first, second, strict=True)
        )
        places = tile.parsed.apply(coordinate, tile.extents)
        found.append(np.asarray(places.get("m", np.zeros(1)), dtype=np.int64))
    return found


def aligned_offsets(alignment: Alignment) -> tuple[Offsets, Offsets]:
    """Return source and destination offset of every element, by the reference's cut."""
    return (
        element_offsets(alignment.extents, alignment.src_strides) + alignment.src_base,
        element_offsets(alignment.extents, alignment.dst_strides) + alignment.dst_base,
    )


def _extents(design: PermuteDesign, side: SideName, stage: int) -> tuple[int, ...]:
    return tuple((end or 0) - begin for begin, end in design.region(side, stage))


def _check_question(design: PermuteDesign, stage: int) -> None:
    """Refuse what no schedule of one warp could answer."""
    if design.scope != "warp":
        raise NoSchedule(f"our schedules are for one warp, and the scope is {design.scope}")
    dtypes = design.tile_dtype("src"), design.tile_dtype("dst")
    if dtypes[0] != dtypes[1]:
        names = " and ".join(dtypes)
        raise NoSchedule(f"a permute moves bits unchanged, and the two sides are {names}")
    if dtype_of(dtypes[0]).bytes not in WIDTHS or dtype_of(dtypes[0]).bits % 8:
        bits = dtype_of(dtypes[0]).bits
        raise NoSchedule(f"lanes move 1, 2, 4, 8 or 16 bytes each, and {dtypes[0]} has {bits} bits")
    for side in NAMES:
        if any(end is None for _, end in design.region(side, stage)):
            raise NoSchedule("an extent is unknown until run time")
    extents = [_extents(design, side, stage) for side in NAMES]
    if _without_ones(extents[0]) != _without_ones(extents[1]):
        sizes = f"{list(extents[0])} and {list(extents[1])}"
        counts = f"{math.prod(extents[0])} and {math.prod(extents[1])} elements"
        raise NoSchedule(f"the regions are {sizes}, {counts}: not the same elements")
    for side in NAMES:
        layout = (design.src if side == "src" else design.dst).parsed
        tile = layout.tile if isinstance(layout, ComposeLayout) else layout
        if set(tile.axes) - {"m"}:
            raise NoSchedule(f"the {NAMES[side]} maps to thread or tensor axes, not to memory")
    copies = _copies(design)
    if copies > 1:
        raise NoSchedule(f"the destination keeps {copies} copies of each element")


def _without_ones(extents: tuple[int, ...]) -> list[int]:
    return [extent for extent in extents if extent != 1]


def _copies(design: PermuteDesign) -> int:
    """Return how many places the destination layout holds each element in."""
    layout = design.dst.parsed
    return layout.replicas if isinstance(layout, TileLayout) else layout.tile.replicas


def _check_volume(volume: int) -> None:
    if not volume:
        raise NoSchedule("the region is empty: nothing moves")
    if volume > MAX_PER_LANE * LANES:
        most = MAX_PER_LANE * LANES
        raise NoSchedule(f"{volume} elements; a warp holds at most {most}, {MAX_PER_LANE} a lane")


def side_addresses(design: PermuteDesign, side: SideName, stage: int) -> Offsets:
    """Return the element offset of every element of a side's region, ``[element]``.

    Raises:
        DesignError: The layout's size differs from its buffer's.
    """
    tile = design.src if side == "src" else design.dst
    region = [(begin, end or 0) for begin, end in design.region(side, stage)]
    try:
        found = region_addresses(tile.parsed, tile.extents, region)
    except LayoutError as error:
        raise DesignError(f"{side}.shape", str(error), list(tile.extents)) from None
    offsets = found.get("m")
    if offsets is None:
        # A layout of unit extents alone moves along no axis: everything is at address 0.
        return np.zeros(math.prod(_extents(design, side, stage)), dtype=np.int64)
    return np.asarray(offsets, dtype=np.int64).reshape(-1)


def _check_one_to_one(design: PermuteDesign, side: SideName, stage: int, offsets: Offsets) -> None:
    """Refuse two elements in one place, and name them."""
    pair = first_repeat(offsets)
    if pair is None:
        return
    begin = [start for start, _ in design.region(side, stage)]
    shape = _extents(design, side, stage)
    first, second = (
        tuple(int(i + b) for i, b in zip(np.unravel_index(e, shape), begin, strict=True))
        for e in pair
    )
    place = int(offsets[pair[0]])
    raise NoSchedule(f"{first} and {second} share the {NAMES[side]} offset {place}")
