"""The command that unfolds numbers: explain."""

from __future__ import annotations

from typing import Annotated

import typer

from tileviz.cli.shell import (
    OK,
    DesignArgument,
    JsonOption,
    On,
    OnOption,
    app,
    finish,
    print_json,
    read_design,
)
from tileviz.errors import DesignError
from tileviz.studies.derivation import Derivation, Numbers, bit_lines


@app.command()
def explain(
    design: DesignArgument,
    number: Annotated[
        str,
        typer.Option(
            "--number",
            help="A number to unfold, by its path in the results: ours.write.wavefronts.",
        ),
    ] = "",
    run: Annotated[bool, typer.Option("--run", help="Run it, and unfold what it cost.")] = False,
    on: OnOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """List every number of a design, or unfold one to its arithmetic."""

    def work() -> int:
        found = _numbers(design, run, on)
        if number:
            one = found.find(number)
            if as_json:
                print_json(one.to_json())
            else:
                _show(one)
        elif as_json:
            print_json(found.to_json())
        else:
            _list(found)
        return OK

    finish(work, as_json)


def _numbers(text: str, run: bool, on: On) -> Numbers:
    """Return the numbers of a design's plan, or of a run of it."""
    from tileviz import api
    from tileviz.studies.errors import NotRunnable

    of = read_design(text)
    if not run:
        return api.explain(of)
    try:
        return api.explain(api.run(of, on=on)[1])
    except NotRunnable as error:
        raise DesignError("design", f"cannot run: {error}", None) from None


def _list(found: Numbers) -> None:
    """Print every number with the name that unfolds it."""
    from rich.table import Table
    from rich.text import Text

    from tileviz.export.terminal import wide_console

    out = wide_console()
    group = ""
    table = Table(box=None, show_header=False, pad_edge=False)
    for one in found:
        if one.group != group:
            group = one.group
            table.add_row(Text(group, style="bold"))
        table.add_row(Text(f"  {one.title}"), Text(one.name, style="dim"))
    if found.families:
        table.add_row(Text("Any index", style="bold"))
    for family in found.families:
        allowed = ", ".join(f"{each.name} {each.allowed}" for each in family.parameters)
        said = f"  {family.label}" + (f": {allowed}" if allowed else "")
        table.add_row(Text(said), Text(family.template, style="dim"))
    out.print(table)


def _show(one: Derivation) -> None:
    """Print a number, its arithmetic step by step, and the rule behind it."""
    from rich.padding import Padding
    from rich.text import Text

    from tileviz.export.terminal import wide_console

    out = wide_console()
    out.print(Text(one.title, style="bold"))
    for at, step in enumerate(one.steps, start=1):
        out.print(Text(f"{at:>3}. {step.text}"))
        if step.arithmetic:
            out.print(Padding(Text(step.arithmetic, style="cyan"), (0, 0, 0, 5)))
        for line in bit_lines(step.bits):
            out.print(Padding(Text(line), (0, 0, 0, 5)))
    if one.rule is not None:
        out.print(Text(f"Rule: {one.rule.text} ({one.rule.standing})", style="dim"))
