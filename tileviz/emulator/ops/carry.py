"""Arithmetic with carries, the pieces of 128-bit integers.

The carry flag is an ordinary predicate register here, `ptx.CARRY`: the parser adds it as a second
destination of ``.cc`` forms and as a last source of ``addc``, ``subc`` and ``madc``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops.integer import high_product
from tileviz.emulator.ops.registry import Elementwise, elementwise
from tileviz.emulator.ptx import WIDTH

Array = Any  # a NumPy array; its own types say too little to be worth their noise

_KINDS = ("u32", "s32", "u64", "s64", "b32", "b64")


def carrying(code: Opcode, kind: str) -> Elementwise:
    """Every sum or difference that reads the carry flag, writes it, or both."""
    writes = code.has("cc")
    reads = code.name.endswith("c")
    if kind not in _KINDS:
        raise code.unsupported()
    name = code.name.removesuffix("c") if reads else code.name
    part = code.need("lo", "hi") if name == "mad" else ""
    same = f"u{WIDTH[kind]}"

    def run(*arrays: Array) -> None:
        given, outs = arrays[: count + reads], arrays[count + reads :]
        carry = given[count] if reads else np.False_
        if name == "mad":
            a, b, c = given[:3]
            product = high_product(a, b, kind) if part == "hi" else a * b
            value, carry = _sum(product.view(c.dtype), c, carry)
        elif name == "add":
            value, carry = _sum(given[0], given[1], carry)
        else:
            a, b = given[:2]
            borrow = (a < b) | ((a == b) & carry)
            value, carry = a - b - np.asarray(carry, a.dtype), borrow
        np.copyto(outs[0], value)
        if writes:
            np.copyto(outs[1], carry)

    count = 3 if name == "mad" else 2
    if part == "hi" and kind[0] == "s":
        same = kind

    sources = (same,) * count + ("pred",) * reads
    return Elementwise(run, sources, (same,) + ("pred",) * writes)


def _sum(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    """Return ``a + b + carry`` and the carry out, as unsigned numbers."""
    unsigned = np.dtype(f"uint{8 * a.dtype.itemsize}")
    x, y = a.view(unsigned), b.view(unsigned)
    partial = x + y
    total = partial + np.asarray(carry, unsigned)
    return total.view(a.dtype), (partial < x) | (total < partial)


@elementwise("addc", "subc", "madc")
def _with_carry(code: Opcode) -> Elementwise:
    return carrying(code, code.type())
