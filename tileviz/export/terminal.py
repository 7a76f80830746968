"""Plans and runs as tables in a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tileviz.studies.access.plan import AccessPlan
from tileviz.studies.layout.plan import LayoutPlan
from tileviz.studies.permute.plan import PermutePlan

_COLOURS = {"ok": "green", "attention": "yellow", "reject": "magenta", "error": "red"}


def show_plan(plan: Any, console: Console | None = None) -> None:
    """Print a plan: its verdict first, then its table."""
    out = console or Console(highlight=False)
    if isinstance(plan, PermutePlan):
        _show_permute(plan, out)
    elif isinstance(plan, AccessPlan):
        _show_access(plan, out)
    elif isinstance(plan, LayoutPlan):
        _show_layout(plan, out)


def _say(out: Console, state: str, glyph: str, sentence: str, facts: str = "") -> None:
    out.print(Text.assemble((f"{glyph} {sentence}", f"bold {_COLOURS[state]}"), f" {facts}"))


def _show_permute(plan: PermutePlan, out: Console) -> None:
    from tileviz.studies.permute.explain import cards, k_rows, unit, verdict

    said = verdict(plan)
    _say(out, said.state, said.glyph, said.sentence, said.facts)
    for card in cards(plan):
        out.print(Text(f"  {card.who}: {card.outcome}. {card.evidence}"))
    rows = k_rows(plan)
    if not rows:
        return
    table = Table("k", f"read {unit(plan)}", f"write {unit(plan)}", "result", box=None)
    for row in rows:
        label = f"{row.label} ←" if row.chosen else row.label
        table.add_row(label, str(row.read), str(row.write), row.result)
    out.print(table)


def _show_access(plan: AccessPlan, out: Console) -> None:
    verdict = plan.verdict
    if verdict.wavefronts is not None:
        sentence = f"{verdict.wavefronts} wavefronts, ideal {verdict.ideal}"
        sentence += f", {verdict.n_way}-way." if verdict.excess else ", conflict-free."
    else:
        sentence = f"{verdict.sectors} sectors in {verdict.lines} lines, ideal {verdict.ideal}."
    state, glyph = ("attention", "▲") if verdict.excess else ("ok", "✓")
    _say(out, state, glyph, sentence, f"Rule {verdict.evidence.source}.")


def _show_layout(plan: LayoutPlan, out: Console) -> None:
    if plan.result is None:
        _say(out, "reject", "⊘", "No result.", plan.reason or "")
        return
    out.print(Text(str(plan.result)))
    if plan.value is not None:
        out.print(Text(", ".join(f"{axis}: {span}" for axis, span in plan.value.items())))
    if plan.table is not None:
        for axis, places in plan.table.items():
            shown = " ".join(map(str, places[:64].tolist()))
            out.print(Text(f"{axis}: {shown}{' ...' if len(places) > 64 else ''}"))


def show_run(run: Any, console: Console | None = None) -> None:
    """Print a run: correctness first, then predicted beside measured, line by line."""
    out = console or Console(highlight=False)
    document = run.to_json()
    runner = document["runner"]
    if document["verified"]:
        _say(out, "ok", "✓", "Output correct, every element compared.", f"On {runner['name']}.")
    else:
        _say(out, "error", "✕", "Not verified.", f"On {runner['name']}.")
        if document["mismatch"]:
            wrong = document["mismatch"]
            out.print(Text(f"  at {wrong['index']}: want {wrong['want']}, got {wrong['got']}"))
    for problem in document["problems"]:
        out.print(Text(f"  {problem['kind']}: {problem['message']}"))
    table = Table("line", "op", "executions", "predicted", "measured", "ideal", "note", box=None)
    for entry in document["accesses"]:
        op = f"{entry['op']}.{entry['space']} {entry['bytes']} B"
        measured = entry["measured"]
        table.add_row(
            str(entry["line"]),
            op,
            str(entry["executions"]),
            _cost(entry["predicted"], entry["space"]),
            _cost(measured, entry["space"]),
            str(measured["ideal"]) if measured else "",
            entry["note"] or "",
        )
    out.print(table)


def _cost(side: dict[str, Any] | None, space: str) -> str:
    if side is None:
        return ""
    if space == "shared":
        return f"{side['wavefronts']} wavefronts"
    return f"{side['sectors']} sectors"
