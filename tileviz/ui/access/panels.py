"""The Banks page's panels below the verdict: tile, strips, one cell, CUDA and run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import streamlit as st

from tileviz.errors import DesignError
from tileviz.figures import bank_strips, banks
from tileviz.figures.tokens import IDLE, PRINT, Theme
from tileviz.studies.access.candidates import Candidate
from tileviz.studies.access.cell import cell, formula, why
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.plan import AccessPlan, memory_layout
from tileviz.studies.access.shown import Instruction, Sweep
from tileviz.studies.access.window import Window, window
from tileviz.ui import frame, html, inputs
from tileviz.ui.access import fix, tables
from tileviz.ui.access.cached import (
    Code,
    code_of,
    instruction_of,
    kernel_of,
    plan_of,
    shown_design,
    sweeps_of,
)
from tileviz.ui.access.form import AccessForm
from tileviz.ui.charts import chart_config
from tileviz.ui.run_panel import run_panel

Physical = Literal["banks", "wavefronts", "lanes"]

_ACCESS, _NUMBER, _SHOWN_OF = "banks.shown", "banks.number", "banks.shown_of"
_ROW, _COLUMN, _CELL_OF = "banks.row", "banks.column", "banks.cell_of"
_VIEW, _GREY, _MAP = "banks.view", "banks.grey", "banks.map"
_EXAMPLE_LANE = 9
_VIEWS: dict[Physical, str] = {
    "banks": "Words per bank",
    "wavefronts": "Wavefronts",
    "lanes": "Lanes",
}
_KEYS: dict[Physical, str] = {
    "banks": "words asked of each bank, a row for each group of lanes",
    "wavefronts": "the lane each bank serves, a row for each pass, first come first served",
    "lanes": "the bank of each lane, lines between groups that are served together",
}


@dataclass(frozen=True, eq=False)
class _Scene:
    """What is drawn: one instruction of one access."""

    design: AccessDesign
    sweeps: tuple[Sweep, ...]
    access: int
    number: int
    shown: Instruction
    part: Window | None
    theme: Theme

    @property
    def sweep(self) -> Sweep:
        return self.sweeps[self.access]


def body(plan: AccessPlan, form: AccessForm) -> None:
    """Draw tile and strips in a column of their own width, everything else beside them."""
    scene = _scene(plan)
    with st.container(horizontal=True, gap="medium"):
        left = st.container(width=banks.MAP_WIDTH, key="banks_left")
        right = st.container(width="stretch", key="banks_right")
    with left:
        if scene.part is not None:
            _tile(scene, scene.part)
        _physical(scene)
        after = st.container()
    with right:
        _controls(scene)
        if scene.part is not None:
            _one_cell(scene, scene.part)
        st.html(html.panel("Why"))
        st.html(f'<p class="tv-body">{html.text(why(scene.shown))}</p>')
        fixes = st.container()
    _code_section(plan_of(shown_design(scene.design, scene.access, scene.number)))
    # The search may take a second on a large tile; everything else is there by then.
    with fixes:
        chosen = fix.section(scene.design, form)
    if chosen is not None:
        with after:
            _after(scene, chosen)


def _scene(plan: AccessPlan) -> _Scene:
    """Return what the controls ask for; a new design starts with its own first instruction."""
    design = plan.design
    every = sweeps_of(design)
    state = st.session_state
    if state.get(_SHOWN_OF) != design or state.get(_ACCESS) not in range(len(every)):
        state[_ACCESS] = 0
        state[_NUMBER] = every[0].start
        state[_SHOWN_OF] = design
    access = int(state[_ACCESS])
    state[_NUMBER] = min(int(state.get(_NUMBER) or 0), every[access].count - 1)
    number = int(state[_NUMBER])
    try:
        shown = instruction_of(design, access, number)
    except DesignError:
        # Every plan has judged the start; a later instruction may be misaligned.
        number = state[_NUMBER] = every[access].start
        shown = instruction_of(design, access, number)
    part = window(design, shown) if design.layout is not None else None
    theme = PRINT if state.get(_GREY) else frame.theme()
    scene = _Scene(design, every, access, number, shown, part, theme)
    _default_cell(scene)
    return scene


def _to_start() -> None:
    """Show the start of another access."""
    state = st.session_state
    every = sweeps_of(state[_SHOWN_OF])
    state[_NUMBER] = every[int(state[_ACCESS] or 0)].start


def _controls(scene: _Scene) -> None:
    """Draw what is shown: which access, which of its instructions."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        if len(scene.sweeps) > 1:
            inputs.selectbox(
                "Access shown",
                range(len(scene.sweeps)),
                key=_ACCESS,
                format_func=lambda at: scene.sweeps[at].name,
                on_change=_to_start,
            )
        if scene.sweep.count > 1:
            inputs.slider(
                f"Instruction, of {scene.sweep.count}", 0, scene.sweep.count - 1, key=_NUMBER
            )
        inputs.toggle("Greys", key=_GREY)


# -- pictures ------------------------------------------------------------------------------------


def _tile(scene: _Scene, part: Window) -> None:
    place = "bank" if scene.shown.verdict.banks is not None else "lane"
    each = "" if part.per_cell == 1 else f" of {part.per_cell} elements"
    st.html(
        html.panel("Logical tile", f"cells{each}: {place}; framed: what this instruction wants")
    )
    name, labels = banks.legend_of(scene.shown)
    st.html(_legend(scene, name, labels))
    st.plotly_chart(
        banks.tile_map(part, scene.shown, scene.theme, _explained(part)),
        width="content",
        theme=None,
        key=_MAP,
        config=chart_config("banks"),
        on_select=lambda: _pick(part),
        selection_mode="points",
        alt=banks.describe_tile(part, scene.shown),
    )
    note = _cut(part)
    if note:
        st.html(f'<p class="tv-note">{html.text(note)}</p>')


def _legend(scene: _Scene, name: str, labels: tuple[str, ...]) -> str:
    """Return the legend, all six classes."""
    theme = scene.theme
    items = "".join(
        f'<span><i style="background:{colour}"></i>{html.text(text)}</span>'
        for colour, text in zip(theme.passes, labels, strict=True)
    )
    return f'<div class="tv-legend tv-map-legend"><strong>{html.text(name)}</strong>{items}</div>'


def _cut(part: Window) -> str:
    """Say what the picture leaves out."""
    if part.complete:
        return ""
    rows, columns = part.element.shape
    said = f"Rows {part.row} to {part.row + rows - 1} of {part.shape[0]}"
    last = min(part.column + columns * part.per_cell, part.shape[1]) - 1
    said += f", columns {part.column} to {last} of {part.shape[1]}."
    if part.outside:
        said += f" {part.outside} lanes lie outside."
    return said


def _physical(scene: _Scene) -> None:
    """Draw what the memory makes of the instruction."""
    shown, theme = scene.shown, scene.theme
    if not shown.active.any():
        st.html(html.empty("Nothing to draw.", "No lane takes part."))
        return
    if shown.verdict.banks is None:
        verdict = shown.verdict
        st.html(
            html.panel(
                "Physical view",
                f"{verdict.sectors} sectors in {verdict.lines} lines of 128 bytes; "
                "cells: the lane that uses a word",
            )
        )
        if scene.part is None:
            st.html(_legend(scene, *banks.legend_of(shown)))
        _strip(bank_strips.line_map(shown, theme), "lines", f"{verdict.lines} lines of 32 words")
        return
    st.session_state.setdefault(_VIEW, "banks")
    view: Physical = st.session_state[_VIEW] or "banks"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(html.panel("Physical view"), width="stretch")
        inputs.segmented_control(
            "Physical view",
            list(_VIEWS),
            key=_VIEW,
            format_func=_VIEWS.__getitem__,
            required=True,
            label_visibility="collapsed",
        )
    if scene.part is None:
        st.html(_legend(scene, *banks.legend_of(shown)))
    st.html(f'<p class="tv-strip-label">{_KEYS[view]}</p>')
    _bank_view(shown, theme, view, view)


def _bank_view(shown: Instruction, theme: Theme, view: Physical, name: str) -> None:
    draw = {
        "banks": bank_strips.bank_strip,
        "wavefronts": bank_strips.wavefront_map,
        "lanes": bank_strips.lane_strip,
    }
    alt = f"{_KEYS[view]}: {shown.verdict.wavefronts} wavefronts, ideal {shown.verdict.ideal}"
    _strip(draw[view](shown, theme), name, alt)


def _after(scene: _Scene, chosen: Candidate) -> None:
    """Draw the same view of the same instruction, fixed; or without the swizzle that fixes it."""
    name = f"With {tables.name_of(chosen)}"
    found = fix.fixed(scene.design, chosen, scene.access, scene.number)
    if found is None:
        name = "Without the swizzle"
        found = fix.bare(scene.design, scene.access, scene.number)
    if found is None or not scene.shown.active.any():
        return
    if isinstance(found, DesignError):
        st.html(html.panel(name))
        st.html(html.empty("No picture.", html.sentence(str(found))))
        return
    before, cost = scene.shown.verdict.cost, found.verdict.cost
    note = f"{cost} wavefront{'s' * (cost != 1)} instead of {before}"
    st.html(html.panel(name, note))
    view: Physical = st.session_state[_VIEW] or "banks"
    _bank_view(found, scene.theme, view, f"after.{view}")


def _strip(figure: object, name: str, alt: str) -> None:
    st.plotly_chart(
        figure,
        width=banks.MAP_WIDTH,
        theme=None,
        key=f"banks.strip.{name}",
        config=chart_config("banks"),
        alt=alt,
    )


# -- one cell ------------------------------------------------------------------------------------


def _default_cell(scene: _Scene) -> None:
    """Explain an example lane's cell until another is chosen."""
    subject = (scene.design, scene.access, scene.number)
    if scene.part is None or st.session_state.get(_CELL_OF) == subject:
        return
    active = np.flatnonzero(scene.shown.active)
    lane = (
        _EXAMPLE_LANE if scene.shown.active[_EXAMPLE_LANE] else int(active[0]) if active.size else 0
    )
    point = scene.shown.coordinates[:, lane]
    extents = memory_layout(scene.design).extents
    flat = int(np.ravel_multi_index(tuple(point), extents)) if len(extents) else 0
    row, column = divmod(flat, scene.part.shape[1])
    st.session_state[_ROW], st.session_state[_COLUMN] = row, column
    st.session_state[_CELL_OF] = subject


def _pick(part: Window) -> None:
    """Take the clicked cell as the one that is explained bit by bit."""
    inputs.sync()
    points = st.session_state[_MAP]["selection"]["points"]
    if points:
        st.session_state[_ROW] = part.row + int(points[0]["y"])
        st.session_state[_COLUMN] = part.column + int(points[0]["x"]) * part.per_cell


def _explained(part: Window) -> tuple[int, int] | None:
    """Return the explained cell's place on the picture, None where it is not shown."""
    row = int(st.session_state.get(_ROW) or 0) - part.row
    column = (int(st.session_state.get(_COLUMN) or 0) - part.column) // part.per_cell
    rows, columns = part.element.shape
    inside = 0 <= row < rows and 0 <= column < columns
    return (row, column) if inside and part.element[row, column] >= 0 else None


def _one_cell(scene: _Scene, part: Window) -> None:
    rows, columns = part.shape
    row = min(int(st.session_state.get(_ROW) or 0), rows - 1)
    column = min(int(st.session_state.get(_COLUMN) or 0), columns - 1)
    st.session_state[_ROW], st.session_state[_COLUMN] = row, column
    extents = memory_layout(scene.design).extents
    flat = min(row * columns + column, int(np.prod(extents, dtype=np.int64)) - 1)
    point = tuple(int(at) for at in np.unravel_index(flat, extents)) if extents else ()
    found = cell(scene.design, point)
    st.html(html.panel("One cell, bit by bit", _who(scene, part)))
    st.html(tables.bits(found.steps))
    st.html(tables.bits_legend(found.steps, found.unit))
    place = f"element {formula(scene.design, found)}"
    if found.place != found.offset:
        place += f", swizzled {found.place}"
    place += f"; byte {found.byte}, bank {found.bank}"
    st.html(f'<p class="tv-note">{html.text(place)}. Click a cell to explain it.</p>')
    with st.container(key="cell_controls", horizontal=True, gap="small"):
        inputs.number_input("Row", 0, max(rows - 1, 1), step=1, key=_ROW, disabled=rows == 1)
        inputs.number_input(
            "Column", 0, max(columns - 1, 1), step=1, key=_COLUMN, disabled=columns == 1
        )


def _who(scene: _Scene, part: Window) -> str:
    """Say which cell is explained, and which lane wants it."""
    said = f"row {st.session_state[_ROW]}, column {st.session_state[_COLUMN]}"
    at = _explained(part)
    lane = int(part.lane[at]) if at is not None else IDLE
    if lane < 0:
        return f"{said}, wanted by no lane"
    said += f", lane {lane}"
    if scene.shown.verdict.banks is not None and scene.shown.group_size < len(scene.shown.active):
        said += f", group {lane // scene.shown.group_size}"
    return said


# -- CUDA and run --------------------------------------------------------------------------------


def _code_section(plan: AccessPlan) -> None:
    design = plan.design
    code = code_of(design)
    with st.container(key="code_head", horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            html.section("Generated CUDA", "a micro-kernel of exactly this instruction"),
            width="stretch",
        )
        _download_code(code)
    if not code.source:
        st.html(html.empty("No CUDA.", html.sentence(code.reason)))
        return
    left, right = st.columns([1.35, 1], gap="medium")
    with left:
        st.code(code.source, language="cpp", line_numbers=True)
    with right:
        st.html(html.panel("What it measures", f"line {code.line}" if code.line else ""))
        if code.text:
            st.code(code.text, language="cpp", wrap_lines=True)
        st.html(f'<p class="tv-body">{html.text(_about(plan))}</p>')
    unit = "wavefronts" if design.space == "shared" else "sectors"
    st.html(html.section("Run", f"checks the output, then counts {unit} of every access"))
    run_panel("banks", design, lambda: kernel_of(design), design)


def _about(plan: AccessPlan) -> str:
    verdict = plan.verdict
    unit = "sector" if verdict.wavefronts is None else "wavefront"
    return (
        f"One warp executes this access once: predicted {verdict.cost} "
        f"{unit}{'s' * (verdict.cost != 1)}, ideal {verdict.ideal}. The other accesses fill the "
        "memory and show what came out, so that every byte can be checked. Addresses keep their "
        "place within 128 bytes, which is all that banks and sectors look at."
    )


def _download_code(code: Code) -> None:
    if code.standalone:
        st.download_button(
            "Download .cu",
            code.standalone,
            file_name="access.cu",
            mime="text/plain",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
            help="A program of its own: this kernel, a main that launches it, and a check of "
            "every element. Compile it with nvcc.",
        )
