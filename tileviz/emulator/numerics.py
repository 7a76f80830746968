"""Floating-point arithmetic with exactly one rounding, where NumPy alone would round twice.

The tool is *rounding to odd*: where the exact value lies strictly between two float64, the one with
an odd last bit is taken. A second rounding, to a format at least two bits shorter, then gives what
rounding the exact value once would have given (S. Boldo, G. Melquiond, "Emulation of FMA and
correctly rounded sums: proved algorithms using rounding to odd", 2008).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Float = NDArray[np.float32]
Double = NDArray[np.float64]

_HALF_WAY = np.int64(1) << np.int64(63)
_DROPPED = np.int64(64 - 29)  # float64 has 29 more bits of significand than float32
_SMALLEST_NORMAL = float(np.finfo(np.float32).tiny)


class _Underflow(threading.local):
    """Set by NumPy when an operation of this thread gave an inexact subnormal result."""

    raised = False

    def __call__(self, kind: str, flag: int) -> None:
        self.raised = True


_underflow = _Underflow()


@contextmanager
def floating_point() -> Iterator[None]:
    """Set NumPy's floating-point error state as the functions of this module need it.

    Entered once for a run, since entering it for every operation would cost more than most of them.
    """
    with np.errstate(all="ignore", under="call", call=_underflow):
        yield


def fma(a: Float, b: Float, c: Float, out: Float) -> None:
    """Write ``a * b + c`` in float32, rounded once, to nearest even.

    The product of two float32 is exact in float64. Rounding the float64 sum again to float32 goes
    wrong only where that sum lies half-way between two float32, or where the result is subnormal
    and so has fewer bits. Both are rare and cheap to see; only those lanes are rounded to odd.

    Must run inside `floating_point`.

    Example:
        >>> tiny = np.float32([2.0**-25])
        >>> out = np.empty(1, np.float32)
        >>> with floating_point():
        ...     fma(np.float32([1 + 2.0**-23]), tiny, np.float32([1.0]), out)
        >>> bool(out[0] == np.float32(1.0))
        True
    """
    product, factor = a.astype(np.float64), b.astype(np.float64)
    if len(product) < len(factor):  # one of them may stand for all lanes
        product, factor = factor, product
    product *= factor
    round_sum(product, c.astype(np.float64), out)


def round_sum(product: Double, addend: Double, out: Float) -> None:
    """Write ``product + addend``, both exact, rounded once to float32.

    Shapes may have any number of axes and must agree but for broadcasting of ``addend``.
    """
    total = product + addend
    half = np.left_shift(total.view(np.int64), _DROPPED)
    if half.min() == _HALF_WAY:
        _make_odd(product, addend, total, half == _HALF_WAY)
    _underflow.raised = False
    np.copyto(out, total, casting="unsafe")
    if _underflow.raised:
        _make_odd(product, addend, total, (np.abs(total) < _SMALLEST_NORMAL) & (total != 0))
        np.copyto(out, total, casting="unsafe")


def quick_sum(product: Double, addend: Double, out: Float) -> bool:
    """Like `round_sum`, but uses both operands as scratch, and gives up where care is needed.

    Returns:
        Whether ``out`` is right; if not, `round_sum` must be called on the operands' old content.
    """
    np.add(product, addend, out=addend)
    half = np.left_shift(addend.view(np.int64), _DROPPED, out=product.view(np.int64))
    if half.min() == _HALF_WAY:
        return False
    _underflow.raised = False
    np.copyto(out, addend, casting="unsafe")
    return not _underflow.raised


def _make_odd(a: Double, b: Double, total: Double, where: NDArray[np.bool_]) -> None:
    """Replace ``total = a + b`` by its rounding to odd, in the lanes of ``where``."""
    place = np.nonzero(where)
    x = np.broadcast_to(a, total.shape)[place]
    y = np.broadcast_to(b, total.shape)[place]
    total[place] = odd_sum(x, y)


def odd_sum(a: Double, b: Double) -> Double:
    """Return ``a + b`` in float64, rounded to odd.

    Example:
        >>> odd_sum(np.array([1.0]), np.array([2.0**-80])) == 1.0 + 2.0**-52
        array([ True])
    """
    total = a + b
    back = total - a
    error = (a - (total - back)) + (b - back)  # TwoSum: total + error is exact
    return _odd(total, error)


def _odd(total: Double, error: Double) -> Double:
    """Return the rounding to odd of ``total + error``, where ``total`` is that sum to nearest."""
    number = np.array(total).view(np.int64)
    move = (error != 0) & np.isfinite(total) & (number & 1 == 0)
    # One step away from zero makes the magnitude, and so the integer, larger.
    number += np.where(move, np.where((error > 0) == (total > 0), 1, -1), 0)
    return number.view(np.float64)


def narrow(value: Double, mode: str) -> Float:
    """Return float64, rounded to odd where inexact, as float32 in the given rounding mode.

    Args:
        value: Exact values, or values rounded to odd.
        mode: ``rn``, ``rz``, ``rm`` (down) or ``rp`` (up).
    """
    near = value.astype(np.float32)
    return step_back(near, near.astype(np.float64), value, mode)


def step_back(near: Array, back: Double, exact: Double, mode: str) -> Array:
    """Turn a rounding to nearest into a directed one.

    Args:
        near: ``exact`` rounded to nearest, in any float type.
        back: ``near`` as float64.
        exact: The exact values, or float64 values rounded to odd.
        mode: ``rn``, ``rz``, ``rm`` or ``rp``.
    """
    if mode == "rn":
        return near
    if mode == "rz":
        over = np.abs(back) > np.abs(exact)
        toward = np.zeros_like(near)
    elif mode == "rm":
        over, toward = back > exact, np.full_like(near, -np.inf)
    else:
        over, toward = back < exact, np.full_like(near, np.inf)
    return np.where(over, np.nextafter(near, toward), near)


def odd_float(value: Double) -> Float:
    """Return float64 (rounded to odd where inexact) as float32 rounded to odd."""
    near = narrow(value, "rz")
    inexact = (near.astype(np.float64) != value) & np.isfinite(value)
    return np.array(near.view(np.uint32) | inexact.astype(np.uint32)).view(np.float32)


def fma_directed(a: Float, b: Float, c: Float, mode: str) -> Float:
    """Return ``a * b + c`` in float32, rounded once as ``rn``, ``rz``, ``rm`` or ``rp`` says."""
    product = a.astype(np.float64) * b.astype(np.float64)
    addend = c.astype(np.float64)
    total = odd_sum(product, addend)
    if mode == "rm":
        # An exact zero sum of opposite terms is -0 when rounding down.
        cancelled = (total == 0) & (product != 0)
        total = np.where(
            cancelled
            | ((total == 0) & (product == 0) & (np.signbit(product) | np.signbit(addend))),
            -0.0,
            total,
        )
    return narrow(total, mode)


# -- float64 ---------------------------------------------------------------------------------------


def _two_sum(a: Double, b: Double) -> tuple[Double, Double]:
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _two_product(a: Double, b: Double) -> tuple[Double, Double]:
    """Return the exact product as a sum of two, by Dekker's splitting."""
    product = a * b
    spread_a, spread_b = a * 134217729.0, b * 134217729.0
    high_a, high_b = spread_a - (spread_a - a), spread_b - (spread_b - b)
    low_a, low_b = a - high_a, b - high_b
    error = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    return product, error


def fma64(a: Double, b: Double, c: Double, out: Double) -> None:
    """Write ``a * b + c`` in float64, rounded once, to nearest even, subnormal results included.

    Operands are scaled to significands, so that no step over- or underflows; the sum is kept as a
    high part and a low part rounded to odd, and their sum is rounded on the grid of the result.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    with np.errstate(all="ignore"):
        plain = a * b + c
        (fa, ea), (fb, eb), (fc, ec) = np.frexp(a), np.frexp(b), np.frexp(c)
        scale = ea.astype(np.int64) + eb
        # Beyond 2^120 a term only decides how the other is rounded: keep its sign, not its size.
        gap = np.clip(ec - scale, -170, 170)
        far = (ec - scale > 170) & (c != 0)
        high, low = _two_product(fa, fb)
        addend = np.ldexp(fc, gap)
        upper, lower = _two_sum(addend, low)
        top, rest = _two_sum(high, upper)
        tail = odd_sum(rest, lower)
        scale = np.where(far, ec - 170, scale)
        result = _round_on_grid(top, tail, scale)
        exact = (fa != 0) & (fb != 0) & (c != 0) & np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
        alone = (fa != 0) & (fb != 0) & (c == 0) & np.isfinite(a) & np.isfinite(b)
        result = np.where(exact | alone, result, plain)
        # An exact cancellation is +0, as the plain formula has it.
        np.copyto(out, np.where((top == 0) & (tail == 0) & exact, 0.0, result))


def _round_on_grid(top: Double, tail: Double, scale: NDArray[np.int64]) -> Double:
    """Return ``(top + tail) * 2**scale`` rounded once, ``tail`` being rounded to odd."""
    near = top + tail
    _, exponent = np.frexp(near)
    subnormal = exponent + scale < -1021
    # Adding 2^52 steps of the subnormal grid, of the same sign, puts the last bit onto that grid.
    magic = np.copysign(np.ldexp(1.0, np.clip(52 - 1074 - scale, -1000, 1000)), top)
    upper, error = _two_sum(magic, top)
    on_grid = np.copysign((upper + odd_sum(error, tail)) - magic, near)
    kept = np.where(subnormal, on_grid, near)
    # Two steps, since one factor 2**scale may itself overflow or vanish.
    step = np.clip(scale, -1000, 1000)
    result: Double = np.ldexp(np.ldexp(kept, step), scale - step)
    return result


# -- 16-bit formats --------------------------------------------------------------------------------


def bfloat_to_float(value: NDArray[np.uint16]) -> Float:
    """Return bfloat16 bits as float32.

    Example:
        >>> bfloat_to_float(np.array([0x3FC0], np.uint16))
        array([1.5], dtype=float32)
    """
    result: Float = (value.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return result


def float_to_bfloat(value: Float, mode: str = "rn") -> NDArray[np.uint16]:
    """Return float32 (rounded to odd where inexact) as bfloat16 bits; NaN becomes 0x7FFF.

    Example:
        >>> [hex(x) for x in float_to_bfloat(np.array([1.00390625, 1.01171875], np.float32))]
        ['0x3f80', '0x3f82']
    """
    number = value.view(np.uint32)
    last = number >> np.uint32(16) & np.uint32(1)
    if mode == "rn":
        number = number + (np.uint32(0x7FFF) + last)
    result = (number >> np.uint32(16)).astype(np.uint16)
    return np.asarray(np.where(np.isnan(value), np.uint16(0x7FFF), result))


def double_to_bfloat(value: Double) -> NDArray[np.uint16]:
    """Return float64 (rounded to odd where inexact) as bfloat16 bits, to nearest even."""
    return float_to_bfloat(odd_float(value))


def flush(value: Array) -> Array:
    """Return subnormal numbers as zeros of the same sign (``.ftz``).

    Example:
        >>> flush(np.array([-1e-40, 1.0], np.float32)).tolist()
        [-0.0, 1.0]
    """
    tiny = np.finfo(value.dtype).tiny
    return np.where(np.abs(value) < tiny, np.copysign(value.dtype.type(0), value), value)
