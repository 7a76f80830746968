"""``cvt``: conversion between integer and floating-point types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tileviz.emulator import numerics
from tileviz.emulator.binder import DTYPE
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.integer import is_integer
from tileviz.emulator.ops.registry import Elementwise, elementwise
from tileviz.emulator.ptx import WIDTH

Array = Any  # a NumPy array; its own types say too little to be worth their noise

_FLOATS = ("f16", "bf16", "f32", "f64")
_MODES = ("rn", "rz", "rm", "rp", "rna")
_TO_WHOLE: dict[str, Callable[..., Any]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}


@elementwise("cvt")
def convert(code: Opcode) -> Elementwise:
    """``cvt``."""
    source = code.type()
    if code.take("pack"):
        raise code.unsupported()
    target = code.type()
    if target in ("f16x2", "bf16x2") and source == "f32":
        return _to_pair(code, target)
    if target == "tf32" and source == "f32":
        return _to_tf32(code)
    if is_integer(source) and is_integer(target):
        return _whole_to_whole(source, target, saturate=code.has("sat"))
    if is_integer(source) and target in _FLOATS:
        return _whole_to_float(code, source, target)
    if source in _FLOATS and is_integer(target):
        return _float_to_whole(code, source, target)
    if source in _FLOATS and target in _FLOATS:
        return _float_to_float(code, source, target)
    raise code.unsupported()


def _whole_to_whole(source: str, target: str, *, saturate: bool) -> Elementwise:
    if not saturate:
        return Elementwise(lambda a, out: np.copyto(out, a, casting="unsafe"), (source,), (target,))
    here, there = np.iinfo(DTYPE[source]), np.iinfo(DTYPE[target])
    low, high = max(int(here.min), int(there.min)), min(int(here.max), int(there.max))

    def clamp(a: Array, out: Array) -> None:
        np.copyto(out, np.clip(a, low, high), casting="unsafe")

    return Elementwise(clamp, (source,), (target,))


def _whole_to_float(code: Opcode, source: str, target: str) -> Elementwise:
    mode = code.need(*_MODES[:4])
    if target == "f64" or (target == "f32" and mode == "rn"):
        if mode != "rn" and WIDTH[source] == 64:
            raise code.unsupported("directed rounding to f64")
        return Elementwise(lambda a, out: np.copyto(out, a, casting="unsafe"), (source,), (target,))

    def run(a: Array, out: Array) -> None:
        if WIDTH[source] == 64:
            # Two exact halves; their sum is rounded to odd.
            high = (a >> a.dtype.type(32)).astype(np.float64) * 2.0**32
            exact = numerics.odd_sum(high, (a & a.dtype.type(0xFFFFFFFF)).astype(np.float64))
        else:
            exact = a.astype(np.float64)
        np.copyto(out, _round(exact, target, mode).view(out.dtype))

    return Elementwise(run, (source,), (target,))


def _float_to_whole(code: Opcode, source: str, target: str) -> Elementwise:
    """Out of range clamps to the nearest integer of the type; NaN gives 0, or the top bit alone."""
    whole = _TO_WHOLE[code.need(*_TO_WHOLE)]
    ftz = code.has("ftz")
    code.has("sat")  # clamping is what happens anyway
    info = np.iinfo(DTYPE[target])
    low, high = float(info.min), float(info.max)  # 2^63 or 2^64 where the maximum has 64 bits
    # The hardware converts NaN to the lowest bit pattern with only the top bit set for 64 bits.
    nan = (
        DTYPE[target].type(0)
        if WIDTH[target] < 64
        else np.array(1 << 63, np.uint64).view(DTYPE[target])[()]
    )

    def run(a: Array, out: Array) -> None:
        value = _as_float(a, source)
        if ftz:
            value = numerics.flush(value)
        value = whole(value.astype(np.float64))
        over = value >= high if WIDTH[target] == 64 else value > high
        inside = np.where(over | np.isnan(value), 0.0, np.maximum(value, low))
        number = inside.astype(DTYPE[target] if WIDTH[target] == 64 else np.int64)
        result = np.where(over, number.dtype.type(info.max), number).astype(out.dtype)
        np.copyto(out, np.where(np.isnan(value), nan, result))

    return Elementwise(run, (source,), (target,))


def _float_to_float(code: Opcode, source: str, target: str) -> Elementwise:
    whole = code.take(*_TO_WHOLE)
    mode = code.take(*_MODES[:4]) or "rn"
    ftz, sat, relu = code.has("ftz"), code.has("sat"), code.has("relu")

    def run(a: Array, out: Array) -> None:
        value = _as_float(a, source)
        if ftz and source == "f32":
            value = numerics.flush(value)
        exact = value.astype(np.float64)
        if whole:
            exact = _TO_WHOLE[whole](exact)
        if sat:
            exact = np.where(np.isnan(exact), 0.0, np.clip(exact, 0.0, 1.0))
        if relu:
            exact = np.where(exact > 0, exact, np.where(np.isnan(exact), exact, 0.0))
        result = _round(exact, target, mode).view(out.dtype)
        if ftz and target == "f32":
            result = numerics.flush(result)
        np.copyto(out, result)

    return Elementwise(run, (source,), (target,))


def _as_float(a: Array, source: str) -> Array:
    return numerics.bfloat_to_float(a) if source == "bf16" else a


def _round(exact: Array, target: str, mode: str) -> Array:
    """Return float64 (rounded to odd where inexact) rounded to a float type."""
    if target == "f64":
        return exact
    if target == "f32":
        return numerics.narrow(exact, mode)
    if target == "f16":
        near = exact.astype(np.float16)
        result = numerics.step_back(near, near.astype(np.float64), exact, mode)
        bits: Array = np.where(np.isnan(result), np.uint16(0x7FFF), result.view(np.uint16))
        return bits
    if mode == "rn":
        return numerics.double_to_bfloat(exact)
    odd = numerics.odd_float(exact)
    kept = odd.view(np.uint32) & np.uint32(0xFFFF0000)
    inexact = (kept != odd.view(np.uint32)) & np.isfinite(odd)
    away = inexact & ((odd < 0) if mode == "rm" else (odd > 0)) & (mode != "rz")
    result = (kept >> np.uint32(16)).astype(np.uint16) + away.astype(np.uint16)
    return np.where(np.isnan(odd), np.uint16(0x7FFF), result)


def _to_pair(code: Opcode, target: str) -> Elementwise:
    """``cvt.f16x2.f32 d, a, b``: a goes to the high half."""
    mode = code.need("rn", "rz")
    relu = code.has("relu")
    base = target.removesuffix("x2")

    def run(a: Array, b: Array, out: Array) -> None:
        parts = []
        for value in (a, b):
            exact = value.astype(np.float64)
            if relu:
                exact = np.where(exact < 0, 0.0, exact)
            parts.append(_round(exact, base, mode).view(np.uint16).astype(np.uint32))
        np.copyto(out, parts[0] << np.uint32(16) | parts[1])

    return Elementwise(run, ("f32", "f32"), ("b32",))


def _to_tf32(code: Opcode) -> Elementwise:
    """``cvt.rna.tf32.f32``: 10 bits of fraction, ties away from zero."""
    code.need("rna")

    def run(a: Array, out: Array) -> None:
        number = a.view(np.uint32)
        rounded = (number + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
        np.copyto(out, np.where(np.isfinite(a), rounded, number))

    return Elementwise(run, ("f32",), ("b32",))
