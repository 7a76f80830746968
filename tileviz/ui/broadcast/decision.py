"""CINN's decision path, and its search for a block size."""

from __future__ import annotations

from collections.abc import Sequence

from tileviz.studies.broadcast.blocksize import Candidate
from tileviz.studies.broadcast.cinn import Step
from tileviz.studies.broadcast.plan import BroadcastPlan
from tileviz.ui import html
from tileviz.ui.broadcast import words


def path(plan: BroadcastPlan) -> str:
    """Return every check in order; the one that decided stands out."""
    ending = "attention" if plan.cinn.launchable is False else "ok"
    ending = ending if plan.cinn.applies else "reject"
    items = "".join(_step(step, ending) for step in plan.cinn.steps)
    early = ""
    if plan.early is not None:
        block = "" if plan.early.block is None else f", block {plan.early.block[0]}"
        early = (
            f'<p class="tv-note">The early description (#71434) says: applies{block}; '
            f"{html.text(plan.early.note)}.</p>"
        )
    return f'<ol class="tv-path" aria-label="Decision path">{items}</ol>{early}'


def _step(step: Step, ending: str) -> str:
    if step.outcome == "skipped":
        return (
            f'<li class="skipped"><span class="tv-glyph tv-neutral">·</span>'
            f"<div>{html.text(step.question)}</div></li>"
        )
    decides = step.outcome == "decides"
    state = ending if decides else "ok"
    css = ' class="decides"' if decides else ""
    return (
        f"<li{css}>{html.glyph(state)}<div>{html.text(step.question)} "
        f"<strong>{html.text(step.answer)}</strong></div></li>"
    )


def finder(found: Sequence[Candidate]) -> str:
    """Return every block size as a tile: K, lane use, and by its form what speaks against it."""
    tiles = "".join(_tile(one) for one in found)
    early = any(one.early and not one.chosen for one in found)
    keys = [("chosen", "chosen")] if any(one.chosen for one in found) else []
    keys += [("fits", "divides C, or packs whole rows"), ("", "does not divide")]
    keys.append(("fits short", "under 128 threads"))
    if early:
        keys.append(("early", "early description"))
    legend = "".join(f'<span><i class="{css}"></i>{name}</span>' for css, name in keys)
    return (
        f'<div class="tv-finder" role="img" aria-label="{html.text(_finder_words(found))}">'
        f'{tiles}</div><div class="tv-legend tv-finder-legend">{legend}</div>'
    )


def _tile(one: Candidate) -> str:
    css = ["fits"] if one.divides or one.packs else []
    css += [
        name
        for name, holds in (
            ("short", not one.in_range),
            ("chosen", one.chosen),
            ("early", one.early and not one.chosen),
        )
        if holds
    ]
    sign = "✓" if one.divides or one.packs else ""
    return (
        f'<div class="{" ".join(css)}" title="{html.text(f"K = {one.K}: {one.verdict}")}">'
        f"<strong>{one.K}</strong><span>{sign} {words.percent(one.lane_use)}</span></div>"
    )


def _finder_words(found: Sequence[Candidate]) -> str:
    chosen = next((one.K for one in found if one.chosen), None)
    fitting = [str(one.K) for one in found if (one.divides or one.packs) and one.in_range]
    pick = "no block size is chosen" if chosen is None else f"K = {chosen} is chosen"
    return f"{pick}; in range and fitting: {', '.join(fitting) or 'none'}"


def finder_table(found: Sequence[Candidate]) -> str:
    """Return every block size as a row."""
    rows = "".join(
        f'<tr{" class=chosen" if one.chosen else ""}><td class="num">{one.K}</td>'
        f"<td>{_yes(one.divides)}</td><td>{_yes(one.packs)}</td><td>{_yes(one.in_range)}</td>"
        f'<td class="num">{words.percent(one.lane_use)}</td><td class="num">{one.loads}</td>'
        f"<td>{html.text(one.verdict)}</td></tr>"
        for one in found
    )
    heads = (
        '<th class="num">K</th><th>divides C</th><th>packs rows</th><th>128 to 1024</th>'
        '<th class="num">lanes used</th><th class="num">loads</th><th>verdict</th>'
    )
    return (
        '<div class="tv-scroll tv-tall"><table class="tv-table" aria-label="Block sizes">'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _yes(holds: bool) -> str:
    return "yes" if holds else '<span class="tv-muted">no</span>'


def no_finder(plan: BroadcastPlan) -> str:
    """Say why no block size is searched."""
    if plan.cinn.branch == "nchw":
        launch = plan.cinn.launch
        chosen = "" if launch is None else f" Here: {words.times(launch.block)}."
        note = (
            "The last axis is broadcast, so the tactic searches none: low itself up to 256, "
            f"else 256.{chosen}"
        )
        return html.empty("No search.", note)
    return html.empty("No search.", "C is known only at run time.")
