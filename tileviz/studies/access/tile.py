"""The tile that a search arranges: its plain layout, and word addresses that split into bits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, TileLayout, injectivity_collision
from tileviz.layouts.f2 import is_power_of_two
from tileviz.memory import BANK_BYTES, BANKS, Accesses
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.phases import Phase, Points, all_points
from tileviz.studies.access.plan import memory_layout

Ints = NDArray[np.int64]
_LINE_BYTES = BANKS * BANK_BYTES


@dataclass(frozen=True, eq=False)
class Tile:
    """A tile without padding or swizzle, dimensions in the order of the design's layout.

    Attributes:
        layout: The plain layout: compact, strides in the design's order.
        element_bytes: Bytes per element.
        strides: Element stride of every dimension.
        pitches: The same with every row started on a power of two of words, where rows are whole
            128-byte lines: then the bits of these addresses tell dimensions apart.
    """

    layout: TileLayout
    element_bytes: int
    strides: tuple[int, ...]
    pitches: tuple[int, ...]

    @classmethod
    def of(cls, design: AccessDesign) -> Tile:
        """Return the tile of a design.

        Raises:
            DesignError: The layout overlaps, keeps copies, or is not of shared memory.
        """
        if design.layout is None:
            raise DesignError("layout", "a search needs a layout and a pattern", None)
        if design.space != "shared":
            raise DesignError("space", "a search is about the banks of shared memory", design.space)
        layout = memory_layout(design)
        plain = layout.tile if isinstance(layout, ComposeLayout) else layout
        if plain.replicas > 1:
            raise DesignError("layout", "keeps copies of its elements", design.layout)
        collision = injectivity_collision(plain)
        if collision is not None:
            raise DesignError("layout", f"overlaps: {collision}", design.layout)
        width = dtype_of(design.dtype).bytes
        if not is_power_of_two(width):
            raise DesignError("dtype", "a search needs elements of 1, 2, 4... bytes", design.dtype)
        strides = _compact(plain)
        shard = zip(plain.extents, strides, strict=True)
        compact = TileLayout([(extent, stride, "m") for extent, stride in shard])
        return cls(compact, width, strides, _pitches(plain.extents, strides, width))

    @property
    def extents(self) -> tuple[int, ...]:
        """The tile's shape."""
        return self.layout.extents

    @property
    def bytes(self) -> int:
        """Bytes of the tile without padding."""
        return self.layout.size * self.element_bytes

    @property
    def bits(self) -> int:
        """Bits of a word address whose bits tell dimensions apart."""
        last = sum((e - 1) * p for e, p in zip(self.extents, self.pitches, strict=True))
        words = (last * self.element_bytes + self.element_bytes - 1) // BANK_BYTES
        return max(words.bit_length(), 1)

    @property
    def by_dimension(self) -> bool:
        """Whether the bits of an address as it is already tell dimensions apart."""
        return self.pitches == self.strides

    def offsets(self, coordinates: Ints, strides: tuple[int, ...]) -> Ints:
        """Return the offset of every coordinate under given strides, in elements."""
        total = np.zeros(coordinates.shape[1:], dtype=np.int64)
        for index, stride in zip(coordinates, strides, strict=True):
            total += index * stride
        return total


@dataclass(frozen=True, eq=False)
class Swept:
    """Every instruction of one phase over a tile.

    Attributes:
        phase: The phase.
        coordinates: First element of every lane, int64 ``[dimension, instruction, lane]``.
        plain: The accesses through the plain layout.
        split: The same with addresses whose bits tell dimensions apart; equal to ``plain`` where
            they already do.
        kinds: One instruction of each kind: others are shifted copies, and pay the same as long as
            rows are whole units apart.
        copies: How many instructions are of each kind.
    """

    phase: Phase
    coordinates: Ints
    plain: Accesses
    split: Accesses
    kinds: Ints
    copies: Ints

    @classmethod
    def of(cls, tile: Tile, phase: Phase) -> Swept:
        """Sweep a phase over a tile.

        Raises:
            DesignError: The pattern does not fit, or a vector is misaligned.
        """
        points = all_points(phase, tile.extents)
        if phase.vector > 1 and not _side_by_side(tile, phase):
            message = f"takes {phase.vector} elements a lane, which do not lie side by side in rows"
            raise DesignError(phase.field, message, None)
        plain = points.accesses(tile.layout, phase)
        split = plain
        if not tile.by_dimension:
            split = Accesses.of(
                tile.offsets(points.coordinates, tile.pitches) * tile.element_bytes,
                active=points.active,
                space="shared",
                op=phase.op,
                bytes=phase.bytes,
            )
        kinds, copies = _kinds(points, tile.element_bytes, max(phase.bytes, BANK_BYTES))
        return cls(phase, points.coordinates, plain, split, kinds, copies)


def _kinds(points: Points, element_bytes: int, unit: int) -> tuple[Ints, Ints]:
    """Return the first instruction of each kind, and how many there are.

    Of one kind are those whose lanes lie alike around lane 0, which lies alike within its unit.
    """
    first = np.argmax(points.active, axis=1)
    rows = np.arange(len(first))
    corner = points.coordinates[:, rows, first]
    inside = corner[-1] * element_bytes % unit
    around = np.where(points.active, points.coordinates - corner[:, :, None], -1)
    keys = np.concatenate([*around, inside[:, None]], axis=1)
    _, kinds, copies = np.unique(keys, axis=0, return_index=True, return_counts=True)
    return np.asarray(kinds, dtype=np.int64), np.asarray(copies, dtype=np.int64)


def _compact(layout: TileLayout) -> tuple[int, ...]:
    """Return strides without padding, dimensions in the layout's own order, negatives turned."""
    order = sorted(range(len(layout.shard)), key=lambda dim: abs(layout.strides[dim]))
    strides, reach = [0] * len(order), 1
    for dim in order:
        strides[dim] = reach
        reach *= layout.extents[dim]
    return tuple(strides)


def _pitches(extents: tuple[int, ...], strides: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Return strides of powers of two, unless one would change a bank; then the strides themselves.

    A row that is a whole number of 128-byte lines starts at bank 0 wherever it is, so moving it
    changes no bank.
    """
    pitches, reach = list(strides), 1
    for dim in sorted(range(len(strides)), key=lambda dim: strides[dim]):
        if strides[dim] != reach and strides[dim] * width % _LINE_BYTES:
            return strides
        pitches[dim] = reach
        reach = 1 << (reach * extents[dim] - 1).bit_length()
    return tuple(pitches)


def _side_by_side(tile: Tile, phase: Phase) -> bool:
    """Return whether the elements of a lane's vector, along the last dimension, are neighbours."""
    if tile.strides[-1] == 1 and tile.extents[-1] % phase.vector == 0:
        return True
    row_major = all(a > b for a, b in pairwise(tile.strides))
    return phase.pattern == "row" and row_major
