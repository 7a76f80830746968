"""Which runner takes a kernel, and the one call that runs, verifies and compares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from tileviz.cuda.kernel import Array, Kernel
from tileviz.errors import DesignError
from tileviz.runners.emulator import EmulatorRunner
from tileviz.runners.inputs import Pattern, make_arrays
from tileviz.runners.protocol import Runner, RunnerStatus
from tileviz.runners.results import Run, judge_execution
from tileviz.runners.warming import On

# In order of preference for "auto"; a further runner is one line here.
_RUNNERS: dict[str, type[EmulatorRunner]] = {"emulator": EmulatorRunner}
_GPU_LATER = "the GPU runner is not part of this version; use the emulator, which needs no GPU"


def statuses() -> tuple[RunnerStatus, ...]:
    """Return what every runner says of itself."""
    gpu = RunnerStatus("gpu", False, _GPU_LATER)
    return (*(make().status() for make in _RUNNERS.values()), gpu)


def select_runner(on: On = "auto") -> Runner:
    """Return the runner called ``on``, or the best one that works here.

    Raises:
        DesignError: No such runner, or it does not work here; says why and what to do.
    """
    if on not in get_args(On):
        raise DesignError("on", "must be auto, emulator or gpu", on)
    if on == "gpu":
        raise DesignError("on", _GPU_LATER, on)
    reasons = []
    for name, make in _RUNNERS.items():
        if on in ("auto", name):
            runner = make()
            status = runner.status()
            if status.available:
                return runner
            reasons.append(f"{status.reason}{'; ' + status.fix if status.fix else ''}")
    raise DesignError("on", "; ".join(reasons), on)


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
) -> Run:
    """Run a kernel, check every output element, and set prediction beside measurement.

    Args:
        kernel: What to run.
        on: ``"auto"``, ``"emulator"`` or ``"gpu"``.
        seed: Of the inputs, and of the choice of traced blocks.
        inputs: Contents of some inputs by name; the others are made up.
        pattern: How inputs are made up: ``"random"``, ``"index"`` or ``"adversarial"``.
        trace: Whether to record accesses.
        study: The study the kernel belongs to.
        on_wait: Called a few times a second while waiting; what it raises stops the work.

    Raises:
        DesignError: The launch is over the limits, an input does not fit, or no runner works.
    """
    runner = select_runner(on)
    runner.warm()
    arrays = make_arrays(kernel, seed=seed, pattern=pattern, given=inputs)
    execution = runner.run(kernel, arrays, seed=seed, trace=trace, on_wait=on_wait)
    return judge_execution(kernel, arrays, execution, study=study)
