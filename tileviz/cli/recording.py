"""Commands that time this machine's GPU: record and bandwidth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tileviz.cli.shell import (
    OK,
    DesignArgument,
    JsonOption,
    OnOption,
    SeedOption,
    app,
    finish,
    print_json,
    read_design,
)
from tileviz.errors import DesignError


@app.command()
def record(
    out: Annotated[Path, typer.Option(help="Folder of the recordings.")],
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Run every preset on this machine's GPU and record results, times and counts."""

    def work() -> int:
        from tileviz.runners.record import record_presets

        path = record_presets(out, seed=seed, say=lambda line: typer.echo(line, err=True))
        if as_json:
            print_json({"file": str(path)})
        else:
            typer.echo(str(path))
        return OK

    finish(work, as_json)


@app.command()
def bandwidth(
    design: DesignArgument,
    on: OnOption = "auto",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Set a broadcast design's bandwidths, timed on a GPU, beside the published ones."""

    def work() -> int:
        from tileviz import api
        from tileviz.studies.errors import NotRunnable

        of = read_design(design)
        try:
            found = api.bandwidth(of, on=on, seed=seed, say=lambda line: typer.echo(line, err=True))
        except NotRunnable as error:
            raise DesignError("design", f"cannot run: {error}", None) from None
        if as_json:
            print_json(found.to_json())
        else:
            from tileviz.export.terminal import show_bandwidth

            show_bandwidth(found, of)
        return OK

    finish(work, as_json)
