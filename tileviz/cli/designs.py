"""Commands on designs: plan, run, batch, export."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, Literal

import typer

from tileviz.cli.shell import (
    BAD_INPUT,
    FAILED,
    OK,
    DesignArgument,
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

MAX_BATCH = 1 << 27

# From this many lines on, a second process is worth its start.
_SHARED = 4000
_MOST_CHILDREN = 8
# Set in a child, so that it does not share its work again.
_CHILD = "TILEVIZ_BATCH_CHILD"


@app.command()
def plan(design: DesignArgument, as_json: JsonOption = False) -> None:
    """Plan a design and predict its memory behaviour."""
    from tileviz import api

    def work() -> int:
        planned = api.plan(read_design(design))
        if as_json:
            print_json(planned.to_json())
        else:
            from tileviz.export.terminal import show_plan

            show_plan(planned)
        return OK

    finish(work, as_json)


@app.command()
def run(
    design: DesignArgument,
    on: OnOption = "auto",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Plan, generate CUDA, run that very text, verify every element, count every access."""

    def work() -> int:
        from tileviz.runners import warm

        warm(on)  # before anything heavy: the worker starts while the design is planned
        document, planned, done = run_design(read_design(design), on, seed)
        if as_json:
            print_json(document)
        else:
            from tileviz.export.terminal import show_plan, show_run

            show_plan(planned)
            show_run(done)
        return FAILED if done.verified is False else OK

    finish(work, as_json)


def run_design(of: Any, on: On, seed: int) -> tuple[Any, Any, Any]:
    """Return the result object of a run, the plan, and the run itself."""
    from tileviz import api
    from tileviz.studies.errors import NotRunnable

    try:
        planned, done = api.run(of, on=on, seed=seed)
    except NotRunnable as error:
        raise DesignError("design", f"cannot run: {error}", None) from None
    return {**done.to_json(), "plan": planned.to_json()}, planned, done


@app.command()
def batch(
    file: Annotated[
        str,
        typer.Argument(help="One design a line: JSON, a preset name or a link; - reads stdin."),
    ],
    run: Annotated[bool, typer.Option("--run", help="Also run every design.")] = False,
    on: OnOption = "auto",
    seed: SeedOption = 0,
    as_json: JsonOption = True,
) -> None:
    """Plan many designs: one in, one compact result out, in order; faults do not stop the rest.

    Exits with 2 where a line was bad input, else with 1 where a verification failed, else with 0.
    """

    def work() -> int:
        lines = _lines(file)
        if len(lines) >= _SHARED and not run and _CHILD not in os.environ:
            return _plan_in_children(lines)
        failed = bad = False
        for document in _results(progress(lines), run, on, seed):
            failed |= document.get("verified") is False
            bad |= "error" in document
            print_json(document)
        if bad:
            return BAD_INPUT
        return FAILED if failed else OK

    finish(work, as_json)


def _plan_in_children(lines: list[str]) -> int:
    """Plan many designs with one process a processor; print their results in order.

    Returns:
        The exit code: whether a line was bad input.
    """
    workers = min(os.cpu_count() or 1, _MOST_CHILDREN)
    size = -(-len(lines) // workers)
    package = str(Path(__file__).resolve().parents[2])
    found = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, _CHILD: "1", "PYTHONUTF8": "1", "PYTHONPATH": found}
    command = [sys.executable, "-m", "tileviz", "batch", "-"]
    with ExitStack() as stack:
        shares = []
        for start in range(0, len(lines), size):
            given = stack.enter_context(TemporaryFile("w+", encoding="utf-8"))
            given.write("\n".join(lines[start : start + size]))
            given.seek(0)
            results = stack.enter_context(TemporaryFile("w+", encoding="utf-8"))
            child = subprocess.Popen(command, stdin=given, stdout=results, env=environment)
            stack.callback(child.kill)
            shares.append((child, results))
        codes = set()
        for child, results in progress(shares):
            codes.add(child.wait())
            if codes - {OK, BAD_INPUT}:
                raise DesignError("file", "a planning process ended early", child.returncode)
            results.seek(0)
            shutil.copyfileobj(results, sys.stdout)
    return max(codes)


def _results(lines: Iterable[str], run: bool, on: On, seed: int) -> Iterator[dict[str, Any]]:
    from tileviz import api

    for line in lines:
        if not line.strip():
            continue
        try:
            of = read_line(line)
            yield run_design(of, on, seed)[0] if run else api.plan(of).to_json()
        except DesignError as error:
            yield error.to_json()


def _lines(file: str) -> list[str]:
    try:
        if file == "-":
            text = sys.stdin.read(MAX_BATCH + 1)
        else:
            with Path(file).open(encoding="utf-8-sig") as opened:
                text = opened.read(MAX_BATCH + 1)
    except (OSError, ValueError) as error:
        raise DesignError("file", f"cannot be read: {error}", file[:120]) from None
    if len(text) > MAX_BATCH:
        raise DesignError("file", f"at most {MAX_BATCH} characters are read", file[:120])
    # Only a line feed ends a JSON line: other breaks may stand inside a string.
    return text.split("\n")


@app.command()
def export(
    design: DesignArgument,
    form: Annotated[
        Literal["cu", "pycuda", "json", "html", "link"], typer.Option("--as", help="What to write.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="A file; default stdout.")] = "-",
    run: Annotated[bool, typer.Option("--run", help="html: run it in the emulator first.")] = False,
    title: Annotated[str, typer.Option(help="html: the heading.")] = "",
    note: Annotated[str, typer.Option(help="html: text below the heading.")] = "",
) -> None:
    """Write a C++ program or a PyCUDA script that checks itself, the document, a report or link."""

    def work() -> int:
        for name, given in (("run", run), ("title", title), ("note", note)):
            if given and form != "html":
                raise DesignError(name, f"goes with --as html, not --as {form}", given)
        of = read_design(design)
        if form == "html":
            from tileviz.reviewing import report_of
            from tileviz.runners import select_runner

            if run:
                select_runner("emulator")  # says what is missing where it does not work
            text = report_of(of, title=title, note=note, run=run)
        else:
            text = _exported(of, form)
        if output == "-":
            sys.stdout.write(text)
            return OK
        try:
            # What runs has these very line breaks, on every system.
            Path(output).write_text(text, encoding="utf-8", newline="\n")
        except (OSError, ValueError) as error:
            raise DesignError("output", f"cannot be written: {error}", output[:120]) from None
        return OK

    finish(work, as_json=False)


def _exported(of: Any, form: str) -> str:
    if form == "json":
        return json.dumps(of.document(), indent=2, ensure_ascii=False) + "\n"
    if form == "link":
        from tileviz.export.links import MAX_LINK, page_url

        link = page_url(of)
        if len(link) > MAX_LINK:
            message = f"its link has {len(link)} characters, at most {MAX_LINK} are read"
            raise DesignError("design", f"{message}; use --as json", None)
        return link + "\n"
    from tileviz import api
    from tileviz.export.script import pycuda_script
    from tileviz.export.snippets import standalone_cu
    from tileviz.studies.errors import NotRunnable

    write = standalone_cu if form == "cu" else pycuda_script
    try:
        return write(api.program(of))
    except (NotRunnable, ValueError) as error:
        if isinstance(error, DesignError):
            raise
        raise DesignError("design", f"has no stand-alone export: {error}", None) from None
