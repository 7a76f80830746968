"""Running both designs of a comparison: one button, in the background, side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from tileviz import api
from tileviz.comparing.comparison import Comparison
from tileviz.comparing.measured import Measured, measured_rows, measured_statement
from tileviz.comparing.registry import NUMBERS
from tileviz.cuda.kernel import Kernel
from tileviz.errors import DesignError
from tileviz.runners import On, Run
from tileviz.runners.own_kernels import check_runner
from tileviz.studies.design import Design
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import study_of
from tileviz.studies.statement import Statement
from tileviz.ui import html, machine
from tileviz.ui.compare import tables
from tileviz.ui.compare.cached import cuda_of
from tileviz.ui.run_panel import Runnable, outcome, run_controls

_NAME = "compare"


@dataclass(frozen=True)
class Both:
    """Both runs, or why one could not be made.

    Attributes:
        left: The left run, or what kept it; likewise ``right``.
        right: The right run, or what kept it.
    """

    left: Measured | str
    right: Measured | str


def section(found: Comparison) -> None:
    """Draw the run of both: the button beside what was measured."""
    designs = found.left.design, found.right.design
    if not study_of(designs[0]).runnable:
        return
    st.html(html.section("Run both", "checks every output, then counts every access"))
    able = [bool(cuda_of(design).source) for design in designs]
    if not any(able):
        st.html(html.empty("Nothing to run.", "There is no CUDA for these designs."))
        return
    on: On = st.session_state.get(f"run.{_NAME}.on") or ("gpu" if machine.has_gpu() else "emulator")
    first = able.index(True)
    what = Runnable(
        _NAME,
        (*designs, on),
        lambda: _kernel(designs[first], on),
        _both(designs, able, first, on),
        design=designs[first],
    )
    left, right = st.columns([1, 4.2], gap="medium")
    with left:
        run_controls(what)
    with right:
        _result(what, found)


def _target(design: Design, on: str) -> Design:
    """Return what runs for a design: on the emulator it may be a smaller one."""
    return design if on == "gpu" else study_of(design).emulated(design)


def _kernel(design: Design, on: str) -> Kernel:
    return api.kernel(_target(design, on))


def _instead(design: Design, on: str) -> str:
    """Say what runs instead of a design, "" where it runs itself."""
    target = _target(design, on)
    if target == design:
        return ""
    return f"Too large for the emulator; ran instead: {json.dumps(target.document())}"


def _both(
    designs: tuple[Design, Design], able: list[bool], first: int, on: On
) -> Callable[[Run, Kernel], Both]:
    """Return what makes both results of the first run: it runs the other design, too."""

    def view(run: Run, kernel: Kernel) -> Both:
        done: list[Measured | str] = ["", ""]
        done[first] = Measured.of(run, kernel, _instead(designs[first], on))
        other = 1 - first
        if not able[other]:
            done[other] = cuda_of(designs[other]).reason
        else:
            done[other] = _other(designs[other], on)
        return Both(*done)

    return view


def _other(design: Design, on: On) -> Measured | str:
    try:
        kernel = _kernel(design, on)
        check_runner(kernel, on)
        _, run = api.run(design, on="auto" if on == "gpu" else on)
    except (DesignError, NotRunnable) as error:
        return str(error)
    return Measured.of(run, kernel)


def _result(what: Runnable, found: Comparison) -> None:
    state = outcome(what)
    if state.running:
        return
    if state.fault:
        st.html(html.verdict("error", html.sentence(state.fault)))
        return
    both: Both | None = state.view
    if both is None:
        st.html(
            html.empty(
                "Not run yet.",
                "Run compiles both texts with NVRTC, executes every thread, compares each output "
                "with NumPy, and counts the wavefronts and sectors of every line. It needs no GPU.",
            )
        )
        return
    _measured(both, found)


def _measured(both: Both, found: Comparison) -> None:
    left, right = both.left, both.right
    parts = list(zip(found.names, map(_said, (left, right)), strict=True))
    if isinstance(left, str) or isinstance(right, str):
        st.html(tables.sides(parts))
        return
    rows = measured_rows(left, right, _same_work(found))
    said = measured_statement(rows, found.names)
    st.html(html.verdict(said.state, said.sentence, said.facts))
    st.html(tables.sides(parts))
    st.html(html.panel("Measured", left.where))
    st.html(tables.numbers(rows, found.names, "Measured numbers"))
    notes = tables.run_notes([(found.names[0], left), (found.names[1], right)])
    if below := tables.accesses(left, right, found.names) + notes:
        st.html(below)


def _said(run: Measured | str) -> Statement:
    """Return what a run says of correctness, or why there is none."""
    if isinstance(run, str):
        return Statement("error", "Did not run.", html.sentence(run))
    return run.statement


def _same_work(found: Comparison) -> bool:
    numbers: Any = NUMBERS.get(found.study)
    if numbers is None:
        return False
    return bool(numbers.work(found.left.plan) == numbers.work(found.right.plan))
