"""From logical coordinates to addresses, for many coordinates at once.

Whole tables are outer sums over the digits (no division at all). Arbitrary indices are split
into digits in cache-sized blocks, in 32-bit arithmetic wherever the numbers fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tileviz.layouts.axes import LayoutError

IntArray: TypeAlias = NDArray[np.int64]

_BLOCK = 1 << 15
_INT32 = 1 << 31
# Addresses stay one bit clear of int64, so that a sum of two of them cannot wrap.
_LIMIT = 1 << 62


def as_indices(values: ArrayLike) -> IntArray:
    """Return ``values`` as an int64 array.

    Raises:
        LayoutError: They are not whole numbers, or beyond 64 bits.

    Example:
        >>> as_indices([1, 2]).dtype, as_indices(3).shape
        (dtype('int64'), ())
    """
    array = np.asarray(values)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu" or array.dtype == np.uint64:
        raise LayoutError(f"indices are whole numbers of at most 64 bits, not {array.dtype}")
    return array.astype(np.int64, copy=False)


def flatten(coordinates: Sequence[ArrayLike], shape: Sequence[int]) -> IntArray:
    """Return the row-major index of ``coordinates``: one array a dimension, broadcast.

    Raises:
        LayoutError: The number of coordinates differs from that of the dimensions.

    Example:
        >>> flatten(([0, 1], 3), (4, 32))
        array([ 3, 35])
    """
    if len(coordinates) != len(shape):
        raise LayoutError(f"{len(coordinates)} coordinates do not fit the shape {tuple(shape)}")
    flat: IntArray = np.zeros((), dtype=np.int64)
    for values, extent in zip(coordinates, shape, strict=True):
        flat = np.asarray(flat * extent + as_indices(values), dtype=np.int64)
    return flat


def unflatten(index: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the coordinate of the row-major ``index``; the outermost digit takes no modulo.

    Example:
        >>> unflatten(35, (4, 32)), unflatten(200, (4, 32))
        ((1, 3), (6, 8))
    """
    digits = []
    for extent in reversed(shape[1:]):
        index, digit = divmod(index, extent)
        digits.append(digit)
    if shape:
        digits.append(index)
    return tuple(reversed(digits))


def _merge(digits: Sequence[tuple[int, Sequence[int]]]) -> list[tuple[int, list[int]]]:
    """Return the same digits (extent, stride on every axis), neighbours fused where that is exact.

    Units vanish except outermost, where an index out of range still moves the address.
    """
    merged: list[tuple[int, list[int]]] = []
    for extent, strides in digits:
        if merged:
            if extent == 1:
                continue
            before, outer = merged[-1]
            if all(a == b * extent for a, b in zip(outer, strides, strict=True)):
                merged[-1] = (before * extent, list(strides))
                continue
        merged.append((extent, list(strides)))
    return merged


def digit_sums(
    digits: Sequence[tuple[int, Sequence[int]]], bases: Sequence[int], flat: IntArray
) -> list[IntArray]:
    """Return per axis ``base + sum(digit * stride)`` of every index in ``flat``.

    Args:
        digits: Outermost first: the extent, and the stride on every axis.
        bases: The offset of every axis.
        flat: Indices of any shape; the outermost digit takes no modulo.

    Raises:
        LayoutError: An extent is 0, or an address would leave 62 bits.

    Example:
        >>> digit_sums([(4, (33,)), (32, (1,))], [0], np.array([0, 31, 32, -1]))
        [array([ 0, 31, 33, -2])]
    """
    merged = _merge(digits)
    if any(extent == 0 for extent, _ in merged[1:]):
        raise LayoutError("a layout with an extent of 0 has no elements to apply it to")
    low, high = (int(flat.min()), int(flat.max())) if flat.size else (0, 0)
    bound = _bound(merged, bases, low, high)
    if bound >= _LIMIT:
        raise LayoutError("addresses beyond 62 bits")
    work = np.dtype(np.int32 if bound < _INT32 else np.int64)
    source = flat.reshape(-1)
    sums = [np.full(source.shape, base, dtype=np.int64) for base in bases]
    if merged:
        for start in range(0, source.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            _add_block(merged, source[block].astype(work), [total[block] for total in sums])
    return [total.reshape(flat.shape) for total in sums]


def _bound(merged: list[tuple[int, list[int]]], bases: Sequence[int], low: int, high: int) -> int:
    """Return a bound on the magnitude of every address, partial sum, stride and extent."""
    if not merged:
        return max((abs(base) for base in bases), default=0)
    inner = 1
    for extent, _ in merged[1:]:
        inner *= extent
    outer = max(abs(low // inner), abs(high // inner), 1)
    bound = max(abs(low), abs(high), *(extent for extent, _ in merged[1:]), 0)
    for number, base in enumerate(bases):
        reach = abs(base) + outer * abs(merged[0][1][number])
        for extent, strides in merged[1:]:
            reach += extent * abs(strides[number])
        bound = max(bound, reach)
    return bound


def _add_block(
    merged: list[tuple[int, list[int]]], rest: NDArray[np.signedinteger], sums: list[IntArray]
) -> None:
    """Add the digits of one block of indices to ``sums``; ``rest`` is consumed."""
    digit, scaled = np.empty_like(rest), np.empty_like(rest)
    totals: list[NDArray[np.signedinteger] | None] = [None] * len(sums)
    for position in range(len(merged) - 1, -1, -1):
        extent, strides = merged[position]
        if position == 0:
            digit = rest
        elif extent & (extent - 1) == 0:
            np.bitwise_and(rest, extent - 1, out=digit)
            np.right_shift(rest, extent.bit_length() - 1, out=rest)
        else:
            np.floor_divide(rest, extent, out=scaled)
            np.subtract(rest, scaled * extent, out=digit)
            rest, scaled = scaled, rest
        for number, stride in enumerate(strides):
            if stride == 0:
                continue
            total = totals[number]
            if total is None:
                totals[number] = digit * stride
            else:
                np.multiply(digit, stride, out=scaled)
                np.add(total, scaled, out=total)
    for target, total in zip(sums, totals, strict=True):
        if total is not None:
            target += total


def digit_table(digits: Sequence[tuple[int, int]], base: int) -> IntArray:
    """Return ``base + sum(digit * stride)`` of every index in order, as an outer sum.

    Args:
        digits: Outermost first: extent and stride.
        base: The offset.

    Raises:
        LayoutError: An address would leave 62 bits.

    Example:
        >>> digit_table([(2, 10), (3, 1)], 100)
        array([100, 101, 102, 110, 111, 112])
    """
    if abs(base) + sum(extent * abs(stride) for extent, stride in digits) >= _LIMIT:
        raise LayoutError("addresses beyond 62 bits")
    table: IntArray = np.full(1, base, dtype=np.int64)
    for extent, stride in digits:
        step: IntArray = np.arange(extent, dtype=np.int64) * stride
        table = (table[:, None] + step).reshape(-1)
    return table
