"""XORs of bit fields as index expressions: how linear maps over bits are printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileviz.cuda.expr import Const, Expr, bit_field


@dataclass(frozen=True)
class Hex(Const):
    """A constant that is read by its digits.

    Example:
        >>> from tileviz.cuda.expr import Var
        >>> print(Hex(0x5410) ^ (Var("r", 2) * Hex(0x2222)))
        0x5410 ^ (r * 0x2222)
    """

    def __str__(self) -> str:
        return f"0x{self.value:04X}"


def xor_fields(variable: Expr, columns: Sequence[int]) -> Expr:
    """Return the XOR of ``columns[i]`` over the set bits i of a variable, in few shifts.

    Example:
        >>> from tileviz.cuda.expr import Var
        >>> print(xor_fields(Var("lane", 32), (1, 2, 36, 72, 16)))
        lane ^ (((lane >> 2) & 3) << 5)
        >>> print(xor_fields(Var("lane", 32), (1, 1, 0, 0, 4)))
        (lane & 1) ^ ((lane >> 1) & 1) ^ ((lane >> 4) << 2)
    """
    by_shift: dict[int, list[int]] = {}
    for bit, column in enumerate(columns):
        target = column
        while target:
            lowest = (target & -target).bit_length() - 1
            by_shift.setdefault(lowest - bit, []).append(bit)
            target &= target - 1
    # What stays in place first, then by distance.
    total: Expr = Const(0)
    for shift in sorted(by_shift, key=lambda distance: (abs(distance), distance)):
        total = total ^ _shifted(variable, by_shift[shift], shift)
    return total


def _shifted(variable: Expr, bits: list[int], shift: int) -> Expr:
    """Return some bits of a variable, moved by ``shift`` places."""
    first, last = min(bits), max(bits)
    if shift and len(bits) == last - first + 1:
        return bit_field(variable, first, len(bits)) << (first + shift)
    mask = sum(1 << bit for bit in bits)
    kept = variable & mask
    limit = variable.limit
    if limit is not None and mask == (1 << (limit - 1).bit_length()) - 1:
        kept = variable
    return kept << shift if shift >= 0 else kept >> -shift
