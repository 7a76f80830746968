"""All timings of a request: kernels in alternation, beside the floor, a copy and the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tileviz.runners.gpu.device import (
    Action,
    Argument,
    Device,
    DeviceError,
    Launch,
    Pointer,
    Value,
)
from tileviz.runners.gpu.loaded import Loaded, arenas
from tileviz.runners.gpu.measure import Bench
from tileviz.runners.gpu.patterns import CyclePattern
from tileviz.runners.gpu.transport import Answer, Outcome, Request, Series
from tileviz.runners.timing import Samples, summarise

_LEAST_FLUSH = 64 << 20
_MOST_COPY = 256 << 20
_COPIES = 20
_SPIN_NS = 2_000_000  # longer than the host needs to queue a batch
_CLOCK_NS = 1_000_000
_CYCLE_WARPS = 4  # one a scheduler: a single warp cannot keep shared memory busy
_CYCLE_ACCESSES = 256


@dataclass(frozen=True)
class _Scratch:
    """Device memory for measuring: overwritten to empty the cache, and copied for the ceiling."""

    flush: Pointer
    source: Pointer
    target: Pointer
    small: Pointer

    @classmethod
    def on(cls, device: Device) -> _Scratch:
        l2, free = device.facts.l2_bytes, device.free_bytes()
        flush = min(max(2 * l2, _LEAST_FLUSH), free // 4)
        copied = min(max(4 * l2, _LEAST_FLUSH), _MOST_COPY, free // 8)
        made: list[Pointer] = []
        try:
            for size in (flush, copied, copied, 1 << 16):
                made.append(Pointer(device.allocate(size), size))
        except BaseException:
            for pointer in made:
                device.release(pointer.address)
            raise
        return cls(*made)

    def release(self, device: Device) -> None:
        for pointer in (self.flush, self.source, self.target, self.small):
            device.release(pointer.address)


class Stopwatch:
    """Times the programs of one request.

    Args:
        device: Where.
        probes: The module of the measuring kernels.
        loaded: The programs, checked.
        request: Its settings and patterns.
    """

    def __init__(
        self, device: Device, probes: Any, loaded: Sequence[Loaded], request: Request
    ) -> None:
        self._device, self._probes = device, probes
        self._loaded, self._request = loaded, request

    def measure(self, outcomes: Sequence[Outcome]) -> Answer:
        """Return the answer with everything measured.

        Raises:
            DeviceError, Hung: A launch went wrong.
        """
        scratch = _Scratch.on(self._device)
        try:
            answer = self._measured(outcomes, scratch)
        except DeviceError:  # after a launch that hangs, freeing memory would hang too
            scratch.release(self._device)
            raise
        scratch.release(self._device)
        return answer

    def _measured(self, outcomes: Sequence[Outcome], scratch: _Scratch) -> Answer:
        spin = self._probe("probe_spin", (Value("uint64", _SPIN_NS),))
        flush = (scratch.flush.address, scratch.flush.bytes)
        bench = Bench(self._device, flush, spin, self._request.settings)
        for arena in arenas(self._loaded):
            arena.save()
            arena.fill()
        self._warm_up(bench)
        clocks = [self._clock(bench, scratch)]
        series = self._series(bench, scratch)
        copy = self._copy(bench, scratch)
        cycles = tuple(self._cycles(bench, scratch, pattern) for pattern in self._request.patterns)
        clocks.append(self._clock(bench, scratch))
        timed = (
            replace(outcome, series=tuple(each))
            for outcome, each in zip(outcomes, series, strict=True)
        )
        return Answer(
            facts=self._device.facts,
            outcomes=tuple(timed),
            copy=copy,
            clocks=tuple(mhz for mhz in clocks if mhz > 0),
            cycles=cycles,
        )

    def _warm_up(self, bench: Bench) -> None:
        launches = [item.launch for item in self._loaded]

        def all_in_turn() -> None:
            for launch in launches:
                launch()

        bench.warm_up(all_in_turn, bench.once(all_in_turn))

    def _restore(self) -> None:
        for arena in arenas(self._loaded):
            arena.restore()

    def _series(self, bench: Bench, scratch: _Scratch) -> list[list[Series]]:
        """Return the series of each program: cold, warm, and back to back where both are short."""
        actions: list[Action] = []
        for item in self._loaded:
            actions += [item.launch, self._empty(item), self._same_size_copy(item, scratch)]
        found: list[list[Series]] = [[] for _ in self._loaded]
        for mode, times in (
            ("cold", bench.cold(actions, self._restore)),
            ("warm", bench.warm(actions, self._restore)),
        ):
            for position, series in enumerate(found):
                one, floor, copy = times[3 * position : 3 * position + 3]
                series.append(Series(mode, 1, one, floor, copy if mode == "cold" else copy[:0]))
        if not all(_resolved(series) for each in found for series in each):
            pairs = [action for item in self._loaded for action in (item.launch, self._empty(item))]
            times, launches = bench.batched(pairs, self._restore)
            for position, series in enumerate(found):
                one, floor = times[2 * position : 2 * position + 2]
                series.append(Series("warm", launches, one, floor, one[:0]))
        return found

    def _empty(self, item: Loaded) -> Action:
        program = item.program
        function = self._device.function(self._probes, "probe_empty", program.shared_bytes)
        launch = Launch(function, program.grid, program.block, program.shared_bytes, ())
        return self._device.prepare(launch)

    def _same_size_copy(self, item: Loaded, scratch: _Scratch) -> Action:
        size = min(item.moved_bytes // 2, scratch.source.bytes)
        return lambda: self._device.copy(scratch.target.address, scratch.source.address, size)

    def _copy(self, bench: Bench, scratch: _Scratch) -> tuple[int, Samples]:
        """Time a large copy on the device: the ceiling for achieved bytes per second."""
        size = scratch.source.bytes
        self._device.fill(scratch.source.address, 0xA5, size)

        def copy() -> None:
            self._device.copy(scratch.target.address, scratch.source.address, size)

        bench.once(copy)
        times = [bench.once(copy) for _ in range(_COPIES)]
        return 2 * size, np.array(times, np.float64)

    def _clock(self, bench: Bench, scratch: _Scratch) -> float:
        """Return the clock of a multiprocessor in MHz, 0 where its timer stands still."""
        self._device.fill(scratch.small.address, 0, 16)
        bench.once(self._probe("probe_clock", (scratch.small, Value("uint64", _CLOCK_NS))))
        cycles, nanoseconds = self._device.read(scratch.small.address, 16).view(np.uint64).tolist()
        return 1e3 * cycles / nanoseconds if nanoseconds else 0.0

    def _cycles(self, bench: Bench, scratch: _Scratch, pattern: CyclePattern) -> float:
        """Return the cycles of one access, with the pipe kept full by several warps; 0 for none."""
        threads = 32 * _CYCLE_WARPS
        cycles = Pointer(scratch.small.address, 8 * threads)
        sink = Pointer(cycles.address + 4096, 4 * threads)
        where = Pointer(cycles.address + 8192, 4 * 32)
        self._device.fill(cycles.address, 0, cycles.bytes)
        self._device.write(where.address, np.array(pattern.offsets, np.uint32))
        bench.once(self._probe(pattern.probe, (cycles, sink, where), threads))
        counted = self._device.read(cycles.address, cycles.bytes).view(np.uint64)
        return float(counted.max()) / (_CYCLE_ACCESSES * _CYCLE_WARPS)

    def _probe(self, entry: str, arguments: tuple[Argument, ...], threads: int = 32) -> Action:
        function = self._device.function(self._probes, entry, 0)
        return self._device.prepare(Launch(function, (1, 1, 1), (threads, 1, 1), 0, arguments))


def _resolved(series: Series) -> bool:
    floor = float(np.median(series.floor))
    return summarise(series.samples, series.mode, floor_us=floor).resolved
