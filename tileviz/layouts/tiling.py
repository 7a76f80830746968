"""Layouts from layouts: tile, direct sum, their inverses, and changes of the element.

Rule by rule as the reference does them; everything works on iters, never on elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

from tileviz.errors import DesignError
from tileviz.layouts.algebra import Shape, canonicalize, group, scope_of
from tileviz.layouts.axes import AXES, LayoutError, is_higher, unknown_axis
from tileviz.layouts.swizzle import ComposeLayout, Swizzle
from tileviz.layouts.tile_layout import Iter, TileLayout, identity, row_major


def _same_rank(one: Shape, other: Shape) -> None:
    if len(one) != len(other):
        raise LayoutError(f"the shapes {tuple(one)} and {tuple(other)} differ in rank")


def _spans(layout: TileLayout) -> dict[str, int]:
    """Return the span on each axis of the shard."""
    return {item.axis: layout.span(item.axis) for item in layout.shard}


def _interleave(
    outer: TileLayout, inner: TileLayout, outer_shape: Shape, inner_shape: Shape, scale: bool
) -> TileLayout:
    """Return the canonical layout with, per dimension, outer's iters and then inner's."""
    _same_rank(outer_shape, inner_shape)
    outer, outer_seps = group(canonicalize(outer), outer_shape)
    inner, inner_seps = group(canonicalize(inner), inner_shape)
    spans = _spans(inner) if scale else {}
    scaled = [Iter(e, s * spans.get(axis, 1), axis) for e, s, axis in outer.shard]
    shard: list[Iter] = []
    for dim in range(len(outer_shape)):
        shard.extend(scaled[outer_seps[dim] : outer_seps[dim + 1]])
        shard.extend(inner.shard[inner_seps[dim] : inner_seps[dim + 1]])
    offset = dict(inner.offset)
    for name, value in outer.offset:
        offset[name] = offset.get(name, 0) + value
    return canonicalize(TileLayout(shard, (*inner.replica, *outer.replica), offset))


def _base(layout: ComposeLayout, shape: Shape) -> TileLayout:
    """Return the tile under a swizzle; a bare swizzle stands for itself over ``shape``."""
    return identity(shape) if layout.is_bare else layout.tile


@overload
def tile(
    inner: TileLayout, outer: TileLayout, outer_shape: Shape, inner_shape: Shape
) -> TileLayout: ...
@overload
def tile(
    inner: ComposeLayout, outer: TileLayout, outer_shape: Shape, inner_shape: Shape
) -> ComposeLayout: ...
def tile(
    inner: TileLayout | ComposeLayout, outer: TileLayout, outer_shape: Shape, inner_shape: Shape
) -> TileLayout | ComposeLayout:
    """Return ``inner`` repeated as ``outer`` places it, in steps of inner's span.

    The logical shape of the result is the product of the two shapes, dimension by dimension.

    Args:
        inner: The layout of one tile; a bare swizzle stands for itself over ``inner_shape``.
        outer: Where the tiles go, in tiles.
        outer_shape: Tiles per dimension.
        inner_shape: Elements of one tile per dimension.

    Returns:
        The canonical layout: outer strides times the inner span on the same axis, offsets added
        (unscaled), replicas together.

    Raises:
        LayoutError: A layout cannot be grouped by its shape, or the ranks differ.

    Example:
        >>> inner, outer = TileLayout([(2, 1, "m"), (2, 2, "m")]), row_major((4, 4))
        >>> print(tile(inner, outer, (4, 4), (2, 2)))
        S[(4, 2, 8):(16, 1, 2)]
    """
    if isinstance(inner, ComposeLayout):
        base = _base(inner, inner_shape)
        return ComposeLayout(inner.swizzle, tile(base, outer, outer_shape, inner_shape))
    return _interleave(outer, inner, outer_shape, inner_shape, scale=True)


@overload
def direct_sum(
    inner: TileLayout, outer: TileLayout, outer_shape: Shape, inner_shape: Shape
) -> TileLayout: ...
@overload
def direct_sum(
    inner: ComposeLayout, outer: TileLayout, outer_shape: Shape, inner_shape: Shape
) -> ComposeLayout: ...
def direct_sum(
    inner: TileLayout | ComposeLayout, outer: TileLayout, outer_shape: Shape, inner_shape: Shape
) -> TileLayout | ComposeLayout:
    """Return ``inner`` repeated as ``outer`` places it, outer's strides taken as they are.

    Arguments, result and errors are those of ``tile``, without the scaling by inner's span.

    Example:
        >>> inner, outer = TileLayout([(8, 8, "m"), (8, 1, "m")]), TileLayout([(2, 64, "m")])
        >>> print(direct_sum(inner, outer, (2, 1), (8, 8)))
        S[128:1]
    """
    if isinstance(inner, ComposeLayout):
        base = _base(inner, inner_shape)
        return ComposeLayout(inner.swizzle, direct_sum(base, outer, outer_shape, inner_shape))
    return _interleave(outer, inner, outer_shape, inner_shape, scale=False)


@overload
def tile_to(layout: TileLayout, to_shape: Shape, shape: Shape) -> TileLayout: ...
@overload
def tile_to(layout: ComposeLayout, to_shape: Shape, shape: Shape) -> ComposeLayout: ...
def tile_to(
    layout: TileLayout | ComposeLayout, to_shape: Shape, shape: Shape
) -> TileLayout | ComposeLayout:
    """Return ``layout`` of ``shape`` repeated row-major up to ``to_shape``.

    Raises:
        LayoutError: As for ``tile``; so where ``shape`` is larger than ``to_shape``.

    Example:
        >>> print(tile_to(row_major((2, 2)), (4, 4), (2, 2)))
        S[(2, 2, 2, 2):(8, 2, 4, 1)]
    """
    _same_rank(to_shape, shape)
    if 0 in shape:
        raise LayoutError(f"a tile of the shape {tuple(shape)} has no elements")
    count = tuple(to // now for to, now in zip(to_shape, shape, strict=True))
    return tile(layout, row_major(count), count, shape)


def _factored(shape: Shape, factor: Shape, inner: bool) -> tuple[int, ...]:
    """Return ``shape`` with each dimension split in two; ``factor`` is the inner or outer part."""
    _same_rank(shape, factor)
    split: list[int] = []
    for extent, part in zip(shape, factor, strict=True):
        if part == 0 or extent % part:
            raise LayoutError(f"{tuple(shape)} does not divide into {tuple(factor)}")
        rest = extent // part
        split.extend((rest, part) if inner else (part, rest))
    return tuple(split)


def _scopes_fit(tiled: TileLayout, part: TileLayout, end: int) -> bool:
    """Return whether the thread scopes allow ``part`` as the inner (0) or outer (1) of ``tiled``.

    The two share the scope at that end, and ``part`` reaches no further than ``tiled`` at the
    other.
    """
    whole, own = scope_of(tiled), scope_of(part)
    if whole is None or own is None:
        return True
    if whole[end] != own[end]:
        return False
    if end == 0:
        return not is_higher(own[1], whole[1])
    return not is_higher(whole[0], own[0])


def _without(tiled: TileLayout, part: TileLayout) -> tuple[tuple[Iter, ...], dict[str, int]]:
    """Return the replicas and the offset of ``tiled`` that ``part`` does not account for."""
    replica = tuple(item for item in tiled.replica if item not in part.replica)
    own = dict(part.offset)
    return replica, {name: value - own.get(name, 0) for name, value in tiled.offset}


def is_tile_inner(
    inner: TileLayout | ComposeLayout,
    tiled: TileLayout | ComposeLayout,
    tiled_shape: Shape,
    inner_shape: Shape,
) -> TileLayout | None:
    """Return the outer layout that tiles ``inner`` to ``tiled``, or None where there is none.

    Raises:
        LayoutError: A shape does not divide, or a layout cannot be grouped by its shape.

    Example:
        >>> inner, outer = row_major((2, 2)), row_major((4, 4))
        >>> tiled = tile(inner, outer, (4, 4), (2, 2))
        >>> print(is_tile_inner(inner, tiled, (8, 8), (2, 2)))
        S[(4, 4):(4, 1)]
    """
    if isinstance(inner, ComposeLayout) or isinstance(tiled, ComposeLayout):
        if not isinstance(inner, ComposeLayout) or not isinstance(tiled, ComposeLayout):
            return None
        if inner.swizzle != tiled.swizzle:
            return None
        tiles = _base(inner, inner_shape), _base(tiled, tiled_shape)
        return is_tile_inner(*tiles, tiled_shape, inner_shape)
    tiled, inner = canonicalize(tiled), canonicalize(inner)
    if not _scopes_fit(tiled, inner, 0):
        return None
    spans = _spans(inner)
    whole, seps = group(tiled, _factored(tiled_shape, inner_shape, inner=True))
    part, part_seps = group(inner, inner_shape)
    shard: list[Iter] = []
    for dim in range(len(tiled_shape)):
        run = whole.shard[seps[2 * dim] : seps[2 * dim + 2]]
        own = part.shard[part_seps[dim] : part_seps[dim + 1]]
        cut = len(run) - len(own)
        if cut < 0 or not all(map(_same_iter, own, run[cut:])):
            return None
        shard.extend(run[:cut])
    replica, offset = _without(tiled, inner)
    outer_shard, outer_replica = _unscale(shard, spans), _unscale(replica, spans)
    if outer_shard is None or outer_replica is None:
        return None
    return TileLayout(outer_shard, outer_replica, offset)


def _same_iter(one: Iter, other: Iter) -> bool:
    """Return whether two iters are the same; of unit iters only the extent counts."""
    return one.extent == other.extent and (one.extent == 1 or one == other)


def _unscale(items: Sequence[Iter], spans: Mapping[str, int]) -> list[Iter] | None:
    """Return ``items`` with strides divided by the span on their axis; None where one does not."""
    result = []
    for item in items:
        span = spans.get(item.axis)
        if span is not None and item.extent != 1:
            if span == 0 or item.stride % span:
                return None
            item = item._replace(stride=item.stride // span)
        result.append(item)
    return result


def is_tile_outer(
    outer: TileLayout | ComposeLayout,
    tiled: TileLayout | ComposeLayout,
    tiled_shape: Shape,
    outer_shape: Shape,
) -> TileLayout | ComposeLayout | None:
    """Return the inner layout that ``outer`` tiles to ``tiled``, or None where there is none.

    Raises:
        LayoutError: A shape does not divide, or a layout cannot be grouped by its shape.

    Example:
        >>> inner, outer = row_major((2, 2)), row_major((4, 4))
        >>> tiled = tile(inner, outer, (4, 4), (2, 2))
        >>> print(is_tile_outer(outer, tiled, (8, 8), (4, 4)))
        S[(2, 2):(2, 1)]
    """
    if isinstance(outer, ComposeLayout):
        return None
    if isinstance(tiled, ComposeLayout):
        found = is_tile_outer(outer, tiled.tile, tiled_shape, outer_shape)
        return ComposeLayout(tiled.swizzle, found) if isinstance(found, TileLayout) else None
    tiled, outer = canonicalize(tiled), canonicalize(outer)
    if not _scopes_fit(tiled, outer, 1):
        return None
    factored = _factored(tiled_shape, outer_shape, inner=False)
    whole, seps = group(tiled, factored)
    part, part_seps = group(outer, outer_shape)
    shard: list[Iter] = []
    for dim in range(len(tiled_shape)):
        run = whole.shard[seps[2 * dim] : seps[2 * dim + 2]]
        own = part.shard[part_seps[dim] : part_seps[dim + 1]]
        if len(own) > len(run):
            return None
        for one, other in zip(own, run, strict=False):
            if one.extent != other.extent or (one.extent != 1 and one.axis != other.axis):
                return None
        shard.extend(run[len(own) :])
    inner = TileLayout(shard, *_without(tiled, outer))
    again = tile(inner, outer, outer_shape, factored[1::2])
    return inner if again == canonicalize(tiled) else None


@overload
def storage(layout: TileLayout) -> TileLayout: ...
@overload
def storage(layout: ComposeLayout) -> ComposeLayout: ...
def storage(layout: TileLayout | ComposeLayout) -> TileLayout | ComposeLayout:
    """Return what one thread stores: the layout without its thread axes.

    Example:
        >>> print(storage(TileLayout([(8, 4, "laneid"), (4, 1, "laneid"), (2, 1, "m")])))
        S[2:1]
    """
    if isinstance(layout, ComposeLayout):
        return ComposeLayout(layout.swizzle, storage(layout.tile))
    return TileLayout(
        [item for item in layout.shard if not AXES[item.axis].thread],
        [item for item in layout.replica if not AXES[item.axis].thread],
        [(name, value) for name, value in layout.offset if not AXES[name].thread],
    )


def _log2(count: int) -> int:
    """Return log2 of a count that a swizzle can take."""
    if count < 1 or count & (count - 1):
        raise LayoutError(f"under a swizzle, elements pack by powers of two, not by {count}")
    return count.bit_length() - 1


def _coarser(swizzle: Swizzle, steps: int) -> Swizzle:
    """Return ``swizzle`` over elements that are ``2**steps`` times smaller."""
    moved = swizzle.per_element + steps
    return Swizzle(moved, swizzle.swizzle_len, swizzle.atom_len, swizzle.inner)


@overload
def unpack(layout: TileLayout, count: int) -> TileLayout: ...
@overload
def unpack(layout: ComposeLayout, count: int) -> ComposeLayout: ...
def unpack(layout: TileLayout | ComposeLayout, count: int) -> TileLayout | ComposeLayout:
    """Return the layout of ``count`` contiguous elements where there was one.

    All strides are scaled, thread axes too, and the offset is not: as in the reference.

    Raises:
        LayoutError: Under a swizzle, ``count`` is not a power of two.

    Example:
        >>> print(unpack(TileLayout([(8, 4, "m")]), 2))
        S[(8, 2):(8, 1)]
    """
    if isinstance(layout, ComposeLayout):
        swizzle = _coarser(layout.swizzle, _log2(count))
        return ComposeLayout(swizzle, unpack(layout.tile, count))
    if count < 1:
        raise LayoutError(f"elements unpack into at least 1, not into {count}")
    shard = [Iter(extent, stride * count, axis) for extent, stride, axis in layout.shard]
    return TileLayout([*shard, Iter(count, 1, "m")], layout.replica, layout.offset)


@overload
def pack(layout: TileLayout, count: int) -> TileLayout: ...
@overload
def pack(layout: ComposeLayout, count: int) -> ComposeLayout: ...
def pack(layout: TileLayout | ComposeLayout, count: int) -> TileLayout | ComposeLayout:
    """Return the layout of one element where there were ``count`` contiguous ones.

    All strides are divided (rounding down), thread axes too: as in the reference.

    Raises:
        LayoutError: The innermost iter is not contiguous memory, or ``count`` does not divide it.

    Example:
        >>> print(pack(row_major((8, 64)), 4))
        S[(8, 16):(16, 1)]
    """
    if isinstance(layout, ComposeLayout):
        steps = _log2(count)
        if steps > layout.swizzle.per_element:
            raise LayoutError(f"{layout.swizzle} moves fewer than {count} elements together")
        return ComposeLayout(_coarser(layout.swizzle, -steps), pack(layout.tile, count))
    last = layout.shard[-1] if layout.shard else None
    if last is None or last.stride != 1 or AXES[last.axis].thread or count < 1:
        raise LayoutError(f"the innermost iter of {layout} is not {count} contiguous elements")
    if last.extent % count:
        raise LayoutError(f"{count} does not divide the innermost iter of {layout}")
    shard = [Iter(extent, stride // count, axis) for extent, stride, axis in layout.shard[:-1]]
    return TileLayout(
        [*shard, Iter(last.extent // count, 1, last.axis)], layout.replica, layout.offset
    )


@overload
def broadcast(
    layout: TileLayout, count: int, position: int = -1, axis: str = "m"
) -> TileLayout: ...
@overload
def broadcast(
    layout: ComposeLayout, count: int, position: int = -1, axis: str = "m"
) -> ComposeLayout: ...
def broadcast(
    layout: TileLayout | ComposeLayout, count: int, position: int = -1, axis: str = "m"
) -> TileLayout | ComposeLayout:
    """Return the layout with one more iter of extent ``count`` and stride 0.

    Args:
        layout: The layout.
        count: How often each element is seen.
        position: Before which iter; negative counts from the end, -1 appends.
        axis: The axis of the new iter.

    Example:
        >>> print(broadcast(row_major((8, 64)), 3, 1))
        S[(8, 3, 64):(64, 0, 1)]
    """
    if isinstance(layout, ComposeLayout):
        return ComposeLayout(layout.swizzle, broadcast(layout.tile, count, position, axis))
    if axis not in AXES:
        raise DesignError("axis", unknown_axis(axis), axis)
    shard = list(layout.shard)
    shard.insert(position if position >= 0 else len(shard) + 1 + position, Iter(count, 0, axis))
    return TileLayout(shard, layout.replica, layout.offset)
