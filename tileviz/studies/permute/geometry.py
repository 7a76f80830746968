"""Where the elements of a permute lie in its buffers: every stage, in allocation order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tileviz.layouts import TileLayout, region_addresses
from tileviz.studies.errors import NotRunnable
from tileviz.studies.permute.design import PermuteDesign
from tileviz.studies.permute.reference import Alignment, decide, element_offsets

# A negative address moves the buffer's origin by whole 128-byte rows, so that no bank changes.
_ROW_BYTES = 128


@dataclass(frozen=True, eq=False)
class Side:
    """One side of the move.

    Attributes:
        strides: Element stride of each aligned dimension.
        origin: Position in the buffer of address 0, in elements.
        bases: Position in the buffer of each stage's first element.
        span: Elements allocated.
        positions: Position of every element, int64 ``[stage, element]``.
    """

    strides: tuple[int, ...]
    origin: int
    bases: tuple[int, ...]
    span: int
    positions: NDArray[np.int64]

    @property
    def step(self) -> int | None:
        """Distance between the bases of neighbouring stages, or None where it varies."""
        steps = set(np.diff(self.bases).tolist())
        return 0 if not steps else steps.pop() if len(steps) == 1 else None


@dataclass(frozen=True, eq=False)
class Geometry:
    """Both sides of the move, cut alike in every stage."""

    extents: tuple[int, ...]
    src: Side
    dst: Side

    @property
    def has_gaps(self) -> bool:
        """Whether some element of the destination buffer is written by no stage."""
        return len(np.unique(self.dst.positions)) < self.dst.span


def geometry(design: PermuteDesign, element_bytes: int) -> Geometry:
    """Return where every stage's elements lie.

    Args:
        design: A design that the reference does not reject.
        element_bytes: Bytes per element.

    Raises:
        NotRunnable: A layout uses thread axes, or a stage has another form than the first.
    """
    stages = [_aligned(design, stage) for stage in range(design.stage_count)]
    first = stages[0]
    if not first.memory_only:
        raise NotRunnable(
            "a layout maps to thread or tensor axes, which are not memory: "
            "the reference accepts this and would generate wrong code"
        )
    for number, stage in enumerate(stages):
        same = (stage.extents, stage.src_strides, stage.dst_strides)
        if same != (first.extents, first.src_strides, first.dst_strides):
            raise NotRunnable(f"stage {number} has another form than stage 0 in these layouts")
    _check_slices(design, stages)
    ranges = [_range(design.src.parsed), _range(design.dst.parsed)]
    if design.in_place:
        ranges = [(min(r[0] for r in ranges), max(r[1] for r in ranges))] * 2
    unit = max(_ROW_BYTES // element_bytes, 1)
    src, dst = (
        _side(first, strides, bases, -(low // unit) * unit if low < 0 else 0, high)
        for strides, bases, (low, high) in zip(
            (first.src_strides, first.dst_strides),
            ([s.src_base for s in stages], [s.dst_base for s in stages]),
            ranges,
            strict=True,
        )
    )
    return Geometry(first.extents, src, dst)


def _aligned(design: PermuteDesign, stage: int) -> Alignment:
    reference = decide(design, stage)
    if reference.outcome == "reject" or reference.alignment is None:
        raise NotRunnable(f"the reference rejects stage {stage} ({reference.reason})")
    return reference.alignment


def _check_slices(design: PermuteDesign, stages: list[Alignment]) -> None:
    """Refuse where the reference's slice is not the region: it would move the wrong elements."""
    sides: tuple[Literal["src", "dst"], ...] = ("src", "dst")
    for number, stage in enumerate(stages):
        strides = {"src": stage.src_strides, "dst": stage.dst_strides}
        base = {"src": stage.src_base, "dst": stage.dst_base}
        for side in sides:
            tile = design.src if side == "src" else design.dst
            region = [(begin, end or 0) for begin, end in design.region(side, number)]
            true = region_addresses(tile.parsed, tile.extents, region)["m"].ravel()
            if not np.array_equal(true, element_offsets(stage.extents, strides[side]) + base[side]):
                raise NotRunnable(
                    f"the reference cuts the {side} region of stage {number} wrongly: "
                    "its layout of the region addresses other elements"
                )


def _range(layout: object) -> tuple[int, int]:
    """Return the lowest and highest address a layout maps to."""
    assert isinstance(layout, TileLayout)
    low = high = sum(value for _, value in layout.offset)
    for extent, stride, _ in layout.shard:
        reach = (extent - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high


def _side(
    first: Alignment, strides: tuple[int, ...], bases: list[int], origin: int, high: int
) -> Side:
    moved = tuple(base + origin for base in bases)
    elements = element_offsets(first.extents, strides)
    positions = np.asarray(moved, dtype=np.int64)[:, None] + elements
    return Side(strides, origin, moved, high + origin + 1, positions)


def stages_clash(geometry: Geometry, in_place: bool) -> Literal["read", "write"] | None:
    """Return how stages depend on their order: not at all, by a write, or by a read of a write."""
    written = geometry.dst.positions
    if len(np.unique(written)) < written.size:
        return "write"
    if not in_place or len(written) == 1:
        return None
    owner = np.full(geometry.dst.span, -1, dtype=np.int64)
    owner[written] = np.arange(len(written))[:, None]
    readers = owner[geometry.src.positions]
    mine = np.arange(len(written))[:, None]
    return "read" if ((readers >= 0) & (readers != mine)).any() else None
