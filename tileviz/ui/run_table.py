"""A run as a table: what was predicted, what the emulator counted, what a GPU counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tileviz.cuda.kernel import Kernel
from tileviz.runners import Run
from tileviz.runners.compare import AccessRow, Totals
from tileviz.runners.derive import numbers, settled
from tileviz.runners.words import gpu_lines, named_accesses, statement_of, traced_words
from tileviz.studies.derivation import Numbers
from tileviz.studies.statement import Statement
from tileviz.ui import html

_UNITS = {"shared": "wavefronts", "global": "sectors"}
_GROUPS = (
    ("Predicted", ("wavefronts", "ideal")),
    ("Emulated", ("wavefronts", "differs")),
    ("GPU", ("cycles", "median")),
)


@dataclass(frozen=True)
class RunView:
    """What a page keeps of a run: everything shown, nothing bulky."""

    runner: str
    where: str
    rows: tuple[AccessRow, ...]
    statement: Statement
    problems: tuple[str, ...]
    median_us: float | None = None
    lines: tuple[str, ...] = ()
    cycles: Mapping[tuple[int | None, str, int], float] = field(default_factory=dict)
    traced: str = ""
    numbers: Numbers = field(default=Numbers(()), compare=False)

    @classmethod
    def of(cls, run: Run, kernel: Kernel | None = None) -> RunView:
        """Return what a page shows of ``run``; ``kernel`` gives each access its own text."""
        view = cls.of_json(run.to_json())
        unfolded = settled(numbers(run, kernel))
        return replace(view, rows=named_accesses(view.rows, kernel), numbers=unfolded)

    @classmethod
    def of_json(cls, run: Mapping[str, Any]) -> RunView:
        """Return what a page shows of a ``run`` object, live, kept or recorded."""
        info, timing = run["runner"], run["timing"]
        counted = (run["gpu"] or {}).get("cycles", ())
        return cls(
            info["name"],
            ", ".join(filter(None, (info["device"], info["arch"], info["compiler"]))),
            tuple(map(AccessRow.of_json, run["accesses"])),
            statement_of(run),
            tuple(problem["message"] for problem in run["problems"]),
            timing["median_us"] if timing is not None and timing["resolved"] else None,
            tuple(gpu_lines(run)),
            {(row["line"], row["op"], row["bytes"]): row["cycles"] for row in counted},
            traced_words(run),
        )


def run_table(view: RunView, gpu_note: Sequence[str]) -> str:
    """Return the result table; a group without data is one hatched cell that says what to do.

    Args:
        view: The run.
        gpu_note: Lines for the GPU group where the run was not made on one.
    """
    spaces = [
        (space, [row for row in view.rows if row.space == space]) for space in ("shared", "global")
    ]
    spaces = [(space, rows) for space, rows in spaces if rows]
    bodies = []
    span = sum(len(rows) for _, rows in spaces) + len(spaces) - 1
    first = True
    for number, (space, rows) in enumerate(spaces):
        if number:
            name = f"{space.capitalize()} memory, in {_UNITS[space]} of 32 bytes"
            bodies.append(f'<tr class="quiet subhead"><td colspan="8">{html.text(name)}</td></tr>')
        for row in rows:
            bodies.append(f"<tr>{_cells(row, view, span if first else 0, gpu_note)}</tr>")
            first = False
    if not spaces:
        return _notes(view)
    unit = _UNITS[spaces[0][0]]
    return (
        '<div class="tv-scroll"><table class="tv-table tv-run" aria-label="Predicted and measured '
        f'accesses">{_head(unit, view.traced)}<tbody>{"".join(bodies)}</tbody></table></div>'
        f"{_notes(view)}"
    )


def _head(unit: str, traced: str) -> str:
    groups = "".join(
        f'<th class="group" colspan="2" scope="colgroup">{name}</th>' for name, _ in _GROUPS
    )
    seconds = "".join(
        f'<th class="num group">{unit if first == "wavefronts" else first}</th>'
        f'<th class="num">{second}</th>'
        for _, (first, second) in _GROUPS
    )
    return (
        f'<thead><tr><th colspan="4">{_counted_in(traced)}</th>{groups}</tr>'
        '<tr><th class="num">line</th><th>access</th><th class="num">op</th>'
        f'<th class="num">executions</th>{seconds}</tr></thead>'
    )


def _counted_in(traced: str) -> str:
    """Say, above the counts, that they are a sample's."""
    return html.text(f"counts of {traced}") if traced else ""


def _cells(row: AccessRow, view: RunView, span: int, gpu_note: Sequence[str]) -> str:
    cells = [
        f'<td class="num">{row.line or ""}</td>',
        f'<td class="text"><code>{html.text(row.text or row.buffer)}</code></td>',
        f'<td class="num">{html.text(row.op)}.{html.text(row.space)} {row.bytes} B</td>',
        f'<td class="num">{row.executions}</td>',
        *_pair(row.predicted, row.predicted.ideal if row.predicted else None),
    ]
    # On a GPU too the counts are the emulator's: it sees every access before the launch.
    cells += [
        f'<td class="num group">{_cost(row.measured)}</td>',
        f'<td class="num">{_difference(row)}</td>',
    ]
    if view.runner == "gpu":
        median = "" if view.median_us is None else f"{view.median_us:.1f} µs"
        cycles = view.cycles.get((row.line, row.op, row.bytes))
        shown = "" if row.space != "shared" or cycles is None else f"{cycles:.1f}"
        cells += [
            f'<td class="num group">{shown}</td>',
            f'<td class="num">{median if span else ""}</td>',
        ]
    elif span:
        cells.append(_hatched(gpu_note, span))
    return "".join(cells)


def _pair(totals: Totals | None, second: int | None) -> tuple[str, str]:
    if totals is None:
        return '<td class="num group quiet">none</td>', '<td class="num"></td>'
    above = ' class="above"' if _cost(totals) > totals.ideal else ""
    return (
        f'<td class="num group"><span{above}>{_cost(totals)}</span></td>',
        f'<td class="num tv-muted">{second}</td>',
    )


def _hatched(lines: Sequence[str], span: int) -> str:
    words = "<br>".join(html.text(line) for line in lines)
    return f'<td class="group hatched" colspan="2" rowspan="{span}">{words}</td>'


def _cost(totals: Totals) -> int:
    paid = totals.sectors if totals.wavefronts is None else totals.wavefronts
    return 0 if paid is None else paid


def _difference(row: AccessRow) -> str:
    if row.predicted is None:
        return ""
    change = _cost(row.measured) - _cost(row.predicted)
    if not change:
        return '<span class="tv-muted">=</span>'
    return f'<span class="above">{"+" if change > 0 else "−"}{abs(change)}</span>'


def _notes(view: RunView) -> str:
    notes = [
        f"Line {row.line}: {row.note}." if row.line else f"{row.note}."
        for row in view.rows
        if row.note
    ]
    notes += [*view.problems[:8], *view.lines]
    if not notes:
        return ""
    return "".join(f'<p class="tv-note">{html.text(note)}</p>' for note in notes)
