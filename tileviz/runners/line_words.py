"""What a user's own kernel did, in one sentence: the fault, or the line that pays most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tileviz.emulator.problems import Problem
from tileviz.memory import SECTOR_BYTES
from tileviz.runners.compare import AccessRow
from tileviz.runners.executions import Executions, excess, kept
from tileviz.runners.results import Run
from tileviz.studies.statement import Statement

_UNITS = {"shared": "wavefront", "global": "sector"}
_MOST_NAMED = 3


def own_statement(
    rows: Sequence[AccessRow],
    problems: Sequence[Problem],
    samples: Sequence[Executions | None],
) -> Statement:
    """Return the verdict on a run of a kernel without a reference.

    A fault comes first; then the access with the most excess, and why; then the totals.

    Args:
        rows: The rows of the run.
        problems: What went wrong.
        samples: What `executions.kept` made of its accesses.

    Example:
        >>> import numpy as np
        >>> from tileviz.memory import Accesses
        >>> from tileviz.runners.compare import compare
        >>> from tileviz.runners.executions import kept
        >>> column = Accesses.of(128 * np.arange(32), space="shared", op="ld", bytes=4, line=9)
        >>> rows = compare([], [column])
        >>> own_statement(rows, [], kept(rows, [column])).sentence
        'Line 9: 32 wavefronts where 1 is ideal: 32 lanes meet in one bank.'
    """
    totals = totals_of(rows)
    if problems:
        sentence, facts = problem_words(problems[0])
        more = len(problems) - 1
        facts = " ".join(filter(None, (facts, f"{more} more below." if more else "")))
        # A limit that was met on the way leaves what was counted before; it is no fault of a line.
        partial = problems[0].kind == "limit" and rows
        return Statement("attention" if partial else "error", sentence, facts)
    worst = worst_row(rows)
    if worst is None:
        sentence = "Nothing is paid above the ideal." if rows else "No memory access was traced."
        return Statement("ok", sentence, totals)
    sample = samples[worst]
    sentence = f"{_at(rows[worst])}: {_costs_more(rows[worst], sample)}."
    return Statement("attention", sentence, " ".join(filter(None, (_others(rows, worst), totals))))


def run_words(run: Run) -> Statement:
    """Return the verdict on a whole run of a kernel without a reference."""
    return own_statement(run.accesses, run.problems, kept(run.accesses, run.measured))


def json_words(run: Mapping[str, Any]) -> Statement:
    """Return the same verdict on a ``run`` object, kept or recorded.

    A run object holds counts alone, not the addresses that say why the worst line costs more.

    Example:
        >>> counts = {"wavefronts": 64, "ideal": 2, "sectors": None}
        >>> row = {"line": 9, "space": "shared", "op": "ld", "bytes": 4, "executions": 2,
        ...        "predicted": None, "measured": counts}
        >>> json_words({"accesses": [row], "problems": []}).sentence
        'Line 9: 62 wavefronts above the ideal.'
    """
    rows = [AccessRow.of_json(row) for row in run.get("accesses") or []]
    problems = [
        Problem(one["kind"], str(one["message"]), one["line"]) for one in run.get("problems") or []
    ]
    return own_statement(rows, problems, [None] * len(rows))


def worst_row(rows: Sequence[AccessRow]) -> int | None:
    """Return the row that pays most above its ideal; None where all are ideal.

    Wavefronts and sectors count alike; of equals the first.

    Example:
        >>> worst_row([]) is None
        True
    """
    found = max(range(len(rows)), key=lambda index: (excess(rows[index]), -index), default=None)
    return None if found is None or excess(rows[found]) <= 0 else found


def problem_words(problem: Problem) -> tuple[str, str]:
    """Return a problem as a sentence that begins with its line, and what else is known of it.

    Example:
        >>> problem_words(Problem("compile", 'identifier "y" is undefined', 3))
        ('Does not compile, line 3: identifier "y" is undefined.', '')
        >>> problem_words(Problem("race", "race on a store: block (0,0,0), line 6", 6))
        ('Line 6: race on a store.', 'Block (0,0,0).')
    """
    message = problem.message
    where = f", line {problem.line}" if problem.line is not None else ""
    if problem.kind == "compile":
        message = message.removeprefix(f"line {problem.line}: ")
        return f"Does not compile{where}: {message.rstrip('.')}.", ""
    what, _, detail = message.removesuffix(where).partition(": block ")
    start = f"Line {problem.line}: {what}" if where else _capital(what)
    return f"{start.rstrip('.')}.", f"Block {detail}." if detail else ""


def reason(sample: Executions, stop: int, *, passes: int, used: int) -> str:
    """Return why one execution costs what it does, in words without a full stop.

    Args:
        sample: Kept executions.
        stop: Which of them.
        passes: Most passes that one group of its lanes needs; of shared memory.
        used: Bytes that its lanes ask for; of global memory.
    """
    cost, ideal = int(sample.cost[stop]), int(sample.ideal[stop])
    if sample.space == "shared":
        if cost <= ideal:
            return "no two words lie in one bank"
        return f"{passes} lanes meet in one bank"
    moved = cost * SECTOR_BYTES
    return f"{used:,} of the {moved:,} bytes that move are used"


def totals_of(rows: Sequence[AccessRow]) -> str:
    """Return what all rows pay together, in both units."""
    parts = []
    for space, unit in _UNITS.items():
        same = [row for row in rows if row.space == space]
        if same:
            ideal = sum(row.measured.ideal for row in same)
            paid = ideal + sum(map(excess, same))
            parts.append(f"{paid:,} {unit}{'s' * (paid != 1)}, ideal {ideal:,}")
    return f"In all {'; '.join(parts)}." if parts else ""


def unit(row: AccessRow) -> str:
    """Return what a row pays in: ``wavefront`` or ``sector``."""
    return _UNITS[row.space]


def _at(row: AccessRow) -> str:
    return f"Line {row.line}" if row.line else "An access of unknown line"


def _costs_more(row: AccessRow, sample: Executions | None) -> str:
    if sample is None:
        return f"{excess(row):,} {unit(row)}s above the ideal"
    stop = sample.worst
    cost, ideal = int(sample.cost[stop]), int(sample.ideal[stop])
    paid = f"{cost} {unit(row)}{'s' * (cost != 1)} where {ideal} {'is' if ideal == 1 else 'are'}"
    uneven = "up to " if len({*sample.cost.tolist()}) > 1 else ""
    why = reason(sample, stop, passes=sample.n_way, used=sample.used)
    return f"{uneven}{paid} ideal: {why}"


def _others(rows: Sequence[AccessRow], worst: int) -> str:
    """Name the other lines that pay above their ideal."""
    above = sorted(
        (row for index, row in enumerate(rows) if index != worst and excess(row) > 0),
        key=lambda row: -excess(row),
    )
    if not above:
        return ""
    named = [f"line {row.line} ({row.op}.{row.space}, {excess(row):,} excess)" for row in above]
    more = len(named) - _MOST_NAMED
    listed = ", ".join(named[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"Also above ideal: {listed}."


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
