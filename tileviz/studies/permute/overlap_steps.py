"""The numbers of overlapping stages, unfolded: which elements, which address, how many are lost."""

from __future__ import annotations

from functools import partial

from tileviz.studies.address_steps import address_steps
from tileviz.studies.arithmetic import equals, shown
from tileviz.studies.derivation import Derivation, Step
from tileviz.studies.permute.overlap import Overlap
from tileviz.studies.permute.plan import PermutePlan

GROUP = "Stages"


def overlap_numbers(plan: PermutePlan) -> list[Derivation]:
    """Return every number of a plan's overlap; none where its stages have places of their own."""
    found = plan.overlap
    if found is None:
        return []
    does = "written over" if found.kind == "write" else "overwritten before it is read"
    numbers = [
        Derivation(
            "overlap.count",
            GROUP,
            "elements lost",
            found.count,
            "elements",
            partial(_lost, found),
        ),
        Derivation(
            "overlap.total", GROUP, "elements of all stages", found.total, "elements",
            partial(_total, plan, found),
        ),
        Derivation(
            "overlap.address", GROUP, "address that two stages share", found.address, "",
            partial(_address, plan, found),
        ),
    ]  # fmt: skip
    way = f"Stage after stage, element after element: the first place that is {does}."
    for name, label, values in (
        ("stages", "stage", found.stages),
        ("first", "element of the earlier stage, dimension", found.first),
        ("second", "element of the later stage, dimension", found.second),
    ):
        for at, value in enumerate(values):
            said = ("earlier", "later")[at] + " stage" if name == "stages" else f"{label} {at}"
            step = Step(way, shown(value))
            numbers.append(
                Derivation(f"overlap.{name}.{at}", GROUP, said, value, "", partial(_one, step))
            )
    return numbers


def _one(step: Step) -> list[Step]:
    return [step]


def _lost(found: Overlap) -> list[Step]:
    if found.kind == "read":
        text = "Elements whose place an earlier stage has written when their stage reads it."
        return [Step(text, shown(found.count))]
    kept = found.total - found.count
    text = f"{found.total:,} elements are written to {kept:,} different addresses."
    return [Step(text, equals(f"{shown(found.total)} − {shown(kept)}", found.count))]


def _total(plan: PermutePlan, found: Overlap) -> list[Step]:
    stages = plan.design.stage_count
    each = found.total // stages
    text = "Stages, times the elements of one."
    return [Step(text, equals(f"{stages} · {shown(each)}", found.total))]


def _address(plan: PermutePlan, found: Overlap) -> list[Step]:
    """Unfold the address from both sides."""
    design = plan.design
    late = design.dst if found.kind == "write" else design.src
    steps: list[Step] = []
    for who, side, coordinate in (
        ("earlier", design.dst, found.first),
        ("later", late, found.second),
    ):
        for step in address_steps(side.parsed, coordinate, side.extents):
            text = f"Element {coordinate} of the {who} stage. {step.text}"
            steps.append(Step(text, step.arithmetic, step.bits))
    return steps
