"""What a run gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from tileviz.emulator.problems import Coordinates, Problem
from tileviz.memory import Accesses


@dataclass(frozen=True)
class Statistics:
    """What a run executed.

    Attributes:
        thread_instructions: Instructions, counted once per thread.
        warp_instructions: Instructions, counted once per warp with a thread in it.
        seconds: Wall-clock seconds of the run, parsing not included.
        parse_seconds: Wall-clock seconds from text to the first instruction.
    """

    thread_instructions: int
    warp_instructions: int
    seconds: float
    parse_seconds: float


@dataclass(frozen=True)
class StaticAccess:
    """Memory instructions in the PTX text, however often they run.

    Attributes:
        line: Source line, or None.
        space: ``shared``, ``global`` or ``generic``.
        op: As in `Accesses.op`.
        bytes: Bytes per lane.
        count: Instructions of this kind at this line.
    """

    line: int | None
    space: str
    op: str
    bytes: int
    count: int


@dataclass(frozen=True, eq=False)
class Emulation:
    """The outcome of a run.

    Attributes:
        outputs: Content of every ``out`` and ``inout`` buffer, flat, by name; as far as the run
            came, if a problem ended it.
        accesses: Executed memory instructions of the traced blocks, grouped.
        problems: Everything that went wrong, in order of discovery.
        traced_blocks: ``"all"``, or the blocks whose accesses were recorded.
        statistics: What was executed.
        static: Memory instructions in the PTX, so that a merge by the compiler is visible.
        trace_full: Whether the trace reached its limit: what came after it ran without a trace.
    """

    outputs: dict[str, NDArray[Any]]
    accesses: tuple[Accesses, ...]
    problems: tuple[Problem, ...]
    traced_blocks: Literal["all"] | tuple[Coordinates, ...]
    statistics: Statistics
    static: tuple[StaticAccess, ...]
    trace_full: bool = False
