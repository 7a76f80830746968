"""The controls of the Runs page: search and filters, in agreement with the address bar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import streamlit as st

from tileviz.errors import DesignError
from tileviz.runners.store_entry import MAX_SOUGHT, OUTCOMES, Outcome, Wanted, tidy
from tileviz.studies.registry import STUDIES
from tileviz.ui import inputs
from tileviz.ui.address import recall, remember, replace_state
from tileviz.ui.runs.state import Asked, address, read

_STATE = "runs"
_FIELDS = ("find", "study", "runner", "outcome", "since", "until")
_STUDIES = {"": "All", **{name: name.capitalize() for name in STUDIES}}
_RUNNERS = {"": "All", "emulator": "Emulator", "gpu": "GPU"}
_OUTCOMES: dict[str, str] = {
    "": "All",
    "correct": "Correct",
    "wrong": "Wrong or at fault",
    "unchecked": "Not checked",
}


@dataclass(frozen=True)
class Memory:
    """What the page remembers between reruns.

    Attributes:
        asked: What is shown.
        errors: What is wrong with the address that was opened.
    """

    asked: Asked
    errors: tuple[DesignError, ...] = ()


def settle() -> Memory:
    """Draw the controls; bring them, the address bar and what is shown into agreement."""
    before: Memory | None
    before, fresh = recall(_STATE)
    memory = _opened(before, st.query_params.to_dict()) if before is None or fresh else before
    _fill(memory.asked.wanted, force=before is None or memory.asked != before.asked)
    _draw()
    asked = memory.asked.searching(_collect())
    if asked != memory.asked:
        memory = Memory(asked)
    remember(_STATE, memory)
    wanted = address(memory.asked)
    # While something is wrong with the address it stays, so that nothing is lost.
    if not memory.errors and wanted != st.query_params.to_dict():
        st.query_params.from_dict(wanted)
    return memory


def show(asked: Asked) -> None:
    """Show another page or another run from the next rerun on; for callbacks."""
    replace_state(_STATE, Memory(asked))


def clear() -> None:
    """Empty the search, in a callback."""
    for field in _FIELDS:
        st.session_state.pop(_key(field), None)
    show(Asked())


def _opened(before: Memory | None, query: Mapping[str, str]) -> Memory:
    if before is not None and not query:
        # From the list of pages.
        return before
    return Memory(*read(query))


def _key(field: str) -> str:
    return f"{_STATE}.{field}"


def _fill(wanted: Wanted, *, force: bool) -> None:
    values: dict[str, object] = {
        "find": wanted.text,
        "study": wanted.study,
        "runner": wanted.runner,
        "outcome": wanted.outcome,
        "since": date.fromisoformat(wanted.since) if wanted.since else None,
        "until": date.fromisoformat(wanted.until) if wanted.until else None,
    }
    for field, value in values.items():
        if force or _key(field) not in st.session_state:
            st.session_state[_key(field)] = value


def _draw() -> None:
    with st.container(key="design_row"):
        columns = st.columns([2, 1, 1, 1.2, 1.2, 1.2], gap="small", vertical_alignment="bottom")
    with columns[0]:
        inputs.text_input(
            "Search",
            key=_key("find"),
            max_chars=MAX_SOUGHT,
            placeholder="design, verdict, name, note",
            icon=":material/search:",
        )
    _choice(columns[1], "Study", "study", _STUDIES)
    _choice(columns[2], "Runner", "runner", _RUNNERS)
    _choice(columns[3], "Outcome", "outcome", _OUTCOMES)
    for column, label, field in ((columns[4], "Since", "since"), (columns[5], "Until", "until")):
        with column:
            inputs.date_input(label, key=_key(field), format="YYYY-MM-DD")


def _choice(
    column: st.delta_generator.DeltaGenerator, label: str, field: str, names: Mapping[str, str]
) -> None:
    with column:
        inputs.selectbox(label, list(names), key=_key(field), format_func=lambda name: names[name])


def _collect() -> Wanted:
    values = {field: st.session_state.get(_key(field)) for field in _FIELDS}
    since, until = (
        day.isoformat() if isinstance(day := values[name], date) else ""
        for name in ("since", "until")
    )
    outcome: Outcome = next((o for o in OUTCOMES if o == values["outcome"]), "")
    return Wanted(
        str(values["study"] or ""),
        tidy(str(values["find"] or ""), MAX_SOUGHT),
        str(values["runner"] or ""),
        outcome,
        since,
        until,
    )
