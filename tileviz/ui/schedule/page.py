"""The Block schedule page: link and form in; one verdict, the order map, what it costs, a run."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.mutable_popover_container import PopoverContainer

from tileviz.studies.schedule import derive, explain
from tileviz.ui import frame, html
from tileviz.ui.agreement import settle, show_faults
from tileviz.ui.explain import verdict_row
from tileviz.ui.schedule import cuda, editors, panels, side_by_side, state, sweeps, tables
from tileviz.ui.schedule.cached import plan_of
from tileviz.ui.schedule.form import label
from tileviz.ui.take_away import take_away

_STATE = "schedule"


def page() -> None:
    """Draw the page."""
    frame.begin("Block schedule")
    st.html(tables.style())
    popover, corner = _title()
    current = settle(state.RULES, editors, _STATE, lambda: _further(popover))
    with corner:
        take_away("schedule", current.design)
    show_faults(current, label)
    plan = plan_of(current.design)
    found = sweeps.found_for(plan.design)
    said = explain.verdict(plan, found)
    verdict_row("schedule", said, lambda: derive.numbers(plan))
    panels.pictures(plan, found)
    side_by_side.section(plan, found)
    cuda.section(plan)


def _title() -> tuple[PopoverContainer, DeltaGenerator]:
    """Draw the title; return the popover for rarely used fields, and the place of the menu."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            html.title(
                "Block schedule",
                "The order in which output tiles are computed, and what it costs in L2",
            ),
            width="stretch",
        )
        popover = st.popover(
            "Batch, L2 and dtype", icon=":material/tune:", type="tertiary", key="schedule.more"
        )
        return popover, st.container(width="content")


def _further(popover: PopoverContainer) -> None:
    """Draw the fields that most designs leave alone."""
    with popover:
        editors.more_fields()
