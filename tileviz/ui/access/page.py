"""The Banks page: link and form in; one verdict, pictures, the smallest fix, CUDA and a run out."""

from __future__ import annotations

import streamlit as st
from streamlit.elements.lib.mutable_popover_container import PopoverContainer

from tileviz.ui import frame, html
from tileviz.ui.access import editors, panels, state, tables
from tileviz.ui.access.cached import plan_of, verdict_of
from tileviz.ui.access.form import label
from tileviz.ui.agreement import settle, show_faults

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
        corner = st.container(width="content")
        popover = st.popover(
            "Further accesses",
            icon=":material/tune:",
            type="tertiary",
            key="banks.more",
        )
    current = settle(state.RULES, editors, _STATE, lambda: _further(popover))
    with corner:
        panels.download(current.design)
    show_faults(current, label, "The first preset")
    said = verdict_of(current.design)
    st.html(html.verdict(said.state, said.sentence, said.facts))
    panels.body(plan_of(current.design), current.form)


def _further(popover: PopoverContainer) -> None:
    """Draw the fields that most designs leave alone."""
    with popover:
        editors.further_accesses()
