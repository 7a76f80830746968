"""The engine from the shell: ``python -m tileviz`` or ``tileviz``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer
from typer.core import TyperCommand

from tileviz.errors import DesignError

OK, FAILED, BAD_INPUT = 0, 1, 2
T = TypeVar("T")
MAX_DOCUMENT = 1 << 20

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="See what the memory system will do with a layout, then run the very same CUDA.",
)

DesignArgument = Annotated[
    str, typer.Argument(help="A file, - (standard input), a link, inline JSON, or a preset name.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Exactly one JSON object on stdout.")]
OnOption = Annotated[
    Literal["auto", "emulator", "gpu"], typer.Option("--on", help="Where the kernel runs.")
]
SeedOption = Annotated[int, typer.Option(help="Seed of the inputs.")]


def read_design(text: str) -> Any:
    """Return the design that a command-line argument names.

    Args:
        text: A preset name, inline JSON, a link, ``-`` or a file.

    Raises:
        DesignError: It names no design, or one with a fault.

    Example:
        >>> read_design("permute-demo").study
        'permute'
    """
    from tileviz.studies.registry import make_design, preset, presets

    found = preset(text)
    if found is not None:
        return found.design
    if text.lstrip().startswith("{"):
        return make_design(_json(text))
    if "?" in text and "=" in text:
        from tileviz.export.links import parse_link

        return parse_link(text)
    if text == "-":
        return make_design(_json(sys.stdin.read(MAX_DOCUMENT + 1)))
    path = Path(text)
    try:
        if path.is_file():
            return make_design(_json(_read(path)))
    except (OSError, ValueError) as error:
        if isinstance(error, DesignError):
            raise
        raise DesignError("design", f"cannot be read: {error}", text[:120]) from None
    names = ", ".join(known.name for known in presets())
    raise DesignError("design", f"no such file or preset; presets: {names}", text[:120])


def _read(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.read(MAX_DOCUMENT + 1)


def _json(text: str) -> Any:
    if len(text) > MAX_DOCUMENT:
        raise DesignError("design", f"at most {MAX_DOCUMENT} characters are read", None)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DesignError("design", f"is not JSON: {error}", text[:120]) from None


# -- commands --------------------------------------------------------------------------------------


@app.command()
def plan(design: DesignArgument, as_json: JsonOption = False) -> None:
    """Plan a design and predict its memory behaviour."""
    from tileviz import api

    def work() -> int:
        planned = api.plan(read_design(design))
        if as_json:
            _print_json(planned.to_json())
        else:
            from tileviz.export.terminal import show_plan

            show_plan(planned)
        return OK

    _finish(work, as_json)


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
        document, planned, done = _run(read_design(design), on, seed)
        if as_json:
            _print_json(document)
        else:
            from tileviz.export.terminal import show_plan, show_run

            show_plan(planned)
            show_run(done)
        return OK if done.verified else FAILED

    _finish(work, as_json)


def _run(of: Any, on: Literal["auto", "emulator", "gpu"], seed: int) -> tuple[Any, Any, Any]:
    from tileviz import api
    from tileviz.studies.errors import NotRunnable

    try:
        planned, done = api.run(of, on=on, seed=seed)
    except NotRunnable as error:
        raise DesignError("design", f"cannot run: {error}", None) from None
    return {**done.to_json(), "plan": planned.to_json()}, planned, done


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
            _print_json(found.to_json())
        else:
            from tileviz.export.terminal import show_plan

            show_plan(found)
        return OK

    _finish(work, as_json)


@app.command()
def batch(
    file: Annotated[str, typer.Argument(help="One design a line (JSON lines); - reads stdin.")],
    run: Annotated[bool, typer.Option("--run", help="Also run every design.")] = False,
    on: OnOption = "auto",
    seed: SeedOption = 0,
    as_json: JsonOption = True,
) -> None:
    """Plan many designs: one in, one compact result out, in order; faults do not stop the rest."""

    def work() -> int:
        failed = False
        for document in _results(_progress(_lines(file)), run, on, seed):
            failed |= document.get("verified") is False
            _print_json(document)
        return FAILED if failed else OK

    _finish(work, as_json)


def _results(
    lines: Iterable[str], run: bool, on: Literal["auto", "emulator", "gpu"], seed: int
) -> Iterator[dict[str, Any]]:
    from tileviz import api
    from tileviz.studies.registry import make_design

    for line in lines:
        if not line.strip():
            continue
        try:
            of = make_design(_json(line))
            yield _run(of, on, seed)[0] if run else api.plan(of).to_json()
        except DesignError as error:
            yield error.to_json()


def _lines(file: str) -> list[str]:
    if file == "-":
        return sys.stdin.read().splitlines()
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise DesignError("file", f"cannot be read: {error}", file[:120]) from None


def _progress(items: Iterable[T], total: float | None = None) -> Iterable[T]:
    """Show a progress bar on a terminal, on stderr so that results stay clean."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, description="designs", total=total, console=Console(stderr=True))


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
        done = list(_progress(rows, total=count(overs)))
        if csv:
            _write_csv(csv, done)
        if as_json:
            _print_json({"rows": done})
        else:
            _print_rows(done)
        return OK

    _finish(work, as_json)


def _columns(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _write_csv(path: str, rows: list[dict[str, Any]]) -> None:
    import csv

    try:
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, _columns(rows), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise DesignError("csv", f"cannot be written: {error}", path[:120]) from None


def _print_rows(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = _columns(rows)
    table = Table(*columns, box=None)
    for row in rows:
        values = (row.get(name) for name in columns)
        table.add_row(*(Text(f"{v:.6g}" if isinstance(v, float) else str(v)) for v in values))
    Console(highlight=False).print(table)


@app.command()
def export(
    design: DesignArgument,
    form: Annotated[Literal["cu", "json", "link"], typer.Option("--as", help="What to write.")],
    output: Annotated[str, typer.Option("--output", "-o", help="A file; default stdout.")] = "-",
) -> None:
    """Write a stand-alone .cu file with a self-check, the design document, or its link."""

    def work() -> int:
        text = _exported(read_design(design), form)
        if output == "-":
            sys.stdout.write(text)
            return OK
        try:
            Path(output).write_text(text, encoding="utf-8")
        except OSError as error:
            raise DesignError("output", f"cannot be written: {error}", output[:120]) from None
        return OK

    _finish(work, as_json=False)


def _exported(of: Any, form: str) -> str:
    if form == "json":
        return json.dumps(of.document(), indent=2, ensure_ascii=False) + "\n"
    if form == "link":
        from tileviz.export.links import page_url

        return page_url(of) + "\n"
    from tileviz import api
    from tileviz.export.snippets import standalone_cu
    from tileviz.studies.errors import NotRunnable

    try:
        return standalone_cu(api.kernel(of))
    except NotRunnable as error:
        raise DesignError("design", f"has no kernel: {error}", None) from None


class _KeepsOrder(TyperCommand):
    """A command that remembers its arguments as typed: parameters come in that order."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["typed"] = list(args)
        rest: list[str] = super().parse_args(ctx, args)
        return rest


@app.command(cls=_KeepsOrder)
def trace(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="A CUDA C++ file.")],
    entry: Annotated[str, typer.Option(help="Name of the __global__ function.")],
    grid: Annotated[str, typer.Option(help="Blocks, such as 4,2.")] = "1",
    block: Annotated[str, typer.Option(help="Threads per block, such as 32,8.")] = "32",
    buffer: Annotated[
        list[str] | None, typer.Option(help="name:dtype:extents:in|out|inout, in parameter order.")
    ] = None,
    scalar: Annotated[
        list[str] | None, typer.Option(help="name:dtype:value, in parameter order.")
    ] = None,
    shared: Annotated[int, typer.Option(help="Dynamic shared memory per block, in bytes.")] = 0,
    input: Annotated[list[str] | None, typer.Option(help="name=file.npy")] = None,
    output: Annotated[list[str] | None, typer.Option(help="name=file.npy")] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Run your own kernel in the emulator and count every access, line by line."""

    def work() -> int:
        from tileviz import tracing
        from tileviz.runners import warm

        warm("emulator")
        request = tracing.Request(
            file, entry, grid, block, tuple(buffer or ()), tuple(scalar or ()), shared, seed
        )
        of = tracing.design(request, ctx.meta["typed"])
        done = tracing.run(of, input or [], output or [], seed)
        if as_json:
            _print_json(done.to_json())
        else:
            from tileviz.export.terminal import show_trace

            show_trace(done)
        return FAILED if done.problems else OK

    _finish(work, as_json)


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """Say what is installed, which runners work, and the one command that fixes what does not."""
    from tileviz.doctor import diagnose

    def work() -> int:
        found = diagnose()
        if as_json:
            _print_json(found.to_json())
        else:
            from tileviz.export.terminal import show_diagnosis

            show_diagnosis(found)
        return OK

    _finish(work, as_json)


# -- endings ---------------------------------------------------------------------------------------


def _print_json(document: Any) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")


def _finish(work: Callable[[], int], as_json: bool) -> None:
    """Run a command's work; turn bad input into one line (or one object) and exit code 2."""
    try:
        code = work()
        sys.stdout.flush()
    except DesignError as error:
        if as_json:
            _print_json(error.to_json())
        else:
            text = f"error: {error}"
            if error.value is not None and error.position is None:
                text += f" (got {error.value!r})"
            caret = error.caret()
            sys.stderr.write(text + "\n" + (caret + "\n" if caret else ""))
        code = BAD_INPUT
    except BrokenPipeError:
        # The reader went away, as `head` does: what it wanted has been written.
        sys.stderr.close()
        code = OK
    if code:
        raise typer.Exit(code)


def main() -> None:
    """Run the command line."""
    app()
