"""Logic, shifts, bit fields and counts of bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tileviz.emulator.binder import DTYPE
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.registry import Elementwise, elementwise
from tileviz.emulator.ptx import WIDTH, Immediate

Array = Any  # a NumPy array; its own types say too little to be worth their noise

_LOGIC = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
_SHIFTED = ("u16", "u32", "u64", "s16", "s32", "s64", "b16", "b32", "b64")


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
    if kind not in _SHIFTED:
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
