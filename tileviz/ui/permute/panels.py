"""The Permute page's panels below the verdict: pictures, CUDA beside its explanation, the run."""

from __future__ import annotations

import numpy as np
import streamlit as st

from tileviz.figures.cells import worst_cells
from tileviz.figures.permute import (
    PhaseName,
    ViewName,
    clicked_cell,
    describe,
    phase_map,
    phase_of,
    phase_view,
)
from tileviz.figures.tokens import PRINT
from tileviz.studies.permute import explain
from tileviz.studies.permute.plan import Key, PermutePlan, Schedule, XorSchedule, xor_form
from tileviz.ui import frame, html, inputs
from tileviz.ui.charts import chart_config
from tileviz.ui.permute import tables
from tileviz.ui.permute.cached import Code, code_of, formulas_of, kernel_of
from tileviz.ui.run_panel import run_panel

_K, _K_OF = "permute.k", "permute.k_of"
_VIEW, _GREY = "permute.view", "permute.grey"
_PHASE, _LANE, _REGISTER = "permute.phase", "permute.lane", "permute.register"
# As many lanes as fit beside the code at 1280 pixels.
_PLACED_LANES = 5
_MAX_LINES, _TALL_PIXELS = 70, 900
_PHASES: tuple[PhaseName, PhaseName] = ("read", "write")
_THROUGH = {"read": "Read through source", "write": "Write through destination"}


def pictures(plan: PermutePlan) -> Schedule | None:
    """Draw the table of every k and the pair of phases; return the schedule that is shown."""
    if plan.chosen is None:
        st.html(html.empty("No schedule to draw.", explain.why(plan)))
        return None
    left, right = st.columns([1, 2.35], gap="medium")
    with left:
        st.html(html.panel("Every k", f"{explain.unit(plan)} per warp and stage"))
        st.html(tables.k_table(explain.k_rows(plan)))
        schedule = _schedule_switch(plan, plan.chosen)
        view = _view_switch(plan)
        st.html(_switch_note(plan, schedule, view))
        inputs.toggle("Greys, for print", key=_GREY)
    with right:
        _phase_pair(plan, schedule, view)
    return schedule


def _schedule_switch(plan: PermutePlan, chosen: Schedule) -> Schedule:
    """Draw the switch between schedules; a new design starts with the one that runs."""
    every: dict[Key, Schedule] = {schedule.k: schedule for schedule in plan.schedules}
    if plan.ours is not None:
        every[plan.ours.schedule.k] = plan.ours.schedule
    options = list(every)
    if st.session_state.get(_K_OF) != plan.design or st.session_state.get(_K) not in options:
        st.session_state[_K] = chosen.k
        st.session_state[_K_OF] = plan.design
    # Six buttons fit their column only without the letter.
    short = len(options) > 4
    k = inputs.segmented_control(
        "Show schedule, k =" if short else "Show schedule",
        options,
        key=_K,
        format_func=lambda value: str(value) if short else every[value].label,
        required=True,
    )
    return chosen if k is None else every[k]


def _view_switch(plan: PermutePlan) -> ViewName:
    """Draw the switch between lanes across and banks (or sectors) across."""
    place, places = ("bank", "Banks") if plan.design.space == "shared" else ("sector", "Sectors")
    labels: dict[ViewName, str] = {"lanes": f"Lanes → {place}", "targets": f"{places} → lanes"}
    st.session_state.setdefault(_VIEW, "lanes")
    view: ViewName | None = inputs.segmented_control(
        "View", list(labels), key=_VIEW, format_func=lambda name: labels[name], required=True
    )
    return view or "lanes"


def _switch_note(plan: PermutePlan, schedule: Schedule, view: ViewName) -> str:
    notes = []
    if isinstance(schedule, XorSchedule):
        notes.append(f"<code>j = {html.text(xor_form(schedule.k))}</code>")
    else:
        entries = f"lane and register from a {schedule.elements.size}-entry table"
        notes.append("a formula over bits" if schedule.kind == "f2" else entries)
    if plan.design.space == "global":
        notes.append("A sector is 32 bytes, the least that memory moves.")
    else:
        notes.append("n-way: the most passes one group of lanes needs.")
        shown = [phase_view(plan, schedule, phase, view) for phase in _PHASES]
        if view == "targets" and any(np.char.endswith(part.text, "+").any() for part in shown):
            notes.append("8+: lane 8 and others that want the same word, in one pass.")
        if any(label[-1].isalpha() for part in shown for label in part.rows):
            notes.append("r0a, r0b: groups of lanes that are served one after the other.")
    return f'<p class="tv-note">{"<br>".join(notes)}</p>'


def _phase_pair(plan: PermutePlan, schedule: Schedule, view: ViewName) -> None:
    """Draw read above write under one legend."""
    theme = PRINT if st.session_state.get(_GREY) else frame.theme()
    code = code_of(plan.design, schedule.k)
    views = {phase: phase_view(plan, schedule, phase, view) for phase in _PHASES}
    first = views["read"]
    idle = ""
    if any(shown.shows_idle for shown in views.values()):
        idle = "idle bank" if plan.design.space == "shared" else "none"
    worst = any(worst_cells(shown.classes).any() for shown in views.values())
    st.html(html.legend(first.legend, first.labels, theme, idle, worst=worst))
    cell_phase, lane, register = _cell(schedule)
    for phase in _PHASES:
        line = code.read_line if phase == "read" else code.write_line
        key = views[phase].key
        st.html(html.phase_title(_THROUGH[phase], _counts(plan, schedule, phase), line, key))
        st.plotly_chart(
            phase_map(
                plan,
                schedule,
                phase,
                view,
                theme,
                (lane, register) if phase == cell_phase else None,
            ),
            width="stretch",
            theme=None,
            key=_map_key(phase),
            config=chart_config("permute"),
            on_select=lambda phase=phase: _pick(plan, schedule, phase, view),
            selection_mode="points",
            alt=describe(plan, schedule, phase, view),
        )


def _counts(plan: PermutePlan, schedule: Schedule, phase: PhaseName) -> str:
    part = phase_of(schedule, phase)
    free = "conflict-free" if plan.design.space == "shared" else "coalesced"
    excess = f"excess {part.excess}" if part.excess else free
    return f"{part.cost} {explain.unit(plan)}, ideal {part.ideal}, {excess}"


def _map_key(phase: PhaseName) -> str:
    return f"permute.map.{phase}"


def _pick(plan: PermutePlan, schedule: Schedule, phase: PhaseName, view: ViewName) -> None:
    """Take the clicked cell as the one that is explained bit by bit."""
    inputs.sync()
    points = st.session_state[_map_key(phase)]["selection"]["points"]
    if not points:
        return
    shown = phase_view(plan, schedule, phase, view)
    found = clicked_cell(shown, int(points[0]["y"]), int(points[0]["x"]))
    if found is not None:
        st.session_state[_PHASE] = phase
        st.session_state[_LANE], st.session_state[_REGISTER] = found


def _cell(schedule: Schedule) -> tuple[PhaseName, int, int]:
    """Return the cell under discussion, inside this schedule."""
    phase: PhaseName = "read" if st.session_state.get(_PHASE) == "read" else "write"
    last = len(schedule.elements) - 1
    lane = int(st.session_state.setdefault(_LANE, 9))
    register = min(int(st.session_state.setdefault(_REGISTER, 2)), last)
    return phase, lane, register


def code_section(plan: PermutePlan, schedule: Schedule | None) -> None:
    """Draw the CUDA, and beside it one cell bit by bit, the formula and the reason."""
    with st.container(key="code_head", horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            html.section("Generated CUDA", "the text that runs, byte for byte"), width="stretch"
        )
        code = code_of(plan.design, None if schedule is None else schedule.k)
        _download(code)
    if schedule is None:
        st.html(html.empty("No CUDA.", html.sentence(code.reason)))
        return
    left, right = st.columns([1.35, 1], gap="medium")
    with left:
        if code.source:
            # Tables can run to hundreds of lines; then the panel scrolls instead of the page.
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
        _explanation(plan, schedule)


def _download(code: Code) -> None:
    if code.standalone:
        st.download_button(
            "Download .cu",
            code.standalone,
            file_name="permute.cu",
            mime="text/plain",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
            help="A program of its own: this kernel, a main that launches it, and a check of "
            "every element. Compile it with nvcc.",
        )


def _explanation(plan: PermutePlan, schedule: Schedule) -> None:
    phase, lane, register = _cell(schedule)
    st.html(
        html.panel(
            "One cell, bit by bit",
            f"lane {lane}, register {register}, {schedule.label}, {phase} phase",
        )
    )
    rows = explain.cell_bits(plan, schedule.k, phase, lane, register)
    st.html(tables.bits(rows))
    if any(row.taken or row.changed for row in rows):
        st.html(tables.bits_legend())
    _cell_controls(schedule)
    forms = formulas_of(plan.design, schedule.k)
    ways = {1: "", 2: ", two ways", 3: ", three ways"}.get(len(forms), "")
    placed = explain.placements(plan, _PLACED_LANES) if schedule is plan.chosen else None
    if placed is None:
        st.html(html.panel(f"The formula{ways}"))
    else:
        st.html(html.panel("The table", "source offset → destination offset, first lanes"))
        st.html(tables.text_table(placed))
    if forms:
        st.html(tables.formulas(forms))
    st.html(html.panel("Why it is free" if not schedule.excess else "Why it is not free"))
    st.html(f'<p class="tv-body">{html.text(explain.why(plan, schedule.k))}</p>')


def _cell_controls(schedule: Schedule) -> None:
    """Draw controls that choose the cell: what a click on a map does, from the keyboard."""
    last = len(schedule.elements) - 1
    _, lane, register = _cell(schedule)
    st.session_state[_LANE], st.session_state[_REGISTER] = lane, register
    st.session_state.setdefault(_PHASE, "write")
    with st.container(key="cell_controls"):
        columns = st.columns([1, 1, 1.4], gap="small", vertical_alignment="bottom")
    with columns[0]:
        inputs.number_input("Lane", 0, 31, step=1, key=_LANE)
    with columns[1]:
        inputs.number_input("Register", 0, max(last, 1), step=1, key=_REGISTER, disabled=last == 0)
    with columns[2]:
        inputs.segmented_control(
            "Phase", _PHASES, key=_PHASE, format_func=str.capitalize, required=True
        )


def run_section(plan: PermutePlan, schedule: Schedule | None) -> None:
    """Draw the run: button, result table, verdict on correctness."""
    counted = f"checks the output, then counts {explain.unit(plan)} of every access"
    st.html(html.section("Run", counted))
    design = plan.design
    k = None if schedule is None else schedule.k
    code = code_of(design, k)
    if not code.source:
        st.html(html.empty("Nothing to run.", "There is no CUDA for this design."))
        return
    variant = "" if schedule is None else schedule.label
    run_panel("permute", (design, k), lambda: kernel_of(design, k), design, variant)
