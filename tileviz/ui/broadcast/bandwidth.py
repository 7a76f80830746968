"""The table of bandwidths: published, recorded and measured here, each of its own ceiling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tileviz.export.links import page_url
from tileviz.runners.bandwidth import Bandwidth
from tileviz.studies.broadcast.bandwidth import BandwidthRow, same_shape
from tileviz.studies.broadcast.bandwidth_text import change, named, shown_us, source
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.portion import VERSIONS, Version
from tileviz.studies.design import validated
from tileviz.ui import html

_HEADS = ("before", "CINN", "ours")


def bandwidth(found: Bandwidth) -> str:
    """Return the published rows, each above our own of its shape, and what is not measured."""
    groups = [list(rows) for _, rows in groupby(found.rows, key=lambda row: same_shape(row.design))]
    body = "".join(_group(rows) for rows in groups) + _not_measured(groups, found.not_measured)
    heads = "".join(f'<th class="num group">{name}</th>' for name in _HEADS)
    return (
        '<div class="tv-scroll"><table class="tv-table tv-run tv-rates" aria-label="Bandwidth">'
        '<thead><tr><th>output</th><th>on</th><th class="num">ceiling</th>'
        f'{heads}<th class="num group">CINN over before</th></tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _group(rows: Sequence[BandwidthRow]) -> str:
    """Return the rows of one shape; its name stands in the first."""
    link = html.text(page_url(_as_preset(rows[0].design)).lstrip("/"))
    name = html.text(named(rows[0]))
    first = f'<td rowspan="{len(rows)}"><a href="{link}" target="_self">{name}</a></td>'
    return "".join(
        f'<tr class="{row.source}">{first if not at else ""}{_cells(row)}</tr>'
        for at, row in enumerate(rows)
    )


def _as_preset(design: BroadcastDesign) -> BroadcastDesign:
    """Return the design for the default device, as the page's own presets are."""
    document = design.document()
    document.pop("sm_count", None)
    return validated(BroadcastDesign, document)


def _cells(row: BandwidthRow) -> str:
    ceiling = '<span class="tv-muted">not measured</span>'
    if row.ceiling_gb_per_s is not None:
        ceiling = f"{row.ceiling_gb_per_s:,.0f} GB/s<small>{html.text(row.ceiling)}</small>"
    rates = "".join(f'<td class="num group">{_rate(row, version)}</td>' for version in VERSIONS)
    compared = "<br>".join(change(row).split(", ")) or '<span class="tv-muted">–</span>'
    return (
        f"<td>{html.text(row.device)}<small>{html.text(source(row))}</small></td>"
        f'<td class="num">{ceiling}</td>{rates}'
        f'<td class="num group">{compared}</td>'
    )


def _rate(row: BandwidthRow, version: Version) -> str:
    rate = row.rates.get(version)
    if rate is None:
        why = html.text(row.missing.get(version, "not measured"))
        return f'<span class="tv-muted why">{why}</span>'
    share = "" if rate.share is None else f"{100 * rate.share:.2f} %"
    if row.published_percent is not None:
        share = f"{row.published_percent:.2f} %"
    facts = f"{shown_us(rate.us)}, {rate.gb_per_s:,.1f} GB/s"
    return f"<strong>{share}</strong><small>{facts}</small>"


def _not_measured(groups: Sequence[Sequence[BandwidthRow]], why: str) -> str:
    """Return a hatched row that names the shapes without any time of ours, and the reason."""
    bare = [named(rows[0]) for rows in groups if all(row.source == "published" for row in rows)]
    if not bare:
        return ""
    shapes = "all of these shapes" if len(bare) == len(groups) else "; ".join(bare)
    reason = f" {html.sentence(why)}" if why else ""
    said = html.text(f"Not measured on any device of ours: {shapes}.{reason}")
    return f'<tr><td class="hatched" colspan="7">{said}</td></tr>'
