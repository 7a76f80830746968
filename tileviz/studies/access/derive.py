"""Every number of an access plan, unfolded: what instructions cost, one cell's bank, the search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, parse_layout
from tileviz.memory import BANK_BYTES, BANKS, LANES, LINE_BYTES, Accesses, Verdict, judge
from tileviz.studies.access.candidates import Candidate, Cost
from tileviz.studies.access.cell import cell
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.phases import Phase, all_points, element_offsets, phases_of
from tileviz.studies.access.plan import AccessPlan, memory_layout
from tileviz.studies.access.search import SearchResult, search
from tileviz.studies.access.shown import Sweep, element_bytes, instruction, sweeps
from tileviz.studies.access.size_steps import bytes_steps, extra_steps
from tileviz.studies.access.tile import Tile
from tileviz.studies.address_steps import address_steps, bank_steps
from tileviz.studies.arithmetic import equals, shown, total
from tileviz.studies.derivation import Derivation, Family, Numbers, Parameter, Step
from tileviz.studies.lane_groups import groups_of
from tileviz.studies.memory_steps import (
    block_steps,
    cost_steps,
    fewest_steps,
    n_way_steps,
    rule_of,
    used_steps,
)

__all__ = ["further", "numbers", "searched"]

_OWN, _ALSO, _CELL, _FIX = "This access", "Also served", "One element", "Smallest fix"


def numbers(plan: AccessPlan) -> Numbers:
    """Return every number of a plan; what a search adds is ``further``.

    Example:
        >>> from tileviz import api
        >>> found = numbers(api.plan(api.design(study="access", bytes=4, addresses=[0, 128, 4])))
        >>> cost = found.find("wavefronts")
        >>> cost.title, cost.steps[-1].arithmetic
        ('wavefronts = 2', 'max(2, 1, 0) = 2')
    """
    design = plan.design
    found = _judged("", _OWN, "", plan.accesses, plan.verdict)
    for at, other in enumerate(plan.also):
        found += _judged(
            f"also.{at}.", _ALSO, f"{other.phase.name}: ", other.accesses, other.verdict
        )
    families: list[Family] = []
    if design.layout is None:
        families.append(_address_family(plan))
    else:
        found += _bare(plan)
        families += [_lane_family(plan), _cell_family(design)]
        for at, sweep in enumerate(sweeps(design)):
            if sweep.count > 1:
                families.append(_sweep_family(design, at, sweep))
    return Numbers(tuple(found), tuple(families))


def further(plan: AccessPlan) -> Numbers:
    """Return the numbers of the search for a swizzle or padding; none where there is no search."""
    try:
        return searched(search(plan.design))
    except DesignError:
        return Numbers(())


# -- what an instruction costs ---------------------------------------------------------------------


def _judged(
    prefix: str, group: str, who: str, accesses: Accesses, verdict: Verdict
) -> list[Derivation]:
    """Return the numbers of one instruction's verdict."""
    rule = rule_of(accesses)

    def made(name: str, label: str, value: int, work: Callable[[], Sequence[Step]]) -> Derivation:
        return Derivation(f"{prefix}{name}", group, f"{who}{label}", value, "", work, rule)

    unit = "wavefronts" if verdict.wavefronts is not None else "sectors"
    above = equals(f"{verdict.cost} − {verdict.ideal}", verdict.excess)
    found = [
        made(unit, unit, verdict.cost, partial(cost_steps, accesses)),
        made("ideal", f"ideal {unit}", verdict.ideal, partial(fewest_steps, accesses)),
        made("excess", "excess", verdict.excess, lambda: [Step(f"{unit} above the ideal.", above)]),
    ]
    if verdict.banks is not None:
        found.append(made("n_way", "n-way", verdict.n_way or 0, partial(n_way_steps, accesses)))
        for at, one in enumerate(groups_of(accesses, 0)):
            label = f"passes of lanes {one.first} to {one.last}"
            steps = partial(_group_steps, accesses, at)
            found.append(made(f"groups.{at}", label, one.passes, steps))
        return found
    lines = partial(block_steps, accesses, LINE_BYTES)
    return [
        *found,
        made("lines", "lines of 128 bytes", verdict.lines or 0, lines),
        made("bytes_used", "bytes used", verdict.bytes_used or 0, partial(used_steps, accesses)),
    ]


def _group_steps(accesses: Accesses, at: int) -> list[Step]:
    """Return what one group of lanes asks for, alone."""
    one = groups_of(accesses, 0)[at]
    lanes = np.arange(LANES)
    inside = (lanes >= one.first) & (lanes <= one.last)
    part = Accesses(
        accesses.addresses, accesses.active & inside, accesses.space, accesses.op, accesses.bytes
    )
    return cost_steps(part)[-1:]


def _bare(plan: AccessPlan) -> list[Derivation]:
    """Return what the access would cost without its layout's swizzle."""
    layout = memory_layout(plan.design)
    if not isinstance(layout, ComposeLayout):
        return []
    first = instruction(plan.design, _first(plan.design), _first(plan.design).start)
    phase = phases_of(plan.design)[0]
    offsets = element_offsets(layout.tile, first.coordinates) * phase.element_bytes
    if (offsets % phase.bytes != 0).any():
        return []
    bare = Accesses.of(
        offsets,
        active=first.active,
        space=plan.design.space,
        op=phase.op,
        bytes=phase.bytes,
    )
    cost = judge(bare).cost
    unit = "wavefronts" if plan.design.space == "shared" else "sectors"
    return [
        Derivation(
            "unswizzled",
            _OWN,
            f"{unit} without the swizzle",
            cost,
            "",
            partial(cost_steps, bare),
            rule_of(bare),
        )
    ]


def _first(design: AccessDesign) -> Sweep:
    return sweeps(design)[0]


# -- lanes, cells, instructions --------------------------------------------------------------------


def _address_family(plan: AccessPlan) -> Family:
    """Return the banks (or sectors) of lanes given by byte addresses."""
    shared = plan.design.space == "shared"
    place = "bank" if shared else "sector"

    def make(lane: int) -> Derivation:
        name, label = f"{place}.{lane}", f"{place} of lane {lane}"
        if not plan.accesses.active[0, lane]:
            step = Step("The lane is inactive.")
            return Derivation(name, _CELL, label, "none", "", lambda: [step])
        address = int(plan.accesses.addresses[0, lane])
        if shared:
            value, steps = address // BANK_BYTES % BANKS, bank_steps(address, 1)
        else:
            value = address // 32
            steps = [Step("A sector has 32 bytes.", equals(f"floor({shown(address)} / 32)", value))]
        return Derivation(name, _CELL, label, value, "", lambda: steps)

    lanes = Parameter("lane", range(LANES), 0)
    return Family(f"{place}.{{lane}}", _CELL, f"{place} of one lane", (lanes,), make)


def _lane_family(plan: AccessPlan) -> Family:
    """Return the banks of lanes of the judged instruction, from their coordinates on."""
    design = plan.design
    first = instruction(design, _first(design), _first(design).start)

    def make(lane: int) -> Derivation:
        name, label = f"lane.{lane}.bank", f"bank of lane {lane}'s first element"
        if not first.active[lane]:
            step = Step("The lane is inactive.")
            return Derivation(name, _CELL, label, "none", "", lambda: [step])
        at = tuple(first.coordinates[:, lane].tolist())
        return _cell(design, at, name, label, f"Lane {lane} wants element {at}.")

    lanes = Parameter("lane", range(LANES), 9)
    return Family("lane.{lane}.bank", _CELL, "bank of one lane's first element", (lanes,), make)


def _cell_family(design: AccessDesign) -> Family:
    """Return the bank of any element."""
    extents = memory_layout(design).extents
    parameters = tuple(
        Parameter(f"dim_{dim}", range(extent), 0) for dim, extent in enumerate(extents)
    )

    def make(*at: int) -> Derivation:
        name = ".".join(["cell", *map(str, at), "bank"])
        label = f"bank of element ({', '.join(map(str, at))})"
        return _cell(design, at, name, label, f"Element ({', '.join(map(str, at))}).")

    holes = ".".join(f"{{{one.name}}}" for one in parameters)
    template = f"cell.{holes}.bank" if parameters else "cell.bank"
    return Family(template, _CELL, "bank of one element", parameters, make)


def _cell(
    design: AccessDesign, at: tuple[int, ...], name: str, label: str, about: str
) -> Derivation:
    found, layout = cell(design, at), memory_layout(design)

    def steps() -> list[Step]:
        way = address_steps(layout, at, layout.extents)
        *head, last = bank_steps(found.place, element_bytes(design))
        whole = Step(last.text, last.arithmetic, found.steps)
        return [Step(about), *way, *head, whole]

    return Derivation(name, _CELL, label, found.bank, "", steps)


def _sweep_family(design: AccessDesign, at: int, sweep: Sweep) -> Family:
    """Return what any instruction of one access costs."""
    unit = "wavefronts" if design.space == "shared" else "sectors"

    def make(number: int) -> Derivation:
        name = f"sweep.{at}.{number}.{unit}"
        try:
            one = instruction(design, sweep, number)
        except DesignError as error:
            step = Step(f"There is no such instruction: {error.message}.")
            label = f"{sweep.name}, instruction {number}: {unit}"
            return Derivation(name, _OWN, label, "none", "", lambda: [step])
        label = f"{sweep.name}, instruction {number}: {unit}"
        steps = partial(cost_steps, one.accesses)
        return Derivation(name, _OWN, label, one.verdict.cost, "", steps, rule_of(one.accesses))

    number = Parameter("instruction", range(sweep.count), sweep.start)
    template = f"sweep.{at}.{{instruction}}.{unit}"
    return Family(template, _OWN, f"{sweep.name}: {unit} of any instruction", (number,), make)


# -- the search ------------------------------------------------------------------------------------


def searched(result: SearchResult) -> Numbers:
    """Return the numbers of a search: what each arrangement costs over the whole tile.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> found = searched(search(preset("banks-transpose-32x32").design))
        >>> found.find("search.candidates.1.extra_bytes").steps[-1].arithmetic
        '4,224 − 4,096 = 128'
    """
    design = result.design
    found: list[Derivation] = []
    if result.given:
        found = _costs("search.given", design, design.layout, "as written", result.given)
    tile = Tile.of(design)
    for at, candidate in enumerate(result.candidates):
        prefix = f"search.candidates.{at}"
        phases = f"{prefix}.phases"
        found += _costs(phases, design, candidate.layout, candidate.title, candidate.costs)
        found += _sizes(prefix, tile, candidate)
    for at, candidate in enumerate(result.pareto):
        widths = ", ".join(cost.access for cost in candidate.costs)
        found += _sizes(f"search.pareto.{at}", tile, candidate, f" for {widths}")
    paid = sum(cost.wavefronts for cost in result.given)
    for at, bit in enumerate(result.bits):
        without = paid + bit.buys
        step = Step(
            "All accesses over the whole tile, without this XOR alone and with all of them.",
            equals(f"{shown(without)} − {shown(paid)}", bit.buys),
        )
        name, label = f"search.bits.{at}.buys", f"{bit.term} buys"
        found.append(Derivation(name, _FIX, label, bit.buys, "wavefronts", partial(list, [step])))
    return Numbers(tuple(found))


def _sizes(prefix: str, tile: Tile, candidate: Candidate, widths: str = "") -> list[Derivation]:
    """Return bytes and wavefronts of all phases of a candidate."""
    title = candidate.title + widths
    costs = [cost.wavefronts for cost in candidate.costs]
    every = equals(total(costs), candidate.wavefronts)
    return [
        Derivation(
            f"{prefix}.bytes",
            _FIX,
            f"{title}: bytes",
            candidate.bytes,
            "bytes",
            partial(bytes_steps, tile, candidate),
        ),
        Derivation(
            f"{prefix}.extra_bytes",
            _FIX,
            f"{title}: extra memory",
            candidate.extra_bytes,
            "bytes",
            partial(extra_steps, tile, candidate),
        ),
        Derivation(
            f"{prefix}.wavefronts",
            _FIX,
            f"{title}: all accesses",
            candidate.wavefronts,
            "wavefronts",
            lambda: [Step("Every access over the whole tile.", every)],
        ),
    ]


def _costs(
    prefix: str, design: AccessDesign, layout: str | None, who: str, costs: Sequence[Cost]
) -> list[Derivation]:
    """Return what each access pays over the whole tile through a layout."""
    found = []
    for at, (cost, phase) in enumerate(zip(costs, phases_of(design), strict=True)):
        label = f"{who}, {cost.access}"
        base = f"{prefix}.{at}"
        paid = partial(_swept_steps, phase, layout, cost, False)
        least = partial(_swept_steps, phase, layout, cost, True)
        count = partial(_count_steps, design, phase, cost)
        found += [
            Derivation(f"{base}.wavefronts", _FIX, label, cost.wavefronts, "wavefronts", paid),
            Derivation(f"{base}.ideal", _FIX, f"{label}: ideal", cost.ideal, "wavefronts", least),
            Derivation(
                f"{base}.instructions",
                _FIX,
                f"{label}: instructions",
                cost.instructions,
                "",
                count,
            ),
        ]
    return found


def _swept_steps(phase: Phase, layout: str | None, cost: Cost, ideal: bool) -> list[Step]:
    """Count an access over the whole tile, through the layout as it is written."""
    value = cost.ideal if ideal else cost.wavefronts
    if layout is None:
        text = "No layout says this arrangement in text; counted through its own index function."
        return [Step(text, shown(value))]
    parsed = parse_layout(layout)
    points = all_points(phase, parsed.extents)
    accesses = points.accesses(parsed, phase)
    steps = fewest_steps(accesses) if ideal else cost_steps(accesses)
    return [Step(f"Through {layout}."), *steps]


def _count_steps(design: AccessDesign, phase: Phase, cost: Cost) -> list[Step]:
    size = parse_layout(design.layout or "").size
    text = f"{phase.vector} element{'s' * (phase.vector != 1)} a lane, 32 lanes an instruction."
    expected = -(-size // (phase.vector * LANES))
    if expected == cost.instructions:
        whole = f"ceil({shown(size)} / ({phase.vector} · {LANES}))"
        return [Step(f"{text} They cover the tile.", equals(whole, expected))]
    return [Step("Instructions with which this pattern covers the tile.", shown(cost.instructions))]
