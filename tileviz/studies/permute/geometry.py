"""Where the elements of a permute lie in its buffers: every stage, in allocation order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tileviz.studies.errors import NotRunnable
from tileviz.studies.permute.design import PermuteDesign
from tileviz.studies.permute.moves import NoSchedule, move_of
from tileviz.studies.permute.reference import decide

# A negative address moves the buffer's origin by whole 128-byte rows, so that no bank changes.
_ROW_BYTES = 128


@dataclass(frozen=True, eq=False)
class Side:
    """One side of the move.

    Attributes:
        strides: Element stride of each of the geometry's extents; None where the region has none.
        origin: Position in the buffer of address 0, in elements.
        bases: Position in the buffer of each stage's first element.
        span: Elements allocated.
        positions: Position of every element, int64 ``[stage, element]``.
    """

    strides: tuple[int, ...] | None
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
    """Both sides of the move.

    Attributes:
        extents: Extents in which the elements of a stage count, row-major.
        src: The source; likewise ``dst``.
        aligned: Whether the reference's cut addresses these very elements, in every stage.
    """

    extents: tuple[int, ...]
    src: Side
    dst: Side
    aligned: bool

    @property
    def has_gaps(self) -> bool:
        """Whether some element of the destination buffer is written by no stage."""
        return _distinct(self.dst) < self.dst.span


def _distinct(side: Side) -> int:
    """Return how many elements of the buffer some stage touches."""
    touched = np.zeros(side.span, dtype=bool)
    touched[side.positions] = True
    return int(np.count_nonzero(touched))


def geometry(design: PermuteDesign, element_bytes: int) -> Geometry:
    """Return where every stage's elements lie.

    Args:
        design: A design whose two sides name one move.
        element_bytes: Bytes per element.

    Raises:
        NotRunnable: There is no one-to-one move in memory, and why.
    """
    cuts, moves = [], []
    for stage in range(design.stage_count):
        reference = decide(design, stage)
        cuts.append(reference.alignment)
        try:
            moves.append(move_of(design, reference, stage))
        except NoSchedule as reason:
            raise NotRunnable(str(reason)) from None
    forms = {
        (cut.extents, cut.src_strides, cut.dst_strides) if cut and move.aligned else None
        for cut, move in zip(cuts, moves, strict=True)
    }
    form = forms.pop() if len(forms) == 1 else None
    extents, src_strides, dst_strides = form or (moves[0].extents, None, None)
    ranges = [design.src.parsed.address_range(), design.dst.parsed.address_range()]
    if design.in_place:
        ranges = [(min(r[0] for r in ranges), max(r[1] for r in ranges))] * 2
    unit = max(_ROW_BYTES // element_bytes, 1)
    src, dst = (
        _side(strides, offsets, -(low // unit) * unit if low < 0 else 0, high)
        for strides, offsets, (low, high) in zip(
            (src_strides, dst_strides),
            ([move.source for move in moves], [move.target for move in moves]),
            ranges,
            strict=True,
        )
    )
    return Geometry(extents, src, dst, all(move.aligned for move in moves))


def _side(
    strides: tuple[int, ...] | None, offsets: list[NDArray[np.int64]], origin: int, high: int
) -> Side:
    positions = np.stack(offsets) + origin
    return Side(strides, origin, tuple(positions[:, 0].tolist()), high + origin + 1, positions)


def stages_clash(geometry: Geometry, in_place: bool) -> Literal["read", "write"] | None:
    """Return how stages depend on their order: not at all, by a write, or by a read of a write."""
    written = geometry.dst.positions
    if _distinct(geometry.dst) < written.size:
        return "write"
    if not in_place or len(written) == 1:
        return None
    owner = np.full(geometry.dst.span, -1, dtype=np.int64)
    owner[written] = np.arange(len(written))[:, None]
    readers = owner[geometry.src.positions]
    mine = np.arange(len(written))[:, None]
    return "read" if ((readers >= 0) & (readers != mine)).any() else None
