"""The command that compares two designs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tileviz.cli.shell import (
    OK,
    JsonOption,
    app,
    finish,
    print_json,
    read_design,
)
from tileviz.errors import DesignError

if TYPE_CHECKING:
    from tileviz.comparing.comparison import Comparison

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
    note: Annotated[str, typer.Option(help="What is worth saying about both.")] = "",
) -> None:
    """Compare two designs of one study: which is better, by how much, and what differs."""

    def work() -> int:
        from tileviz.comparing import compare as compare_designs
        from tileviz.comparing.pairs import MAX_PAIR_LINK, Pair

        if left == right == "-":
            raise DesignError("right", "standard input gives one design only", None)
        one, two = _named("left", left), _named("right", right)
        pair = Pair(one, two, left_name, right_name, note)
        found = compare_designs(one, two, left_name=left_name, right_name=right_name, note=note)
        if html:
            _write_report(found, html)
        if as_json:
            link = pair.link()
            print_json({**found.to_json(), "link": link if len(link) <= MAX_PAIR_LINK else None})
        else:
            _print(found)
        return OK

    finish(work, as_json)


def _named(side: str, text: str) -> Any:
    try:
        return read_design(text)
    except DesignError as error:
        raise error.within(side) from None


def _write_report(found: Comparison, path: str) -> None:
    from tileviz.comparing.report import report_of

    try:
        Path(path).write_text(report_of(found), encoding="utf-8")
    except OSError as error:
        raise DesignError("html", f"cannot be written: {error}", path[:120]) from None


def _print(found: Comparison) -> None:
    """Print the verdict, then what differs, then every number."""
    from rich.table import Table
    from rich.text import Text

    from tileviz.export.terminal import say, wide_console

    out = wide_console()
    say(out, found.statement)
    for name, side in zip(found.names, (found.left, found.right), strict=True):
        out.print(Text.assemble((f"{name}: ", "bold"), side.statement.sentence))
    inputs = Table("input", box=None)
    for name in (*found.names, ""):
        inputs.add_column(Text(name))
    for field in found.fields:
        inputs.add_row(*map(Text, (field.name, *field.texts, "=" if field.same else "≠")))
    out.print(inputs)
    numbers = Table("number", box=None)
    for name in found.names:
        numbers.add_column(Text(name), justify="right")
    numbers.add_column("difference", justify="right")
    numbers.add_column("better")
    for row in found.rows:
        texts = [row.measure.label, *map(row.measure.text, (row.left, row.right))]
        numbers.add_row(*map(Text, (*texts, row.difference or "=", row.better or "")))
    out.print(numbers)
    if found.note:
        out.print(Text(found.note))
