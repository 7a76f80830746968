"""What every way of running a kernel has in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tileviz.cuda.diagnostics import Resources
from tileviz.cuda.kernel import Array, Kernel
from tileviz.emulator.emulation import StaticAccess
from tileviz.emulator.problems import Coordinates, Problem
from tileviz.memory import Accesses

if TYPE_CHECKING:
    from tileviz.runners.gpu.report import GpuReport


class RunnerUnavailable(RuntimeError):
    """A runner cannot run anything now, by no fault of the kernel; one line with the remedy."""


@dataclass(frozen=True)
class RunnerStatus:
    """Whether a runner works here, and what to do when it does not.

    Attributes:
        name: ``"emulator"`` or ``"gpu"``.
        available: Whether a run can be tried.
        reason: One line: what was found, or what is missing.
        fix: The one command or step that makes it work, "" where there is none.
    """

    name: str
    available: bool
    reason: str
    fix: str = ""


@dataclass(frozen=True)
class RunnerInfo:
    """Where a run took place.

    Attributes:
        name: The runner's name.
        device: The device's name, for people.
        arch: What the kernel was compiled for: ``compute_80`` or ``sm_90``.
        compiler: The compiler and its version, ``NVRTC 12.9``; "" where nothing was compiled.
    """

    name: str
    device: str
    arch: str
    compiler: str = ""


@dataclass(frozen=True)
class Timing:
    """Spread of the time of one launch, in microseconds.

    Attributes:
        median_us: Median.
        p10_us: 10th percentile.
        p90_us: 90th percentile.
        n: Number of samples.
        mode: ``"cold"`` or ``"warm"`` L2 cache.
        min_us: Shortest, 0 where unknown.
        error: Half-width of the median's 95 % interval, relative to it; None for too few samples.
        noisy: Whether the middle 60 % of the samples spread over more than 5 % of the median.
        floor_us: Median of an empty kernel of the same shape, measured the same way, or None.
        launches: Launches between one pair of events; more than one ran back to back.
        resolved: Whether the time stands out from that floor; if not, it says little of the kernel.
    """

    median_us: float
    p10_us: float
    p90_us: float
    n: int
    mode: str
    min_us: float = 0.0
    error: float | None = None
    noisy: bool = False
    floor_us: float | None = None
    launches: int = 1
    resolved: bool = True


@dataclass(frozen=True, eq=False)
class Execution:
    """What a runner hands back: facts only, not yet judged.

    Attributes:
        runner: Where it ran.
        outputs: Flat content of every ``out`` and ``inout`` buffer by name, in the carrier dtype
            of its element type; empty where the kernel did not run.
        accesses: Measured accesses of the traced blocks.
        problems: What went wrong; empty for a clean run.
        traced_blocks: Blocks whose accesses were recorded; None for all.
        static: Memory instructions in the compiled text.
        resources: Registers, shared memory and spills, or None where unknown.
        timing: Time on a GPU, or None.
        gpu: Everything else a GPU tells, or None.
        note: What was done otherwise than asked, and why; "" for nothing.
    """

    runner: RunnerInfo
    outputs: Mapping[str, Array] = field(default_factory=dict)
    accesses: tuple[Accesses, ...] = ()
    problems: tuple[Problem, ...] = ()
    traced_blocks: tuple[Coordinates, ...] | None = None
    static: tuple[StaticAccess, ...] = ()
    resources: Resources | None = None
    timing: Timing | None = None
    gpu: GpuReport | None = None
    note: str = ""


class Runner(Protocol):
    """One way of running a kernel."""

    @property
    def name(self) -> str:
        """``"emulator"`` or ``"gpu"``."""

    def status(self) -> RunnerStatus:
        """Return whether it works here; cheap, starts nothing."""

    def memory_bytes(self) -> int:
        """Return the bytes that all buffers of a launch together may take here."""

    def warm(self) -> None:
        """Start what a run needs, so that it loads while the caller still works."""

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
        """Compile and run ``kernel``; never raises for what a kernel's text does.

        What is not the kernel's fault (no device, a full queue) is a ``RunnerUnavailable``.

        Args:
            kernel: The kernel.
            arrays: Flat content of every buffer by name, in the carrier dtype; outputs poisoned.
                Not changed.
            seed: Chooses which blocks of a large grid are traced.
            trace: Whether to record accesses.
            on_wait: Called while waiting; what it raises stops the work.
            on_queue: Called with the number of requests that come first, when it changes; by
                runners with one queue for everybody.
        """
