"""Canonical form, grouping and slicing of layouts, rule by rule as the reference does them.

Everything here works on the handful of digits of a layout, never on its elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import overload

import numpy as np

from tileviz.layouts.addressing import IntArray
from tileviz.layouts.axes import LayoutError, fusion, thread_scope
from tileviz.layouts.swizzle import ComposeLayout
from tileviz.layouts.tile_layout import Iter, TileLayout, identity

Shape = Sequence[int]
Region = Sequence[tuple[int, int]]


def scope_of(layout: TileLayout) -> tuple[str, str] | None:
    """Return the (subscope, scope) of a layout with thread axes in its shard, else None.

    Raises:
        LayoutError: Its thread axes do not fit together.

    Example:
        >>> scope_of(TileLayout([(4, 1, "warpid"), (32, 1, "laneid")]))
        ('thread', 'cta')
    """
    if not layout.has_thread_axis:
        return None
    names = [item.axis for item in (*layout.shard, *layout.replica)]
    return thread_scope([*names, *(name for name, _ in layout.offset)])


def _fuse_threads(layout: TileLayout, scope: tuple[str, str] | None) -> TileLayout:
    """Rename and scale the thread axes that a CUDA target fuses."""
    table = fusion(scope)
    if not table:
        return layout

    def fused(item: Iter) -> Iter:
        name, factor = table.get(item.axis, (item.axis, 1))
        return Iter(item.extent, item.stride * factor, name)

    offset: dict[str, int] = {}
    for axis, value in layout.offset:
        name, factor = table.get(axis, (axis, 1))
        offset[name] = offset.get(name, 0) + value * factor
    return TileLayout(map(fused, layout.shard), [fused(item) for item in layout.replica], offset)


def _fuse_neighbours(shard: Iterable[Iter]) -> list[Iter]:
    """Fuse neighbours on one axis where the outer one continues the inner one."""
    fused: list[Iter] = []
    for item in shard:
        if fused:
            before = fused[-1]
            if before.axis == item.axis and before.stride == item.extent * item.stride:
                fused[-1] = Iter(before.extent * item.extent, item.stride, item.axis)
                continue
        fused.append(item)
    return fused


@overload
def canonicalize(layout: TileLayout, cuda_target: bool = False) -> TileLayout: ...
@overload
def canonicalize(layout: ComposeLayout, cuda_target: bool = False) -> ComposeLayout: ...
def canonicalize(
    layout: TileLayout | ComposeLayout, cuda_target: bool = False
) -> TileLayout | ComposeLayout:
    """Return the canonical form: the same map in as few iters as the rules find.

    Unit iters and zero offsets go (one unit iter stays if all vanish; unit replicas stay), on a
    CUDA target the thread axes fuse, neighbours on one axis fuse, and replicas are sorted.

    Args:
        layout: The layout; of a swizzled one, the tile is canonicalized.
        cuda_target: Whether thread axes fuse (``warpid`` and ``laneid`` to ``tx``, and so on).

    Raises:
        LayoutError: The thread axes do not fit together.

    Example:
        >>> print(canonicalize(TileLayout([(2, 128, "m"), (1, 7, "m"), (128, 1, "m")])))
        S[256:1]
        >>> print(canonicalize(TileLayout([(4, 1, "warpid"), (32, 1, "laneid")]), cuda_target=True))
        S[128:1@tx]
    """
    if isinstance(layout, ComposeLayout):
        return ComposeLayout(layout.swizzle, canonicalize(layout.tile, cuda_target))
    shard = [item for item in layout.shard if item.extent != 1]
    if not shard and layout.shard:
        shard = [Iter(1, 1, layout.shard[0].axis)]
    offset = [(name, value) for name, value in layout.offset if value]
    reduced = TileLayout.derived(shard, layout.replica, tuple(offset))
    scope = scope_of(reduced)
    if cuda_target:
        reduced = _fuse_threads(reduced, scope)
    replica = tuple(sorted(reduced.replica))
    return TileLayout.derived(_fuse_neighbours(reduced.shard), replica, reduced.offset)


def _no_group(layout: TileLayout, shape: Shape) -> LayoutError:
    return LayoutError(f"{layout} cannot be grouped by the shape {tuple(shape)}")


def group(layout: TileLayout, shape: Shape) -> tuple[TileLayout, tuple[int, ...]]:
    """Cut the iters of ``layout`` so that each dimension of ``shape`` owns a run of them.

    Args:
        layout: The layout; it is not canonicalized.
        shape: Extents whose product is the layout's size.

    Returns:
        The cut layout, and separators: dimension d owns the iters ``separators[d]`` up to
        ``separators[d + 1]``.

    Raises:
        LayoutError: A cut would not divide an iter, or the products differ.

    Example:
        >>> grouped, separators = group(TileLayout([(4, 1, "m"), (32, 4, "m")]), (8, 16))
        >>> print(grouped, separators)
        S[(4, 2, 16):(1, 64, 4)] (0, 2, 3)
    """
    if 0 in shape:
        raise _no_group(layout, shape)
    shard: list[Iter] = []
    separators = [0]
    rank = len(shape)
    product, dim = 1, 0
    for extent, stride, axis in layout.shard:
        product *= extent
        while dim < rank and product % shape[dim] == 0:
            rest = product // shape[dim]
            if rest == 0 or extent % rest:
                raise _no_group(layout, shape)
            shard.append(Iter(extent // rest, stride * rest, axis))
            extent = product = rest
            dim += 1
            separators.append(len(shard))
        if extent != 1:
            if dim == rank:
                raise _no_group(layout, shape)
            shard.append(Iter(extent, stride, axis))
    if dim != rank:
        raise _no_group(layout, shape)
    return TileLayout.derived(shard, layout.replica, layout.offset), tuple(separators)


def _boundaries(extents: Shape, layout: TileLayout) -> list[int]:
    """Return 1 and the running products of ``extents``."""
    products = [1]
    for extent in extents:
        if extent < 1:
            raise LayoutError(f"{layout} cannot be grouped by an extent of {extent}")
        products.append(products[-1] * extent)
    return products


def _positions(products: list[int], starts: dict[int, int], counts: dict[int, int]) -> list[int]:
    """Return where each boundary of one sequence lies among the common boundaries.

    Of a repeated boundary the first stays first and the last last, so that every sequence starts
    and ends with the common one.
    """
    seen: dict[int, int] = {}
    positions = []
    for number, value in enumerate(products):
        before = seen.get(value, 0)
        seen[value] = before + 1
        position = starts[value] + before
        if number == 0:
            position = starts[value]
        if number == len(products) - 1:
            position = starts[value] + counts[value] - 1
        positions.append(position)
    if any(b <= a for a, b in pairwise(positions)):
        raise LayoutError(f"the repeated boundaries of {products} cannot be kept apart")
    return positions


def group_many(
    layout: TileLayout, shapes: Sequence[Shape]
) -> tuple[TileLayout, tuple[tuple[int, ...], ...]]:
    """Cut the iters of ``layout`` into the smallest refinement that every shape can group.

    Repeated boundaries are kept: an extent-1 dimension of any shape becomes a unit iter.

    Returns:
        The cut layout, and the separators of each shape.

    Raises:
        LayoutError: No shapes, the products differ, or boundaries do not divide each other.

    Example:
        >>> grouped, separators = group_many(TileLayout([(24, 1, "m")]), [(4, 6), (8, 3)])
        >>> print(grouped, separators)
        S[(4, 2, 3):(6, 3, 1)] ((0, 1, 3), (0, 2, 3))
    """
    if not shapes or not all(shapes):
        raise LayoutError("group_many takes at least one shape, and none that is empty")
    sequences = [_boundaries(shape, layout) for shape in shapes]
    sequences.append(_boundaries(layout.extents, layout))
    if len({products[-1] for products in sequences}) != 1:
        raise LayoutError(f"{layout} and the shapes {list(map(tuple, shapes))} differ in size")
    counts: dict[int, int] = {}
    for products in sequences:
        for value in set(products):
            counts[value] = max(counts.get(value, 0), products.count(value))
    starts: dict[int, int] = {}
    common: list[int] = []
    for value in sorted(counts):
        if common and value % common[-1]:
            raise LayoutError(
                f"{layout} cannot be grouped by {list(map(tuple, shapes))}: "
                f"the boundary {common[-1]} does not divide {value}"
            )
        starts[value] = len(common)
        common.extend([value] * counts[value])
    places = [_positions(products, starts, counts) for products in sequences]
    shard = []
    for (_, stride, axis), start, end in zip(
        layout.shard, places[-1], places[-1][1:], strict=False
    ):
        for place in range(start, end):
            extent = common[place + 1] // common[place]
            shard.append(Iter(extent, stride * (common[end] // common[place + 1]), axis))
    grouped = TileLayout(shard, layout.replica, layout.offset)
    return grouped, tuple(tuple(place) for place in places[:-1])


def _begin_digits(shard: Sequence[Iter], begin: int) -> list[int]:
    """Return the digits of ``begin``; a lone iter takes no modulo."""
    digits = [0] * len(shard)
    for k in range(len(shard) - 1, -1, -1):
        if len(shard) == 1:
            digits[k] = begin
        else:
            begin, digits[k] = divmod(begin, shard[k].extent)
    return digits


def _slice_iters(shard: tuple[Iter, ...], digits: list[int], count: int) -> list[Iter] | None:
    """Return iters for ``count`` elements from the element at ``digits``, or None."""
    if len(shard) == 1:
        return [Iter(count, shard[0].stride, shard[0].axis)]
    pivot = len(shard) - 1
    while pivot >= 0 and digits[pivot] == 0 and count % shard[pivot].extent == 0:
        count //= shard[pivot].extent
        pivot -= 1
    peeled = list(shard[pivot + 1 :])
    if pivot < 0:
        return peeled if count == 1 else None
    extent, stride, axis = shard[pivot]
    if digits[pivot] + count <= extent:
        return [Iter(count, stride, axis), *peeled]
    # The region straddles one carry in its middle: two halves, a jump of one outer digit apart.
    half, odd = divmod(count, 2)
    if odd or digits[pivot] + half != extent:
        return None
    if pivot > 0 and shard[pivot - 1].axis != axis:
        return None
    before = shard[pivot - 1].stride if pivot > 0 else 0
    jump = Iter(2, before - (extent - half) * stride, axis)
    return [jump, Iter(half, stride, axis), *peeled]


@overload
def slice_layout(
    layout: TileLayout, shape: Shape, region: Region, cuda_target: bool = False
) -> TileLayout | None: ...
@overload
def slice_layout(
    layout: ComposeLayout, shape: Shape, region: Region, cuda_target: bool = False
) -> ComposeLayout | None: ...
def slice_layout(
    layout: TileLayout | ComposeLayout, shape: Shape, region: Region, cuda_target: bool = False
) -> TileLayout | ComposeLayout | None:
    """Return the layout of a region of a buffer, or None where these rules cannot express it.

    Exactly the reference's rules, with its blind spot: in the one case where a carry runs through
    more than one outer digit, the result is not the region (``region_addresses`` always is).

    Args:
        layout: The buffer's layout; a bare swizzle stands for itself over the whole shape.
        shape: The buffer's shape.
        region: [begin, end) per dimension; not checked against the shape.
        cuda_target: As for ``canonicalize``.

    Raises:
        LayoutError: The layout cannot be grouped by the shape, or ranks differ.

    Example:
        >>> whole = TileLayout([(8, 64, "m"), (64, 1, "m")])
        >>> print(slice_layout(whole, (8, 64), [(2, 6), (16, 48)]))
        S[(4, 32):(64, 1)] + 144
    """
    if len(shape) != len(region):
        raise LayoutError(f"the region has {len(region)} dimensions and the shape {len(shape)}")
    if isinstance(layout, ComposeLayout):
        base = identity(shape) if layout.is_bare else layout.tile
        part = slice_layout(base, shape, region, cuda_target)
        return None if part is None else ComposeLayout(layout.swizzle, part)
    grouped, separators = group(canonicalize(layout, cuda_target), shape)
    shard: list[Iter] = []
    offset = dict(grouped.offset)
    for dim, (begin, end) in enumerate(region):
        run = TileLayout.derived(grouped.shard[separators[dim] : separators[dim + 1]])
        # One iter is canonical already, unless it vanishes or its thread axis is renamed.
        single = len(run.shard) == 1 and run.shard[0].extent != 1 and not cuda_target
        block = run if single else canonicalize(run, cuda_target)
        digits = _begin_digits(block.shard, begin)
        for digit, item in zip(digits, block.shard, strict=True):
            offset[item.axis] = offset.get(item.axis, 0) + digit * item.stride
        part_iters = _slice_iters(block.shard, digits, end - begin)
        if part_iters is None:
            return None
        shard.extend(part_iters)
    return TileLayout.derived(shard, grouped.replica, tuple(sorted(offset.items())))


def region_addresses(
    layout: TileLayout | ComposeLayout, shape: Sequence[int], region: Sequence[tuple[int, int]]
) -> dict[str, IntArray]:
    """Return the addresses of a region of a buffer, whether or not a sliced layout exists.

    Args:
        layout: The buffer's layout.
        shape: The buffer's logical shape.
        region: [begin, end) per dimension.

    Returns:
        Per axis, int64 of shape (end - begin, ...), in elements.

    Raises:
        LayoutError: The ranks differ, a range is not within the shape, or sizes differ.

    Example:
        >>> whole = TileLayout([(8, 1, "m"), (64, 8, "m")])
        >>> region_addresses(whole, (8, 64), [(3, 5), (0, 2)])["m"]
        array([[ 3, 11],
               [ 4, 12]])
    """
    if len(region) != len(shape):
        raise LayoutError(f"the region has {len(region)} dimensions and the shape {len(shape)}")
    for (begin, end), extent in zip(region, shape, strict=True):
        if not 0 <= begin <= end <= extent:
            raise LayoutError(f"the range [{begin}, {end}) is not within [0, {extent})")
    size = 1
    for extent in shape:
        size *= extent
    if size != layout.size:
        raise LayoutError(
            f"the shape {tuple(shape)} has {size} elements and the layout {layout.size}"
        )
    if not region:
        return layout.apply(0)
    grid = np.ix_(*(np.arange(begin, end, dtype=np.int64) for begin, end in region))
    return layout.apply(tuple(grid), shape)
