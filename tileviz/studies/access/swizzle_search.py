"""The complete search for a swizzle: XORs of word-address bits that free every access.

A swizzle here is a linear map from the bits of a word address to a bank. It is searched column by
column (one column a word bit), and every difference of two words is checked as soon as its highest
bit has a column. The search visits every map up to renaming of banks, so that finding none is a
proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.studies.access.demands import BANK_BITS, Demand, banks_of

Ints = NDArray[np.int64]
Columns = tuple[int, ...]
# Columns tried before a search stops without an answer. Known cases need a few hundred.
PATIENCE = 20_000


class _GaveUp(Exception):
    """The search ran out of patience."""


@dataclass(frozen=True)
class Found:
    """The outcome of a search.

    Attributes:
        columns: Bank of every word bit; None where there is none.
        complete: Whether the answer is proved: of a found map that none has fewer XOR terms, of
            none that none exists.
        tried: Columns tried.
    """

    columns: Columns | None
    complete: bool
    tried: int


class Search:
    """A search over maps from word bits to banks that keep the low bits of vectors in place.

    Args:
        demands: What accesses demand.
        bits: Word-address bits of the tile.
        low: Word bits that stay in place, because a lane's vector spans them.
    """

    def __init__(self, demands: Sequence[Demand], bits: int, low: int) -> None:
        self.demands = demands
        self.bits = bits
        self.low = low
        self.tried = 0
        self._ran_out = False
        self._needed = [0] * (bits + 1)
        self._images = [np.zeros(len(demand.differences), dtype=np.int64) for demand in demands]
        self._left = [demand.budget for demand in demands]
        self._tops = [_by_top_bit(demand.differences, bits) for demand in demands]

    def keeping_rows(self) -> Found:
        """Search maps whose low five columns are in place: XORs into the bits of a 128-byte line.

        Finds the one with the fewest XOR terms.
        """
        fixed = [1 << bit for bit in range(min(BANK_BITS, self.bits))]
        values = sorted(range(0, 1 << BANK_BITS, 1 << self.low), key=lambda v: (v.bit_count(), v))
        free = [bit for bit in range(BANK_BITS, self.bits) if self._is_used(bit)]
        # A bit by which alone two lanes differ cannot have an empty column.
        self._needed = [
            sum(self._is_needed(other) for other in free if other >= bit)
            for bit in range(self.bits + 1)
        ]
        for terms in range(self._needed[0], len(free) * BANK_BITS + 1):
            try:
                columns = self._deepen(fixed, values, terms)
            except _GaveUp:
                return Found(self._any(fixed, values), False, self.tried)
            if columns is not None:
                return Found(columns, True, self.tried)
            if not self._ran_out:
                break
        return Found(None, True, self.tried)

    def anywhere(self) -> Found:
        """Search all maps, up to renaming of banks."""
        self.tried = 0
        self._start_over()
        try:
            columns = self._rename([], 0)
        except _GaveUp:
            return Found(None, False, self.tried)
        return Found(columns, True, self.tried)

    # -- the two searches ------------------------------------------------------------------------

    def _deepen(self, fixed: Sequence[int], values: Sequence[int], terms: int) -> Columns | None:
        """Return a map with at most ``terms`` XOR terms; note whether terms were what was short."""
        self._start_over()
        for bit, column in enumerate(fixed):
            placed = next(self._allowed(bit, (column,)), None)
            if placed is None:
                return None
            self._apply(bit, column, placed[1])
        return self._extend(list(fixed), values, terms)

    def _extend(self, columns: list[int], values: Sequence[int], terms: int) -> Columns | None:
        bit = len(columns)
        if bit >= self.bits:
            return tuple(columns)
        options = values if self._is_used(bit) else (0,)
        for value, costs in self._allowed(bit, options):
            if value.bit_count() + self._needed[bit + 1] > terms:
                self._ran_out = True
                break
            columns.append(value)
            self._apply(bit, value, costs)
            found = self._extend(columns, values, terms - value.bit_count())
            self._undo(bit, value, costs)
            columns.pop()
            if found is not None:
                return found
        return None

    def _any(self, fixed: Sequence[int], values: Sequence[int]) -> Columns | None:
        """Return some map, patience renewed, or None."""
        self.tried = 0
        try:
            return self._deepen(fixed, values, self.bits * BANK_BITS)
        except _GaveUp:
            return None

    def _rename(self, columns: list[int], names: int) -> Columns | None:
        """Extend a map; a column is a known combination of banks, or the next new bank."""
        bit = len(columns)
        if bit >= self.bits:
            return tuple(columns)
        if bit < self.low:
            options: list[int] = [1 << bit]
        else:
            known = max(names, self.low)
            options = list(range(0, 1 << known, 1 << self.low))
            if known < BANK_BITS:
                options.insert(0, 1 << known)
        for value, costs in self._allowed(bit, options):
            columns.append(value)
            self._apply(bit, value, costs)
            found = self._rename(columns, max(names, value.bit_length()))
            self._undo(bit, value, costs)
            columns.pop()
            if found is not None:
                return found
        return None

    # -- bookkeeping -----------------------------------------------------------------------------

    def _is_used(self, bit: int) -> bool:
        """Return whether any difference has this bit; if none has, its column does not matter."""
        return any(bool((demand.differences >> bit & 1).any()) for demand in self.demands)

    def _is_needed(self, bit: int) -> bool:
        """Return whether a demand without budget holds the difference of this bit alone."""
        return any(
            demand.budget == 0 and bool((demand.differences == 1 << bit).any())
            for demand in self.demands
        )

    def _allowed(self, bit: int, values: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
        """Yield the values a column may take, and how many differences each lets meet."""
        counts = []
        for number, demand in enumerate(self.demands):
            images = self._images[number][self._tops[number][bit]] >> demand.shift
            counts.append(np.bincount(images, minlength=1 << BANK_BITS).tolist())
        for value in values:
            self.tried += 1
            if self.tried > PATIENCE:
                raise _GaveUp
            costs = [
                count[value >> demand.shift]
                for count, demand in zip(counts, self.demands, strict=True)
            ]
            if all(cost <= left for cost, left in zip(costs, self._left, strict=True)):
                yield value, costs

    def _apply(self, bit: int, value: int, costs: Sequence[int]) -> None:
        for number, cost in enumerate(costs):
            self._left[number] -= cost
        self._flip(bit, value)

    def _undo(self, bit: int, value: int, costs: Sequence[int]) -> None:
        for number, cost in enumerate(costs):
            self._left[number] += cost
        self._flip(bit, value)

    def _flip(self, bit: int, value: int) -> None:
        if value:
            for number, demand in enumerate(self.demands):
                self._images[number] ^= (demand.differences >> bit & 1) * value

    def _start_over(self) -> None:
        """Set all differences to bank 0 and all budgets to whole."""
        self._ran_out = False
        for number, demand in enumerate(self.demands):
            self._images[number][:] = 0
            self._left[number] = demand.budget


def _by_top_bit(differences: Ints, bits: int) -> list[slice]:
    """Return, per bit, which of the ascending differences have it as their highest."""
    edges = np.searchsorted(differences, [1 << bit for bit in range(bits + 1)])
    return [slice(int(edges[bit]), int(edges[bit + 1])) for bit in range(bits)]


def satisfies(columns: Sequence[int], demands: Sequence[Demand]) -> bool:
    """Return whether a map keeps every demand within its budget."""
    return all(
        demand.met(banks_of(tuple(columns), demand.differences)) <= demand.budget
        for demand in demands
    )
