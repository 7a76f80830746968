"""The Banks page's search panel: the smallest fix, its proof, every notation, and a button."""

from __future__ import annotations

import streamlit as st

from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, parse_layout
from tileviz.studies.access.candidates import Candidate
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.plan import memory_layout
from tileviz.studies.access.search import SearchResult
from tileviz.studies.access.shown import Instruction
from tileviz.ui import html, inputs
from tileviz.ui.access import editors, tables
from tileviz.ui.access.cached import instruction_of, search_of, with_layout
from tileviz.ui.access.form import AccessForm

_PICK, _PICK_OF, _HOW = "banks.pick", "banks.pick_of", "banks.how"
_WAYS = ("Notations", "Bit matrix", "CUDA")


def section(design: AccessDesign, form: AccessForm) -> Candidate | None:
    """Draw the search for a design, and the arrangement that is chosen of it.

    Args:
        design: The design.
        form: What was typed; the button changes its layout.

    Returns:
        The arrangement that is chosen, None without a search.
    """
    if design.addresses is not None:
        st.html(html.panel("Smallest fix"))
        note = "Byte addresses are what they are; a layout and a pattern can be rearranged."
        st.html(html.empty("Nothing to search.", note))
        return None
    with st.spinner("Searching"):
        result = search_of(design)
    if isinstance(result, DesignError):
        st.html(html.panel("Smallest fix"))
        st.html(html.empty("No search.", html.sentence(result.message)))
        return None
    st.html(html.panel("Smallest fix", "wavefronts over the whole tile"))
    chosen = _chosen(design, result)
    st.html(tables.candidates(result, chosen))
    ideals = ", ".join(f"{cost.ideal:,}" for cost in result.candidates[0].costs)
    st.html(f'<p class="tv-note">Ideal: {ideals}. {html.text(result.proof)}</p>')
    _controls(design, form, result, chosen)
    _ways(chosen)
    if result.bits:
        st.html(html.panel("What each XOR of the swizzle buys", "over the whole tile"))
        st.html(tables.swizzle_bits(result.bits))
    if result.pareto:
        st.html(html.panel("Other vector widths", "none is better in every column"))
        st.html(tables.pareto(result))
    return chosen


def _chosen(design: AccessDesign, result: SearchResult) -> Candidate:
    """Return the arrangement under discussion; a new design starts with the smallest."""
    names = range(len(result.candidates))
    if st.session_state.get(_PICK_OF) != design or st.session_state.get(_PICK) not in names:
        st.session_state[_PICK] = 0
        st.session_state[_PICK_OF] = design
    return result.candidates[int(st.session_state[_PICK])]


def _controls(
    design: AccessDesign, form: AccessForm, result: SearchResult, chosen: Candidate
) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        inputs.selectbox(
            "Arrangement",
            range(len(result.candidates)),
            key=_PICK,
            format_func=lambda at: tables.name_of(result.candidates[at]),
            width="stretch",
        )
        same = _is_given(design, chosen)
        inputs.button(
            "In use" if same else "Use this layout",
            icon=":material/check:" if same else ":material/build:",
            key="banks.apply",
            disabled=same or chosen.layout is None,
            on_click=editors.apply_layout,
            args=(form, chosen.layout or ""),
            help=None if chosen.layout else "No layout notation says it; its CUDA function does.",
        )


def _is_given(design: AccessDesign, chosen: Candidate) -> bool:
    """Return whether the design already has the chosen layout."""
    if chosen.layout is None or design.layout is None:
        return False
    return str(parse_layout(chosen.layout)) == str(parse_layout(design.layout))


def fixed(
    design: AccessDesign, chosen: Candidate, access: int, number: int
) -> Instruction | DesignError | None:
    """Return an instruction through the chosen arrangement.

    Args:
        design: The design.
        chosen: The arrangement.
        access: The access; ``number`` its instruction.

    Returns:
        The instruction; the reason why it cannot be made; or None where the arrangement is in use
        already or has no layout that says it.
    """
    if chosen.layout is None or _is_given(design, chosen):
        return None
    try:
        return instruction_of(with_layout(design, chosen.layout), access, number)
    except DesignError as error:
        return error


def bare(design: AccessDesign, access: int, number: int) -> Instruction | DesignError | None:
    """Return an instruction through the design's layout without its swizzle, None without one."""
    layout = memory_layout(design)
    if not isinstance(layout, ComposeLayout):
        return None
    try:
        return instruction_of(with_layout(design, str(layout.tile)), access, number)
    except DesignError as error:
        return error


def _ways(chosen: Candidate) -> None:
    """Draw the chosen arrangement in one of its notations."""
    ways = [way for way in _WAYS if way != "Bit matrix" or chosen.matrix]
    if st.session_state.get(_HOW) not in ways:
        st.session_state[_HOW] = ways[0]
    way = inputs.segmented_control(
        "As", ways, key=_HOW, required=True, label_visibility="collapsed"
    )
    if way == "Bit matrix":
        st.html(tables.matrix(chosen))
        st.html('<p class="tv-note">Columns: bits of the word number before the swizzle.</p>')
    elif way == "CUDA":
        st.code(chosen.index.strip(), language="cpp", wrap_lines=True)
    else:
        st.html(tables.notations(chosen))
