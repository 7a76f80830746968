"""``python -m benchmarks [NAME ...]``: run all benchmark modules, or those named."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness import show

NOT_BENCHMARKS = {"__init__", "__main__", "harness"}


def main() -> None:
    """Run the modules and print a table each."""
    folder = Path(__file__).parent
    known = sorted(path.stem for path in folder.glob("*.py") if path.stem not in NOT_BENCHMARKS)
    wanted = sys.argv[1:] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"no benchmark called {unknown[0]}; there are {', '.join(known)}")
    with TemporaryDirectory() as data:
        # What is measured is no run that a person made.
        os.environ["TILEVIZ_DATA"] = data
        for name in wanted:
            module = importlib.import_module(f"benchmarks.{name}")
            show((module.__doc__ or name).splitlines()[0].rstrip("."), module.rows())


if __name__ == "__main__":
    main()
