"""One cell bit by bit: coordinate, offset, swizzle, word, bank; and an access in two sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tileviz.layouts import ComposeLayout
from tileviz.memory import BANK_BYTES, BANKS, bank_load
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.phases import element_offsets
from tileviz.studies.access.plan import memory_layout
from tileviz.studies.access.shown import Instruction, element_bytes
from tileviz.studies.derivation import Bits

_WORD_BITS = BANK_BYTES.bit_length() - 1
_BANK_BITS = BANKS.bit_length() - 1


@dataclass(frozen=True)
class Cell:
    """One element's way to its bank.

    Attributes:
        coordinate: The element.
        offset: Its place before the swizzle, in elements.
        place: Its place after it, in elements.
        byte: Its address.
        unit: Whether the steps count ``word`` bits or ``byte`` bits of the address.
        steps: The way, step by step.
    """

    coordinate: tuple[int, ...]
    offset: int
    place: int
    byte: int
    unit: str
    steps: tuple[Bits, ...]

    @property
    def bank(self) -> int:
        """The bank of its first byte."""
        return self.byte // BANK_BYTES % BANKS


def cell(design: AccessDesign, coordinate: tuple[int, ...]) -> Cell:
    """Return the way of one element to its bank.

    Args:
        design: A design with a layout.
        coordinate: An element inside it.

    Example:
        >>> from tileviz.studies.design import validated
        >>> design = validated(AccessDesign,
        ...     {"layout": "Sw<5,0,5> o S[(32, 32):(32, 1)]", "pattern": "column"})
        >>> found = cell(design, (9, 5))
        >>> found.bank, [(step.label, step.value) for step in found.steps]
        (12, [('offset', 293), ('bits that move', 9), ('after XOR', 300), ('bank', 12)])
    """
    layout, width = memory_layout(design), element_bytes(design)
    point = np.array(coordinate, dtype=np.int64).reshape(len(layout.extents), 1)
    plain = layout.tile if isinstance(layout, ComposeLayout) else layout
    offset, place = (int(element_offsets(one, point)[0]) for one in (plain, layout))
    # Whole words: the bits of a word's number say it all. Less: those of the byte.
    unit = BANK_BYTES if width % BANK_BYTES == 0 else 1
    name = "word" if unit == BANK_BYTES else "byte"
    before, after = offset * width // unit, place * width // unit
    top = max((before | after).bit_length(), _bank_low(unit) + _BANK_BITS, _tile_bits(design, unit))
    bank_low = _bank_low(unit)
    steps = []
    moved = offset ^ place
    if isinstance(layout, ComposeLayout) and layout.swizzle.swizzle_len:
        swizzle, scale = layout.swizzle, (width // unit).bit_length() - 1
        low = swizzle.per_element + scale
        far = low + swizzle.atom_len
        source, target = (far, low) if swizzle.inner else (low, far)
        size = swizzle.swizzle_len
        top = max(top, source + size, target + size)
        taken = tuple(range(source, source + size))
        set_ = tuple(range(target, target + size))
        steps.append(Bits("offset", before, before, 0, top, taken=taken))
        bits = moved * width // unit
        steps.append(Bits("bits that move", bits >> target, bits, target, target + size, set_))
        steps.append(Bits("after XOR", after, after, 0, top, changed=set_))
    else:
        steps.append(Bits("offset", after, after, 0, top))
    bank = after >> bank_low & BANKS - 1
    banks = tuple(range(bank_low, bank_low + _BANK_BITS))
    steps.append(
        Bits("bank", bank, bank << bank_low, bank_low, bank_low + _BANK_BITS, changed=banks)
    )
    return Cell(coordinate, offset, place, place * width, name, tuple(steps))


def _bank_low(unit: int) -> int:
    return 0 if unit == BANK_BYTES else _WORD_BITS


def _tile_bits(design: AccessDesign, unit: int) -> int:
    """Return the bits of the tile's last offset, so that every cell has the same columns."""
    layout = memory_layout(design)
    plain = layout.tile if isinstance(layout, ComposeLayout) else layout
    reach = sum((e - 1) * abs(s) for e, s in zip(plain.extents, plain.strides, strict=True))
    return max(reach * element_bytes(design) // unit, 1).bit_length()


def formula(design: AccessDesign, found: Cell) -> str:
    """Return the offset as a sum: ``9·32 + 5 = 293``.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> design = preset("banks-padding-33").design
        >>> formula(design, cell(design, (2, 7)))
        '2·33 + 7·1 = 73'
    """
    layout = memory_layout(design)
    plain = layout.tile if isinstance(layout, ComposeLayout) else layout
    parts = [f"{at}·{step}" for at, step in zip(found.coordinate, plain.strides, strict=True)]
    parts += [str(value) for _, value in plain.offset if value]
    return f"{' + '.join(parts) or '0'} = {found.offset}"


def why(shown: Instruction) -> str:
    """Return what an instruction costs and the reason, in two or three sentences.

    Example:
        >>> from tileviz.studies.access.shown import instruction, sweeps
        >>> from tileviz.studies.registry import preset
        >>> design = preset("banks-transpose-32x32").design
        >>> print(why(instruction(design, sweeps(design)[0], 0)))
        Neighbouring lanes are 128 bytes apart, so every lane is back at the same bank. 32 lanes
        want different words of bank 0; a bank delivers one word a pass, which takes 32 passes.
    """
    if not shown.active.any():
        return "No lane takes part."
    if shown.verdict.banks is None:
        return _why_sectors(shown)
    load = bank_load(shown.accesses)[0]
    worst = int(load.argmax())
    ways = int(load[worst])
    start = _apart(shown)
    if ways > 1:
        bank = int(shown.accesses.addresses[0, worst]) // BANK_BYTES % BANKS
        merges = not shown.accesses.op.startswith(("ldgsts", "atom"))
        what = "want different words of" if merges else "go to"
        took = "delivers one word a pass" if merges else "takes one lane a pass"
        where = "" if shown.group_size == 32 else f" of a group of {shown.group_size}"
        meet = f"{ways} lanes{where} {what} bank {bank}"
        return f"{start}{meet}; a bank {took}, which takes {ways} passes."
    groups = shown.verdict.ideal
    if groups == 1:
        return f"{start}No bank is asked for two different words, so one pass serves all lanes."
    return (
        f"{start}Lanes are served in {groups} groups of {shown.group_size}, as each lane takes "
        f"{_wide(shown)} bytes; within each group no bank is asked for two different words."
    )


def _wide(shown: Instruction) -> int:
    return 16 if "matrix" in shown.accesses.op else shown.accesses.bytes


def _apart(shown: Instruction) -> str:
    """Say how far neighbouring lanes are apart, where that is one number."""
    lanes = np.flatnonzero(shown.active)
    steps = np.unique(np.diff(shown.accesses.addresses[0, lanes]))
    if len(steps) != 1 or len(np.unique(np.diff(lanes))) != 1 or lanes[-1] == lanes[0]:
        return ""
    step = abs(int(steps[0]))
    if step == 0:
        return "All lanes want the same place. "
    found = f"Neighbouring lanes are {step} bytes apart"
    if shown.verdict.banks is None:
        return f"{found}. "
    period = BANKS * BANK_BYTES // int(np.gcd(step, BANKS * BANK_BYTES))
    if period == 1:
        return f"{found}, so every lane is back at the same bank. "
    if step % BANK_BYTES == 0 and period < len(lanes):
        return f"{found}, so every {_ordinal(period)} lane is back at the same bank. "
    return f"{found}. "


def _ordinal(number: int) -> str:
    return {2: "second", 4: "fourth", 8: "eighth", 16: "sixteenth"}.get(number, f"{number}th")


def _why_sectors(shown: Instruction) -> str:
    verdict = shown.verdict
    moved = (verdict.sectors or 0) * 32
    used = verdict.bytes_used or 0
    sectors, lines = verdict.sectors or 0, verdict.lines or 0
    share = f"{100 * used / moved:.3g} %" if moved else "0 %"
    return (
        f"{_apart(shown)}The lanes use {used:,} bytes of {_many(sectors, 'sector')} in "
        f"{_many(lines, 'line')}: {moved:,} bytes move, {share} of them used. "
        f"{_many(verdict.ideal, 'sector')} could hold them all."
    )


def _many(count: int, name: str) -> str:
    return f"{count} {name}{'s' * (count != 1)}"
