"""Whole words for small elements: lanes read words, permute bytes in registers, write words.

Where two layouts tear 4-byte words apart, take the smallest blocks of elements that are whole words
on both sides (2x2 elements for a 16-bit transpose, 4x4 for an 8-bit one). A lane reads a block's
source words, and each of its destination words is then a byte permute of its own registers. Over
F2 a block is a coset of the span of both words' bits. Lanes may take the words of a block in
different orders (a twist), which lets the bits inside a block reach banks too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tileviz.layouts.f2 import (
    Columns,
    Span,
    apply_columns,
    image_table,
    is_power_of_two,
    linear_columns,
    sum_table,
)
from tileviz.memory import BANK_BYTES, BANKS, LANES
from tileviz.studies.permute.lane_space import LaneSpace, subspace_with
from tileviz.studies.permute.moves import Move

_LANE_BITS = LANES.bit_length() - 1
# Combinations tried before the search gives up; the layouts that people use need about a hundred.
_PATIENCE = 2000


@dataclass(frozen=True)
class Selector:
    """The byte selector of a destination word: ``base`` XORed where bits of lane or register are 1.

    Attributes:
        base: Four digits, the lowest byte's last, as ``__byte_perm`` takes them.
        lanes: What each lane bit flips.
        registers: What each register bit flips.
    """

    base: int
    lanes: Columns
    registers: Columns


@dataclass(frozen=True)
class WordBlocks:
    """How lanes read, permute and write the words of blocks.

    Attributes:
        reads: First element of the word that a lane reads, over bits of lane and register.
        writes: First element of the word that it writes.
        words: Words of a block on either side: 1, 2 or 4.
        selectors: The permutes from registers to a destination word: one; for four words a second,
            which joins two results of the first.
    """

    reads: LaneSpace
    writes: LaneSpace
    words: int
    selectors: tuple[Selector, ...]


@dataclass(frozen=True)
class _Side:
    """Element bits as one layout sees them.

    Attributes:
        inside: Bits inside a word, by rising weight.
        banks: Bank of every element bit; 0 for those inside.
    """

    inside: tuple[int, ...]
    banks: Columns


def word_blocks(move: Move) -> WordBlocks | None:
    """Return how to move whole words of 1- and 2-byte elements, or None where this fails.

    Both layouts must be linear over bits and hold every word whole, and there must be a block for
    every lane.
    """
    size = BANK_BYTES // move.element_bytes
    if not move.word_aligned or not is_power_of_two(move.volume):
        return None
    source, target = (_side(offsets, size) for offsets in (move.source, move.target))
    if source is None or target is None:
        return None
    bits = move.volume.bit_length() - 1
    # Bits that tell the words of a block apart, on either side.
    source_words = tuple(bit for bit in target.inside if bit not in source.inside)
    target_words = tuple(bit for bit in source.inside if bit not in target.inside)
    inside = {*source.inside, *target.inside}
    outside = tuple(bit for bit in range(bits) if bit not in inside)
    lanes = _lanes(source, target, outside, source_words, target_words)
    if lanes is None:
        return None
    blocks = [vector for vector, _, _ in lanes]
    span = Span([*blocks, *(1 << bit for bit in inside)])
    rest = [1 << bit for bit in outside if span.add(1 << bit)]
    reads = LaneSpace(
        tuple(block ^ twist for block, twist, _ in lanes),
        (*(1 << bit for bit in source_words), *rest),
    )
    writes = LaneSpace(
        tuple(block ^ twist for block, _, twist in lanes),
        (*(1 << bit for bit in target_words), *rest),
    )
    words = 1 << len(source_words)
    selectors = _selectors(move.element_bytes, source, target, reads, writes, words)
    return WordBlocks(reads, writes, words, selectors)


def _side(offsets: NDArray[np.int64], size: int) -> _Side | None:
    """Return how a layout splits element bits, or None where it is not linear in whole words."""
    at = 1 << np.arange(len(offsets).bit_length() - 1)
    places = offsets - offsets[0]
    if not np.array_equal(sum_table(places[at].tolist()), places):
        places = offsets ^ offsets[0]
        if linear_columns(places) is None:
            return None
    weights = places[at].tolist()
    small = sorted((weight, bit) for bit, weight in enumerate(weights) if weight % size)
    if [weight for weight, _ in small] != [1 << k for k in range(size.bit_length() - 1)]:
        return None
    banks = linear_columns((places // size) & (BANKS - 1))
    return None if banks is None else _Side(tuple(bit for _, bit in small), banks)


Choice = tuple[int, int, int]


@lru_cache(maxsize=1024)
def _lanes(
    source: _Side,
    target: _Side,
    outside: tuple[int, ...],
    source_words: tuple[int, ...],
    target_words: tuple[int, ...],
) -> tuple[Choice, ...] | None:
    """Return, per lane bit, the block vector and both twists; no two lanes share a bank."""
    reach = [
        Span([side.banks[bit] for bit in (*outside, *words)]).dimension
        for side, words in ((source, source_words), (target, target_words))
    ]
    if len(outside) < _LANE_BITS or min(reach) < _LANE_BITS:
        return None
    choices = [
        (block, twist, other)
        for block in _vectors(outside)
        for twist in _subsets(source_words)
        for other in _subsets(target_words)
    ]
    choices.sort(key=lambda choice: sum(part.bit_count() for part in choice))
    images = [
        (
            block,
            apply_columns(source.banks, block ^ twist),
            apply_columns(target.banks, block ^ other),
        )
        for block, twist, other in choices
    ]
    patience = _PATIENCE
    chosen: list[int] = []

    def extend(start: int, blocks: Span, read: int, write: int) -> bool:
        nonlocal patience
        if len(chosen) == _LANE_BITS:
            return True
        for index in range(start, len(choices)):
            patience -= 1
            if patience < 0:
                return False
            block, bank, other = images[index]
            if read >> bank & 1 or write >> other & 1:
                continue
            grown = blocks.extended(block)
            if grown is None:
                continue
            chosen.append(index)
            if extend(index + 1, grown, subspace_with(read, bank), subspace_with(write, other)):
                return True
            chosen.pop()
        return False

    # The subspace {0} has one member.
    if not extend(0, Span(), 1, 1):
        return None
    found = [choices[index] for index in chosen]
    return tuple(sorted(found, key=lambda choice: (choice[0] & -choice[0], choice)))


def _vectors(bits: Sequence[int]) -> Iterator[int]:
    """Yield single bits and pairs of bits."""
    yield from (1 << bit for bit in bits)
    yield from (1 << a | 1 << b for a, b in combinations(bits, 2))


def _subsets(bits: Sequence[int]) -> list[int]:
    subsets: list[int] = image_table([1 << bit for bit in bits]).tolist()
    return subsets


def _selectors(
    width: int, source: _Side, target: _Side, reads: LaneSpace, writes: LaneSpace, words: int
) -> tuple[Selector, ...]:
    """Return the byte permutes from the words read to a word written.

    Destination byte p holds byte p % width of the element whose target-inside bits are p // width.
    That element's source word is told by the bits in ``source_words``, its place there by those
    inside a source word; each flips digits of the selector, and so does every twist.
    """
    byte_of = {bit: width << place for place, bit in enumerate(source.inside)}
    word_bits = [bit for bit in target.inside if bit not in source.inside]
    base = 0
    for place in range(BANK_BYTES):
        digit = place % width
        for position, bit in enumerate(target.inside):
            if place // width >> position & 1:
                # The first permute chooses between two words; the second joins two pairs.
                digit += byte_of.get(bit, 0)
                digit += BANK_BYTES if word_bits and bit == word_bits[0] else 0
        base |= digit << 4 * place
    flips = {bit: 0x1111 * byte for bit, byte in byte_of.items() if bit not in target.inside}
    if word_bits:
        flips[word_bits[0]] = 0x4444
    first = _selector(base, flips, reads, writes, word_bits)
    if words < 4:
        return (first,)
    joined = _selector(0x5410, {word_bits[1]: 0x4444}, reads, writes, word_bits)
    return first, joined


def _selector(
    base: int, flips: dict[int, int], reads: LaneSpace, writes: LaneSpace, word_bits: list[int]
) -> Selector:
    """Return a selector: twists of the read flip word bits, those of the write flip byte bits."""

    def flipped(read: int, write: int) -> int:
        total = 0
        for bit, mask in flips.items():
            if (read if bit in word_bits else write) >> bit & 1:
                total ^= mask
        return total

    lanes = tuple(flipped(a, b) for a, b in zip(reads.lanes, writes.lanes, strict=True))
    registers = tuple(flipped(0, vector) for vector in writes.registers)
    return Selector(base, lanes, registers)
