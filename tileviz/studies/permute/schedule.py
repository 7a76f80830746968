"""Schedules: which element each lane handles in each register, and what both phases cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tileviz.memory import Accesses, Evidence, Space, weakest
from tileviz.studies.permute.lane_space import LaneSpace
from tileviz.studies.permute.word_blocks import WordBlocks

Offsets = NDArray[np.int64]
Mask = NDArray[np.bool_]
Kind = Literal["xor", "f2", "table"]


@dataclass(frozen=True, eq=False)
class Phase:
    """One phase (read or write) of a schedule, per warp and stage.

    Attributes:
        offsets: Element offsets, int64 ``[register, lane]``; meaningless for an inactive lane.
        space: Shared or global memory.
        op: ``ld`` or ``st``.
        bytes: Bytes per lane and access.
        cost: Wavefronts in shared memory, sectors in global memory.
        ideal: The least any schedule can reach.
        n_way: Most passes one group of lanes needs; None for global memory.
        evidence: How well the rule is known.
        element_bytes: Bytes per element, the unit of ``offsets``.
        active: Which lanes take part, bool ``[register, lane]``; None for all.
    """

    offsets: Offsets
    space: Space
    op: str
    bytes: int
    cost: int
    ideal: int
    n_way: int | None
    evidence: Evidence
    element_bytes: int
    active: Mask | None = None

    @cached_property
    def accesses(self) -> Accesses:
        """The phase as byte accesses, one instruction a register."""
        return Accesses.of(
            self.offsets * self.element_bytes,
            space=self.space,
            op=self.op,
            bytes=self.bytes,
            active=self.active,
        )

    @property
    def excess(self) -> int:
        """Cost above the ideal."""
        return self.cost - self.ideal

    def to_json(self) -> dict[str, Any]:
        """Return the ``read`` or ``write`` object of the results."""
        if self.space == "shared":
            return {"wavefronts": self.cost, "ideal": self.ideal}
        return {"wavefronts": None, "ideal": self.ideal, "sectors": self.cost}

    def addresses_json(self) -> list[list[int | None]]:
        """Return element offsets ``[register][lane]``, None for an inactive lane."""
        rows: list[list[int | None]] = self.offsets.tolist()
        if self.active is None:
            return rows
        return [
            [offset if there else None for offset, there in zip(row, mask, strict=True)]
            for row, mask in zip(rows, self.active.tolist(), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class _Phases:
    """What every schedule has.

    Attributes:
        elements: Element per register and lane, int64 ``[register, lane]``, row-major in the
            region; 0 for an inactive lane.
        read: The read phase, through the source layout.
        write: The write phase, through the destination layout.
    """

    elements: NDArray[np.int64]
    read: Phase
    write: Phase

    @property
    def cost(self) -> int:
        """Cost of both phases."""
        return self.read.cost + self.write.cost

    @property
    def excess(self) -> int:
        """Excess of both phases."""
        return self.read.excess + self.write.excess

    @property
    def evidence(self) -> Evidence:
        """How well the rules of both phases are known: no better than the less known of them."""
        return weakest(self.read.evidence, self.write.evidence)

    @property
    def registers(self) -> int:
        """Accesses per phase."""
        return len(self.elements)


@dataclass(frozen=True, eq=False)
class XorSchedule(_Phases):
    """Lane ``l`` holds in register ``r`` element ``l + 32 * (r ^ ((l >> shift) & mask))``.

    Attributes:
        k: Number of lane bits that the XOR uses; 0 is the plain order.
    """

    k: int

    @property
    def shift(self) -> int:
        """Right shift of the lane."""
        return 5 - self.k

    @property
    def mask(self) -> int:
        """Mask of the shifted lane."""
        return (1 << self.k) - 1

    @property
    def label(self) -> str:
        """How the schedule is called: ``k = 2``."""
        return f"k = {self.k}"


@dataclass(frozen=True, eq=False)
class OwnSchedule(_Phases):
    """A schedule of ours outside the XOR family.

    Attributes:
        kind: ``f2`` for a formula, ``table`` for a table.
        items: What one lane moves at a time: the first element of each, int64 ``[item]``. An item
            is an element, or a 4-byte word of smaller ones.
        chosen: Item per register and lane, int64 ``[register, lane]``.
        space: The formula, for ``f2``: bits of the item number from bits of lane and register.
        blocks: Where lanes permute bytes between both phases: what they read is ``chosen`` by
            ``space``, what they write is by ``blocks.writes``.
    """

    kind: Literal["f2", "table"]
    items: NDArray[np.int64]
    chosen: NDArray[np.int64]
    space: LaneSpace | None = None
    blocks: WordBlocks | None = None

    @property
    def k(self) -> Literal["ours"]:
        """The key of this schedule among those of a plan."""
        return "ours"

    @property
    def shift(self) -> int:
        """Right shift of the lane in the XOR form: this is none, so all bits are shifted out."""
        return 5

    @property
    def active(self) -> Mask | None:
        """Which lanes take part; None for all."""
        return self.read.active

    @property
    def label(self) -> str:
        """How the schedule is called."""
        return "ours"


Schedule: TypeAlias = XorSchedule | OwnSchedule


@dataclass(frozen=True, eq=False)
class Ours:
    """Our answer: a schedule and the bound that proves it.

    Attributes:
        kind: ``xor`` where a schedule of the reference's family is optimal already, ``f2`` for a
            formula over the bits of lane and register, ``table`` for a table.
        groups: Passes of the busier phase.
        lower_bound: Passes that the busier phase needs in any order: the largest degree of the
            bank graph.
        schedule: The schedule.
        proof: Why no schedule is better, in a sentence.
    """

    kind: Kind
    groups: int
    lower_bound: int
    schedule: Schedule
    proof: str

    def to_json(self) -> dict[str, Any]:
        """Return the ``ours`` object of the results."""
        schedule = self.schedule
        return {
            "kind": self.kind,
            "k": schedule.k if isinstance(schedule, XorSchedule) else None,
            "groups": self.groups,
            "lower_bound": self.lower_bound,
            "bytes": schedule.read.bytes,
            "bytes_permuted": isinstance(schedule, OwnSchedule) and schedule.blocks is not None,
            "read": schedule.read.to_json(),
            "write": schedule.write.to_json(),
            "src_addr": schedule.read.addresses_json(),
            "dst_addr": schedule.write.addresses_json(),
            "proof": self.proof,
        }
