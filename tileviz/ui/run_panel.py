"""Running a kernel from a page: in the background, beside everything else, and cancellable."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from tileviz.cuda.kernel import Kernel
from tileviz.errors import DesignError
from tileviz.runners import On, Run, RunnerStatus, run_kernel, warm
from tileviz.runners.own_kernels import check_runner
from tileviz.runners.store import keep
from tileviz.studies.design import Design
from tileviz.studies.errors import NotRunnable
from tileviz.ui import html, inputs, machine
from tileviz.ui.explain import numbers_button
from tileviz.ui.recorded import recorded
from tileviz.ui.run_table import RunView, run_table

# Threads only wait for the workers that run kernels; the workers have their own queue and limits.
_POOL = ThreadPoolExecutor(max_workers=32, thread_name_prefix="tileviz-run")
_KEPT = 8
_POLL_SECONDS = 0.25
_AT_ONCE_SECONDS = 0.3
_NAMES = {"emulator": "Emulator", "gpu": "GPU"}


@dataclass(frozen=True)
class Runnable:
    """What a page offers to run.

    Attributes:
        name: The page, for keys.
        subject: What would run; a result is shown only for the subject it was made for.
        make_kernel: Makes the kernel when it is needed.
        view_of: Makes what the page keeps of a run, which should be small.
        refused: Runners that are not offered.
        ready: Whether it can run; False while the page's input has a fault.
        design: The design it belongs to; the run is kept in the history. None keeps nothing.
        variant: Which of the design's kernels it is, "" for the one it chooses.
    """

    name: str
    subject: Hashable
    make_kernel: Callable[[], Kernel]
    view_of: Callable[[Run, Kernel], Any] = RunView.of
    refused: tuple[str, ...] = ()
    ready: bool = True
    design: Design | None = None
    variant: str = ""


@dataclass(frozen=True)
class Outcome:
    """What is there of a subject's run.

    Attributes:
        running: Whether a run is under way.
        fault: Why it could not run, "" where nothing kept it.
        view: What was kept of it, or None.
    """

    running: bool = False
    fault: str = ""
    view: Any = None


@dataclass(frozen=True)
class _Job:
    subject: Hashable
    on: str
    future: Future[Any]
    started: float
    place: _Place = field(default_factory=lambda: _Place())


@dataclass
class _Place:
    """How many requests come before this one in the GPU's queue."""

    ahead: int = 0

    def tell(self, ahead: int) -> None:
        self.ahead = ahead


@dataclass
class _Memory:
    """One session's runs of one page: the one under way, and the last results by subject."""

    job: _Job | None = None
    views: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)
    faults: dict[Hashable, str] = field(default_factory=dict)
    asked: bool = False

    def settle(self) -> None:
        """Move a finished job's result to the results."""
        job = self.job
        if job is None or not job.future.done():
            return
        self.job = None
        if job.future.cancelled():
            return
        error = job.future.exception()
        self.faults.clear()
        if isinstance(error, (DesignError, NotRunnable)):
            self.faults[job.subject] = str(error)
        elif error is not None:
            raise error
        else:
            self.views[job.subject] = job.future.result()
            self.views.move_to_end(job.subject)
            while len(self.views) > _KEPT:
                self.views.popitem(last=False)


def run_panel(
    name: str,
    subject: Hashable,
    make_kernel: Callable[[], Kernel],
    design: Design | None = None,
    variant: str = "",
) -> None:
    """Draw the run controls beside the result.

    Args:
        name: The page, for keys.
        subject: What would run; a result is shown only for the subject it was made for.
        make_kernel: Makes the kernel when it is needed.
        design: The run is kept in the history under it; where its run was recorded on a GPU and
            there is none here, that is shown too.
        variant: Which of the design's kernels it is, "" for the one it chooses.
    """
    what = Runnable(name, subject, make_kernel, design=design, variant=variant)
    left, right = st.columns([1, 4.2], gap="medium")
    with left:
        on = run_controls(what)
    with right:
        _result(what, on)
        if design is not None and not machine.has_gpu() and (kept := recorded(design)):
            st.html(kept)


def _memory(name: str) -> _Memory:
    memory: _Memory = st.session_state.setdefault(f"run.{name}", _Memory())
    return memory


def run_controls(what: Runnable) -> On:
    """Draw the run button and, where there are several, the choice of a runner.

    Returns:
        The chosen runner.
    """
    memory = _memory(what.name)
    # Only here: a run that ends once its Cancel is drawn is settled by the redraw that it causes.
    memory.settle()
    _warmed()
    runners = {
        status.name: status
        for status in machine.runner_statuses()
        if status.name not in what.refused
    }
    # A GPU run holds the emulator's counts too: where there is one, it comes first.
    ordered = sorted(runners, key=lambda known: (not runners[known].available, known != "gpu"))
    key = f"run.{what.name}.on"
    place = st.empty()
    chosen = st.session_state.get(key)
    _answer(memory, what, runners[chosen if chosen in runners else ordered[0]])
    waiting = memory.job is not None
    on: str | None = ordered[0]
    if len(ordered) > 1:
        on = inputs.selectbox(
            "On",
            ordered,
            key=key,
            format_func=lambda value: _option(runners[value]),
            disabled=waiting,
        )
    status = runners[on or ordered[0]]
    if not status.available:
        st.html(f'<p class="tv-note">{html.text(_unavailable(status))}</p>')
    with place:
        if waiting:
            inputs.button(
                "Cancel", icon=":material/stop:", width="stretch", on_click=_cancel, args=(memory,)
            )
        else:
            inputs.button(
                "Run",
                type="primary",
                icon=":material/play_arrow:",
                width="stretch",
                disabled=not (status.available and what.ready),
                on_click=_ask,
                args=(memory,),
            )
    return "gpu" if on == "gpu" else "emulator"


def _ask(memory: _Memory) -> None:
    """Remember that a run is wanted: of the design as it is once the controls have been read."""
    memory.asked = True


def _answer(memory: _Memory, what: Runnable, status: RunnerStatus) -> None:
    """Start the run that was asked for, if it can run."""
    asked, memory.asked = memory.asked, False
    if asked and memory.job is None and what.ready and status.available:
        _start(memory, what, "gpu" if status.name == "gpu" else "emulator")


def _option(status: RunnerStatus) -> str:
    """Return what the choice calls a runner."""
    name = _NAMES.get(status.name, status.name)
    return name if status.available else f"{name} (not available)"


def _unavailable(status: RunnerStatus) -> str:
    """Say why a runner cannot be chosen, and what helps."""
    fix = f" To use it: {status.fix}" if status.fix else ""
    return f"{html.sentence(status.reason)}{fix}"


def _start(memory: _Memory, what: Runnable, on: On) -> None:
    place = _Place()
    future = _POOL.submit(
        _run, what.make_kernel, on, place, what.view_of, what.design, what.variant
    )
    memory.job = _Job(what.subject, on, future, time.monotonic(), place)
    # A warm worker answers within this time: then the page is drawn once, without a wait.
    wait([future], timeout=_AT_ONCE_SECONDS)
    memory.settle()


def _run(
    make_kernel: Callable[[], Kernel],
    on: On,
    place: _Place,
    view_of: Callable[[Run, Kernel], Any] = RunView.of,
    design: Design | None = None,
    variant: str = "",
) -> Any:
    kernel = make_kernel()
    # The one door between pages and runners: what a page drew does not matter here.
    check_runner(kernel, on)
    # What a page starts on a GPU that is then lost or busy is run on the emulator, and said to be.
    wanted: On = "auto" if on == "gpu" else on
    run = run_kernel(kernel, on=wanted, on_queue=place.tell)
    unkept = "" if design is None else keep(design, run, variant=variant)
    if unkept:
        run = replace(run, note="; ".join(filter(None, (run.note, unkept))))
    return view_of(run, kernel)


@st.cache_resource(show_spinner=False)
def _warmed() -> Future[None]:
    """Start a worker once, while people still look at the page."""
    return _POOL.submit(warm)


def _cancel(memory: _Memory) -> None:
    """Forget the job; a worker that has begun stops by itself at its limits."""
    if memory.job is not None:
        memory.job.future.cancel()
        memory.job = None


def outcome(what: Runnable) -> Outcome:
    """Return what is there of a subject's run; draws how far one under way has come.

    Called after ``run_controls``, which says whether one is under way.
    """
    memory = _memory(what.name)
    if memory.job is not None:
        st.fragment(_poll, run_every=_POLL_SECONDS)(memory)
        return Outcome(running=True)
    return Outcome(fault=memory.faults.get(what.subject, ""), view=memory.views.get(what.subject))


def _result(what: Runnable, on: str) -> None:
    found = outcome(what)
    if found.running:
        return
    if found.fault:
        st.html(html.verdict("error", html.sentence(found.fault)))
        return
    view: RunView | None = found.view
    if view is None:
        fixes = [status for status in machine.runner_statuses() if status.name == on]
        needs = fixes[0] if fixes else None
        if needs is not None and not needs.available:
            st.html(html.empty("Nothing here can run it.", f"{needs.reason} {needs.fix}"))
            return
        st.html(
            html.empty(
                "Not run yet.",
                "Run compiles this text with NVRTC, executes every thread, compares each element "
                "of the output with NumPy, and counts the wavefronts of every access. "
                "It needs no GPU.",
            )
        )
        return
    st.html(run_table(view, machine.gpu_note()))
    st.html(html.verdict(view.statement.state, view.statement.sentence, view.statement.facts))
    numbers_button(f"run_{what.name}", lambda: view.numbers, "Explain a number of this run")


def _poll(memory: _Memory) -> None:
    """Show that a run is under way; redraw the page once it is over."""
    job = memory.job
    if job is None or job.future.done():
        st.rerun()
    seconds = time.monotonic() - job.started
    doing = "Waiting for a free worker" if not job.future.running() else "Compiling and running"
    if job.place.ahead:
        doing = f"Waiting for the GPU, {job.place.ahead} before this"
    st.html(html.empty(f"{doing}.", f"{seconds:.1f} s on the {_NAMES.get(job.on, job.on)}."))
