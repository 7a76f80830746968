"""The permute plan in words and bits: what pages, reports and the shell print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tileviz.dtypes import dtype as dtype_of
from tileviz.memory import BANK_BYTES, BANKS, bank_load, shared_wavefronts
from tileviz.studies.errors import NotRunnable
from tileviz.studies.permute.kernel import kernel
from tileviz.studies.permute.plan import PermutePlan, Phase, XorSchedule, xor_form
from tileviz.studies.permute.reference import REASONS
from tileviz.studies.statement import State, Statement, TextTable

PhaseName = Literal["read", "write"]


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
        label: ``"0"``, ``"1"``..., or ``"ideal"``.
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


@dataclass(frozen=True)
class BitRow:
    """One step from a lane and register to a bank, bit by bit.

    Attributes:
        label: What the number is.
        value: The number.
        width: How many bits are shown.
        taken: Bit positions that the XOR takes from the lane.
        changed: Bit positions that the XOR sets.
    """

    label: str
    value: int
    width: int
    taken: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()


def unit(plan: PermutePlan) -> str:
    """Return what a phase costs: wavefronts in shared memory, sectors in global."""
    return "wavefronts" if plan.design.space == "shared" else "sectors"


def verdict(plan: PermutePlan) -> Statement:
    """Return the one sentence that sums up a plan.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.permute.plan import plan
        >>> demo = plan(make_design({"study": "permute", "src": {"layout": "S[(4, 32):(32, 1)]"},
        ...                          "dst": {"layout": "S[(4, 32):(1, 4)]"}}))
        >>> verdict(demo).sentence
        'Conflict-free: read 4 wavefronts (ideal 4), write 4 (ideal 4).'
    """
    chosen, reference = plan.chosen, plan.reference
    if chosen is None:
        reason = REASONS[reference.reason or ""]
        facts = f"Check {_step(reference.reason)} of 16 decides. {_sentence(plan.ours_reason)}"
        return Statement("reject", f"The reference rejects this: {reason}.", facts)
    counts = (
        f"read {chosen.read.cost} {unit(plan)} (ideal {chosen.read.ideal}), "
        f"write {chosen.write.cost} (ideal {chosen.write.ideal})"
    )
    plain = plan.schedules[0]
    facts = "Per warp and stage."
    if chosen.k:
        facts += f" Plain copy order (k = 0) needs {plain.read.cost} + {plain.write.cost}."
    if reference.outcome == "fail":
        return Statement(
            "attention", f"The reference declines; its best order, k = {chosen.k}: {counts}.", facts
        )
    if chosen.excess:
        claim = f"The reference accepts k = {chosen.k}, yet hardware pays more"
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
        return Card(who, "reject", f"Rejects: {token}", _sentence(REASONS[token]))
    if reference.outcome == "fail":
        last = len(reference.free) - 1
        tried = "Tried k = 0" if last == 0 else f"Tried k = 0 to {last}"
        reads, writes = (any(phase) for phase in zip(*reference.free, strict=True))
        never = {(False, False): "neither phase is ever free", (True, False): "write never free"}
        never[False, True] = "read never free"
        why = never.get((reads, writes), "never both phases at one k")
        return Card(who, "attention", "Declines, no k frees both phases", f"{tried}; {why}")
    lanes = f"{reference.registers} element{'s' * (reference.registers != 1)} per lane"
    facts = f"shift {reference.shift}, mask {reference.mask}, {lanes}"
    return Card(who, "ok", f"Accepts, k = {reference.k}", facts)


def _hardware_card(plan: PermutePlan) -> Card:
    chosen = plan.chosen
    if chosen is None:
        return Card("Hardware", "reject", "No schedule to judge", "The reference gives none")
    which = "that schedule" if plan.reference.outcome == "ok" else f"best k = {chosen.k}"
    cost = f"{chosen.read.cost} + {chosen.write.cost} {unit(plan)}, excess {chosen.excess}"
    state: State = "attention" if chosen.excess else "ok"
    evidence = chosen.read.evidence
    return Card(f"Hardware · {which}", state, cost, f"Rule {evidence.source}")


def _ours_card(plan: PermutePlan) -> Card:
    chosen = plan.chosen
    if chosen is not None and not chosen.excess:
        proof = f"Bound reached: no order needs fewer than {chosen.read.ideal} per phase"
        return Card("Ours", "ok", "Same schedule, already optimal", proof)
    return Card("Ours", "reject", "Not available yet", _sentence(plan.ours_reason))


def k_rows(plan: PermutePlan) -> tuple[KRow, ...]:
    """Return every k with its cost and the reason it fails, then the ideal."""
    rows = [
        KRow(
            str(s.k),
            s.read.cost,
            s.write.cost,
            _result(s, plan),
            s is plan.chosen,
            s.read.excess > 0,
            s.write.excess > 0,
        )
        for s in plan.schedules
    ]
    if plan.schedules:
        first = plan.schedules[0]
        rows.append(KRow("ideal", first.read.ideal, first.write.ideal, ""))
    return tuple(rows)


def _result(schedule: XorSchedule, plan: PermutePlan) -> str:
    """Say in one phrase what this k pays, and where the reference sees it otherwise."""
    parts = []
    for name, phase in (("read", schedule.read), ("write", schedule.write)):
        if phase.excess:
            ways = phase.n_way is not None
            parts.append(f"{name} {phase.n_way}-way" if ways else f"{name} {phase.excess} more")
    paid = ", ".join(parts)
    if not paid:
        paid = "both phases free" if plan.design.space == "shared" else "both phases coalesced"
    free = all(plan.reference.free[schedule.k])
    if free and parts:
        return f"{paid}; reference calls it free"
    if not free and not parts:
        return f"{paid}; reference sees conflicts"
    return paid


def tables(plan: PermutePlan) -> tuple[TextTable, ...]:
    """Return the three answers and every k, for the terminal."""
    answers = tuple((card.who, card.outcome, card.evidence) for card in cards(plan))
    found = [TextTable("three answers", ("who", "outcome", "evidence"), answers)]
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
    return tuple(found)


def formulas(plan: PermutePlan, k: int | None = None) -> tuple[tuple[str, str], ...]:
    """Return the row index j in the reference's form, as printed in CUDA, and bit by bit."""
    schedule = plan.schedule(k)
    if schedule is None:
        return ()
    rows = [("Reference", xor_form(schedule.k))]
    try:
        source = kernel(plan, schedule.k).source
    except NotRunnable:
        source = ""
    printed = [
        line.strip() for line in source.splitlines() if line.strip().startswith("const int j")
    ]
    if printed:
        rows.append(("CUDA", printed[0].removeprefix("const int j = ").rstrip(";")))
    bits = len(schedule.elements).bit_length() - 1
    if bits:
        rows.append(("Bits", ", ".join(_bit(schedule, b) for b in reversed(range(bits)))))
    return tuple(rows)


def _bit(schedule: XorSchedule, bit: int) -> str:
    xor = f" ^ lane{schedule.shift + bit}" if bit < schedule.k else ""
    return f"j{bit} = r{bit}{xor}"


def cell_bits(
    plan: PermutePlan, k: int | None, phase: PhaseName, lane: int, register: int
) -> tuple[BitRow, ...]:
    """Return the steps from one lane and register to its bank.

    Args:
        plan: A plan with schedules.
        k: The schedule; None for the chosen one.
        phase: Which phase's layout to go through.
        lane: 0 to 31.
        register: 0 to the elements per lane.

    Raises:
        ValueError: The plan has no schedule, or lane or register is outside it.
    """
    schedule = plan.schedule(k)
    if schedule is None or not (0 <= lane < 32 and 0 <= register < len(schedule.elements)):
        raise ValueError(f"no lane {lane}, register {register} in this plan")
    part: Phase = schedule.read if phase == "read" else schedule.write
    moved = (lane >> schedule.shift) & schedule.mask
    row = register ^ moved
    taken = tuple(range(schedule.shift, 5)) if schedule.k else ()
    changed = tuple(range(schedule.k))
    width = max(len(schedule.elements).bit_length() - 1, 1)
    offset = int(part.offsets[register, lane])
    rows = [BitRow("lane", lane, 5, taken=taken), BitRow("register r", register, width)]
    if schedule.k:
        shifted = xor_form(schedule.k).removeprefix("r ^ ")[1:-1]
        rows.append(BitRow(shifted, moved, width, taken=changed))
    rows.append(BitRow("j = r ^ above" if schedule.k else "j = r", row, width, changed=changed))
    rows.append(BitRow(f"{_through(phase)} offset", offset, max(offset.bit_length(), 5)))
    size = dtype_of(plan.design.tile_dtype("src")).bytes
    bank = offset * size // BANK_BYTES % BANKS
    rows.append(BitRow(_bank_label(size), bank, 5))
    return tuple(rows)


def _through(phase: PhaseName) -> str:
    return "source" if phase == "read" else "destination"


def _bank_label(size: int) -> str:
    if size == BANK_BYTES:
        return "bank = offset mod 32"
    if size > BANK_BYTES:
        return f"first bank = {size // BANK_BYTES}·offset mod 32"
    return f"bank = offset/{BANK_BYTES // size} mod 32"


def why(plan: PermutePlan, k: int | None = None) -> str:
    """Say in a sentence or two why a schedule is free, or where its lanes meet.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.permute.plan import plan
        >>> demo = plan(make_design({"study": "permute", "src": {"layout": "S[(4, 32):(32, 1)]"},
        ...                          "dst": {"layout": "S[(4, 32):(1, 4)]"}}))
        >>> why(demo, 0)
        'In the write phase of register 0, lanes 0, 8, 16, 24 meet in bank 0: 4 passes for 1.'
    """
    schedule = plan.schedule(k)
    if schedule is None:
        return _sentence(REASONS[plan.reference.reason or ""])
    for name, phase in (("read", schedule.read), ("write", schedule.write)):
        if phase.excess:
            return _clash(name, phase) if phase.n_way is not None else _scattered(name, phase)
    if plan.design.space == "global":
        return "Every request touches the fewest 32-byte sectors that can hold its bytes."
    plain = plan.schedules[0]
    if schedule.k == 0 or not plain.excess:
        return "In every register the lanes of a group already meet different banks."
    name, phase = ("write", plain.write) if plain.write.excess else ("read", plain.read)
    low = schedule.shift
    lanes = f"bit {low}" if low == 4 else f"bits {low} to 4"
    return (
        f"Without the XOR, {phase.n_way} lanes of the {name} phase meet in one bank. "
        f"Lane {lanes} fill the bank bits left empty: 32 lanes, 32 banks, in every register."
    )


def _clash(name: str, phase: Phase) -> str:
    """Name the lanes that meet in the busiest bank of the busiest register."""
    accesses = phase.accesses
    passes = shared_wavefronts(accesses)
    register = int(np.argmax(passes.n_way))
    load = bank_load(accesses)[register]
    lane = int(np.argmax(load))
    width = max(accesses.bytes, BANK_BYTES)
    slots = BANKS * BANK_BYTES // width
    units = accesses.addresses[register] // width
    size = 32 * BANK_BYTES // width
    group = slice(lane // size * size, lane // size * size + size)
    meet = np.arange(32)[group][(units[group] - units[lane]) % slots == 0]
    bank = int(accesses.addresses[register, lane] // BANK_BYTES % BANKS)
    shown = ", ".join(map(str, meet[:8].tolist())) + (", ..." if len(meet) > 8 else "")
    return (
        f"In the {name} phase of register {register}, lanes {shown} meet in bank {bank}: "
        f"{int(load[lane])} passes for 1."
    )


def _scattered(name: str, phase: Phase) -> str:
    return (
        f"The {name} phase moves {phase.cost} sectors where {phase.ideal} could hold its bytes: "
        "neighbouring lanes are far apart."
    )


def _step(token: str | None) -> int:
    return list(REASONS).index(token or "") + 1


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
