"""The Compare page's tables and texts as HTML; everything from outside is escaped here."""

from __future__ import annotations

from collections.abc import Sequence

from tileviz.comparing.code import CodeDifference, Line, LinePair, Stretch
from tileviz.comparing.comparison import Comparison
from tileviz.comparing.inputs import Field
from tileviz.comparing.measured import AccessPair, Measured, access_pairs
from tileviz.comparing.measures import Row, Value
from tileviz.studies.statement import Statement
from tileviz.ui import html

_UNITS = {"shared": "wavefronts", "global": "sectors"}
_BETTER = {"lower": "lower is better", "higher": "higher is better", "": ""}


def sides(parts: Sequence[tuple[str, Statement]]) -> str:
    """Return each side's own verdict, side by side.

    Args:
        parts: What each is called, and what is said of it.
    """
    cells = "".join(
        f'<div><span class="tv-who">{html.text(name)}</span>'
        f"<p>{html.glyph(said.state)}<strong>{html.text(said.sentence)}</strong></p>"
        f'<span class="tv-muted">{html.text(said.facts)}</span></div>'
        for name, said in parts
    )
    return f'<div class="tv-cards tv-sides">{cells}</div>'


def note(text: str) -> str:
    """Return a note as typed, line breaks kept."""
    return f'<p class="tv-compare-note">{html.text(text)}</p>'


# -- inputs --------------------------------------------------------------------------------------


def inputs(found: Comparison) -> str:
    """Return every field: those that differ, then the equal ones folded."""
    differ = [field for field in found.fields if not field.same]
    equal = [field for field in found.fields if field.same]
    head = _input_head(found.names)
    body = "".join(map(_input_row, differ))
    shown = f'<table class="tv-table tv-inputs" aria-label="Inputs that differ">{head}' + (
        f"<tbody>{body}</tbody></table>"
    )
    if not differ:
        shown = '<p class="tv-note">No input differs.</p>'
    if not equal:
        return shown
    rest = "".join(map(_input_row, equal))
    many = f"{len(equal)} equal input{'s' * (len(equal) != 1)}"
    return (
        f'{shown}<details class="tv-fold"><summary>{many}</summary>'
        f'<table class="tv-table tv-inputs" aria-label="Equal inputs">{head}'
        f"<tbody>{rest}</tbody></table></details>"
    )


def _input_head(names: tuple[str, str]) -> str:
    heads = "".join(f"<th>{html.text(name)}</th>" for name in names)
    return (
        '<colgroup><col class="field"><col class="sign"><col><col></colgroup>'
        f'<thead><tr><th>Input</th><th><span class="tv-sr">Same?</span></th>{heads}</tr></thead>'
    )


def _input_row(field: Field) -> str:
    left, right = field.texts
    sign = _same_sign() if field.same else _differs_sign()
    css = ' class="quiet"' if field.same else ""
    return (
        f"<tr{css}><td>{html.text(field.name)}</td><td>{sign}</td>"
        f"<td>{_value(left, field.left_default)}</td>"
        f"<td>{_value(right, field.right_default)}</td></tr>"
    )


def _value(text: str, default: bool) -> str:
    more = ' <span class="tv-muted">default</span>' if default else ""
    return f"<code>{html.text(text)}</code>{more}"


def _same_sign() -> str:
    return '<span class="tv-muted" aria-hidden="true">=</span><span class="tv-sr">equal</span>'


def _differs_sign() -> str:
    return '<span class="above" aria-hidden="true">≠</span><span class="tv-sr">differs</span>'


# -- numbers -------------------------------------------------------------------------------------


def numbers(rows: Sequence[Row], names: tuple[str, str], label: str) -> str:
    """Return numbers side by side, with the difference and the better side marked."""
    heads = "".join(f'<th class="num">{html.text(name)}</th>' for name in names)
    body = "".join(map(_number_row, rows))
    return (
        f'<table class="tv-table tv-numbers" aria-label="{html.text(label)}">'
        f'<thead><tr><th>Number</th>{heads}<th class="num">right − left</th></tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _number_row(row: Row) -> str:
    better = "" if row.measure.form == "yes" else _BETTER[row.measure.better]
    aim = f' <span class="tv-muted">{better}</span>' if better else ""
    texts = row.measure.text(row.left), row.measure.text(row.right)
    cells = "".join(
        _number_cell(text, row.better == side)
        for side, text in zip(("left", "right"), texts, strict=True)
    )
    return (
        f"<tr><td>{html.text(row.measure.label)}{aim}</td>{cells}"
        f'<td class="num">{_change(row)}</td></tr>'
    )


def _number_cell(text: str, better: bool) -> str:
    if not better:
        return f'<td class="num">{html.text(text)}</td>'
    mark = '<span class="tv-sr">better: </span><span class="tv-ok" aria-hidden="true">✓</span> '
    return f'<td class="num better">{mark}<strong>{html.text(text)}</strong></td>'


def _change(row: Row) -> str:
    if row.left == row.right:
        return _same_sign()
    if row.difference:
        return html.text(row.difference)
    return _differs_sign()


# -- CUDA ----------------------------------------------------------------------------------------


def code(found: CodeDifference, names: tuple[str, str]) -> str:
    """Return two texts side by side, changed lines and words marked, equal runs folded."""
    heads = "".join(f"<span>{html.text(name)}</span>" for name in names)
    parts = "".join(map(_stretch, found.stretches))
    return (
        f'<div class="tv-diff" role="region" aria-label="CUDA of both"><div class="heads">{heads}'
        f"</div>{parts}</div>"
    )


def _stretch(part: Stretch) -> str:
    rows = "".join(map(_line_pair, part.pairs))
    table = (
        '<table><colgroup><col class="no"><col class="mark"><col class="code">'
        f'<col class="no"><col class="mark"><col class="code"></colgroup><tbody>{rows}'
        "</tbody></table>"
    )
    if not part.folded:
        return table
    return f"<details><summary>{len(part.pairs)} equal lines</summary>{table}</details>"


def _line_pair(pair: LinePair) -> str:
    same = pair.change == "same"
    return (
        f"<tr>{_line(pair.left, '' if same else 'was', '−')}"
        f"{_line(pair.right, '' if same else 'is', '+')}</tr>"
    )


def _line(line: Line | None, css: str, sign: str) -> str:
    if line is None:
        return '<td class="no"></td><td class="mark"></td><td class="none"></td>'
    words = "only on the left: " if css == "was" else "only on the right: "
    mark = (
        f'<span aria-hidden="true">{sign}</span><span class="tv-sr">{words}</span>' if css else ""
    )
    text = "".join(
        f"<mark>{html.text(piece)}</mark>" if marked else html.text(piece)
        for piece, marked in line.pieces
    )
    return (
        f'<td class="no">{line.number}</td><td class="mark {css}">{mark}</td>'
        f'<td class="code {css}">{text}</td>'
    )


# -- runs ----------------------------------------------------------------------------------------


def accesses(left: Measured, right: Measured, names: tuple[str, str]) -> str:
    """Return the accesses of both runs, line beside line."""
    pairs = access_pairs(left, right)
    if not pairs:
        return ""
    groups = "".join(
        f'<th class="group" colspan="4" scope="colgroup">{html.text(name)}</th>' for name in names
    )
    one = (
        '<th class="num group">line</th><th>access</th><th class="num">cost</th>'
        '<th class="num">ideal</th>'
    )
    body, before, asked = [], "", pairs[0].subject
    for pair in pairs:
        head = _heading(pair, asked)
        if head != before:
            before = head
            body.append(f'<tr class="quiet subhead"><td colspan="9">{html.text(head)}</td></tr>')
        body.append(_access_pair(pair))
    return (
        '<div class="tv-scroll"><table class="tv-table tv-run" aria-label="Accesses of both runs">'
        f"<thead><tr><th></th>{groups}</tr><tr><th>op</th>{one}{one}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _heading(pair: AccessPair, asked: bool) -> str:
    """Return what a pair stands under; ``asked`` where one access was asked about."""
    row = pair.left or pair.right
    space = "" if row is None else row.space
    unit = _UNITS.get(space, "accesses")
    if pair.subject:
        return f"The access alone, in {unit}"
    rest = ", what fills and shows it" if asked else ""
    return f"{space.capitalize()} memory{rest}, in {unit}"


def _access_pair(pair: AccessPair) -> str:
    found = pair.left or pair.right
    op = "" if found is None else f"{found.op}.{found.space}"
    cells = []
    for row in (pair.left, pair.right):
        if row is None:
            cells.append('<td class="group hatched" colspan="4">no such access</td>')
            continue
        paid = row.measured.sectors if row.measured.wavefronts is None else row.measured.wavefronts
        above = ' class="above"' if (paid or 0) > row.measured.ideal else ""
        cells.append(
            f'<td class="num group">{row.line or ""}</td>'
            f'<td class="text"><code>{html.text(row.text or row.buffer)}</code></td>'
            f'<td class="num"><span{above}>{_count(paid)}</span></td>'
            f'<td class="num tv-muted">{_count(row.measured.ideal)}</td>'
        )
    return f"<tr><td>{html.text(op)}</td>{''.join(cells)}</tr>"


def _count(value: Value) -> str:
    return f"{value:,}" if isinstance(value, int) else ""


def run_notes(runs: Sequence[tuple[str, Measured | None]]) -> str:
    """Return what else each run says, under its name."""
    lines = [
        f'<p class="tv-note">{html.text(name)}: {html.text(line)}</p>'
        for name, run in runs
        if run is not None
        for line in run.lines
    ]
    return "".join(lines)
