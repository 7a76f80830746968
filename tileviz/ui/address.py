"""Which address a page reads, and what it remembers, in one step that nothing can interrupt.

A page writes its address after every edit. The browser takes it up a moment later, and until then
reports the one before with everything that is clicked. So an address is read only when a page is
opened: first in a session, from another page, or by the browser's Back and Forward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

_VISIT = "tileviz.visit"


@dataclass(frozen=True)
class Visit:
    """One stay at a page; Back and Forward begin a new one.

    Attributes:
        page: The page.
        number: Counts the visits of a session.
    """

    page: str
    number: int


@dataclass(frozen=True)
class _Remembered:
    # One record: Streamlit may end a script at every access to its session state, so what belongs
    # together is written together.
    state: Any
    visit: Visit


def visit(page: str) -> None:
    """Note that a page is drawn; every page calls it first."""
    before: Visit | None = st.session_state.get(_VISIT)
    if before is None or before.page != page or _by_history():
        st.session_state[_VISIT] = Visit(page, before.number + 1 if before else 0)


def recall(key: str) -> tuple[Any, bool]:
    """Return what a page remembers, None at first, and whether its address is to be read.

    Args:
        key: Under which the session keeps it.
    """
    kept: _Remembered | None = st.session_state.get(key)
    if kept is None:
        return None, True
    return kept.state, kept.visit != st.session_state.get(_VISIT)


def remember(key: str, state: Any) -> None:
    """Remember a page's state; its address counts as read."""
    st.session_state[key] = _Remembered(state, st.session_state[_VISIT])


def replace_state(key: str, state: Any) -> None:
    """Remember a page's state in a callback: whether its address was read does not change."""
    kept: _Remembered = st.session_state[key]
    st.session_state[key] = _Remembered(state, kept.visit)


def _by_history() -> bool:
    """Return whether the browser's Back or Forward led here."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.is_history_navigation
