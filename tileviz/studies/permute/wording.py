"""The comments and values of a permute kernel's text."""

from __future__ import annotations

from textwrap import wrap

from tileviz.studies.permute.indexing import Indexing
from tileviz.studies.permute.plan import PermutePlan, xor_form
from tileviz.studies.permute.schedule import OwnSchedule, Schedule

# A comment line that a code panel shows whole beside the explanations.
_WIDTH = 66


def items(schedule: Schedule) -> str:
    """Return what a lane moves at a time: elements, or words of smaller ones."""
    return "elements" if schedule.read.bytes == schedule.read.element_bytes else "4-byte words"


def header(plan: PermutePlan, schedule: Schedule, indexing: Indexing) -> list[str]:
    """Return the comment lines above a kernel: the move, and what each lane holds."""
    return [part for line in _header(plan, schedule, indexing) for part in wrap(line, _WIDTH)]


def _header(plan: PermutePlan, schedule: Schedule, indexing: Indexing) -> list[str]:
    design = plan.design
    facts = [design.tile_dtype("src")]
    if design.stage_count > 1:
        facts.append(f"{design.stage_count} stages")
    if design.in_place:
        facts.append("in place")
    unit = ""
    if items(schedule) == "4-byte words":
        unit = " word" if schedule.registers == 1 else " words"
    facts.append(f"{schedule.registers}{unit} per lane")
    lines = [f"{design.src.parsed} -> {design.dst.parsed}", ", ".join(facts)]
    if plan.overlap is not None:
        lines.append(plan.overlap.sentence)
    if isinstance(schedule, OwnSchedule):
        return lines + _own(plan, schedule, indexing)
    if schedule.k:
        form = xor_form(schedule.k, "l")
        held = f"element l + 32 * j in register r, j = {form}: k = {schedule.k}"
        return [*lines, f"Lane l holds {held}."]
    return [*lines, "Lane l holds element l + 32 * r in register r: k = 0, no XOR."]


def _own(plan: PermutePlan, schedule: OwnSchedule, indexing: Indexing) -> list[str]:
    what = items(schedule).removesuffix("s")
    if schedule.blocks is not None:
        words = schedule.blocks.words
        of = "a word" if words == 1 else f"{words} words"
        return [
            f"Lanes read whole words, permute the bytes of {of} in registers, write whole words:",
            "e is the first element of a word, pick selects the bytes of the word written.",
        ]
    if schedule.kind == "f2" and indexing.step is None:
        return [f"Lane l holds {what} l + 32 * r in register r."]
    if schedule.kind == "f2" and indexing.step is not None:
        name, form = indexing.step
        whole = f"{what} e" if name == "e" else f"{what} lane + 32 * j"
        return [f"Lane and register hold {whole}, {name} = {form}."]
    groups = plan.ours.groups if plan.ours else 0
    many = f"{groups} access group{'s' * (groups != 1)}"
    return [f"A table of {many}, one entry a lane and register."]


def written(schedule: Schedule, guarded: bool) -> str:
    """Return what the write phase writes: a register, or a byte permute of a block's registers."""
    single = "reg" if schedule.registers == 1 and not guarded else "reg[r]"
    if not isinstance(schedule, OwnSchedule) or schedule.blocks is None:
        return single
    words = schedule.blocks.words
    if words == 1:
        return f"__byte_perm({single}, 0, pick)"
    first = f"r & ~{words - 1}"
    regs = [f"reg[{first}]"] + [f"reg[({first}) + {word}]" for word in range(1, words)]
    pairs = [f"__byte_perm({a}, {b}, pick)" for a, b in zip(regs[::2], regs[1::2], strict=True)]
    return pairs[0] if len(pairs) == 1 else f"__byte_perm({pairs[0]}, {pairs[1]}, join)"
