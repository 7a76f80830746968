"""Faults found while a kernel runs: what, where, and whether the run could go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "race",
    "out_of_bounds",
    "misaligned",
    "uninitialised",
    "deadlock",
    "limit",
    "trap",
    "compile",
    "unsupported",
]
Coordinates = tuple[int, int, int]


@dataclass(frozen=True)
class Problem:
    """One fault of a kernel.

    Races and uninitialised reads are noted and the run goes on; every other kind ends the run.

    Attributes:
        kind: What went wrong.
        message: One line that names block, thread, buffer and source line where they are known.
        line: 1-based source line, or None.
        block: Block index x, y, z, or None.
        thread: Thread index x, y, z in the block, or None.
        buffer: Name of the buffer or array at fault, or None.

    Example:
        >>> Problem("limit", "more than 60 seconds", line=4).kind
        'limit'
    """

    kind: Kind
    message: str
    line: int | None = None
    block: Coordinates | None = None
    thread: Coordinates | None = None
    buffer: str | None = None


class Stop(Exception):
    """Ends a run with a problem; never leaves the emulator."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(frozen=True)
class Site:
    """Where a message points: one thread of one block at one source line."""

    block: Coordinates
    thread: Coordinates
    line: int | None

    def __str__(self) -> str:
        return f"block {_tuple(self.block)} thread {_tuple(self.thread)}"

    @property
    def at_line(self) -> str:
        """``", line 71"``, or nothing where the line is unknown."""
        return "" if self.line is None else f", line {self.line}"

    def problem(
        self, kind: Kind, what: str, detail: str = "", *, buffer: str | None = None
    ) -> Problem:
        """Return the problem ``what: block ... thread ..., detail, line ...``.

        Example:
            >>> site = Site((3, 0, 0), (127, 0, 0), 71)
            >>> site.problem("out_of_bounds", "out-of-bounds 4-byte global load").message
            'out-of-bounds 4-byte global load: block (3,0,0) thread (127,0,0), line 71'
        """
        middle = f", {detail}" if detail else ""
        message = f"{what}: {self}{middle}{self.at_line}"
        return Problem(kind, message, self.line, self.block, self.thread, buffer)


def _tuple(coordinates: Coordinates) -> str:
    return "({},{},{})".format(*coordinates)
