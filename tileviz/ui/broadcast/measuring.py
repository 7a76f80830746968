"""Measuring bandwidth from the page: in the background, told step by step, and cancellable."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import streamlit as st

from tileviz.errors import DesignError
from tileviz.runners import RunnerStatus
from tileviz.runners.bandwidth import Bandwidth, bandwidth_table, measure_bandwidth
from tileviz.runners.protocol import RunnerUnavailable
from tileviz.studies.broadcast.bandwidth import FORMULA
from tileviz.studies.broadcast.bandwidth_text import verdict
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.measured import Measured
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import assets
from tileviz.ui import html, inputs, machine
from tileviz.ui.broadcast.bandwidth import bandwidth

# Threads only wait: the GPU has one queue, and each of them its place in it.
_POOL = ThreadPoolExecutor(max_workers=16, thread_name_prefix="tileviz-bandwidth")
_KEPT = 16
_POLL_SECONDS = 0.4
_MEMORY = "broadcast.measuring"


class Cancelled(Exception):
    """The visitor does not want it any more."""


@dataclass
class Progress:
    """What a measurement is doing, written by its thread and read by the page."""

    stage: str = "starting"
    ahead: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def say(self, stage: str) -> None:
        """Note the stage; a cancelled measurement ends here."""
        self.check()
        self.stage = stage

    def tell(self, ahead: int) -> None:
        """Note how many requests come first."""
        self.ahead = ahead

    def check(self) -> None:
        """End a cancelled measurement."""
        if self.stopped.is_set():
            raise Cancelled


@dataclass(frozen=True)
class Job:
    """One measurement under way."""

    design: BroadcastDesign
    future: Future[Measured]
    progress: Progress
    started: float


@dataclass
class Memory:
    """One session's measurements: the one under way, and the last ones by design."""

    job: Job | None = None
    live: OrderedDict[BroadcastDesign, Measured] = field(default_factory=OrderedDict)
    faults: dict[BroadcastDesign, str] = field(default_factory=dict)

    def start(self, design: BroadcastDesign) -> None:
        """Begin to measure a design; one at a time."""
        if self.job is None:
            progress = Progress()
            future = _POOL.submit(_measure, design, progress)
            self.job = Job(design, future, progress, time.monotonic())

    def cancel(self) -> None:
        """Stop what is under way and forget it."""
        if self.job is not None:
            self.job.progress.stopped.set()
            self.job.future.cancel()
            self.job = None

    def settle(self) -> None:
        """Move a finished measurement to the results."""
        job = self.job
        if job is None or not job.future.done():
            return
        self.job = None
        error = None if job.future.cancelled() else job.future.exception()
        self.faults.clear()
        if isinstance(error, DesignError | NotRunnable | RunnerUnavailable):
            self.faults[job.design] = str(error)
        elif error is not None:
            raise error
        elif not job.future.cancelled():
            self.live[job.design] = job.future.result()
            self.live.move_to_end(job.design)
            while len(self.live) > _KEPT:
                self.live.popitem(last=False)


def _measure(design: BroadcastDesign, progress: Progress) -> Measured:
    return measure_bandwidth(
        design, say=progress.say, on_wait=progress.check, on_queue=progress.tell
    )


def panel(design: BroadcastDesign) -> None:
    """Draw the table; where there is a GPU, what measures the design on show too."""
    memory: Memory = st.session_state.setdefault(_MEMORY, Memory())
    memory.settle()
    gpu = next((status for status in machine.runner_statuses() if status.name == "gpu"), None)
    with st.container(key="rates_head", horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            html.section("Bandwidth", f"each launch with a cold L2; {FORMULA}"), width="stretch"
        )
        corner = st.container(width="content")
    if machine.has_gpu():
        with corner:
            _button(memory, design)
    why = "" if machine.has_gpu() else _missing(gpu)
    try:
        table = bandwidth_table(assets() / "runs", tuple(memory.live.values()), why)
    except ValueError as error:
        st.html(html.verdict("error", html.sentence(f"A recording cannot be read: {error}")))
        table = Bandwidth((), why)
    if design in memory.faults:
        said = html.sentence(f"Not measured: {memory.faults[design]}")
        st.html(html.verdict("error", said))
    elif memory.job is not None:
        st.fragment(_poll, run_every=_POLL_SECONDS)(memory)
    else:
        words = verdict(table.rows, design, why)
        st.html(html.verdict(words.state, words.sentence, words.facts))
    st.html(bandwidth(table))


def _missing(gpu: RunnerStatus | None) -> str:
    """Say what this machine lacks."""
    if gpu is None:
        return "no GPU runner is part of this version"
    return f"{gpu.reason}; {gpu.fix}" if gpu.fix else gpu.reason


def _button(memory: Memory, design: BroadcastDesign) -> None:
    if memory.job is not None:
        inputs.button(
            "Cancel", icon=":material/stop:", key="broadcast.stop", on_click=memory.cancel
        )
        return
    inputs.button(
        "Measure on this GPU",
        icon=":material/speed:",
        key="broadcast.measure",
        on_click=memory.start,
        args=(design,),
        disabled=design.dynamic,
        help="Times the whole shape in every version, in turn with a plain copy; each version is "
        "checked in the emulator first, and every element of its output is compared.",
    )


def _poll(memory: Memory) -> None:
    """Show what the measurement does; redraw the page once it is over."""
    job = memory.job
    if job is None or job.future.done():
        st.rerun()
    doing = job.progress.stage
    if job.progress.ahead:
        doing = f"waiting for the GPU, {job.progress.ahead} before this"
    elapsed = f"{time.monotonic() - job.started:.0f} s so far; the page can be used meanwhile."
    st.html(html.empty(html.sentence(doing), elapsed))
