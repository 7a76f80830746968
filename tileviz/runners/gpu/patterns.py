"""Shared-memory access patterns, made ready for the clock: which to run, and what they cost.

What a bank conflict costs is not read from tables but measured beside the patterns, with strides
whose conflicts are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.memory import LANES, Accesses, judge

INACTIVE = 0xFFFFFFFF
WAYS = (1, 2, 4, 8, 16, 32)

_ROW_BYTES = 128
_MOST_PATTERNS = 64
_MOST_OF_A_LINE = 8
_OPS = {"ld", "st", "ldmatrix.x1", "ldmatrix.x2", "ldmatrix.x4"}

Offsets = NDArray[np.uint32]


@dataclass(frozen=True)
class CyclePattern:
    """One pattern to run: ``offsets`` are 32 byte offsets in shared memory, or ``INACTIVE``."""

    op: str
    bytes: int
    offsets: tuple[int, ...]

    @property
    def probe(self) -> str:
        """Name of the kernel that runs it."""
        op = self.op.replace(".", "_")
        return f"probe_{op}" if op.startswith("ldmatrix") else f"probe_{op}_{self.bytes}"


@dataclass(frozen=True)
class CycleRow:
    """Cycles of the shared accesses of one source line, beside those of conflict-free ones.

    Attributes:
        line: 1-based source line, or None.
        op: As in ``Accesses``.
        bytes: Bytes per lane.
        wavefronts: Mean wavefronts of one access, by the rules.
        ideal: Mean of the fewest possible.
        cycles: Cycles of one access, by the clock.
        free_cycles: Cycles of a conflict-free access of that kind.
    """

    line: int | None
    op: str
    bytes: int
    wavefronts: float
    ideal: float
    cycles: float
    free_cycles: float


@dataclass(frozen=True)
class _Line:
    """The patterns of one line: positions in the list of patterns, and how often each occurs."""

    line: int | None
    op: str
    bytes: int
    wavefronts: float
    ideal: float
    members: tuple[tuple[int, int], ...]


class CycleStudy:
    """Chooses the patterns to run for some accesses, and reads the result.

    Args:
        accesses: Those of a kernel; global ones are left out.
    """

    def __init__(self, accesses: Sequence[Accesses]) -> None:
        self._patterns: dict[CyclePattern, int] = {}
        self._calibration = {
            op: [self._add(strided(ways, op)) for ways in WAYS] for op in ("ld", "st")
        }
        self._lines: list[_Line] = []
        for group in _grouped(accesses):
            self._add_line(group)

    @property
    def needed(self) -> bool:
        """Whether there is any shared access to time."""
        return bool(self._lines)

    @property
    def patterns(self) -> tuple[CyclePattern, ...]:
        """What to run, in order."""
        return tuple(self._patterns)

    def rows(self, cycles: Sequence[float]) -> tuple[CycleRow, ...]:
        """Return the cost of each line, given the cycles of each pattern."""
        found = []
        for line in self._lines:
            weights = np.array([count for _, count in line.members], float)
            values = np.array([cycles[index] for index, _ in line.members])
            free = cycles[self._patterns[free_pattern(line.op, line.bytes)]]
            mean = float((values * weights).sum() / weights.sum())
            found.append(
                CycleRow(line.line, line.op, line.bytes, line.wavefronts, line.ideal, mean, free)
            )
        return tuple(found)

    def calibration(self, cycles: Sequence[float]) -> dict[str, tuple[float, ...]]:
        """Return cycles of one 4-byte load and store with 1, 2, 4, 8, 16 and 32 wavefronts."""
        return {
            op: tuple(cycles[index] for index in members)
            for op, members in self._calibration.items()
        }

    def _add(self, pattern: CyclePattern) -> int:
        return self._patterns.setdefault(pattern, len(self._patterns))

    def _add_line(self, group: Accesses) -> None:
        offsets = compacted(group)
        unique, counts = np.unique(offsets, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:_MOST_OF_A_LINE]
        if len(self._patterns) + len(order) + 1 > _MOST_PATTERNS:
            return
        self._add(free_pattern(group.op, group.bytes))
        members = []
        for index in order:
            pattern = CyclePattern(group.op, group.bytes, tuple(int(o) for o in unique[index]))
            members.append((self._add(pattern), int(counts[index])))
        verdict = judge(group)
        executions = max(group.executions, 1)
        self._lines.append(
            _Line(
                group.line,
                group.op,
                group.bytes,
                (verdict.wavefronts or 0) / executions,
                verdict.ideal / executions,
                tuple(members),
            )
        )


def strided(ways: int, op: str) -> CyclePattern:
    """Return a 4-byte access of known cost: lanes ``ways`` words apart share banks.

    Example:
        >>> strided(2, "ld").offsets[:3]
        (0, 8, 16)
    """
    return CyclePattern(op, 4, tuple(4 * ways * lane for lane in range(LANES)))


def free_pattern(op: str, width: int) -> CyclePattern:
    """Return the conflict-free access of a kind: neighbouring lanes, neighbouring words."""
    return CyclePattern(op, width, tuple(width * lane for lane in range(LANES)))


def compacted(accesses: Accesses) -> Offsets:
    """Return offsets with the same banks and the same equal words, in little memory.

    Each access keeps its place in the 128-byte row; its rows are numbered from 0.

    Returns:
        uint32, shape ``[instruction, lane]``; ``INACTIVE`` where a lane takes no part.

    Example:
        >>> far = Accesses.of(1 << 20 | 128 * np.arange(32), space="shared", op="ld", bytes=4)
        >>> compacted(far)[0, :3].tolist()
        [0, 128, 256]
    """
    rows, within = np.divmod(accesses.addresses, _ROW_BYTES)
    rows = np.where(accesses.active, rows, np.iinfo(np.int64).max)
    # Rank of each lane's row among the distinct rows of its instruction, 32 lanes at a time.
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    steps = np.zeros(rows.shape, np.int64)
    steps[:, 1:] = np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1)
    ranks = np.empty_like(steps)
    np.put_along_axis(ranks, order, steps, axis=1)
    offsets = ranks * _ROW_BYTES + within
    if accesses.op.startswith("ldmatrix"):
        # All lanes execute it; those that give no address may hold any that is valid.
        first = np.where(accesses.active, offsets, np.iinfo(np.int64).max).min(axis=1)
        return np.where(accesses.active, offsets, first[:, None]).astype(np.uint32)
    return np.where(accesses.active, offsets, INACTIVE).astype(np.uint32)


def _grouped(accesses: Sequence[Accesses]) -> list[Accesses]:
    """Return shared accesses that a probe can run, one group a line and kind."""
    groups: dict[tuple[object, ...], list[Accesses]] = {}
    for item in accesses:
        if item.space == "shared" and item.op in _OPS and item.executions:
            groups.setdefault((item.line, item.op, item.bytes), []).append(item)
    return [
        Accesses.of(
            np.concatenate([part.addresses for part in parts]),
            active=np.concatenate([part.active for part in parts]),
            space="shared",
            op=parts[0].op,
            bytes=parts[0].bytes,
            line=parts[0].line,
        )
        for parts in groups.values()
    ]
