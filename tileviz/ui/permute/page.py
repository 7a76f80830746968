"""The Permute page: link and form in; one verdict, pictures, CUDA and a run out."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.mutable_popover_container import PopoverContainer

from tileviz.studies.permute import derive, explain
from tileviz.ui import frame, html
from tileviz.ui.agreement import settle, show_faults
from tileviz.ui.explain import verdict_row
from tileviz.ui.permute import editors, panels, state
from tileviz.ui.permute.cached import plan_of
from tileviz.ui.permute.form import label
from tileviz.ui.take_away import take_away

_STATE = "permute"


def page() -> None:
    """Draw the page."""
    frame.begin("Permute layout")
    popover, corner = _title()
    current = settle(state.RULES, editors, _STATE, lambda: _further(popover))
    with corner:
        take_away("permute", current.design)
    show_faults(current, label)
    plan = plan_of(current.design)
    said = explain.verdict(plan)
    verdict_row("permute", said, lambda: derive.numbers(plan))
    st.html(html.cards(explain.cards(plan)))
    schedule = panels.pictures(plan)
    panels.code_section(plan, schedule)
    panels.run_section(plan, schedule)


def _title() -> tuple[PopoverContainer, DeltaGenerator]:
    """Draw the title; return the popover for rarely used fields, and the place of the menu."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            html.title("Permute layout", "One warp moves a tile from one layout to another"),
            width="stretch",
        )
        popover = st.popover(
            "Shape, region and launch",
            icon=":material/tune:",
            type="tertiary",
            key="permute.more",
            on_change="rerun",
        )
        return popover, st.container(width="content")


def _further(popover: PopoverContainer) -> None:
    """Draw the fields that most designs leave alone."""
    with popover:
        editors.more_fields(with_tables=bool(popover.open))
