"""The Layouts page's panels below the verdict: pictures of each layout, and its printed forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from tileviz.figures.layout_views import (
    ColourBy,
    Room,
    Side,
    cells_key,
    colouring,
    describe,
    map_size,
    room_for,
)
from tileviz.figures.layouts import layout_map
from tileviz.figures.tokens import PRINT, Theme
from tileviz.studies.layout.grid import IDLE, MAX_CELLS, Grid
from tileviz.studies.layout.plan import LayoutPlan
from tileviz.ui import frame, html, inputs
from tileviz.ui.charts import chart_config
from tileviz.ui.layouts import tables
from tileviz.ui.layouts.cached import Shown, shown

Kind = Literal["logical", "physical"]

_BY, _GREY = "layouts.by", "layouts.grey"
# Beside a wider picture the tables would have no room.
_WIDEST_BESIDE = 720
# A narrow picture's title still needs its line.
_LEAST_TITLE = 380
_KINDS: tuple[Kind, Kind] = ("logical", "physical")
_TITLES: dict[Side, str] = {"operand": "Operand", "result": "Result"}


@dataclass(frozen=True)
class _Look:
    """What colours mean, and the colours themselves."""

    by: ColourBy
    theme: Theme


def body(plan: LayoutPlan) -> None:
    """Draw every picture under one legend, and the printed forms beside or below them."""
    sides: list[Side] = ["operand", "result"] if plan.makes_another else ["operand"]
    parts = {side: shown(plan.design, side) for side in sides}
    look = _legend_row(plan, parts)
    if plan.makes_another:
        _both(plan, parts, look)
    else:
        _alone(plan, parts["operand"], look)


def _both(plan: LayoutPlan, parts: dict[Side, Shown], look: _Look) -> None:
    """Draw operand and result: side by side where both fit, else below each other."""
    every = _grids(*parts.values())
    for kind in _KINDS:
        room = room_for(every, [grid for grid in every if grid.kind == kind])
        with st.container(horizontal=True, gap="medium"):
            for side, part in parts.items():
                _picture(plan, side, kind, part, look, room)
    st.html(html.section("In print"))
    columns = st.columns(2, gap="medium")
    for column, (side, part) in zip(columns, parts.items(), strict=True):
        with column:
            _forms(part, _TITLES[side])
            _digits(part)
            _facts(part)


def _alone(plan: LayoutPlan, part: Shown, look: _Look) -> None:
    """Draw one layout, with its printed forms beside it where there is room."""
    grids = _grids(part)
    # Memory has 32 columns in both pictures; lanes and registers are written at greater length.
    room = room_for(grids, grids if part.logical.in_memory else ())
    width = max(map_size(grid, room).width for grid in grids)
    if width <= _WIDEST_BESIDE:
        with st.container(horizontal=True, gap="medium"):
            with st.container(width=max(width, _LEAST_TITLE)):
                for kind in _KINDS:
                    _picture(plan, "operand", kind, part, look, room)
            with st.container(width="stretch"):
                _forms(part)
                _digits(part)
                _facts(part)
        return
    for kind in _KINDS:
        _picture(plan, "operand", kind, part, look, room)
    st.html(html.section("In print"))
    columns = st.columns(3, gap="medium")
    for column, draw in zip(columns, (_forms, _digits, _facts), strict=True):
        with column:
            draw(part)


def _grids(*parts: Shown) -> list[Grid]:
    every = [grid for part in parts for grid in (part.logical, part.physical)]
    return [grid for grid in every if grid is not None]


def _legend_row(plan: LayoutPlan, parts: dict[Side, Shown]) -> _Look:
    """Draw the legend, and the switch that decides what colours mean."""
    first = parts["operand"].logical
    labels: dict[ColourBy, str] = {
        "place": "Banks" if first.in_memory else first.axes[0],
        "row": "Logical rows",
    }
    st.session_state.setdefault(_BY, "place")
    by: ColourBy = st.session_state[_BY] or "place"
    theme = PRINT if st.session_state.get(_GREY) else frame.theme()
    grids = _grids(*parts.values())
    outlined = ""
    if any(part.facts.collision is not None for part in parts.values()):
        outlined = "share an address"
    elif plan.region_elements is not None:
        outlined = "the region"
    legend = tables.legend(
        [colouring(grid, by) for grid in grids],
        theme,
        idle=any(bool((grid.element == IDLE).any()) for grid in grids),
        outlined=outlined,
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(legend, width="stretch")
        inputs.segmented_control(
            "Colour by",
            list(labels),
            key=_BY,
            format_func=lambda name: labels[name],
            required=True,
            label_visibility="collapsed",
        )
        inputs.toggle("Greys", key=_GREY)
    return _Look(by, theme)


def _marked(plan: LayoutPlan, side: Side, part: Shown) -> NDArray[np.bool_] | None:
    """Return which elements are outlined: the two that collide, or the region of a slice."""
    colliding = part.drawn.colliding()
    if colliding is not None:
        return colliding
    return plan.region_elements if side == "operand" else None


def _picture(
    plan: LayoutPlan, side: Side, kind: Kind, part: Shown, look: _Look, room: Room
) -> None:
    """Draw one picture in a column of its own width."""
    name = f"{_TITLES[side]}, {kind}" if plan.makes_another else kind.capitalize()
    grid = part.logical if kind == "logical" else part.physical
    if grid is None:
        with st.container():
            st.html(html.panel(name))
            st.html(html.empty("Not drawn.", html.sentence(part.drawn.reason)))
        return
    marked = _marked(plan, side, part)
    width = map_size(grid, room).width
    cells = None if marked is None else grid.holds(marked)
    with st.container(width=max(width, _LEAST_TITLE)):
        st.html(html.panel(name, cells_key(grid)))
        st.plotly_chart(
            layout_map(grid, look.by, look.theme, cells, room),
            width=width,
            theme=None,
            key=f"layouts.map.{side}.{kind}",
            config=chart_config("layout"),
            alt=describe(grid, part.facts),
        )
        if grid.left_out:
            what = "elements" if kind == "logical" else "addresses"
            cut = f"{grid.left_out:,} more {what} are not drawn"
            st.html(f'<p class="tv-note">{cut}; a picture has {MAX_CELLS:,} cells.</p>')


def _forms(part: Shown, name: str = "") -> None:
    st.html(html.panel(name or "Printed forms", "printed forms" if name else ""))
    st.html(tables.forms(part.forms))


def _digits(part: Shown) -> None:
    st.html(html.panel("Shard, replica, offset", "in elements"))
    st.html(tables.digits(part.digits))


def _facts(part: Shown) -> None:
    checked = "every element looked at" if part.facts.checked else ""
    st.html(html.panel("What is true of it", checked))
    st.html(tables.facts(part.table))
