"""The Layouts page's legend and tables as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from tileviz.figures.layout_views import Colouring
from tileviz.figures.tokens import Theme
from tileviz.studies.statement import TextTable
from tileviz.ui import html


def legend(colourings: Sequence[Colouring], theme: Theme, *, idle: bool, outlined: str) -> str:
    """Return the legend of all pictures: one name a palette, only classes that occur.

    Args:
        colourings: The colours of each picture.
        theme: The theme that the pictures were drawn for.
        idle: Whether idle addresses occur.
        outlined: What outlined cells are, "" where there are none.

    Example:
        >>> import numpy as np
        >>> from tileviz.figures.tokens import LIGHT
        >>> two = Colouring(np.array([[0, 7]], np.int8), "order", "Banks", tuple("01234567"))
        >>> legend([two], LIGHT, idle=False, outlined="").count("<i ")
        2
    """
    named: dict[str, Colouring] = {}
    occur: dict[str, set[int]] = {}
    for found in colourings:
        named.setdefault(found.name, found)
        occur.setdefault(found.name, set()).update(found.classes[found.classes >= 0].tolist())
    parts = []
    for name, found in named.items():
        palette = getattr(theme, found.palette)
        parts.append(f"<strong>{html.text(name)}</strong>")
        parts += [
            _entry(f"background:{palette[at]}", found.labels[at]) for at in sorted(occur[name])
        ]
    if idle:
        parts.append(_entry(f"background:{theme.idle}", "idle"))
    if outlined:
        parts.append(_entry(f"box-shadow:inset 0 0 0 2px {theme.hot}", outlined))
    return f'<div class="tv-legend">{"".join(parts)}</div>'


def _entry(style: str, label: str) -> str:
    return f'<span><i style="{style}"></i>{html.text(label)}</span>'


def forms(rows: Sequence[tuple[str, str]]) -> str:
    """Return a layout in each notation."""
    cells = [(html.text(name), f"<code>{html.text(form)}</code>") for name, form in rows]
    return html.table((), cells, css="tv-formula", label="Printed forms")


def digits(table: TextTable) -> str:
    """Return a layout's parts, numbers to the right."""
    numbers = ("extent", "stride")
    head = "".join(f"<th{_align(name in numbers)}>{html.text(name)}</th>" for name in table.columns)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{_align(name in numbers)}>{html.text(cell)}</td>"
            for name, cell in zip(table.columns, row, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    return (
        '<table class="tv-table" aria-label="Shard, replica and offset">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _align(number: bool) -> str:
    return ' class="num"' if number else ""


def facts(table: TextTable) -> str:
    """Return what is true of a layout."""
    cells = [tuple(html.text(cell) for cell in row) for row in table.rows]
    return html.table((), cells, label="What is true of it")
