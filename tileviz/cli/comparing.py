"""The command that compares two designs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tileviz.cli.shell import (
    FAILED,
    OK,
    JsonOption,
    OnOption,
    app,
    finish,
    print_json,
    read_design,
)
from tileviz.errors import DesignError

if TYPE_CHECKING:
    from tileviz.comparing.comparison import Comparison
    from tileviz.comparing.measures import Row
    from tileviz.comparing.report import Runs
    from tileviz.comparing.running import Both

SideArgument = Annotated[
    str, typer.Argument(help="A file, a link, inline JSON, or a preset name; - for one of them.")
]


@app.command()
def compare(
    left: SideArgument,
    right: SideArgument,
    as_json: JsonOption = False,
    html: Annotated[str, typer.Option("--html", help="Also write a report to this file.")] = "",
    left_name: Annotated[str, typer.Option(help="What the left design is called.")] = "",
    right_name: Annotated[str, typer.Option(help="What the right design is called.")] = "",
    run: Annotated[
        bool, typer.Option("--run", help="Also run both and compare the counts.")
    ] = False,
    on: OnOption = "auto",
    note: Annotated[str, typer.Option(help="What is worth saying about both.")] = "",
) -> None:
    """Compare two designs of one study: which is better, by how much, and what differs."""

    def work() -> int:
        if run:
            from tileviz.runners import warm

            warm(on)  # before anything heavy: the worker starts while the designs are planned
        from tileviz.comparing import compare as compare_designs
        from tileviz.comparing.pairs import MAX_PAIR_LINK, Pair
        from tileviz.comparing.running import run_both

        if left == right == "-":
            raise DesignError("right", "standard input gives one design only", None)
        one, two = _named("left", left), _named("right", right)
        pair = Pair(one, two, left_name, right_name, note)
        found = compare_designs(one, two, left_name=left_name, right_name=right_name, note=note)
        runs = run_both(found, on) if run else None
        if html:
            _write_report(found, html, (None, None) if runs is None else runs.sides)
        if as_json:
            link = pair.link()
            document = {**found.to_json(), "link": link if len(link) <= MAX_PAIR_LINK else None}
            print_json(document if runs is None else {**document, "measured": runs.to_json(found)})
        else:
            _print(found)
            if runs is not None:
                _print_runs(found, runs)
        return FAILED if runs is not None and runs.failed else OK

    finish(work, as_json)


def _named(side: str, text: str) -> Any:
    try:
        return read_design(text)
    except DesignError as error:
        raise error.within(side) from None


def _write_report(found: Comparison, path: str, runs: Runs) -> None:
    from tileviz.comparing.report import report_of

    try:
        Path(path).write_text(report_of(found, runs), encoding="utf-8")
    except OSError as error:
        raise DesignError("html", f"cannot be written: {error}", path[:120]) from None


def _print(found: Comparison) -> None:
    """Print the verdict, then what differs, then every number."""
    from rich.table import Table

    from tileviz.export.terminal import plain, say, wide_console

    out = wide_console()
    say(out, found.statement)
    for name, side in zip(found.names, (found.left, found.right), strict=True):
        out.print(plain(f"{name}: {side.statement.sentence}"))
    inputs = Table("input", box=None)
    for name in (*found.names, ""):
        inputs.add_column(plain(name))
    for field in found.fields:
        inputs.add_row(*map(plain, (field.name, *field.texts, "=" if field.same else "≠")))
    out.print(inputs)
    out.print(_numbers(found.rows, found.names))
    if found.note:
        out.print(plain(found.note))


def _numbers(rows: Sequence[Row], names: tuple[str, str]) -> Any:
    """Return a table of numbers: both values, the difference, the better side."""
    from rich.table import Table

    from tileviz.export.terminal import plain

    table = Table("number", box=None)
    for name in names:
        table.add_column(plain(name), justify="right")
    table.add_column("difference", justify="right")
    table.add_column("better")
    for row in rows:
        texts = [row.measure.label, *map(row.measure.text, (row.left, row.right))]
        table.add_row(*map(plain, (*texts, row.mark, row.better or "")))
    return table


def _print_runs(found: Comparison, runs: Both) -> None:
    """Print what was measured: the verdict of both, then of each, then every number."""
    from tileviz.export.terminal import plain, say, wide_console

    out = wide_console()
    say(out, runs.statement(found))
    for name, side in zip(found.names, runs.sides, strict=True):
        said = side if isinstance(side, str) else side.statement.sentence
        out.print(plain(f"{name}: {said}"))
        for line in () if isinstance(side, str) else side.lines:
            out.print(plain(f"  {line}"))
    rows = runs.rows(found)
    if rows:
        out.print(_numbers(rows, found.names))
