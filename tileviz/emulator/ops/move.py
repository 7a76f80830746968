"""Moves, address conversion and selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from tileviz.emulator.binder import DTYPE
from tileviz.emulator.memory import LOCAL_WINDOW, SHARED_WINDOW
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.registry import Elementwise, bits, copy, elementwise
from tileviz.emulator.ptx import WIDTH, Vector

Array = Any  # a NumPy array; its own types say too little to be worth their noise


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
    code.has("ftz")  # flushing would not change the sign of c
    by = code.type()
    kind = bits(code.type())
    if by not in ("s32", "f32"):
        raise code.unsupported()

    def run(a: Array, b: Array, c: Array, out: Array) -> None:
        np.copyto(out, np.where(c >= 0, a, b))

    return Elementwise(run, (kind, kind, by), (kind,))
