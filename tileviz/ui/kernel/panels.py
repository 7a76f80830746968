"""The Kernel lab below the verdict: edit, or see line by line what was counted."""

from __future__ import annotations

from typing import Any

import streamlit as st

from tileviz.errors import DesignError
from tileviz.export.links import MAX_LINK, to_query
from tileviz.figures import over_time
from tileviz.figures.banks import MAP_WIDTH
from tileviz.memory import judge
from tileviz.runners import AccessRow
from tileviz.runners.counts import CountRow, compiler_counts
from tileviz.runners.executions import Executions, place
from tileviz.runners.line_words import reason
from tileviz.runners.words import gpu_lines
from tileviz.studies.documents import json_line
from tileviz.studies.kernel.design import KernelDesign
from tileviz.studies.registry import make_design
from tileviz.ui import frame, html, inputs
from tileviz.ui.charts import chart_config
from tileviz.ui.kernel import editors, tables
from tileviz.ui.kernel.source_view import name_of, source_view
from tileviz.ui.kernel.state import too_long
from tileviz.ui.kernel.view import LabView

_ACCESS, _STOP, _SHOWN = "lab.access", "lab.stop", "lab.shown"
_TIME, _VIEW = "lab.time", "lab.source_view"


# -- edit ------------------------------------------------------------------------------------------


def edit() -> None:
    """Draw the text beside its parameters, and what a run may take."""
    left, right = st.columns([1.12, 1], gap="medium")
    with left:
        editors.source_editor()
    with right:
        editors.parameters()
        st.html(
            html.panel("Limits", "what is over them is refused or stopped, with one clear line")
        )
        st.html(tables.limits())


def sharing(design: KernelDesign) -> str:
    """Say how a design can be handed on."""
    length = too_long(design)
    if not length:
        return "Share it by link: the address bar holds all of it."
    return (
        f"Too long for a link ({length:,} characters, at most {MAX_LINK:,} are read). Share it by "
        "file: Export, Design, JSON; “Open a file” takes it back. A reload starts anew."
    )


# -- line by line ----------------------------------------------------------------------------------


def lines(design: KernelDesign, view: LabView | None) -> None:
    """Draw the source with its counts and, below, one access lane by lane, over time."""
    _begin(view)
    st.fragment(_lines)(design, view)


def _begin(view: LabView | None) -> None:
    """Show the worst access of a new run."""
    if st.session_state.get(_SHOWN) is view and _ACCESS in st.session_state:
        return
    st.session_state[_SHOWN] = view
    there = _pictured(view)
    st.session_state[_ACCESS] = _first(view, there)
    _to_worst()


def _first(view: LabView | None, there: list[int]) -> int | None:
    """Return the access that a new run starts with: at fault, or worst, or the first."""
    if view is None or not there:
        return None
    lines = {problem.line for problem in view.problems}
    at_fault = [index for index in there if view.rows[index].line in lines]
    races = any(problem.kind == "race" for problem in view.problems)
    # Races are of shared memory.
    at_fault.sort(key=lambda index: races and view.rows[index].space != "shared")
    if at_fault:
        return at_fault[0]
    return view.worst if view.worst in there else there[0]


def _pictured(view: LabView | None) -> list[int]:
    if view is None:
        return []
    return [index for index, sample in enumerate(view.samples) if sample is not None]


def _to_worst() -> None:
    """Show the worst execution of the access that is chosen."""
    view: LabView | None = st.session_state[_SHOWN]
    picked = st.session_state.get(_ACCESS)
    sample = view.samples[picked] if view is not None and picked in _pictured(view) else None
    st.session_state[_STOP] = 1 if sample is None else sample.worst + 1


def _clicked() -> None:
    """Show the access that was clicked in the source view."""
    found: Any = st.session_state[_VIEW]
    if found.picked in _pictured(st.session_state[_SHOWN]):
        st.session_state[_ACCESS] = found.picked
        _to_worst()


def _lines(design: KernelDesign, view: LabView | None) -> None:
    there = _pictured(view)
    # Widgets of a hidden view lose their value; what is shown stays.
    if there and st.session_state.get(_ACCESS) not in there:
        st.session_state[_ACCESS] = there[0]
        _to_worst()
    picked = st.session_state.get(_ACCESS) if there else None
    subject = f"{hash(design)}.{id(view)}"
    source_view(design.source, view, picked, subject, _clicked)
    if view is None:
        return
    _elsewhere(view)
    if picked is not None:
        sample = view.samples[picked]
        assert sample is not None
        _access(design, view, view.rows[picked], sample)


def _elsewhere(view: LabView) -> None:
    """Name the faults that no line of the text is at fault for."""
    notes = [problem.message for problem in view.problems if problem.line is None]
    if any(row.line is None for row in view.rows):
        notes.append("Some accesses come from no line of this text.")
    for note in notes[:8]:
        st.html(f'<p class="tv-note">{html.text(html.sentence(note))}</p>')


def _access(design: KernelDesign, view: LabView, row: AccessRow, sample: Executions) -> None:
    with st.container(horizontal=True, gap="medium"):
        left = st.container(width=MAP_WIDTH, key="lab_left")
        right = st.container(width="stretch", key="lab_right")
    # The controls come first: they say which execution is drawn.
    with right:
        _which(view)
        stop = _stop(sample)
        st.html(_who(design, sample, stop))
        _over_time(sample, stop)
        _bit_by_bit(sample, stop)
    with left:
        _map(row, sample, stop)


def _which(view: LabView) -> None:
    there = _pictured(view)
    inputs.selectbox(
        "Access shown",
        there,
        key=_ACCESS,
        format_func=lambda index: _option(view.rows[index]),
        on_change=_to_worst,
    )


def _option(row: AccessRow) -> str:
    where = f"Line {row.line}" if row.line else "No line"
    buffer = f" · {row.buffer}" if row.buffer else ""
    return f"{where} · {name_of(row)}{buffer}"


def _stop(sample: Executions) -> int:
    """Draw the slider over kept executions and return the one that is shown."""
    state = st.session_state
    state[_STOP] = min(int(state.get(_STOP) or 1), sample.stops)
    if sample.stops > 1:
        spread = f"of {sample.total:,}"
        if sample.total > sample.stops:
            spread = f"{sample.stops} of {sample.total:,}, evenly spread"
        inputs.slider(f"Execution, {spread}", 1, sample.stops, key=_STOP)
    return int(state[_STOP]) - 1


def _who(design: KernelDesign, sample: Executions, stop: int) -> str:
    """Name block, warp and instance of an execution, what it costs, and why."""
    found = place(int(sample.warp[stop]), design.grid, design.block)
    block = ", ".join(map(str, found.block))
    who = f"Block ({block}), warp {found.warp}"
    turn = int(sample.instance[stop]) + 1
    cost, ideal = int(sample.cost[stop]), int(sample.ideal[stop])
    judged = judge(sample.accesses(stop))
    why = reason(sample, stop, passes=judged.n_way or 0, used=judged.bytes_used or 0)
    unit = "wavefront" if sample.space == "shared" else "sector"
    paid = f"{cost} {unit}{'s' * (cost != 1)}, ideal {ideal}: {why}."
    above = ' class="above"' if cost > ideal else ""
    buffer = f", buffer {sample.buffers[stop]}" if sample.buffers[stop] else ""
    return (
        f'<p class="tv-body lab-who"><strong>{html.text(who)}</strong>'
        f"<span>the {_ordinal(turn)} time it comes here, execution "
        f"{int(sample.number[stop]) + 1:,} of {sample.total:,}{html.text(buffer)}</span>"
        f"<span{above}>{html.text(paid)}</span></p>"
    )


def _ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th...

    Example:
        >>> [_ordinal(number) for number in (1, 2, 3, 11, 22, 113)]
        ['1st', '2nd', '3rd', '11th', '22nd', '113th']
    """
    ends = {1: "st", 2: "nd", 3: "rd"}
    teen = number % 100 in (11, 12, 13)
    return f"{number:,}{'th' if teen else ends.get(number % 10, 'th')}"


def _over_time(sample: Executions, stop: int) -> None:
    if sample.stops < 2:
        return
    unit = "wavefronts" if sample.space == "shared" else "sectors"
    st.html(html.panel("Over time", f"{unit} of every execution shown; dotted: ideal"))
    st.plotly_chart(
        over_time.cost_bars(sample, stop, frame.theme()),
        theme=None,
        key=_TIME,
        config=chart_config("lanes"),
        on_select=_pick_time,
        selection_mode="points",
        alt=f"{sample.stops} executions, {int(sample.cost.min())} to {int(sample.cost.max())} "
        f"{unit} each.",
    )


def _bit_by_bit(sample: Executions, stop: int) -> None:
    """Offer the same addresses on the page that explains them and their banks bit by bit."""
    there = frame.page_of("access")
    lanes = zip(sample.addresses[stop].tolist(), sample.active[stop].tolist(), strict=True)
    fields = {"space": sample.space, "op": sample.op, "bytes": sample.bytes}
    addresses = [address if active else None for address, active in lanes]
    try:
        design = make_design({"study": "access", **fields, "addresses": addresses})
    except DesignError:
        return
    if there is not None:
        st.page_link(
            there.script,
            label=f"These addresses in {there.title}",
            icon=there.icon,
            query_params=to_query(design),
        )


def _pick_time() -> None:
    """Show the execution whose bar was clicked."""
    inputs.sync()
    points = st.session_state[_TIME]["selection"]["points"]
    if points:
        st.session_state[_STOP] = int(points[0]["x"]) + 1


def _map(row: AccessRow, sample: Executions, stop: int) -> None:
    accesses = sample.accesses(stop)
    cost, ideal = int(sample.cost[stop]), int(sample.ideal[stop])
    theme = frame.theme()
    what = "Lanes and banks" if sample.space == "shared" else "Lanes and sectors"
    where = f"line {row.line}, {name_of(row)}" if row.line else name_of(row)
    st.html(html.panel(what, where))
    name, labels = over_time.legend_of(sample.space)
    items = "".join(
        f'<span><i style="background:{colour}"></i>{html.text(text)}</span>'
        for colour, text in zip(theme.passes, labels, strict=True)
    )
    st.html(f'<div class="tv-legend tv-map-legend"><strong>{html.text(name)}</strong>{items}</div>')
    st.plotly_chart(
        over_time.lane_map(accesses, theme),
        theme=None,
        key="lab.map",
        config=chart_config("lanes"),
        alt=over_time.describe(accesses, cost, ideal),
    )
    st.html(f'<p class="tv-note lab-key">{html.text(over_time.map_key(accesses))}</p>')


# -- what else a run tells -------------------------------------------------------------------------


def results(design: KernelDesign, view: LabView) -> None:
    """Draw outputs, resources, the compiler's counts, and the trace as a file."""
    with st.container(key="code_head", horizontal=True, vertical_alignment="center", gap="small"):
        st.html(html.section("Outputs and compiled text", view.where), width="stretch")
        st.download_button(
            "Download trace",
            lambda: trace_document(design, view),
            file_name=f"{design.entry}-trace.json",
            mime="application/json",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
            help="The same object as tileviz trace --json.",
        )
    for line in gpu_lines(view.document):
        st.html(f'<p class="tv-note">{html.text(line)}</p>')
    if not view.static:
        st.html(html.empty("Nothing was compiled, so nothing ran.", "The verdict says why."))
        return
    left, right = st.columns([1.15, 1], gap="medium")
    with left:
        st.html(html.panel("Outputs", "no reference to check them against"))
        if view.outputs:
            st.html(tables.outputs(view.outputs))
        else:
            st.html(html.empty("No outputs.", "The kernel did not run to its end."))
    with right:
        st.html(html.panel("What the compiler made of it", view.resources))
        st.fragment(_counted)(design, view)


def _counted(design: KernelDesign, view: LabView) -> None:
    """Draw the counts once they are asked for: they take another compile."""
    asked = st.session_state.get("lab.counted") is view
    if not asked and not inputs.button(
        "Count instructions", key="lab.count", icon=":material/tag:"
    ):
        note = "Compiles to machine code too, and sets both beside each other, line by line."
        st.html(f'<p class="tv-note">{html.text(note)}</p>')
        return
    st.session_state["lab.counted"] = view
    with st.spinner("Compiling"):
        rows = counts_of(design, view)
    st.html(tables.counts(rows))
    if all(one.sass is None for one in rows):
        note = "No disassembler is installed here, so the machine code is not counted."
        st.html(f'<p class="tv-note">{html.text(note)}</p>')


@st.cache_data(max_entries=64, show_spinner=False)
def _counts(source: str, entry: str, static: tuple[Any, ...]) -> tuple[CountRow, ...]:
    return compiler_counts(source, entry, static)


def counts_of(design: KernelDesign, view: LabView) -> tuple[CountRow, ...]:
    """Return what each line's accesses became in PTX and machine code; none if it did not run."""
    if not view.static:
        return ()
    rows: tuple[CountRow, ...] = _counts(design.source, design.entry, view.static)
    return rows


def trace_document(design: KernelDesign, view: LabView) -> str:
    """Return the object that ``tileviz trace --json`` prints, as text."""
    counts = [row.to_json() for row in counts_of(design, view)]
    return f"{json_line({**view.document, 'counts': counts})}\n"
