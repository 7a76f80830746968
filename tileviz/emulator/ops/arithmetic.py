"""Opcodes whose meaning depends on the type they end in, sent to the module of that type."""

from __future__ import annotations

from collections.abc import Callable

from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops import carry, floating, half, integer
from tileviz.emulator.ops.registry import Elementwise, elementwise

_Factory = Callable[[Opcode, str], Elementwise]


def _by_type(code: Opcode, whole: _Factory | None, real: _Factory, short: _Factory) -> Elementwise:
    kind = code.type()
    if kind in ("f32", "f64"):
        return real(code, kind)
    if kind in half.KINDS:
        return short(code, kind)
    if whole is None or not integer.is_integer(kind):
        raise code.unsupported()
    return whole(code, kind)


@elementwise("add", "sub")
def _add(code: Opcode) -> Elementwise:
    return _by_type(code, _sum_of_integers, floating.add, half.arithmetic)


def _sum_of_integers(code: Opcode, kind: str) -> Elementwise:
    carries = "cc" in code.instruction.modifiers
    return carry.carrying(code, kind) if carries else integer.add(code, kind)


@elementwise("mul")
def _multiply(code: Opcode) -> Elementwise:
    return _by_type(code, integer.multiply, floating.add, half.arithmetic)


@elementwise("mad")
def _multiply_add(code: Opcode) -> Elementwise:
    if "cc" in code.instruction.modifiers:
        return carry.carrying(code, code.type())
    return _by_type(code, integer.multiply_add, floating.multiply_add, _refuse)


@elementwise("fma")
def _fused(code: Opcode) -> Elementwise:
    return _by_type(code, None, floating.multiply_add, half.arithmetic)


@elementwise("div")
def _divide(code: Opcode) -> Elementwise:
    return _by_type(code, integer.divide, floating.divide, _refuse)


@elementwise("rem")
def _remainder(code: Opcode) -> Elementwise:
    return _by_type(code, integer.divide, _refuse, _refuse)


@elementwise("min", "max")
def _minimum(code: Opcode) -> Elementwise:
    return _by_type(code, integer.minimum, floating.minimum, half.minimum)


@elementwise("neg", "abs")
def _negate(code: Opcode) -> Elementwise:
    return _by_type(code, integer.negate, floating.negate, half.negate)


@elementwise("ex2", "lg2", "sin", "cos", "tanh")
def _approximate(code: Opcode) -> Elementwise:
    return _by_type(code, None, floating.approximate, half.approximate)


def _refuse(code: Opcode, kind: str) -> Elementwise:
    raise code.unsupported()
