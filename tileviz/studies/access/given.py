"""What a design's own layout pays, and what each XOR of its swizzle buys."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, TileLayout
from tileviz.studies.access.arrangements import costs_of
from tileviz.studies.access.candidates import Cost
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.plan import memory_layout
from tileviz.studies.access.tile import Swept, Tile


@dataclass(frozen=True)
class SwizzleBit:
    """One XOR of a given swizzle, and whether it buys anything.

    Attributes:
        term: The XOR in byte-address bits.
        buys: Wavefronts that all phases pay more without it alone; 0 or less: it buys nothing.
        idle: Whether it can go together with all other idle ones.
    """

    term: str
    buys: int
    idle: bool


def given_costs(
    design: AccessDesign, tile: Tile, swept: Sequence[Swept]
) -> tuple[tuple[Cost, ...], tuple[SwizzleBit, ...]]:
    """Return what the design's own layout pays, and what each XOR of its swizzle buys.

    Raises:
        DesignError: The layout tears a vector apart, so the access does not exist.
    """
    layout = memory_layout(design)
    if isinstance(layout, ComposeLayout):
        # Whole vectors move only where the swizzle leaves the bits inside them alone.
        inside = layout.swizzle.per_element + tile.element_bytes.bit_length() - 1
        widest = max(part.phase.bytes for part in swept)
        if layout.swizzle.swizzle_len and 1 << inside < widest:
            message = f"the swizzle tears vectors of {widest} bytes apart"
            raise DesignError("layout", message, design.layout)
    costs = _through(layout, tile, swept)
    if not isinstance(layout, ComposeLayout):
        return costs, ()
    swizzle = layout.swizzle
    paid = sum(cost.wavefronts for cost in costs)
    shift = tile.element_bytes.bit_length() - 1
    dropped: list[tuple[int, int]] = []
    bits = []
    for bit in range(swizzle.swizzle_len):
        target = swizzle.per_element + bit
        source = target + swizzle.atom_len
        if not swizzle.inner:
            target, source = source, target
        alone = _paid(layout, tile, swept, [(target, source)])
        idle = _paid(layout, tile, swept, [*dropped, (target, source)]) <= paid
        if idle:
            dropped.append((target, source))
        term = f"bit {target + shift} ^= bit {source + shift}"
        bits.append(SwizzleBit(term, alone - paid, idle))
    return costs, tuple(bits)


def _paid(
    layout: ComposeLayout, tile: Tile, swept: Sequence[Swept], dropped: Collection[tuple[int, int]]
) -> int:
    return sum(cost.wavefronts for cost in _through(layout, tile, swept, dropped))


def _through(
    layout: TileLayout | ComposeLayout,
    tile: Tile,
    swept: Sequence[Swept],
    dropped: Collection[tuple[int, int]] = (),
) -> tuple[Cost, ...]:
    """Judge every phase through a layout, with some XORs of its swizzle left out."""
    moved = []
    for part in swept:
        shape = part.coordinates.shape[1:]
        places = layout.apply(tuple(part.coordinates), layout.extents)["m"]
        offsets = np.array(np.broadcast_to(places, shape), dtype=np.int64)
        if dropped and isinstance(layout, ComposeLayout):
            plain = layout.tile.apply(tuple(part.coordinates), layout.extents)["m"]
            for target, source in dropped:
                offsets ^= (np.broadcast_to(plain, shape) >> source & 1) << target
        moved.append((part.phase, replace(part.plain, addresses=offsets * tile.element_bytes)))
    return costs_of(moved)
