"""The Layouts page: one operation on layouts in; its verdict, pictures and printed forms out."""

from __future__ import annotations

import streamlit as st

from tileviz.ui import frame, html
from tileviz.ui.agreement import settle, show_faults
from tileviz.ui.layouts import editors, panels, state
from tileviz.ui.layouts.cached import plan_of, verdict_of
from tileviz.ui.layouts.form import label

_STATE = "layouts"


def page() -> None:
    """Draw the page."""
    frame.begin("Layouts")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            html.title("Layouts", "Where every element lives, and what an operation makes of it"),
            width="stretch",
        )
        corner = st.container(width="content")
    current = settle(state.RULES, editors, _STATE)
    with corner:
        panels.download(current.design)
    show_faults(current, label, "The first preset")
    plan = plan_of(current.design)
    said = verdict_of(current.design)
    st.html(html.verdict(said.state, said.sentence, said.facts))
    panels.body(plan)
