"""The Runs page: what was run in this installation, beside the recorded GPU runs."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from tileviz.runners.store import history_off
from tileviz.runners.store_entry import Wanted
from tileviz.runners.store_file import StoreUnavailable
from tileviz.runners.store_listing import History, Listing
from tileviz.ui import frame, html, inputs
from tileviz.ui.runs import editors, panels, tables
from tileviz.ui.runs.state import PER_PAGE, Asked
from tileviz.words import sized

_MAX_FAULTS = 3
_NO_RECORDING = "No GPU runs are recorded in this version."
_LABELS = {"find": "Search", "run": "Run"}


def page() -> None:
    """Draw the page."""
    frame.begin("Runs")
    st.html(tables.style())
    st.html(html.title("Runs", "What was run in this installation, and what was recorded on a GPU"))
    memory = editors.settle()
    faults = [
        html.Fault(_LABELS.get(error.field, error.field.capitalize()), error)
        for error in memory.errors
    ]
    if faults:
        more = max(len(faults) - _MAX_FAULTS, 0)
        st.html(html.error_box(faults[:_MAX_FAULTS], "The rest of the address is used.", more))
    panels.fault()
    asked, history = memory.asked, History.here()
    found = _listing(history, asked)
    if found.total and not found.rows:
        # A page that was there when the link was made, or before runs were deleted.
        asked = replace(asked, page=-(-found.total // PER_PAGE))
        found = _listing(history, asked)
    for note in found.notes:
        st.html(html.verdict("error", html.sentence(note)))
    if not found.total and asked.wanted == Wanted():
        if not found.notes:
            _nothing_yet()
        return
    _verdict(history, found, asked)
    if not found.total:
        st.html(html.empty("No run matches.", "Search for less, or clear the search."))
        inputs.button("Clear the search", icon=":material/close:", on_click=editors.clear)
        return
    panels.run_list(history, found, asked)
    panels.one_run(history, asked)


def _listing(history: History, asked: Asked) -> Listing:
    return history.listing(asked.wanted, limit=PER_PAGE, offset=(asked.page - 1) * PER_PAGE)


def _nothing_yet() -> None:
    how = (
        "Open a study, press Run, and the run is listed here with its design and its result. "
        "From the shell: python -m tileviz run permute-demo."
    )
    if history_off():
        how = "Nothing is kept: the history is switched off here (TILEVIZ_HISTORY)."
    st.html(html.empty("Nothing has been run here yet.", f"{how} {_NO_RECORDING}"))
    first = frame.page_of("permute")
    if first is not None and not history_off():
        st.page_link(first.script, label=f"Start with {first.title}", icon=first.icon)


def _verdict(history: History, found: Listing, asked: Asked) -> None:
    """Say how many runs there are, how many of them went wrong, and where they are kept."""
    wrong = 0
    if asked.wanted.outcome in ("", "wrong"):
        try:
            wrong = history.count(Wanted(**{**vars(asked.wanted), "outcome": "wrong"}))
        except StoreUnavailable:
            # The listing has said why; how many are wrong is not known, so nothing is claimed.
            return
    many = f"{found.total} run{'s' * (found.total != 1)}"
    searched = " found" if asked.wanted != Wanted() else ""
    sentence = f"{many}{searched}, {wrong or 'none'} wrong or at fault."
    facts = []
    store = history.store
    if kept := store.size():
        facts.append(f"{sized(kept)} in {store.folder}.")
    if found.recorded:
        facts.append(f"{found.recorded} recorded on a GPU.")
    elif asked.wanted == Wanted():
        facts.append(_NO_RECORDING)
    if history_off():
        facts.append("The history is switched off: new runs are not kept.")
    if damaged := store.damaged():
        facts.append(f"A damaged history is kept beside it: {', '.join(damaged[-3:])}.")
    # Counts of all time are no verdict on the present; a damaged history is worth a look.
    state = "attention" if damaged else "neutral"
    st.html(html.verdict(state, sentence, " ".join(facts)))
