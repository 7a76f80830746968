"""Integer arithmetic, logic, shifts and bit fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tileviz.emulator.binder import DTYPE
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.registry import Elementwise, elementwise
from tileviz.emulator.ptx import WIDTH, Immediate

Array = Any  # a NumPy array; its own types say too little to be worth their noise
Function = Callable[..., Any]

_DOUBLE = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}
_PLAIN = ("u16", "u32", "u64", "s16", "s32", "s64")
_LOGIC = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


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
        np.copyto(out, _high(a, b, kind))

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
            np.add(_high(a, b, kind), c, out=out)

        return Elementwise(high, (kind, kind, kind), (kind,))
    same = f"u{WIDTH[kind]}"

    def low(a: Array, b: Array, c: Array, out: Array) -> None:
        np.add(np.multiply(a, b), c, out=out)

    return Elementwise(low, (same, same, same), (same,))


def _wide(a: Array, b: Array, out: Array) -> None:
    np.copyto(out, a)  # the result is wider, so it shares no row with a source
    np.multiply(out, b.astype(out.dtype), out=out)


def _high(a: Array, b: Array, kind: str) -> Array:
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


@elementwise("and", "or", "xor")
def logic(code: Opcode) -> Elementwise:
    """``and``, ``or``, ``xor`` of bits or predicates."""
    kind = code.type()
    if kind not in ("b16", "b32", "b64", "pred"):
        raise code.unsupported()
    return Elementwise(_LOGIC[code.name], (kind, kind), (kind,))


@elementwise("not", "cnot")
def invert(code: Opcode) -> Elementwise:
    """``not``; ``cnot`` gives 1 for zero and 0 otherwise."""
    kind = code.type()
    if kind not in ("b16", "b32", "b64", "pred") or (code.name == "cnot" and kind == "pred"):
        raise code.unsupported()
    if code.name == "cnot":
        return Elementwise(lambda a, out: np.copyto(out, a == 0), (kind,), (kind,))
    return Elementwise(np.invert, (kind,), (kind,))


@elementwise("shl", "shr")
def shift(code: Opcode) -> Elementwise:
    """``shl`` and ``shr``; amounts past the width shift everything out."""
    kind = code.type()
    if kind not in (*_PLAIN, "b16", "b32", "b64"):
        raise code.unsupported()
    left = code.name == "shl"
    ufunc = np.left_shift if left else np.right_shift
    signed = kind[0] == "s" and not left
    kind = kind if signed else f"u{WIDTH[kind]}"
    dtype, width = DTYPE[kind], WIDTH[kind]

    def run(a: Array, amount: Array, out: Array) -> None:
        if len(amount) == 1 and amount[0] < width:
            ufunc(a, dtype.type(amount[0]), out=out)
            return
        near = np.minimum(amount, np.uint32(width - 1)).astype(dtype)
        if signed:
            ufunc(a, near, out=out)
        else:
            np.copyto(out, np.where(amount < width, ufunc(a, near), dtype.type(0)))

    return Elementwise(run, (kind, "u32"), (kind,))


@elementwise("shf")
def funnel_shift(code: Opcode) -> Elementwise:
    """``shf``: one half of a 64-bit value shifted, the amount clamped to 32 or wrapped."""
    left = code.need("l", "r") == "l"
    wrap = code.need("clamp", "wrap") == "wrap"
    if code.type() != "b32":
        raise code.unsupported()

    def run(low: Array, high: Array, amount: Array, out: Array) -> None:
        count = amount & np.uint32(31) if wrap else np.minimum(amount, np.uint32(32))
        both = (high.astype(np.uint64) << np.uint64(32)) | low
        if left:
            both = (both << count.astype(np.uint64)) >> np.uint64(32)
        else:
            both = both >> count.astype(np.uint64)
        np.copyto(out, both, casting="unsafe")

    return Elementwise(run, ("b32", "b32", "u32"), ("b32",))


def _field(position: Array, length: Array, width: int) -> tuple[Array, Array]:
    """Return position and length of a bit field as the hardware reads them, clipped to a byte."""
    byte = np.uint32(255)
    return (position & byte).astype(np.int64), (length & byte).astype(np.int64)


def _mask(length: Array) -> Array:
    """Return uint64 with the low ``length`` bits set, for lengths from 0 to 64 and above."""
    short = np.minimum(length, 63).astype(np.uint64)
    ones = (np.uint64(1) << short) - np.uint64(1)
    return np.where(length >= 64, ~np.uint64(0), ones)


@elementwise("bfi")
def bit_field_insert(code: Opcode) -> Elementwise:
    """``bfi``: put the low bits of a over a field of b."""
    kind = code.type()
    if kind not in ("b32", "b64"):
        raise code.unsupported()

    def run(a: Array, b: Array, position: Array, length: Array, out: Array) -> None:
        start, count = _field(position, length, WIDTH[kind])
        near = np.minimum(start, 63).astype(np.uint64)
        field = np.where(start < 64, _mask(count) << near, np.uint64(0))
        moved = a.astype(np.uint64) << near
        result = (b.astype(np.uint64) & ~field) | (moved & field)
        np.copyto(out, result, casting="unsafe")

    return Elementwise(run, (kind, kind, "u32", "u32"), (kind,))


@elementwise("bfe")
def bit_field_extract(code: Opcode) -> Elementwise:
    """``bfe``: a field of a, sign-extended for signed types."""
    kind = code.type()
    if kind not in ("u32", "s32", "u64", "s64"):
        raise code.unsupported()
    width = WIDTH[kind]

    def run(a: Array, position: Array, length: Array, out: Array) -> None:
        start, count = _field(position, length, width)
        kept = np.clip(width - start, 0, count)  # the field ends at the most significant bit
        wide = a.astype(np.int64 if kind[0] == "s" else np.uint64)
        value = wide.view(np.uint64) >> np.minimum(start, 63).astype(np.uint64) & _mask(kept)
        if kind[0] == "s":
            top = np.minimum(start + count - 1, width - 1)
            sign = (wide >> np.maximum(top, 0) & 1).astype(np.bool_) & (count > 0)
            value = np.where(sign, value | ~_mask(kept), value)
        np.copyto(out, value.view(np.int64 if kind[0] == "s" else np.uint64), casting="unsafe")

    return Elementwise(run, (kind, "u32", "u32"), (kind,))


@elementwise("lop3")
def lookup_logic(code: Opcode) -> Elementwise:
    """``lop3``: any function of three bits, given as its truth table."""
    table = code.instruction.operands[-1]
    if code.type() != "b32" or not isinstance(table, Immediate) or not 0 <= table.value < 256:
        raise code.unsupported()
    terms = [number for number in range(8) if table.value >> number & 1]

    def run(a: Array, b: Array, c: Array, _: Array, out: Array) -> None:
        result = np.zeros(out.shape, np.uint32)
        for term in terms:
            result |= (a if term & 4 else ~a) & (b if term & 2 else ~b) & (c if term & 1 else ~c)
        np.copyto(out, result)

    return Elementwise(run, ("b32",) * 4, ("b32",))


@elementwise("prmt")
def permute_bytes(code: Opcode) -> Elementwise:
    """``prmt``: any four of the eight bytes of two words, or their signs."""
    mode = code.take("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
    if code.type() != "b32" or mode:
        raise code.unsupported("only the default mode")

    def run(a: Array, b: Array, selector: Array, out: Array) -> None:
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        result = np.zeros(out.shape, np.uint32)
        for place in range(4):
            select = selector >> np.uint32(4 * place)
            byte = both >> ((select & np.uint32(7)) << np.uint32(3)).astype(np.uint64)
            byte = byte.astype(np.uint32) & np.uint32(0xFF)
            sign = (byte >> np.uint32(7)) * np.uint32(0xFF)
            byte = np.where(select & np.uint32(8), sign, byte)
            result |= byte << np.uint32(8 * place)
        np.copyto(out, result)

    return Elementwise(run, ("b32", "b32", "b32"), ("b32",))


@elementwise("popc")
def count_bits(code: Opcode) -> Elementwise:
    """``popc``."""
    kind = code.type()
    if kind not in ("b32", "b64"):
        raise code.unsupported()
    return Elementwise(lambda a, out: np.copyto(out, np.bitwise_count(a)), (kind,), ("u32",))


def _spread_down(value: Array) -> Array:
    """Set every bit below the highest one that is set."""
    width = value.dtype.itemsize * 8
    distance = 1
    while distance < width:
        value = value | value >> value.dtype.type(distance)
        distance *= 2
    return value


@elementwise("clz")
def leading_zeros(code: Opcode) -> Elementwise:
    """``clz``."""
    kind = code.type()
    if kind not in ("b32", "b64"):
        raise code.unsupported()

    def run(a: Array, out: Array) -> None:
        np.copyto(out, np.uint32(WIDTH[kind]) - np.bitwise_count(_spread_down(a)))

    return Elementwise(run, (kind,), ("u32",))


@elementwise("bfind")
def find_leading(code: Opcode) -> Elementwise:
    """``bfind``: place of the highest bit that is not a sign, or all ones."""
    shift_amount = code.has("shiftamt")
    kind = code.type()
    if kind not in ("u32", "s32", "u64", "s64"):
        raise code.unsupported()
    width = WIDTH[kind]

    def run(a: Array, out: Array) -> None:
        plain = np.where(a < 0, ~a, a) if kind[0] == "s" else a
        filled = np.bitwise_count(_spread_down(plain.view(f"uint{width}"))).astype(np.int64)
        place = width - filled if shift_amount else filled - 1
        np.copyto(out, np.where(filled == 0, -1, place), casting="unsafe")

    return Elementwise(run, (kind,), ("u32",))


@elementwise("brev")
def reverse_bits(code: Opcode) -> Elementwise:
    """``brev``."""
    kind = code.type()
    if kind not in ("b32", "b64"):
        raise code.unsupported()
    width = WIDTH[kind]

    def run(a: Array, out: Array) -> None:
        value = a
        distance = width // 2
        full = (1 << width) - 1
        while distance:
            # Ones in the low half of every group of 2 x distance bits.
            mask = a.dtype.type(full // ((1 << distance) + 1))
            step = a.dtype.type(distance)
            value = (value >> step & mask) | ((value & mask) << step)
            distance //= 2
        np.copyto(out, value)

    return Elementwise(run, (kind,), (kind,))


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
