"""The permute plan in words: what pages, reports and the shell print."""

from __future__ import annotations

from dataclasses import dataclass

from tileviz.studies.permute.alternatives import Alternative, alternatives
from tileviz.studies.permute.overlap import Overlap
from tileviz.studies.permute.plan import PermutePlan, Schedule
from tileviz.studies.permute.reasons import BitRow, cell_bits, formulas, sentence, unit, why
from tileviz.studies.permute.reference import REASONS
from tileviz.studies.permute.schedule import Ours, OwnSchedule, XorSchedule
from tileviz.studies.statement import State, Statement, TextTable

__all__ = [
    "Alternative",
    "BitRow",
    "Card",
    "KRow",
    "alternatives",
    "cards",
    "cell_bits",
    "formulas",
    "k_rows",
    "placements",
    "tables",
    "unit",
    "verdict",
    "why",
]

_KINDS = {"xor": "XOR", "f2": "F2 formula", "table": "lookup table"}
_SHORT = {"xor": "XOR", "f2": "formula", "table": "table"}


@dataclass(frozen=True)
class Card:
    """One of the three answers that stand side by side."""

    who: str
    state: State
    outcome: str
    evidence: str


@dataclass(frozen=True)
class KRow:
    """One row of the table of every k.

    Attributes:
        label: ``"0"``, ``"1"``..., ``"ours"`` or ``"ideal"``.
        read: Cost of the read phase; likewise ``write``.
        result: Why this k fails, or that both phases are free.
        chosen: Whether this schedule runs.
        read_above: Whether the read cost is above its ideal; likewise ``write_above``.
    """

    label: str
    read: int
    write: int
    result: str
    chosen: bool = False
    read_above: bool = False
    write_above: bool = False


def verdict(plan: PermutePlan) -> Statement:
    """Return the one sentence that sums up a plan.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.permute.plan import plan
        >>> demo = plan(make_design({"study": "permute", "src": {"layout": "S[(4, 32):(32, 1)]"},
        ...                          "dst": {"layout": "S[(4, 32):(1, 4)]"}}))
        >>> verdict(demo).sentence
        'Conflict-free: read 4 wavefronts (ideal 4), write 4 (ideal 4).'
        >>> other = plan(make_design({"study": "permute", "src": {"layout": "S[(8, 16):(16, 1)]"},
        ...                           "dst": {"layout": "S[(8, 16):(1, 8)]"}}))
        >>> verdict(other).sentence
        'The reference declines; our schedule is conflict-free with 4 + 4 wavefronts.'
    """
    found, overlap = _of_a_stage(plan), plan.overlap
    if overlap is None or plan.chosen is None:
        return found
    alone = found.sentence[:1].lower() + found.sentence[1:].replace(": ", ", ", 1)
    facts = f"{overlap.loss} A stage by itself: {alone}"
    return Statement("attention", overlap.sentence, facts)


def _of_a_stage(plan: PermutePlan) -> Statement:
    """Return the verdict on a stage, whatever the others do."""
    chosen, reference, ours = plan.chosen, plan.reference, plan.ours
    step = f"Check {_step(reference.reason)} of 16 decides." if reference.reason else ""
    if chosen is None:
        reason = REASONS[reference.reason or ""]
        facts = f"{step} {sentence(plan.ours_reason or '')}"
        return Statement("reject", f"The reference rejects this: {reason}.", facts)
    if ours is not None and not _is_references(plan):
        if reference.outcome == "reject":
            reason = sentence(REASONS[reference.reason or ""])
            facts = f"{reason} {step}"
            return Statement("reject", f"The reference rejects this; {_own(plan, ours)}.", facts)
        if reference.outcome == "fail":
            claim = "The reference declines"
        else:
            paid = _pair(plan.judged or chosen)
            claim = f"The reference accepts k = {reference.k} at {paid} {unit(plan)}"
        return Statement("attention", f"{claim}; {_own(plan, ours)}.", _best_k(plan))
    return _of_reference(plan, chosen)


def _is_references(plan: PermutePlan) -> bool:
    """Return whether the schedule that runs is the one the reference chose."""
    return plan.reference.k is not None and plan.chosen is plan.schedules[plan.reference.k]


def _own(plan: PermutePlan, ours: Ours) -> str:
    """Say what our schedule reaches, as a clause."""
    schedule = ours.schedule
    xor = isinstance(schedule, XorSchedule)
    who = schedule.label if xor else "our schedule"
    costs = f"{_pair(schedule)} {unit(plan)}"
    if plan.design.space == "global":
        return f"{who} moves {costs}"
    if schedule.read.n_way == schedule.write.n_way == 1 and not schedule.excess:
        return f"{who} is conflict-free with {costs}"
    if not schedule.excess:
        return f"{who} needs {costs}, the least there is"
    return f"{who}, the best found, needs {costs}"


def _pair(schedule: Schedule) -> str:
    return f"{schedule.read.cost} + {schedule.write.cost}"


def _best_k(plan: PermutePlan) -> str:
    best = plan.best_xor
    if best is None or best is plan.chosen:
        return "Per warp and stage."
    return f"Best k needs {_pair(best)}."


def _of_reference(plan: PermutePlan, chosen: Schedule) -> Statement:
    """Return the verdict where the reference's own choice runs, or nothing better is known."""
    counts = (
        f"read {chosen.read.cost} {unit(plan)} (ideal {chosen.read.ideal}), "
        f"write {chosen.write.cost} (ideal {chosen.write.ideal})"
    )
    facts = "Per warp and stage."
    if isinstance(chosen, XorSchedule) and chosen.k:
        facts += f" Plain copy order (k = 0) needs {_pair(plan.schedules[0])}."
    if plan.reference.outcome == "fail":
        claim = f"The reference declines; its best order, {chosen.label}"
        return Statement("attention", f"{claim}: {counts}.", facts)
    if chosen.excess:
        claim = f"The reference accepts {chosen.label}, yet hardware pays more"
        return Statement("attention", f"{claim}: {counts}.", facts)
    free = "Conflict-free" if plan.design.space == "shared" else "Fully coalesced"
    return Statement("ok", f"{free}: {counts}.", facts)


def cards(plan: PermutePlan) -> tuple[Card, Card, Card]:
    """Return the three answers: the reference's, the hardware's for it, and ours."""
    return _reference_card(plan), _hardware_card(plan), _ours_card(plan)


def _reference_card(plan: PermutePlan) -> Card:
    who, reference = "Reference · warp_xor_swizzle", plan.reference
    if reference.outcome == "reject":
        token = reference.reason or ""
        return Card(who, "reject", f"Rejects: {token}", sentence(REASONS[token]))
    if reference.outcome == "fail":
        last = len(reference.free) - 1
        tried = "Tried k = 0" if last == 0 else f"Tried k = 0 to {last}"
        reads, writes = (any(phase) for phase in zip(*reference.free, strict=True))
        never = {(False, False): "neither phase is ever free", (True, False): "write never free"}
        never[False, True] = "read never free"
        why_not = never.get((reads, writes), "never both phases at one k")
        return Card(who, "attention", "Declines, no k frees both phases", f"{tried}; {why_not}")
    lanes = f"{reference.registers} element{'s' * (reference.registers != 1)} per lane"
    facts = f"shift {reference.shift}, mask {reference.mask}, {lanes}"
    return Card(who, "ok", f"Accepts, k = {reference.k}", facts)


def _hardware_card(plan: PermutePlan) -> Card:
    judged = plan.judged
    if judged is None:
        if plan.schedules:
            plain = plan.schedules[0]
            cost = f"{_pair(plain)} {unit(plan)}, excess {plain.excess}"
            state: State = "attention" if plain.excess else "ok"
            return Card("Hardware · plain order", state, cost, _rule(plain))
        return Card("Hardware", "reject", "No schedule to judge", "The reference gives none")
    which = "that schedule" if plan.reference.outcome == "ok" else f"best k = {judged.k}"
    cost = f"{_pair(judged)} {unit(plan)}, excess {judged.excess}"
    state = "attention" if judged.excess else "ok"
    return Card(f"Hardware · {which}", state, cost, _rule(judged))


def _rule(schedule: Schedule) -> str:
    return f"Rule {schedule.evidence.source}"


def _ours_card(plan: PermutePlan) -> Card:
    ours = plan.ours
    if ours is None:
        return Card("Ours", "reject", "No schedule of ours", sentence(plan.ours_reason or ""))
    schedule = ours.schedule
    if _is_references(plan):
        return Card("Ours", "ok", "Same schedule, already optimal", ours.proof)
    name = schedule.label if isinstance(schedule, XorSchedule) else _KINDS[ours.kind]
    cost = f"{_pair(schedule)} {unit(plan)}, excess {schedule.excess}"
    state: State = "attention" if schedule.excess else "ok"
    best = ours.proof.startswith(("Best", "Fewest", "Every"))
    proof = ours.proof if best else f"Proof: {ours.proof[:1].lower()}{ours.proof[1:]}"
    return Card(f"Ours · {name}", state, cost, proof)


def k_rows(plan: PermutePlan) -> tuple[KRow, ...]:
    """Return every k with its cost and the reason it fails, then ours, then the ideal."""
    shown: list[Schedule] = list(plan.schedules)
    if plan.ours is not None and isinstance(plan.ours.schedule, OwnSchedule):
        shown.append(plan.ours.schedule)
    rows = [
        KRow(
            "ours" if isinstance(s, OwnSchedule) else str(s.k),
            s.read.cost,
            s.write.cost,
            _result(s, plan),
            s is plan.chosen,
            s.read.excess > 0,
            s.write.excess > 0,
        )
        for s in shown
    ]
    if shown:
        last = shown[-1]
        rows.append(KRow("ideal", last.read.ideal, last.write.ideal, ""))
    return tuple(rows)


def _result(schedule: Schedule, plan: PermutePlan) -> str:
    """Say in one phrase what this k pays, and where the reference sees it otherwise."""
    parts = []
    for name, phase in (("read", schedule.read), ("write", schedule.write)):
        if phase.excess:
            ways = phase.n_way is not None and phase.n_way > 1
            parts.append(f"{name} {phase.n_way}-way" if ways else f"{name} {phase.excess} more")
    paid = ", ".join(parts)
    if isinstance(schedule, OwnSchedule):
        shared = plan.design.space == "shared"
        return f"{_SHORT[schedule.kind]}, {paid or ('both free' if shared else 'both coalesced')}"
    if not paid:
        paid = "both phases free" if plan.design.space == "shared" else "both phases coalesced"
    if not plan.reference.free:
        return paid
    free = all(plan.reference.free[schedule.k])
    if free and parts:
        return f"{paid}; reference calls it free"
    if not free and not parts:
        return f"{paid}; reference sees conflicts"
    return paid


def placements(plan: PermutePlan, lanes: int = 6) -> TextTable | None:
    """Return what the first lanes of each group move: source offset to destination offset.

    None where the schedule that runs is a formula.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.permute.plan import plan
        >>> odd = plan(make_design({"study": "permute", "src": {"layout": "S[(4, 48):(48, 1)]"},
        ...                         "dst": {"layout": "S[(4, 48):(1, 4)]"}}))
        >>> table = placements(odd, 3)
        >>> table.columns, table.rows[0]
        (('group', 'lane 0', 'lane 1', 'lane 2', '…'), ('r0', '0→0', '1→4', '2→8', '…'))
    """
    schedule = plan.chosen
    if not isinstance(schedule, OwnSchedule) or schedule.kind != "table":
        return None
    read, write = schedule.read.addresses_json(), schedule.write.addresses_json()
    columns = ("group", *(f"lane {lane}" for lane in range(lanes)), "…")
    rows = tuple(
        (
            f"r{r}",
            *(_move(a, b) for a, b in zip(read[r][:lanes], write[r][:lanes], strict=True)),
            "…",
        )
        for r in range(schedule.registers)
    )
    return TextTable("what each lane moves", columns, rows)


def _move(source: int | None, target: int | None) -> str:
    return "–" if source is None else f"{source}→{target}"


def tables(plan: PermutePlan) -> tuple[TextTable, ...]:
    """Return the three answers and every k, for the terminal."""
    answers = tuple((card.who, card.outcome, card.evidence) for card in cards(plan))
    found = [TextTable("three answers", ("who", "outcome", "evidence"), answers)]
    if plan.overlap is not None:
        found.insert(0, _overlap_table(plan.overlap))
    rows = k_rows(plan)
    if rows:
        columns = ("k", f"read {unit(plan)}", f"write {unit(plan)}", "result")
        body = tuple(
            (
                f"{row.label} ←" if row.chosen else row.label,
                str(row.read),
                str(row.write),
                row.result,
            )
            for row in rows
        )
        found.append(TextTable("every k, per warp and stage", columns, body))
    others = alternatives(plan)
    if others:
        heads = ("instead", "read", "write", "extra bytes", "note")
        ways = tuple(
            (way.name, str(way.read), str(way.write), str(way.extra_bytes), way.note)
            for way in others
        )
        found.append(TextTable("the classic ways, in wavefronts", heads, ways))
    return tuple(found)


def _overlap_table(overlap: Overlap) -> TextTable:
    early, late = overlap.stages
    does = "writes" if overlap.kind == "write" else "reads"
    rows = (
        (f"stage {early} writes", str(overlap.first), str(overlap.address)),
        (f"stage {late} {does}", str(overlap.second), str(overlap.address)),
        ("lost in all", f"{overlap.count:,} of {overlap.total:,} elements", ""),
    )
    return TextTable("stages overlap", ("", "element", "address"), rows)


def _step(token: str | None) -> int:
    return list(REASONS).index(token or "") + 1
