"""The Kernel lab: a user's own CUDA and its launch in; what every line of it costs out."""

from __future__ import annotations

from functools import partial
from typing import Literal

import streamlit as st

from tileviz.cuda.kernel import Kernel
from tileviz.runners.own_kernels import own_kernels_on_gpu
from tileviz.studies.derivation import Numbers
from tileviz.studies.kernel import derive, explain
from tileviz.studies.kernel.design import KernelDesign
from tileviz.studies.kernel.kernel import kernel
from tileviz.studies.kernel.plan import plan
from tileviz.studies.kernel.signature import missing_entry
from tileviz.ui import explain as explain_number
from tileviz.ui import frame, html, inputs
from tileviz.ui.agreement import settle, show_faults
from tileviz.ui.kernel import editors, panels, tables, upload
from tileviz.ui.kernel.form import label
from tileviz.ui.kernel.state import RULES, PageState
from tileviz.ui.kernel.view import LabView
from tileviz.ui.run_panel import Outcome, Runnable, outcome, run_controls
from tileviz.ui.take_away import take_away

Mode = Literal["edit", "lines"]

_STATE, _MODE, _SEEN = "lab", "lab.mode", "lab.seen"
_LAB = "lab"
_RUN_WIDTH = 150
_MODES: dict[Mode, str] = {"edit": "Edit", "lines": "Line by line"}


def page() -> None:
    """Draw the page."""
    frame.begin("Kernel lab")
    st.html(tables.style())
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            html.title("Kernel lab", "Your own CUDA, and what every line of it costs"),
            width="stretch",
        )
        corner = st.container(width="content")
        with st.popover("Open a file", icon=":material/upload:", type="tertiary", key="lab.open"):
            upload.uploader()
    current: PageState = settle(RULES, editors, _STATE)
    with corner:
        take_away("lab", current.design)
    upload.fault()
    show_faults(current, label, "The first preset")
    found = _outcome(current)
    mode, unfold = _mode(current.design, found)
    if unfold:
        explain_number.panel(_LAB, partial(_numbers, current.design, found.view))
    if mode == "edit":
        panels.edit()
    else:
        panels.lines(current.design, found.view)
    if found.view is not None:
        panels.results(current.design, found.view)


def _outcome(current: PageState) -> Outcome:
    """Draw the verdict beside the run button; return what is there of a run."""
    design = current.design
    what = Runnable(
        "kernel",
        design,
        partial(_kernel, design),
        LabView.of,
        refused=() if own_kernels_on_gpu() else ("gpu",),
        ready=not current.problems,
        design=design,
    )
    with st.container(horizontal=True, gap="small", key="lab_verdict"):
        left = st.container(width="stretch")
        right = st.container(width=_RUN_WIDTH)
    with right:
        run_controls(what)
    with left:
        found = outcome(what)
        _said(design, found)
    return found


def _said(design: KernelDesign, found: Outcome) -> None:
    if found.running:
        return
    if found.fault:
        st.html(html.verdict("error", html.sentence(found.fault)))
    elif found.view is None:
        if missing_entry(design.source, design.entry):
            # Which kernels there are is said at the entry.
            how = "Choose another one, or fill it and its parameters from a signature."
            st.html(html.verdict("attention", "Nothing to run: the entry is not in the text.", how))
            return
        said = explain.verdict(plan(design))
        st.html(html.verdict("neutral", said.sentence, "Not run yet."))
    else:
        view: LabView = found.view
        traced = html.sentence(view.traced) if view.rows else ""
        facts = " ".join(filter(None, (view.statement.facts, traced)))
        st.html(html.verdict(view.statement.state, view.statement.sentence, facts))


def _kernel(design: KernelDesign) -> Kernel:
    return kernel(plan(design))


def _numbers(design: KernelDesign, view: LabView | None) -> Numbers:
    """Return every number of a launch, those of its run first."""
    launch = derive.numbers(plan(design))
    return launch if view is None else view.numbers + launch


def _mode(design: KernelDesign, found: Outcome) -> tuple[Mode, bool]:
    """Draw the choice between editing and counts; a new run shows its counts.

    Returns:
        The choice, and whether numbers are to be unfolded.
    """
    state = st.session_state
    if found.view is not None and state.get(_SEEN) is not found.view:
        state[_MODE] = "lines"
        state[_SEEN] = found.view
    elif state.get(_MODE) not in _MODES:
        state[_MODE] = "edit"
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        inputs.segmented_control(
            "View",
            list(_MODES),
            key=_MODE,
            required=True,
            format_func=_MODES.__getitem__,
            label_visibility="collapsed",
        )
        st.html(f'<p class="tv-note">{html.text(panels.sharing(design))}</p>', width="stretch")
        unfold = explain_number.switch(_LAB)
    return "lines" if state[_MODE] == "lines" else "edit", unfold
