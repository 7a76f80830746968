"""The F2 schedule: which element each lane handles, as XORs of lane and register bits.

Both layouts send element bits linearly to bank slots. The lanes of one access group handle the
elements of a subspace (or a shifted copy of it); they meet no bank twice in either phase exactly
when the subspace meets both slot maps' kernels in 0. Such a common complement always exists where
both maps reach every slot; of those found, one whose formula is short is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from tileviz.layouts.f2 import Columns, Span, apply_columns, completed

# Vectors tried in the search for a short formula, before any formula will do.
_PATIENCE = 400


@dataclass(frozen=True)
class LaneSpace:
    """Element = XOR of ``lanes[i]`` over set lane bits i and ``registers[j]`` over register bits j.

    Attributes:
        lanes: Element bits that each lane bit flips, lowest lane bit first.
        registers: Element bits that each register bit flips.
    """

    lanes: Columns
    registers: Columns

    @property
    def terms(self) -> int:
        """XOR terms of the formula beyond one source per element bit."""
        vectors = (*self.lanes, *self.registers)
        return sum(vector.bit_count() for vector in vectors) - len(vectors)


class _Candidate(NamedTuple):
    """An element vector with its slots in both phases."""

    vector: int
    read: int
    write: int


# Per bit, the members of F2^5 whose bit is 0: moving a set by a vector swaps such halves.
_HALVES = (0x55555555, 0x33333333, 0x0F0F0F0F, 0x00FF00FF, 0x0000FFFF)


def subspace_with(members: int, vector: int) -> int:
    """Return the subspace spanned by a subspace and a vector, as a bit a member.

    Example:
        >>> bin(subspace_with(subspace_with(0b1, 1), 2))
        '0b1111'
    """
    moved = members
    for bit, half in enumerate(_HALVES):
        if vector >> bit & 1:
            width = 1 << bit
            moved = (moved & half) << width | moved >> width & half
    return members | moved


@lru_cache(maxsize=4096)
def lane_space(read: Columns, write: Columns, group_bits: int) -> LaneSpace | None:
    """Return a conflict-free lane space, or None where a map does not reach every slot.

    Args:
        read: Source slot of every element bit.
        write: Destination slot of every element bit.
        group_bits: log2 of the lanes in one access group: 5, 4 or 3.

    Example:
        >>> transpose = lane_space((1, 2, 4, 8, 16, 0, 0), (8, 16, 0, 0, 1, 2, 4), 5)
        >>> [bin(vector) for vector in transpose.lanes], transpose.registers
        (['0b1', '0b10', '0b100100', '0b1001000', '0b10000'], (32, 64))
    """
    bits = len(read)
    if bits < 5 or Span(read).dimension < group_bits or Span(write).dimension < group_bits:
        return None
    group = _shortest(read, write, group_bits)
    if group is None:
        return None
    group = _ordered(group)
    rest = sorted(completed(group, bits))
    # Lanes beyond the group take the lowest free bits, for neighbouring lanes to stay close.
    spare = 5 - group_bits
    return _row_form((*group, *rest[:spare]), tuple(rest[spare:]), bits)


def _shortest(read: Columns, write: Columns, size: int) -> list[int] | None:
    """Return vectors independent in both slot maps, of small total weight.

    As many single bits as possible come first; where the rest are pairs of bits, that is the least
    weight there is (always so for layouts that only reorder bits).
    """
    patience = [_PATIENCE]
    bits = range(len(read))
    units = _candidates([(bit,) for bit in bits], read, write)
    single = next(
        n
        for n in range(min(size, len(units)), -1, -1)
        if _search(units, n, n, patience) is not None
    )
    if single == size:
        return _search(units, size, size, [_PATIENCE])
    for pairs in _pair_families(len(read)):
        family = units + _candidates(pairs, read, write)
        found = _search(family, size, single, patience)
        if found:
            return found
    return _paired(read, write, size)


def _pair_families(bits: int) -> Iterator[list[tuple[int, int]]]:
    """Yield pairs of bits of one distance, whose formula is one shift; then all pairs."""
    for distance in range(1, bits):
        yield [(bit, bit + distance) for bit in range(bits - distance)]
    yield list(combinations(range(bits), 2))


def _candidates(sets: Sequence[tuple[int, ...]], read: Columns, write: Columns) -> list[_Candidate]:
    """Return the vectors of some bit sets that neither map sends to slot 0."""
    found = []
    for chosen in sets:
        vector = source = target = 0
        for bit in chosen:
            vector |= 1 << bit
            source ^= read[bit]
            target ^= write[bit]
        if source and target:
            found.append(_Candidate(vector, source, target))
    return found


def _search(
    candidates: list[_Candidate], size: int, single: int, patience: list[int]
) -> list[int] | None:
    """Return ``size`` candidates independent in both maps, ``single`` of them one bit, or None."""
    chosen: list[int] = []
    last = len(candidates) - size

    def extend(start: int, read: int, write: int) -> bool:
        depth = len(chosen)
        if depth == size:
            return True
        for index in range(start, last + depth + 1):
            vector, source, target = candidates[index]
            if depth < single and vector & (vector - 1):
                return False
            patience[0] -= 1
            if patience[0] < 0:
                return False
            if read >> source & 1 or write >> target & 1:
                continue
            chosen.append(vector)
            if extend(index + 1, subspace_with(read, source), subspace_with(write, target)):
                return True
            chosen.pop()
        return False

    # The subspace {0} has one member.
    return list(chosen) if extend(0, 1, 1) else None


def _paired(read: Columns, write: Columns, size: int) -> list[int]:
    """Grow a common independent set by exchange paths until it has ``size`` vectors.

    The classical construction: a vector outside one kernel plus a vector outside the other lies
    outside both, whatever the formula's length.
    """
    chosen: list[int] = []
    left, right = Span(), Span()
    for _ in range(size):
        vector = _outside_both(read, write, left, right)
        chosen.append(vector)
        left.add(apply_columns(read, vector))
        right.add(apply_columns(write, vector))
    return chosen


def _outside_both(read: Columns, write: Columns, left: Span, right: Span) -> int:
    """Return a vector whose images lie outside both spans; two of two kinds sum to one."""
    first = next(1 << bit for bit, image in enumerate(read) if image not in left)
    if apply_columns(write, first) not in right:
        return first
    second = next(1 << bit for bit, image in enumerate(write) if image not in right)
    if apply_columns(read, second) not in left:
        return second
    return first ^ second


def _ordered(vectors: list[int]) -> list[int]:
    """Order vectors by lowest bit, so that lane bit i flips element bit i where it can."""
    return sorted(vectors, key=lambda vector: (vector & -vector, vector))


def _row_form(lanes: Columns, registers: Columns, bits: int) -> LaneSpace:
    """Return the same groups with register bits on top, where the lanes allow it.

    Then element = lane + 32 * j with a row ``j = r ^ (bits of the lane)``, as people write it.
    """
    low = (1 << 5) - 1
    if len(registers) and [vector & low for vector in lanes] == [1, 2, 4, 8, 16]:
        registers = tuple(1 << bit for bit in range(5, bits))
    return LaneSpace(lanes, registers)
