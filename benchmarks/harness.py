"""Measuring: the fastest of several runs, whole processes, and one table of all rows."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Row:
    """One measured figure.

    Attributes:
        what: What was measured.
        value: The figure.
        unit: Its unit.
        goal: The most it should be; None where there is no goal.
        peer: The same by the reference in the same run, and its name.
    """

    what: str
    value: float
    unit: str
    goal: float | None = None
    peer: tuple[str, float] | None = None

    @property
    def ratio(self) -> float | None:
        """How many times faster than the peer."""
        return None if self.peer is None else self.peer[1] / self.value


def fastest(work: Callable[[], object], repeat: int = 20) -> float:
    """Return the shortest of ``repeat`` runs after one warm-up, in seconds."""
    work()
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def process(*arguments: str, repeat: int = 7) -> float:
    """Return the median wall time of ``python -m ...`` as a cold process, in seconds."""
    walls = []
    for _ in range(repeat):
        start = time.perf_counter()
        _call(["-m", *arguments])
        walls.append(time.perf_counter() - start)
    return sorted(walls)[repeat // 2]


def peak_memory(module: str, *arguments: str) -> float:
    """Return the peak resident memory of ``python -m module ...`` in megabytes.

    Read from inside the process: what the parent is told also counts the parent's own pages.
    """
    code = (
        "import runpy, sys, atexit, pathlib\n"
        "read = lambda: pathlib.Path('/proc/self/status').read_text()\n"
        "atexit.register(lambda: sys.stderr.write(read()))\n"
        f"sys.argv = {[module, *arguments]!r}\n"
        f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)\n"
    )
    status = _call(["-c", code])
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def _call(arguments: list[str]) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stderr


def show(title: str, rows: list[Row]) -> None:
    """Print a table of rows."""
    from rich.console import Console
    from rich.table import Table

    table = Table("what", "measured", "goal", "reference", "times faster", title=title)
    for row in rows:
        goal = "" if row.goal is None else f"<= {row.goal:g} {row.unit}"
        missed = row.goal is not None and row.value > row.goal
        value = f"{row.value:.3g} {row.unit}{'  MISSED' if missed else ''}"
        peer = "" if row.peer is None else f"{row.peer[0]}: {row.peer[1]:.3g} {row.unit}"
        ratio = "" if row.ratio is None else f"{row.ratio:.1f}"
        table.add_row(row.what, value, goal, peer, ratio)
    Console(width=120).print(table)
