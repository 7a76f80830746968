"""The engine from the shell: ``python -m tileviz`` or ``tileviz``."""

from tileviz.cli import designs, exploring, machine
from tileviz.cli.shell import app, read_design

__all__ = ["app", "designs", "exploring", "machine", "main", "read_design"]


def main() -> None:
    """Run the command line."""
    app()
