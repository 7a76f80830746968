"""What the classic ways round a bank conflict cost, unfolded: plain order, padding, staging."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tileviz.layouts import TileLayout, parse_layout
from tileviz.memory import Accesses
from tileviz.studies.arithmetic import equals, product, total
from tileviz.studies.derivation import Derivation, Step
from tileviz.studies.memory_steps import bank_rule, cost_steps
from tileviz.studies.permute.alternatives import Alternative
from tileviz.studies.permute.plan import PermutePlan, Schedule

Steps = Sequence[Step]
WAYS = "The classic ways"


def alternative_numbers(plan: PermutePlan, at: int, way: Alternative) -> list[Derivation]:
    """Return what a classic way costs."""
    plain = plan.schedules[0]
    assert plan.ours is not None
    schedule = plan.ours.schedule
    accesses = [plain.read.accesses, plain.write.accesses]
    if way.layout:
        accesses[1] = _padded(plain, way)

    def steps(side: int) -> Steps:
        if way.name.startswith("staged"):
            paid = schedule.read.ideal, schedule.write.ideal
            text = "Every element moves twice: read and write of each pass at the bound."
            return [Step(text, equals(total(paid), sum(paid)))]
        return cost_steps(accesses[side], "register")

    found = [
        Derivation(
            f"alternatives.{at}.{name}",
            WAYS,
            f"{way.name}, {name}",
            (way.read, way.write)[side],
            "wavefronts",
            partial(steps, side),
            bank_rule(accesses[side]),
        )
        for side, name in enumerate(("read", "write"))
    ]
    extra = partial(_extra_steps, plan, way)
    label = f"{way.name}: extra memory"
    name = f"alternatives.{at}.extra_bytes"
    return [*found, Derivation(name, WAYS, label, way.extra_bytes, "bytes", extra)]


def _padded(plain: Schedule, way: Alternative) -> Accesses:
    """Return the write phase of the plain order through a padded layout."""
    width = plain.write.element_bytes
    places = parse_layout(way.layout).apply(plain.elements)["m"]
    active = plain.write.active
    return Accesses.of(places * width, space="shared", op="st", bytes=width, active=active)


def _extra_steps(plan: PermutePlan, way: Alternative) -> Steps:
    alignment = plan.reference.alignment
    width = plan.schedules[0].write.element_bytes
    if way.layout and alignment is not None:
        layout = parse_layout(way.layout)
        assert isinstance(layout, TileLayout)
        spans: list[int] = []
        steps = []
        for who, strides in (("padded", layout.strides), ("own", alignment.dst_strides)):
            pairs = list(zip(alignment.extents, strides, strict=True))
            terms = [f"{e - 1} · {abs(stride)}" for e, stride in pairs]
            spans.append(1 + sum((e - 1) * abs(stride) for e, stride in pairs))
            text = f"Span of the {who} layout: the last element of every dimension."
            steps.append(Step(text, equals(" + ".join(["1", *terms]), spans[-1])))
        more = equals(f"({spans[0]} − {spans[1]}) · {width}", way.extra_bytes)
        return [*steps, Step("What the padding adds.", more)]
    if way.extra_bytes:
        extents = product(plan.extents)
        return [
            Step("A tile of the region's size.", equals(f"{extents} · {width}", way.extra_bytes))
        ]
    return [Step("Nothing is added.", "0")]
