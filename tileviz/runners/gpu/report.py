"""What a GPU run tells beyond outputs and one time: bytes, ceilings, floors, clocks and cycles."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tileviz.runners.gpu.counters import Counters
from tileviz.runners.gpu.device import Facts
from tileviz.runners.gpu.patterns import CycleRow
from tileviz.runners.gpu.transport import Answer, Outcome, Series
from tileviz.runners.protocol import Timing
from tileviz.runners.timing import summarise


@dataclass(frozen=True)
class GpuReport:
    """Facts of one run on a GPU.

    Attributes:
        device: The device.
        timings: Every series that was timed; the first is the one to show.
        moved_bytes: Fewest bytes the kernel can move: inputs once, outputs once.
        bytes_per_s: Those bytes over the median time; None where that is not resolved.
        ceiling_bytes_per_s: Bytes read and written per second by a large copy, in the same run.
        copy_us: Median time of a copy that moves as many bytes as the kernel, cold.
        clocks_mhz: Clock of a multiprocessor before and after the series.
        cycles: Cycles of each line's shared-memory accesses.
        calibration: By operation, cycles of an access of 1, 2, 4, 8, 16 and 32 wavefronts.
        counters: Hardware counters, or None.
        counters_note: Why there are none.
        checked: What was checked before the launch.
        log: What compiler and assembler said.
    """

    device: Facts
    timings: tuple[Timing, ...] = ()
    moved_bytes: int = 0
    bytes_per_s: float | None = None
    ceiling_bytes_per_s: float | None = None
    copy_us: float | None = None
    clocks_mhz: tuple[float, ...] = ()
    cycles: tuple[CycleRow, ...] = ()
    calibration: dict[str, tuple[float, ...]] = field(default_factory=dict)
    counters: Counters | None = None
    counters_note: str = ""
    checked: str = ""
    log: str = ""

    @property
    def timing(self) -> Timing | None:
        """The series to show: the first that is resolved, cold before warm."""
        for timing in self.timings:
            if timing.resolved:
                return timing
        return self.timings[0] if self.timings else None

    def to_json(self) -> dict[str, Any]:
        """Return the ``gpu`` object of a run."""
        return {**asdict(self), "device": {**asdict(self.device), "arch": self.device.arch}}


def timing_of(series: Series) -> Timing:
    """Return the figures of one series."""
    floor = float(np.median(series.floor)) if series.floor.size else None
    return summarise(series.samples, series.mode, floor_us=floor, launches=series.launches)


def make_report(
    facts: Facts,
    answer: Answer,
    outcome: Outcome,
    *,
    moved_bytes: int,
    cycles: tuple[CycleRow, ...],
    calibration: dict[str, tuple[float, ...]],
    checked: str,
    log: str,
) -> GpuReport:
    """Put one program's figures together."""
    timings = tuple(timing_of(series) for series in outcome.series)
    shown = GpuReport(facts, timings).timing
    copies = [series.copy for series in outcome.series if series.copy.size]
    copied, times = answer.copy
    ceiling = copied / float(np.median(times)) * 1e6 if times.size and times.min() > 0 else None
    return GpuReport(
        device=facts,
        timings=timings,
        moved_bytes=moved_bytes,
        bytes_per_s=moved_bytes / shown.median_us * 1e6 if shown and shown.resolved else None,
        ceiling_bytes_per_s=ceiling,
        copy_us=float(np.median(copies[0])) if copies else None,
        clocks_mhz=answer.clocks,
        cycles=cycles,
        calibration=calibration,
        checked=checked,
        log=log,
    )
