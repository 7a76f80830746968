"""The Banks page: link and form in; one verdict, pictures, the smallest fix, CUDA and a run out."""

from __future__ import annotations

import streamlit as st
from streamlit.elements.lib.mutable_popover_container import PopoverContainer

from tileviz.ui import frame, html
from tileviz.ui.access import editors, panels, state, tables
from tileviz.ui.access.cached import plan_of, verdict_of
from tileviz.ui.access.form import label

_STATE = "banks"
_MAX_FAULTS = 3


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
    current = _read(popover)
    with corner:
        panels.download(current.design)
    _faults(current)
    said = verdict_of(current.design)
    st.html(html.verdict(said.state, said.sentence, said.facts))
    panels.body(plan_of(current.design), current.form)


def _read(popover: PopoverContainer) -> state.PageState:
    """Bring address bar, controls and the last valid design into agreement."""
    before: state.PageState | None = st.session_state.get(_STATE)
    current = state.opened(before, st.query_params.to_dict())
    # A new link refills the controls. Otherwise only those that lost their value while another
    # page was shown get it back.
    editors.fill(current.form, force=before is None or current.form != before.form)
    editors.design_row()
    with popover:
        editors.further_accesses()
    current = state.edited(current, editors.collect(current.form))
    wanted = state.address(current)
    if wanted is not None and wanted != st.query_params.to_dict():
        st.query_params.from_dict(wanted)
    current = state.with_link(current, wanted)
    st.session_state[_STATE] = current
    return current


def _faults(current: state.PageState) -> None:
    """Name every fault, between the design row and the verdict."""
    note = "The last valid design stays below."
    if current.from_link:
        note = "The rest of the link is used."
    if current.stand_in:
        note = "The first preset is shown below instead."
    # A field whose text cannot be read is also missing; once is enough.
    faults = {label(error.field): error for error in reversed(current.problems)}
    ordered = [html.Fault(name, error) for name, error in reversed(faults.items())]
    if ordered:
        more = max(len(ordered) - _MAX_FAULTS, 0)
        st.html(html.error_box(ordered[:_MAX_FAULTS], note, more))
