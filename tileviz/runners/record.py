"""Run every preset on this machine's GPU and keep what it tells: ``tileviz record``.

Also ``python -m tileviz.runners.record --out FOLDER``, which needs no command-line packages.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tileviz.cuda import nvrtc
from tileviz.cuda.kernel import Kernel
from tileviz.errors import DesignError
from tileviz.runners.bandwidth import measure_bandwidth
from tileviz.runners.gpu.device import Facts
from tileviz.runners.gpu.runner import GpuRunner
from tileviz.runners.history import RecordedCase, Recording, write_recording
from tileviz.runners.inputs import make_arrays
from tileviz.runners.protocol import RunnerUnavailable
from tileviz.runners.results import Run, judge_execution
from tileviz.runners.timing import speedup
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.errors import NotRunnable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tileviz.studies.registry import Preset

BUDGET_SECONDS = 240.0
# The emulator's look at a kernel before its launch; a preset is no stranger.
CHECK_SECONDS = 3.0

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, eq=False)
class Case:
    """A kernel to record.

    Attributes:
        name: The preset.
        study: Its study.
        design: Its document.
        kernel: What it generates.
        baseline: A kernel to time against, in alternation, or None.
        baseline_name: What that is.
        broadcast: The design, where its versions are timed beside a plain copy too.
    """

    name: str
    study: str
    design: dict[str, Any]
    kernel: Kernel
    baseline: Kernel | None = None
    baseline_name: str = ""
    broadcast: BroadcastDesign | None = None


def record_presets(
    folder: Path, *, seed: int = 0, say: Callable[[str], None] = lambda line: None
) -> Path:
    """Run every preset on this machine's GPU and write what it tells into ``folder``.

    Args:
        folder: Made where it is missing.
        seed: Of the inputs.
        say: Called with one line a preset.

    Returns:
        The file.

    Raises:
        DesignError: There is no GPU to use, and why; or the folder cannot be written.
    """
    runner = GpuRunner(count=True, check_seconds=CHECK_SECONDS)
    status = runner.status()
    if not status.available:
        reason = f"{status.reason}; {status.fix}" if status.fix else status.reason
        raise DesignError("gpu", f"nothing to record on: {reason}", None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        facts = runner.facts()
        return write_recording(record(preset_cases(), runner, facts, seed=seed, say=say), folder)
    except RunnerUnavailable as error:
        raise DesignError("gpu", str(error), None) from error
    except OSError as error:
        raise DesignError("out", f"cannot be written: {error}", str(folder)[:120]) from error


def record(
    cases: Iterable[Case | RecordedCase],
    runner: GpuRunner,
    facts: Facts,
    *,
    seed: int = 0,
    budget: float = BUDGET_SECONDS,
    say: Callable[[str], None] = lambda line: None,
    clock: Callable[[], float] = time.monotonic,
) -> Recording:
    """Run cases one after another, within a budget.

    Args:
        cases: What to run; those that cannot run come as they are to be recorded.
        runner: The GPU's.
        facts: The device.
        seed: Of the inputs.
        budget: Seconds after which no further case is begun.
        say: Called with one line a case.
        clock: Seconds; for tests.
    """
    start = clock()
    done: list[RecordedCase] = []
    for case in cases:
        if isinstance(case, RecordedCase):
            recorded = case
        elif clock() - start > budget:
            reason = f"no time was left of {budget:g} s"
            recorded = RecordedCase(case.name, case.study, case.design, skipped=reason)
        else:
            recorded = record_case(case, runner, seed)
            if case.broadcast is not None:
                late = clock() - start > budget
                recorded = _with_bandwidth(recorded, case.broadcast, runner, late)
        done.append(recorded)
        for line in lines_of(recorded):
            say(line)
    return Recording(
        recorded=datetime.now(timezone.utc).date().isoformat(),
        device=facts.name,
        facts={**asdict(facts), "arch": facts.arch},
        versions=versions(facts),
        commit=commit(),
        seconds=round(clock() - start, 1),
        cases=tuple(done),
    )


def record_case(case: Case, runner: GpuRunner, seed: int) -> RecordedCase:
    """Run one case; what keeps it from running is recorded too."""
    kernels = [case.kernel] + ([case.baseline] if case.baseline is not None else [])
    try:
        given = [(kernel, make_arrays(kernel, seed=seed)) for kernel in kernels]
        executions = runner.run_together(given, seed=seed)
    except (DesignError, RunnerUnavailable) as error:
        return RecordedCase(case.name, case.study, case.design, seed, skipped=str(error))
    runs = [
        judge_execution(kernel, arrays, execution, study=case.study)
        for (kernel, arrays), execution in zip(given, executions, strict=True)
    ]
    return RecordedCase(
        case.name,
        case.study,
        case.design,
        seed,
        run=runs[0].to_json(),
        baseline=case.baseline_name if len(runs) > 1 else "",
        speedup=_compared(runs),
    )


def _with_bandwidth(
    recorded: RecordedCase, design: BroadcastDesign, runner: GpuRunner, late: bool
) -> RecordedCase:
    """Time the versions of a broadcast design beside a plain copy, if there is time."""
    if late:
        return replace(recorded, bandwidth_skipped="no time was left")
    try:
        measured = measure_bandwidth(design, runner, seed=recorded.seed)
    except (DesignError, NotRunnable, RunnerUnavailable) as error:
        return replace(recorded, bandwidth_skipped=str(error))
    return replace(recorded, bandwidth=measured.to_json())


def _compared(runs: Sequence[Run]) -> str:
    if len(runs) < 2:
        return ""
    ours, theirs = runs[0].timing, runs[1].timing
    if ours is None or theirs is None or not (runs[0].verified and runs[1].verified):
        return "not comparable: one of the two is not right, or was not timed"
    return speedup(theirs, ours).statement


def lines_of(case: RecordedCase) -> list[str]:
    """Return the lines about a recorded case: its run, and its bandwidth where that was asked."""
    lines = [line_of(case)]
    if case.bandwidth_skipped:
        lines.append(f"{case.name}: bandwidth skipped ({case.bandwidth_skipped})")
    if case.bandwidth is not None:
        timed = [f"{time['version']} {time['us']:.1f} us" for time in case.bandwidth["times"]]
        copied = case.bandwidth["copy_us"]
        against = "no copy was timed" if copied is None else f"a plain copy {copied:.1f} us"
        lines.append(f"{case.name}: bandwidth: {', '.join([*timed, against])}")
    return lines


def line_of(case: RecordedCase) -> str:
    """Return one line about a recorded case's run.

    Example:
        >>> line_of(RecordedCase("demo", "permute", {}, skipped="no kernel"))
        'demo: skipped (no kernel)'
    """
    if case.run is None:
        return f"{case.name}: skipped ({case.skipped})"
    timing = case.run["timing"]
    verdict = "verified" if case.run["verified"] else "NOT VERIFIED"
    if timing is None:
        return f"{case.name}: {verdict}, not timed"
    spread = f"{timing['median_us']:.1f} us ({timing['p10_us']:.1f} to {timing['p90_us']:.1f})"
    floor = "" if timing["resolved"] else ", at the floor of a launch"
    return f"{case.name}: {verdict}, {spread}, {timing['mode']}{floor}"


def preset_cases() -> Iterator[Case | RecordedCase]:
    """Return every preset of every study, planned and generated one by one."""
    from tileviz.studies.registry import presets

    for preset in presets():
        yield preset_case(preset)


def preset_case(preset: Preset) -> Case | RecordedCase:
    """Plan a preset and generate its kernel; a preset without one says why."""
    from tileviz.studies.registry import study_of

    design = preset.design
    study, document = study_of(design), design.document()

    def skipped(reason: str) -> RecordedCase:
        return RecordedCase(preset.name, preset.study, document, skipped=reason)

    if not study.runnable:
        return skipped(f"the study {preset.study} generates no kernel")
    try:
        plan = study.plan(design)
        kernel = study.kernel(plan)
    except NotRunnable as error:
        return skipped(str(error))
    baseline, name = _baseline(preset.study, plan)
    broadcast = design if isinstance(design, BroadcastDesign) else None
    return Case(preset.name, preset.study, document, kernel, baseline, name, broadcast)


def _baseline(study: str, plan: Any) -> tuple[Kernel | None, str]:
    """Return what a plan should beat: for a permute, the move without a swizzle."""
    if study != "permute" or not plan.schedules or plan.chosen is plan.schedules[0]:
        return None, ""
    from tileviz.studies.permute.kernel import kernel

    try:
        return kernel(plan, 0), "k = 0"
    except NotRunnable:  # then there is nothing to compare with
        return None, ""


def versions(facts: Facts) -> dict[str, str]:
    """Return the versions of what took part."""
    found = {"python": platform.python_version(), "binding": facts.library}
    found["driver"] = f"CUDA {facts.driver_text}"
    found["nvrtc"] = "{}.{}".format(*nvrtc.version())
    for name in ("tileviz", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "a checkout"
    return found


def commit() -> str:
    """Return the commit of this checkout, with a mark where files differ; "" where unknown."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=20,
            cwd=_ROOT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def main() -> int:
    """Run the command and return its exit status: 2 where there is nothing to record on."""
    parser = argparse.ArgumentParser(prog="python -m tileviz.runners.record")
    parser.add_argument("--out", required=True, type=Path, help="folder of the recordings")
    parser.add_argument("--seed", type=int, default=0, help="seed of the inputs")
    given = parser.parse_args()
    try:
        print(record_presets(given.out, seed=given.seed, say=print))
    except DesignError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
