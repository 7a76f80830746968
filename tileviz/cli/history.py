"""The command that lists what was run in this installation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tileviz.cli.shell import OK, JsonOption, app, finish, print_json
from tileviz.errors import DesignError

if TYPE_CHECKING:
    from tileviz.runners.store_entry import KeptRun, Wanted
    from tileviz.runners.store_listing import History, Listing

MAX_LIMIT = 10_000


@app.command()
def runs(
    study: Annotated[str, typer.Option(help="Only runs of this study.")] = "",
    find: Annotated[
        str, typer.Option(help="Words that occur in design, verdict, name, note or device.")
    ] = "",
    runner: Annotated[str, typer.Option(help="emulator or gpu.")] = "",
    outcome: Annotated[str, typer.Option(help="correct, wrong, or unchecked.")] = "",
    since: Annotated[str, typer.Option(help="First day, such as 2026-11-29, in UTC.")] = "",
    until: Annotated[str, typer.Option(help="Last day.")] = "",
    limit: Annotated[int, typer.Option(help="How many to list, newest first.")] = 20,
    export: Annotated[
        str, typer.Option(help="Write all that is found to this file, as JSON lines; - for stdout.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """List what was run in this installation and what was recorded on a GPU, newest first."""

    def work() -> int:
        from tileviz.runners.store_entry import Wanted
        from tileviz.runners.store_file import StoreUnavailable
        from tileviz.runners.store_listing import History

        wanted = Wanted.checked(
            study=study, text=find, runner=runner, outcome=outcome, since=since, until=until
        )
        if not 1 <= limit <= MAX_LIMIT:
            raise DesignError("limit", f"must be 1 to {MAX_LIMIT}", limit)
        history = History.here()
        try:
            if export:
                _export(history, wanted, export)
                return OK
        except StoreUnavailable as error:
            raise DesignError("history", f"cannot be read: {error}", None) from None
        _list(history.listing(wanted, limit=limit), history, as_json, wanted != Wanted())
        return OK

    finish(work, as_json)


def _list(found: Listing, history: History, as_json: bool, sought: bool) -> None:
    store = history.store
    if as_json:
        # What was measured is in an export: a list of many runs stays short.
        rows = [{k: v for k, v in run.to_json().items() if k != "run"} for run in found.rows]
        document = {"runs": rows, "total": found.total, "notes": list(found.notes)}
        print_json({**document, "folder": str(store.folder), "bytes": store.size()})
        return
    for note in found.notes:
        sys.stderr.write(f"warning: {note}\n")
    if not found.total:
        first = "; a first one is made by: tileviz run permute-demo"
        sys.stdout.write(f"No run was found{'' if sought else first}\n")
        return
    _table(found.rows)
    where = f"in {store.folder}" if store.size() else "recorded with this version"
    sys.stdout.write(f"{len(found.rows)} of {found.total} runs, {where}\n")


def _table(rows: tuple[KeptRun, ...]) -> None:
    from rich.console import Console
    from rich.table import Table

    from tileviz.export.terminal import plain
    from tileviz.runners.store_entry import summary

    table = Table("run", "when, UTC", "study", "design", "outcome", "where", box=None)
    for run in rows:
        design = run.name or run.verdict or summary(run.design)
        where = run.recorded or run.runner
        outcome = f"{run.outcome.glyph} {run.outcome.sentence}"
        when = run.at.rstrip("Z").replace("T", " ")
        table.add_row(*map(plain, (run.key, when, run.study, design, outcome, where)))
    out = Console(highlight=False)
    (out if out.is_terminal else Console(highlight=False, width=180)).print(table)


def _export(history: History, wanted: Wanted, target: str) -> None:
    if target == "-":
        sys.stdout.writelines(history.lines(wanted))
        return
    try:
        with Path(target).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(history.lines(wanted))
    except OSError as error:
        raise DesignError("export", f"cannot be written: {error}", target[:120]) from None
