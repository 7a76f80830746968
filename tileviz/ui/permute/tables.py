"""The Permute page's tables as HTML: every k, one cell bit by bit, the formula three ways."""

from __future__ import annotations

from collections.abc import Sequence

from tileviz.studies.permute.explain import BitRow, KRow
from tileviz.studies.statement import TextTable
from tileviz.ui import html


def k_table(rows: Sequence[KRow]) -> str:
    """Return the table of every k: cost of each phase, the reason, the chosen row tinted.

    Example:
        >>> 'class="above"' in k_table([KRow("0", 4, 16, "write 4-way", write_above=True)])
        True
    """
    body = []
    for row in rows:
        css = "quiet" if row.label == "ideal" else ""
        if row.chosen:
            css = "chosen attention" if row.read_above or row.write_above else "chosen"
        cells = (
            f'<td class="num">{html.text(row.label)}</td>'
            f'<td class="num">{_cost(row.read, row.read_above)}</td>'
            f'<td class="num">{_cost(row.write, row.write_above)}</td>'
            f"<td>{html.text(row.result)}</td>"
        )
        body.append(f'<tr class="{css}">{cells}</tr>')
    heads = (
        '<th class="num">k</th><th class="num">read</th><th class="num">write</th><th>result</th>'
    )
    return (
        '<table class="tv-table tv-k" aria-label="Cost of every k">'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def _cost(value: int, above: bool) -> str:
    return f'<span class="above">{value}</span>' if above else str(value)


def bits(rows: Sequence[BitRow]) -> str:
    """Return one cell's way to its bank: a column a bit, a row a step, the value at the end.

    Example:
        >>> bits([BitRow("lane", 9, 5, taken=(3, 4))]).count('class="bit taken"')
        2
    """
    width = max(row.width for row in rows)
    places = range(width - 1, -1, -1)
    head = "".join(f"<th>{place}</th>" for place in places)
    body = []
    for row in rows:
        cells = "".join(_bit(row, place) for place in places)
        body.append(
            f'<tr><th class="step">{html.text(row.label)}</th>{cells}'
            f'<td class="value">{row.value}</td></tr>'
        )
    return (
        '<div class="tv-scroll"><table class="tv-bits" aria-label="Bits of one cell">'
        f"<thead><tr><th></th>{head}<th></th></tr></thead><tbody>{''.join(body)}</tbody>"
        "</table></div>"
    )


def _bit(row: BitRow, place: int) -> str:
    if place >= row.width:
        return '<td class="none"></td>'
    mark = " taken" if place in row.taken else " changed" if place in row.changed else ""
    return f'<td class="bit{mark}">{row.value >> place & 1}</td>'


def bits_legend() -> str:
    """Return the legend of the bit table."""
    return (
        '<div class="tv-legend"><strong>Bits</strong>'
        '<span><i class="taken"></i>taken from the lane</span>'
        '<span><i class="changed"></i>set by the XOR</span></div>'
    )


def text_table(table: TextTable) -> str:
    """Return a table of the engine's own, numbers to the right."""
    heads = "".join(f'<th class="num">{html.text(name)}</th>' for name in table.columns)
    rows = "".join(
        "<tr>" + "".join(f'<td class="num"><code>{html.text(cell)}</code></td>' for cell in row)
        for row in table.rows
    )
    name = f'aria-label="{html.text(table.title)}"'
    return (
        f'<div class="tv-scroll tv-tall"><table class="tv-table" {name}>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def formulas(rows: Sequence[tuple[str, str]]) -> str:
    """Return the formula in each of its forms."""
    cells = [(html.text(name), f"<code>{html.text(form)}</code>") for name, form in rows]
    return html.table((), cells, css="tv-formula", label="The formula in each form")
