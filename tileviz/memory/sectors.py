"""Global-memory sectors and lines: what a warp instruction moves, and how much of it is used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.memory.accesses import Accesses

SECTOR_BYTES = 32
LINE_BYTES = 128


@dataclass(frozen=True, eq=False)
class SectorVerdict:
    """What one request moves, per warp instruction.

    Attributes:
        sectors: Distinct 32-byte sectors, int64 ``[instruction]``.
        lines: Distinct 128-byte lines, int64 ``[instruction]``.
        bytes_used: Distinct bytes that lanes asked for, int64 ``[instruction]``.
        ideal: Fewest sectors that could hold those bytes, int64 ``[instruction]``.
    """

    sectors: NDArray[np.int64]
    lines: NDArray[np.int64]
    bytes_used: NDArray[np.int64]
    ideal: NDArray[np.int64]


def global_sectors(accesses: Accesses) -> SectorVerdict:
    """Count the sectors and lines of every warp instruction.

    Args:
        accesses: Global-memory accesses, each address a multiple of ``accesses.bytes``.

    Source: one request per warp instruction, a sector per distinct 32-byte block over the active
    lanes; measured on sm_86, sm_110, sm_120 and sm_121 (``docs/memory_rules.md``).

    Example:
        >>> import numpy as np
        >>> rows = Accesses.of(8 * np.arange(32), space="global", op="ld", bytes=4)
        >>> verdict = global_sectors(rows)
        >>> int(verdict.sectors[0]), int(verdict.ideal[0]), int(verdict.bytes_used[0])
        (8, 4, 128)
    """
    ordered, keep = _sorted(accesses)
    distinct = _count(ordered, keep, 1)
    used = distinct * accesses.bytes
    return SectorVerdict(
        sectors=_count(ordered, keep, SECTOR_BYTES),
        lines=_count(ordered, keep, LINE_BYTES),
        bytes_used=used,
        ideal=-(-used // SECTOR_BYTES),
    )


def _sorted(accesses: Accesses) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return each row's addresses in ascending order, inactive lanes last and masked out."""
    last = np.iinfo(np.int64).max
    rows = np.where(accesses.active, accesses.addresses, last)
    if (rows[:, 1:] < rows[:, :-1]).any():
        rows = np.sort(rows, axis=1)
    return rows, rows != last


def _count(rows: NDArray[np.int64], keep: NDArray[np.bool_], block: int) -> NDArray[np.int64]:
    """Return how many distinct blocks of ``block`` bytes each ascending row touches."""
    blocks = rows // block if block > 1 else rows
    fresh = keep[:, 1:] & (blocks[:, 1:] != blocks[:, :-1])
    counts: NDArray[np.int64] = fresh.sum(axis=1) + keep[:, 0]
    return counts
