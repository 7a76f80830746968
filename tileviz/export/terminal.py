"""Plans and runs as tables in a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tileviz.studies.registry import study_of
from tileviz.studies.statement import Statement

_COLOURS = {"ok": "green", "attention": "yellow", "reject": "magenta", "error": "red"}


def show_plan(plan: Any, console: Console | None = None) -> None:
    """Print a plan of any study: its verdict first, then its tables."""
    out = console or Console(highlight=False)
    explain = study_of(plan.design).explain
    _say(out, explain.verdict(plan))
    for described in explain.tables(plan):
        table = Table(*described.columns, box=None, title_justify="left")
        for row in described.rows:
            table.add_row(*map(Text, row))
        out.print(Text(described.title, style="bold"))
        out.print(table)


def show_run(run: Any, console: Console | None = None) -> None:
    """Print a run: correctness first, then predicted beside measured, line by line."""
    out = console or Console(highlight=False)
    document = run.to_json()
    where = f"On {document['runner']['name']}."
    if document["verified"]:
        _say(out, Statement("ok", "Output correct, every element compared.", where))
    else:
        _say(out, Statement("error", "Not verified.", where))
        wrong = document["mismatch"]
        if wrong:
            out.print(Text(f"  at {wrong['index']}: want {wrong['want']}, got {wrong['got']}"))
    for problem in document["problems"]:
        out.print(Text(f"  {problem['kind']}: {problem['message']}"))
    table = Table("line", "op", "executions", "predicted", "measured", "ideal", "note", box=None)
    for entry in document["accesses"]:
        measured = entry["measured"]
        table.add_row(
            str(entry["line"]),
            f"{entry['op']}.{entry['space']} {entry['bytes']} B",
            str(entry["executions"]),
            _cost(entry["predicted"], entry["space"]),
            _cost(measured, entry["space"]),
            str(measured["ideal"]) if measured else "",
            entry["note"] or "",
        )
    out.print(table)


def show_diagnosis(found: Any, console: Console | None = None) -> None:
    """Print what is installed, which runners work, and how to mend the rest."""
    out = console or Console(highlight=False)
    state = Statement("ok" if found.mode != "model only" else "attention", f"Mode: {found.mode}.")
    _say(out, state)
    out.print(Text(f"Python {found.python} on {found.system}"))
    runners = Table("runner", "works", "why", box=None)
    for runner in found.runners:
        runners.add_row(runner.name, "yes" if runner.available else "no", Text(runner.reason))
    out.print(runners)
    packages = Table("package", "version", "for", box=None)
    for package in found.packages:
        packages.add_row(package.name, package.version or "missing", package.purpose)
    out.print(packages)
    for fix in found.fixes:
        out.print(Text(f"to fix: {fix}"))


def _say(out: Console, said: Statement) -> None:
    sentence = (f"{said.glyph} {said.sentence}", f"bold {_COLOURS[said.state]}")
    out.print(Text.assemble(sentence, f" {said.facts}" if said.facts else ""))


def _cost(side: dict[str, Any] | None, space: str) -> str:
    if side is None:
        return ""
    if space == "shared":
        return f"{side['wavefronts']} wavefronts"
    return f"{side['sectors']} sectors"
