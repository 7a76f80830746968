"""The Broadcast page: link and form in; a verdict, axes, loads, decision, CUDA and a run out."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from tileviz.studies.broadcast import derive
from tileviz.ui import frame, html
from tileviz.ui.agreement import settle, show_faults
from tileviz.ui.broadcast import cuda, editors, measuring, panels, state
from tileviz.ui.broadcast.cached import plan_of, verdict_of
from tileviz.ui.broadcast.form import label
from tileviz.ui.explain import verdict_row
from tileviz.ui.take_away import take_away

_STATE = "broadcast"


def page() -> None:
    """Draw the page."""
    frame.begin("Broadcast")
    st.html(_style())
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            html.title(
                "Broadcast",
                "One small tensor meets a large one: which thread loads what, how often",
            ),
            width="stretch",
        )
        corner = st.container(width="content")
    current = settle(state.RULES, editors, _STATE)
    with corner:
        take_away("broadcast", current.design)
    show_faults(current, label, "The first preset")
    plan = plan_of(current.design)
    said = verdict_of(current.design)
    verdict_row("broadcast", said, lambda: derive.numbers(plan))
    panels.decision(plan)
    panels.pictures(plan)
    measuring.panel(current.design)
    cuda.section(plan)


def _style() -> str:
    """Return the style that only this page needs."""
    form = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    return f"<style>{form}</style>"
