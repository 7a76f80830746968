"""Running both designs of a comparison: one button, in the background, side by side."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from tileviz.comparing.comparison import Comparison
from tileviz.comparing.measured import Measured
from tileviz.comparing.running import Both, instead_of, kernel_of, measure
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


def section(found: Comparison) -> Both | None:
    """Draw the run of both: the button beside what was measured.

    Returns:
        What was measured, None before a run.
    """
    designs = found.left.design, found.right.design
    if not study_of(designs[0]).runnable:
        return None
    st.html(html.section("Run both", "checks every output, then counts every access"))
    able = [bool(cuda_of(design).source) for design in designs]
    if not any(able):
        st.html(html.empty("Nothing to run.", "There is no CUDA for these designs."))
        return None
    on: On = st.session_state.get(f"run.{_NAME}.on") or ("gpu" if machine.has_gpu() else "emulator")
    first = able.index(True)
    what = Runnable(
        _NAME,
        (*designs, on),
        lambda: kernel_of(designs[first], on),
        _both(designs, able, first, on),
        design=designs[first],
    )
    left, right = st.columns([1, 4.2], gap="medium")
    with left:
        run_controls(what)
    with right:
        return _result(what, found)


def _both(
    designs: tuple[Design, Design], able: list[bool], first: int, on: On
) -> Callable[[Run, Kernel], Both]:
    """Return what makes both results of the first run: it runs the other design, too."""

    def view(run: Run, kernel: Kernel) -> Both:
        done: list[Measured | str] = ["", ""]
        done[first] = Measured.of(run, kernel, instead_of(designs[first], on))
        other = 1 - first
        if not able[other]:
            done[other] = cuda_of(designs[other]).reason
        else:
            done[other] = _other(designs[other], on)
        return Both(*done)

    return view


def _other(design: Design, on: On) -> Measured | str:
    try:
        # The one door between pages and runners: what a page drew does not matter here.
        check_runner(kernel_of(design, on), on)
    except (DesignError, NotRunnable) as error:
        return str(error)
    return measure(design, "auto" if on == "gpu" else on)


def _result(what: Runnable, found: Comparison) -> Both | None:
    state = outcome(what)
    if state.running:
        return None
    if state.fault:
        st.html(html.verdict("error", html.sentence(state.fault)))
        return None
    both: Both | None = state.view
    if both is None:
        st.html(
            html.empty(
                "Not run yet.",
                "Run compiles both texts with NVRTC, executes every thread, compares each output "
                "with NumPy, and counts the wavefronts and sectors of every line. It needs no GPU.",
            )
        )
        return None
    _measured(both, found)
    return both


def _measured(both: Both, found: Comparison) -> None:
    parts = list(zip(found.names, map(_said, both.sides), strict=True))
    left, right = both.sides
    if isinstance(left, str) or isinstance(right, str):
        st.html(tables.sides(parts))
        return
    said = both.statement(found)
    st.html(html.verdict(said.state, said.sentence, said.facts))
    st.html(tables.sides(parts))
    st.html(html.panel("Measured", left.where))
    st.html(tables.numbers(both.rows(found), found.names, "Measured numbers"))
    notes = tables.run_notes([(found.names[0], left), (found.names[1], right)])
    if below := tables.accesses(left, right, found.names) + notes:
        st.html(below)


def _said(run: Measured | str) -> Statement:
    """Return what a run says of correctness, or why there is none."""
    if isinstance(run, str):
        return Statement("error", "Did not run.", html.sentence(run))
    return run.statement
