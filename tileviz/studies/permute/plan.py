"""The permute plan: the reference's decision, and what hardware makes of its schedule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.dtypes import dtype as dtype_of
from tileviz.memory import LANES, Accesses, Evidence, Space, Verdict, judge
from tileviz.studies.permute.design import PermuteDesign
from tileviz.studies.permute.reference import Reference, decide, element_offsets, xor_elements

NO_OURS = "our own schedule is not built yet; the reference's XOR family is judged instead"


@dataclass(frozen=True, eq=False)
class Phase:
    """One phase (read or write) of a schedule, per warp and stage.

    Attributes:
        offsets: Element offsets, int64 ``[register, lane]``.
        space: Shared or global memory.
        op: ``ld`` or ``st``.
        bytes: Bytes per element.
        cost: Wavefronts in shared memory, sectors in global memory.
        ideal: The least any schedule can reach.
        n_way: Most passes one group of lanes needs; None for global memory.
        evidence: How well the rule is known.
    """

    offsets: NDArray[np.int64]
    space: Space
    op: str
    bytes: int
    cost: int
    ideal: int
    n_way: int | None
    evidence: Evidence

    @cached_property
    def accesses(self) -> Accesses:
        """The phase as byte accesses, one instruction a register."""
        addresses = self.offsets * self.bytes
        return Accesses.of(addresses, space=self.space, op=self.op, bytes=self.bytes)

    @property
    def excess(self) -> int:
        """Cost above the ideal."""
        return self.cost - self.ideal

    def to_json(self) -> dict[str, Any]:
        """Return the ``read`` or ``write`` object of the results."""
        if self.space == "shared":
            return {"wavefronts": self.cost, "ideal": self.ideal}
        return {"wavefronts": None, "ideal": self.ideal, "sectors": self.cost}


@dataclass(frozen=True, eq=False)
class XorSchedule:
    """Lane ``l`` holds in register ``r`` element ``l + 32 * (r ^ ((l >> shift) & mask))``.

    Attributes:
        k: Number of lane bits that the XOR uses; 0 is the plain order.
        elements: Element per register and lane, int64 ``[register, lane]``.
        read: The read phase, through the source layout.
        write: The write phase, through the destination layout.
    """

    k: int
    elements: NDArray[np.int64]
    read: Phase
    write: Phase

    @property
    def shift(self) -> int:
        """Right shift of the lane."""
        return 5 - self.k

    @property
    def mask(self) -> int:
        """Mask of the shifted lane."""
        return (1 << self.k) - 1

    @property
    def cost(self) -> int:
        """Cost of both phases."""
        return self.read.cost + self.write.cost

    @property
    def excess(self) -> int:
        """Excess of both phases."""
        return self.read.excess + self.write.excess


@dataclass(frozen=True, eq=False)
class PermutePlan:
    """Everything decided about a permute design.

    Attributes:
        design: The design.
        reference: The reference's decision for the first stage.
        schedules: The XOR schedule for every k; empty where the reference rejects.
        ours_reason: Why there is no schedule of our own.
    """

    design: PermuteDesign
    reference: Reference
    schedules: tuple[XorSchedule, ...]
    ours_reason: str = NO_OURS

    @cached_property
    def chosen(self) -> XorSchedule | None:
        """The schedule that runs: the reference's, else the cheapest on hardware."""
        if not self.schedules:
            return None
        if self.reference.k is not None:
            return self.schedules[self.reference.k]
        return min(self.schedules, key=lambda schedule: schedule.cost)

    def schedule(self, k: int | None) -> XorSchedule | None:
        """Return the schedule for ``k``, or the chosen one for None."""
        return self.chosen if k is None else self.schedules[k]

    def to_json(self) -> dict[str, Any]:
        """Return the ``permute`` object of the results."""
        reference, chosen = self.reference, self.chosen
        accepted = chosen if reference.outcome == "ok" else None
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
                "src_addr": accepted.read.offsets.tolist() if accepted else None,
                "dst_addr": accepted.write.offsets.tolist() if accepted else None,
            },
            "hardware": None
            if chosen is None
            else {
                "k": chosen.k,
                "read": chosen.read.to_json(),
                "write": chosen.write.to_json(),
                "confidence": chosen.read.evidence.confidence,
                "source": chosen.read.evidence.source,
            },
            "schedules": [
                {"k": s.k, "read": s.read.to_json(), "write": s.write.to_json()}
                for s in self.schedules
            ],
            "ours": None,
            "ours_reason": self.ours_reason,
        }


def plan(design: PermuteDesign) -> PermutePlan:
    """Decide a permute design as the reference does, and judge its schedules as hardware does.

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
    return PermutePlan(design, reference, _schedules(design, reference))


def _schedules(design: PermuteDesign, reference: Reference) -> tuple[XorSchedule, ...]:
    """Return the XOR schedule of every k, judged on hardware."""
    aligned = reference.alignment
    if reference.outcome == "reject" or aligned is None:
        return ()
    elements = xor_elements(aligned.volume // LANES)
    reads = _phases(design, elements, aligned.extents, aligned.src_strides, aligned.src_base, "ld")
    writes = _phases(design, elements, aligned.extents, aligned.dst_strides, aligned.dst_base, "st")
    return tuple(
        XorSchedule(k, elements[k], read, write)
        for k, (read, write) in enumerate(zip(reads, writes, strict=True))
    )


def _phases(
    design: PermuteDesign,
    elements: NDArray[np.int64],
    extents: tuple[int, ...],
    strides: tuple[int, ...],
    base: int,
    op: str,
) -> list[Phase]:
    """Judge one phase of all schedules at once; split the verdict by schedule."""
    offsets = element_offsets(extents, strides)[elements] + base
    width = dtype_of(design.tile_dtype("src")).bytes
    count, registers, _ = offsets.shape
    merged = Accesses.of(
        (offsets * width).reshape(-1, LANES), space=design.space, op=op, bytes=width
    )
    verdict = judge(merged)
    by_k = (count, registers)
    costs = _per_instruction(verdict).reshape(by_k).sum(axis=1).tolist()
    ideals = _ideal(verdict).reshape(by_k).sum(axis=1).tolist()
    banks = verdict.banks
    ways = None if banks is None else banks.n_way.reshape(by_k).max(axis=1).tolist()
    return [
        Phase(
            offsets[k],
            design.space,
            op,
            width,
            costs[k],
            ideals[k],
            None if ways is None else ways[k],
            verdict.evidence,
        )
        for k in range(count)
    ]


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
