"""The command that checks designs against budgets: for CI."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tileviz.cli.shell import (
    BAD_INPUT,
    FAILED,
    OK,
    JsonOption,
    On,
    OnOption,
    SeedOption,
    app,
    finish,
    print_json,
    progress,
    read_design,
    read_line,
)
from tileviz.errors import DesignError
from tileviz.studies.documents import MAX_DOCUMENT, parse_json

if TYPE_CHECKING:
    from tileviz.checking import Budget
    from tileviz.checking.junit import Checked
    from tileviz.studies.design import Design

_MAX_LINES = MAX_DOCUMENT * 16

Limit = float | None


def _most(about: str) -> Any:
    return typer.Option(help=f"Most {about}.", show_default=False)


@app.command()
def check(
    designs: Annotated[
        list[str],
        typer.Argument(help="Files, presets, links, inline JSON; - or a .jsonl file: one a line."),
    ],
    max_excess: Annotated[Limit, _most("wavefronts above the ideal")] = None,
    max_line_excess: Annotated[Limit, _most("wavefronts above the ideal on one line")] = None,
    max_wavefronts: Annotated[Limit, _most("shared-memory wavefronts")] = None,
    max_sectors: Annotated[Limit, _most("32-byte sectors of global memory")] = None,
    max_excess_sectors: Annotated[Limit, _most("sectors above the ideal")] = None,
    max_n_way: Annotated[Limit, _most("passes that one group of lanes needs")] = None,
    max_loads_per_thread: Annotated[Limit, _most("loads of one broadcast value")] = None,
    max_registers: Annotated[Limit, _most("registers per thread")] = None,
    max_spills: Annotated[Limit, _most("bytes of spilled registers per thread")] = None,
    max_shared_bytes: Annotated[Limit, _most("static shared memory per block")] = None,
    max_miss_bytes: Annotated[Limit, _most("bytes read past L2")] = None,
    max_balance: Annotated[Limit, _most("work of a worker over the mean")] = None,
    min_hit_rate: Annotated[
        Limit, typer.Option(help="Least share of bytes found in L2, 0 to 1.", show_default=False)
    ] = None,
    budgets: Annotated[
        str,
        typer.Option(
            help="A JSON file of budgets: names to limits, also by study; those of no study are "
            "for the designs that have them."
        ),
    ] = "",
    run: Annotated[
        bool, typer.Option("--run", help="Run and count accesses instead of predicting them.")
    ] = False,
    on: OnOption = "auto",
    seed: SeedOption = 0,
    arch: Annotated[str, typer.Option(help="Architecture of registers and spills.")] = "sm_80",
    junit: Annotated[str, typer.Option(help="Also write JUnit XML to this file.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Check designs against budgets; exit 1 where one is exceeded."""
    options = {
        "max-excess": max_excess,
        "max-line-excess": max_line_excess,
        "max-wavefronts": max_wavefronts,
        "max-sectors": max_sectors,
        "max-excess-sectors": max_excess_sectors,
        "max-n-way": max_n_way,
        "max-loads-per-thread": max_loads_per_thread,
        "max-registers": max_registers,
        "max-spills": max_spills,
        "max-shared-bytes": max_shared_bytes,
        "max-miss-bytes": max_miss_bytes,
        "max-balance": max_balance,
        "min-hit-rate": min_hit_rate,
    }

    def work() -> int:
        given = _budgets(budgets, options)
        found = list(_named(designs))
        checked = [
            _checked(named, given, run=run, on=on, seed=seed, arch=arch)
            for named in progress(found)
        ]
        if junit:
            _write(junit, checked)
        if len(checked) == 1 and isinstance(checked[0].outcome, DesignError):
            raise checked[0].outcome
        if as_json:
            print_json(_document(checked))
        else:
            _print(checked)
        if any(isinstance(one.outcome, DesignError) for one in checked):
            return BAD_INPUT
        return OK if all(one.passed for one in checked) else FAILED

    finish(work, as_json)


def _budgets(file: str, options: Mapping[str, Limit]) -> tuple[Budget, ...]:
    """Return the budgets of a file and of the command line, which comes last and wins."""
    from tileviz.checking import read_budgets

    given: tuple[Budget, ...] = ()
    if file:
        text = _text(file, "budgets", MAX_DOCUMENT)
        try:
            document = parse_json(text)
        except DesignError as error:
            raise DesignError("budgets", error.message, error.value) from None
        given = read_budgets(document, strict=False)
    typed = read_budgets(
        {
            name: int(limit) if limit.is_integer() else limit
            for name, limit in options.items()
            if limit is not None
        }
    )
    names = {budget.name for budget in typed}
    given = (*(budget for budget in given if budget.name not in names), *typed)
    if not given:
        named = ", ".join(f"--{name}" for name in options)
        raise DesignError("budgets", f"name at least one: {named}, or --budgets FILE", None)
    return given


@dataclass(frozen=True)
class _Named:
    """A design, or what is wrong with it; what it is called, and the file it is in."""

    label: str
    of: Design | DesignError
    file: str = ""


def _named(arguments: Sequence[str]) -> Iterator[_Named]:
    """Yield every design; a fault in one does not stop the rest."""
    for argument in arguments:
        label = argument if len(argument) <= 200 else f"{argument[:200]}..."
        file = argument if _is_file(argument) else ""
        try:
            if argument == "-":
                yield from _documents("stdin", sys.stdin.read(_MAX_LINES + 1), "")
            elif file.endswith(".jsonl"):
                yield from _documents(file, _text(file, "design", _MAX_LINES), file)
            else:
                yield _Named(label, read_design(argument), file)
        except DesignError as error:
            yield _Named(label, error, file)


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except (OSError, ValueError):  # inline JSON may be too long for a name
        return False


def _documents(name: str, text: str, file: str) -> Iterator[_Named]:
    """Yield the designs of a text: one document, or one a line."""
    if len(text) > _MAX_LINES:
        raise DesignError("design", f"at most {_MAX_LINES} characters are read", None)
    # Only a line feed ends a JSON line: other breaks may stand inside a string.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) < 2 or not _is_lines(lines[0][1]):
        yield _Named(name, _made(text), file)
        return
    for number, line in lines:
        yield _Named(f"{name}:{number}", _made(line), file)


def _made(text: str) -> Design | DesignError:
    try:
        found: Design = read_line(text)
    except DesignError as error:
        return error
    return found


def _is_lines(first: str) -> bool:
    """Return whether a first line is a document of its own, or is meant to be one."""
    return first.rstrip().endswith("}") or not first.lstrip().startswith("{")


def _text(file: str, field: str, most: int) -> str:
    try:
        with Path(file).open(encoding="utf-8-sig") as opened:
            text = opened.read(most + 1)
    except (OSError, ValueError) as error:
        raise DesignError(field, f"cannot be read: {error}", file[:120]) from None
    if len(text) > most:
        raise DesignError(field, f"at most {most} characters are read", file[:120])
    return text


def _checked(
    named: _Named, budgets: Sequence[Budget], *, run: bool, on: On, seed: int, arch: str
) -> Checked:
    from tileviz.checking import Check
    from tileviz.checking import check as check_design
    from tileviz.checking.junit import Checked

    outcome: Check | DesignError
    started = time.perf_counter()
    if isinstance(named.of, DesignError):
        outcome = named.of
    else:
        try:
            outcome = check_design(named.of, budgets, run=run, on=on, seed=seed, arch=arch)
        except DesignError as error:
            outcome = error
    return Checked(named.label, outcome, time.perf_counter() - started, named.file)


def _write(path: str, checked: Sequence[Checked]) -> None:
    from tileviz.checking.junit import junit

    try:
        Path(path).write_text(junit(checked), encoding="utf-8")
    except OSError as error:
        raise DesignError("junit", f"cannot be written: {error}", path[:120]) from None


def _document(checked: Sequence[Checked]) -> dict[str, Any]:
    """Return the ``check`` object: the budgets of every design, each with its design's name."""
    budgets: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    notes: list[dict[str, str]] = []
    for one in checked:
        if isinstance(one.outcome, DesignError):
            errors.append({"design": one.label, **one.outcome.to_json()})
            continue
        study = one.outcome.design.study
        notes += [{"design": one.label, "note": note} for note in one.outcome.notes]
        for verdict in one.outcome.budgets:
            budgets.append({"design": one.label, "study": study, **verdict.to_json()})
    passed = all(one.passed for one in checked)
    return {"passed": passed, "budgets": budgets, "notes": notes, "errors": errors}


def _print(checked: Sequence[Checked]) -> None:
    from rich.console import Console
    from rich.text import Text

    from tileviz.export.terminal import plain
    from tileviz.words import visible

    out = Console(highlight=False, soft_wrap=True)
    for one in checked:
        if isinstance(one.outcome, DesignError):
            out.print(Text(visible(f"✕ {one.label}: {one.outcome}"), style="red"))
            continue
        for verdict in one.outcome.budgets:
            mark, colour = ("✓", "green") if verdict.passed else ("✕", "red")
            out.print(Text(visible(f"{mark} {one.label}: {verdict.sentence}"), style=colour))
            if not verdict.passed:
                for line in verdict.lines:
                    out.print(plain(f"    {line.words}"))
        for note in one.outcome.notes:
            out.print(Text(visible(f"▲ {one.label}: {note}"), style="yellow"))
    good = sum(one.passed for one in checked)
    out.print(Text(f"{good} of {len(checked)} designs keep to their budgets", style="bold"))
