"""Every number of a permute plan, unfolded: reference, hardware, every k, ours, one lane's bank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tileviz.memory import BANK_BYTES, BANKS, LANES
from tileviz.studies.arithmetic import equals, listed, product, shown
from tileviz.studies.derivation import Derivation, Family, Numbers, Step
from tileviz.studies.memory_steps import (
    bank_rule,
    cost_steps,
    fewest_steps,
    n_way_steps,
    rule_of,
)
from tileviz.studies.permute.alternative_steps import alternative_numbers
from tileviz.studies.permute.alternatives import alternatives
from tileviz.studies.permute.lane_steps import PhaseName, lane_families
from tileviz.studies.permute.moves import move_of
from tileviz.studies.permute.ours import Items
from tileviz.studies.permute.overlap_steps import overlap_numbers
from tileviz.studies.permute.plan import Ours, OwnSchedule, PermutePlan, Phase, Schedule
from tileviz.studies.permute.reference import REASONS

__all__ = ["numbers"]

Steps = Sequence[Step]
_PHASES: tuple[PhaseName, PhaseName] = ("read", "write")
_REFERENCE, _EVERY_K, _OURS = "Reference", "Every k", "Ours"


def numbers(plan: PermutePlan) -> Numbers:
    """Return every number of a plan.

    Example:
        >>> from tileviz.studies.permute.plan import plan
        >>> from tileviz.studies.registry import preset
        >>> found = numbers(plan(preset("permute-declined").design))
        >>> write = found.find("schedules.0.write.wavefronts")
        >>> write.title, write.steps[-1].arithmetic
        ('k = 0, write = 16 wavefronts', '4 + 4 + 4 + 4 = 16')
    """
    found = [] if plan.ours is None else _ours(plan, plan.ours)
    found += _hardware(plan)
    for at, schedule in enumerate(plan.schedules):
        found.append(
            _plain(f"schedules.{at}.k", _EVERY_K, f"{schedule.label}: lane bits used", schedule.k)
        )
        found += _schedule(f"schedules.{at}", _EVERY_K, schedule.label, schedule)
    found += _reference(plan)
    found += overlap_numbers(plan)
    for at, way in enumerate(alternatives(plan)):
        found += alternative_numbers(plan, at, way)
    return Numbers(tuple(found), _families(plan))


def _families(plan: PermutePlan) -> tuple[Family, ...]:
    """Return the banks and addresses of single lanes."""
    found: list[Family] = []
    for at, schedule in enumerate(plan.schedules):
        found += lane_families(plan, f"schedules.{at}", _EVERY_K, schedule, ("bank",))
    judged = plan.judged
    if judged is not None and plan.reference.outcome == "ok":
        found += lane_families(plan, "reference", _REFERENCE, judged, ("address",))
    if plan.ours is not None:
        found += lane_families(plan, "ours", _OURS, plan.ours.schedule, ("bank", "address"))
    return tuple(found)


def _plain(name: str, group: str, label: str, value: int, unit: str = "") -> Derivation:
    """Return a number that is there by definition."""
    return Derivation(
        name, group, label, value, unit, lambda: [Step("By definition.", shown(value))]
    )


# -- reference -------------------------------------------------------------------------------------


def _reference(plan: PermutePlan) -> list[Derivation]:
    """Return what the reference decides by."""
    reference = plan.reference
    found: list[Derivation] = []
    if reference.reason is not None:
        at = list(REASONS).index(reference.reason) + 1
        text = f"{len(REASONS)} checks in the reference's order; this one is the first to stop: "
        step = Step(f"{text}{REASONS[reference.reason]}.", shown(at))
        found.append(
            Derivation("reference.check", _REFERENCE, "deciding check", at, "", lambda: [step])
        )
    if reference.k is not None:
        found += _chosen_k(plan, reference.k)
    registers = reference.registers
    if registers is not None and reference.alignment is not None:
        extents = reference.alignment.extents
        step_of = Step(
            "Elements of the region, shared out among 32 lanes.",
            equals(f"{product(extents)} / {LANES}", registers),
        )
        found.append(
            Derivation(
                "reference.elements_per_lane",
                _REFERENCE,
                "elements per lane",
                registers,
                "",
                lambda: [step_of],
            )
        )
    for k, pair in enumerate(reference.free):
        for side, (phase, free) in enumerate(zip(_PHASES, pair, strict=True)):
            found.append(
                Derivation(
                    f"reference.free.{k}.{side}",
                    _REFERENCE,
                    f"k = {k}, {phase}: free by its own rule",
                    free,
                    "",
                    partial(_free_steps, plan, k, phase),
                )
            )
    return found


def _chosen_k(plan: PermutePlan, k: int) -> list[Derivation]:
    """Return k, and what follows from it."""
    both = [k for k, (read, write) in enumerate(plan.reference.free) if read and write]
    smallest = Step(
        f"k that free both phases by the reference's rule: {listed(both)}. It takes the smallest.",
        equals(f"min({listed(both)})", k),
    )
    shift = Step("Five lane bits; the XOR takes the upper k of them.", equals(f"5 − {k}", 5 - k))
    mask = Step("k ones.", equals(f"(1 << {k}) − 1", (1 << k) - 1))
    return [
        Derivation("reference.k", _REFERENCE, "k", k, "", lambda: [smallest]),
        Derivation("reference.shift", _REFERENCE, "shift", 5 - k, "", lambda: [shift]),
        Derivation("reference.mask", _REFERENCE, "mask", (1 << k) - 1, "", lambda: [mask]),
    ]


def _free_steps(plan: PermutePlan, k: int, phase: PhaseName) -> Steps:
    """Count the different banks of every register: 32 each, or the phase is not free."""
    schedule = plan.schedules[k]
    part = schedule.read if phase == "read" else schedule.write
    aligned = plan.reference.alignment
    assert aligned is not None
    start = aligned.src_base if phase == "read" else aligned.dst_base
    banks = (part.offsets - start) * part.element_bytes // BANK_BYTES % BANKS
    counts = [int(np.unique(row).size) for row in banks]
    text = (
        "The reference asks every register of 32 lanes for 32 different banks of first words, "
        f"whatever the width. Here: {listed(counts, 32)}."
    )
    fewest = min(counts)
    said = "The fewest decide: 32 is free, less is not."
    return [Step(text), Step(said, equals(f"min({listed(sorted(set(counts)), 32)})", fewest))]


def _hardware(plan: PermutePlan) -> list[Derivation]:
    """Return what hardware makes of the reference's schedule."""
    judged = plan.judged
    if judged is None:
        return []
    who = "its schedule" if plan.reference.outcome == "ok" else "its best k"
    group = "Hardware"

    def why() -> Steps:
        costs = [schedule.cost for schedule in plan.schedules]
        if plan.reference.k is not None:
            return [Step("The k that the reference chose.", shown(judged.k))]
        least = equals(f"min({listed(costs, 32)})", judged.cost)
        return [
            Step("It chose none, so the cheapest of its family: both phases of every k.", least),
            Step("The first k that costs so much.", shown(judged.k)),
        ]

    return [
        Derivation("hardware.k", group, "k judged", judged.k, "", why),
        *_schedule("hardware", group, who, judged),
    ]


# -- schedules -------------------------------------------------------------------------------------


def _unit(phase: Phase) -> str:
    return "wavefronts" if phase.space == "shared" else "sectors"


def _schedule(
    prefix: str,
    group: str,
    who: str,
    schedule: Schedule,
    ideal: Callable[[PhaseName], Callable[[], Steps]] | None = None,
) -> list[Derivation]:
    """Return cost, ideal and degree of both phases, and what both pay together."""
    found = []
    for name in _PHASES:
        phase = schedule.read if name == "read" else schedule.write
        accesses, unit = phase.accesses, _unit(phase)
        rule = rule_of(accesses)
        least = partial(fewest_steps, accesses, "register") if ideal is None else ideal(name)
        base = f"{prefix}.{name}"
        label = f"{who}, {name}"
        cost = partial(cost_steps, accesses, "register")
        found += [
            Derivation(f"{base}.{unit}", group, label, phase.cost, unit, cost, rule),
            Derivation(f"{base}.ideal", group, f"{label}: ideal", phase.ideal, unit, least, rule),
        ]
        if phase.n_way is not None:
            ways = partial(n_way_steps, accesses, "register")
            more = f"{label}: passes of the busiest group"
            found.append(Derivation(f"{base}.n_way", group, more, phase.n_way, "", ways, rule))
    unit = _unit(schedule.read)
    read, write = schedule.read, schedule.write
    both = equals(f"{read.cost} + {write.cost}", schedule.cost)
    costs = f"({read.cost} − {read.ideal}) + ({write.cost} − {write.ideal})"
    above = equals(costs, schedule.excess)
    return [
        *found,
        Derivation(
            f"{prefix}.cost",
            group,
            f"{who}, both phases",
            schedule.cost,
            unit,
            lambda: [Step("Read and write.", both)],
        ),
        Derivation(
            f"{prefix}.excess",
            group,
            f"{who}: excess",
            schedule.excess,
            unit,
            lambda: [Step("What each phase pays above its ideal.", above)],
        ),
    ]


# -- ours ------------------------------------------------------------------------------------------


def _ours(plan: PermutePlan, ours: Ours) -> list[Derivation]:
    """Return our schedule's numbers, and the bound that proves them."""
    schedule, found = ours.schedule, []
    shared = plan.design.space == "shared"
    if not isinstance(schedule, OwnSchedule):
        found.append(_plain("ours.k", _OURS, "k", schedule.k))
    bounds = partial(_bound, plan) if shared and isinstance(schedule, OwnSchedule) else None
    found += _schedule("ours", _OURS, "ours", schedule, bounds)
    rule = bank_rule(schedule.read.accesses) if shared else None
    unit = "passes" if shared else "accesses"
    groups = partial(_group_steps, ours, shared)
    lower = partial(_lower_steps, plan, ours, shared)
    width, element = schedule.read.bytes, schedule.read.element_bytes
    what = "elements of a word" if width > element else "element"
    moved = Step(f"A lane moves {width // element} {what} at a time.")
    moved = Step(moved.text, equals(f"{width // element} · {element}", width))
    return [
        *found,
        Derivation("ours.groups", _OURS, "busier phase", ours.groups, unit, groups, rule),
        Derivation("ours.lower_bound", _OURS, "lower bound", ours.lower_bound, unit, lower, rule),
        Derivation("ours.bytes", _OURS, "bytes a lane moves", width, "bytes", lambda: [moved]),
    ]


def _group_steps(ours: Ours, shared: bool) -> Steps:
    schedule = ours.schedule
    if not shared:
        return [Step("One access a register.", shown(schedule.registers))]
    read, write = schedule.read.cost, schedule.write.cost
    return [Step("Passes of read and write.", equals(f"max({read}, {write})", ours.groups))]


def _lower_steps(plan: PermutePlan, ours: Ours, shared: bool) -> Steps:
    """Unfold the bound: the fullest bank slot of either side."""
    if not shared:
        registers = ours.schedule.registers
        return [Step("Elements of a lane, one access each.", shown(registers))]
    items = _items(plan)
    sides = [_fullest(items, offsets) for offsets in (items.source, items.target)]
    (first, read), (second, write) = sides
    end = Step("No order is faster than its fuller side.")
    end = Step(end.text, equals(f"max({read}, {write})", ours.lower_bound))
    return [_item_step(items), first("source"), second("destination"), end]


def _bound(plan: PermutePlan, phase: PhaseName) -> Callable[[], Steps]:
    """Return the way to the least any order needs on one side."""

    def steps() -> Steps:
        items = _items(plan)
        side, offsets = ("source", items.source) if phase == "read" else ("", items.target)
        step, _ = _fullest(items, offsets)
        return [_item_step(items), step(side or "destination")]

    return steps


def _items(plan: PermutePlan) -> Items:
    return Items.of(move_of(plan.design, plan.reference))


def _item_step(items: Items) -> Step:
    width = max(items.bytes, BANK_BYTES)
    what = "words" if items.bytes > items.move.element_bytes else "elements"
    text = (
        f"{len(items.elements)} {what} of {items.bytes} bytes move. The {BANKS} banks of "
        f"{BANK_BYTES} bytes make as many slots of {width} bytes, and every address lies in one."
    )
    return Step(text, equals(f"{BANKS} · {BANK_BYTES} / {width}", items.lanes))


def _fullest(items: Items, offsets: NDArray[np.int64]) -> tuple[Callable[[str], Step], int]:
    """Return a step about the fullest slot of one side, and what it holds."""
    words = np.unique(offsets * items.move.element_bytes // max(items.bytes, BANK_BYTES))
    slots, counts = np.unique(words % items.lanes, return_counts=True)
    most = int(counts.max())
    slot = int(slots[counts.argmax()])
    values = sorted(set(counts.tolist()), reverse=True)

    def step(side: str) -> Step:
        text = (
            f"Words in each slot of the {side}: {len(slots)} slots are used, slot {slot} holds the "
            "most. One pass serves one word of a slot."
        )
        return Step(text, equals(f"max({listed(values, 64)})", most))

    return step, most
