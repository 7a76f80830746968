"""The engine from the shell: ``python -m tileviz`` or ``tileviz``."""

import sys
from typing import cast

from typer import BadParameter

from tileviz.cli import (
    checking,
    comparing,
    designs,
    explaining,
    exploring,
    history,
    machine,
    recording,
    teaching,
)
from tileviz.cli.shell import BAD_INPUT, app, print_json, read_design
from tileviz.errors import DesignError

__all__ = [
    "app",
    "checking",
    "comparing",
    "designs",
    "explaining",
    "exploring",
    "history",
    "machine",
    "main",
    "read_design",
    "recording",
    "teaching",
]

# Typer's own copy of the error that every misused option raises.
UsageError = cast("type[Exception]", BadParameter.__mro__[1])


def main() -> None:
    """Run the command line; with ``--json`` a misused option is an object on stdout, too."""
    if "--json" not in sys.argv:
        app()
        return
    try:
        code = app(standalone_mode=False)
    except UsageError as error:
        print_json(DesignError("command", str(error)).to_json())
        code = BAD_INPUT
    sys.exit(code if isinstance(code, int) else 0)
