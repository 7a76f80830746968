"""The GPU as a runner: checked in the emulator, compiled for the device, run and timed there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tileviz.cuda.includes import check_source
from tileviz.cuda.kernel import Array, Kernel
from tileviz.emulator.limits import Limits
from tileviz.emulator.problems import Problem
from tileviz.runners.emulator import EmulatorRunner
from tileviz.runners.gpu import counters
from tileviz.runners.gpu.arguments import misfit
from tileviz.runners.gpu.client import Fatal, GpuQueue, shared_queue
from tileviz.runners.gpu.compiling import CompiledText, DeviceCompiler
from tileviz.runners.gpu.device import Facts
from tileviz.runners.gpu.faults import Fault
from tileviz.runners.gpu.look import look
from tileviz.runners.gpu.patterns import CycleStudy
from tileviz.runners.gpu.report import make_report
from tileviz.runners.gpu.settings import Settings
from tileviz.runners.gpu.transport import Answer, Outcome, Program, Request
from tileviz.runners.launch import MAX_BUFFER_BYTES, buffer_bytes, check_launch
from tileviz.runners.protocol import Execution, RunnerInfo, RunnerStatus, RunnerUnavailable
from tileviz.workers import WorkerPool

_TRACE_BYTES = 128 << 20
_MOST_LOG = 8000
# What the emulator could not do says nothing of the kernel.
_UNCHECKED = ("compile", "unsupported", "limit")
# These are noted, and the kernel is safe to launch.
_HARMLESS = ("race", "uninitialised")


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A kernel on its way to the device: compiled, and looked at by the emulator."""

    kernel: Kernel
    arrays: Mapping[str, Array]
    compiled: CompiledText
    emulated: Execution
    checked: str
    traced: bool

    @property
    def program(self) -> Program:
        kernel = self.kernel
        inputs = {b.name: self.arrays[b.name] for b in kernel.buffers if b.role != "out"}
        return Program(
            kernel.entry,
            kernel.grid,
            kernel.block,
            kernel.parameters,
            kernel.shared_bytes,
            self.compiled.images,
            inputs,
        )

    @property
    def info(self) -> tuple[str, str]:
        """What it was compiled for, and by what."""
        target = self.compiled.target
        return target.real or target.virtual, self.compiled.compiler


class GpuRunner:
    """Runs kernels on the device ``TILEVIZ_GPU`` (0), after the emulator has seen every access.

    Args:
        queue: The worker's queue; this process's own by default.
        pool: The compiler's and emulator's workers; this process's own by default.
        settings: Limits and goals.
        count: Whether to read hardware counters too, where ``ncu`` is found: takes seconds.
        check_seconds: What the emulator may take to look at every index before a launch; what
            takes longer is launched unchecked, and said to be.
    """

    name = "gpu"

    def __init__(
        self,
        *,
        queue: GpuQueue | None = None,
        pool: WorkerPool | None = None,
        settings: Settings | None = None,
        count: bool = False,
        check_seconds: float = 5.0,
    ) -> None:
        self._queue = queue or shared_queue()
        self._settings = settings or Settings()
        self._count = count
        limits = Limits(seconds=check_seconds, trace_bytes=_TRACE_BYTES)
        self._emulator = EmulatorRunner(pool=pool, limits=limits)
        self._compiler = shared_compiler() if pool is None else DeviceCompiler(pool)

    def status(self) -> RunnerStatus:
        """Return whether there is a device PyCUDA can use; makes no context."""
        found = look()
        if isinstance(found, Fault):
            return RunnerStatus(self.name, False, found.message, found.fix)
        compiler = self._emulator.status()
        if not compiler.available:
            return RunnerStatus(self.name, False, compiler.reason, compiler.fix)
        reason = f"{found.name}, {found.arch}, driver for CUDA {found.driver_text}"
        return RunnerStatus(self.name, True, f"{reason}, {found.library}")

    def facts(self) -> Facts:
        """Return what the device says of itself.

        Raises:
            RunnerUnavailable: There is none to use, and why.
        """
        return self._queue.facts()

    def memory_bytes(self) -> int:
        """Return the bytes that all buffers of a launch together may take: half of the device's."""
        try:
            return max(MAX_BUFFER_BYTES, self.facts().memory_bytes // 2)
        except RunnerUnavailable:
            return MAX_BUFFER_BYTES

    def warm(self) -> None:
        """Start the workers, so that they load while the caller plans."""
        self._emulator.warm()
        self._queue.pool.warm()

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
        """Check, compile, run and time; see `Runner.run`.

        Args:
            kernel: The kernel.
            arrays: Flat content of every buffer by name. Not changed.
            seed: Of the choice of traced blocks.
            trace: Whether the emulator records accesses.
            on_wait: Called while waiting; what it raises stops the work.
            on_queue: Called with the number of requests that come first, when it changes.

        Raises:
            DesignError: The launch is over the limits, or the source includes what it must not.
            RunnerUnavailable: Not the kernel's fault: no device, no memory, a full queue.
        """
        (done,) = self.run_together(
            [(kernel, arrays)], seed=seed, trace=trace, on_wait=on_wait, on_queue=on_queue
        )
        return done

    def run_together(
        self,
        kernels: Sequence[tuple[Kernel, Mapping[str, Array]]],
        *,
        seed: int = 0,
        trace: bool = True,
        checked: str = "",
        on_wait: Callable[[], None] | None = None,
        on_queue: Callable[[int], None] | None = None,
    ) -> list[Execution]:
        """Run several kernels and time them in alternation, A B A B, so that they compare.

        Args:
            kernels: Each with its arrays; those that are the same objects are sent once, and
                kernels that read and write alike share memory on the device.
            seed: Of the choice of traced blocks.
            trace: Whether accesses are recorded by the emulator, and counted by the hardware.
            checked: What has been checked already; "" to have the emulator look at every access.
            on_wait: As `run`.
            on_queue: As `run`.

        Raises:
            DesignError, RunnerUnavailable: As `run`.
        """
        memory = self.memory_bytes()
        for kernel, _ in kernels:
            check_launch(kernel, memory_bytes=memory)
            check_source(kernel.source)
        facts = self._queue.facts()
        found: list[Execution | _Prepared] = [
            self._prepare(
                kernel, arrays, facts, checked or _beyond_emulator(kernel), seed, trace, on_wait
            )
            for kernel, arrays in kernels
        ]
        prepared = [item for item in found if isinstance(item, _Prepared)]
        executions = iter(self._launch(prepared, facts, on_wait, on_queue) if prepared else ())
        return [item if isinstance(item, Execution) else next(executions) for item in found]

    def _prepare(
        self,
        kernel: Kernel,
        arrays: Mapping[str, Array],
        facts: Facts,
        checked: str,
        seed: int,
        trace: bool,
        on_wait: Callable[[], None] | None,
    ) -> _Prepared | Execution:
        """Compile a kernel and have the emulator look at it; an execution where it must not run."""
        compiled = self._compiler.compile(kernel.source, kernel.entry, facts)
        target = compiled.target
        info = RunnerInfo(self.name, facts.name, target.real or target.virtual, compiled.compiler)
        if compiled.problems:
            return Execution(info, problems=compiled.problems)
        wrong = misfit(compiled.images.ptx.decode(), kernel.entry, kernel.parameters)
        if wrong is not None:
            return Execution(info, problems=(Problem("limit", wrong),))
        if checked:
            return _Prepared(kernel, arrays, compiled, Execution(info), checked, trace)
        emulated = self._emulator.run(kernel, arrays, seed=seed, trace=trace, on_wait=on_wait)
        unchecked = [p for p in emulated.problems if p.kind in _UNCHECKED]
        if any(p.kind not in (*_UNCHECKED, *_HARMLESS) for p in emulated.problems):
            note = "not launched: the emulator, which sees every access first, found a fault"
            return replace(emulated, runner=info, outputs={}, note=note)
        checked = "every access was checked in the emulator first"
        if unchecked:
            checked = f"not checked beforehand: {unchecked[0].message}"
        return _Prepared(kernel, arrays, compiled, emulated, checked, trace)

    def _launch(
        self,
        prepared: Sequence[_Prepared],
        facts: Facts,
        on_wait: Callable[[], None] | None,
        on_queue: Callable[[int], None] | None,
    ) -> list[Execution]:
        study = CycleStudy(prepared[0].emulated.accesses)
        timed = self._settings.timing
        request = Request(
            tuple(item.program for item in prepared),
            self._settings,
            self._compiler.probes(facts) if timed else Request(()).probes,
            study.patterns if timed and study.needed else (),
        )
        try:
            answer = self._queue.run(request, on_wait=on_wait, on_queue=on_queue)
        except Fatal as error:
            problem = Problem(error.kind, str(error))
            failed = Outcome(problems=(problem,))
            answer = Answer(facts, outcomes=(failed, *[Outcome()] * (len(prepared) - 1)))
        return [
            self._execution(item, facts, answer, outcome, study if item is prepared[0] else None)
            for item, outcome in zip(prepared, answer.outcomes, strict=True)
        ]

    def _execution(
        self,
        item: _Prepared,
        facts: Facts,
        answer: Answer,
        outcome: Outcome,
        study: CycleStudy | None,
    ) -> Execution:
        counted = bool(answer.cycles) and min(answer.cycles) > 0
        report = make_report(
            facts,
            answer,
            outcome,
            moved_bytes=_moved_bytes(item.kernel),
            cycles=study.rows(answer.cycles) if study is not None and counted else (),
            calibration=study.calibration(answer.cycles) if study is not None and counted else {},
            checked=item.checked,
            log=item.compiled.log[:_MOST_LOG],
        )
        if self._count and item.traced and not outcome.problems:
            read, note = counters.count(item.program)
            report = replace(report, counters=read, counters_note=note)
        noted = tuple(p for p in item.emulated.problems if p.kind in _HARMLESS)
        arch, compiler = item.info
        return Execution(
            runner=RunnerInfo(self.name, facts.name, arch, compiler),
            outputs=outcome.outputs,
            accesses=item.emulated.accesses,
            problems=(*outcome.problems, *noted),
            traced_blocks=item.emulated.traced_blocks,
            static=item.emulated.static,
            resources=item.compiled.resources or item.emulated.resources,
            timing=report.timing,
            gpu=report,
            note=item.emulated.note,
        )


def _beyond_emulator(kernel: Kernel) -> str:
    """Say why the emulator cannot look at a kernel first; "" where it can."""
    size = sum(map(buffer_bytes, kernel.buffers))
    if size <= MAX_BUFFER_BYTES:
        return ""
    held = f"the emulator holds {MAX_BUFFER_BYTES >> 20} MiB"
    return f"not checked beforehand: the buffers take {size >> 20} MiB, {held}"


def _moved_bytes(kernel: Kernel) -> int:
    """Return the fewest bytes a kernel can move: every input once, every output once."""
    return sum(buffer_bytes(b) * (2 if b.role == "inout" else 1) for b in kernel.buffers)


_compiler = DeviceCompiler()


def shared_compiler() -> DeviceCompiler:
    """Return this process's compiler for its GPU."""
    return _compiler
