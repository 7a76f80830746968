"""Our plan and the general tactic, unfolded: grids, steps, loads of a broadcast value."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tileviz.dtypes import dtype as dtype_of
from tileviz.studies.arithmetic import equals, product, shown
from tileviz.studies.broadcast.axes import Digit, digits
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.general import MAX_SERIAL, MAX_WARPS, WARP, General, operand_digits
from tileviz.studies.broadcast.ours import (
    BLOCKS_PER_SM,
    INDEX_32,
    THREADS,
    VECTOR_BYTES,
    WAVES,
    Ours,
    smallest_grid,
)
from tileviz.studies.derivation import Step

Steps = list[Step]
_GENERAL_BLOCKS_PER_SM = 4


def elements_step(design: BroadcastDesign) -> Step:
    """Return the elements of the output."""
    return Step("Elements of the output.", equals(product(design.out), design.elements))


# -- the general tactic ----------------------------------------------------------------------------


def general_block(design: BroadcastDesign, tactic: General) -> Steps:
    """Return the way to the general tactic's threads a block."""
    text = f"Whole warps, one to {MAX_WARPS} of them."
    line = f"{WARP} · max(1, min({MAX_WARPS}, ceil({shown(design.elements)} / {WARP})))"
    return [elements_step(design), Step(text, equals(line, tactic.threads))]


def general_serial(design: BroadcastDesign, tactic: General) -> Steps:
    """Return the way to the general tactic's serial steps."""
    blocks = -(-design.elements // tactic.threads)
    wanted = blocks // (_GENERAL_BLOCKS_PER_SM * design.sm_count)
    kept = max(1, min(MAX_SERIAL, wanted))
    log = (kept - 1).bit_length()
    return [
        elements_step(design),
        Step(
            "Blocks without serial steps, for every place of 4 blocks a multiprocessor.",
            equals(
                f"floor(ceil({shown(design.elements)} / {tactic.threads}) / "
                f"({_GENERAL_BLOCKS_PER_SM} · {design.sm_count}))",
                wanted,
            ),
        ),
        Step("At least 1, at most 4.", equals(f"max(1, min({MAX_SERIAL}, {shown(wanted)}))", kept)),
        Step("Rounded up to a power of two.", equals(f"1 << {log}", tactic.serial)),
    ]


def general_grid(design: BroadcastDesign, tactic: General) -> Steps:
    """Return the way to the general tactic's blocks."""
    line = f"ceil({shown(design.elements)} / ({tactic.threads} · {tactic.serial}))"
    return [elements_step(design), Step("Threads times steps a block.", equals(line, tactic.grid))]


def general_loads(design: BroadcastDesign, tactic: General) -> Steps:
    """Return why the general tactic loads a broadcast value once, or once a step."""
    steps, counts = [], []
    for position, (name, access) in enumerate(zip(design.names, design.accesses, strict=True)):
        if access == "elementwise":
            continue
        counts.append(tactic.loads(position))
        parts = operand_digits(design, position)
        said = [_stays(part, tactic.threads, tactic.serial) for part in parts]
        form = " + ".join(_form(part) for part in parts) or "0"
        kept = "the same in all steps: loaded once"
        if not tactic.invariant[position]:
            kept = _loaded_again(parts, tactic.threads, tactic.serial)
        text = f"{name} is read at {form}. {' '.join(said)} So its index is {kept}."
        count = shown(counts[-1])
        if parts and tactic.serial > 1:
            worst = next(
                (p for p in parts if not _same(p, tactic.threads, tactic.serial)), parts[0]
            )
            steps.append(Step(text, _remainder(worst, tactic.threads)))
            steps.append(Step(f"Loads of one value of {name} a thread.", count))
        else:
            steps.append(Step(text, count))
    values = ", ".join(map(shown, sorted(set(counts), reverse=True)))
    end = Step("The most of all broadcast operands.", equals(f"max({values})", max(counts)))
    return [*steps, end]


def _form(part: Digit) -> str:
    text = "i" if part.divisor == 1 else f"i / {part.divisor:,}"
    if part.modulus is not None:
        text += f" mod {part.modulus:,}"
    return text if part.weight == 1 else f"({text}) · {part.weight:,}"


def _same(part: Digit, threads: int, serial: int) -> bool:
    repeats = part.modulus is not None and threads % (part.divisor * part.modulus) == 0
    return serial == 1 or repeats or part.divisor % (threads * serial) == 0


def _stays(part: Digit, threads: int, serial: int) -> str:
    """Say whether a digit is the same in all steps."""
    if serial == 1:
        return "There is one step only."
    if part.modulus is None:
        period = "never repeats"
    else:
        size = part.divisor * part.modulus
        fits = "divides" if threads % size == 0 else "does not divide"
        period = f"repeats after {size:,} elements, which {fits} the {threads} elements of a step"
    if part.divisor == 1:
        return f"{_form(part)} {period}."
    whole = "a" if part.divisor % (threads * serial) == 0 else "no"
    return (
        f"{_form(part)} {period}; it stays the same for {part.divisor:,} elements in a row, "
        f"{whole} whole number of blocks of {threads * serial:,}."
    )


def _loaded_again(parts: Sequence[Digit], threads: int, serial: int) -> str:
    """Say why an index that is not the same in all steps is loaded in each, as a clause."""
    changing = [part for part in parts if not _same(part, threads, serial)]
    if all(part.divisor > 1 for part in changing):
        return "not the same in all steps of every thread: loaded each time"
    text = "another from one step to the next: loaded each time"
    back = next((s for s in range(2, serial) if all(_back(p, s * threads) for p in changing)), None)
    if back is None:
        return text
    return (
        f"{text}. Step {back} is back at the element of step 0, {back} · {threads} elements "
        "further, but the compiler does not find that out"
    )


def _back(part: Digit, elements: int) -> bool:
    """Return whether a digit is the same so many elements further, wherever it starts."""
    return part.modulus is not None and elements % (part.divisor * part.modulus) == 0


def _remainder(part: Digit, threads: int) -> str:
    size = part.divisor * (part.modulus or 1)
    return equals(f"{threads} mod {shown(size)}", threads % size)


# -- ours ------------------------------------------------------------------------------------------


def vector_steps(design: BroadcastDesign, ours: Ours) -> Steps:
    """Return the way to the elements of one access."""
    width = dtype_of(design.dtype).bytes
    text = f"An access of {VECTOR_BYTES} bytes, {width} bytes an element."
    return [Step(text, equals(f"{VECTOR_BYTES} / {width}", ours.vector))]


def vectors_step(ours: Ours) -> Step:
    """Return the whole vectors of the output."""
    line = equals(f"floor({shown(ours.elements)} / {ours.vector})", ours.vectors)
    return Step("Whole vectors.", line)


def period_steps(ours: Ours) -> Steps:
    """Return after how many elements all broadcast operands repeat."""
    merged = ours.merged
    varying = [
        axis
        for axis in range(len(merged.extents))
        if any(merged.masks[k][axis] for k in merged.broadcasting)
    ]
    inner = merged.extents[varying[0] :] if varying else ()
    text = (
        f"Axes merged to {' × '.join(map(shown, merged.extents))}; the extents from the outermost "
        "one on that a broadcast operand varies along."
    )
    return [Step(text, equals(product(inner), ours.period))]


def grid_steps(design: BroadcastDesign, ours: Ours) -> Steps:
    """Return the way to our blocks, by the kind of the plan."""
    if ours.kind == "stationary":
        return [vectors_step(ours), *period_steps(ours), *_stationary_grid(design, ours)]
    if ours.kind == "row_tile":
        rows = ours.elements // ours.merged.inner
        row = ours.merged.inner // ours.vector
        size = shown(ours.merged.inner)
        return [
            Step("Rows: elements over the innermost extent.",
                 equals(f"{shown(ours.elements)} / {size}", rows)),
            Step("Vectors of a row.", equals(f"{size} / {ours.vector}", row)),
            Step(f"Blocks for a row, {ours.unroll} vectors a thread.",
                 equals(f"ceil({shown(row)} / ({THREADS} · {ours.unroll}))", ours.tiles)),
            Step("Blocks in all.", equals(f"{shown(rows)} · {ours.tiles}", ours.grid)),
        ]  # fmt: skip
    line = f"max(1, ceil({shown(ours.vectors)} / ({THREADS} · {ours.unroll})))"
    return [
        vectors_step(ours),
        *unroll_steps(design, ours),
        Step("Blocks.", equals(line, ours.grid)),
    ]


def _stationary_grid(design: BroadcastDesign, ours: Ours) -> Steps:
    period, vector = ours.period, ours.vector
    vectors = math.lcm(period, vector) // vector
    least = smallest_grid(period, vector)
    most = design.sm_count * BLOCKS_PER_SM * WAVES
    halves = -(-ours.vectors // THREADS) // 2
    wanted = min(most, halves)
    return [
        Step("Vectors after which all operands repeat at a vector's start.",
             equals(f"lcm({shown(period)}, {vector}) / {vector}", vectors)),
        Step("Fewest blocks of 256 threads whose stride is a multiple of that.",
             equals(f"{shown(vectors)} / gcd({shown(vectors)}, {THREADS})", least)),
        Step(f"Blocks wanted: {WAVES} waves of {BLOCKS_PER_SM} blocks a multiprocessor, but two "
             "vectors a thread.",
             equals(f"min({design.sm_count} · {BLOCKS_PER_SM} · {WAVES}, "
                    f"floor(ceil({shown(ours.vectors)} / {THREADS}) / 2))", wanted)),
        Step("The largest multiple of the fewest within that.",
             equals(f"{shown(least)} · max(1, floor({shown(wanted)} / {shown(least)}))",
                    ours.grid)),
    ]  # fmt: skip


def unroll_steps(design: BroadcastDesign, ours: Ours) -> Steps:
    """Return how many vectors a thread of a flat plan takes."""
    places = design.sm_count * BLOCKS_PER_SM
    text = (
        f"Vectors a thread: 4, halved while fewer than {places:,} blocks "
        f"({design.sm_count} · {BLOCKS_PER_SM}) would be left."
    )
    return [Step(text, shown(ours.unroll))]


def step_steps(design: BroadcastDesign, ours: Ours) -> Steps:
    """Return the way to the most vectors of a thread."""
    if ours.kind == "stationary":
        line = f"ceil({shown(ours.vectors)} / ({shown(ours.grid)} · {THREADS}))"
        return [vectors_step(ours), Step("Over all threads.", equals(line, ours.steps))]
    if ours.kind == "flat_fastdiv":
        return unroll_steps(design, ours)
    row = ours.merged.inner // ours.vector
    text = f"4, halved until a row of {row:,} vectors fills its blocks."
    return [Step(text, shown(ours.steps))]


def load_steps(design: BroadcastDesign, ours: Ours) -> Steps:
    """Return how often a thread loads a broadcast value under our plan."""
    broadcasting = ours.merged.broadcasting
    if not broadcasting:
        return [Step("No operand is broadcast.", "0")]
    steps = []
    if ours.kind == "stationary":
        line = equals(f"{shown(ours.grid)} · {THREADS} · {ours.vector}", ours.stride)
        rest = equals(f"{shown(ours.stride)} mod {shown(ours.period)}", ours.stride % ours.period)
        steps = [
            Step("Elements from a thread's vector to its next one.", line),
            Step("A multiple of the period: its broadcast values never change.", rest),
        ]
    for operand in broadcasting:
        kept = ours.kept(operand)
        how = "is kept: loaded once" if kept else f"is looked up for each of {ours.steps} vectors"
        steps.append(Step(f"{design.names[operand]} {how}.", shown(ours.loads(operand))))
    counts = sorted({ours.loads(operand) for operand in broadcasting}, reverse=True)
    line = equals(f"max({', '.join(map(shown, counts))})", ours.loads_per_thread)
    return [*steps, Step("The most of all broadcast operands.", line)]


def tail_steps(ours: Ours) -> Steps:
    """Return the elements that fill no whole vector."""
    line = equals(f"{shown(ours.elements)} mod {ours.vector}", ours.tail)
    return [Step("Elements that fill no whole vector.", line)]


def index_bit_steps(ours: Ours) -> Steps:
    """Return the bits that indices need."""
    need = "at least" if ours.wide else "fewer than"
    text = f"{ours.elements:,} elements are {need} 2^31 = {INDEX_32:,}."
    return [Step(text, shown(64 if ours.wide else 32))]


def operand_index_steps(
    design: BroadcastDesign, extents: Sequence[int], mask: Sequence[bool], element: int
) -> tuple[Steps, int]:
    """Return the way from a flat element to an operand's index, and the index.

    Args:
        design: The design.
        extents: The output's merged extents, outermost first.
        mask: Whether the operand varies along each of them.
        element: Number of the output element.
    """
    assert 0 <= element < design.elements
    terms, steps, value = [], [], 0
    for part in digits(tuple(extents), tuple(mask)):
        digit = element // part.divisor
        form = f"floor({shown(element)} / {shown(part.divisor)})"
        if part.modulus is not None:
            digit %= part.modulus
            form += f" mod {shown(part.modulus)}"
        steps.append(Step(f"The digit {_form(part)}.", equals(form, digit)))
        terms.append(f"{shown(digit)} · {shown(part.weight)}")
        value += digit * part.weight
    text = "Digits times their weights in the operand."
    return [*steps, Step(text, equals(" + ".join(terms) or "0", value))], value
