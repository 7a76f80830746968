"""The Compare page: two designs in; one verdict, what differs, pictures, CUDA and runs out."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import streamlit as st

from tileviz.comparing.comparison import Comparison
from tileviz.comparing.pairs import Pair
from tileviz.ui import frame, html, sent
from tileviz.ui.address import recall, remember
from tileviz.ui.agreement import settle, show_faults
from tileviz.ui.compare import editors, panels, runs
from tileviz.ui.compare.cached import comparison_of
from tileviz.ui.compare.form import label
from tileviz.ui.compare.state import RULES, CompareState, arrived

_STATE, _SEEN = "compare", "compare.seen"


def page() -> None:
    """Draw the page."""
    frame.begin("Compare")
    st.html(_style())
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(html.title("Compare", "Two designs of one study, side by side"), width="stretch")
        note = st.popover("Note", icon=":material/edit_note:", type="tertiary")
        files = st.popover("Open", icon=":material/folder_open:", type="tertiary")
        share = st.popover("Share and save", icon=":material/share:", type="tertiary")
    _take_arrivals()

    def further() -> None:
        with note:
            editors.further()
        with files:
            editors.open_file()

    current = settle(RULES, editors, _STATE, further)
    show_faults(current, label)
    fault = editors.file_fault(current.form)
    if fault is not None:
        st.html(html.error_box([fault], "Nothing was changed."))
    comparison = _comparison(current.pair)
    both = None
    if comparison is not None:
        top = st.container()
        panels.body(comparison)
        both = runs.section(comparison)
        with top:
            panels.verdict(comparison, both)
    elif current.pair == Pair() and current.form.empty:
        panels.empty()
    else:
        panels.alone(current.pair)
    with share:
        panels.share(current.pair, comparison, (None, None) if both is None else both.sides)


def _comparison(pair: Pair) -> Comparison | None:
    """Return the comparison of both sides, None where they are not two of one study."""
    if pair.left is None or pair.right is None or pair.left.study != pair.right.study:
        return None
    names = (pair.left_name, pair.right_name)
    return comparison_of(pair.left, pair.right, names, pair.note)


def _take_arrivals() -> None:
    """Put designs that were sent since the last visit into sides that are empty."""
    documents = sent.documents()
    known = st.session_state.get(_SEEN, [])
    fresh = [document for document in documents if document not in known]
    if fresh and not st.query_params:
        kept: CompareState | None
        kept, _ = recall(_STATE)
        before = kept or CompareState(link={})
        form = arrived(before.form, fresh)
        if form != before.form:
            editors.fill(form, force=True)
            remember(_STATE, RULES.edited(before, form))
    st.session_state[_SEEN] = documents


@lru_cache(maxsize=1)
def _style() -> str:
    form = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    return f"<style>{form}</style>"
