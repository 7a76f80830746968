"""The Block schedule page: link and form in; one verdict, the order map, what it costs, a run."""

from __future__ import annotations

import streamlit as st
from streamlit.elements.lib.mutable_popover_container import PopoverContainer

from tileviz.studies.schedule import explain
from tileviz.ui import frame, html
from tileviz.ui.schedule import cuda, editors, panels, side_by_side, state, sweeps, tables
from tileviz.ui.schedule.cached import plan_of
from tileviz.ui.schedule.form import label

_STATE, _EARLIER = "schedule", "schedule.earlier"
_MAX_FAULTS = 3


def page() -> None:
    """Draw the page."""
    frame.begin("Block schedule")
    st.html(tables.style())
    current = _read(_title())
    _faults(current)
    plan = plan_of(current.design)
    found = sweeps.found_for(plan.design)
    said = explain.verdict(plan, found)
    st.html(html.verdict(said.state, said.sentence, said.facts))
    panels.pictures(plan, found)
    side_by_side.section(plan, found)
    cuda.section(plan)


def _title() -> PopoverContainer:
    """Draw the title; return the popover for the fields that most designs leave alone."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            html.title(
                "Block schedule",
                "The order in which output tiles are computed, and what it costs in L2",
            ),
            width="stretch",
        )
        return st.popover(
            "Batch, L2 and dtype", icon=":material/tune:", type="tertiary", key="schedule.more"
        )


def _read(popover: PopoverContainer) -> state.PageState:
    """Bring address bar, controls and the last valid design into agreement."""
    before: state.PageState | None = st.session_state.get(_STATE)
    earlier = st.session_state.get(_EARLIER, ())
    query = st.query_params.to_dict()
    late = before is not None and state.outruns(
        before, query, editors.collect(before.form), earlier
    )
    current = before if before is not None and late else state.opened(before, query)
    # A new link refills the controls. Otherwise only those that lost their value while another
    # page was shown get it back.
    editors.fill(current.form, force=before is None or current.form != before.form)
    editors.design_row()
    with popover:
        editors.more_fields()
    current = state.edited(current, editors.collect(current.form))
    wanted = state.address(current)
    # Writing the address may end this run, so everything is remembered before.
    current = state.with_link(current, wanted)
    st.session_state[_STATE] = current
    st.session_state[_EARLIER] = state.remembered(earlier, before, current)
    if wanted is not None and wanted != query:
        st.query_params.from_dict(wanted)
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
