"""The permute plan: the reference's decision, what hardware makes of it, and our own schedule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tileviz.dtypes import dtype as dtype_of
from tileviz.memory import (
    BANK_BYTES,
    LANES,
    Accesses,
    Verdict,
    global_evidence,
    judge,
    shared_evidence,
)
from tileviz.studies.permute.design import PermuteDesign
from tileviz.studies.permute.moves import Move, NoSchedule, aligned_offsets, move_of
from tileviz.studies.permute.ours import own_schedule
from tileviz.studies.permute.overlap import Overlap, stage_overlap
from tileviz.studies.permute.reference import Reference, decide, xor_elements
from tileviz.studies.permute.schedule import Ours, OwnSchedule, Phase, Schedule, XorSchedule

__all__ = ["Ours", "OwnSchedule", "PermutePlan", "Phase", "Schedule", "XorSchedule", "plan"]

Key = int | Literal["ours"]


@dataclass(frozen=True, eq=False)
class PermutePlan:
    """Everything decided about a permute design.

    Attributes:
        design: The design.
        reference: The reference's decision for the first stage.
        schedules: The XOR schedule for every k. Where the reference rejects a move that has a
            schedule, the plain order alone, for comparison; where nothing has, empty.
        overlap: Stages that are in each other's way, or None. The reference never looks.
    """

    design: PermuteDesign
    reference: Reference
    schedules: tuple[XorSchedule, ...]
    _own: Ours | NoSchedule
    overlap: Overlap | None = None

    @property
    def ours(self) -> Ours | None:
        """Our own answer, or None with ``ours_reason``."""
        return self._own if isinstance(self._own, Ours) else None

    @property
    def ours_reason(self) -> str | None:
        """Why there is no schedule of ours, as a clause; None where there is one."""
        return None if isinstance(self._own, Ours) else str(self._own)

    @cached_property
    def chosen(self) -> Schedule | None:
        """The schedule that runs: ours, else the reference's, else the cheapest on hardware."""
        if self.ours is not None:
            return self.ours.schedule
        if self.reference.k is not None:
            return self.schedules[self.reference.k]
        return self.best_xor

    @property
    def best_xor(self) -> XorSchedule | None:
        """The cheapest schedule of the reference's family on hardware."""
        return min(self.schedules, key=lambda schedule: schedule.cost, default=None)

    @property
    def judged(self) -> XorSchedule | None:
        """The schedule of the reference's that hardware judges: its choice, else its best k."""
        if self.reference.outcome == "reject":
            return None
        return self.best_xor if self.reference.k is None else self.schedules[self.reference.k]

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents in which a schedule's ``elements`` count, row-major."""
        if self.reference.alignment is not None:
            return self.reference.alignment.extents
        return tuple((end or 0) - begin for begin, end in self.design.region("dst"))

    def schedule(self, k: Key | None) -> Schedule | None:
        """Return the schedule for ``k``, ours for ``"ours"``, or the chosen one for None."""
        if k is None:
            return self.chosen
        if k == "ours":
            return None if self.ours is None else self.ours.schedule
        return self.schedules[k]

    def to_json(self) -> dict[str, Any]:
        """Return the ``permute`` object of the results."""
        reference, judged = self.reference, self.judged
        accepted = judged if reference.outcome == "ok" else None
        return {
            "study": "permute",
            "reference": {
                "outcome": reference.outcome,
                "reason": reference.reason,
                "k": reference.k,
                "shift": reference.shift,
                "mask": reference.mask,
                "elements_per_lane": reference.registers,
                "free": [list(pair) for pair in reference.free],
                "src_addr": accepted.read.addresses_json() if accepted else None,
                "dst_addr": accepted.write.addresses_json() if accepted else None,
            },
            "hardware": None
            if judged is None
            else {
                "k": judged.k,
                "read": judged.read.to_json(),
                "write": judged.write.to_json(),
                "confidence": judged.evidence.confidence,
                "source": judged.evidence.source,
            },
            "schedules": [
                {"k": s.k, "read": s.read.to_json(), "write": s.write.to_json()}
                for s in self.schedules
            ],
            "ours": None if self.ours is None else self.ours.to_json(),
            "ours_reason": self.ours_reason,
            "overlap": None if self.overlap is None else self.overlap.to_json(),
        }


def plan(design: PermuteDesign) -> PermutePlan:
    """Decide a permute design as the reference does, judge it as hardware does, and better it.

    Raises:
        DesignError: A layout's size differs from its buffer's shape.

    Example:
        >>> from tileviz.studies.design import validated
        >>> demo = validated(PermuteDesign, {
        ...     "src": {"layout": "S[(4, 32):(32, 1)]"}, "dst": {"layout": "S[(4, 32):(1, 4)]"}})
        >>> decided = plan(demo)
        >>> decided.reference.k, decided.chosen.read.cost, decided.chosen.write.cost
        (2, 4, 4)
    """
    reference = decide(design)
    try:
        move: Move | NoSchedule = move_of(design, reference)
    except NoSchedule as reason:
        move = reason
    family = _family(design, reference, move)
    if isinstance(move, NoSchedule):
        return PermutePlan(design, reference, family, move)
    usable: tuple[XorSchedule, ...] = ()
    if move.aligned or reference.outcome == "reject":
        # The reference's own choice first, where hardware is content with it.
        usable = tuple(sorted(family, key=lambda schedule: schedule.k != reference.k))
    try:
        own: Ours | NoSchedule = own_schedule(move, design.space, usable)
    except NoSchedule as reason:
        own = reason
    return PermutePlan(design, reference, family, own, stage_overlap(design))


def _family(
    design: PermuteDesign, reference: Reference, move: Move | NoSchedule
) -> tuple[XorSchedule, ...]:
    """Return the XOR schedules, judged on hardware."""
    aligned = reference.alignment
    active = None
    if reference.outcome != "reject" and aligned is not None:
        elements = xor_elements(aligned.volume // LANES)
        if isinstance(move, Move) and move.aligned:
            sides = move.source, move.target
        else:
            sides = aligned_offsets(aligned)
    elif isinstance(move, Move):
        rows = -(-move.volume // LANES)
        elements = np.arange(rows * LANES, dtype=np.int64).reshape(1, rows, LANES)
        active = elements < move.volume
        elements = np.where(active, elements, 0)
        sides = (move.source, move.target)
        active = None if active.all() else active
    else:
        return ()
    reads, writes = _phases(design, np.stack([side[elements] for side in sides]), active)
    return tuple(
        XorSchedule(elements[k], read, write, k)
        for k, (read, write) in enumerate(zip(reads, writes, strict=True))
    )


def _phases(
    design: PermuteDesign, offsets: NDArray[np.int64], active: NDArray[np.bool_] | None
) -> tuple[list[Phase], list[Phase]]:
    """Judge both phases of all schedules; ``offsets`` are ``[phase, k, register, lane]``."""
    width = dtype_of(design.tile_dtype("src")).bytes
    shape = offsets.shape[:3]
    everyone = None if active is None else np.broadcast_to(active, offsets.shape)
    # Where no two lanes want one word, loads and stores follow one rule, whether words merge or
    # not; the rule that does not look for equal words is the quickest.
    distinct = active is None and width >= BANK_BYTES
    together = distinct or width <= BANK_BYTES or design.space == "global"
    halves = [slice(0, 2)] if together else [slice(0, 1), slice(1, 2)]
    ops = ("ldgsts.ca", "") if distinct and design.space == "shared" else ("ld", "st")
    costs, ideals, ways = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for half, op in zip(halves, ops, strict=False):
        mask = None if everyone is None else everyone[half].reshape(-1, LANES)
        addresses = (offsets[half] * width).reshape(-1, LANES)
        verdict = judge(Accesses.of(addresses, space=design.space, op=op, bytes=width, active=mask))
        part = offsets[half].shape[:3]
        costs[half] = _per_instruction(verdict).reshape(part)
        ideals[half] = _ideal(verdict).reshape(part)
        if verdict.banks is not None:
            ways[half] = verdict.banks.n_way.reshape(part)
    shared = design.space == "shared"
    found = []
    for number, op in enumerate(("ld", "st")):
        evidence = shared_evidence(op, width) if shared else global_evidence()
        cost, ideal = (part[number].sum(axis=1).astype(int).tolist() for part in (costs, ideals))
        most = ways[number].max(axis=1).astype(int).tolist()
        found.append(
            [
                Phase(
                    offsets[number, k],
                    design.space,
                    op,
                    width,
                    cost[k],
                    ideal[k],
                    most[k] if shared else None,
                    evidence,
                    width,
                    None if active is None else active[k],
                )
                for k in range(shape[1])
            ]
        )
    return found[0], found[1]


def _per_instruction(verdict: Verdict) -> NDArray[np.int64]:
    if verdict.banks is not None:
        return verdict.banks.wavefronts
    assert verdict.requests is not None
    return verdict.requests.sectors


def _ideal(verdict: Verdict) -> NDArray[np.int64]:
    if verdict.banks is not None:
        return verdict.banks.ideal
    assert verdict.requests is not None
    return verdict.requests.ideal


def xor_form(k: int, lane: str = "lane") -> str:
    """Return the row of 32 elements that register r holds, in the reference's form.

    Example:
        >>> xor_form(2), xor_form(5), xor_form(0)
        ('r ^ ((lane >> 3) & 3)', 'r ^ (lane & 31)', 'r')
    """
    if k == 0:
        return "r"
    moved = f"({lane} >> {5 - k})" if k < 5 else lane
    return f"r ^ ({moved} & {(1 << k) - 1})"
