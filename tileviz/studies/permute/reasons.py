"""Why a permute schedule is free or not: formulas, one cell bit by bit, and the lanes that meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tileviz.dtypes import dtype as dtype_of
from tileviz.layouts.f2 import apply_columns
from tileviz.memory import (
    BANK_BYTES,
    BANKS,
    LANES,
    SECTOR_BYTES,
    bank_load,
    shared_wavefronts,
)
from tileviz.studies.errors import NotRunnable
from tileviz.studies.permute.kernel import kernel
from tileviz.studies.permute.plan import Key, PermutePlan, Phase, Schedule, XorSchedule, xor_form
from tileviz.studies.permute.reference import REASONS
from tileviz.studies.permute.schedule import OwnSchedule

PhaseName = Literal["read", "write"]


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


def sentence(text: str) -> str:
    """Return a clause as a sentence.

    Example:
        >>> sentence("nothing moves")
        'Nothing moves.'
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def formulas(plan: PermutePlan, k: Key | None = None) -> tuple[tuple[str, str], ...]:
    """Return what each lane holds: in the reference's form or ours, as printed, and bit by bit.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.permute.plan import plan
        >>> other = plan(make_design({"study": "permute", "src": {"layout": "S[(8, 16):(16, 1)]"},
        ...                           "dst": {"layout": "S[(8, 16):(1, 8)]"}}))
        >>> formulas(other)
        (('CUDA', 'j = r ^ ((lane >> 2) & 3)'), ('Bits', 'j1 = r1 ^ lane3, j0 = r0 ^ lane2'))
    """
    schedule = plan.schedule(k)
    if schedule is None:
        return ()
    rows = []
    if isinstance(schedule, XorSchedule):
        rows.append(("Reference", xor_form(schedule.k)))
    try:
        source = kernel(plan, k).source
    except NotRunnable:
        source = ""
    printed = _printed(source)
    if printed:
        name, _, form = printed.partition(" = ")
        rows.append(("CUDA", form if isinstance(schedule, XorSchedule) else f"{name} = {form}"))
    if isinstance(schedule, OwnSchedule) and schedule.kind == "table":
        return (*rows, *_table_rows(source, schedule))
    bits = _bits_of(schedule, "e" if printed.startswith("e ") else "j")
    if bits:
        rows.append(("Bits", bits))
    return tuple(rows)


def _printed(source: str) -> str:
    """Return the line that computes the row j or the element e, as it stands in the source."""
    for line in source.splitlines():
        text = line.strip()
        if text.startswith(("const int j = ", "const int e = ")):
            return text.removeprefix("const int ").rstrip(";")
    return ""


def _table_rows(source: str, schedule: OwnSchedule) -> list[tuple[str, str]]:
    """Return both accesses and the size of the table."""
    rows = []
    for line in source.splitlines():
        text = line.strip().rstrip(";").split(") ", 1)[-1] if "NONE)" in line else line.strip()
        text = text.rstrip(";")
        if text.startswith(("reg[r] = ", "const ")) and "_AT[" in text:
            rows.append(("Read", text.split(" = ", 1)[1]))
        elif text.endswith(("= reg[r]", "= reg")) and "_AT[" in text:
            rows.append(("Write", text.split(" = ", 1)[0]))
    kind = next((line for line in source.splitlines() if " SRC_AT[" in line), "")
    size = 1 if " char SRC_AT[" in kind else 2 if " short SRC_AT[" in kind else 4
    entries = schedule.elements.size
    rows.append(("Table", f"{entries} entries a side, {2 * entries * size} bytes"))
    return rows


def _bits_of(schedule: Schedule, name: str) -> str:
    """Return every bit of the row j, or of the element e, as an XOR of lane and register bits."""
    if isinstance(schedule, XorSchedule):
        bits = schedule.registers.bit_length() - 1
        shown = [
            f"j{b} = r{b}" + (f" ^ lane{schedule.shift + b}" if b < schedule.k else "")
            for b in reversed(range(bits))
        ]
        return ", ".join(shown)
    space = schedule.space
    if space is None:
        return ""
    low = 5 if name == "j" else 0
    shown = []
    for bit in reversed(range(low, len(space.lanes) + len(space.registers))):
        sources = [f"r{i}" for i, vector in enumerate(space.registers) if vector >> bit & 1]
        sources += [f"lane{i}" for i, vector in enumerate(space.lanes) if vector >> bit & 1]
        shown.append(f"{name}{bit - low} = {' ^ '.join(sources)}")
    return ", ".join(shown)


def cell_bits(
    plan: PermutePlan, k: Key | None, phase: PhaseName, lane: int, register: int
) -> tuple[BitRow, ...]:
    """Return the steps from one lane and register to its bank, or sector in global memory.

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
    if schedule is None or not (0 <= lane < LANES and 0 <= register < schedule.registers):
        raise ValueError(f"no lane {lane}, register {register} in this plan")
    part: Phase = schedule.read if phase == "read" else schedule.write
    if isinstance(schedule, XorSchedule):
        rows = _xor_rows(schedule, lane, register)
    else:
        rows = _own_rows(schedule, phase, lane, register)
    if part.active is not None and not part.active[register, lane]:
        return (*rows, BitRow("inactive: no element for this lane", 0, 1))
    offset = int(part.offsets[register, lane])
    through = "source" if phase == "read" else "destination"
    rows.append(BitRow(f"{through} offset", offset, max(offset.bit_length(), 5)))
    size = dtype_of(plan.design.tile_dtype("src")).bytes
    if part.space == "global":
        sector = offset * size // SECTOR_BYTES
        rows.append(BitRow(_sector_label(size), sector, max(sector.bit_length(), 1)))
        return tuple(rows)
    bank = offset * size // BANK_BYTES % BANKS
    rows.append(BitRow(_bank_label(size), bank, 5))
    return tuple(rows)


def _xor_rows(schedule: XorSchedule, lane: int, register: int) -> list[BitRow]:
    moved = (lane >> schedule.shift) & schedule.mask
    taken = tuple(range(schedule.shift, 5)) if schedule.k else ()
    changed = tuple(range(schedule.k))
    width = max((schedule.registers - 1).bit_length(), 1)
    rows = [BitRow("lane", lane, 5, taken=taken), BitRow("register r", register, width)]
    if schedule.k:
        shifted = xor_form(schedule.k).removeprefix("r ^ ")[1:-1]
        rows.append(BitRow(shifted, moved, width, taken=changed))
    label = "j = r ^ above" if schedule.k else "j = r"
    rows.append(BitRow(label, register ^ moved, width, changed=changed))
    return rows


def _own_rows(schedule: OwnSchedule, phase: PhaseName, lane: int, register: int) -> list[BitRow]:
    width = max((schedule.registers - 1).bit_length(), 1)
    wide = max((len(schedule.items) - 1).bit_length(), 1)
    what = "element" if schedule.read.bytes == schedule.read.element_bytes else "4-byte word"
    space, item = schedule.space, int(schedule.chosen[register, lane])
    if space is None:
        rows = [BitRow("lane", lane, 5), BitRow("register r", register, width)]
        return [*rows, BitRow(f"{what}, by the table", item, wide)]
    if schedule.blocks is not None:
        what = "first element of the word"
        if phase == "write":
            space = schedule.blocks.writes
            item = apply_columns(space.lanes, lane) ^ apply_columns(space.registers, register)
    # Bits of the lane that end up anywhere but in their own place.
    moved = [bit for bit, vector in enumerate(space.lanes) if vector != 1 << bit]
    set_bits = 0
    for bit in moved:
        set_bits |= space.lanes[bit] & ~(1 << bit)
    changed = tuple(bit for bit in range(wide) if set_bits >> bit & 1)
    return [
        BitRow("lane", lane, 5, taken=tuple(moved)),
        BitRow("register r", register, width),
        BitRow(what, item, wide, changed=changed),
    ]


def _sector_label(size: int) -> str:
    return f"sector = offset / {SECTOR_BYTES // size}" if size < SECTOR_BYTES else "sector"


def _bank_label(size: int) -> str:
    if size == BANK_BYTES:
        return "bank = offset mod 32"
    if size > BANK_BYTES:
        return f"first bank = {size // BANK_BYTES}·offset mod 32"
    return f"bank = offset/{BANK_BYTES // size} mod 32"


def why(plan: PermutePlan, k: Key | None = None) -> str:
    """Say in a few sentences why a schedule is free, or where its lanes meet.

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
        token = plan.reference.reason
        return sentence(REASONS[token] if token else plan.ours_reason or "")
    if isinstance(schedule, OwnSchedule):
        return _why_ours(plan, schedule)
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


def _why_ours(plan: PermutePlan, schedule: OwnSchedule) -> str:
    """Say what proves our schedule, or what is not proved."""
    if plan.design.space == "global":
        return (
            "Banks do not matter here. The lanes of one access are shared out between whole "
            f"source sectors and whole destination sectors: {schedule.read.cost} + "
            f"{schedule.write.cost} sectors, and no other lane map linear over bits has fewer."
        )
    moved = schedule.items.size
    what = "elements" if schedule.read.bytes == schedule.read.element_bytes else "4-byte words"
    if schedule.excess:
        proof = plan.ours.proof if plan.ours else ""
        return sentence(f"{proof}: the layouts tear words apart, so lanes move single elements")
    lanes = LANES * BANK_BYTES // max(schedule.read.bytes, BANK_BYTES)
    slots = {32: "banks", 16: "pairs of banks", 8: "fours of banks"}[lanes]
    degree = max(schedule.read.ideal, schedule.write.ideal)
    if schedule.blocks is not None:
        size = schedule.blocks.words * BANK_BYTES // schedule.read.element_bytes
        return (
            f"The layouts tear 4-byte words apart, yet {size} elements at a time are whole words "
            "on both sides. A lane reads such a block's words, permutes their bytes in registers "
            f"and writes whole words: {degree} passes for {moved} elements, and {degree * 32} "
            "words cannot pass 32 banks in fewer."
        )
    if schedule.kind == "f2":
        return (
            f"Both layouts send the bits of an element linearly to {slots}. The {lanes} lanes of "
            "one access handle a subspace that meets both kernels only in 0: two lanes never "
            f"share a bank, in either phase. {moved} {what} in groups of {lanes}: {degree}, and "
            "fewer cannot hold them."
        )
    even = degree * lanes == moved
    holds = f"exactly {degree}" if even else f"at most {degree}"
    parts = "perfect matchings" if even else "matchings"
    end = (
        f"fewer than {degree} cannot hold {moved} {what}."
        if even
        else f"the fullest bank alone needs {degree}."
    )
    if schedule.read.ideal != schedule.write.ideal:
        return (
            f"The fullest source bank holds {schedule.read.ideal} {what}, the fullest destination "
            f"bank {schedule.write.ideal}: no order needs fewer passes. The groups are colours of "
            "the bank graph, shared out so that the fuller side's passes add up to its own bound."
        )
    return (
        f"Every source bank and every destination bank holds {holds} of the {moved} {what}. Draw "
        f"each as an edge between its two banks: the graph has degree {degree}, and such a graph "
        f"always splits into {degree} {parts}. Each is one access with different {slots} on both "
        f"sides; {end}"
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
    inside = accesses.active[register][group]
    meet = np.arange(32)[group][inside & ((units[group] - units[lane]) % slots == 0)]
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
