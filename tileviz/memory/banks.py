"""Shared-memory wavefronts: how many passes 32 banks need for one warp instruction.

The rule, with its evidence, is in ``docs/memory_rules.md``. In short: a warp instruction is served
in groups of lanes; within a group every bank delivers one 4-byte word a pass, to all lanes that
want that word; the group takes as many passes as its busiest bank holds distinct words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.memory.accesses import LANES, Accesses

BANKS = 32
BANK_BYTES = 4

# Operations whose lanes never share a delivered word: every lane's word costs its own pass.
_NO_MERGING = ("ldgsts", "atom")
# Lanes that carry row addresses, by the matrix count of ldmatrix and stmatrix.
_MATRIX_LANES = {"x1": 8, "x2": 16, "x4": 32}
_MATRIX_ROW_BYTES = 16
# Instructions judged at once: small enough for the scratch arrays to stay in cache (1.5x faster).
_BATCH = 1 << 12


@dataclass(frozen=True, eq=False)
class BankVerdict:
    """What the banks need, per warp instruction.

    Attributes:
        wavefronts: Passes in all, int64 ``[instruction]``.
        ideal: Passes with no conflict (the number of active groups), int64 ``[instruction]``.
        n_way: Most passes of one group, int64 ``[instruction]``.
        passes: Passes of each group, int64 ``[instruction, group]``; 0 for a group with no active
            lane. Where instructions differ in group size, the unused trailing groups are 0.
        merged: Whether the pair rule doubled the group size, bool ``[instruction]``.
    """

    wavefronts: NDArray[np.int64]
    ideal: NDArray[np.int64]
    n_way: NDArray[np.int64]
    passes: NDArray[np.int64]
    merged: NDArray[np.bool_]


def group_lanes(op: str, bytes: int) -> int:
    """Return how many consecutive lanes are served together, before the pair rule.

    Example:
        >>> [group_lanes("ld", width) for width in (1, 2, 4, 8, 16)]
        [32, 32, 32, 16, 8]
    """
    if "matrix" in op:
        return 8
    return LANES if bytes <= BANK_BYTES else LANES * BANK_BYTES // bytes


def shared_wavefronts(accesses: Accesses) -> BankVerdict:
    """Count the shared-memory wavefronts of every warp instruction.

    Args:
        accesses: Shared-memory accesses, each address a multiple of ``accesses.bytes``.

    Returns:
        The verdict per instruction.

    Source: the rules of ``docs/memory_rules.md``, which reproduce 151 published measurements.

    Example:
        >>> import numpy as np
        >>> column = Accesses.of(128 * np.arange(32), space="shared", op="ld", bytes=4)
        >>> verdict = shared_wavefronts(column)
        >>> int(verdict.wavefronts[0]), int(verdict.ideal[0])
        (32, 1)
    """
    starts = range(0, max(accesses.executions, 1), _BATCH)
    parts = [_judge_batch(accesses, slice(start, start + _BATCH)) for start in starts]
    if len(parts) == 1:
        return parts[0]
    columns = max(part.passes.shape[1] for part in parts)
    padded = [np.pad(p.passes, ((0, 0), (0, columns - p.passes.shape[1]))) for p in parts]
    return BankVerdict(
        np.concatenate([p.wavefronts for p in parts]),
        np.concatenate([p.ideal for p in parts]),
        np.concatenate([p.n_way for p in parts]),
        np.concatenate(padded),
        np.concatenate([p.merged for p in parts]),
    )


def _judge_batch(accesses: Accesses, rows: slice) -> BankVerdict:
    addresses, active = accesses.addresses[rows], accesses.active[rows]
    width = _MATRIX_ROW_BYTES if "matrix" in accesses.op else accesses.bytes
    if "matrix" in accesses.op:
        used = np.arange(LANES) < _MATRIX_LANES.get(accesses.op.rpartition(".")[2], LANES)
        active = active & used
    size = group_lanes(accesses.op, accesses.bytes)
    distinct = not accesses.op.startswith(_NO_MERGING)
    merged = _pairs_agree(addresses, active, accesses.op, width)
    passes = np.zeros((len(addresses), LANES // size), dtype=np.int64)
    ideal = np.zeros(len(addresses), dtype=np.int64)
    for double in (False, True):
        pick = merged if double else ~merged
        if not pick.any():
            continue
        rows_picked: slice | NDArray[np.bool_] = slice(None) if pick.all() else pick
        lanes = 2 * size if double else size
        live = active[rows_picked]
        groups = _passes(addresses[rows_picked], live, width, lanes, distinct)
        passes[rows_picked, : groups.shape[1]] = groups
        ideal[rows_picked] = np.count_nonzero(groups, axis=1)
    return BankVerdict(passes.sum(axis=1), ideal, passes.max(axis=1, initial=0), passes, merged)


def _pairs_agree(
    addresses: NDArray[np.int64], active: NDArray[np.bool_], op: str, width: int
) -> NDArray[np.bool_]:
    """Return where the pair rule doubles the group of an 8- or 16-byte load.

    It does when, for a partner distance of 1 or of 2 lanes, every active lane's partner is
    inactive or wants the same address, over the whole warp.
    """
    result = np.zeros(len(addresses), dtype=bool)
    if op != "ld" or width < 8:
        return result
    for distance in (1, 2):
        # Lanes i and i ^ distance, side by side on axis 2.
        pairs = (len(addresses), LANES // (2 * distance), 2, distance)
        address, live = addresses.reshape(pairs), active.reshape(pairs)
        differs = address[:, :, 0] != address[:, :, 1]
        differs &= live[:, :, 0]
        differs &= live[:, :, 1]
        result |= ~differs.any(axis=(1, 2))
    return result


def _passes(
    addresses: NDArray[np.int64],
    active: NDArray[np.bool_],
    width: int,
    lanes: int,
    distinct: bool,
) -> NDArray[np.int64]:
    """Return passes ``[instruction, group]`` for groups of ``lanes`` consecutive lanes.

    An aligned wide access takes 2 or 4 neighbouring banks whole, so it is enough to count these
    slots of banks: 16 slots for 8 bytes, 8 for 16.
    """
    unit = max(width, BANK_BYTES)
    units = addresses.reshape(-1, lanes) // unit
    mask = active.reshape(-1, lanes)
    slots = BANKS * BANK_BYTES // unit
    if not distinct:
        return _busiest(units, mask, slots).reshape(len(addresses), -1)
    # Only a slot met twice can hold a word wanted twice: the rest needs no sorting.
    wanted = np.full(len(mask), lanes) if mask.all() else np.count_nonzero(mask, axis=1)
    result: NDArray[np.int64] = np.minimum(wanted, 1)
    met = np.bitwise_count(_slots_met((units & (slots - 1)).astype(np.uint32), mask))
    doubtful = np.flatnonzero(met != wanted)
    if doubtful.size:
        kept, keep = _drop_repeats(units[doubtful], mask[doubtful])
        result[doubtful] = _busiest(kept, keep, slots)
    return result.reshape(len(addresses), -1)


def _slots_met(slots: NDArray[np.uint32], mask: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return, per row, one bit for every slot that an active lane wants."""
    bits = np.uint32(1) << slots
    if not mask.all():
        bits[~mask] = 0
    # Folding halves is several times faster than a reduction over so short an axis.
    while bits.shape[1] > 1:
        half = bits.shape[1] // 2
        bits = bits[:, :half] | bits[:, half:]
    folded: NDArray[np.uint32] = bits[:, 0]
    return folded


def _busiest(units: NDArray[np.int64], mask: NDArray[np.bool_], slots: int) -> NDArray[np.int64]:
    """Return, per row, the most entries that meet in one slot of banks."""
    rows = len(units)
    cells = units & (slots - 1)
    cells += slots * np.arange(rows, dtype=np.int64)[:, None]
    chosen = cells.ravel() if mask.all() else cells[mask]
    counts = np.bincount(chosen, minlength=rows * slots).reshape(rows, slots)
    busiest: NDArray[np.int64] = counts.max(axis=1)
    return busiest


def _drop_repeats(
    units: NDArray[np.int64], mask: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Sort each row and keep one entry of every distinct unit."""
    low = int(units.min(initial=0))
    none = int(units.max(initial=0)) - low + 1
    # Small keys sort several times faster; shared memory always fits 16 bits.
    kind = np.uint16 if none < 1 << 16 else np.int64
    keys = np.sort(np.where(mask, units - low, none).astype(kind), axis=1)
    keep = keys != none
    keep[:, 1:] &= keys[:, 1:] != keys[:, :-1]
    return keys.astype(np.int64) + low, keep


def bank_load(accesses: Accesses) -> NDArray[np.int64]:
    """Return how many passes each lane's bank needs within its group.

    Args:
        accesses: Shared-memory accesses.

    Returns:
        int64 ``[instruction, lane]``: distinct words (lanes, where words are not merged) that the
        lane's first bank serves in the lane's group; 0 for an inactive lane.

    Example:
        >>> import numpy as np
        >>> two_way = Accesses.of(8 * np.arange(32), space="shared", op="ld", bytes=4)
        >>> bank_load(two_way)[0, :3].tolist()
        [2, 2, 2]
    """
    width = _MATRIX_ROW_BYTES if "matrix" in accesses.op else accesses.bytes
    merged = _pairs_agree(accesses.addresses, accesses.active, accesses.op, width)
    size = np.where(merged, 2, 1) * group_lanes(accesses.op, accesses.bytes)
    group = np.arange(LANES) // size[:, None]
    unit = max(width, BANK_BYTES)
    units = accesses.addresses // unit
    slots = BANKS * BANK_BYTES // unit
    together = (group[:, :, None] == group[:, None, :]) & accesses.active[:, None, :]
    together &= (units[:, :, None] - units[:, None, :]) % slots == 0
    if not accesses.op.startswith(_NO_MERGING):
        # Of lanes that want the same word, only the first counts.
        same = together & (units[:, :, None] == units[:, None, :])
        first = np.tril(same, -1).any(axis=2)
        together &= ~first[:, None, :]
    load: NDArray[np.int64] = together.sum(axis=2)
    return np.where(accesses.active, load, 0)
