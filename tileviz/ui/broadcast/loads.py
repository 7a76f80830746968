"""How often each plan loads a broadcast value, and the proof of ours."""

from __future__ import annotations

from collections.abc import Sequence

from tileviz.studies.broadcast.cinn import REASONS
from tileviz.studies.broadcast.ours import THREADS
from tileviz.studies.broadcast.plan import BroadcastPlan
from tileviz.studies.broadcast.portion import Version
from tileviz.studies.broadcast.proof import Proof
from tileviz.ui import html
from tileviz.ui.broadcast import words

_WHO: dict[Version, str] = {
    "before": "General tactic, before",
    "cinn": "CINN tile broadcast",
    "ours": "Ours",
}
_BAR_REM = 5.5


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
        words.percent(use),
        _ratio(tactic.serial, count),
    )
    return _row("before", _WHO["before"], cells, count, widest)


def _cinn_row(plan: BroadcastPlan, widest: int) -> str:
    launch, name = plan.cinn.launch, _WHO["cinn"]
    if launch is None:
        return _refused(name, f"does not apply: {REASONS[plan.cinn.reason or '']}", "reject")
    grid = words.times(launch.grid)
    if plan.cinn.launchable is False:
        return _refused(name, f"grid {grid} cannot be launched: y over 65,535", "attention")
    use = plan.cinn.lane_use
    cells = (
        words.times(launch.block),
        html.text(grid),
        "1",
        "" if use is None else words.percent(use),
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
        words.percent(use),
        _ratio(ours.steps * ours.vector, count),
    )
    name = f"Ours, {ours.kind.replace('_', ' ')}"
    return _row("ours", name, cells, count or None, widest)


def _ratio(outputs: int, count: int | None) -> str:
    return f"{outputs / count:g}" if count else ""


def proof(found: Proof) -> str:
    """Return why our plan covers every element once, and loads as often as it says."""
    state = "ok" if found.holds else "error"
    rows = (("loads", found.loads), ("coverage", found.coverage))
    body = "".join(
        f"<li>{html.glyph(state)}<span>{html.text(name)}</span><code>{html.text(text)}</code></li>"
        for name, text in rows
    )
    return f'<ul class="tv-proof" aria-label="Proof of our plan">{body}</ul>'
