"""The Layouts page: one operation on layouts in; its verdict, pictures and printed forms out."""

from __future__ import annotations

import streamlit as st

from tileviz.studies.layout import derive
from tileviz.ui import frame, html
from tileviz.ui.agreement import settle, show_faults
from tileviz.ui.explain import verdict_row
from tileviz.ui.layouts import editors, panels, state
from tileviz.ui.layouts.cached import plan_of, verdict_of
from tileviz.ui.layouts.form import label
from tileviz.ui.take_away import take_away

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
        take_away("layouts", current.design)
    show_faults(current, label, "The first preset")
    plan = plan_of(current.design)
    said = verdict_of(current.design)
    verdict_row("layouts", said, lambda: derive.numbers(plan))
    panels.body(plan)
