"""The Broadcast page's pieces of HTML: axes, loads, decision, block sizes, bandwidth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tileviz.export.links import page_url
from tileviz.figures.broadcast import CLASSES, LANES, STATES, STEPS
from tileviz.figures.tokens import IDLE, Theme
from tileviz.studies.broadcast.axes import Axis
from tileviz.studies.broadcast.bandwidth import PUBLISHED, Published, bandwidth_rows
from tileviz.studies.broadcast.blocksize import Candidate
from tileviz.studies.broadcast.cinn import REASONS, Step
from tileviz.studies.broadcast.design import BroadcastDesign, Shape, access_of, aligned
from tileviz.studies.broadcast.ours import NAMES, THREADS
from tileviz.studies.broadcast.picture import Picture
from tileviz.studies.broadcast.plan import BroadcastPlan
from tileviz.studies.broadcast.portion import Version
from tileviz.studies.broadcast.proof import Proof
from tileviz.studies.registry import make_design
from tileviz.ui import html

_LETTERS = {"nhwc": "NHWC", "nchw": "NCHW"}
_WHO: dict[Version, str] = {
    "before": "General tactic, before",
    "cinn": "CINN tile broadcast",
    "ours": "Ours",
}
_BAR_REM = 5.5
# Above this rank a column has room for one short word.
_ROOMY_RANK = 5


def style() -> str:
    """Return the style that only this page needs."""
    form = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    return f"<style>{form}</style>"


# -- axes --------------------------------------------------------------------------------------


def axis_names(plan: BroadcastPlan) -> tuple[str, ...]:
    """Return what the axes are called: letters at rank 4, by the branch that is asked.

    Example:
        >>> from tileviz.studies.broadcast.plan import plan
        >>> from tileviz.studies.registry import preset
        >>> axis_names(plan(preset("broadcast-nchw").design))
        ('N', 'C', 'H', 'W')
    """
    rank = len(plan.design.out)
    return tuple(_LETTERS[plan.cinn.branch]) if rank == 4 else tuple(map(str, range(rank)))


def axes(plan: BroadcastPlan) -> str:
    """Return the classification strip, every operand right-aligned below it."""
    names = axis_names(plan)
    head = '<span class="who">output</span>' + "".join(
        _axis(axis, name, plan) for axis, name in zip(plan.axes, names, strict=True)
    )
    rows = "".join(_operand(who, shape, plan.design) for who, shape in _distinct(plan.design))
    css = "tv-axes" if len(names) <= _ROOMY_RANK else "tv-axes dense"
    return (
        f'<div class="tv-scroll"><div class="{css}" style="--rank:{len(names)}" role="group" '
        f'aria-label="Axes of the output">{head}{_summary(plan, names)}{rows}</div></div>'
    )


def _axis(axis: Axis, name: str, plan: BroadcastPlan) -> str:
    group, roomy = axis.group, len(plan.design.out) <= _ROOMY_RANK
    if group == "preserved":
        word = "unit" if axis.extent == 1 else "preserved" if roomy else "kept"
    elif plan.cinn.branch == "nhwc":
        word = "broadcast" if roomy else "bcast"
    else:
        word = f"broadcast, {group}" if roomy else group
    css = "kept" if group == "preserved" else "spread"
    extent = "?" if axis.extent < 0 else f"{axis.extent:,}"
    return (
        f'<div class="axis {css}"><span>{html.text(name)}</span>'
        f"<strong>{extent}</strong><span>{word}</span></div>"
    )


def _distinct(design: BroadcastDesign) -> list[tuple[str, Shape]]:
    """Return each shape once, with the names of all operands that have it."""
    found: dict[Shape, list[str]] = {}
    for name, shape in zip(design.names, design.shapes, strict=True):
        found.setdefault(shape, []).append(name)
    return [(", ".join(names), shape) for shape, names in found.items()]


def _operand(who: str, shape: Shape, design: BroadcastDesign) -> str:
    access = access_of(shape, design.out)
    rank = len(design.out)
    missing = rank - len(shape)
    cells = []
    for at, (extent, whole) in enumerate(zip(aligned(shape, rank), design.out, strict=True)):
        shown = "?" if extent < 0 else f"{extent:,}"
        times = "× ?" if whole < 0 else f"× {whole:,}"
        if access in ("transpose", "reduce"):
            css, body = "odd", shown
        elif extent == 1 != whole:
            css = "spread missing" if at < missing else "spread"
            body = f"{'–' if at < missing else shown} <em>{times}</em>"
        else:
            css, body = "kept", "–" if at < missing else shown
        cells.append(f'<div class="part {css}">{body}</div>')
    note = "" if access in ("broadcast", None) else f"read as {access}"
    label = f'<span class="who" title="{html.text(who)}">{html.text(who)}</span>'
    return f'{label}{"".join(cells)}<span class="sum tv-muted">{note}</span>'


def _summary(plan: BroadcastPlan, names: Sequence[str]) -> str:
    groups = plan.cinn.groups

    def product(chosen: tuple[int, ...]) -> str:
        return "·".join(names[axis] for axis in chosen)

    def size(chosen: tuple[int, ...]) -> str:
        found = groups.size(chosen)
        return "?" if found < 0 else f"{found:,}"

    if not groups.broadcast:
        return '<div class="sum"><span>no axis is broadcast in every operand</span></div>'
    if plan.cinn.branch == "nhwc":
        kept = product(groups.preserved)
        return (
            f'<div class="sum"><span>B = {product(groups.broadcast)}</span>'
            f"<strong>{size(groups.broadcast)}</strong><span>rows of {kept} values</span></div>"
        )
    return (
        f'<div class="sum"><span>P = {product(groups.preserved) or "1"}</span>'
        f"<strong>{size(groups.preserved)}</strong>"
        f"<span>values, each {size(groups.high)} × {size(groups.low)}</span></div>"
    )


# -- loads -------------------------------------------------------------------------------------


def loads(plan: BroadcastPlan) -> str:
    """Return the three plans: block, grid, vector, lanes used, loads a thread, outputs a load."""
    widest = max(_load_counts(plan), default=1)
    body = _before_row(plan, widest) + _cinn_row(plan, widest) + _ours_row(plan, widest)
    names = ("plan", "block", "grid", "vector", "lanes used", "outputs a load", "loads a thread")
    heads = "".join(
        f"<th{'' if not at else ' class=num'}>{name}</th>" for at, name in enumerate(names)
    )
    return (
        '<div class="tv-scroll"><table class="tv-table tv-loads" aria-label="Loads of one value">'
        f"<thead><tr>{heads}<th></th></tr></thead><tbody>{body}</tbody></table></div>"
    )


def _load_counts(plan: BroadcastPlan) -> list[int]:
    found = [plan.loads_before, plan.loads_after]
    found.append(None if plan.ours is None else plan.ours.loads_per_thread)
    return [count for count in found if count]


def _row(version: Version, name: str, cells: Sequence[str], count: int | None, widest: int) -> str:
    best = count is not None and count <= 1
    css = "" if best else ' class="above"'
    shown = "none" if count is None else f"<span{css}>{count}</span>"
    bar = ""
    if count:
        width = _BAR_REM * count / widest
        bar = f'<i class="bar {version}" style="width:{width:.2f}rem"></i>'
    numbers = "".join(f'<td class="num">{cell}</td>' for cell in cells)
    return f'<tr><td>{html.text(name)}</td>{numbers}<td class="num">{shown}</td><td>{bar}</td></tr>'


def _refused(name: str, why: str, glyph: str) -> str:
    return (
        f'<tr class="quiet"><td>{html.text(name)}</td>'
        f'<td colspan="7">{html.glyph(glyph)} {html.text(why)}</td></tr>'
    )


def _before_row(plan: BroadcastPlan, widest: int) -> str:
    tactic, count = plan.before, plan.loads_before
    if tactic is None:
        return _refused(_WHO["before"], plan.ours_reason or "", "neutral")
    use = plan.design.elements / (tactic.grid * tactic.threads * tactic.serial)
    cells = (
        str(tactic.threads),
        f"{tactic.grid:,}",
        "1",
        _percent(use),
        _ratio(tactic.serial, count),
    )
    return _row("before", _WHO["before"], cells, count, widest)


def _cinn_row(plan: BroadcastPlan, widest: int) -> str:
    launch, name = plan.cinn.launch, _WHO["cinn"]
    if launch is None:
        return _refused(name, f"does not apply: {REASONS[plan.cinn.reason or '']}", "reject")
    grid = _times(launch.grid)
    if plan.cinn.launchable is False:
        return _refused(name, f"grid {grid} cannot be launched: y over 65,535", "attention")
    use = plan.cinn.lane_use
    cells = (
        _times(launch.block),
        html.text(grid),
        "1",
        "" if use is None else _percent(use),
        _ratio(launch.serial, plan.loads_after),
    )
    return _row("cinn", name, cells, plan.loads_after, widest)


def _ours_row(plan: BroadcastPlan, widest: int) -> str:
    ours = plan.ours
    if ours is None:
        return _refused(_WHO["ours"], plan.ours_reason or "", "reject")
    use = ours.vectors / (ours.grid * THREADS * ours.steps)
    count = ours.loads_per_thread
    cells = (
        str(THREADS),
        f"{ours.grid:,}",
        str(ours.vector),
        _percent(use),
        _ratio(ours.steps * ours.vector, count),
    )
    name = f"Ours, {ours.kind.replace('_', ' ')}"
    return _row("ours", name, cells, count or None, widest)


def _ratio(outputs: int, count: int | None) -> str:
    return f"{outputs / count:g}" if count else ""


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _times(extents: Sequence[int | str]) -> str:
    kept = extents[:1] if extents[1] == 1 else extents
    return " × ".join(f"{extent:,}" if isinstance(extent, int) else extent for extent in kept)


def proof(found: Proof) -> str:
    """Return why our plan covers every element once, and loads as often as it says."""
    state = "ok" if found.holds else "error"
    rows = (("loads", found.loads), ("coverage", found.coverage))
    body = "".join(
        f"<li>{html.glyph(state)}<span>{html.text(name)}</span><code>{html.text(text)}</code></li>"
        for name, text in rows
    )
    return f'<ul class="tv-proof" aria-label="Proof of our plan">{body}</ul>'


# -- decision ----------------------------------------------------------------------------------


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


# -- block sizes -------------------------------------------------------------------------------


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
        f"<strong>{one.K}</strong><span>{sign} {_percent(one.lane_use)}</span></div>"
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
        f'<td class="num">{_percent(one.lane_use)}</td><td class="num">{one.loads}</td>'
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
        chosen = "" if launch is None else f" Here: {_times(launch.block)}."
        note = (
            "The last axis is broadcast, so the tactic searches none: low itself up to 256, "
            f"else 256.{chosen}"
        )
        return html.empty("No search.", note)
    return html.empty("No search.", "C is known only at run time.")


# -- one block ---------------------------------------------------------------------------------


def version_name(plan: BroadcastPlan, version: Version) -> str:
    """Return what the page calls a version of a plan."""
    if version == "ours" and plan.ours is not None:
        return f"Ours · {NAMES[plan.ours.kind]}"
    if version == "cinn":
        kind = "declines" if plan.cinn.launch is None else plan.cinn.launch.kind
        return f"CINN · {kind}"
    return "Before · general tactic" if version == "before" else "Ours"


def short_launch(plan: BroadcastPlan, version: Version) -> str:
    """Return block and grid of a version in a few words, "" where it has none."""
    launch = plan.cinn.launch
    if version == "ours":
        return "" if plan.ours is None else f"block {THREADS}, grid {plan.ours.grid:,}"
    if version == "cinn" and launch is not None:
        return f"block {_times(launch.block)}, grid {_times(launch.grid)}"
    tactic = plan.before
    return "" if tactic is None else f"block {tactic.threads}, grid {tactic.grid:,}"


def block_title(plan: BroadcastPlan, version: Version, counts: str, where: str) -> str:
    """Return the title above one block."""
    return html.phase_title(version_name(plan, version), counts, None, where)


def where(picture: Picture, warp: int) -> str:
    """Return which part of which block is drawn."""
    x, y = picture.block
    block = f"block {x:,}" if not y else f"block ({x:,}, {y:,})"
    shown = min(len(picture.element), STEPS)
    steps = f"{picture.steps} step{'s' * (picture.steps != 1)}"
    if shown < picture.steps:
        steps = f"first {shown} of {picture.steps:,} steps"
    wide = "" if picture.width == 1 else f", first of {picture.width} values"
    return f"{block}, warp {warp}, {steps}{wide}"


def state_legend(
    operand: str, classes: Sequence[NDArray[np.int8]], theme: Theme, *, framed: bool
) -> str:
    """Return what colours of the blocks mean; only what occurs."""
    occur = set().union(*(set(part.ravel().tolist()) for part in classes))
    items = "".join(
        f'<span><i style="background:{theme.passes[found]}"></i>{name}</span>'
        for found, name in zip(CLASSES, STATES, strict=True)
        if found in occur
    )
    if IDLE in occur:
        items += f'<span><i style="background:{theme.idle}"></i>no element</span>'
    if framed:
        items += (
            f'<span><i style="box-shadow:inset 0 0 0 2px {theme.strong}"></i>'
            "framed where few load again</span>"
        )
    note = f"columns: lanes 0–{LANES - 1}, rows: a thread's steps, cells: element of {operand}"
    return (
        f'<div class="tv-legend tv-map-legend"><strong>The value is</strong>{items}'
        f'<span class="tv-right">{html.text(note)}</span></div>'
    )


# -- CUDA --------------------------------------------------------------------------------------


def line_marks(sides: Mapping[str, Sequence[int]]) -> str:
    """Return the style that tints some lines of the texts beside each other.

    The code element has no element for a line, so a line is a stripe of its background.

    Example:
        >>> line_marks({"is": (3,)}).partition("background: ")[2]
        'linear-gradient(var(--changed-is) 0 0) 0 2lh / 100% 1lh no-repeat; }</style>'
    """
    rules = []
    for side, lines in sides.items():
        ground = f"linear-gradient(var(--changed-{side}) 0 0)"
        stripes = ", ".join(
            f"{ground} 0 {start - 1}lh / 100% {count}lh no-repeat" for start, count in _runs(lines)
        )
        if stripes:
            rules.append(f".st-key-broadcast_code_{side} pre code {{ background: {stripes}; }}")
    return f"<style>{' '.join(rules)}</style>"


def _runs(lines: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive line numbers as (first, count)."""
    found: list[tuple[int, int]] = []
    for line in lines:
        if found and line == sum(found[-1]):
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((line, 1))
    return found


def changed(left: Sequence[int], right: Sequence[int]) -> str:
    """Return how many lines differ, in words.

    Example:
        >>> changed((3, 4), (3,))
        'Tinted: 2 lines only on the left, 1 only on the right.'
    """
    return (
        f"Tinted: {len(left)} line{'s' * (len(left) != 1)} only on the left, "
        f"{len(right)} only on the right."
    )


def about(plan: BroadcastPlan, version: Version) -> str:
    """Return what one version does, in a sentence or two."""
    if version == "ours" and plan.proof is not None:
        words = f"{plan.proof.loads}. {plan.proof.coverage}."
    elif version == "cinn" and plan.cinn.launch is not None:
        words = (
            "The thread's position in the broadcast dimension does not change from step to step, "
            "so the value is loaded once, before the loop."
        )
    elif version == "cinn":
        words = "The tactic declines, so this is the general kernel under its own name."
    else:
        words = (
            "Each step moves a whole block ahead in the flat output, so the operand's index is "
            "computed, and the value loaded, in every step."
        )
    return f'<p class="tv-body">{html.text(html.sentence(words))}</p>'


# -- bandwidth ---------------------------------------------------------------------------------


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
