"""How much a run may use before it is stopped with a clear message."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Upper bounds of one emulated run; passing any of them is a problem of kind ``limit``.

    Attributes:
        ptx_instructions: PTX instructions in the module, calls expanded.
        thread_instructions: Instructions executed, counted once per thread.
        seconds: Wall-clock seconds of the run.
        arena_bytes: Bytes of all buffers and module variables together.
        trace_bytes: Bytes of recorded addresses.
        local_bytes: Bytes of local memory of the threads that run at once.

    Example:
        >>> Limits(seconds=1.0).thread_instructions
        20000000000
    """

    ptx_instructions: int = 100_000
    thread_instructions: int = 20_000_000_000
    seconds: float = 60.0
    arena_bytes: int = 1 << 30
    trace_bytes: int = 256 << 20
    local_bytes: int = 256 << 20
