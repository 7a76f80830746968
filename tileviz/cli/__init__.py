"""The engine from the shell: ``python -m tileviz`` or ``tileviz``."""

from tileviz.cli import designs, exploring, machine, recording
from tileviz.cli.shell import app, read_design

__all__ = ["app", "designs", "exploring", "machine", "main", "read_design", "recording"]


def main() -> None:
    """Run the command line."""
    app()
