"""Integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tileviz.emulator.binder import DTYPE
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.registry import Elementwise, elementwise
from tileviz.emulator.ptx import WIDTH

Array = Any  # a NumPy array; its own types say too little to be worth their noise
Function = Callable[..., Any]

_DOUBLE = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}
_PLAIN = ("u16", "u32", "u64", "s16", "s32", "s64")


def is_integer(kind: str) -> bool:
    """Tell whether a PTX type is an integer type that NumPy carries as such.

    Example:
        >>> is_integer("s32"), is_integer("f16x2"), is_integer("b64")
        (True, False, True)
    """
    return kind[0] in "bus" and kind[1:].isdigit()


def add(code: Opcode, kind: str) -> Elementwise:
    """``add`` and ``sub`` of integers, modulo 2^n, or saturating to the range of s32."""
    if kind not in _PLAIN:
        raise code.unsupported()
    ufunc = np.add if code.name == "add" else np.subtract
    if code.has("sat"):
        if kind != "s32":
            raise code.unsupported()

        def saturated(a: Array, b: Array, out: Array) -> None:
            wide = ufunc(a.astype(np.int64), b.astype(np.int64))
            np.copyto(out, np.clip(wide, -(1 << 31), (1 << 31) - 1), casting="unsafe")

        return Elementwise(saturated, (kind, kind), (kind,))
    same = f"u{WIDTH[kind]}"
    return Elementwise(ufunc, (same, same), (same,))


def multiply(code: Opcode, kind: str) -> Elementwise:
    """``mul.lo``, ``mul.hi`` and ``mul.wide`` of integers."""
    part = code.need("lo", "hi", "wide")
    if kind not in _PLAIN or (part == "wide" and kind not in _DOUBLE):
        raise code.unsupported()
    if part == "lo":
        same = f"u{WIDTH[kind]}"
        return Elementwise(np.multiply, (same, same), (same,))
    if part == "wide":
        return Elementwise(_wide, (kind, kind), (_DOUBLE[kind],))

    def high(a: Array, b: Array, out: Array) -> None:
        np.copyto(out, high_product(a, b, kind))

    return Elementwise(high, (kind, kind), (kind,))


def multiply_add(code: Opcode, kind: str) -> Elementwise:
    """``mad.lo``, ``mad.hi`` and ``mad.wide`` of integers."""
    part = code.need("lo", "hi", "wide")
    if kind not in _PLAIN or (part == "wide" and kind not in _DOUBLE):
        raise code.unsupported()
    if part == "wide":
        result = _DOUBLE[kind]

        def wide(a: Array, b: Array, c: Array, out: Array) -> None:
            product = np.multiply(a.astype(out.dtype), b.astype(out.dtype))
            np.add(product, c, out=out)

        return Elementwise(wide, (kind, kind, result), (result,))
    if part == "hi":

        def high(a: Array, b: Array, c: Array, out: Array) -> None:
            np.add(high_product(a, b, kind), c, out=out)

        return Elementwise(high, (kind, kind, kind), (kind,))
    same = f"u{WIDTH[kind]}"

    def low(a: Array, b: Array, c: Array, out: Array) -> None:
        np.add(np.multiply(a, b), c, out=out)

    return Elementwise(low, (same, same, same), (same,))


def _wide(a: Array, b: Array, out: Array) -> None:
    np.copyto(out, a)  # the result is wider, so it shares no row with a source
    np.multiply(out, b.astype(out.dtype), out=out)


def high_product(a: Array, b: Array, kind: str) -> Array:
    """Return the upper half of the exact product."""
    width, signed = WIDTH[kind], kind[0] == "s"
    if width < 64:
        wide = np.dtype(f"{'int' if signed else 'uint'}{2 * width}")
        product = a.astype(wide) * b.astype(wide)
        return (product >> wide.type(width)).astype(DTYPE[kind])
    x, y = a.view(np.uint64), b.view(np.uint64)
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    x0, x1, y0, y1 = x & mask, x >> half, y & mask, y >> half
    middle = x1 * y0 + (x0 * y0 >> half)
    carry = x0 * y1 + (middle & mask)
    high = x1 * y1 + (middle >> half) + (carry >> half)
    if signed:
        # A negative operand was taken 2^64 too large.
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return high.view(DTYPE[kind])


def divide(code: Opcode, kind: str) -> Elementwise:
    """``div`` and ``rem`` of integers, truncating; division by zero gives all ones."""
    if kind not in _PLAIN:
        raise code.unsupported()
    remainder = code.name == "rem"
    dtype = DTYPE[kind]
    lowest = np.iinfo(dtype).min

    def quotient(a: Array, b: Array, out: Array) -> None:
        zero = b == 0
        divisor = np.where(zero, dtype.type(1), b)
        if kind[0] == "s":
            # The lowest number has no negative: dividing it by -1 wraps to itself.
            wraps = (divisor == -1) & (a == lowest)
            divisor = np.where(wraps, dtype.type(1), divisor)
        floor = np.floor_divide(a, divisor)
        rest = a - floor * divisor
        if kind[0] == "s":
            inexact = (rest != 0) & ((rest < 0) != (a < 0))
            floor = floor + inexact
            rest = np.where(inexact, rest - divisor, rest)
        if remainder:
            np.copyto(out, np.where(zero, a, rest))
        else:
            np.copyto(out, np.where(zero, ~dtype.type(0), floor))

    return Elementwise(quotient, (kind, kind), (kind,))


def minimum(code: Opcode, kind: str) -> Elementwise:
    """``min`` and ``max`` of integers."""
    if kind not in _PLAIN:
        raise code.unsupported()
    ufunc = np.minimum if code.name == "min" else np.maximum
    return Elementwise(lambda a, b, out: ufunc(a, b, out=out), (kind, kind), (kind,))


def negate(code: Opcode, kind: str) -> Elementwise:
    """``neg`` and ``abs`` of integers."""
    if kind not in ("s16", "s32", "s64"):
        raise code.unsupported()
    return Elementwise(np.negative if code.name == "neg" else np.abs, (kind,), (kind,))


@elementwise("sad")
def absolute_difference(code: Opcode) -> Elementwise:
    """``sad``: c + |a - b|."""
    kind = code.type()
    if kind not in _PLAIN:
        raise code.unsupported()

    def run(a: Array, b: Array, c: Array, out: Array) -> None:
        np.copyto(out, c + np.where(a < b, b - a, a - b))

    return Elementwise(run, (kind,) * 3, (kind,))


@elementwise("mul24", "mad24")
def multiply_24(code: Opcode) -> Elementwise:
    """``mul24`` and ``mad24``: the 48-bit product of 24-bit operands, its low or high 32 bits."""
    part = code.need("lo", "hi")
    kind = code.type()
    if kind not in ("s32", "u32"):
        raise code.unsupported()
    wide = np.int64 if kind == "s32" else np.uint64
    up = np.dtype(DTYPE[kind]).type(8)

    def product(a: Array, b: Array) -> Array:
        x, y = ((value << up >> up).astype(wide) for value in (a, b))
        both = x * y
        return (both >> wide(16) if part == "hi" else both).astype(DTYPE[kind])

    if code.name == "mul24":
        return Elementwise(lambda a, b, out: np.copyto(out, product(a, b)), (kind,) * 2, (kind,))
    return Elementwise(lambda a, b, c, out: np.copyto(out, product(a, b) + c), (kind,) * 3, (kind,))


@elementwise("dp4a", "dp2a")
def dot_product(code: Opcode) -> Elementwise:
    """``dp4a`` and ``dp2a``: small products summed into a 32-bit accumulator."""
    half = code.need("lo", "hi") if code.name == "dp2a" else ""
    second = code.type()
    first = code.type()
    if {first, second} - {"s32", "u32"}:
        raise code.unsupported()
    result = "s32" if "s32" in (first, second) else "u32"

    def lane(value: Array, place: int, size: int, signed: bool) -> Array:
        part = value >> value.dtype.type(size * place)
        narrow = np.dtype(f"{'int' if signed else 'uint'}{size}")
        return part.astype(narrow).astype(np.int64)

    def run(a: Array, b: Array, c: Array, out: Array) -> None:
        total = c.astype(np.int64)
        for place in range(4 if code.name == "dp4a" else 2):
            x = lane(a, place, 8 if code.name == "dp4a" else 16, first == "s32")
            y = lane(b, place + (2 if half == "hi" else 0), 8, second == "s32")
            total = total + x * y
        np.copyto(out, total, casting="unsafe")

    return Elementwise(run, ("b32", "b32", result), (result,))
