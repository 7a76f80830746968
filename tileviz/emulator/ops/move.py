"""Moves, selection and comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tileviz.emulator.binder import DTYPE
from tileviz.emulator.memory import LOCAL_WINDOW, SHARED_WINDOW
from tileviz.emulator.numerics import bfloat_to_float
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.integer import is_integer
from tileviz.emulator.ops.registry import Elementwise, bits, copy, elementwise
from tileviz.emulator.ptx import WIDTH, Pair, Vector

Array = Any  # a NumPy array; its own types say too little to be worth their noise

_COMPARE: dict[str, Callable[..., Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_UNORDERED = {f"{name}u": name for name in _COMPARE}
_COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


@elementwise("mov")
def move(code: Opcode) -> Elementwise:
    """``mov``: a copy, or the packing or unpacking of a vector."""
    kind = bits(code.type())
    target, source = code.instruction.operands[:2]
    if isinstance(target, Vector):
        return _unpack(kind, len(target.items))
    if isinstance(source, Vector):
        return _pack(kind, len(source.items))
    return Elementwise(copy, (kind,), (kind,))


def _unpack(kind: str, count: int) -> Elementwise:
    size = WIDTH[kind] // count

    def run(value: Array, *outs: Array) -> None:
        for place, out in enumerate(outs):
            np.copyto(out, value >> value.dtype.type(size * place), casting="unsafe")

    return Elementwise(run, (kind,), (f"b{size}",) * count)


def _pack(kind: str, count: int) -> Elementwise:
    size = WIDTH[kind] // count
    dtype = DTYPE[kind]

    def run(*arrays: Array) -> None:
        *parts, out = arrays
        result = parts[0].astype(dtype)
        for place, part in enumerate(parts[1:], 1):
            result = result | part.astype(dtype) << dtype.type(size * place)
        np.copyto(out, result)

    return Elementwise(run, (f"b{size}",) * count, (kind,))


@elementwise("cvta")
def convert_address(code: Opcode) -> Elementwise:
    """``cvta``: between an address in a space and the generic address of the same place."""
    back = code.has("to")
    space = code.need("global", "const", "shared", "shared::cta", "local")
    if code.type() != "u64":
        raise code.unsupported("32-bit addresses")
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space.partition("::")[0], 0)
    if not window:
        return Elementwise(copy, ("u64",), ("u64",))
    change = np.subtract if back else np.add
    base = np.uint64(window)
    return Elementwise(lambda a, out: change(a, base, out=out), ("u64",), ("u64",))


@elementwise("selp")
def select(code: Opcode) -> Elementwise:
    """``selp``: a where the predicate holds, else b."""
    kind = bits(code.type())

    def run(a: Array, b: Array, predicate: Array, out: Array) -> None:
        np.copyto(out, np.where(predicate, a, b))

    return Elementwise(run, (kind, kind, "pred"), (kind,))


@elementwise("slct")
def select_by_sign(code: Opcode) -> Elementwise:
    """``slct``: a where c is not negative, else b."""
    code.has("ftz")  # a subnormal c has the sign of zero: only -0 and NaN matter, and both compare
    by = code.type()
    kind = bits(code.type())
    if by not in ("s32", "f32"):
        raise code.unsupported()

    def run(a: Array, b: Array, c: Array, out: Array) -> None:
        np.copyto(out, np.where(c >= 0, a, b))

    return Elementwise(run, (kind, kind, by), (kind,))


@elementwise("setp")
def set_predicate(code: Opcode) -> Elementwise:
    """``setp``: compare, optionally combine with a predicate, and give one or two predicates."""
    kind = code.type()
    test = comparison(code, kind)
    combine = _COMBINE.get(code.take(*_COMBINE) or "")
    both = isinstance(code.instruction.operands[0], Pair)
    packed = kind in ("f16x2", "bf16x2")
    if packed:
        raise code.unsupported()
    results = ("pred", "pred") if both else ("pred",)
    if combine is None:
        if not both:
            return Elementwise(test, (kind, kind), results)

        def pair(a: Array, b: Array, yes: Array, no: Array) -> None:
            outcome = test(a, b)
            np.logical_not(outcome, out=no)
            np.copyto(yes, outcome)

        return Elementwise(pair, (kind, kind), results)

    def combined(a: Array, b: Array, c: Array, *outs: Array) -> None:
        outcome = test(a, b)
        with_c = [combine(side, c) for side in (outcome, ~outcome)[: len(outs)]]
        for out, value in zip(outs, with_c, strict=True):
            np.copyto(out, value)

    return Elementwise(combined, (kind, kind, "pred"), results)


@elementwise("set")
def set_value(code: Opcode) -> Elementwise:
    """``set``: all ones or 1.0 where a comparison holds, else 0."""
    kind = code.type()
    result = code.type()
    test = comparison(code, kind)
    if result not in ("u32", "s32", "f32", "u16", "s16"):
        raise code.unsupported()
    dtype = DTYPE[result]
    yes = dtype.type(1) if result == "f32" else np.array(-1).astype(dtype)[()]

    def run(a: Array, b: Array, out: Array) -> None:
        np.copyto(out, np.where(test(a, b), yes, dtype.type(0)))

    return Elementwise(run, (kind, kind), (result,))


def comparison(code: Opcode, kind: str) -> Callable[..., Any]:
    """Return the function of ``(a, b[, out])`` that the comparison in an opcode names."""
    flush = code.has("ftz")
    name = code.need(*_COMPARE, *_UNSIGNED, *_UNORDERED, "num", "nan")
    if is_integer(kind):
        if (
            name in _UNORDERED
            or name in ("num", "nan")
            or (kind[0] == "b" and name not in ("eq", "ne"))
        ):
            raise code.unsupported()
        return _COMPARE[_UNSIGNED.get(name, name)]
    if kind not in ("f16", "bf16", "f32", "f64") or name in _UNSIGNED:
        raise code.unsupported()
    test = _float_test(name)
    if kind == "bf16":
        plain = test
        test = lambda a, b, out=None: plain(bfloat_to_float(a), bfloat_to_float(b), out)  # noqa: E731
    if not flush:
        return test
    tiny = np.finfo(DTYPE[kind]).tiny

    def flushed(a: Array, b: Array, out: Array | None = None) -> Any:
        a, b = (np.where(np.abs(value) < tiny, value.dtype.type(0), value) for value in (a, b))
        return test(a, b, out)

    return flushed


def _float_test(name: str) -> Callable[..., Any]:
    """Return an ordered test, or one that also holds where an operand is NaN (``ltu``)."""
    if name in ("num", "nan"):
        invert = name == "num"

        def number(a: Array, b: Array, out: Array | None = None) -> Any:
            unordered = np.isnan(a) | np.isnan(b)
            return np.not_equal(unordered, invert, out=out)

        return number
    if name in _UNORDERED and name != "neu":
        # "a < b or unordered" is "not a >= b".
        opposite = {"eq": "ne", "lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}[_UNORDERED[name]]
        if opposite == "ne":

            def equal(a: Array, b: Array, out: Array | None = None) -> Any:
                return np.logical_or(a == b, np.isnan(a) | np.isnan(b), out=out)

            return equal
        ufunc = _COMPARE[opposite]
        return lambda a, b, out=None: np.logical_not(ufunc(a, b), out=out)
    if name == "ne":  # ordered: false where an operand is NaN

        def differ(a: Array, b: Array, out: Array | None = None) -> Any:
            return np.logical_or(a < b, a > b, out=out)

        return differ
    return _COMPARE[_UNORDERED.get(name, name)]
