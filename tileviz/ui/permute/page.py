"""The Permute page: link and form in; one verdict, pictures, CUDA and a run out."""

from __future__ import annotations

import streamlit as st
from streamlit.elements.lib.mutable_popover_container import PopoverContainer

from tileviz.studies.permute import explain
from tileviz.ui import frame, html
from tileviz.ui.permute import editors, panels, state
from tileviz.ui.permute.cached import plan_of
from tileviz.ui.permute.form import label

_STATE = "permute"
_MAX_FAULTS = 3


def page() -> None:
    """Draw the page."""
    frame.begin("Permute layout")
    current = _read(_title())
    _faults(current)
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


def _read(popover: PopoverContainer) -> state.PageState:
    """Bring address bar, controls and the last valid design into agreement."""
    before: state.PageState | None = st.session_state.get(_STATE)
    current = state.opened(before, st.query_params.to_dict())
    # A new link refills the controls. Otherwise only those that lost their value while another
    # page was shown get it back.
    editors.fill(current.form, force=before is None or current.form != before.form)
    editors.design_row()
    with popover:
        editors.more_fields(with_tables=bool(popover.open))
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
        note = "The demo is shown below instead."
    # A field whose text cannot be read is also missing; once is enough.
    faults = {label(error.field): error for error in reversed(current.problems)}
    ordered = [html.Fault(name, error) for name, error in reversed(faults.items())]
    if ordered:
        more = max(len(ordered) - _MAX_FAULTS, 0)
        st.html(html.error_box(ordered[:_MAX_FAULTS], note, more))
