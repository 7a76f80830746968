"""Plans and runs as tables in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tileviz.runners.line_words import run_words
from tileviz.runners.words import gpu_lines, statement_of
from tileviz.studies.registry import study_of
from tileviz.studies.statement import Statement, TextTable
from tileviz.words import visible

_COLOURS = {"ok": "green", "attention": "yellow", "reject": "magenta", "error": "red"}


def show_plan(plan: Any, console: Console | None = None) -> None:
    """Print a plan of any study: its verdict first, then its tables."""
    out = console or wide_console()
    explain = study_of(plan.design).explain
    say(out, explain.verdict(plan))
    for described in explain.tables(plan):
        _table(out, described)


def show_run(run: Any, console: Console | None = None) -> None:
    """Print a run: correctness first, then predicted beside measured, line by line."""
    out = console or wide_console()
    document = run.to_json()
    where = f"On {document['runner']['name']}."
    if run.study == "kernel":
        _say_own(out, run, where)
    else:
        said = statement_of(document)
        say(out, Statement(said.state, said.sentence, f"{said.facts} {where}".strip()))
    _say_problems(out, document["problems"])
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
    for line in gpu_lines(document):
        out.print(Text(line))


def _say_own(out: Console, run: Any, where: str) -> None:
    """Say of a kernel without a reference what the Kernel lab says of it."""
    said = run_words(run)
    # Problems are printed whole below.
    facts = [] if run.problems else [said.facts]
    say(out, Statement(said.state, said.sentence, " ".join(filter(None, [*facts, where]))))


def show_trace(run: Any, counts: Sequence[Any] = (), console: Console | None = None) -> None:
    """Print what a user's own kernel did: problems first, then every source line that accesses."""
    out = console or wide_console()
    document = run.to_json()
    blocks = document["traced_blocks"]
    traced = "all blocks" if blocks == "all" else f"{len(blocks)} sampled blocks"
    _say_own(out, run, f"Traced {traced}." if document["accesses"] else "")
    _say_problems(out, document["problems"])
    if not document["accesses"]:
        return
    table = Table("line", "access", "text", box=None)
    for head in ("executed", "wavefronts", "sectors", "ideal", "excess", "bytes used", "moved"):
        table.add_column(head, justify="right")
    for entry in document["accesses"]:
        measured = entry["measured"]
        shared = entry["space"] == "shared"
        paid = measured["wavefronts"] if shared else measured["sectors"]
        table.add_row(
            str(entry["line"] or ""),
            Text(f"{entry['op']}.{entry['space']} {entry['bytes']} B", no_wrap=True),
            Text(visible(entry["text"][:48]), overflow="ellipsis", no_wrap=True),
            str(entry["executions"]),
            str(measured["wavefronts"]) if shared else "",
            "" if shared else str(measured["sectors"]),
            str(measured["ideal"]),
            str(paid - measured["ideal"]),
            str(entry["bytes_used"]),
            str(entry["bytes_moved"]),
        )
    out.print(table)
    _show_counts(out, counts)
    if document["resources"]:
        used = document["resources"]
        spills = f"{used['spill_bytes']} bytes spilled"
        memory = f"{used['shared_bytes']} bytes of shared memory"
        out.print(Text(f"{used['registers']} registers, {memory}, {spills}"))


def show_bandwidth(found: Any, design: Any, console: Console | None = None) -> None:
    """Print bandwidths: what is known of the design first, then every row with its source."""
    from tileviz.studies.broadcast.bandwidth_text import table, verdict

    out = console or wide_console()
    say(out, verdict(found.rows, design, found.not_measured))
    _table(out, table(found.rows))


def show_diagnosis(found: Any, console: Console | None = None) -> None:
    """Print what is installed, which runners work, and how to mend the rest."""
    out = console or wide_console()
    state = Statement("ok" if found.mode != "model only" else "attention", f"Mode: {found.mode}.")
    say(out, state)
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


def _table(out: Console, described: TextTable) -> None:
    table = Table(*described.columns, box=None, title_justify="left")
    for row in described.rows:
        table.add_row(*map(plain, row))
    out.print(Text(described.title, style="bold"))
    out.print(table)


def _show_counts(out: Console, counts: Sequence[Any]) -> None:
    """Print what the compiler made of each line's accesses."""
    if not counts:
        return
    known = counts[0].sass is not None
    heads = ["line", "access", "in the PTX"]
    table = Table(*heads, *(["in the machine code", "note"] if known else []), box=None)
    for row in counts:
        cells = [str(row.line or ""), f"{row.op}.{row.space}", _widths(row.ptx)]
        if known:
            cells += [_widths(row.sass), row.note]
        table.add_row(*cells)
    out.print(Text("instructions in the compiled text", style="bold"))
    out.print(table)


def _widths(pairs: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{count} x {width} B" for width, count in pairs) or "none"


def wide_console() -> Console:
    """Return a console as wide as the terminal, or wide enough for every table in a file."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=140)


def plain(words: str) -> Text:
    """Return words from outside as a terminal prints them: no markup, nothing that acts unseen.

    Example:
        >>> str(plain("[bold]\\x1b[31mx"))
        '[bold]␛[31mx'
    """
    return Text(visible(words))


def say(out: Console, said: Statement) -> None:
    """Print a verdict: its sign and sentence, then its facts."""
    sentence = (visible(f"{said.glyph} {said.sentence}"), f"bold {_COLOURS[said.state]}")
    out.print(Text.assemble(sentence, visible(f" {said.facts}") if said.facts else ""))


def _say_problems(out: Console, problems: list[dict[str, Any]]) -> None:
    for problem in problems:
        line = problem["line"]
        known = line is None or f"line {line}" in problem["message"]
        where = "" if known else f" (line {line})"
        out.print(plain(f"  {problem['kind']}: {problem['message']}{where}"))


def _cost(side: dict[str, Any] | None, space: str) -> str:
    if side is None:
        return ""
    if space == "shared":
        return f"{side['wavefronts']} wavefronts"
    return f"{side['sectors']} sectors"
