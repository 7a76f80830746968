"""What a set of accesses demands of a swizzle: word differences that must not meet in a bank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.layouts.f2 import Span
from tileviz.memory import BANK_BYTES, BANKS, LANES, Accesses, group_lanes, shared_wavefronts

Ints = NDArray[np.int64]
BANK_BITS = BANKS.bit_length() - 1


@dataclass(frozen=True, eq=False)
class Demand:
    """The differences of one phase.

    Two lanes that are served together and want different words meet exactly when the swizzled bank
    of the XOR of their word addresses is 0 (for wide accesses: the bank without its low bits).

    Attributes:
        differences: Distinct XORs of word addresses of lanes served together, ascending, not 0.
        shift: Bank bits inside one lane's vector.
        budget: How many differences may meet: 0 for no conflict at all.
        linear: Whether the differences are a subspace (less 0): then bounds on them are exact.
    """

    differences: Ints
    shift: int
    budget: int
    linear: bool

    def met(self, banks: Ints) -> int:
        """Return how many differences meet, given the bank of each."""
        return int(np.count_nonzero(banks >> self.shift == 0))

    def least(self, low: int) -> int:
        """Return how many differences meet whatever the swizzle, if it keeps ``low`` word bits.

        A swizzle that keeps vectors whole cannot move the low bits, which then tell lanes apart
        only as far as lanes differ in them: rank r of low bits of a space of dimension a leaves
        rank min(a, r + 5 - low) of the banks, and 2 ** (a - that) - 1 differences at bank 0.
        """
        if not self.linear or low <= self.shift:
            return 0
        span = Span(self.differences.tolist())
        inside = Span((self.differences & ((1 << low) - 1)).tolist()).dimension
        reach = min(span.dimension, inside + BANK_BITS - low)
        return int((1 << (span.dimension - reach)) - 1)


def demand_of(accesses: Accesses, budget: int = 0) -> Demand:
    """Return the demand of all instructions of a phase, made through the plain layout.

    Args:
        accesses: Shared-memory accesses, aligned to their width.
        budget: How many differences may meet.

    Example:
        >>> column = Accesses.of(128 * np.arange(32), space="shared", op="ld", bytes=4)
        >>> demand_of(column).differences[:3].tolist(), demand_of(column).linear
        ([32, 64, 96], True)
    """
    width = 16 if "matrix" in accesses.op else accesses.bytes
    shift = max(width // BANK_BYTES, 1).bit_length() - 1
    words = accesses.addresses // BANK_BYTES >> shift << shift
    top = int(words.max(initial=0))
    marks = np.zeros(1 << max(top.bit_length(), 1), dtype=bool)
    size = group_lanes(accesses.op, accesses.bytes)
    merged = shared_wavefronts(accesses).merged
    for double in (False, True):
        rows = merged == double
        if rows.any():
            _mark(marks, words[rows], accesses.active[rows], 2 * size if double else size)
    marks[0] = False
    differences = np.flatnonzero(marks)
    dimension = Span(differences.tolist()).dimension if len(differences) < LANES else 99
    linear = len(differences) + 1 == 1 << dimension
    return Demand(differences, shift, budget, linear)


def _mark(marks: NDArray[np.bool_], words: Ints, active: NDArray[np.bool_], size: int) -> None:
    """Mark the XOR of the words of every two active lanes that are served together."""
    groups, there = words.reshape(-1, size), active.reshape(-1, size)
    everyone = bool(there.all())
    for apart in range(1, size):
        found = groups[:, apart:] ^ groups[:, :-apart]
        marks[found if everyone else found[there[:, apart:] & there[:, :-apart]]] = True


def banks_of(columns: list[int] | tuple[int, ...], words: Ints) -> Ints:
    """Return the image of words under a linear map given by its columns."""
    found = np.zeros_like(words)
    for bit, column in enumerate(columns):
        if column:
            found ^= (words >> bit & 1) * column
    return found
