"""``setp`` and ``set``: comparisons of every type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tileviz.emulator import numerics
from tileviz.emulator.binder import DTYPE
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.half import halves, join, widen
from tileviz.emulator.ops.integer import is_integer
from tileviz.emulator.ops.registry import Elementwise, elementwise
from tileviz.emulator.ptx import WIDTH, Pair

Array = Any  # a NumPy array; its own types say too little to be worth their noise
Test = Callable[..., Any]  # of two arrays and, where both are plain, an optional result

_PLAIN: dict[str, Test] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_UNORDERED = {f"{name}u": name for name in _PLAIN}
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
_COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_PAIRS = ("f16x2", "bf16x2")

# What ``set`` gives where the comparison holds: the bits of -1 or 1.0.
_ONE = {"u16": 0xFFFF, "s16": 0xFFFF, "u32": 0xFFFFFFFF, "s32": 0xFFFFFFFF}
_ONE |= {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}


@elementwise("setp")
def set_predicate(code: Opcode) -> Elementwise:
    """``setp``: compare, optionally combine with a predicate, and give one or two predicates.

    The second predicate is the opposite; for a packed pair it is the outcome of the high half.
    """
    kind = code.type()
    test = comparison(code, kind)
    combine = _COMBINE.get(code.take(*_COMBINE) or "")
    both = isinstance(code.instruction.operands[0], Pair)
    packed = kind in _PAIRS
    if not (both or packed or combine):
        return Elementwise(test, (kind, kind), ("pred",))
    results = ("pred", "pred") if both else ("pred",)

    def run(a: Array, b: Array, *rest: Array) -> None:
        outcome = test(a, b)
        sides = (outcome[:, 0], outcome[:, 1]) if packed else (outcome, ~outcome)
        outs = rest
        if combine is not None:
            sides = tuple(combine(side, rest[0]) for side in sides)
            outs = rest[1:]
        for out, side in zip(outs, sides, strict=False):  # the second may not be wanted
            np.copyto(out, side)

    return Elementwise(run, (kind, kind) + ("pred",) * (combine is not None), results)


@elementwise("set")
def set_value(code: Opcode) -> Elementwise:
    """``set``: all ones or 1.0 where a comparison holds, else 0."""
    kind = code.type()
    result = code.type()
    test = comparison(code, kind)
    packed = kind in _PAIRS
    if result not in _ONE or (result in _PAIRS and not packed):
        raise code.unsupported()
    if packed:
        if WIDTH[result] != 32 or result == "f32":
            raise code.unsupported()
        one = np.uint16(_ONE[result] & 0xFFFF)

        def pair(a: Array, b: Array, out: Array) -> None:
            np.copyto(out, join(np.where(test(a, b), one, np.uint16(0))).view(out.dtype))

        return Elementwise(pair, (kind, kind), (result,))
    dtype = DTYPE[result]
    yes = np.array(_ONE[result], f"uint{WIDTH[result]}").view(dtype)[()]

    def run(a: Array, b: Array, out: Array) -> None:
        np.copyto(out, np.where(test(a, b), yes, dtype.type(0)))

    return Elementwise(run, (kind, kind), (result,))


def comparison(code: Opcode, kind: str) -> Test:
    """Return the function of ``(a, b[, out])`` that the comparison in an opcode names."""
    flush = code.has("ftz")
    name = code.need(*_PLAIN, *_UNSIGNED, *_UNORDERED, "num", "nan")
    if is_integer(kind):
        ordered = kind[0] != "b" or name in ("eq", "ne")
        if not ordered or name in _UNORDERED or name in ("num", "nan"):
            raise code.unsupported()
        return _PLAIN[_UNSIGNED.get(name, name)]
    if name in _UNSIGNED or kind in ("pred", "tf32"):
        raise code.unsupported()
    test = _float_test(name)
    prepare = _prepare(kind, flush=flush)
    if prepare is None:
        return test
    return lambda a, b, out=None: test(prepare(a), prepare(b), out)


def _prepare(kind: str, *, flush: bool) -> Callable[[Array], Array] | None:
    """Return what turns an operand into numbers that NumPy compares, or None for nothing."""
    if kind in _PAIRS:
        base = kind.removesuffix("x2")
        return lambda value: widen(halves(value), base)
    if kind == "bf16":
        return numerics.bfloat_to_float
    return numerics.flush if flush else None


def _float_test(name: str) -> Test:
    """Return an ordered test, or one that also holds where an operand is NaN (``ltu``)."""
    if name in ("num", "nan"):
        holds = name == "nan"
        return lambda a, b, out=None: np.equal(_unordered(a, b), holds, out=out)
    if name == "equ":
        return lambda a, b, out=None: np.logical_or(a == b, _unordered(a, b), out=out)
    if name == "ne":  # ordered: false where an operand is NaN
        return lambda a, b, out=None: np.logical_or(a < b, a > b, out=out)
    if name in ("neu", "eq"):  # as IEEE has them
        return _PLAIN[name[:2]]
    if name in _UNORDERED:  # "a < b or unordered" is "not a >= b"
        opposite = _PLAIN[_OPPOSITE[name[:2]]]
        return lambda a, b, out=None: np.logical_not(opposite(a, b), out=out)
    return _PLAIN[name]


def _unordered(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)
