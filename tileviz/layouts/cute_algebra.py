"""The algebra of CuTe layouts: coalesce, compose, complement, divide, multiply, invert.

Written from the definitions: a layout is its list of (extent, stride) digits, fastest first, and
every operation works on those digits, never on elements. ``by mode`` variants take a tuple of
tilers, one a mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from tileviz.layouts.axes import LayoutError
from tileviz.layouts.cute import MAX_ELEMENTS, CuteLayout, Digit

Tiler: TypeAlias = "CuteLayout | int | tuple[Tiler, ...]"


def coalesce(layout: CuteLayout) -> CuteLayout:
    """Return the same map of one number in as few modes as possible.

    Example:
        >>> print(coalesce(CuteLayout((2, (1, 6)), (1, (6, 2)))))
        12:1
    """
    return CuteLayout.of_digits(_coalesced(layout.digits))


def _coalesced(digits: Sequence[Digit]) -> list[Digit]:
    merged: list[Digit] = []
    for extent, stride in digits:
        if extent == 1:
            continue
        if merged and stride == merged[-1][0] * merged[-1][1]:
            merged[-1] = (merged[-1][0] * extent, merged[-1][1])
        else:
            merged.append((extent, stride))
    return merged


def filter_zeros(layout: CuteLayout) -> CuteLayout:
    """Return the layout without the modes that move nothing: extent 1 or stride 0.

    Example:
        >>> print(filter_zeros(CuteLayout((4, 8, 1), (0, 2, 16))))
        8:2
    """
    return CuteLayout.of_digits(_coalesced([d for d in layout.digits if d[1] != 0]))


def composition(outer: CuteLayout, inner: Tiler) -> CuteLayout:
    """Return ``outer`` after ``inner``: the layout of inner's coordinates, outer's indices.

    A tuple composes mode by mode; modes of ``outer`` beyond it stay.

    Raises:
        LayoutError: An index of ``inner`` would fall between the digits of ``outer``, or modes of
            ``inner`` overlap so that their sums carry from one digit of ``outer`` to the next.

    Example:
        >>> print(composition(CuteLayout((6, 2), (8, 2)), CuteLayout((4, 3), (3, 1))))
        ((2,2),3):((24,2),8)
    """
    if isinstance(inner, tuple):
        if len(inner) > outer.rank:
            raise LayoutError(f"{len(inner)} tilers do not fit the {outer.rank} modes of {outer}")
        modes = [composition(mode, part) for mode, part in zip(outer.modes, inner, strict=False)]
        return CuteLayout.of_modes([*modes, *outer.modes[len(inner) :]])
    if isinstance(inner, int):
        inner = CuteLayout(inner, 1)
    if isinstance(inner.shape, tuple):
        made = CuteLayout.of_modes([composition(outer, mode) for mode in inner.modes])
        _check_sums(outer, inner, made)
        return made
    (digit,) = inner.digits
    return CuteLayout.of_digits(_through(_coalesced(outer.digits) or [(1, 0)], digit, outer))


def _check_sums(outer: CuteLayout, inner: CuteLayout, made: CuteLayout) -> None:
    """Refuse where the sum of two modes' indices is not the index of their sum."""
    if _nests(inner) or inner.size > MAX_ELEMENTS or outer.size > MAX_ELEMENTS:
        return
    places = inner.table()
    inside = places < outer.size
    if (outer.table()[places[inside]] != made.table()[inside]).any():
        raise LayoutError(f"the modes of {inner} overlap, and carry between digits of {outer}")


def _nests(layout: CuteLayout) -> bool:
    """Return whether each digit steps over all that smaller ones reach."""
    digits = sorted((abs(s), e) for e, s in layout.digits if e > 1)
    steps = all(b[0] >= a[0] * a[1] for a, b in pairwise(digits))
    return steps and (not digits or digits[0][0] > 0)


def _through(outer: list[Digit], digit: Digit, whole: CuteLayout) -> list[Digit]:
    """Return the digits of ``outer`` that ``extent`` steps of ``stride`` run through."""
    extent, stride = digit
    if stride == 0:
        return [(extent, 0)]
    if extent == 1:
        for length, _ in outer[:-1]:
            stride = -(-stride // length)
        return [(1, stride * outer[-1][1])]
    found: list[Digit] = []
    wanted = f"{extent}:{stride}"
    for length, step in outer[:-1]:
        if stride % length == 0:
            # A whole number of this digit's rounds: it never moves.
            stride //= length
            continue
        if length % stride:
            raise LayoutError(f"{wanted} steps between the digits of {whole}")
        taken = min(length // stride, extent)
        if extent % taken:
            raise LayoutError(f"{wanted} ends inside a digit of {whole}")
        if taken > 1:
            found.append((taken, stride * step))
        extent //= taken
        if extent == 1:
            return found or [(1, 0)]
        stride = 1
    # The slowest digit has no end.
    if extent > 1:
        found.append((extent, stride * outer[-1][1]))
    return found or [(1, 0)]


def complement(layout: CuteLayout, size: int) -> CuteLayout:
    """Return the layout that visits what ``layout`` leaves out of the indices 0 to ``size - 1``.

    Raises:
        LayoutError: ``layout`` overlaps itself, so it leaves no regular rest.

    Example:
        >>> print(complement(CuteLayout((2, 2), (1, 6)), 24))
        (3,2):(2,12)
    """
    digits = sorted((stride, extent) for extent, stride in layout.digits if stride and extent > 1)
    found: list[Digit] = []
    reach = 1
    for stride, extent in digits:
        if stride < 0 or stride % reach:
            raise LayoutError(f"{layout} has no complement: stride {stride} meets reach {reach}")
        found.append((stride // reach, reach))
        reach = stride * extent
    found.append((-(-size // reach), reach))
    return CuteLayout.of_digits(_coalesced(found))


def logical_divide(layout: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return the layout cut into tiles: mode 0 within a tile, mode 1 over tiles.

    A tuple divides mode by mode.

    Raises:
        LayoutError: The tiler does not divide the layout.

    Example:
        >>> print(logical_divide(CuteLayout((4, 2, 3), (2, 1, 8)), CuteLayout(4, 2)))
        ((2,2),(2,3)):((4,1),(2,8))
    """
    if isinstance(tiler, tuple):
        if len(tiler) > layout.rank:
            raise LayoutError(f"{len(tiler)} tilers do not fit the {layout.rank} modes of {layout}")
        modes = [
            logical_divide(mode, part) for mode, part in zip(layout.modes, tiler, strict=False)
        ]
        return CuteLayout.of_modes([*modes, *layout.modes[len(tiler) :]])
    if isinstance(tiler, int):
        tiler = CuteLayout(tiler, 1)
    rest = complement(tiler, layout.size)
    return composition(layout, CuteLayout.of_modes([tiler, rest]))


def zipped_divide(layout: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return ``logical_divide`` with all tile modes in mode 0 and all rest modes in mode 1.

    Example:
        >>> whole = CuteLayout((8, 6), (6, 1))
        >>> print(zipped_divide(whole, (4, 3)))
        ((4,3),(2,2)):((6,1),(24,3))
    """
    return _zipped(logical_divide(layout, tiler), layout, tiler)


def _zipped(divided: CuteLayout, layout: CuteLayout, tiler: Tiler) -> CuteLayout:
    if not isinstance(tiler, tuple):
        return divided
    inner, outer = [], []
    for mode in divided.modes[: len(tiler)]:
        inner.append(mode[0])
        outer.append(mode[1])
    outer += divided.modes[len(tiler) :]
    return CuteLayout.of_modes([CuteLayout.of_modes(inner), CuteLayout.of_modes(outer)])


def logical_product(layout: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return copies of ``layout`` arranged as ``tiler``: mode 0 within a copy, mode 1 over copies.

    Raises:
        LayoutError: The layout has no complement, or the tiler does not fit it.

    Example:
        >>> print(logical_product(CuteLayout((2, 2), (4, 1)), CuteLayout(6, 1)))
        ((2,2),(2,3)):((4,1),(2,8))
    """
    if isinstance(tiler, tuple):
        if len(tiler) > layout.rank:
            raise LayoutError(f"{len(tiler)} tilers do not fit the {layout.rank} modes of {layout}")
        modes = [
            logical_product(mode, part) for mode, part in zip(layout.modes, tiler, strict=False)
        ]
        return CuteLayout.of_modes([*modes, *layout.modes[len(tiler) :]])
    if isinstance(tiler, int):
        tiler = CuteLayout(tiler, 1)
    rest = complement(layout, layout.size * tiler.cosize)
    return CuteLayout.of_modes([layout, composition(rest, tiler)])


def _zipped_modes(layout: CuteLayout, tiler: CuteLayout, raked: bool) -> CuteLayout:
    """Return the product with the modes of a copy and of the arrangement paired."""
    rank = max(layout.rank, tiler.rank)
    inner, outer = (_padded(part, rank) for part in (layout, tiler))
    made = logical_product(inner, outer)
    pairs = zip(made[0].modes, made[1].modes, strict=True)
    return CuteLayout.of_modes([CuteLayout.of_modes([b, a] if raked else [a, b]) for a, b in pairs])


def _padded(layout: CuteLayout, rank: int) -> CuteLayout:
    modes = layout.modes + (CuteLayout(1, 0),) * (rank - layout.rank)
    return CuteLayout.of_modes(modes)


def blocked_product(layout: CuteLayout, tiler: CuteLayout) -> CuteLayout:
    """Return copies of ``layout`` side by side: each mode runs within a copy, then over copies.

    Example:
        >>> print(blocked_product(CuteLayout((2, 2)), CuteLayout((3, 4))))
        ((2,3),(2,4)):((1,4),(2,12))
    """
    return _zipped_modes(layout, tiler, raked=False)


def raked_product(layout: CuteLayout, tiler: CuteLayout) -> CuteLayout:
    """Return copies of ``layout`` interleaved: each mode runs over copies, then within one.

    Example:
        >>> print(raked_product(CuteLayout((2, 2)), CuteLayout((3, 4))))
        ((3,2),(4,2)):((4,1),(12,2))
    """
    return _zipped_modes(layout, tiler, raked=True)


def right_inverse(layout: CuteLayout) -> CuteLayout:
    """Return R with ``layout(R(i)) == i`` for as long a run of i from 0 as there is.

    Example:
        >>> layout = CuteLayout((4, 8), (8, 1))
        >>> print(right_inverse(layout))
        (8,4):(4,1)
    """
    starts, position = [], 1
    for extent, stride in layout.digits:
        starts.append((stride, extent, position))
        position *= extent
    found: list[Digit] = []
    reach = 1
    for stride, extent, start in sorted(starts):
        if extent == 1 or stride < reach:
            continue
        if stride != reach:
            break
        found.append((extent, start))
        reach *= extent
    return CuteLayout.of_digits(_coalesced(found))


def thread_value_layout(threads: CuteLayout, values: CuteLayout) -> tuple[CuteLayout, CuteLayout]:
    """Return the tile that threads with values cover, and (thread, value) to its coordinate.

    Args:
        threads: Thread numbers over the tile of threads, such as ``(4,8):(8,1)``.
        values: Value numbers within one thread's piece.

    Returns:
        The tile's layout of thread and value numbers, and the thread-value layout: from (thread,
        value) to a coordinate of the tile as one number, first mode fastest.

    Raises:
        LayoutError: Threads or values do not cover a tile once each.

    Example:
        >>> tile, tv = thread_value_layout(CuteLayout((2, 4), (4, 1)), CuteLayout((2, 2), (2, 1)))
        >>> print(tv)
        ((4,2),(2,2)):((8,2),(4,1))
    """
    tile = raked_product(threads, values)
    inverse = right_inverse(tile)
    if inverse.size != tile.size:
        raise LayoutError(f"threads {threads} and values {values} do not number a tile once each")
    pairs = CuteLayout((threads.size, values.size))
    return tile, composition(inverse, pairs)


def is_injective(layout: CuteLayout) -> bool:
    """Return whether no two coordinates share an index, by digits alone where they nest.

    Example:
        >>> is_injective(CuteLayout((4, 8), (8, 1))), is_injective(CuteLayout((4, 8), (4, 1)))
        (True, False)
    """
    if _nests(layout):
        return True
    table = layout.table()
    return len(set(table.tolist())) == len(table)
