"""Arithmetic of f16, bf16 and their packed pairs.

Values are widened to float64, computed there, and rounded once. Sums, products and fused
multiply-adds of f16 are exact in float64 or far from a tie, those of bf16 are rounded to odd first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tileviz.emulator import numerics
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.floating import extremum
from tileviz.emulator.ops.registry import Elementwise

Array = Any  # a NumPy array; its own types say too little to be worth their noise
Function = Callable[..., Array]

KINDS = ("f16", "bf16", "f16x2", "bf16x2")
_CANONICAL_NAN = {"f16": np.uint16(0x7FFF), "bf16": np.uint16(0x7FFF)}


def widen(bits: Array, kind: str) -> Array:
    """Return 16-bit floats, given as uint16, in float64."""
    if kind == "f16":
        return bits.view(np.float16).astype(np.float64)
    return numerics.bfloat_to_float(bits).astype(np.float64)


def round_to(value: Array, kind: str) -> Array:
    """Return float64 (rounded to odd where inexact) as 16-bit floats in uint16."""
    if kind == "f16":
        narrow = value.astype(np.float16)
        return np.where(np.isnan(narrow), _CANONICAL_NAN[kind], narrow.view(np.uint16))
    return numerics.double_to_bfloat(value)


def _lanewise(function: Function, kind: str, count: int) -> Elementwise:
    """Return the operation ``function`` of float64 arrays on one 16-bit float or on a pair."""
    base = kind.removesuffix("x2")

    def single(*arrays: Array) -> None:
        *given, out = arrays
        value = function(*(widen(bits.view(np.uint16), base) for bits in given))
        np.copyto(out, round_to(value, base).view(out.dtype))

    if base == kind:
        return Elementwise(single, (kind,) * count, (kind,))

    def pair(*arrays: Array) -> None:
        *given, out = arrays
        value = function(*(widen(halves(bits), base) for bits in given))
        np.copyto(out, join(round_to(value, base)))

    return Elementwise(pair, (kind,) * count, (kind,))


def halves(bits: Array) -> Array:
    """Return packed pairs as an array ``[pair, 2]`` of uint16, the low half first."""
    return np.ascontiguousarray(bits).view(np.uint16).reshape(-1, 2)


def join(pairs: Array) -> Array:
    """Return ``[pair, 2]`` uint16 as packed uint32."""
    return np.ascontiguousarray(pairs, np.uint16).view(np.uint32).reshape(-1)


def _sum(a: Array, b: Array) -> Array:
    return numerics.odd_sum(a, b)


def _fma(a: Array, b: Array, c: Array) -> Array:
    return numerics.odd_sum(a * b, c)


def arithmetic(code: Opcode, kind: str) -> Elementwise:
    """``add``, ``sub``, ``mul`` and ``fma``."""
    code.take("rn")
    ftz, sat, relu = code.has("ftz"), code.has("sat"), code.has("relu")
    if (ftz and not kind.startswith("f16")) or (relu and code.name != "fma"):
        raise code.unsupported()
    count = 3 if code.name == "fma" else 2
    functions: dict[str, Function] = {
        "add": _sum,
        "sub": lambda a, b: _sum(a, -b),
        "mul": np.multiply,
        "fma": _fma,
    }
    function = functions[code.name]
    if not (ftz or sat or relu):
        return _lanewise(function, kind, count)

    def dressed(*given: Array) -> Array:
        value = function(*(map(_flush_half, given) if ftz else given))
        if ftz:
            value = _flush_half(value)
        if sat:
            value = np.where(np.isnan(value), 0.0, np.clip(value, 0.0, 1.0))
        return np.where(value < 0, 0.0, value) if relu else value

    return _lanewise(dressed, kind, count)


def _flush_half(value: Array) -> Array:
    return np.where(np.abs(value) < 2.0**-14, np.copysign(0.0, value), value)


def minimum(code: Opcode, kind: str) -> Elementwise:
    """``min`` and ``max``."""
    code.has("ftz")
    run = extremum(lower=code.name == "min", propagate=code.has("NaN"))

    def function(a: Array, b: Array) -> Array:
        out = np.empty(np.broadcast(a, b).shape)
        run(a, b, out)
        return out

    return _lanewise(function, kind, 2)


def negate(code: Opcode, kind: str) -> Elementwise:
    """``neg`` and ``abs``: only the sign bit changes."""
    code.has("ftz")
    packed = kind.endswith("x2")
    carrier = "b32" if packed else "b16"
    sign = np.uint32(0x80008000) if packed else np.uint16(0x8000)
    if code.name == "neg":
        return Elementwise(lambda a, out: np.bitwise_xor(a, sign, out=out), (carrier,), (carrier,))
    return Elementwise(lambda a, out: np.bitwise_and(a, ~sign, out=out), (carrier,), (carrier,))


def approximate(code: Opcode, kind: str) -> Elementwise:
    """``ex2.approx`` and ``tanh.approx``."""
    code.need("approx")
    code.has("ftz")
    if code.name not in ("ex2", "tanh"):
        raise code.unsupported()
    return _lanewise(np.exp2 if code.name == "ex2" else np.tanh, kind, 1)


def adder(kind: str) -> Function:
    """Return ``a + b`` on arrays of the carrier of a half type, for atomics."""
    run = _lanewise(_sum, kind, 2).function

    def add(a: Array, b: Array) -> Array:
        out = np.empty_like(a)
        run(a, b, out)
        return out

    return add
