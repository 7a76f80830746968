"""The source view: every line with what its accesses cost, and its faults, as a page component."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from tileviz.runners import AccessRow
from tileviz.runners.executions import excess
from tileviz.runners.line_words import unit
from tileviz.ui.kernel.highlight import Span, spans
from tileviz.ui.kernel.view import LabView
from tileviz.words import sized

# Lines that a browser paints without a wait; of longer texts those around what was counted.
MAX_LINES = 600
_AROUND = 12
_MAX_COLUMNS = 400
# Loops that the compiler unrolled into several widths are few.
_MAX_PROBLEMS = 8


@lru_cache(maxsize=1)
def _component() -> Callable[..., Any]:
    folder = Path(__file__).parent
    made: Callable[..., Any] = st.components.v2.component(
        "tileviz_source_view",
        html='<div class="view" tabindex="0" role="region" aria-label="Source view"></div>',
        css=(folder / "source_view.css").read_text(encoding="utf-8"),
        js=(folder / "source_view.js").read_text(encoding="utf-8"),
    )
    return made


def source_view(
    source: str, view: LabView | None, picked: int | None, subject: str, on_pick: Callable[[], None]
) -> int | None:
    """Draw a text with what was counted; return the access that was clicked just now.

    Args:
        source: CUDA text.
        view: A run of it, or None.
        picked: The access that is shown elsewhere.
        subject: Names what is shown; another one starts at its worst line.
        on_pick: Called before the page is drawn anew after a click.
    """
    data = {
        "lines": shown_lines(source, view),
        "worst": None if view is None else view.worst,
        "picked": picked,
        "subject": subject,
    }
    found = _component()(data=data, key="lab.source_view", on_picked_change=on_pick)
    clicked: int | None = found.picked
    return clicked


def shown_lines(source: str, view: LabView | None) -> list[dict[str, Any]]:
    """Return every line as the component draws it: spans, counts, faults.

    Of a very long text the lines around what was counted are shown, and how many are left out.

    Example:
        >>> shown_lines("int x;\\n", None)[0]["spans"]
        [('word', 'int'), ('', ' x;')]
    """
    coloured = spans(source)
    if coloured and not coloured[-1]:
        coloured.pop()
    rows: dict[int, list[int]] = defaultdict(list)
    problems: dict[int, list[str]] = defaultdict(list)
    if view is not None:
        for index, row in enumerate(view.rows):
            if row.line and row.line <= len(coloured):
                rows[row.line].append(index)
        for problem in view.problems:
            if problem.line and problem.line <= len(coloured):
                problems[problem.line].append(problem.message)
    drawn: list[dict[str, Any]] = []
    before = 0
    for number in _chosen(len(coloured), [*rows, *problems]):
        if number > before + 1:
            drawn.append({"left_out": _left_out(number - before - 1)})
        drawn.append(
            {
                "number": number,
                "spans": _cut(coloured[number - 1]),
                "rows": [] if view is None else [_counts(view, i) for i in rows[number]],
                "problems": problems[number][:_MAX_PROBLEMS],
            }
        )
        before = number
    if before < len(coloured):
        drawn.append({"left_out": _left_out(len(coloured) - before)})
    return drawn


def _chosen(count: int, of_interest: Sequence[int]) -> list[int]:
    """Return the numbers of the lines that are shown, ascending."""
    if count <= MAX_LINES:
        return list(range(1, count + 1))
    wanted = sorted(set(of_interest))[: MAX_LINES // 4] or [1]
    chosen: set[int] = set()
    for number in wanted:
        chosen.update(range(max(number - _AROUND, 1), min(number + _AROUND, count) + 1))
    if not of_interest:
        chosen = set(range(1, MAX_LINES + 1))
    # Lines of interest stay even where their surroundings are too many.
    if len(chosen) > MAX_LINES:
        chosen = set(sorted(chosen)[: MAX_LINES - len(wanted)]) | set(wanted)
    return sorted(chosen)


def _left_out(count: int) -> str:
    return f"… {count:,} line{'s' * (count != 1)} …"


def _cut(line: list[Span]) -> list[Span]:
    """Return the beginning of a line that is too long to be read."""
    kept: list[Span] = []
    room = _MAX_COLUMNS
    for css, text in line:
        if len(text) > room:
            return [*kept, (css, f"{text[:room]}…")]
        kept.append((css, text))
        room -= len(text)
    return kept


def _counts(view: LabView, index: int) -> dict[str, Any]:
    row = view.rows[index]
    above = excess(row)
    return {
        "index": index,
        "line": row.line,
        "access": name_of(row),
        "executions": f"{row.executions:,}",
        "cost": f"{row.measured.ideal + above:,}",
        "unit": f"{unit(row)}s",
        "ideal": f"{row.measured.ideal:,}",
        "excess": f"{above:,}",
        "used": sized(row.bytes_used),
        "moved": sized(row.bytes_moved),
        "above": above > 0,
        "pictured": view.samples[index] is not None,
    }


def name_of(row: AccessRow) -> str:
    """Return an access in the words of the other tables.

    Example:
        >>> from tileviz.runners import Totals
        >>> name_of(AccessRow(9, "shared", "ld", 4, 1, None, Totals(32, 1, None)))
        'ld.shared 4 B'
    """
    return f"{row.op}.{row.space} {row.bytes} B"
