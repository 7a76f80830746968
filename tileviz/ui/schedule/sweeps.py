"""Sweeps of offset and direction: at once on small grids, else in the background, cancellable."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import streamlit as st

from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.policies.base import DIRECTIONS
from tileviz.studies.schedule.recommend import (
    QUICK_TASKS,
    Outcome,
    Recommendation,
    explore,
    offsets_and_directions,
    recommend,
)
from tileviz.studies.sweep import Over, csv_text
from tileviz.studies.sweep import sweep as every

# All 32 settings of so many tasks take about 5 s.
MAX_CSV_TASKS = 1 << 18

_POOL = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tileviz-sweep")
_KEPT = 32
_JOB = "schedule.sweep"


@dataclass
class _Finished:
    """Sweeps of all sessions that came to their end, the newest last."""

    found: OrderedDict[ScheduleDesign, Recommendation] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, product: ScheduleDesign) -> Recommendation | None:
        with self.lock:
            return self.found.get(product)

    def put(self, product: ScheduleDesign, recommendation: Recommendation) -> None:
        with self.lock:
            self.found[product] = recommendation
            while len(self.found) > _KEPT:
                self.found.popitem(last=False)


_FINISHED = _Finished()


@dataclass
class SweepJob:
    """One sweep under way.

    Attributes:
        product: What is swept; its policy does not matter.
        total: Candidates in all.
        done: Candidates done.
        stop: Set to cancel.
        future: Its thread.
    """

    product: ScheduleDesign
    total: int
    done: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    future: Future[None] | None = None

    def run(self) -> None:
        """Try one candidate after the other until the end, or until it is cancelled."""
        outcomes: list[Outcome] = []
        for step in explore(self.product):
            if self.stop.is_set():
                return
            outcomes.append(step.outcome)
            self.done = step.done
        _FINISHED.put(self.product, recommend(self.product, outcomes))


def product_of(design: ScheduleDesign) -> ScheduleDesign:
    """Return the design under a policy that does not matter: sweeps of a product are shared."""
    return design.with_policy("row_major")


def is_quick(design: ScheduleDesign) -> bool:
    """Return whether a sweep takes less than half a second."""
    return design.grid.tiles * design.batch <= QUICK_TASKS


def found_for(design: ScheduleDesign) -> Recommendation | None:
    """Return what a sweep found, made here on small grids; None where it has not run yet."""
    product = product_of(design)
    found = _FINISHED.get(product)
    if found is None and is_quick(design):
        steps = explore(product, prune=False)
        found = recommend(product, [step.outcome for step in steps])
        _FINISHED.put(product, found)
    return found


def settings_of(found: Recommendation) -> tuple[Over, Over]:
    """Return the fields that a sweep varied, as the command line names them."""
    return Over("offset", found.offsets), Over("direction", DIRECTIONS)


def is_soon(design: ScheduleDesign) -> bool:
    """Return whether every setting is followed within a few seconds, nothing left out."""
    return design.grid.tiles * design.batch <= MAX_CSV_TASKS


def csv_of(design: ScheduleDesign, found: Recommendation) -> str:
    """Return every offset and direction as CSV: the rows of ``tileviz sweep``."""
    document = design.with_policy("catlass").document()
    return csv_text(list(every(document, settings_of(found))))


def job_of(design: ScheduleDesign) -> SweepJob | None:
    """Return this session's sweep of a design's product, or None; a sweep of another is ended."""
    job: SweepJob | None = st.session_state.get(_JOB)
    if job is not None and job.product != product_of(design):
        cancel()
        return None
    return job


def start(design: ScheduleDesign) -> None:
    """Start a sweep in the background."""
    cancel()
    product = product_of(design)
    job = SweepJob(product, len(offsets_and_directions(product)))
    job.future = _POOL.submit(job.run)
    st.session_state[_JOB] = job


def cancel() -> None:
    """End this session's sweep, if there is one."""
    job: SweepJob | None = st.session_state.pop(_JOB, None)
    if job is not None:
        job.stop.set()


def settle(job: SweepJob) -> bool:
    """Return whether a job is over; its fault, if it had one, is raised."""
    if job.future is None or not job.future.done():
        return False
    st.session_state.pop(_JOB, None)
    error = job.future.exception()
    if error is not None:
        raise error
    return True
