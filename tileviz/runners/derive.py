"""Every number of a run, unfolded: what each source line cost, summed over its executions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tileviz.memory import BANK_BYTES, BANKS, SECTOR_BYTES, Accesses, judge
from tileviz.runners.compare import AccessRow, Totals
from tileviz.studies.arithmetic import Number, equals, shown, total
from tileviz.studies.derivation import Derivation, Numbers, Rule, Step
from tileviz.studies.memory_steps import (
    cost_steps,
    fewest_steps,
    histogram_step,
    rule_of,
    used_steps,
)

if TYPE_CHECKING:
    from tileviz.cuda.kernel import Kernel
    from tileviz.runners.results import Run

Steps = Sequence[Step]
_RESOURCES, _TIMING, _OUTPUTS = "Resources", "Timing", "Outputs"


def numbers(run: Run, kernel: Kernel | None = None) -> Numbers:
    """Return every number of a run.

    Args:
        run: The run.
        kernel: What ran, where it is at hand: it gives the predicted addresses.

    Example:
        >>> from tileviz import api
        >>> done = api.run(api.design(study="access", bytes=4, addresses=[0, 128]), "emulator")[1]
        >>> row = next(at for at, row in enumerate(done.accesses) if row.space == "shared"
        ...            and row.op == "ld")
        >>> numbers(done).find(f"accesses.{row}.measured.wavefronts").steps[-1].arithmetic
        'max(2, 0) = 2'
    """
    found: list[Derivation] = []
    for at, row in enumerate(run.accesses):
        found += _row(at, row, run, kernel)
    return Numbers((*found, *_outputs(run), *_resources(run), *_timing(run)))


def settled(found: Numbers) -> Numbers:
    """Return numbers whose steps are made, so that nothing bulky is kept for them."""
    return Numbers(tuple(_settled(one) for one in found))


def _settled(one: Derivation) -> Derivation:
    steps = one.steps
    return replace(one, work=lambda: steps)


# -- accesses --------------------------------------------------------------------------------------


def _row(at: int, row: AccessRow, run: Run, kernel: Kernel | None) -> list[Derivation]:
    """Return what one source line and kind of instruction executed, cost and moved."""
    accesses = measured_of(row, run.measured)
    rule = None if accesses is None else rule_of(accesses)
    line = f"line {row.line}" if row.line else "no line"
    group = f"{row.space.capitalize()} memory"
    unit = "wavefronts" if row.space == "shared" else "sectors"

    def made(
        name: str, label: str, value: Number, unit: str, work: Callable[[], Steps], behind: bool
    ) -> Derivation:
        said = f"{line}, {row.op} {row.bytes} B: {label}"
        about: Rule | None = rule if behind else None
        return Derivation(f"accesses.{at}.{name}", group, said, value, unit, work, about)

    paid = _cost(row.measured)
    executed = partial(_executed, row, run)
    found = [made("executions", "executions", row.executions, "", executed, False)]
    if row.predicted is not None:
        wanted = partial(_predicted_steps, row, kernel, ideal=False)
        least = partial(_predicted_steps, row, kernel, ideal=True)
        expected, ideal = _cost(row.predicted), row.predicted.ideal
        found += [
            made(f"predicted.{unit}", f"predicted {unit}", expected, "", wanted, True),
            made("predicted.ideal", "predicted ideal", ideal, "", least, True),
        ]
    cost, fewest = partial(_measured_steps, accesses), partial(_ideal_steps, accesses)
    moved = partial(_moved_steps, row)
    return [
        *found,
        made(f"measured.{unit}", f"measured {unit}", paid, "", cost, True),
        made("measured.ideal", "measured ideal", row.measured.ideal, "", fewest, True),
        made("excess", "excess", paid - row.measured.ideal, unit, partial(_excess, row), False),
        made("bytes_used", "bytes used", row.bytes_used, "", partial(_used, row, accesses), False),
        made("bytes_moved", "bytes moved", row.bytes_moved, "", moved, False),
    ]


def measured_of(row: AccessRow, measured: Sequence[Accesses]) -> Accesses | None:
    """Return the measured accesses of a row as one; None where it was not executed."""
    kind = (row.line, row.space, row.op, row.bytes)
    same = [part for part in measured if (part.line, part.space, part.op, part.bytes) == kind]
    return _joined(same)


def _joined(parts: Sequence[Accesses]) -> Accesses | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return Accesses.of(
        np.concatenate([part.addresses for part in parts]),
        active=np.concatenate([part.active for part in parts]),
        space=parts[0].space,
        op=parts[0].op,
        bytes=parts[0].bytes,
        line=parts[0].line,
    )


def _cost(totals: Totals) -> int:
    paid = totals.sectors if totals.wavefronts is None else totals.wavefronts
    return 0 if paid is None else paid


def _executed(row: AccessRow, run: Run) -> Steps:
    blocks = run.traced_blocks
    where = "all blocks" if blocks is None else f"{len(blocks)} sampled blocks"
    text = f"Warp instructions of this kind that {where} executed on this line, each counted."
    return [Step(text, shown(row.executions))]


def _measured_steps(accesses: Accesses | None) -> Steps:
    if accesses is None:
        return [Step("Not executed in the traced blocks.", "0")]
    steps = cost_steps(accesses, "execution")
    if accesses.space == "shared":
        # What the banks are asked for stands before the total.
        steps.insert(-1, histogram_step(accesses, "execution"))
    return steps


def _ideal_steps(accesses: Accesses | None) -> Steps:
    if accesses is None:
        return [Step("Not executed in the traced blocks.", "0")]
    return fewest_steps(accesses, "execution")


def _excess(row: AccessRow) -> Steps:
    paid, ideal = _cost(row.measured), row.measured.ideal
    return [Step("What was paid above the ideal.", equals(f"{paid} − {ideal}", paid - ideal))]


def _used(row: AccessRow, accesses: Accesses | None) -> Steps:
    if accesses is None:
        return [Step("Not executed in the traced blocks.", "0")]
    if accesses.space == "global":
        return used_steps(accesses, "execution")
    lanes = accesses.active.sum(axis=1)
    many = total(lanes)
    many = f"({many})" if "+" in many else many
    line = equals(f"{many} · {row.bytes}", row.bytes_used)
    return [Step(f"Active lanes of every execution, {row.bytes} bytes each.", line)]


def _moved_steps(row: AccessRow) -> Steps:
    if row.space == "shared":
        line = f"{shown(_cost(row.measured))} · {BANKS} · {BANK_BYTES}"
        return [Step("A wavefront moves a word of every bank.", equals(line, row.bytes_moved))]
    line = f"{shown(_cost(row.measured))} · {SECTOR_BYTES}"
    return [Step("A sector has 32 bytes.", equals(line, row.bytes_moved))]


# -- the prediction --------------------------------------------------------------------------------


def _predicted_steps(row: AccessRow, kernel: Kernel | None, *, ideal: bool) -> Steps:
    """Unfold a prediction from its addresses, scaled as the comparison scales it."""
    assert row.predicted is not None
    value = row.predicted.ideal if ideal else _cost(row.predicted)
    stated = [Step("Predicted from the index expressions that the text prints.", shown(value))]
    if kernel is None:
        return stated
    same = [
        part
        for part in kernel.predicted
        if (part.line, part.space, part.op) == (row.line, row.space, row.op)
    ]
    accesses = _joined([part for part in same if part.bytes == row.bytes])
    if accesses is None:
        return stated
    steps = list((fewest_steps if ideal else cost_steps)(accesses, "instruction"))
    verdict = judge(accesses)
    found = verdict.ideal if ideal else verdict.cost
    if found == value:
        return steps
    if found and value % found == 0:
        times = value // found
        text = f"The prediction is of one of {times} equal parts of the launch."
        return [*steps, Step(text, equals(f"{shown(found)} · {times}", value))]
    return stated


# -- everything else -------------------------------------------------------------------------------


def _outputs(run: Run) -> list[Derivation]:
    found = []
    for name, output in run.outputs.items():
        step = Step("Elements of the buffer; every one was compared.", shown(output.count))
        if run.verified is None:
            step = Step("Elements of the buffer.", shown(output.count))
        work = partial(list[Step], [step])
        label = f"elements of {name}"
        found.append(Derivation(f"outputs.{name}.count", _OUTPUTS, label, output.count, "", work))
    return found


def _resources(run: Run) -> list[Derivation]:
    if run.resources is None:
        return []
    values = (
        ("registers", "registers a thread", run.resources.registers, ""),
        ("shared_bytes", "shared memory a block", run.resources.shared_bytes, "bytes"),
        ("spill_bytes", "spilled bytes a thread", run.resources.spill_bytes, "bytes"),
    )
    return [
        _told(f"resources.{name}", _RESOURCES, label, value, unit, "As the compiler reports it.")
        for name, label, value, unit in values
        if value is not None
    ]


def _timing(run: Run) -> list[Derivation]:
    timing = run.timing
    if timing is None:
        return []
    about = f"{timing.n} samples on {run.runner.device}, {timing.mode} L2 cache"
    values = (
        ("median_us", "median time", timing.median_us, f"The median of {about}."),
        ("p10_us", "10th percentile of the time", timing.p10_us, f"A tenth of {about} is faster."),
        ("p90_us", "90th percentile of the time", timing.p90_us, f"A tenth of {about} is slower."),
    )
    return [
        _told(f"timing.{name}", _TIMING, label, value, "µs", text)
        for name, label, value, text in values
    ]


def _told(name: str, group: str, label: str, value: Number, unit: str, text: str) -> Derivation:
    """Return a number that something outside reports: there is no arithmetic behind it."""
    work = partial(list[Step], [Step(text, shown(value))])
    return Derivation(name, group, label, value, unit, work)
