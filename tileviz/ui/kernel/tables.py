"""The Kernel lab's tables as HTML: limits, outputs, what the compiler made of each line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tileviz.runners.counts import CountRow
from tileviz.ui import html
from tileviz.ui.kernel.limits import limit_rows
from tileviz.ui.kernel.view import OutputRow

_HASH = 12


def style() -> str:
    """Return the style that only this page needs."""
    form = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    return f"<style>{form}</style>"


def limits() -> str:
    """Return what a run may take.

    Example:
        >>> "<td>64 KiB</td>" in limits()
        True
    """
    rows = [(html.text(what), html.text(much)) for what, much in limit_rows()]
    return html.table((), rows, css="lab-limits", label="Limits")


def outputs(rows: Sequence[OutputRow]) -> str:
    """Return a row for each output buffer."""
    cells = [
        (
            f"<code>{html.text(row.name)}</code>",
            html.text(row.dtype),
            html.text(row.shape),
            html.text(row.first or "not shown"),
            html.text(row.spread),
            f"<code>{html.text(row.sha256[:_HASH])}</code>",
        )
        for row in rows
    ]
    heads = ("buffer", "dtype", "shape", "first values", "range", "SHA-256")
    return f'<div class="tv-scroll">{html.table(heads, cells, label="Outputs")}</div>'


def counts(rows: Sequence[CountRow]) -> str:
    """Return what each line's accesses became in the PTX and in the machine code."""
    known = any(row.sass is not None for row in rows)
    heads = ["line", "access", "in the PTX", *(["in the machine code", "note"] if known else [])]
    cells = []
    for row in rows:
        ours = [str(row.line or ""), html.text(f"{row.op}.{row.space}"), _widths(row.ptx)]
        if known:
            ours += [_widths(row.sass or ()), html.text(row.note)]
        cells.append(ours)
    label = "Memory instructions in the compiled text"
    return f'<div class="tv-scroll">{html.table(heads, cells, label=label)}</div>'


def _widths(pairs: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{count} × {width} B" for width, count in pairs) or "none"
