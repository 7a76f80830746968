"""The Permute page: link and form in; one verdict, pictures, CUDA and a run out."""

from __future__ import annotations

import streamlit as st
from streamlit.elements.lib.mutable_popover_container import PopoverContainer

from tileviz.studies.permute import explain
from tileviz.ui import frame, html
from tileviz.ui.agreement import settle, show_faults
from tileviz.ui.permute import editors, panels, state
from tileviz.ui.permute.cached import plan_of
from tileviz.ui.permute.form import label

_STATE = "permute"


def page() -> None:
    """Draw the page."""
    frame.begin("Permute layout")
    popover = _title()
    current = settle(state.RULES, editors, _STATE, lambda: _further(popover))
    show_faults(current, label)
    plan = plan_of(current.design)
    said = explain.verdict(plan)
    st.html(html.verdict(said.state, said.sentence, said.facts))
    st.html(html.cards(explain.cards(plan)))
    schedule = panels.pictures(plan)
    panels.code_section(plan, schedule)
    panels.run_section(plan, schedule)


def _title() -> PopoverContainer:
    """Draw the title; return the popover for the fields that most designs leave alone."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            html.title("Permute layout", "One warp moves a tile from one layout to another"),
            width="stretch",
        )
        return st.popover(
            "Shape, region and launch",
            icon=":material/tune:",
            type="tertiary",
            key="permute.more",
            on_change="rerun",
        )


def _further(popover: PopoverContainer) -> None:
    """Draw the fields that most designs leave alone."""
    with popover:
        editors.more_fields(with_tables=bool(popover.open))
