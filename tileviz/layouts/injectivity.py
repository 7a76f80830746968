"""Whether two coordinates share an address, and which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tileviz.layouts.addressing import IntArray, unflatten
from tileviz.layouts.axes import LayoutError
from tileviz.layouts.swizzle import ComposeLayout
from tileviz.layouts.tile_layout import TileLayout

# Above this range of addresses, sorting beats one mark an address.
_MAX_MARKS = 1 << 23


class Collision(NamedTuple):
    """Two coordinates with one address.

    Attributes:
        first: The smaller coordinate, row-major.
        second: The other; the smallest that collides with one before it.
        address: (axis, value) pairs, in elements.

    Example:
        >>> print(Collision((0, 4), (1, 0), (("m", 4),)))
        (0, 4) and (1, 0) share the address 4
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    address: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        parts = [str(v) if axis == "m" else f"{v}@{axis}" for axis, v in self.address]
        return f"{self.first} and {self.second} share the address {' + '.join(parts) or 0}"


def _spreads(layout: TileLayout) -> bool:
    """Return whether every stride steps over all that smaller ones on its axis can reach.

    That suffices for no two coordinates to collide, and needs no list of elements.
    """
    reach: dict[str, int] = {}
    for extent, stride, axis in sorted(layout.shard, key=lambda item: abs(item.stride)):
        if extent == 1:
            continue
        if abs(stride) <= reach.get(axis, 0):
            return False
        reach[axis] = reach.get(axis, 0) + (extent - 1) * abs(stride)
    return True


def _ranked(values: IntArray) -> tuple[IntArray, int]:
    """Return ``values`` replaced by their ranks, and the number of ranks."""
    ranks = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return ranks, int(ranks.max()) + 1


def _keys(table: Mapping[str, IntArray]) -> IntArray:
    """Return one whole number an element, equal where the addresses on all axes are."""
    columns = list(table.values())
    keys, room = np.zeros_like(columns[0]), 1
    for values in columns:
        low = int(values.min())
        part, width = np.asarray(values - low, dtype=np.int64), int(values.max()) - low + 1
        if room * width >= 1 << 62:
            # Too wide to combine as they are; of ranks there are no more than elements.
            keys, room = _ranked(keys)
            part, width = _ranked(part)
        keys = np.asarray(keys * width + part, dtype=np.int64)
        room *= width
    return keys


def _first_with_key(keys: IntArray) -> IntArray:
    """Return for each element the first one with the same key."""
    order = np.arange(keys.size, dtype=np.int64)
    width = int(keys.max()) + 1
    if width <= _MAX_MARKS:
        # Where an index repeats, NumPy keeps the last value written: here the first element.
        marks = np.empty(width, dtype=np.int64)
        marks[keys[::-1]] = order[::-1]
        return np.asarray(marks[keys], dtype=np.int64)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[inverse.reshape(-1)], dtype=np.int64)


def first_repeat(addresses: IntArray) -> tuple[int, int] | None:
    """Return the places of the first address met again: where it was before, and where it is again.

    Args:
        addresses: At least one, int64 ``[element]``.

    Example:
        >>> first_repeat(np.array([5, -9, 7, -9, 5]))
        (1, 3)
        >>> first_repeat(np.array([5, -9])) is None
        True
    """
    first = _first_with_key(_keys({"m": addresses}))
    again = first != np.arange(addresses.size)
    second = int(again.argmax())
    return (int(first[second]), second) if again[second] else None


def injectivity_collision(
    layout: TileLayout | ComposeLayout, shape: Sequence[int] | None = None
) -> Collision | None:
    """Return two coordinates with the same address, or None where the layout is one-to-one.

    Replicas are left aside: they are meant to hold the same element.

    Args:
        layout: The layout.
        shape: The logical shape that coordinates are given in; None takes the shard's extents.

    Returns:
        The collision whose second coordinate comes first in row-major order.

    Raises:
        LayoutError: The shape has another size than the layout.

    Example:
        >>> print(injectivity_collision(TileLayout([(2, 4, "m"), (8, 1, "m")])))
        (0, 4) and (1, 0) share the address 4
        >>> injectivity_collision(TileLayout([(2, 8, "m"), (8, 1, "m")])) is None
        True
    """
    shape = layout.extents if shape is None else tuple(shape)
    size = 1
    for extent in shape:
        size *= extent
    if size != layout.size:
        raise LayoutError(f"the shape {shape} has {size} elements and the layout {layout.size}")
    # A swizzle permutes addresses, so it neither makes nor hides a collision.
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    if size < 2 or _spreads(tile):
        return None
    pair = first_repeat(_keys(tile.table()))
    return None if pair is None else _pair(layout, shape, *pair)


def _pair(
    layout: TileLayout | ComposeLayout, shape: tuple[int, ...], first: int, second: int
) -> Collision:
    address = tuple((name, int(value)) for name, value in layout.apply(second).items())
    return Collision(unflatten(first, shape), unflatten(second, shape), address)
