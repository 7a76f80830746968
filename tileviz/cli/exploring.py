"""Commands that try many variants: search and sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tileviz.cli.shell import (
    OK,
    DesignArgument,
    JsonOption,
    app,
    finish,
    print_json,
    progress,
    read_design,
)
from tileviz.errors import DesignError


@app.command()
def search(design: DesignArgument, as_json: JsonOption = False) -> None:
    """Find the smallest swizzle or padding that frees an access design, with its proof."""
    from tileviz.studies.access.design import AccessDesign
    from tileviz.studies.access.search import search as search_for

    def work() -> int:
        of = read_design(design)
        if not isinstance(of, AccessDesign):
            raise DesignError("study", "a search takes an access design", of.study)
        found = search_for(of)
        if as_json:
            print_json(found.to_json())
        else:
            from tileviz.export.terminal import show_plan

            show_plan(found)
        return OK

    finish(work, as_json)


@app.command()
def sweep(
    design: DesignArgument,
    over: Annotated[
        list[str], typer.Option("--over", help="A field to vary: offset=1..16, direction=zn,nz.")
    ],
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="A figure to show; may be repeated.")
    ] = None,
    csv: Annotated[str, typer.Option("--csv", help="Also write the rows to this file.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Vary fields of a design and show a figure of every combination."""

    def work() -> int:
        from tileviz.studies.sweep import count, parse_over
        from tileviz.studies.sweep import sweep as follow

        overs = [parse_over(text) for text in over]
        rows = follow(read_design(design).document(), overs, metric or ())
        done = list(progress(rows, total=count(overs)))
        if csv:
            _write_csv(csv, done)
        if as_json:
            print_json({"rows": done})
        else:
            _print_rows(done)
        return OK

    finish(work, as_json)


def _write_csv(path: str, rows: list[dict[str, Any]]) -> None:
    from tileviz.studies.sweep import csv_text

    try:
        Path(path).write_text(csv_text(rows), encoding="utf-8", newline="\n")
    except OSError as error:
        raise DesignError("csv", f"cannot be written: {error}", path[:120]) from None


def _print_rows(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tileviz.studies.sweep import columns

    names = columns(rows)
    table = Table(*names, box=None)
    for row in rows:
        values = (row.get(name) for name in names)
        table.add_row(*(Text(f"{v:.6g}" if isinstance(v, float) else str(v)) for v in values))
    Console(highlight=False).print(table)
