"""The Block schedule page's CUDA: the product, a small cut of it, or the proof; and their runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import streamlit as st

from tileviz.cuda.kernel import Kernel
from tileviz.export.snippets import standalone_cu
from tileviz.studies.errors import NotRunnable
from tileviz.studies.schedule import explain
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.kernel import kernel
from tileviz.studies.schedule.plan import SchedulePlan
from tileviz.studies.schedule.proof import emulated, proof_kernel
from tileviz.ui import html, inputs, machine
from tileviz.ui.run_panel import run_panel
from tileviz.ui.schedule.cached import plan_of

Which = Literal["cut", "proof", "whole"]
_WHICH, _PERSISTENT, _OF = "schedule.cuda", "schedule.persistent", "schedule.cuda_of"
_LAUNCHES = {False: "A block a task", True: "Persistent"}
_MAX_LINES, _TALL_PIXELS = 70, 760


@dataclass(frozen=True)
class Code:
    """One kernel's text, without the bulk of its predicted addresses.

    Attributes:
        source: The text that runs; "" where there is none.
        standalone: The same text with a ``main`` around it; "" where it has no check of its own.
        reason: Why there is no text, "" where there is one.
    """

    source: str
    standalone: str = ""
    reason: str = ""


def kernel_of(design: ScheduleDesign, which: Which, persistent: bool) -> Kernel:
    """Return a kernel; not kept, because its predicted addresses can be large.

    Args:
        design: The design.
        which: ``cut``: the same grid in small tiles; ``proof``: the whole grid, no arithmetic;
            ``whole``: the product itself.
        persistent: Whether blocks walk several tasks.

    Raises:
        NotRunnable: There is none; the message says why.
    """
    if which == "proof":
        return proof_kernel(plan_of(design))
    target = emulated(design) if which == "cut" else design
    return kernel(plan_of(target), persistent=persistent)


@lru_cache(maxsize=64)
def code_of(design: ScheduleDesign, which: Which, persistent: bool) -> Code:
    """Return the CUDA of a design, or the reason there is none."""
    try:
        made = kernel_of(design, which, persistent)
    except NotRunnable as error:
        return Code("", reason=str(error))
    return Code(made.source, standalone_cu(made))


def choices(design: ScheduleDesign) -> dict[Which, str]:
    """Return the kernels that a design has, by what the page calls them.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> choices(preset("schedule-ragged").design)["cut"]
        'Product, 150 × 188 × 8'
    """
    whole = "Product, " + _sizes(design)
    try:
        small = emulated(design)
    except NotRunnable:
        return {"proof": "Proof, whole grid", "whole": whole}
    if small == design:
        return {"cut": whole, "proof": "Proof, whole grid"}
    return {"cut": "Product, " + _sizes(small), "proof": "Proof, whole grid", "whole": whole}


def _sizes(design: ScheduleDesign) -> str:
    return " × ".join(map(str, design.problem))


@st.fragment
def section(plan: SchedulePlan) -> None:
    """Draw the CUDA beside what it does, and the run below."""
    design = plan.design
    with st.container(key="code_head", horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            html.section("Generated CUDA", "the text that runs, byte for byte"), width="stretch"
        )
        download = st.container(width="content")
    known = choices(design)
    if st.session_state.get(_OF) != design or st.session_state.get(_WHICH) not in known:
        st.session_state[_WHICH] = next(iter(known))
        st.session_state[_OF] = design
    which, persistent = _switches(known)
    code = code_of(design, which, persistent)
    with download:
        _download(code)
    left, right = st.columns([1.35, 1], gap="medium")
    with left:
        if code.source:
            tall = code.source.count("\n") > _MAX_LINES
            st.code(
                code.source,
                language="cpp",
                line_numbers=True,
                height=_TALL_PIXELS if tall else "content",
            )
        else:
            st.html(html.empty("No CUDA.", html.sentence(code.reason)))
    with right:
        _explanation(plan, which)
    _run(design, which, persistent, code)


def _switches(known: dict[Which, str]) -> tuple[Which, bool]:
    """Draw the choice of kernel and of its launch."""
    with st.container(horizontal=True, gap="medium"):
        picked: Which | None = inputs.segmented_control(
            "Kernel", list(known), key=_WHICH, format_func=lambda name: known[name], required=True
        )
        which = next(iter(known)) if picked is None else picked
        st.session_state.setdefault(_PERSISTENT, False)
        persistent = inputs.segmented_control(
            "Launch",
            list(_LAUNCHES),
            key=_PERSISTENT,
            format_func=lambda value: _LAUNCHES[value],
            required=True,
            disabled=which == "proof",
        )
    return which, bool(persistent) and which != "proof"


def _download(code: Code) -> None:
    if code.standalone:
        st.download_button(
            "Download .cu",
            code.standalone,
            file_name="schedule.cu",
            mime="text/plain",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
            help="A program of its own: this kernel, a main that launches it, and a check of "
            "every element. Compile it with nvcc.",
        )


_ABOUT: dict[Which, str] = {
    "cut": "Real matrices on the same grid: the same number of tiles, the same tails, policy and "
    "workers, but tiles of 8 × 8, so that the emulator takes a second. As many tasks as tiles and "
    "a correct product prove that every tile is written exactly once.",
    "proof": "One thread a task walks the whole grid with the product's own device function, and "
    "counts how often every tile comes up. Nothing else is computed.",
    "whole": "The product itself, every tile in its real size.",
}


def _explanation(plan: SchedulePlan, which: Which) -> None:
    """Say how the order goes, what this kernel shows, and what a launch promises."""
    chosen = plan.design.chosen
    st.html(html.panel("How the order goes", chosen.title))
    st.html(f'<p class="tv-body">{html.text(chosen.rule.replace("`", ""))}</p>')
    facts = [("tiles", " × ".join(map(str, plan.schedule.tiles))), *plan.schedule.tasks.facts]
    facts.append(("tasks", f"{len(plan.schedule):,} on {plan.design.workers:,} workers"))
    rows = [(html.text(name), html.text(value)) for name, value in facts]
    st.html(html.table((), rows, css="tv-facts-table", label="What the policy decided"))
    st.html(html.panel("What this kernel shows"))
    about = _ABOUT[which]
    if which == "cut" and "whole" not in choices(plan.design):
        about = _ABOUT["whole"]
    st.html(f'<p class="tv-body">{html.text(about)}</p>')
    st.html(f'<p class="tv-note">{html.text(explain.CONVENTION)}</p>')


def _run(design: ScheduleDesign, which: Which, persistent: bool, code: Code) -> None:
    st.html(
        html.section(
            "Run a tiled GEMM in this order",
            "the same kernel for every policy; only the order changes",
        )
    )
    if not code.source:
        st.html(html.empty("Nothing to run.", "There is no CUDA for this design."))
        return
    gpu = any(status.name == "gpu" and status.available for status in machine.runner_statuses())
    if which == "whole" and not gpu:
        note = (
            "It has too many multiply-adds to emulate; a GPU runs it. The other kernels run here."
        )
        st.html(html.empty("Not without a GPU.", note))
        return
    subject = (design, which, persistent)
    variant = choices(design)[which] + (", persistent" if persistent and which != "proof" else "")
    run_panel("schedule", subject, lambda: kernel_of(*subject), design, variant)
