"""Our own schedule: always there where the move is one-to-one, and optimal with its proof.

In this order: a schedule of the reference's XOR family if it reaches the bound on hardware; a
formula over F2 where both layouts are linear; else a table, found by edge colouring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tileviz.layouts.f2 import Columns, image_table, linear_columns, sum_table
from tileviz.memory import (
    BANK_BYTES,
    LANES,
    Accesses,
    Space,
    group_lanes,
    judge,
    shared_evidence,
)
from tileviz.studies.permute.coalescing import global_schedule
from tileviz.studies.permute.colouring import group_elements
from tileviz.studies.permute.lane_space import LaneSpace, lane_space
from tileviz.studies.permute.moves import MAX_PER_LANE, Move, NoSchedule
from tileviz.studies.permute.schedule import Kind, Ours, OwnSchedule, Phase, XorSchedule
from tileviz.studies.permute.word_blocks import WordBlocks, word_blocks

Offsets = NDArray[np.int64]
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


@dataclass(frozen=True, eq=False)
class Items:
    """What lanes move in shared memory, one item an access: elements, or words of smaller ones.

    Attributes:
        move: The move.
        elements: First element of every item, int64 ``[item]``.
        bytes: Bytes per item.
        source: Element offset of every item in the source; likewise ``target``.
    """

    move: Move
    elements: Offsets
    bytes: int
    source: Offsets
    target: Offsets

    @classmethod
    def of(cls, move: Move) -> Items:
        """Take whole 4-byte words where both layouts keep them together, else elements."""
        width = move.element_bytes
        words = _words(move) if width < BANK_BYTES and move.word_aligned else None
        if words is not None:
            return cls(move, words, BANK_BYTES, move.source[words], move.target[words])
        return cls(move, np.arange(move.volume), width, move.source, move.target)

    @property
    def lanes(self) -> int:
        """Lanes of one access group; also the number of bank slots."""
        return group_lanes("ld", self.bytes)

    def units(self, offsets: Offsets) -> Offsets:
        """Return the bank-wide unit that each offset lies in: a word, or an 8- or 16-byte pair."""
        return offsets * self.move.element_bytes // max(self.bytes, BANK_BYTES)

    def slots(self, offsets: Offsets) -> Offsets:
        """Return the bank slot of each offset."""
        return self.units(offsets) & (self.lanes - 1)

    def bound(self, offsets: Offsets) -> int:
        """Return the passes that no order avoids: the most units that share one slot."""
        units = self.units(offsets)
        if self.bytes < BANK_BYTES:
            units = np.unique(units)
        return int(np.bincount(units & (self.lanes - 1)).max())


def _words(move: Move) -> Offsets | None:
    """Return the first element of every 4-byte word, if both layouts hold whole words alike."""
    count = BANK_BYTES // move.element_bytes
    if move.volume % count:
        return None
    order = np.argsort(move.source, kind="stable")
    run = np.arange(count)
    for offsets in (move.source[order].reshape(-1, count), move.target[order].reshape(-1, count)):
        first = offsets[:, :1]
        if (first % count).any() or not np.array_equal(offsets, first + run):
            return None
    return np.sort(order.reshape(-1, count)[:, 0])


def own_schedule(move: Move, space: Space, family: Sequence[XorSchedule]) -> Ours:
    """Return our schedule for one warp and stage.

    Args:
        move: What moves.
        space: Shared or global memory.
        family: The reference's XOR schedules, where they address these very elements.

    Raises:
        NoSchedule: There is none; the message says why.
    """
    if space == "global":
        return global_schedule(move, family)
    return shared_schedule(move, family)


def shared_schedule(move: Move, family: Sequence[XorSchedule]) -> Ours:
    """Return our schedule for shared memory.

    Args:
        move: What moves.
        family: The reference's XOR schedules, where they address these very elements.

    Raises:
        NoSchedule: More accesses are needed than a lane has registers for.
    """
    items = Items.of(move)
    read, write = items.bound(items.source), items.bound(items.target)
    bound = max(read, write)
    for schedule in family:
        if schedule.read.cost <= bound and schedule.write.cost <= bound:
            passes = max(schedule.read.cost, schedule.write.cost)
            return Ours("xor", passes, bound, schedule, _proof(items, read, write, "xor", bound))
    blocks = word_blocks(move) if items.bytes < BANK_BYTES else None
    if blocks is not None:
        own = _permuted(move, blocks, bound)
        return Ours("f2", bound, bound, own, _proof(items, read, write, "f2", bound))
    found = _formula(items)
    if found is not None:
        space, chosen = found
        own = _own(items, chosen, None, space, read, write, free=items.bytes >= BANK_BYTES)
        groups = max(own.read.cost, own.write.cost)
        return Ours("f2", groups, bound, own, _proof(items, read, write, "f2", groups))
    own = _table(items, read, write)
    groups = max(own.read.cost, own.write.cost)
    for schedule in family:
        passes = max(schedule.read.cost, schedule.write.cost)
        if schedule.cost <= own.cost and passes <= groups:
            proof = _proof(items, read, write, "xor", passes)
            return Ours("xor", passes, bound, schedule, proof)
    return Ours("table", groups, bound, own, _proof(items, read, write, "table", groups))


def _formula(items: Items) -> tuple[LaneSpace, Offsets] | None:
    """Return a lane space and the item of every register and lane, if both layouts are linear."""
    # Both fill every slot alike, or the linear maps do not reach every slot.
    if len(items.elements) % items.lanes or linear_columns(items.elements) is None:
        return None
    columns = [_slot_columns(items, offsets) for offsets in (items.source, items.target)]
    if columns[0] is None or columns[1] is None:
        return None
    space = lane_space(columns[0], columns[1], items.lanes.bit_length() - 1)
    if space is None:
        return None
    lanes, registers = image_table(space.lanes), image_table(space.registers)
    return space, registers[:, None] ^ lanes


def _permuted(move: Move, blocks: WordBlocks, passes: int) -> OwnSchedule:
    """Return the schedule that reads and writes whole words and permutes bytes in between."""
    chosen, written = (
        image_table(space.registers)[:, None] ^ image_table(space.lanes)
        for space in (blocks.reads, blocks.writes)
    )
    phases = [
        Phase(
            offsets,
            "shared",
            op,
            BANK_BYTES,
            passes,
            passes,
            1,
            shared_evidence(op, BANK_BYTES),
            move.element_bytes,
        )
        for op, offsets in (("ld", move.source[chosen]), ("st", move.target[written]))
    ]
    every = np.arange(move.volume)
    return OwnSchedule(chosen, phases[0], phases[1], "f2", every, chosen, blocks.reads, blocks)


def _slot_columns(items: Items, offsets: Offsets) -> Columns | None:
    """Return the bank slot of every item bit, if slots are linear and offsets can be printed."""
    size = len(offsets)
    units = items.units(offsets)
    weights = units[1 << np.arange(size.bit_length() - 1)] - units[0]
    if np.array_equal(sum_table(weights.tolist()), units - units[0]):
        return linear_columns((units - units[0]) & (items.lanes - 1))
    if linear_columns(units ^ units[0]) is None:
        return None
    return linear_columns((units ^ units[0]) & (items.lanes - 1))


def _table(items: Items, read: int, write: int) -> OwnSchedule:
    """Colour the bank graph and lay its groups out over lanes and registers."""
    grouping = group_elements(items.slots(items.source), items.slots(items.target), items.lanes)
    per_access = LANES // items.lanes
    registers = -(-grouping.count // per_access)
    if registers > MAX_PER_LANE:
        raise NoSchedule(
            f"{grouping.bound} items share one bank, so a lane would hold {registers}; "
            f"at most {MAX_PER_LANE} are held"
        )
    # Fullest groups first, and within a group in the order of the source.
    sizes = np.bincount(grouping.group, minlength=grouping.count)
    name = np.empty_like(sizes)
    name[np.argsort(-sizes, kind="stable")] = np.arange(grouping.count)
    groups = name[grouping.group]
    order = np.lexsort((items.source, groups))
    group = groups[order]
    rank = np.arange(len(order)) - np.searchsorted(group, group)
    chosen = np.zeros((registers, LANES), dtype=np.int64)
    active = np.zeros((registers, LANES), dtype=bool)
    lane = group % per_access * items.lanes + rank
    chosen[group // per_access, lane] = order
    active[group // per_access, lane] = True
    free = items.bytes >= BANK_BYTES and grouping.read_degree == grouping.write_degree
    mask = None if active.all() else active
    return _own(items, chosen, mask, None, read, write, free=free)


def _own(
    items: Items,
    chosen: Offsets,
    active: NDArray[np.bool_] | None,
    space: LaneSpace | None,
    read: int,
    write: int,
    *,
    free: bool,
) -> OwnSchedule:
    """Return the schedule; where it is not free of conflicts by construction, judge it."""
    phases = []
    for op, offsets, ideal in (("ld", items.source, read), ("st", items.target, write)):
        where = offsets[chosen]
        cost, ways = ideal, 1
        if not free:
            verdict = judge(
                Accesses.of(
                    where * items.move.element_bytes,
                    space="shared",
                    op=op,
                    bytes=items.bytes,
                    active=active,
                )
            )
            cost, ways = verdict.cost, verdict.n_way or 0
        evidence = shared_evidence(op, items.bytes)
        width = items.move.element_bytes
        phases.append(
            Phase(where, "shared", op, items.bytes, cost, ideal, ways, evidence, width, active)
        )
    kind: Literal["f2", "table"] = "table" if space is None else "f2"
    elements = items.elements[chosen]
    return OwnSchedule(elements, phases[0], phases[1], kind, items.elements, chosen, space)


def _proof(items: Items, read: int, write: int, kind: Kind, groups: int) -> str:
    """Say in a sentence why no schedule needs fewer passes."""
    bound = max(read, write)
    what = "words" if items.bytes > items.move.element_bytes else "elements"
    side = "source" if read >= write else "destination"
    slot = {1: "bank", 2: "pair of banks", 4: "four banks"}[max(items.bytes // BANK_BYTES, 1)]
    if groups > bound:
        return (
            f"Best found: {groups} passes; a {side} {slot} holds {bound} words, so at least "
            f"{bound} are needed"
        )
    if kind == "table" and read == write:
        many = _NUMBERS[bound] if bound < len(_NUMBERS) else str(bound)
        matchings = "perfect matchings" if bound * items.lanes == len(items.elements) else "groups"
        return f"Maximum degree {bound}, {many} {matchings[: None if bound > 1 else -1]}"
    return f"Bound reached: one {side} {slot} holds {bound} {what}, one pass each"
