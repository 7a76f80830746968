"""Which runner takes a kernel, and the one call that runs, verifies and compares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import get_args

from tileviz.cuda.kernel import Array, Kernel
from tileviz.errors import DesignError
from tileviz.runners.emulator import EmulatorRunner
from tileviz.runners.gpu.runner import GpuRunner
from tileviz.runners.inputs import Pattern, make_arrays
from tileviz.runners.protocol import Execution, Runner, RunnerStatus, RunnerUnavailable
from tileviz.runners.results import Run, judge_execution
from tileviz.runners.verify import expected_outputs
from tileviz.runners.warming import On

# A further runner is one line here.
_RUNNERS: dict[str, Callable[[], Runner]] = {"emulator": EmulatorRunner, "gpu": GpuRunner}
# Order in which "auto" tries them.
_PREFERRED = ("gpu", "emulator")


def statuses() -> tuple[RunnerStatus, ...]:
    """Return what every runner says of itself."""
    return tuple(make().status() for make in _RUNNERS.values())


def select_runner(on: On = "auto") -> Runner:
    """Return the runner called ``on``, or the best one that works here.

    Raises:
        DesignError: No such runner, or it does not work here; says why and what to do.
    """
    if on not in get_args(On):
        raise DesignError("on", "must be auto, emulator or gpu", on)
    reasons = []
    for name in _PREFERRED:
        if on in ("auto", name):
            runner = _RUNNERS[name]()
            status = runner.status()
            if status.available:
                return runner
            reasons.append(f"{status.reason}{'; ' + status.fix if status.fix else ''}")
    raise DesignError("on", "; ".join(reversed(reasons)), on)


def run_kernel(
    kernel: Kernel,
    on: On = "auto",
    seed: int = 0,
    *,
    inputs: Mapping[str, Array] | None = None,
    pattern: Pattern = "random",
    trace: bool = True,
    study: str = "kernel",
    on_wait: Callable[[], None] | None = None,
    on_queue: Callable[[int], None] | None = None,
) -> Run:
    """Run a kernel, check every output element, and set prediction beside measurement.

    Args:
        kernel: What to run.
        on: ``"auto"``, ``"emulator"`` or ``"gpu"``. ``"auto"`` takes the GPU where there is one,
            and the emulator where it is busy, lost or too small; the run's note says so.
        seed: Of the inputs, and of the choice of traced blocks.
        inputs: Contents of some inputs by name; the others are made up.
        pattern: How inputs are made up: ``"random"``, ``"index"`` or ``"adversarial"``.
        trace: Whether to record accesses.
        study: The study the kernel belongs to.
        on_wait: Called a few times a second while waiting; what it raises stops the work.
        on_queue: Called with the number of requests that come first, where there is one queue.

    Raises:
        DesignError: The launch is over the limits, an input does not fit, or no runner works.
    """
    runner = select_runner(on)
    runner.warm()
    most = runner.memory_bytes()
    arrays = make_arrays(kernel, seed=seed, pattern=pattern, given=inputs, memory_bytes=most)

    def execute(by: Runner) -> Execution:
        return by.run(kernel, arrays, seed=seed, trace=trace, on_wait=on_wait, on_queue=on_queue)

    beside = ThreadPoolExecutor(1)
    # The reference needs only the inputs: it is computed while the kernel runs elsewhere.
    expected = beside.submit(expected_outputs, kernel, arrays)
    try:
        try:
            execution = execute(runner)
        except RunnerUnavailable as error:
            if on != "auto":
                raise DesignError("on", str(error), on) from error
            emulated = execute(EmulatorRunner())
            instead = f"run on the emulator, not the GPU: {error}"
            execution = replace(emulated, note="; ".join(filter(None, (instead, emulated.note))))
        return judge_execution(kernel, arrays, execution, study=study, expected=expected.result)
    finally:
        beside.shutdown(wait=False)
