"""Running a kernel on no GPU at all: NVRTC and the PTX emulator, in a worker process."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tileviz.cuda import library
from tileviz.cuda.includes import check_source
from tileviz.cuda.kernel import Array, Kernel
from tileviz.emulator import client
from tileviz.emulator.limits import Limits
from tileviz.emulator.transport import EMULATED_ARCH, Answer, Request
from tileviz.runners.launch import MAX_BUFFER_BYTES, check_launch
from tileviz.runners.protocol import Execution, RunnerInfo, RunnerStatus
from tileviz.workers import WorkerPool
from tileviz.workers.shared import EMULATOR, shared_pool

# What one run may use where its caller says nothing else.
RUN_LIMITS = Limits(trace_bytes=128 << 20)
COMPILE_SECONDS = 30.0

_DEVICE = "PTX emulator on the CPU"


class EmulatorRunner:
    """Compiles the kernel's text to PTX and interprets it, recording every memory access.

    Args:
        pool: The worker processes; those of this process by default.
        limits: What one run may use.
        compile_seconds: Wall-clock seconds for each compile.
    """

    name = "emulator"

    def __init__(
        self,
        *,
        pool: WorkerPool | None = None,
        limits: Limits | None = None,
        compile_seconds: float = COMPILE_SECONDS,
    ) -> None:
        self._pool = pool
        self._limits = limits or RUN_LIMITS
        self._compile_seconds = compile_seconds

    def status(self) -> RunnerStatus:
        """Return whether NVRTC is here; looks at file names only."""
        path = library.find()
        if path is not None:
            return RunnerStatus(self.name, True, f"NVRTC at {path}")
        reason, _, fix = library.missing_reason().partition("; install it with: ")
        return RunnerStatus(self.name, False, reason, fix)

    def memory_bytes(self) -> int:
        """Return the bytes that all buffers of a launch together may take."""
        return MAX_BUFFER_BYTES

    def warm(self) -> None:
        """Start a worker, so that it loads while the caller plans."""
        (self._pool or shared_pool(EMULATOR)).warm()

    def run(
        self,
        kernel: Kernel,
        arrays: Mapping[str, Array],
        *,
        seed: int = 0,
        trace: bool = True,
        on_wait: Callable[[], None] | None = None,
        on_queue: Callable[[int], None] | None = None,
    ) -> Execution:
        """Compile and emulate; see `Runner.run`. Its workers are many: there is no one queue.

        Raises:
            DesignError: The launch is over the limits, or the source includes what it must not.
        """
        check_launch(kernel)
        check_source(kernel.source)
        request = Request(
            source=kernel.source,
            entry=kernel.entry,
            grid=kernel.grid,
            block=kernel.block,
            parameters=kernel.parameters,
            shared_bytes=kernel.shared_bytes,
            limits=self._limits,
            compile_seconds=self._compile_seconds,
            trace=trace,
        )
        answer = client.run(request, arrays, pool=self._pool, on_wait=on_wait)
        return Execution(
            runner=RunnerInfo(self.name, _DEVICE, EMULATED_ARCH, answer.compiler),
            outputs=answer.outputs,
            accesses=answer.accesses,
            problems=answer.problems,
            traced_blocks=answer.traced_blocks,
            static=answer.static,
            resources=answer.resources,
            note=_cut(answer),
        )


def _cut(answer: Answer) -> str:
    """Say what a full trace leaves out; "" where it was not full."""
    if not answer.trace_full:
        return ""
    counted = "later blocks ran uncounted" if answer.traced_blocks else "no block was counted"
    return f"the trace reached its limit: {counted}"
