"""What accesses cost, unfolded: which bank is asked for which words, which sectors are touched.

Up to 128 different instructions are counted here one at a time, and not by the functions that
judge millions: the two agree, and a test holds them to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tileviz.memory import (
    BANK_BYTES,
    BANKS,
    LINE_BYTES,
    SECTOR_BYTES,
    Accesses,
    global_evidence,
    global_sectors,
    group_lanes,
    shared_evidence,
    shared_wavefronts,
)
from tileviz.studies.arithmetic import equals, listed, run_words, runs, shown, total
from tileviz.studies.derivation import Bits, Rule, Step
from tileviz.studies.lane_groups import (
    Group,
    asked_of,
    groups_of,
    pairs_agree,
    passes_of,
    shares_words,
    width_of,
)

Ints = NDArray[np.int64]

_BANK_BITS = BANKS.bit_length() - 1
# As many instructions are unfolded one by one; of more, the worst is, and the rest are counted.
_EACH = 8
# As many instructions are counted one by one, apart from the functions that judge millions.
_ONE_BY_ONE = 1 << 12
_DIFFERENT = 1 << 7
# As many lanes that meet are shown bit by bit.
_MET = 4


def bank_rule(accesses: Accesses) -> Rule:
    """Return the rule of the banks for some accesses, with its evidence."""
    merged = any(pairs_agree(accesses, row) for row in range(min(accesses.executions, _EACH)))
    asks = "distinct words" if shares_words(accesses) else "lanes"
    text = (
        "Lanes are served in groups. A bank delivers one 4-byte word a pass, so a group takes as "
        f"many passes as its busiest bank is asked for {asks}; passes of the groups add up."
    )
    if not shares_words(accesses):
        text = text.replace("delivers one 4-byte word", "serves one lane")
    return Rule(text, shared_evidence(accesses.op, accesses.bytes, merged))


def sector_rule() -> Rule:
    """Return the rule of global memory, with its evidence."""
    text = (
        "A warp instruction is one request. It moves every 32-byte sector that an active lane "
        "touches, once."
    )
    return Rule(text, global_evidence())


def _count_rows(
    accesses: Accesses,
    count: Callable[[Accesses, int], int],
    every: Callable[[Accesses], Ints],
) -> list[int]:
    """Return a count of every instruction: one by one, or all at once where there are many.

    Args:
        accesses: The accesses.
        count: Counts one instruction.
        every: Counts all of them, fast.
    """
    if accesses.executions > _ONE_BY_ONE:
        return _listed(every(accesses))
    keys = np.concatenate([accesses.addresses, accesses.active.astype(np.int64)], axis=1)
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    if len(first) > _DIFFERENT:
        return _listed(every(accesses))
    counts = np.array([count(accesses, row) for row in first.tolist()], dtype=np.int64)
    return _listed(counts[number.reshape(-1)]) if len(counts) else []


def _listed(counts: Ints) -> list[int]:
    found: list[int] = counts.tolist()
    return found


def wavefront_steps(accesses: Accesses, each: str = "instruction") -> list[Step]:
    """Return the way to the wavefronts of some shared-memory accesses.

    Args:
        accesses: The accesses, at most a few thousand different instructions.
        each: What one instruction is called.

    Example:
        >>> two_way = Accesses.of(8 * np.arange(32), space="shared", op="st", bytes=4)
        >>> for step in wavefront_steps(two_way): print(step.text, "|", step.arithmetic)
        4 bytes a lane: 32 lanes are served together. | 128 / 4 = 32
        This instruction: 16 banks are asked, bank 0 for 2 words by lanes 0, 16. | max(2, 0) = 2
    """
    counts = _count_rows(accesses, passes_of, lambda part: shared_wavefronts(part).wavefronts)
    steps = [_served(accesses)]
    if len(counts) <= _EACH:
        shown_rows: Sequence[int] = range(len(counts))
    else:
        shown_rows = [int(np.argmax(counts))]
    steps += _rows_steps(accesses, each, shown_rows)
    if len(counts) != 1:
        many = "All" if len(counts) <= _EACH else f"That was the worst. All {len(counts):,}"
        steps.append(Step(f"{many} {each}s together.", equals(total(counts), sum(counts))))
    return steps


def _rows_steps(accesses: Accesses, each: str, rows: Sequence[int]) -> list[Step]:
    """Return the steps of some instructions; of neighbours that are alike, once."""
    steps: list[Step] = []
    with_bits, first = True, 0
    texts = [
        [(step.text, step.arithmetic) for step in _instruction_steps(accesses, row, "", False)]
        for row in rows
    ]
    while first < len(rows):
        last = first
        while last + 1 < len(rows) and texts[last + 1] == texts[first]:
            last += 1
        name = _name(accesses, each, rows[first])
        if last > first:
            name = f"{each.capitalize()}s {rows[first]} to {rows[last]}, each"
        found = _instruction_steps(accesses, rows[first], name, with_bits)
        with_bits = with_bits and not any(step.bits for step in found)
        steps += found
        first = last + 1
    return steps


def _name(accesses: Accesses, each: str, row: int) -> str:
    """Return what an instruction is called at the beginning of a sentence."""
    return f"This {each}" if accesses.executions == 1 else f"{each.capitalize()} {row}"


def _served(accesses: Accesses) -> Step:
    """Say how many lanes are served together."""
    width, size = width_of(accesses), group_lanes(accesses.op, accesses.bytes)
    if "matrix" in accesses.op:
        text = "A row of a matrix is 16 bytes: the 8 rows of a matrix are served together."
        return Step(text, equals("128 / 16", 8))
    if accesses.executions and pairs_agree(accesses, 0):
        text = f"{width} bytes a lane, and partner lanes want the same: two groups become one."
        return Step(text, equals(f"2 · 128 / {width}", 2 * size))
    text = f"{width} bytes a lane: {size} lanes are served together."
    if width < BANK_BYTES:
        return Step(text, equals(f"min(32, 128 / {width})", size))
    return Step(text, equals(f"128 / {width}", size))


def _instruction_steps(accesses: Accesses, row: int, name: str, with_bits: bool) -> list[Step]:
    """Return a step for each group of one instruction, and their sum."""
    groups = groups_of(accesses, row)
    if not groups:
        return [Step(f"{name}: no lane takes part.", "0")]
    what = "word" if shares_words(accesses) else "lane"
    steps = []
    for group in groups:
        lanes = "" if len(groups) == 1 else f", lanes {group.first} to {group.last}"
        many = f"{group.passes} {what}{'s' * (group.passes != 1)}"
        asked = f"{group.banks} bank{'s are' if group.banks != 1 else ' is'} asked"
        by = f"by lane{'s' * (len(group.lanes) != 1)} {run_words(group.lanes, _EACH)}"
        text = f"{name}{lanes}: {asked}, bank {group.bank} for {many} {by}"
        text += "" if text.endswith(".") else "."
        if group.passes == 1:
            text = f"{name}{lanes}: {asked}, each for one {what}."
        bits = _meeting_bits(group) if with_bits and group.passes > 1 else ()
        with_bits = with_bits and not bits
        steps.append(Step(text, equals(f"max({listed(group.counts, 32)})", group.passes), bits))
    if len(groups) > 1:
        passes = [group.passes for group in groups]
        steps.append(Step(f"{name}, its groups together.", equals(total(passes), sum(passes))))
    return steps


def _meeting_bits(group: Group) -> tuple[Bits, ...]:
    """Return the words of some lanes that meet: their five low bits are the bank."""
    pairs = list(zip(group.lanes, group.words, strict=False))[:_MET]
    high = max(max(word for _, word in pairs).bit_length(), _BANK_BITS)
    places = tuple(range(_BANK_BITS))
    rows = [Bits(f"lane {lane}: word", word, word, 0, high, changed=places) for lane, word in pairs]
    return (*rows, Bits("bank = word mod 32", group.bank, group.bank, 0, _BANK_BITS, (), places))


def histogram_step(accesses: Accesses, each: str = "instruction") -> Step:
    """Return what the banks are asked for by the group of lanes that needs the most passes.

    Example:
        >>> column = Accesses.of(16 * np.arange(32), space="shared", op="ld", bytes=4)
        >>> step = histogram_step(column)
        >>> step.text, step.arithmetic
        ('Words asked of each bank by lanes 0 to 31: 24 banks none, 8 banks 4.', '8 · 4 = 32')
    """
    most = _count_rows(accesses, _worst_group, _n_way)
    worst = int(np.argmax(most)) if most else 0
    groups = groups_of(accesses, worst) if most else ()
    if not groups:
        return Step("No lane takes part.", "0")
    group = max(groups, key=lambda one: one.passes)
    what = "Words" if shares_words(accesses) else "Lanes"
    many, counts = np.unique(asked_of(accesses, worst, group), return_counts=True)
    pairs = list(zip(counts.tolist(), many.tolist(), strict=True))
    said = [f"{banks} bank{'s' * (banks != 1)} {count or 'none'}" for banks, count in pairs]
    where = "" if accesses.executions == 1 else f"{each} {worst}, "
    text = f"{what} asked of each bank by {where}lanes {group.first} to {group.last}: "
    terms = [f"{banks} · {count}" for banks, count in pairs if count]
    result = sum(banks * count for banks, count in pairs)
    return Step(f"{text}{', '.join(said)}.", equals(" + ".join(terms), result))


def n_way_steps(accesses: Accesses, each: str = "instruction") -> list[Step]:
    """Return the way to the most passes that one group needs."""
    most = _count_rows(accesses, _worst_group, _n_way)
    found = sorted(set(most), reverse=True)
    where = int(np.argmax(most)) if most else 0
    text = f"The busiest group of all {each}s; the first is in {each} {where}."
    name = _name(accesses, each, where)
    steps = _instruction_steps(accesses, where, name, True) if most else []
    steps = [step for step in steps if step.arithmetic.startswith("max")]
    return [*steps, Step(text, equals(f"max({listed(found, 32) or '0'})", max(most, default=0)))]


def _n_way(accesses: Accesses) -> Ints:
    return shared_wavefronts(accesses).n_way


def _worst_group(accesses: Accesses, row: int) -> int:
    return max((group.passes for group in groups_of(accesses, row)), default=0)


def ideal_steps(accesses: Accesses, each: str = "instruction") -> list[Step]:
    """Return the way to the fewest wavefronts: one pass for every group with an active lane."""
    counts = _count_rows(
        accesses,
        lambda part, row: len(groups_of(part, row)),
        lambda part: shared_wavefronts(part).ideal,
    )
    text = f"Every group of lanes takes one pass at least; groups of every {each}."
    return [_served(accesses), Step(text, equals(total(counts), sum(counts)))]


# -- global memory ---------------------------------------------------------------------------------


def blocks_of(accesses: Accesses, row: int, size: int) -> list[int]:
    """Return the numbers of the blocks of ``size`` bytes that an instruction touches.

    Example:
        >>> far = Accesses.of(64 * np.arange(32), space="global", op="ld", bytes=4)
        >>> blocks_of(far, 0, 32)[:3]
        [0, 2, 4]
    """
    found: list[int] = np.unique(accesses.addresses[row][accesses.active[row]] // size).tolist()
    return found


def block_steps(accesses: Accesses, size: int, each: str = "instruction") -> list[Step]:
    """Return the way to the sectors (32 bytes) or lines (128 bytes) of global accesses."""
    name = "sector" if size == SECTOR_BYTES else "line"
    counts = _count_rows(
        accesses,
        lambda part, row: len(blocks_of(part, row, size)),
        lambda part: getattr(global_sectors(part), f"{name}s"),
    )
    rows: Sequence[int] = range(len(counts))
    if len(counts) > _EACH:
        rows = [int(np.argmax(counts))]
    steps = []
    for row in rows:
        numbers = blocks_of(accesses, row, size)
        lengths = [last - first + 1 for first, last in runs(numbers)]
        which = f"{name}{'s' * (len(numbers) != 1)} {run_words(numbers)}"
        text = f"{_name(accesses, each, row)} touches {which} (byte address / {size})."
        if not numbers:
            text = f"{_name(accesses, each, row)}: no lane takes part."
        steps.append(Step(text, equals(total(lengths), len(numbers))))
    if len(counts) != 1:
        many = "All" if len(counts) <= _EACH else f"That was the worst. All {len(counts):,}"
        steps.append(Step(f"{many} {each}s together.", equals(total(counts), sum(counts))))
    return steps


def used_steps(accesses: Accesses, each: str = "instruction") -> list[Step]:
    """Return the way to the bytes that lanes ask for, each byte of a request once."""
    counts = _differences(accesses)
    text = f"Different addresses of every {each}, {accesses.bytes} bytes each."
    many = total(counts)
    many = f"({many})" if "+" in many else many
    result = sum(counts) * accesses.bytes
    return [Step(text, equals(f"{many} · {accesses.bytes}", result))]


def _differences(accesses: Accesses) -> list[int]:
    return _count_rows(
        accesses, _different, lambda part: global_sectors(part).bytes_used // part.bytes
    )


def _different(accesses: Accesses, row: int) -> int:
    return int(np.unique(accesses.addresses[row][accesses.active[row]]).size)


def sector_ideal_steps(accesses: Accesses, each: str = "instruction") -> list[Step]:
    """Return the way to the fewest sectors that could hold the bytes of every request."""
    used = [count * accesses.bytes for count in _differences(accesses)]
    needed = [-(-count // SECTOR_BYTES) for count in used]
    if len(set(used)) <= 1:
        first = used[0] if used else 0
        one = f"ceil({shown(first)} / {SECTOR_BYTES})"
        text = f"Every {each} asks for {first:,} bytes; a sector holds {SECTOR_BYTES}."
        steps = [Step(text, equals(one, needed[0] if needed else 0))]
        if len(used) == 1:
            return steps
    else:
        most = max(used)
        one = f"ceil({shown(most)} / {SECTOR_BYTES})"
        text = f"A {each} asks for {most:,} bytes at most; a sector holds {SECTOR_BYTES}."
        steps = [Step(text, equals(one, -(-most // SECTOR_BYTES)))]
    return [*steps, Step(f"All {each}s together.", equals(total(needed), sum(needed)))]


def cost_steps(accesses: Accesses, each: str = "instruction") -> list[Step]:
    """Return the way to what accesses cost: wavefronts, or sectors in global memory."""
    if accesses.space == "shared":
        return wavefront_steps(accesses, each)
    return block_steps(accesses, SECTOR_BYTES, each)


def fewest_steps(accesses: Accesses, each: str = "instruction") -> list[Step]:
    """Return the way to the ideal: wavefronts, or sectors in global memory."""
    if accesses.space == "shared":
        return ideal_steps(accesses, each)
    return sector_ideal_steps(accesses, each)


def rule_of(accesses: Accesses) -> Rule:
    """Return the rule that accesses are judged by."""
    return bank_rule(accesses) if accesses.space == "shared" else sector_rule()


def line_steps(accesses: Accesses, each: str = "instruction") -> list[Step]:
    """Return the way to the 128-byte lines that global accesses touch."""
    return block_steps(accesses, LINE_BYTES, each)
