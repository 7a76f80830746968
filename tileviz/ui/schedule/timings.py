"""Timing the orders that are compared, on a GPU: one after the other, in the background."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import streamlit as st

from tileviz.errors import DesignError
from tileviz.runners import run_kernel
from tileviz.runners.store import keep
from tileviz.studies.errors import NotRunnable
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.kernel import kernel
from tileviz.ui import html, inputs, machine
from tileviz.ui.schedule.cached import plan_of

_POOL = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tileviz-timing")
_JOBS = "schedule.timings"
_POLL_SECONDS = 0.5


@dataclass
class Timings:
    """One session's timings: medians in microseconds, or why there is none, by design."""

    medians: dict[ScheduleDesign, float | str] = field(default_factory=dict)
    waiting: dict[ScheduleDesign, Future[float | str]] = field(default_factory=dict)

    def start(self, designs: list[ScheduleDesign]) -> None:
        """Time the designs that were not timed yet."""
        for design in designs:
            if design not in self.medians and design not in self.waiting:
                self.waiting[design] = _POOL.submit(measure, design)

    def settle(self) -> None:
        """Take in what is finished."""
        for design, future in list(self.waiting.items()):
            if future.done():
                del self.waiting[design]
                if not future.cancelled():
                    self.medians[design] = future.result()

    def cancel(self) -> None:
        """Forget what has not begun; what runs stops by itself."""
        for future in self.waiting.values():
            future.cancel()
        self.waiting.clear()


def measure(design: ScheduleDesign) -> float | str:
    """Return the median time of a design's product on the GPU in microseconds, or why not."""
    try:
        plan = plan_of(design)
        run = run_kernel(kernel(plan, persistent=True), on="gpu")
        keep(design, run, plan=plan, variant="timed, persistent")
    except (NotRunnable, DesignError) as error:
        return str(error)
    if run.problems:
        return run.problems[0].message
    return "no timing" if run.timing is None else run.timing.median_us


def timings() -> Timings:
    """Return this session's timings."""
    found: Timings = st.session_state.setdefault(_JOBS, Timings())
    found.settle()
    return found


def words(value: float | str) -> tuple[str, str]:
    """Return a timing as number and unit.

    Example:
        >>> words(1234.5), words(98.25), words("out of memory")
        (('1.23', 'ms, GPU'), ('98.2', 'µs, GPU'), ('', 'GPU: out of memory'))
    """
    if isinstance(value, str):
        return "", f"GPU: {value[:80]}"
    if value >= 1000:
        return f"{value / 1000:.2f}", "ms, GPU"
    return f"{value:.1f}", "µs, GPU"


def control(designs: list[ScheduleDesign]) -> None:
    """Draw the button that times the designs, or what it needs."""
    # Not settled again: what ends now is drawn by the redraw that it causes.
    known: Timings = st.session_state.setdefault(_JOBS, Timings())
    if not any(status.name == "gpu" and status.available for status in machine.runner_statuses()):
        st.html('<p class="tv-note">With a GPU, each order is also timed.</p>')
        return
    if known.waiting:
        st.fragment(_poll, run_every=_POLL_SECONDS)(known)
        return
    missing = any(design not in known.medians for design in designs)
    if missing and inputs.button("Time these orders", icon=":material/timer:", key="schedule.time"):
        known.start(designs)
        st.rerun()


def _poll(known: Timings) -> None:
    known.settle()
    if not known.waiting:
        st.rerun()
    st.html(html.empty("Timing.", f"{len(known.waiting)} orders to go."))
    if inputs.button("Cancel", icon=":material/stop:", key="schedule.time_stop"):
        known.cancel()
        st.rerun()
