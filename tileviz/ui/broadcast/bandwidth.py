"""The table of bandwidths: published, recorded and measured here."""

from __future__ import annotations

from collections.abc import Sequence

from tileviz.export.links import page_url
from tileviz.studies.broadcast.bandwidth import PUBLISHED, Published, bandwidth_rows
from tileviz.studies.registry import make_design
from tileviz.ui import html


def bandwidth(note: Sequence[str]) -> str:
    """Return the published rows, and a hatched group that says what this machine needs.

    Args:
        note: Two lines for the group of this machine.
    """
    rates = bandwidth_rows()
    body = ""
    for at, (row, rate) in enumerate(zip(PUBLISHED, rates, strict=True)):
        last = ""
        if not at:
            words = "<br>".join(html.text(line) for line in note)
            last = f'<td class="group hatched" colspan="2" rowspan="{len(PUBLISHED)}">{words}</td>'
        body += _published(row, rate.gb_per_s, last)
    heads = (
        '<thead><tr><th></th><th class="group" colspan="5">Published with CINN\'s tactic, '
        'V100 900 GB/s (#71434)</th><th class="group" colspan="2">This machine</th></tr>'
        '<tr><th>N, H, W, C</th><th class="num group">% of peak</th><th class="num">time</th>'
        '<th class="num">by the formula</th><th class="num">bandwidth gain</th>'
        '<th class="num">runtime change</th><th class="num group">CINN</th>'
        '<th class="num">ours</th></tr></thead>'
    )
    return (
        '<div class="tv-scroll"><table class="tv-table tv-run" aria-label="Bandwidth">'
        f"{heads}<tbody>{body}</tbody></table></div>"
    )


def _published(row: Published, rate: float, last: str) -> str:
    shape = ", ".join(map(str, row.shape))
    # As the presets write it, so that the page names the one it opens.
    design = make_design({**row.document, "operands": [[1, 1, 1, row.shape[3]]]})
    link = html.text(page_url(design).lstrip("/"))
    cells = (
        f"{row.peak_percent:.2f}",
        f"{row.us:,.0f} µs",
        f"{rate:.1f} GB/s",
        f"+{row.gain_percent:.2f} %",
        f"−{abs(row.change_percent):.2f} %",
    )
    numbers = "".join(
        f'<td class="num{" group" if not at else ""}">{cell}</td>' for at, cell in enumerate(cells)
    )
    return f'<tr><td><a href="{link}" target="_self">{shape}</a></td>{numbers}{last}</tr>'
