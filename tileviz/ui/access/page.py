"""The Banks page: link and form in; one verdict, pictures, the smallest fix, CUDA and a run out."""

from __future__ import annotations

import streamlit as st
from streamlit.elements.lib.mutable_popover_container import PopoverContainer

from tileviz.ui import frame, html
from tileviz.ui.access import editors, panels, state, tables
from tileviz.ui.access.cached import numbers_of, plan_of, verdict_of
from tileviz.ui.access.form import label
from tileviz.ui.agreement import settle, show_faults
from tileviz.ui.explain import verdict_row
from tileviz.ui.take_away import take_away

_STATE = "banks"


def page() -> None:
    """Draw the page."""
    frame.begin("Banks and swizzles")
    st.html(tables.style())
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            html.title("Banks and swizzles", "Any layout, any access: which lanes meet in a bank"),
            width="stretch",
        )
        popover = st.popover(
            "Further accesses",
            icon=":material/tune:",
            type="tertiary",
            key="banks.more",
        )
        corner = st.container(width="content")
    current = settle(state.RULES, editors, _STATE, lambda: _further(popover))
    with corner:
        take_away("banks", current.design)
    show_faults(current, label, "The first preset")
    said = verdict_of(current.design)
    plan = plan_of(current.design)
    verdict_row("banks", said, lambda: numbers_of(plan.design))
    panels.body(plan, current.form)


def _further(popover: PopoverContainer) -> None:
    """Draw the fields that most designs leave alone."""
    with popover:
        editors.further_accesses()
