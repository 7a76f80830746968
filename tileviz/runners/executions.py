"""A bounded sample of a run's accesses, execution by execution, for pictures over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.emulator.problems import Coordinates
from tileviz.memory import LANES, Accesses, Space, Verdict, judge
from tileviz.runners.compare import AccessRow

# A slider with more stops cannot be hit.
MAX_STOPS = 200
# Executions kept of a whole run: 0.7 MB.
MAX_KEPT = 4096
# Rows with a picture, those with the most excess.
_MAX_ROWS = 256

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Executions:
    """Some executions of one source line's access, in the order in which they were recorded.

    Attributes:
        space: ``"shared"`` or ``"global"``.
        op: As in ``Accesses``.
        bytes: Bytes per lane.
        addresses: Byte addresses, int32 where they fit, ``[stop, lane]``.
        active: Which lanes take part, bool, same shape.
        number: Which of all executions each is, from 0, int64 ``[stop]``.
        warp: The warp of the launch, as in ``Accesses``, int64 ``[stop]``.
        instance: How often that warp had executed it before, int64 ``[stop]``.
        cost: Wavefronts or sectors, int64 ``[stop]``.
        ideal: Fewest possible, int64 ``[stop]``.
        buffers: The buffer of each, "" where unknown.
        total: Executions in all.
        worst: The stop with the most excess of all executions.
        n_way: Most passes that one group of lanes needs in it; 0 for global memory.
        used: Bytes that lanes of it ask for.
    """

    space: Space
    op: str
    bytes: int
    addresses: NDArray[np.integer]
    active: NDArray[np.bool_]
    number: Ints
    warp: Ints
    instance: Ints
    cost: Ints
    ideal: Ints
    buffers: tuple[str, ...]
    total: int
    worst: int
    n_way: int
    used: int

    @property
    def stops(self) -> int:
        """How many executions were kept."""
        return len(self.number)

    def accesses(self, stop: int) -> Accesses:
        """Return one kept execution."""
        return Accesses.of(
            self.addresses[stop],
            space=self.space,
            op=self.op,
            bytes=self.bytes,
            active=self.active[stop],
            buffer=self.buffers[stop],
        )


@dataclass(frozen=True)
class Place:
    """Which warp of a launch an execution belongs to.

    Attributes:
        block: Block index x, y, z.
        warp: Warp in the block.
    """

    block: Coordinates
    warp: int


def place(warp: int, grid: Coordinates, block: Coordinates) -> Place:
    """Return block and warp of a warp's number in the launch.

    Args:
        warp: As in ``Accesses.warps``.
        grid: Blocks in x, y, z.
        block: Threads in x, y, z.

    Example:
        >>> place(17, (2, 2, 1), (32, 8, 1))
        Place(block=(0, 1, 0), warp=1)
    """
    each = -(-block[0] * block[1] * block[2] // LANES)
    linear, inner = divmod(warp, each)
    x, y, _ = grid
    return Place((linear % x, linear // x % y, linear // (x * y)), inner)


def kept(rows: Sequence[AccessRow], measured: Sequence[Accesses]) -> tuple[Executions | None, ...]:
    """Return a sample of the executions of each row; None for rows that have none or no room.

    Every row that is kept has at most ``MAX_STOPS``, all rows together about ``MAX_KEPT``. The
    executions are evenly spread, and the worst is always among them.

    Args:
        rows: The rows of a run.
        measured: Its accesses.

    Example:
        >>> column = Accesses.of(128 * np.arange(32), space="shared", op="ld", bytes=4, line=3)
        >>> from tileviz.runners.compare import compare
        >>> found, = kept(compare([], [column]), [column])
        >>> found.stops, found.cost.tolist(), found.n_way
        (1, [32], 32)
    """
    parts: dict[tuple[object, ...], list[Accesses]] = {}
    for accesses in measured:
        if accesses.executions:
            key = (accesses.line, accesses.space, accesses.op, accesses.bytes)
            parts.setdefault(key, []).append(accesses)
    keys = [(row.line, row.space, row.op, row.bytes) for row in rows]
    there = [index for index, key in enumerate(keys) if key in parts]
    chosen = sorted(there, key=lambda index: -excess(rows[index]))[:_MAX_ROWS]
    most = min(MAX_STOPS, max(MAX_KEPT // max(len(chosen), 1), 2))
    found = {index: _sample(parts[keys[index]], most) for index in chosen}
    return tuple(found.get(index) for index in range(len(rows)))


def excess(row: AccessRow) -> int:
    """Return what a row pays above the ideal, in wavefronts or sectors."""
    paid = row.measured.sectors if row.measured.wavefronts is None else row.measured.wavefronts
    return (paid or 0) - row.measured.ideal


def _sample(parts: Sequence[Accesses], most: int) -> Executions:
    verdicts = [judge(part) for part in parts]
    cost = np.concatenate([_costs(verdict) for verdict in verdicts])
    ideal = np.concatenate([_ideals(verdict) for verdict in verdicts])
    total = len(cost)
    warp = np.concatenate([_warps(part) for part in parts])
    top = int(np.argmax(cost - ideal))
    picked = np.unique([*np.linspace(0, total - 1, min(most - 1, total)).astype(int), top])
    ends = np.cumsum([part.executions for part in parts])
    owner = np.searchsorted(ends, picked, side="right")
    inner = picked - (ends - [part.executions for part in parts])[owner]
    of = [(part, inner[owner == index]) for index, part in enumerate(parts)]
    addresses = np.concatenate([part.addresses[which] for part, which in of])
    active = np.concatenate([part.active[which] for part, which in of])
    if int(np.abs(addresses[active]).max(initial=0)) < 1 << 31:
        addresses = np.where(active, addresses, 0).astype(np.int32)
    one = parts[0]
    n_way, used = _in_the_worst(parts, verdicts, top)
    return Executions(
        one.space,
        one.op,
        one.bytes,
        addresses,
        active,
        picked,
        warp[picked],
        _instances(warp)[picked],
        cost[picked],
        ideal[picked],
        tuple(parts[index].buffer for index in owner.tolist()),
        total,
        int(np.searchsorted(picked, top)),
        n_way,
        used,
    )


def _costs(verdict: Verdict) -> Ints:
    if verdict.banks is not None:
        return verdict.banks.wavefronts
    assert verdict.requests is not None
    return verdict.requests.sectors


def _ideals(verdict: Verdict) -> Ints:
    if verdict.banks is not None:
        return verdict.banks.ideal
    assert verdict.requests is not None
    return verdict.requests.ideal


def _warps(part: Accesses) -> Ints:
    return np.zeros(part.executions, np.int64) if part.warps is None else part.warps


def _instances(warp: Ints) -> Ints:
    """Return, for each execution, how many of the same warp came before it.

    Example:
        >>> _instances(np.array([5, 2, 5, 5, 2])).tolist()
        [0, 0, 1, 2, 1]
    """
    order = np.argsort(warp, kind="stable")
    ordered = warp[order]
    start = np.searchsorted(ordered, ordered)
    result = np.empty(len(warp), np.int64)
    result[order] = np.arange(len(warp)) - start
    return result


def _in_the_worst(
    parts: Sequence[Accesses], verdicts: Sequence[Verdict], top: int
) -> tuple[int, int]:
    """Return the passes of the busiest group, and the bytes asked for, of one execution."""
    for part, verdict in zip(parts, verdicts, strict=True):
        if top < part.executions:
            if verdict.banks is not None:
                active = int(part.active[top].sum())
                return int(verdict.banks.n_way[top]), active * part.bytes
            assert verdict.requests is not None
            return 0, int(verdict.requests.bytes_used[top])
        top -= part.executions
    raise IndexError(top)
