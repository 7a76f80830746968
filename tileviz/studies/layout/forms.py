"""A layout written out: the forms people paste, its digits, and what is true of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tileviz.layouts import (
    Collision,
    ComposeLayout,
    Iter,
    TileLayout,
    injectivity_collision,
)
from tileviz.studies.layout.grid import Layout, axes_of, checked_shape
from tileviz.studies.layout.physical import MAX_ADDRESSES
from tileviz.studies.statement import TextTable

# Counting different addresses means sorting them; not worth seconds.
_MAX_COUNTED = 1 << 20


def printed_forms(layout: Layout) -> tuple[tuple[str, str], ...]:
    """Return the layout as text in each notation that has one: (name, text).

    Example:
        >>> for name, text in printed_forms(TileLayout([(4, 33, "m"), (32, 1, "m")])):
        ...     print(f"{name}: {text}")
        short: S[(4, 32):(33, 1)]
        TVM: T.TileLayout(T.S[(4, 32):(33, 1)])
        CuTe: (4,32):(33,1)
    """
    forms = [("short", str(layout)), ("TVM", tvm_form(layout))]
    cute = cute_form(layout)
    return (*forms, ("CuTe", cute)) if cute else tuple(forms)


def cute_form(layout: Layout) -> str:
    """Return the layout as a flat CuTe layout, one mode a digit; "" where CuTe has none.

    CuTe has strides in memory only: no other axes, copies or offsets. Coordinates mean the same;
    a single number does not, because CuTe's first mode runs fastest.

    Example:
        >>> from tileviz.layouts import Swizzle
        >>> cute_form(ComposeLayout(Swizzle(2, 3, 3), TileLayout([(8, 32, "m"), (32, 1, "m")])))
        'Sw<3,2,3> o (8,32):(32,1)'
        >>> cute_form(TileLayout([(8, 4, "laneid")]))
        ''
    """
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    if set(tile.axes) - {"m"} or tile.replica or any(value for _, value in tile.offset):
        return ""
    extents, strides = tile.extents or (1,), tile.strides or (0,)
    text = f"{_mode(extents)}:{_mode(strides)}"
    if not isinstance(layout, ComposeLayout):
        return text
    swizzle = layout.swizzle
    if not swizzle.inner:
        return ""
    return f"Sw<{swizzle.swizzle_len},{swizzle.per_element},{swizzle.atom_len}> o {text}"


def _mode(numbers: tuple[int, ...]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"({','.join(map(str, numbers))})"


def tvm_form(layout: Layout) -> str:
    """Return the layout as TVM's script printer writes it.

    Example:
        >>> print(tvm_form(TileLayout([(8, 4, "laneid"), (2, 1, "m")], offset={"warpid": 5})))
        T.TileLayout(T.S[(8, 2):(4 @ Axis.laneid, 1)] + 5 @ Axis.warpid)
    """
    if isinstance(layout, ComposeLayout):
        swizzle = layout.swizzle
        letters = f"{swizzle.per_element}, {swizzle.swizzle_len}, {swizzle.atom_len}"
        inner = "" if swizzle.inner else ", swizzle_inner=False"
        return f"T.ComposeLayout({letters}, {tvm_form(layout.tile)}{inner})"
    terms = [f"T.S[{_tvm_pair(layout.shard)}]"] if layout.shard or not layout.replica else []
    if layout.replica:
        terms.append(f"T.R[{_tvm_pair(layout.replica)}]")
    offsets = [_on_axis(value, axis) for axis, value in layout.offset]
    if offsets:
        terms.append(offsets[0] if len(offsets) == 1 else f"({' + '.join(offsets)})")
    return f"T.TileLayout({' + '.join(terms)})"


def _tvm_pair(items: Sequence[Iter]) -> str:
    extents = ", ".join(str(item.extent) for item in items)
    strides = ", ".join(_on_axis(item.stride, item.axis) for item in items)
    return f"{extents}:{strides}" if len(items) == 1 else f"({extents}):({strides})"


def _on_axis(value: int, axis: str) -> str:
    return str(value) if axis == "m" else f"{value} @ Axis.{axis}"


def digits_table(layout: Layout) -> TextTable:
    """Return the layout's parts, one a row: swizzle, shard, replica, offset.

    Example:
        >>> digits_table(TileLayout([(4, 1, "m")], offset={"m": 64})).rows
        (('shard', '4', '1', 'm'), ('offset', '', '64', 'm'))
    """
    tile: TileLayout = layout.tile if isinstance(layout, ComposeLayout) else layout
    rows = [("shard", str(item.extent), str(item.stride), item.axis) for item in tile.shard]
    rows += [("replica", str(item.extent), str(item.stride), item.axis) for item in tile.replica]
    rows += [("offset", "", str(value), axis) for axis, value in tile.offset]
    return TextTable("digits", ("part", "extent", "stride", "axis"), tuple(rows))


@dataclass(frozen=True)
class Facts:
    """What is true of a layout, found by looking at every element.

    Attributes:
        size: Logical elements.
        copies: Copies of each.
        span: Span of each axis as the reference counts it: (axis, elements).
        reach: Lowest and highest address: (axis, low, high); () where there are too many to list.
        checked: Whether every element was looked at.
        collision: Two coordinates with one address, None where there are none (or not checked).
        idle: Addresses between the lowest and the highest that hold nothing, for layouts on one
            axis; None where that was not counted.
    """

    size: int
    copies: int
    span: tuple[tuple[str, int], ...]
    reach: tuple[tuple[str, int, int], ...]
    checked: bool
    collision: Collision | None
    idle: int | None

    @property
    def addresses(self) -> str:
        """The addresses in words.

        Example:
            >>> facts_of(TileLayout([(4, 33, "m"), (32, 1, "m")])).addresses
            'addresses 0 to 130, 3 of them idle'
        """
        if not self.reach:
            return "too many addresses to list"
        parts = [f"{axis} {_reach(low, high)}" for axis, low, high in self.reach]
        if [axis for axis, _, _ in self.reach] == ["m"]:
            parts = [_reach(*self.reach[0][1:])]
        word = "addresses" if len(parts) == 1 and self.reach[0][0] == "m" else "addresses:"
        idle = f", {self.idle} of them idle" if self.idle else ""
        return f"{word} {', '.join(parts)}{idle}"

    @property
    def one_to_one(self) -> str:
        """Whether no two elements share an address, in words."""
        if not self.checked:
            return "not checked, too many elements"
        return "yes" if self.collision is None else f"no: {self.collision}"


def _reach(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def facts_of(layout: Layout, shape: Sequence[int] | None = None) -> Facts:
    """Return what is true of a layout.

    Args:
        layout: The layout.
        shape: The logical shape that a collision is named in; None takes the shard's extents.

    Raises:
        LayoutError: The shape has another size than the layout.

    Example:
        >>> print(facts_of(TileLayout([(2, 4, "m"), (8, 1, "m")])).one_to_one)
        no: (0, 4) and (1, 0) share the address 4
    """
    shape = checked_shape(layout, shape)
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    axes = axes_of(layout)
    checked = layout.size <= MAX_ADDRESSES
    listed = layout.size * layout.replicas <= MAX_ADDRESSES
    reach: tuple[tuple[str, int, int], ...] = ()
    if listed or not isinstance(layout, ComposeLayout):
        reach = tuple((axis, *layout.address_range(axis)) for axis in axes)
    collision = injectivity_collision(layout, shape) if checked else None
    idle = _idle(layout, reach, collision) if checked else None
    span = tuple((axis, tile.span(axis)) for axis in axes)
    return Facts(layout.size, layout.replicas, span, reach, checked, collision, idle)


def _idle(
    layout: Layout, reach: tuple[tuple[str, int, int], ...], collision: Collision | None
) -> int | None:
    if len(reach) != 1:
        return None
    axis, low, high = reach[0]
    if collision is None and layout.replicas == 1:
        return high - low + 1 - layout.size
    if layout.size * layout.replicas > _MAX_COUNTED:
        return None
    every = layout.apply_all(np.arange(layout.size)).get(axis, np.zeros(1, dtype=np.int64))
    return high - low + 1 - int(np.unique(every).size)
