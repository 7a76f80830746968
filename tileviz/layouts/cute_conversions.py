"""Between CuTe layouts, tile layouts and bit matrices: the same map, or the reason why not.

CuTe runs through a mode with the first digit fastest, a tile layout through a dimension with the
last. So a mode's digits turn round, while the modes keep their places as dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tileviz.layouts.algebra import group
from tileviz.layouts.axes import LayoutError, axis
from tileviz.layouts.cute import CuteLayout, Digit, SwizzledCute
from tileviz.layouts.cute_algebra import right_inverse
from tileviz.layouts.f2 import Columns, is_power_of_two, linear_columns
from tileviz.layouts.swizzle import ComposeLayout, Swizzle
from tileviz.layouts.tile_layout import Iter, TileLayout

AnyLayout = CuteLayout | SwizzledCute | TileLayout | ComposeLayout


@dataclass(frozen=True)
class Tiled:
    """A CuTe layout as a tile layout, and the logical shape that its coordinates have.

    Attributes:
        layout: One iter a digit.
        shape: One extent a mode.
    """

    layout: TileLayout | ComposeLayout
    shape: tuple[int, ...]


def tile_of_cute(layout: CuteLayout | SwizzledCute) -> Tiled:
    """Return the tile layout that sends every coordinate where ``layout`` does.

    Example:
        >>> tiled = tile_of_cute(CuteLayout(((2, 4), 8), ((1, 16), 2)))
        >>> print(tiled.layout, tiled.shape)
        S[(4, 2, 8):(16, 1, 2)] (8, 8)
        >>> int(tiled.layout.apply((3, 1), tiled.shape)["m"])
        19
    """
    plain = layout.layout if isinstance(layout, SwizzledCute) else layout
    iters = [Iter(e, s, "m") for mode in plain.modes for e, s in reversed(mode.digits)]
    tile = TileLayout(iters)
    shape = tuple(mode.size for mode in plain.modes)
    if isinstance(layout, SwizzledCute):
        return Tiled(ComposeLayout(layout.swizzle, tile), shape)
    return Tiled(tile, shape)


def cute_of_tile(
    layout: TileLayout | ComposeLayout, shape: Sequence[int] | None = None
) -> CuteLayout | SwizzledCute:
    """Return the CuTe layout that sends every coordinate of ``shape`` where ``layout`` does.

    Args:
        layout: The layout.
        shape: One extent a mode; None takes the shard's extents.

    Raises:
        LayoutError: CuTe cannot say it: it maps to threads, keeps copies, has an offset, or the
            shape does not cut its digits. The message says which.

    Example:
        >>> print(cute_of_tile(TileLayout([(4, 16, "m"), (2, 1, "m"), (8, 2, "m")]), (8, 8)))
        ((2,4),8):((1,16),2)
    """
    if isinstance(layout, ComposeLayout):
        inner = cute_of_tile(layout.tile, shape)
        assert isinstance(inner, CuteLayout)
        return SwizzledCute(layout.swizzle, inner)
    why = _not_cute(layout)
    if why:
        raise LayoutError(f"CuTe cannot express {layout}, because {why}")
    extents = layout.extents if shape is None else tuple(shape)
    grouped, separators = group(layout, extents)
    modes = []
    for start, end in pairwise(separators):
        digits = [(item.extent, item.stride) for item in reversed(grouped.shard[start:end])]
        modes.append(CuteLayout.of_digits(_without_ones(digits)))
    return modes[0] if len(modes) == 1 else CuteLayout.of_modes(modes)


def _without_ones(digits: list[Digit]) -> list[Digit]:
    return [digit for digit in digits if digit[0] != 1] or digits[:1]


def _not_cute(layout: TileLayout) -> str:
    """Return why CuTe has no such layout, "" if it has."""
    threads = [name for name in layout.axes if name != "m"]
    if threads:
        return f"it maps to {threads[0]}, and CuTe maps to one index"
    if layout.replicas > 1:
        return f"it keeps {layout.replicas} copies of each element"
    if layout.offset_on("m"):
        return f"it starts at offset {layout.offset_on('m')}; add that to the pointer"
    if 0 in layout.extents:
        return "it has no elements"
    return ""


def tile_of_thread_values(
    layout: CuteLayout, shape: Sequence[int], thread_axis: str = "laneid"
) -> TileLayout:
    """Return a thread-value layout as a tile layout: from a coordinate to thread and register.

    Args:
        layout: From (thread, value) to a coordinate of the tile as one number, first mode fastest.
        shape: The tile.
        thread_axis: The axis that numbers threads.

    Raises:
        LayoutError: It does not number the tile once each, or a digit mixes threads and values.

    Example:
        >>> tv = CuteLayout(((4, 8), (2, 2)), ((32, 1), (16, 8)))  # C of mma.m16n8: l/4, 2(l%4)
        >>> print(tile_of_thread_values(tv, (16, 8)))
        S[(2, 8, 4, 2):(2, 4@laneid, 1@laneid, 1)]
    """
    axis(thread_axis)
    inverse = right_inverse(layout)
    if layout.rank != 2 or inverse.size != layout.size:
        raise LayoutError(f"{layout} does not number (thread, value) pairs once each")
    total = 1
    for extent in shape:
        total *= extent
    if total != layout.size:
        raise LayoutError(f"{layout} has {layout.size} pairs and {tuple(shape)} {total} elements")
    threads = layout[0].size
    digits: list[Iter] = []
    for extent, stride in _cut(list(inverse.digits), shape):
        if stride >= threads and stride % threads == 0:
            digits.append(Iter(extent, stride // threads, "m"))
        elif stride * (extent - 1) < threads:
            digits.append(Iter(extent, stride, thread_axis))
        else:
            raise LayoutError(f"the digit {extent}:{stride} runs through threads and values")
    found: list[Iter] = []
    at = 0
    for extent in shape:
        mine, reach = [], 1
        while reach < extent:
            mine.append(digits[at])
            reach *= digits[at].extent
            at += 1
        found += reversed(mine)
    return TileLayout(found or [Iter(1, 1, "m")])


def _cut(digits: list[Digit], shape: Sequence[int]) -> list[Digit]:
    """Cut digits, fastest first, where a dimension of the shape ends."""
    found: list[Digit] = []
    rest = list(digits)
    for extent in shape:
        while extent > 1:
            length, stride = rest.pop(0)
            taken = min(length, extent)
            if length % taken or extent % taken:
                raise LayoutError(
                    f"the digit {length}:{stride} does not end where a dimension does"
                )
            found.append((taken, stride))
            extent //= taken
            if taken < length:
                rest.insert(0, (length // taken, stride * taken))
    return found


# -- bit matrices --------------------------------------------------------------------------------


def matrix_of(layout: AnyLayout) -> Columns:
    """Return the bit matrix of a layout: what each bit of an element's number flips.

    Element numbers run row-major for tile layouts, first mode fastest for CuTe ones.

    Raises:
        LayoutError: The layout is not linear over bits; the message says where that shows.

    Example:
        >>> matrix_of(CuteLayout((4, 8), (8, 1)))
        (8, 16, 1, 2, 4)
        >>> matrix_of(TileLayout([(4, 33, "m"), (8, 1, "m")]))
        Traceback (most recent call last):
        tileviz.layouts.axes.LayoutError: no bit matrix for S[(4, 8):(33, 1)]: it is not linear over
        bits
    """
    if not is_power_of_two(layout.size):
        raise LayoutError(f"no bit matrix for {layout}: {layout.size} elements, no power of two")
    table = layout.table()
    addresses = table if not isinstance(table, dict) else table.get("m")
    if addresses is None or (isinstance(table, dict) and set(table) != {"m"}):
        raise LayoutError(f"no bit matrix for {layout}: it maps to another axis than memory")
    if addresses[0]:
        raise LayoutError(f"no bit matrix for {layout}: element 0 lies at {int(addresses[0])}")
    columns = linear_columns(addresses.reshape(-1))
    if columns is None:
        raise LayoutError(f"no bit matrix for {layout}: it is not linear over bits")
    return columns


def layout_of_matrix(columns: Sequence[int]) -> CuteLayout | SwizzledCute:
    """Return a CuTe layout with a given bit matrix: plain, or with one swizzle.

    Raises:
        LayoutError: Neither exists; the message says why.

    Example:
        >>> print(layout_of_matrix((1, 2, 4, 8, 16)), layout_of_matrix((1, 2, 5, 10)))
        32:1 Sw<2,0,2> o 16:1
    """
    if not all(columns):
        raise LayoutError("a column of the matrix is 0: two elements would share an address")
    tops = [1 << (column.bit_length() - 1) for column in columns]
    if len(set(tops)) < len(tops):
        raise LayoutError("two columns have one highest bit: rows are mixed, not only XORed into")
    plain = CuteLayout.of_digits(_fused(tops))
    pairs = sorted(
        (target, top.bit_length() - 1)
        for column, top in zip(columns, tops, strict=True)
        for target in range(column.bit_length() - 1)
        if column >> target & 1
    )
    if not pairs:
        return plain
    swizzle = _one_swizzle(pairs)
    if not any(1 << target in tops for target, _ in pairs):
        raise LayoutError("bits are XORed that no element's address has")
    return SwizzledCute(swizzle, plain)


def _fused(strides: Sequence[int]) -> list[Digit]:
    """Join bits of doubling stride into one digit."""
    digits: list[Digit] = []
    for stride in strides:
        if digits and stride == digits[-1][0] * digits[-1][1]:
            digits[-1] = (digits[-1][0] * 2, digits[-1][1])
        else:
            digits.append((2, stride))
    return digits


def _one_swizzle(pairs: list[tuple[int, int]]) -> Swizzle:
    """Return the swizzle with the given (target, source) bits."""
    targets = [target for target, _ in pairs]
    distances = sorted({source - target for target, source in pairs})
    if len(distances) > 1:
        shown = ", ".join(map(str, distances))
        raise LayoutError(f"no Swizzle<B,M,S>: bits are XORed over distances {shown}, not one")
    if targets != list(range(targets[0], targets[0] + len(targets))):
        shown = ", ".join(map(str, targets))
        raise LayoutError(f"no Swizzle<B,M,S>: bits {shown} are not neighbours")
    if distances[0] < len(targets):
        raise LayoutError("no Swizzle<B,M,S>: the two fields of bits overlap")
    return Swizzle(targets[0], len(targets), distances[0])
