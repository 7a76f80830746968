"""The command that records this machine's GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tileviz.cli.shell import OK, JsonOption, SeedOption, app, finish, print_json


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
