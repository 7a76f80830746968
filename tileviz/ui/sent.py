"""Designs that any page sends to the Compare page: kept in the session, the newest last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from tileviz.ui import frame, inputs
from tileviz.words import counted

KEY = "compare.sent"
MOST = 12
_PAGE = "pages/7_Compare.py"


def documents() -> list[Any]:
    """Return the documents that were sent, the newest last."""
    held = st.session_state.get(KEY)
    return list(held)[-MOST:] if isinstance(held, list) else []


def send(document: Mapping[str, Any]) -> None:
    """Remember a design for the Compare page, once."""
    kept = [known for known in documents() if known != document]
    st.session_state[KEY] = [*kept, dict(document)][-MOST:]


def clear() -> None:
    """Forget what was sent."""
    st.session_state[KEY] = []


def offer(key: str, document: Mapping[str, Any]) -> None:
    """Draw the button that sends a design, and the way to what was sent.

    Args:
        key: Of the button.
        document: The design.
    """
    if all(known.script != _PAGE for known in frame.PAGES):
        return
    sent = documents()
    with st.container(horizontal=True, gap="small", vertical_alignment="center", width="content"):
        inputs.button(
            "Send to compare",
            key=key,
            icon=":material/compare_arrows:",
            on_click=send,
            args=(document,),
        )
        if sent and sent[-1] == document:
            others = f", {counted(len(sent), 'design')} there" if len(sent) > 1 else ""
            st.page_link(_PAGE, label=f"Open Compare{others}", icon=":material/arrow_forward:")
