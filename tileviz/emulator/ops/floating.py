"""Arithmetic of f32 and f64.

``add``, ``sub``, ``mul``, ``fma``, ``div.rn``, ``sqrt.rn`` and ``rcp.rn`` are exact to the bit.
The approximate forms (``div.approx``, ``ex2``, ``sin`` ...) are rounded from float64: within half a
unit in the last place of the true value, where a GPU promises one or two, or an absolute 2^-20.5
for ``sin.approx`` and ``cos.approx``. They agree with a GPU to that tolerance. A NaN result is some
NaN, not always the canonical one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tileviz.emulator import numerics
from tileviz.emulator.binder import DTYPE
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.registry import Elementwise, elementwise

Array = Any  # a NumPy array; its own types say too little to be worth their noise
Function = Callable[..., Any]

_DIRECTED = ("rz", "rm", "rp")


def _dress(
    function: Function, kind: str, count: int, *, ftz: bool, sat: bool = False
) -> Elementwise:
    """Return the operation with subnormals flushed and the result clamped to [0, 1], as asked."""
    sources, results = (kind,) * count, (kind,)
    if not (ftz or sat):
        return Elementwise(function, sources, results)

    def dressed(*arrays: Array) -> None:
        *given, out = arrays
        value = np.empty(out.shape, out.dtype)
        function(*(map(numerics.flush, given) if ftz else given), value)
        if ftz:
            value = numerics.flush(value)
        if sat:
            value = np.where(np.isnan(value), value.dtype.type(0), np.clip(value, 0, 1))
        np.copyto(out, value)

    return Elementwise(dressed, sources, results)


def add(code: Opcode, kind: str) -> Elementwise:
    """``add``, ``sub`` and ``mul``."""
    mode = code.take("rn", *_DIRECTED) or "rn"
    ftz, sat = code.has("ftz"), code.has("sat")
    function: Function = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[code.name]
    if mode != "rn":
        if kind != "f32":
            raise code.unsupported("directed rounding of f64")
        function = _directed(code.name, mode)
    return _dress(function, kind, 2, ftz=ftz, sat=sat)


def _directed(name: str, mode: str) -> Function:
    one, zero = np.ones(1, np.float32), np.full(1, -0.0 if mode != "rm" else 0.0, np.float32)

    def run(a: Array, b: Array, out: Array) -> None:
        if name == "mul":
            value = numerics.fma_directed(a, b, np.copysign(zero, -1), mode)
        else:
            value = numerics.fma_directed(a, one, -b if name == "sub" else b, mode)
        np.copyto(out, value)

    return run


def multiply_add(code: Opcode, kind: str) -> Elementwise:
    """``fma`` and ``mad``, which are the same since sm_20."""
    mode = code.take("rn", *_DIRECTED) or "rn"
    ftz, sat = code.has("ftz"), code.has("sat")
    if kind == "f64":
        if mode != "rn":
            raise code.unsupported("directed rounding of f64")
        return _dress(numerics.fma64, kind, 3, ftz=False)
    if mode == "rn":
        return _dress(numerics.fma, kind, 3, ftz=ftz, sat=sat)

    def run(a: Array, b: Array, c: Array, out: Array) -> None:
        np.copyto(out, numerics.fma_directed(a, b, c, mode))

    return _dress(run, kind, 3, ftz=ftz, sat=sat)


def divide(code: Opcode, kind: str) -> Elementwise:
    """``div``: exact for ``.rn``, and no worse for ``.approx`` and ``.full``."""
    code.need("rn", "approx", "full")
    return _dress(np.divide, kind, 2, ftz=code.has("ftz"))


def minimum(code: Opcode, kind: str) -> Elementwise:
    """``min`` and ``max``: a number wins over NaN unless ``.NaN`` is given, and -0 is below +0."""
    ftz, propagate, xor_sign = code.has("ftz"), code.has("NaN"), code.has("xorsign")
    if xor_sign and not code.has("abs"):
        raise code.unsupported()
    lower = code.name == "min"
    return _dress(extremum(lower=lower, propagate=propagate, xor_sign=xor_sign), kind, 2, ftz=ftz)


def extremum(*, lower: bool, propagate: bool, xor_sign: bool = False) -> Function:
    """Return the function ``(a, b, out)`` of ``min`` or ``max`` on float arrays."""
    number: tuple[Function, Function] = (np.fmax, np.fmin)
    strict: tuple[Function, Function] = (np.maximum, np.minimum)
    ufunc = (strict if propagate else number)[lower]

    def run(a: Array, b: Array, out: Array) -> None:
        sign = np.signbit(a) ^ np.signbit(b) if xor_sign else None
        if xor_sign:
            a, b = np.abs(a), np.abs(b)
        value = ufunc(a, b)
        zeros = (value == 0) & (a == b)
        if zeros.any():  # the sign decides between two zeros
            negative = np.signbit(a) | np.signbit(b) if lower else np.signbit(a) & np.signbit(b)
            value = np.where(zeros, np.where(negative, -0.0, 0.0).astype(value.dtype), value)
        if sign is not None:
            value = np.where(sign, -value, value)
        np.copyto(out, value)

    return run


def negate(code: Opcode, kind: str) -> Elementwise:
    """``neg`` and ``abs``."""
    ftz = code.has("ftz")
    return _dress(np.negative if code.name == "neg" else np.abs, kind, 1, ftz=ftz)


@elementwise("rcp", "sqrt", "rsqrt")
def root(code: Opcode) -> Elementwise:
    """``rcp``, ``sqrt`` and ``rsqrt``."""
    kind = code.type()
    mode = code.need("rn", "approx")
    ftz = code.has("ftz")
    if kind not in ("f32", "f64") or (mode == "rn" and code.name == "rsqrt"):
        raise code.unsupported()
    if code.name == "sqrt":
        return _dress(np.sqrt, kind, 1, ftz=ftz)
    one = DTYPE[kind].type(1)
    if code.name == "rcp":
        if kind == "f64" and mode == "approx":
            return Elementwise(_approximate_reciprocal, ("f64",), ("f64",))
        return _dress(lambda a, out: np.divide(one, a, out=out), kind, 1, ftz=ftz)

    def reciprocal_root(a: Array, out: Array) -> None:
        np.copyto(out, 1.0 / np.sqrt(a.astype(np.float64)), casting="unsafe")

    return _dress(reciprocal_root, kind, 1, ftz=ftz)


def _approximate_reciprocal(a: Array, out: Array) -> None:
    """``rcp.approx.ftz.f64`` reads and gives the upper 32 bits alone."""
    upper = ~np.uint64(0xFFFFFFFF)
    value = numerics.flush((a.view(np.uint64) & upper).view(np.float64))
    result = numerics.flush(1.0 / value)
    np.copyto(out, (result.view(np.uint64) & upper).view(np.float64))


_APPROXIMATE: dict[str, Function] = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}


def approximate(code: Opcode, kind: str) -> Elementwise:
    """``ex2``, ``lg2``, ``sin``, ``cos`` and ``tanh`` of f32."""
    code.need("approx")
    ufunc = _APPROXIMATE[code.name]

    def run(a: Array, out: Array) -> None:
        np.copyto(out, ufunc(a.astype(np.float64)), casting="unsafe")

    return _dress(run, kind, 1, ftz=code.has("ftz"))


@elementwise("testp")
def number_property(code: Opcode) -> Elementwise:
    """``testp``: what kind of number a float is."""
    test = code.need("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    kind = code.type()
    if kind not in ("f32", "f64"):
        raise code.unsupported()
    tiny = np.finfo(DTYPE[kind]).tiny
    tests: dict[str, Function] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & (np.abs(a) >= tiny),
        "subnormal": lambda a: (a != 0) & (np.abs(a) < tiny),
    }
    return Elementwise(lambda a, out: np.copyto(out, tests[test](a)), (kind,), ("pred",))


@elementwise("copysign")
def copy_sign(code: Opcode) -> Elementwise:
    """``copysign``: the magnitude of b with the sign of a."""
    kind = code.type()
    if kind not in ("f32", "f64"):
        raise code.unsupported()
    return Elementwise(lambda a, b, out: np.copysign(b, a, out=out), (kind, kind), (kind,))
