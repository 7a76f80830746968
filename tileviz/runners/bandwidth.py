"""Timing a broadcast design on a GPU: its versions and a plain copy, in alternation, cold L2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from tileviz.cuda.kernel import Array, Kernel
from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.runners.emulator import EmulatorRunner
from tileviz.runners.gpu.runner import GpuRunner
from tileviz.runners.history import recordings
from tileviz.runners.inputs import make_arrays
from tileviz.runners.protocol import Execution, RunnerUnavailable, Timing
from tileviz.runners.verify import compare_outputs, expected_outputs
from tileviz.runners.warming import On
from tileviz.studies.broadcast.bandwidth import (
    BandwidthRow,
    bandwidth_rows,
    copy_kernel,
    for_device,
)
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.kernel import kernel
from tileviz.studies.broadcast.measured import Measured, VersionTime
from tileviz.studies.broadcast.plan import BroadcastPlan, plan
from tileviz.studies.broadcast.portion import VERSIONS, Version
from tileviz.studies.errors import NotRunnable

# Here and in the worker: x, the outputs, and what is expected of them.
_HOST_COPIES = 11
_MEMINFO = Path("/proc/meminfo")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Bandwidth:
    """The whole table, as pages, shell and Python show it.

    Attributes:
        rows: Published, recorded and live rows, those of one shape together.
        not_measured: Why nothing was measured here and now; "" where something was.
    """

    rows: tuple[BandwidthRow, ...]
    not_measured: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the ``bandwidth`` object of the results."""
        return {"rows": [row.to_json() for row in self.rows], "not_measured": self.not_measured}


@dataclass(frozen=True)
class Bench:
    """Who measures, and who is told.

    Attributes:
        runner: The GPU's.
        emulator: Looks at the beginning of every version first.
        seed: Of the inputs.
        say: Called with what is being done now.
        on_wait: Called while waiting; what it raises stops the work.
        on_queue: Called with the number of requests that come first.
    """

    runner: GpuRunner
    emulator: EmulatorRunner
    seed: int = 0
    say: Say = lambda stage: None
    on_wait: Callable[[], None] | None = None
    on_queue: Callable[[int], None] | None = None


def measure_bandwidth(
    design: BroadcastDesign,
    runner: GpuRunner | None = None,
    *,
    emulator: EmulatorRunner | None = None,
    seed: int = 0,
    say: Say = lambda stage: None,
    on_wait: Callable[[], None] | None = None,
    on_queue: Callable[[int], None] | None = None,
) -> Measured:
    """Time every version of a design, whole, beside a plain copy of its x.

    The beginning of each version is run in the emulator first, which sees every access; then all
    elements of each are compared, and only what is right is timed.

    Args:
        design: Planned for the device's own multiprocessors, whatever it says.
        runner: The GPU's; this process's own by default.
        emulator: The emulator's; this process's own by default.
        seed: Of the inputs.
        say: Called with what is being done now.
        on_wait: Called while waiting; what it raises stops the work.
        on_queue: Called with the number of requests that come first, when it changes.

    Returns:
        The times. What has none is in ``missing``, with the reason.

    Raises:
        DesignError: There is too little memory for the shape, here or on the device.
        NotRunnable: The design has no kernel at all; the message says why.
        RunnerUnavailable: There is no GPU to use now.
    """
    runner = runner or GpuRunner()
    facts = runner.facts()
    planned = plan(for_device(design, min(max(facts.multiprocessors, 1), 1024)))
    kernels, missing = _kernels(planned)
    _check_host_memory(planned.design)
    bench = Bench(runner, emulator or EmulatorRunner(), seed, say, on_wait, on_queue)
    for version in list(kernels):
        say(f"checking the beginning of {version} in the emulator")
        if fault := _fault(planned, version, bench):
            missing[version] = fault
            del kernels[version]
    times, copy_us, wrong = _timed(planned.design, kernels, bench) if kernels else ({}, None, {})
    missing.update(wrong)
    return Measured(
        design=planned.design,
        device=facts.name,
        date=datetime.now(timezone.utc).date().isoformat(),
        source="live",
        copy_us=copy_us,
        times=tuple(times[version] for version in VERSIONS if version in times),
        missing=tuple((version, missing[version]) for version in VERSIONS if version in missing),
    )


def find_bandwidth(
    design: BroadcastDesign,
    folder: Path,
    *,
    on: On = "auto",
    seed: int = 0,
    say: Say = lambda stage: None,
) -> Bandwidth:
    """Measure a design where there is a GPU, and return the whole table.

    Args:
        design: The design.
        folder: Of the recordings.
        on: ``auto`` measures where there is a GPU, ``gpu`` insists.
        seed: Of the inputs.
        say: Called with what is being done now.

    Raises:
        DesignError: There is no GPU and one is insisted on; or the emulator, which has no time.
        NotRunnable: The design has no kernel at all.
    """
    if on not in ("auto", "gpu"):
        raise DesignError("on", "must be auto or gpu: the emulator says nothing of time", on)
    runner = GpuRunner()
    status = runner.status()
    why = "; ".join(filter(None, (status.reason, status.fix)))
    if status.available:
        try:
            measured = measure_bandwidth(design, runner, seed=seed, say=say)
            return bandwidth_table(folder, (measured,))
        except RunnerUnavailable as error:
            why = str(error)
    if on == "gpu":
        raise DesignError("on", why, on)
    return bandwidth_table(folder, why=why)


def bandwidth_table(folder: Path, live: tuple[Measured, ...] = (), why: str = "") -> Bandwidth:
    """Return the table of what is published, recorded in a folder, and measured just now.

    Args:
        folder: Of the recordings.
        live: Measurements of this process.
        why: Why nothing is measured here and now.

    Raises:
        ValueError: A file of the folder is no recording.

    Example:
        >>> [row.source for row in bandwidth_table(Path("/nonexistent"), why="no GPU").rows]
        ['published', 'published', 'published', 'published']
    """
    return Bandwidth(bandwidth_rows([*live, *recorded_bandwidths(folder)]), why)


def recorded_bandwidths(folder: Path) -> tuple[Measured, ...]:
    """Return every measurement that the recordings in a folder keep.

    Raises:
        ValueError: A file is no recording.
    """
    return tuple(
        Measured.from_json(case.bandwidth, device=recording.device, date=recording.recorded)
        for recording in recordings(folder)
        for case in recording.cases
        if case.bandwidth is not None
    )


def _kernels(planned: BroadcastPlan) -> tuple[dict[Version, Kernel], dict[Version, str]]:
    """Return the kernels of the whole design that differ, and why the others are missing."""
    found: dict[Version, Kernel] = {}
    missing: dict[Version, str] = {}
    for version in VERSIONS:
        if version == "cinn" and not planned.cinn.applies:
            missing[version] = "the tactic declines: its kernel is the general one, before"
            continue
        try:
            found[version] = kernel(planned, version, whole=True)
        except NotRunnable as error:
            missing[version] = str(error)
    if not found:
        raise NotRunnable("; ".join(dict.fromkeys(missing.values())))
    return found, missing


def _fault(planned: BroadcastPlan, version: Version, bench: Bench) -> str:
    """Run the beginning of a version in the emulator; return what is wrong with it, or ""."""
    try:
        part = kernel(planned, version, whole=False)
    except NotRunnable:  # too large a smallest part: then the guards on the device have to do
        return ""
    done = bench.emulator.run(
        part, make_arrays(part, seed=bench.seed), trace=False, on_wait=bench.on_wait
    )
    faults = [p for p in done.problems if p.kind not in ("limit", "unsupported")]
    return f"not launched: {faults[0].message}" if faults else ""


def _timed(
    design: BroadcastDesign, kernels: Mapping[Version, Kernel], bench: Bench
) -> tuple[dict[Version, VersionTime], float | None, dict[Version, str]]:
    """Run and time kernels beside a copy; return times, the copy's, and what has none and why."""
    first = next(iter(kernels.values()))
    bench.say("making inputs")
    memory = bench.runner.memory_bytes()
    arrays = make_arrays(first, seed=bench.seed, memory_bytes=memory)
    copy = copy_kernel(design)
    copied = {"x": arrays["x"], "y": arrays["y"]}
    bench.say("compiling, running and timing on the GPU")
    executions = bench.runner.run_together(
        [*((one, arrays) for one in kernels.values()), (copy, copied)],
        seed=bench.seed,
        trace=False,
        checked="the beginning of every version was checked in the emulator",
        on_wait=bench.on_wait,
        on_queue=bench.on_queue,
    )
    bench.say("comparing every element")
    copy_run = executions[-1]
    copy_time = _cold(copy_run)
    if not _is_copy(copy_run, arrays["x"]) or copy_time is None:
        reason = _unresolved(copy_run) or "the copy did not copy"
        return {}, None, dict.fromkeys(kernels, f"no copy to compare with: {reason}")
    expected = expected_outputs(first, arrays)
    times: dict[Version, VersionTime] = {}
    missing: dict[Version, str] = {}
    right: dict[int, bool] = {}
    for (version, one), done in zip(kernels.items(), executions, strict=False):
        y = done.outputs.get("y")
        if y is not None and id(y) not in right:  # equal outputs are one array
            right[id(y)] = bool(compare_outputs(one, expected, done.outputs).verified)
        time = _cold(done)
        if y is not None and not right[id(y)]:
            missing[version] = "its output is wrong, so its time says nothing"
        elif y is None or time is None:
            missing[version] = _unresolved(done)
        else:
            times[version] = VersionTime(version, time.median_us, time.p10_us, time.p90_us, time.n)
    return times, copy_time.median_us, missing


def _cold(done: Execution) -> Timing | None:
    """Return the cold series of a run, where it stands out from the floor of a launch."""
    timings = () if done.gpu is None else done.gpu.timings
    cold = [timing for timing in timings if timing.mode == "cold" and timing.launches == 1]
    return cold[0] if cold and cold[0].resolved else None


def _unresolved(done: Execution) -> str:
    """Say why a run has no time to show."""
    if done.problems:
        return done.problems[0].message
    if done.gpu is None or not done.gpu.timings:
        return "not timed: another kernel of the same run failed"
    return "too short to time: a launch alone takes almost as long"


def _is_copy(done: Execution, x: Array) -> bool:
    y = done.outputs.get("y")
    return y is not None and np.array_equal(y.view(np.uint8), x.view(np.uint8))


def _check_host_memory(design: BroadcastDesign) -> None:
    """Refuse a shape that would have this machine swap.

    Raises:
        DesignError: Names what is needed and what is free.
    """
    needed = _HOST_COPIES * design.elements * dtype_of(design.dtype).bytes
    free = _free_host_bytes()
    if free is not None and needed > free:
        message = f"measuring takes {needed >> 20} MiB of host memory; {free >> 20} MiB are free"
        raise DesignError("out", message, list(design.out))


def _free_host_bytes() -> int | None:
    """Return the memory that can be had without swapping, or None where that is not told."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name == "MemAvailable" and value.split()[:1]:
            return int(value.split()[0]) << 10
    return None
