"""What was measured of two designs, beside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tileviz.comparing.comparison import decided, equals
from tileviz.comparing.measures import Direction, Measure, Row, Value
from tileviz.runners.words import gpu_lines, named_accesses, run_statement
from tileviz.studies.statement import State, Statement

if TYPE_CHECKING:
    from tileviz.cuda.kernel import Kernel
    from tileviz.runners.compare import AccessRow
    from tileviz.runners.results import Run

_MAX_PROBLEMS = 8
_TIMES = ("times the ideal", "times the ideal")
_UNITS = {"shared": ("wavefront", "wavefronts"), "global": ("sector", "sectors")}


@dataclass(frozen=True)
class Measured:
    """What is kept of a run: everything shown, nothing bulky.

    Attributes:
        where: Runner, device, architecture and compiler.
        verified: Whether every output element is right; None without a reference.
        statement: The verdict on correctness.
        accesses: Every source line that accesses memory.
        whole: Whether every block was traced, of the design itself and not of a smaller one.
        subject: The access that was asked about, where the rest only fills and shows memory.
        registers: Registers a thread, None where unknown; likewise the rest.
        shared_bytes: Shared memory a block.
        spill_bytes: Bytes spilled.
        median_us: Time on a GPU.
        lines: Notes on the run.
        run: The run without its bulk, for a report.
    """

    where: str
    verified: bool | None
    statement: Statement
    accesses: tuple[AccessRow, ...]
    whole: bool
    subject: AccessRow | None = None
    registers: int | None = None
    shared_bytes: int | None = None
    spill_bytes: int | None = None
    median_us: float | None = None
    lines: tuple[str, ...] = ()
    run: Run | None = None

    @classmethod
    def of(cls, run: Run, kernel: Kernel | None = None, note: str = "") -> Measured:
        """Return what is kept of ``run``.

        Args:
            run: The run.
            kernel: What ran; gives each access its own text.
            note: What ran instead of the design, "" where it ran itself.
        """
        info, used, timing = run.runner, run.resources, run.timing
        rows = named_accesses(run.accesses, kernel)
        lines = [problem.message for problem in run.problems[:_MAX_PROBLEMS]]
        lines += [*gpu_lines(run.to_json()), *([note] if note else [])]
        return cls(
            where=", ".join(part for part in (info.device, info.arch, info.compiler) if part),
            verified=run.verified,
            statement=run_statement(run),
            accesses=rows,
            whole=run.traced_blocks is None and not run.note and not note,
            subject=_subject(rows, kernel),
            registers=None if used is None else used.registers,
            shared_bytes=None if used is None else used.shared_bytes,
            spill_bytes=None if used is None else used.spill_bytes,
            median_us=timing.median_us if timing is not None and timing.resolved else None,
            lines=tuple(lines),
            run=replace(run, arrays={}, measured=()),
        )

    @property
    def cost(self) -> int | None:
        """Wavefronts or sectors of the access that was asked about, None where there is none."""
        return None if self.subject is None else _paid(self.subject)

    @property
    def ideal(self) -> int | None:
        """Fewest that it could take."""
        return None if self.subject is None else self.subject.measured.ideal

    def total(self, space: str, what: str) -> int | None:
        """Return a count over all accesses to a space, None where there are none."""
        counts = [getattr(row.measured, what) or 0 for row in self.accesses if row.space == space]
        return sum(counts) if counts else None


def _subject(rows: Sequence[AccessRow], kernel: Kernel | None) -> AccessRow | None:
    wanted = None if kernel is None else kernel.subject
    if wanted is None:
        return None
    key = (wanted.line, wanted.space, wanted.op)
    return next((row for row in rows if (row.line, row.space, row.op) == key), None)


def _paid(row: AccessRow) -> int:
    cost = row.measured.sectors if row.measured.wavefronts is None else row.measured.wavefronts
    return cost or 0


@dataclass(frozen=True)
class AccessPair:
    """An access of each run that do the same kind of thing, or one alone.

    Attributes:
        left: Of the left run.
        right: Of the right one.
        subject: Whether it is what was asked about, and the others only fill and show memory.
    """

    left: AccessRow | None
    right: AccessRow | None
    subject: bool = False


_VERIFIED = Measure("verified", "output correct", lambda run: run.verified, "yes", "higher", True,
                    words=("is correct", "is not"))  # fmt: skip


def measured_rows(left: Measured, right: Measured, same_work: bool) -> tuple[Row, ...]:
    """Return the numbers of both runs.

    Args:
        left: One run.
        right: The other.
        same_work: Whether totals compare, because both designs do the same.
    """
    totals = same_work and left.whole and right.whole
    rows = []
    # Where one access was asked about, the loops around it decide nothing.
    own = _own(left, right, totals) if left.subject and right.subject else ()
    for measure in (_VERIFIED, *own, *_measures(totals, alone=not own)):
        values = measure.of(left), measure.of(right)
        if values != (None, None):
            rows.append(Row.of(measure, *values))
    return tuple(rows)


def measured_statement(rows: Sequence[Row], names: tuple[str, str]) -> Statement:
    """Return what two runs say together, in one sentence."""
    better, said = decided(rows, names)
    wrong = [name for name, value in zip(names, _verified(rows), strict=True) if value is False]
    state: State = "error" if wrong else "attention" if better == "each" else "ok"
    sentence = said or equals(rows) or "Neither run has a number to decide by."
    # Costs of two wrong results must not read as a recommendation.
    neither = "Neither is correct. " if len(wrong) == len(names) else ""
    return Statement(state, f"Measured. {neither}{sentence}", _around(rows))


def _around(rows: Sequence[Row]) -> str:
    """Say what the kernels take as a whole, where one access of them was asked about."""
    if not any(row.measure.key == "access" for row in rows):
        return ""
    parts = [
        f"{row.measure.text(row.left)} and {row.measure.text(row.right)} {row.measure.unit[1]}"
        for row in rows
        if row.measure.key in ("wavefronts", "sectors")
    ]
    kernels = "The kernels, which also fill and show memory, take"
    return f"That is the access alone. {kernels} {'; '.join(parts)}."


def _own(left: Measured, right: Measured, totals: bool) -> tuple[Measure, ...]:
    """Return the numbers of the access that was asked about."""
    spaces = {run.subject.space for run in (left, right) if run.subject}
    unit = _UNITS[spaces.pop()] if len(spaces) == 1 else ("", "")
    fewer: Direction = "lower" if totals else ""

    def times(run: Measured) -> Value:
        return None if run.cost is None or not run.ideal else run.cost / run.ideal

    return (
        Measure("access", f"the access alone{f', {unit[1]}' if unit[1] else ''}",
                lambda run: run.cost, better=fewer, decides=totals, unit=unit),
        Measure("access_ideal", "ideal", lambda run: run.ideal, unit=unit),
        Measure("access_times", "times the ideal", times, "times", "lower", not totals,
                slack=1e-9, unit=_TIMES),
    )  # fmt: skip


def _verified(rows: Sequence[Row]) -> tuple[Value, Value]:
    found = next((row for row in rows if row.measure.key == "verified"), None)
    return (None, None) if found is None else (found.left, found.right)


def _measures(totals: bool, alone: bool) -> tuple[Measure, ...]:
    """Return the numbers of whole kernels; ``alone`` where they are what was asked about."""

    def total(space: str, what: str) -> Callable[[Measured], Value]:
        return lambda run: run.total(space, what)

    def ratio(space: str, what: str) -> Callable[[Measured], Value]:
        def of(run: Measured) -> Value:
            cost, ideal = run.total(space, what), run.total(space, "ideal")
            return None if cost is None or not ideal else cost / ideal

        return of

    wavefronts, sectors = _UNITS["shared"], _UNITS["global"]
    fewer: Direction = "lower" if totals and alone else ""
    relative: Direction = "lower" if alone else ""
    kernel = "" if alone else "whole kernel: "
    return (
        Measure("wavefronts", f"{kernel}shared memory, wavefronts", total("shared", "wavefronts"),
                better=fewer, decides=totals and alone, unit=wavefronts),
        Measure("shared_ideal", "ideal", total("shared", "ideal"), unit=wavefronts),
        Measure("shared_times", "shared, times the ideal", ratio("shared", "wavefronts"), "times",
                relative, not totals and alone, slack=1e-9, unit=_TIMES),
        Measure("sectors", f"{kernel}global memory, sectors", total("global", "sectors"),
                better=fewer, decides=totals and alone, unit=sectors),
        Measure("global_ideal", "ideal", total("global", "ideal"), unit=sectors),
        Measure("global_times", "global, times the ideal", ratio("global", "sectors"), "times",
                relative, not totals and alone, slack=1e-9, unit=_TIMES),
        Measure("median_us", "median, µs", lambda run: run.median_us, "ratio", "lower",
                totals and alone, unit=("µs", "µs")),
        Measure("registers", "registers a thread", lambda run: run.registers, better="lower"),
        Measure("spill_bytes", "bytes spilled", lambda run: run.spill_bytes, better="lower"),
        Measure("shared_bytes", "bytes of shared memory", lambda run: run.shared_bytes),
    )  # fmt: skip


def access_pairs(left: Measured, right: Measured) -> tuple[AccessPair, ...]:
    """Return the accesses of both runs, those of one kind side by side in order of their lines.

    The access that was asked about comes first, where there is one.

    Example:
        >>> empty = Measured("", True, Statement("ok", ""), (), True)
        >>> access_pairs(empty, empty)
        ()
    """
    one, two = left.subject, right.subject
    pairs = []
    rest = list(right.accesses)
    first = []
    if one is not None and two is not None:
        first.append(AccessPair(one, two, subject=True))
        rest.remove(two)
    for row in left.accesses:
        if first and row is one:
            continue
        same = next((other for other in rest if _kind(other) == _kind(row)), None)
        if same is not None:
            rest.remove(same)
        pairs.append(AccessPair(row, same))
    pairs += [AccessPair(None, other) for other in rest]
    order = {"shared": 0, "global": 1}
    pairs.sort(key=lambda pair: order.get(_of(pair).space, 2))
    return (*first, *pairs)


def _kind(row: AccessRow) -> tuple[str, str]:
    return row.space, row.op


def _of(pair: AccessPair) -> AccessRow:
    found = pair.left or pair.right
    assert found is not None
    return found
