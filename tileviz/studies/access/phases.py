"""Accesses by pattern: which element each lane wants, once or all over a tile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, TileLayout
from tileviz.memory import LANES, Accesses, Space
from tileviz.studies.access.design import AccessDesign, Pattern, width_of

Ints = NDArray[np.int64]
# Instructions of one phase that are looked at, at most.
MAX_INSTRUCTIONS = 1 << 16

_MATRICES = {"x1": 1, "x2": 2, "x4": 4}


@dataclass(frozen=True)
class Phase:
    """One kind of access to a tile.

    Attributes:
        op: What it does.
        bytes: Bytes per lane.
        pattern: Which elements lanes want.
        element_bytes: Bytes per element of the tile.
        field: The design's field that an error names: ``pattern`` or ``also.0.pattern``.
    """

    op: str
    bytes: int
    pattern: Pattern
    element_bytes: int
    field: str = "pattern"

    @property
    def vector(self) -> int:
        """Elements per lane, at least 1."""
        return max(self.bytes // self.element_bytes, 1)

    @property
    def words(self) -> int:
        """Banks that one lane takes."""
        return max(self.bytes // 4, 1)

    @property
    def name(self) -> str:
        """The access in a few words: ``st 16 B row``."""
        pattern = self.pattern if isinstance(self.pattern, str) else "lane map"
        if "matrix" in self.op and pattern == "ldmatrix":
            return self.op
        return f"{self.op} {self.bytes} B {pattern}"


@dataclass(frozen=True, eq=False)
class Points:
    """The first element of every lane of some instructions.

    Attributes:
        coordinates: int64 ``[dimension, instruction, lane]``; 0 for an inactive lane.
        active: Which lanes take part, bool ``[instruction, lane]``.
    """

    coordinates: Ints
    active: NDArray[np.bool_]

    def accesses(
        self, layout: TileLayout | ComposeLayout, phase: Phase, space: Space = "shared"
    ) -> Accesses:
        """Return the accesses through a layout.

        Raises:
            DesignError: An address is below 0, or no multiple of the width.
        """
        addresses = element_offsets(layout, self.coordinates) * phase.element_bytes
        wrong = self.active & ((addresses < 0) | (addresses % phase.bytes != 0))
        if wrong.any():
            lane = int(np.flatnonzero(wrong.any(axis=0))[0])
            address = int(addresses[:, lane][wrong[:, lane]][0])
            if address < 0:
                raise DesignError("layout", "maps an element below address 0", str(layout))
            message = f"lane {lane} gets byte address {address}, not a multiple of {phase.bytes}"
            raise DesignError(phase.field if phase.field != "pattern" else "layout", message, None)
        return Accesses.of(
            addresses, active=self.active, space=space, op=phase.op, bytes=phase.bytes
        )


def phases_of(design: AccessDesign) -> tuple[Phase, ...]:
    """Return the design's own access and those in ``also``; only for designs with a layout.

    Example:
        >>> from tileviz.studies.design import validated
        >>> design = validated(AccessDesign, {"layout": "S[(32, 32):(32, 1)]",
        ...     "pattern": "column", "also": [{"op": "st", "bytes": 16, "pattern": "row"}]})
        >>> [phase.name for phase in phases_of(design)]
        ['ld 4 B column', 'st 16 B row']
    """
    element = dtype_of(design.dtype).bytes
    assert design.pattern is not None
    own = Phase(design.op, design.width, design.pattern, element)
    others = (
        Phase(
            other.op,
            width_of(other.op, other.bytes, design.dtype),
            other.pattern,
            element,
            f"also.{number}.pattern",
        )
        for number, other in enumerate(design.also)
    )
    return (own, *others)


def element_offsets(layout: TileLayout | ComposeLayout, coordinates: Ints) -> Ints:
    """Return the memory offset of every coordinate, in elements, without the first axis."""
    places = layout.apply(tuple(coordinates), layout.extents)
    shape = coordinates.shape[1:]
    offsets = places.get("m", np.zeros((), dtype=np.int64))
    return np.asarray(np.broadcast_to(offsets, shape), dtype=np.int64)


def first_points(phase: Phase, shape: tuple[int, ...]) -> Points:
    """Return the first instruction of a phase: lane 0 at the tile's first element.

    Raises:
        DesignError: The pattern does not fit the shape.
    """
    return _points(phase, shape, 1)


def all_points(phase: Phase, shape: tuple[int, ...]) -> Points:
    """Return every instruction with which a phase covers the tile.

    A lane map is repeated by its own bounding box, wherever that fits.

    Raises:
        DesignError: The pattern does not fit the shape, or needs more than 65,536 instructions.

    Example:
        >>> column = Phase("ld", 4, "column", 4)
        >>> all_points(column, (64, 8)).active.shape
        (16, 32)
    """
    return _points(phase, shape, None)


def _points(phase: Phase, shape: tuple[int, ...], limit: int | None) -> Points:
    pattern = phase.pattern
    if not isinstance(pattern, str):
        return _lane_map(phase, pattern, shape, limit)
    if pattern != "row" and len(shape) != 2:
        message = f"{pattern} needs a layout of 2 dimensions, this one has {len(shape)}"
        raise DesignError(phase.field, message, pattern)
    size = int(np.prod(shape, dtype=np.int64))
    if pattern == "row":
        flat = _sequence(-(-size // phase.vector), limit, phase) * phase.vector
        inside = flat < size
        points = np.unravel_index(np.where(inside, flat, 0), shape) if shape else (flat * 0,)
        return Points(np.stack(points), inside)
    rows, columns = shape
    if pattern == "column":
        flat = _sequence(rows * -(-columns // phase.vector), limit, phase)
        row, column = flat % rows, flat // rows * phase.vector
    else:
        row, column = _matrix_rows(phase, rows, columns, limit)
    inside = (row < rows) & (column < columns)
    return Points(np.stack([np.where(inside, row, 0), np.where(inside, column, 0)]), inside)


def _sequence(count: int, limit: int | None, phase: Phase) -> Ints:
    """Return ``count`` lane positions as ``[instruction, lane]``, the last row filled up."""
    rounds = limit or -(-count // LANES)
    _check_count(rounds, phase)
    return np.arange(rounds * LANES, dtype=np.int64).reshape(rounds, LANES)


def _check_count(count: int, phase: Phase) -> None:
    if count > MAX_INSTRUCTIONS:
        message = f"{count} instructions cover this tile; at most {MAX_INSTRUCTIONS} are looked at"
        raise DesignError(phase.field, message, None)


def _matrix_rows(phase: Phase, rows: int, columns: int, limit: int | None) -> tuple[Ints, Ints]:
    """Lanes 8i to 8i + 7 name the rows of matrix i; matrices go down first, then right."""
    matrices = _MATRICES.get(phase.op.rpartition(".")[2], 4)
    high, wide = (8 if matrices == 1 else 16), phase.vector * (2 if matrices == 4 else 1)
    down, right = max(-(-rows // high), 1), max(-(-columns // wide), 1)
    count = limit or down * right
    _check_count(count, phase)
    block = np.arange(count, dtype=np.int64)[:, None]
    lane = np.arange(LANES, dtype=np.int64)
    row = block % down * high + lane % 8 + lane // 8 % 2 * 8
    column = block // down * wide + lane // 16 * phase.vector
    # Lanes beyond the matrices carry no address.
    return np.where(lane < 8 * matrices, row, rows), column


def _lane_map(
    phase: Phase,
    pattern: tuple[tuple[int, ...] | None, ...],
    shape: tuple[int, ...],
    limit: int | None,
) -> Points:
    points = np.zeros((len(shape), LANES), dtype=np.int64)
    active = np.zeros(LANES, dtype=bool)
    for lane, point in enumerate(pattern):
        if point is None:
            continue
        inside = len(point) == len(shape) and all(
            0 <= index < extent for index, extent in zip(point, shape, strict=True)
        )
        if not inside:
            raise DesignError(
                f"{phase.field}.{lane}", f"must lie inside {list(shape)}", list(point)
            )
        points[:, lane] = point
        active[lane] = True
    if limit == 1 or not active.any():
        return Points(points[:, None], active[None])
    low, high = points[:, active].min(axis=1), points[:, active].max(axis=1)
    box = high - low + 1
    if phase.vector > 1:
        box[-1] += phase.vector - 1
    # The map's own place stays one of those that are visited.
    start = low % box
    free = [extent - int(at) for extent, at in zip(shape, start, strict=True)]
    counts = [int(extent // step) for extent, step in zip(free, box.tolist(), strict=True)]
    total = int(np.prod(counts, dtype=np.int64))
    _check_count(total, phase)
    steps = np.stack(np.unravel_index(np.arange(total), counts)) * box[:, None]
    moved = points[:, None] + (steps + (start - low)[:, None])[:, :, None]
    moved = np.where(active, moved, 0)
    return Points(moved, np.broadcast_to(active, moved.shape[1:]))
