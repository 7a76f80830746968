"""What every command shares: how a design is named, how results and faults are printed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO, TypeVar

import typer

from tileviz.errors import DesignError
from tileviz.studies.documents import MAX_DOCUMENT, is_unicode, json_line, parse_json

OK, FAILED, BAD_INPUT = 0, 1, 2
T = TypeVar("T")
On = Literal["auto", "emulator", "gpu"]

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
    from tileviz.studies.registry import make_design, presets

    found = _given(text)
    if found is not None:
        return found
    if text == "-":
        return make_design(parse_json(sys.stdin.read(MAX_DOCUMENT + 1)))
    path = Path(text)
    try:
        if path.is_file():
            return make_design(parse_json(_read(path)))
    except (OSError, ValueError) as error:
        if isinstance(error, DesignError):
            raise
        raise DesignError("design", f"cannot be read: {error}", text[:120]) from None
    names = ", ".join(known.name for known in presets())
    raise DesignError("design", f"no such file or preset; presets: {names}", text[:120])


def read_line(text: str) -> Any:
    """Return the design that one line of a file or of standard input names.

    Args:
        text: A preset name, a design as JSON, or a link; never a file.

    Raises:
        DesignError: It names no design, or one with a fault.

    Example:
        >>> read_line("permute-demo").study, read_line("/Layouts?v=1&layout=S[32:1]").study
        ('permute', 'layout')
    """
    from tileviz.studies.registry import make_design

    line = text.strip()
    found = _given(line)
    if found is not None:
        return found
    if line[:1] in ("[", '"'):
        return make_design(parse_json(line))
    message = "is no design as JSON, no link and no preset's name; a line may be each of them"
    raise DesignError("design", message, line[:120])


def _given(text: str) -> Any:
    """Return the design of a preset's name, of JSON or of a link; None for anything else."""
    from tileviz.studies.registry import make_design, preset

    if not is_unicode(text):
        raise DesignError("design", "is not valid Unicode text", ascii(text[:60]))
    # First, because most lines of a long batch are JSON.
    if text.lstrip().startswith("{"):
        return make_design(parse_json(text))
    found = preset(text)
    if found is not None:
        return found.design
    if "?" in text and "=" in text:
        from tileviz.export.links import parse_link

        return parse_link(text)
    return None


def _read(path: Path) -> str:
    with path.open(encoding="utf-8-sig") as file:
        return file.read(MAX_DOCUMENT + 1)


def progress(items: Iterable[T], total: float | None = None) -> Iterable[T]:
    """Show a progress bar on a terminal, on stderr so that results stay clean."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, description="designs", total=total, console=Console(stderr=True))


def print_json(document: Any) -> None:
    """Print one object on one line; a NaN or an infinity becomes its name, in quotes."""
    sys.stdout.write(json_line(document) + "\n")


def _say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Say a warning in one line: where in our text it came from means nothing here."""
    sys.stderr.write(f"warning: {message}\n")


def finish(work: Callable[[], int], as_json: bool) -> None:
    """Run a command's work; turn bad input into one line (or one object) and exit code 2."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _say_warning
            code = work()
        sys.stdout.flush()
    except DesignError as error:
        if as_json:
            print_json(error.to_json())
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
