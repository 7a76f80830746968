"""The Block schedule page's pictures: the map with its scrubber, the model, sweep, balance."""

from __future__ import annotations

import numpy as np
import streamlit as st

from tileviz.figures import schedule as order_map
from tileviz.figures.order_map import Unit, amount, map_size
from tileviz.figures.schedule_charts import (
    Curve,
    Sweep,
    l2_figure,
    shares_figure,
    sweep_figure,
)
from tileviz.figures.scrubber import map_width
from tileviz.figures.tokens import PRINT, Theme
from tileviz.studies.schedule import views
from tileviz.studies.schedule.explain import CONVENTION
from tileviz.studies.schedule.plan import SchedulePlan
from tileviz.studies.schedule.recommend import (
    Candidate,
    Recommendation,
    catlass,
    offsets_and_directions,
    ranges,
)
from tileviz.ui import frame, html, inputs
from tileviz.ui.charts import chart_config
from tileviz.ui.schedule import editors, sweeps, tables
from tileviz.ui.schedule.cached import map_of, plan_of

_WAVE, _TASK, _BATCH, _OF = "schedule.wave", "schedule.task", "schedule.plane", "schedule.wave_of"
_GREY, _GREY_WAS, _STRIP = "schedule.grey", "schedule.grey_was", "schedule.strip"
_POLL_SECONDS = 0.3
# Under a map lower than this the workers' shares have room.
_FLAT = 300


def chart_theme() -> Theme:
    """Return the colours of this page's charts: the browser's, or greys."""
    return PRINT if st.session_state.get(_GREY) else frame.theme()


def pictures(plan: SchedulePlan, found: Recommendation | None) -> None:
    """Draw the order map in a column of its own width, and what the model says beside it."""
    width = map_width(*plan.schedule.tiles)
    with st.container(horizontal=True, gap="medium"):
        left = st.container(width=width)
        right = st.container(width="stretch", key="schedule_right")
    flat = map_size(*plan.schedule.tiles).height < _FLAT
    with left:
        _map(plan)
        if flat:
            _balance(plan)
    with right:
        _model(plan, found)
        _sweep(plan)
        if not flat:
            _balance(plan)


@st.fragment
def _map(plan: SchedulePlan) -> None:
    """Draw legend, scrubber, map, and the controls that do the same from the keyboard."""
    design, schedule = plan.design, plan.schedule
    if not schedule.waves:
        st.html(html.empty("No tasks.", "This policy launches nothing on this grid."))
        return
    if st.session_state.get(_OF) != design:
        st.session_state[_WAVE] = order_map.first_wave(plan) + 1
        st.session_state[_TASK] = None
        st.session_state[_BATCH] = 0
        st.session_state[_OF] = design
    theme = chart_theme()
    wave = min(max(int(st.session_state.get(_WAVE) or 1), 1), schedule.waves) - 1
    task: int | None = st.session_state.get(_TASK)
    batch = min(int(st.session_state.get(_BATCH) or 0), schedule.planes - 1)
    st.html(tables.order_legend(plan, theme, batch))
    st.plotly_chart(
        map_of(design, wave, theme.name, batch, task),
        width="content",
        theme=None,
        key="schedule.map",
        config=chart_config("schedule"),
        alt=order_map.describe(plan, wave),
    )
    _map_controls(plan)


def _print_toggle() -> None:
    """Draw the switch to greys; other charts than the map follow it too."""
    grey = inputs.toggle("Greys, for print", key=_GREY)
    if grey != st.session_state.get(_GREY_WAS, False):
        st.session_state[_GREY_WAS] = grey
        st.rerun()


def _map_controls(plan: SchedulePlan) -> None:
    schedule = plan.schedule
    with st.container(key="wave_controls"):
        columns = st.columns([1, 1, 1, 1.3], gap="small", vertical_alignment="bottom")
    with columns[0]:
        inputs.number_input(
            "Wave",
            1,
            max(schedule.waves, 2),
            step=1,
            key=_WAVE,
            on_change=_go_to_wave,
            args=(plan,),
        )
    with columns[1]:
        inputs.number_input(
            "Task",
            0,
            max(len(schedule) - 1, 1),
            step=1,
            key=_TASK,
            placeholder="find",
            on_change=_go_to_task,
            args=(plan,),
        )
    with columns[2]:
        if schedule.planes > 1:
            name = "Batch" if schedule.tasks.heights is None else "Group"
            inputs.number_input(name, 0, schedule.planes - 1, step=1, key=_BATCH)
    with columns[3]:
        _print_toggle()
    st.html(f'<p class="tv-note">{html.text(CONVENTION)}</p>')


def _go_to_wave(plan: SchedulePlan) -> None:
    """Show the batch in which a wave begins."""
    schedule = plan.schedule
    tasks = np.flatnonzero(schedule.wave == int(st.session_state[_WAVE]) - 1)
    if len(tasks):
        st.session_state[_BATCH] = int(schedule.batch[tasks[0]])


def _go_to_task(plan: SchedulePlan) -> None:
    """Show the wave and the batch of a task."""
    task = st.session_state.get(_TASK)
    if task is not None and 0 <= task < len(plan.schedule):
        st.session_state[_WAVE] = int(plan.schedule.wave[task]) + 1
        st.session_state[_BATCH] = int(plan.schedule.batch[task])


def _model(plan: SchedulePlan, found: Recommendation | None) -> None:
    """Draw the table of figures and the curve over cache sizes."""
    design, metrics = plan.design, plan.metrics
    size = amount(design.l2_bytes).replace(".0 ", " ")
    edges = f", {metrics.edges_note}" if metrics.edges_note else ""
    st.html(html.panel("Model", f"{size} fully associative LRU, whole problem{edges}"))
    columns = [(tables.short_label(design), metrics)]
    best = None if found is None else plan_of(found.best.candidate.design(design))
    if found is not None and best is not None and best.design != design:
        label = tables.short_candidate(found.best.candidate)
        columns.append((f"best, {label}", best.metrics))
    if design.policy != "row_major":
        columns.append(("row-major", plan.baseline))
    st.html(tables.model_table(columns))
    if metrics.l2_note:
        st.html(f'<p class="tv-note">{html.text(html.sentence(metrics.l2_note))}</p>')
    _curve(plan)


def _curve(plan: SchedulePlan) -> None:
    sizes, rates = views.l2_curve(plan)
    missed = [plan.baseline.l2(size) for size in sizes.tolist()]
    baseline = [one.hit_rate for one in missed if one is not None]
    curves = [Curve(tables.short_label(plan.design), tuple(rates))]
    if plan.design.policy != "row_major":
        curves.append(Curve("row-major", tuple(baseline), baseline=True))
    curves = [curve for curve in curves if curve.rates]
    if not rates:
        return
    unit = Unit.of(int(sizes.max()))
    st.html(html.panel("Hit rate against L2 size", f"{unit.name}, this problem"))
    said = ", ".join(
        f"{100 * rate:.0f} % at {amount(size)}"
        for size, rate in zip(sizes.tolist(), rates, strict=True)
    )
    st.plotly_chart(
        l2_figure(sizes.tolist(), curves, plan.design.l2_bytes, chart_theme()),
        width="stretch",
        theme=None,
        key="schedule.curve",
        config=chart_config("l2"),
        alt=f"Hit rate of {curves[0].label} against cache size: {said}.",
    )


def _sweep(plan: SchedulePlan) -> None:
    """Draw every offset and direction, or the sweep that makes them."""
    st.html(html.panel("Every offset and direction", "L2 hit rate, %; frame = best, ring = shown"))
    found = sweeps.found_for(plan.design)
    if found is None:
        running = sweeps.job_of(plan.design) is not None
        st.fragment(_sweep_job, run_every=_POLL_SECONDS if running else None)(plan)
        return
    _strip(plan, found)


def _sweep_job(plan: SchedulePlan) -> None:
    """Draw a sweep under way with its progress, or the button that starts it."""
    job = sweeps.job_of(plan.design)
    if job is None:
        if sweeps.found_for(plan.design) is not None:
            st.rerun()
        settings = len(offsets_and_directions(plan.design))
        st.html(
            html.empty("Not swept yet.", f"{len(plan.schedule):,} tasks times {settings} settings.")
        )
        if inputs.button("Sweep", icon=":material/play_arrow:", key="schedule.sweep_start"):
            sweeps.start(plan.design)
            st.rerun()
        return
    if sweeps.settle(job):
        st.rerun()
    st.progress(job.done / job.total, text=f"{job.done} of {job.total} settings")
    if inputs.button("Cancel", icon=":material/stop:", key="schedule.sweep_stop"):
        sweeps.cancel()
        st.rerun()


def _strip(plan: SchedulePlan, found: Recommendation) -> None:
    strip = Sweep.of(found.outcomes)
    st.html(tables.rate_legend())
    st.plotly_chart(
        sweep_figure(
            strip,
            _cell_of(strip, found.best.candidate),
            _cell_of(strip, _as_candidate(plan)),
            chart_theme(),
        ),
        width="stretch",
        theme=None,
        key=_STRIP,
        config=chart_config("sweep"),
        on_select=lambda: _take(strip),
        selection_mode="points",
        alt=f"L2 hit rate of every offset and direction. {found.sentence}",
    )
    st.html(f'<p class="tv-note">{html.text(found.sentence)} A click on a cell opens it.</p>')
    _download(plan, found)


def _download(plan: SchedulePlan, found: Recommendation) -> None:
    """Offer every figure of every cell; where that takes long, say how the shell makes it."""
    offsets, directions = found.offsets, sweeps.settings_of(found)[1].values
    listed = ranges(offsets, "..", ",")
    overs = f"--over offset={listed} --over direction={','.join(map(str, directions))}"
    command = f"tileviz sweep schedule.json {overs} --csv"
    if not sweeps.is_soon(plan.design):
        note = f"As CSV, from the shell: {command} sweep.csv"
        st.html(f'<p class="tv-note">{html.text(note)}</p>')
        return
    st.download_button(
        "Every figure, CSV",
        lambda: sweeps.csv_of(plan.design, found),
        file_name="schedule-sweep.csv",
        mime="text/csv",
        key="schedule.sweep_csv",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        help=f"One row a setting, as the shell writes it: {command} sweep.csv",
    )


def _as_candidate(plan: SchedulePlan) -> Candidate | None:
    if plan.design.policy != "catlass":
        return None
    settings = plan.design.parameters.model_dump(mode="json")
    return catlass(settings["offset"], settings["direction"])


def _cell_of(strip: Sweep, candidate: Candidate | None) -> tuple[int, int] | None:
    if candidate is None or candidate.policy != "catlass":
        return None
    settings = dict(candidate.parameters)
    return strip.cell(settings["offset"], settings["direction"])


def _take(strip: Sweep) -> None:
    """Open the setting of the clicked cell."""
    inputs.sync()
    points = st.session_state[_STRIP]["selection"]["points"]
    chosen = strip.at(int(points[0]["y"]), int(points[0]["x"])) if points else None
    if chosen is not None:
        editors.choose(*chosen)


def _balance(plan: SchedulePlan) -> None:
    """Draw every worker's share of the work."""
    metrics = plan.metrics
    idle = int((metrics.shares == 0).sum())
    facts = f"largest / mean {metrics.balance:.3f}" + (f", {idle} idle" if idle else "")
    st.html(html.panel("Work of each worker", facts))
    st.plotly_chart(
        shares_figure(metrics.shares, chart_theme()),
        width="stretch",
        theme=None,
        key="schedule.shares",
        config=chart_config("balance"),
        alt=f"Work of {plan.design.workers} workers against their mean; {facts}.",
    )
