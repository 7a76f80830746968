"""Lanes that are served together, and what they ask of the banks: one instruction at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.memory import BANK_BYTES, BANKS, LANES, Accesses, group_lanes

Ints = NDArray[np.int64]

_MATRIX_ROW_BYTES = 16
_MATRIX_LANES = {"x1": 8, "x2": 16, "x4": 32}


@dataclass(frozen=True)
class Group:
    """Lanes of one instruction that are served together.

    Attributes:
        first: The first lane; likewise ``last``.
        banks: Banks that are asked for a word.
        bank: The busiest of them, -1 where no lane takes part.
        passes: What that bank is asked for: distinct words, or lanes where words are not shared.
        counts: What every bank is asked for, the different numbers, largest first.
        lanes: Lanes that ask the busiest bank; likewise ``words``, the words they want.
    """

    first: int
    last: int
    banks: int
    bank: int
    passes: int
    counts: tuple[int, ...]
    lanes: tuple[int, ...]
    words: tuple[int, ...]


def width_of(accesses: Accesses) -> int:
    """Return the bytes that one lane's address stands for."""
    return _MATRIX_ROW_BYTES if "matrix" in accesses.op else accesses.bytes


def shares_words(accesses: Accesses) -> bool:
    """Return whether lanes that want one word are served together."""
    return not accesses.op.startswith(("ldgsts", "atom"))


def live_lanes(accesses: Accesses, row: int) -> NDArray[np.bool_]:
    """Return which lanes of an instruction count; matrices take the addresses of the first ones."""
    live = accesses.active[row]
    if "matrix" in accesses.op:
        used = _MATRIX_LANES.get(accesses.op.rpartition(".")[2], LANES)
        return np.asarray(live & (np.arange(LANES) < used))
    return np.asarray(live)


def pairs_agree(accesses: Accesses, row: int) -> bool:
    """Return whether the pair rule doubles the groups of an instruction.

    Example:
        >>> pairs = Accesses.of(16 * (np.arange(32) // 2), space="shared", op="ld", bytes=16)
        >>> pairs_agree(pairs, 0), len(groups_of(pairs, 0))
        (True, 2)
    """
    if accesses.op != "ld" or accesses.bytes < 8:
        return False
    lane, live, address = np.arange(LANES), accesses.active[row], accesses.addresses[row]
    return any(
        bool((~live | ~live[lane ^ apart] | (address == address[lane ^ apart])).all())
        for apart in (1, 2)
    )


def groups_of(accesses: Accesses, row: int) -> tuple[Group, ...]:
    """Return the groups of one instruction that have an active lane.

    Example:
        >>> column = Accesses.of(128 * np.arange(32), space="shared", op="ld", bytes=4)
        >>> found, = groups_of(column, 0)
        >>> found.bank, found.passes, found.counts, found.lanes[:3]
        (0, 32, (32, 0), (0, 1, 2))
    """
    live = live_lanes(accesses, row)
    size = group_lanes(accesses.op, accesses.bytes) * (2 if pairs_agree(accesses, row) else 1)
    found = []
    for first in range(0, LANES, size):
        lanes = np.arange(first, first + size)
        lanes = lanes[live[lanes]]
        if lanes.size:
            found.append(_group(accesses, row, first, first + size - 1, lanes))
    return tuple(found)


def _group(accesses: Accesses, row: int, first: int, last: int, lanes: Ints) -> Group:
    """Count what each bank is asked for."""
    words = _words(accesses, row, lanes)
    counts = _counted(accesses, words)
    bank = int(counts.argmax())
    meet = (words % BANKS == bank).any(axis=1)
    wanted = words[meet][words[meet] % BANKS == bank]
    return Group(
        first,
        last,
        int(np.count_nonzero(counts)),
        bank,
        int(counts.max()),
        tuple(np.unique(counts)[::-1].tolist()),
        tuple(lanes[meet].tolist()),
        tuple(wanted.tolist()),
    )


def _words(accesses: Accesses, row: int, lanes: Ints) -> Ints:
    """Return the words that lanes want, ``[lane, word]``."""
    each = max(width_of(accesses) // BANK_BYTES, 1)
    found: Ints = (accesses.addresses[row, lanes] // BANK_BYTES)[:, None] + np.arange(each)
    return found


def _counted(accesses: Accesses, words: Ints) -> Ints:
    """Return what each bank is asked for: different words, or lanes where these do not share."""
    asked = np.unique(words) if shares_words(accesses) else words.ravel()
    return np.bincount(asked % BANKS, minlength=BANKS)


def asked_of(accesses: Accesses, row: int, group: Group) -> Ints:
    """Return what each bank is asked for by a group of an instruction."""
    lanes = np.arange(group.first, group.last + 1)
    lanes = lanes[live_lanes(accesses, row)[lanes]]
    return _counted(accesses, _words(accesses, row, lanes))


def passes_of(accesses: Accesses, row: int) -> int:
    """Return the wavefronts of one instruction."""
    return sum(group.passes for group in groups_of(accesses, row))
