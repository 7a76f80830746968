"""The Banks page's tables as HTML: one cell bit by bit, candidates, what each XOR buys."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tileviz.studies.access.candidates import Candidate, Cost
from tileviz.studies.access.given import SwizzleBit
from tileviz.studies.access.search import SearchResult
from tileviz.studies.derivation import Bits
from tileviz.ui import html


def style() -> str:
    """Return the style that only this page needs."""
    form = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    return f"<style>{form}</style>"


def bits(steps: Sequence[Bits]) -> str:
    """Return one cell's way to its bank: a column a bit, a row a step, the value at the end.

    Example:
        >>> step = Bits("offset", 9, 9, 0, 5, taken=(3, 4))
        >>> bits([step]).count('class="bit taken"')
        2
    """
    width = max(step.high for step in steps)
    places = range(width - 1, -1, -1)
    head = "".join(f"<th>{place}</th>" for place in places)
    body = "".join(
        f'<tr><th class="step">{html.text(step.label)}</th>'
        + "".join(_bit(step, place) for place in places)
        + f'<td class="value">{step.value}</td></tr>'
        for step in steps
    )
    return (
        '<div class="tv-scroll"><table class="tv-bits" aria-label="Bits of one cell">'
        f"<thead><tr><th></th>{head}<th></th></tr></thead><tbody>{body}</tbody></table></div>"
    )


def _bit(step: Bits, place: int) -> str:
    if not step.low <= place < step.high:
        return '<td class="none"></td>'
    mark = " taken" if place in step.taken else " changed" if place in step.changed else ""
    return f'<td class="bit{mark}">{step.bits >> place & 1}</td>'


def bits_legend(steps: Sequence[Bits], unit: str) -> str:
    """Return the legend of the bit table."""
    taken = '<span><i class="taken"></i>taken</span>' if any(step.taken for step in steps) else ""
    changed = "set by the XOR, bank" if taken else "bank"
    return (
        f'<div class="tv-legend"><strong>Bits of the {unit} number</strong>{taken}'
        f'<span><i class="changed"></i>{changed}</span></div>'
    )


def candidates(result: SearchResult, chosen: Candidate | None) -> str:
    """Return what the tile costs as written and in every arrangement that was found."""
    heads = [cost.access for cost in result.candidates[0].costs]
    head = "<th>arrangement</th>" + "".join(f'<th class="num">{html.text(h)}</th>' for h in heads)
    head += '<th class="num">extra bytes</th>'
    rows = []
    if result.given:
        rows.append(_row("as written", result.given, "", ""))
    elif result.given_note:
        note = html.text(result.given_note)
        rows.append(f'<tr><td colspan="{len(heads) + 2}">{note}</td></tr>')
    for candidate in result.candidates:
        css = ""
        if candidate is chosen:
            css = "chosen" if candidate.free else "chosen attention"
        rows.append(_row(name_of(candidate), candidate.costs, str(candidate.extra_bytes), css))
    return _table("Arrangements", head, rows)


def name_of(candidate: Candidate) -> str:
    """Return a candidate's name for a narrow column.

    Example:
        >>> name_of(Candidate("padding", (), 4224, 128, "S[(32, 32):(33, 1)]"))
        'S[(32, 32):(33, 1)]'
    """
    if candidate.kind == "padding" and candidate.layout:
        return candidate.layout
    return candidate.title


def _row(name: str, costs: Sequence[Cost], extra: str, css: str) -> str:
    code = f"<code>{html.text(name)}</code>" if any(sign in name for sign in "<[") else name
    cells = "".join(f'<td class="num">{_cost(cost)}</td>' for cost in costs)
    return f'<tr class="{css}"><td>{code}</td>{cells}<td class="num">{extra}</td></tr>'


def _cost(cost: Cost) -> str:
    if cost.wavefronts > cost.ideal:
        return f'<span class="above">{cost.wavefronts:,}</span>'
    return f"{cost.wavefronts:,}"


def pareto(result: SearchResult) -> str:
    """Return the best arrangement for other vector widths: none is better in every column."""
    head = (
        "<th>arrangement</th><th>accesses</th>"
        '<th class="num">instructions</th><th class="num">wavefronts</th>'
    )
    rows = []
    for candidate in result.pareto:
        accesses = ", ".join(cost.access for cost in candidate.costs)
        instructions = sum(cost.instructions for cost in candidate.costs)
        rows.append(
            f"<tr><td><code>{html.text(name_of(candidate))}</code></td><td>{html.text(accesses)}"
            f'</td><td class="num">{instructions:,}</td>'
            f'<td class="num">{candidate.wavefronts:,}</td></tr>'
        )
    return _table("Other vector widths", head, rows)


def swizzle_bits(found: Sequence[SwizzleBit]) -> str:
    """Return what each XOR of the given swizzle buys."""
    head = '<th>XOR of address bits</th><th class="num">buys wavefronts</th>'
    rows = [
        f"<tr><td><code>{html.text(bit.term)}</code></td>"
        f'<td class="num">{f"{bit.buys:,}" if not bit.idle else "nothing"}</td></tr>'
        for bit in found
    ]
    return _table("What each XOR buys", head, rows)


def _table(name: str, head: str, rows: Sequence[str]) -> str:
    return (
        f'<div class="tv-scroll"><table class="tv-table" aria-label="{html.text(name)}">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def notations(candidate: Candidate) -> str:
    """Return a candidate as each notation says it, or why one cannot."""
    rows = []
    if candidate.layout:
        rows.append(("layout", f"<code>{html.text(candidate.layout)}</code>"))
    if candidate.cute:
        rows.append(("CuTe", f"<code>{html.text(candidate.cute)}</code>"))
    if candidate.tvm:
        letters = zip(("per_element", "swizzle_len", "atom_len"), candidate.tvm, strict=True)
        said = ", ".join(f"{name} = {value}" for name, value in letters)
        rows.append(("TVM", f"<code>{said}</code>"))
    if candidate.note:
        rows.append(("note", html.text(candidate.note)))
    if candidate.terms:
        rows.append(
            ("XORs", "<br>".join(f"<code>{html.text(one)}</code>" for one in candidate.terms))
        )
    return html.table((), rows, css="tv-formula", label="In every notation")


def matrix(candidate: Candidate) -> str:
    """Return a candidate's bit matrix: bank bits down, word-address bits across, highest first."""
    if not candidate.matrix:
        return ""
    width = len(candidate.matrix[0])
    head = "".join(f"<th>{place}</th>" for place in range(width - 1, -1, -1))
    body = "".join(
        f'<tr><th class="step">bank bit {bit}</th>'
        + "".join(
            f'<td class="bit{" one" if row[place] else ""}">{row[place] or ""}</td>'
            for place in range(width - 1, -1, -1)
        )
        + "</tr>"
        for bit, row in reversed(list(enumerate(candidate.matrix)))
    )
    return (
        '<div class="tv-scroll"><table class="tv-bits" aria-label="Bit matrix">'
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
