"""The worker's work: check each program, then time all of them, on a device it owns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tileviz.dtypes import dtype
from tileviz.emulator.problems import Problem
from tileviz.runners.gpu import transport
from tileviz.runners.gpu.arena import POISON, SECOND_POISON, layout, reveal_unwritten
from tileviz.runners.gpu.device import Device, DeviceError
from tileviz.runners.gpu.faults import explain
from tileviz.runners.gpu.loaded import Loaded, Modules, arenas, sharing
from tileviz.runners.gpu.measure import Bench, Hung
from tileviz.runners.gpu.settings import Settings
from tileviz.runners.gpu.stopwatch import Stopwatch
from tileviz.runners.gpu.transport import Answer, Outcome, Request
from tileviz.workers import process
from tileviz.workers.wire import Array, Header

_LEAK_BYTES = 256 << 20
_DISPLAY_SECONDS = 1.0


class Refused(Exception):
    """The request needs more of the device than one request may have."""


class Service:
    """Answers the requests of `tileviz.runners.gpu.client`.

    Args:
        make_device: Makes the device; raises DeviceError where there is none.
    """

    def __init__(self, make_device: Callable[[], Device]) -> None:
        self._make_device = make_device
        self._session: Session | None = None
        self._unavailable = ""

    def prepare(self) -> Header:
        """Make the context; a machine without a usable device is an answer too."""
        try:
            self._session = Session(self._make_device())
        except DeviceError as error:
            self._unavailable = error.message
        return {}

    def handle(self, header: Header, arrays: list[Array]) -> process.Answer:
        """Answer one request: ``look`` for the device, ``run`` for the rest."""
        session = self._session
        if session is None:
            return _reply(Answer(unavailable=self._unavailable), retire=True)
        if header["op"] == "look":
            return _reply(Answer(session.device.facts))
        if header["op"] != "run":
            raise ValueError("unknown operation")
        answer, lost = session.answer(transport.unpack_request(header, arrays))
        return _reply(answer, retire=lost or session.leaking())


class Session:
    """A device in use, with what was loaded on it."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._modules = Modules(device)
        self._free_at_start = device.free_bytes()

    def answer(self, request: Request) -> tuple[Answer, bool]:
        """Run everything; also tell whether the context is lost."""
        if self.device.facts.display:  # its driver ends longer launches, and the screen stands
            limit = min(request.settings.limit_seconds, _DISPLAY_SECONDS)
            request = replace(request, settings=replace(request.settings, limit_seconds=limit))
        loaded: list[Loaded] = []
        answer, lost = self._guarded(request, loaded)
        if not lost:  # freeing memory would wait for a kernel that never ends
            for arena in arenas(loaded):
                arena.release()
        return answer, lost

    def _guarded(self, request: Request, loaded: list[Loaded]) -> tuple[Answer, bool]:
        """Run everything and turn every fault into an answer."""
        outcomes: list[Outcome] = []
        facts = self.device.facts
        try:
            self._check_memory(request)
            for program in request.programs:
                loaded.append(Loaded(self.device, self._modules, program, loaded))
            for item in loaded:
                outcome = check(self.device, item, request.settings)
                outcomes.append(replace(outcome, outputs=_kept_once(outcome.outputs, outcomes)))
            if not request.settings.timing or any(outcome.problems for outcome in outcomes):
                return Answer(facts, outcomes=tuple(outcomes)), False
            probes = self._modules.get(request.probes)
            watch = Stopwatch(self.device, probes, loaded, request)
            return watch.measure(outcomes), False
        except Hung:
            seconds = request.settings.limit_seconds
            problem = Problem(
                "limit", f"the kernel ran for more than {seconds:g} s; it was stopped"
            )
            return Answer(facts, outcomes=_ended(request, outcomes, problem)), True
        except DeviceError as error:
            fault = explain(error.message)
            if fault.kind is None and not error.fatal:
                return Answer(facts, error.message), False
            problem = Problem(fault.kind or "trap", fault.line)
            return Answer(facts, outcomes=_ended(request, outcomes, problem)), error.fatal
        except Refused as error:
            return Answer(facts, str(error)), False

    def leaking(self) -> bool:
        """Return whether much less memory is free than at the start."""
        try:
            return self.device.free_bytes() < self._free_at_start - _LEAK_BYTES
        except DeviceError:
            return True  # a lost context: worse than a leak

    def _check_memory(self, request: Request) -> None:
        """Refuse by size before anything is allocated."""
        needed = sum(layout(program.buffers)[1] for program in sharing(request.programs))
        free, most = self.device.free_bytes(), request.settings.memory_bytes
        allowed = free // 2 if most is None else min(most, free // 2)
        if needed > allowed:
            raise Refused(
                f"the buffers take {_mib(needed)}; one run may take {_mib(allowed)} of the "
                f"{_mib(free)} that are free on the GPU"
            )


def check(device: Device, item: Loaded, settings: Settings) -> Outcome:
    """Run one program, over one poison and where needed over another, and look at its guards.

    Raises:
        DeviceError, Hung: The launch went wrong.
    """
    bench = Bench(device, (0, 0), _nothing, settings)
    entry, buffers = item.program.entry, item.program.buffers
    item.arena.fill(POISON)
    bench.once(item.launch)
    outputs = item.arena.outputs()
    problems = [
        Problem("out_of_bounds", f"{entry} {overrun.message}", buffer=overrun.buffer)
        for overrun in item.arena.overruns()
    ]
    problems += [
        Problem("out_of_bounds", f"{entry} wrote to its input {name}", buffer=name)
        for name in item.arena.written_inputs()
    ]
    hiding = [b.name for b in buffers if b.role == "out" and _hides_poison(b.dtype)]
    if hiding and not problems:
        item.arena.fill(SECOND_POISON)
        bench.once(item.launch)
        again = item.arena.outputs()
        outputs.update({name: reveal_unwritten(outputs[name], again[name]) for name in hiding})
    return Outcome(outputs, tuple(problems), item.usage)


def _kept_once(outputs: Mapping[str, Array], earlier: Sequence[Outcome]) -> dict[str, Array]:
    """Return outputs, with those that an earlier program has to the last bit as that one's."""
    known = [array for outcome in earlier for array in outcome.outputs.values()]
    return {
        name: next((other for other in known if _same(array, other)), array)
        for name, array in outputs.items()
    }


def _same(array: Array, other: Array) -> bool:
    return array.dtype == other.dtype and np.array_equal(array.view(np.uint8), other.view(np.uint8))


def _hides_poison(name: str) -> bool:
    """Whether bytes 0xFF are a legal value of a type, and no NaN."""
    return dtype(name).numpy.kind != "f" and not name.startswith(("bfloat16", "float8"))


def _ended(request: Request, outcomes: Sequence[Outcome], problem: Problem) -> tuple[Outcome, ...]:
    """Return one outcome a program when the work ended early: before, at and after the fault."""
    if len(outcomes) == len(request.programs):  # it ended while they were timed
        return (replace(outcomes[0], problems=(problem,)), *outcomes[1:])
    after = len(request.programs) - len(outcomes) - 1
    return (*outcomes, Outcome(problems=(problem,)), *[Outcome()] * after)


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"


def _reply(answer: Answer, *, retire: bool = False) -> process.Answer:
    header, arrays = transport.pack_answer(answer)
    return {**header, "retire": retire}, arrays


def _nothing() -> None:
    return None
