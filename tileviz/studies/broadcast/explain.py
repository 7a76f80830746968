"""The broadcast plan in words: what pages, reports and the shell print."""

from __future__ import annotations

from dataclasses import dataclass

from tileviz.studies.broadcast.blocksize import Candidate, candidates
from tileviz.studies.broadcast.cinn import REASONS
from tileviz.studies.broadcast.ours import NAMES
from tileviz.studies.broadcast.plan import BroadcastPlan
from tileviz.studies.broadcast.portion import VERSIONS, portion
from tileviz.studies.errors import NotRunnable
from tileviz.studies.statement import State, Statement, TextTable

# Below this share of useful lanes the tactic's launch is called wasteful.
GOOD_LANE_USE = 0.75


@dataclass(frozen=True)
class Card:
    """One of the three answers that stand side by side."""

    who: str
    state: State
    outcome: str
    evidence: str


def verdict(plan: BroadcastPlan) -> Statement:
    """Return the one sentence that sums up a plan.

    Example:
        >>> from tileviz.studies.design import validated
        >>> from tileviz.studies.broadcast.design import BroadcastDesign
        >>> from tileviz.studies.broadcast.plan import plan
        >>> seed = plan(validated(BroadcastDesign, {"operands": [[192]], "out": [64, 56, 56, 192]}))
        >>> verdict(seed).sentence
        "CINN's tactic applies (nhwc_equal): 4 loads a thread before, 1 after."
    """
    cinn, facts = plan.cinn, _our_facts(plan)
    if cinn.launch is None:
        reason = REASONS[cinn.reason or ""]
        number = [step.outcome for step in cinn.steps].index("decides") + 1
        rest = f"Check {number} of {len(cinn.steps)} decides; {_general_facts(plan)} {facts}"
        return Statement("reject", f"CINN's tactic declines: {reason}.", rest)
    kind = cinn.launch.kind
    if cinn.launchable is False:
        x, y = cinn.launch.grid
        sentence = f"CINN's tactic applies ({kind}), but no device launches its {x} × {y} blocks."
        return Statement("attention", sentence, f"At most 65535 blocks in y. {facts}")
    if plan.loads_before is None:
        sentence = f"CINN's tactic applies ({kind}): 1 load a thread."
    else:
        before = f"{plan.loads_before} load{'s' * (plan.loads_before > 1)} a thread before"
        sentence = f"CINN's tactic applies ({kind}): {before}, 1 after."
    if cinn.lane_use is not None and cinn.lane_use < GOOD_LANE_USE:
        return Statement("attention", sentence, f"It uses {cinn.lane_use:.0%} of lanes. {facts}")
    return Statement("ok", sentence, facts)


def _our_facts(plan: BroadcastPlan) -> str:
    if plan.ours is None:
        return f"No plan of ours: {plan.ours_reason}."
    count = plan.ours.loads_per_thread
    loads = "nothing broadcast" if count == 0 else f"{count} load{'s' * (count > 1)} a thread"
    return f"Ours ({NAMES[plan.ours.kind]}): {loads}, {plan.ours.vector} elements an access."


def _general_facts(plan: BroadcastPlan) -> str:
    if plan.before is None or plan.loads_before is None:
        return "the general tactic runs."
    times = f"{plan.loads_before} load{'s' * (plan.loads_before > 1)} a thread"
    return f"the general tactic runs: {times}."


def cards(plan: BroadcastPlan) -> tuple[Card, Card, Card]:
    """Return the three answers: the general tactic's, CINN's broadcast tactic's, and ours."""
    return _before_card(plan), _cinn_card(plan), _ours_card(plan)


def _before_card(plan: BroadcastPlan) -> Card:
    who, tactic = "Before · general tactic", plan.before
    if tactic is None:
        return Card(who, "reject", "No launch to show", plan.ours_reason or "")
    launch = f"block {tactic.threads}, grid {tactic.grid:,}, {tactic.serial} steps"
    if plan.loads_before is None:
        return Card(who, "ok", "Nothing is broadcast", launch)
    state: State = "ok" if plan.loads_before == 1 else "attention"
    loads = f"{plan.loads_before} load{'s' * (plan.loads_before > 1)} of a value per thread"
    return Card(who, state, loads, launch)


def _cinn_card(plan: BroadcastPlan) -> Card:
    who, cinn = "Reference · CINN broadcast tactic", plan.cinn
    launch = cinn.launch
    if launch is None:
        token = cinn.reason or ""
        return Card(who, "reject", f"Declines: {token}", REASONS[token].capitalize())
    grid = " × ".join(map(str, launch.grid if launch.grid[1] != 1 else launch.grid[:1]))
    block = " × ".join(map(str, launch.block if launch.block[1] > 1 else launch.block[:1]))
    facts = f"block {block}, grid {grid}, {launch.serial} steps"
    if cinn.lane_use is not None:
        facts += f", {cinn.lane_use:.0%} of lanes used"
    if cinn.launchable is False:
        return Card(who, "attention", f"{launch.kind}: unlaunchable grid", facts)
    wasteful = cinn.lane_use is not None and cinn.lane_use < GOOD_LANE_USE
    state: State = "attention" if wasteful else "ok"
    return Card(who, state, f"{launch.kind}: 1 load per thread", facts)


def _ours_card(plan: BroadcastPlan) -> Card:
    if plan.ours is None or plan.proof is None:
        return Card("Ours", "reject", "No plan", plan.ours_reason or "")
    count = plan.ours.loads_per_thread
    state: State = "ok" if count <= 1 else "attention"
    loads = f"{count} load{'s' * (count != 1)} per thread"
    return Card("Ours", state, f"{plan.ours.kind}: {loads}", plan.proof.loads)


def block_sizes(plan: BroadcastPlan) -> tuple[Candidate, ...]:
    """Return every NHWC block size for the design's channels; none where these are dynamic."""
    channels = plan.design.out[-1]
    return candidates(channels) if channels > 0 else ()


def samples(plan: BroadcastPlan) -> tuple[str, ...]:
    """Return, for each version, what part an emulated run handles; "" for all of it."""
    notes = []
    for version in VERSIONS:
        try:
            notes.append(portion(plan, version).note if plan.ours is not None else "")
        except NotRunnable as reason:
            notes.append(str(reason))
    return tuple(notes)


def tables(plan: BroadcastPlan) -> tuple[TextTable, ...]:
    """Return the three answers, the decision path, axes and proof, for the terminal."""
    answers = tuple((card.who, card.outcome, card.evidence) for card in cards(plan))
    signs = {"pass": "✓", "decides": "●", "skipped": "·"}
    path = tuple(
        (f"{signs[step.outcome]} {number}", step.question, step.answer)
        for number, step in enumerate(plan.cinn.steps, start=1)
    )
    axes = tuple(
        (
            str(axis.position),
            "?" if axis.extent < 0 else str(axis.extent),
            axis.group,
            ", ".join(
                name for name, varies in zip(plan.design.names, axis.varies, strict=True) if varies
            )
            or "none",
        )
        for axis in plan.axes
    )
    found = [
        TextTable("three answers", ("who", "outcome", "evidence"), answers),
        TextTable("axes", ("axis", "extent", "group", "operands that vary"), axes),
        TextTable("decision", ("check", "question", "answer"), path),
    ]
    if plan.early is not None:
        block = "" if plan.early.block is None else str(plan.early.block[0])
        early = (("early description (#71434)", f"applies, block {block}", plan.early.note),)
        found.append(TextTable("where descriptions differ", ("who", "outcome", "note"), early))
    if plan.proof is not None:
        proof = (("coverage", plan.proof.coverage), ("loads", plan.proof.loads))
        found.append(TextTable("proof of our plan", ("claim", "why"), proof))
    notes = [(version, note) for version, note in zip(VERSIONS, samples(plan), strict=True) if note]
    if notes:
        found.append(TextTable("emulated runs", ("version", "note"), tuple(notes)))
    return tuple(found)
