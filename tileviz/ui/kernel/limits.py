"""What a run may take, read from the constants that enforce it."""

from __future__ import annotations

from tileviz.emulator.driver import TRACED_LANES
from tileviz.runners.emulator import COMPILE_SECONDS, RUN_LIMITS
from tileviz.runners.executions import MAX_STOPS
from tileviz.runners.launch import MAX_BUFFER_BYTES, MAX_PARAMETERS, MAX_SHARED_BYTES
from tileviz.runners.own_kernels import REASON, own_kernels_on_gpu
from tileviz.studies.kernel.design import MAX_SOURCE, MAX_THREADS

# Uploads are looked at up to here: a design file holds the text, its parameters, and quotes.
MAX_UPLOAD = 4 * MAX_SOURCE


def limit_rows() -> tuple[tuple[str, str], ...]:
    """Return pairs (what, how much), for a small table.

    Example:
        >>> dict(limit_rows())["Buffers"]
        '512 MiB together, at most 64 parameters'
    """
    run = RUN_LIMITS
    gpu = "also runs own kernels here" if own_kernels_on_gpu() else REASON
    return (
        ("Source", f"{MAX_SOURCE >> 10} KiB"),
        ("Buffers", f"{MAX_BUFFER_BYTES >> 20} MiB together, at most {MAX_PARAMETERS} parameters"),
        ("Block", f"{MAX_THREADS:,} threads, {MAX_SHARED_BYTES >> 10} KiB of dynamic shared"),
        (
            "Run",
            f"{run.seconds:g} s after {COMPILE_SECONDS:g} s of compiling; "
            f"{run.thread_instructions // 10**9:,} G thread instructions",
        ),
        (
            "Traced",
            f"every block of up to {TRACED_LANES:,} threads, of larger grids a sample; "
            f"{run.trace_bytes >> 20} MiB of addresses; {MAX_STOPS} executions a line in pictures",
        ),
        ("GPU", gpu),
    )
