"""One lane of a permute schedule: from lane and register to element, offset and bank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tileviz.layouts import TileLayout
from tileviz.layouts.addressing import unflatten
from tileviz.layouts.f2 import apply_columns
from tileviz.memory import BANK_BYTES, BANKS, LANES, SECTOR_BYTES
from tileviz.studies.address_steps import address_steps
from tileviz.studies.arithmetic import equals, shown
from tileviz.studies.derivation import Bits, Derivation, Family, Parameter, Step
from tileviz.studies.permute.lane_space import LaneSpace
from tileviz.studies.permute.plan import PermutePlan, Phase, Schedule, XorSchedule
from tileviz.studies.permute.reasons import cell_bits
from tileviz.studies.permute.schedule import OwnSchedule

PhaseName = Literal["read", "write"]
What = Literal["bank", "address"]

_SIDES: dict[PhaseName, str] = {"read": "src", "write": "dst"}
_WORDS: dict[PhaseName, str] = {"read": "source", "write": "destination"}


@dataclass(frozen=True, eq=False)
class Lane:
    """One lane and register of a phase of a schedule.

    Attributes:
        plan: The plan.
        schedule: One of its schedules.
        phase: Which phase.
        register: The register; likewise ``lane``.
    """

    plan: PermutePlan
    schedule: Schedule
    phase: PhaseName
    register: int
    lane: int

    @property
    def part(self) -> Phase:
        """The phase."""
        return self.schedule.read if self.phase == "read" else self.schedule.write

    @property
    def active(self) -> bool:
        """Whether the lane takes part."""
        mask = self.part.active
        return mask is None or bool(mask[self.register, self.lane])

    @property
    def offset(self) -> int:
        """The element offset."""
        return int(self.part.offsets[self.register, self.lane])

    @property
    def element(self) -> int:
        """The element, row by row in the region."""
        schedule = self.schedule
        if isinstance(schedule, OwnSchedule) and schedule.blocks is not None:
            return self._item(self._space(schedule))
        return int(schedule.elements[self.register, self.lane])

    def _space(self, schedule: OwnSchedule) -> LaneSpace | None:
        if schedule.blocks is not None and self.phase == "write":
            return schedule.blocks.writes
        return schedule.space

    def _item(self, space: LaneSpace | None) -> int:
        assert space is not None
        return apply_columns(space.lanes, self.lane) ^ apply_columns(space.registers, self.register)

    def element_steps(self) -> list[Step]:
        """Return the way from lane and register to the element."""
        schedule, lane, register = self.schedule, self.lane, self.register
        if isinstance(schedule, XorSchedule):
            form = f"{register}"
            if schedule.k:
                form = f"({register} ^ (({lane} >> {schedule.shift}) & {schedule.mask}))"
            text = f"Lane {lane} holds in register {register} this element, row by row."
            return [Step(text, equals(f"{lane} + 32 · {form}", self.element))]
        space = self._space(schedule)
        if space is None:
            return [Step("By the table of the schedule: this element.", shown(self.element))]
        images = [space.lanes[bit] for bit in range(5) if lane >> bit & 1]
        images += [image for bit, image in enumerate(space.registers) if register >> bit & 1]
        item = self._item(space)
        text = "Every set bit of lane and register stands for a pattern of bits; they are XORed."
        steps = [Step(text, equals(" ^ ".join(map(shown, images)) or "0", item))]
        if item != self.element:
            first = f"Word {item} begins at this element."
            each = schedule.read.bytes // schedule.read.element_bytes
            whole = item * each == self.element
            steps.append(
                Step(
                    first,
                    equals(f"{item} · {each}", self.element) if whole else shown(self.element),
                )
            )
        return steps

    def offset_steps(self) -> list[Step]:
        """Return the way from the element to its offset in the layout."""
        plan, aligned = self.plan, self.plan.reference.alignment
        if aligned is not None:
            strides = aligned.src_strides if self.phase == "read" else aligned.dst_strides
            base = aligned.src_base if self.phase == "read" else aligned.dst_base
            cut = TileLayout(
                [(e, s, "m") for e, s in zip(aligned.extents, strides, strict=True)],
                offset={"m": base} if base else {},
            )
            place = cut.apply(self.element).get("m", np.zeros((), dtype=np.int64))
            if int(place) == self.offset:
                at = unflatten(self.element, aligned.extents)
                return [self._coordinate(at, aligned.extents), *address_steps(cut, at, cut.extents)]
        side: Literal["src", "dst"] = "src" if self.phase == "read" else "dst"
        tile = plan.design.src if side == "src" else plan.design.dst
        region = plan.design.region(side)
        extents = tuple((end or 0) - begin for begin, end in region)
        inside = unflatten(self.element, extents)
        at = tuple(i + begin for i, (begin, _) in zip(inside, region, strict=True))
        return [self._coordinate(inside, extents), *address_steps(tile.parsed, at, tile.extents)]

    def _coordinate(self, at: Sequence[int], extents: Sequence[int]) -> Step:
        weights = [int(np.prod(extents[dim + 1 :], dtype=np.int64)) for dim in range(len(extents))]
        terms = [f"{i} · {weight}" for i, weight in zip(at, weights, strict=True)]
        where = ", ".join(map(str, at))
        text = f"Its coordinate in {' × '.join(map(str, extents))} is ({where})."
        return Step(text, equals(" + ".join(terms) or "0", self.element))

    def bits(self) -> tuple[Bits, ...]:
        """Return the way bit by bit."""
        rows = cell_bits(self.plan, self.schedule.k, self.phase, self.lane, self.register)
        return tuple(
            Bits(row.label, row.value, row.value, 0, row.width, row.taken, row.changed)
            for row in rows
        )


def lane_families(
    plan: PermutePlan, prefix: str, group: str, schedule: Schedule, whats: Sequence[What]
) -> list[Family]:
    """Return the banks (or sectors) and addresses of a schedule's lanes.

    Args:
        plan: The plan.
        prefix: What their names begin with.
        group: The part of the page they stand in.
        schedule: One of the plan's schedules.
        whats: Which of both.
    """
    lanes = (
        Parameter("register", range(schedule.registers), min(2, schedule.registers - 1)),
        Parameter("lane", range(LANES), 9),
    )
    found = []
    if "bank" in whats:
        place = "bank" if plan.design.space == "shared" else "sector"

        def bank(phase: PhaseName, register: int, lane: int) -> Derivation:
            return _bank(Lane(plan, schedule, phase, register, lane), prefix, group, place)

        phase = Parameter("phase", ("read", "write"), "write")
        name = f"{prefix}.{place}.{{phase}}.{{register}}.{{lane}}"
        label = f"{schedule.label}: {place} of one lane"
        found.append(Family(name, group, label, (phase, *lanes), bank))
    if "address" in whats:
        for which in _SIDES:

            def address(register: int, lane: int, which: PhaseName = which) -> Derivation:
                return _address(Lane(plan, schedule, which, register, lane), prefix, group)

            name = f"{prefix}.{_SIDES[which]}_addr.{{register}}.{{lane}}"
            label = f"{schedule.label}: {_WORDS[which]} offset of one lane"
            found.append(Family(name, group, label, lanes, address))
    return found


def _label(one: Lane) -> str:
    return f"{one.schedule.label}, {one.phase}, register {one.register}, lane {one.lane}"


def _nothing(name: str, group: str, label: str) -> Derivation:
    step = Step("No element is left for this lane here: it is inactive.")
    return Derivation(name, group, label, "none", "", lambda: [step])


def _address(one: Lane, prefix: str, group: str) -> Derivation:
    name = f"{prefix}.{_SIDES[one.phase]}_addr.{one.register}.{one.lane}"
    label = f"{_label(one)}: {_WORDS[one.phase]} offset"
    if not one.active:
        return _nothing(name, group, label)
    return Derivation(
        name,
        group,
        label,
        one.offset,
        "elements",
        lambda: [*one.element_steps(), *one.offset_steps()],
    )


def _bank(one: Lane, prefix: str, group: str, place: str) -> Derivation:
    name = f"{prefix}.{place}.{one.phase}.{one.register}.{one.lane}"
    label = f"{_label(one)}: {place}"
    if not one.active:
        return _nothing(name, group, label)
    size = one.part.element_bytes
    byte = one.offset * size
    in_bytes = Step("In bytes.", equals(f"{shown(one.offset)} · {size}", byte))
    if place == "sector":
        value = byte // SECTOR_BYTES
        last = Step(
            "A sector has 32 bytes.", equals(f"floor({shown(byte)} / 32)", value), one.bits()
        )
    else:
        value = byte // BANK_BYTES % BANKS
        last = Step(
            "Words of 4 bytes, 32 banks.",
            equals(f"floor({shown(byte)} / 4) mod 32", value),
            one.bits(),
        )
    return Derivation(
        name,
        group,
        label,
        value,
        "",
        lambda: [*one.element_steps(), *one.offset_steps(), in_bytes, last],
    )
