"""Streamlit's inputs, each sent with its value as the session holds it.

Streamlit sends a value that a script put into its session state once, beside the input's default.
A browser that is busy shows the default first, and where two runs follow each other fast it never
learns the value: it then reports the default as if somebody had chosen it. Sent as the default, the
value is right from the first paint on. No page calls Streamlit's own inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Literal

import streamlit as st


def text_input(label: str, *, key: str, value: str = "", **options: Any) -> str:
    """Draw a line of text.

    Args:
        label: Its name.
        key: Under which the session keeps its value.
        value: Its value where the session holds none.
        options: Further options of ``st.text_input``.
    """
    return st.text_input(label, _text(key, value), key=key, **options) or ""


def text_area(label: str, *, key: str, value: str = "", **options: Any) -> str:
    """Draw a text of several lines; see ``text_input``."""
    return st.text_area(label, _text(key, value), key=key, **options) or ""


def selectbox(
    label: str, choices: Sequence[Any], *, key: str, index: int | None = 0, **options: Any
) -> Any:
    """Draw a choice out of a list; a text of one's own, where that is allowed, is one of them.

    Args:
        label: Its name.
        choices: What can be chosen.
        key: Under which the session keeps its value.
        index: Which one is chosen where the session holds none of them.
        options: Further options of ``st.selectbox``.
    """
    if key in st.session_state:
        value = st.session_state[key]
        if options.get("accept_new_options") and value is not None and value not in choices:
            choices = [*choices, value]
        found = choices.index(value) if value in choices else index
        index = None if value is None else found
    return st.selectbox(label, choices, index, key=key, **options)


def radio(label: str, choices: Sequence[Any], *, key: str, **options: Any) -> Any:
    """Draw a choice of which every option is seen; none is chosen where the session holds none."""
    value = _held(key, None)
    chosen = choices.index(value) if value in choices else None
    return st.radio(label, choices, chosen, key=key, **options)


def segmented_control(label: str, choices: Sequence[Any], *, key: str, **options: Any) -> Any:
    """Draw a choice as a row of buttons; see ``selectbox``."""
    value = _held(key, None)
    chosen = value if value in choices else None
    return st.segmented_control(label, choices, default=chosen, key=key, **options)


def multiselect(label: str, choices: Sequence[Any], *, key: str, **options: Any) -> list[Any]:
    """Draw a choice of several; see ``selectbox``."""
    chosen = [value for value in _held(key, ()) if value in choices]
    return st.multiselect(label, choices, chosen, key=key, **options)


def number_input(label: str, low: int, high: int, *, key: str, **options: Any) -> int | None:
    """Draw a whole number, ``low`` to ``high``, both included; empty where the session says so."""
    empty = key in st.session_state and st.session_state[key] is None
    value = None if empty else _number(key, low, high)
    number: int | None = st.number_input(label, low, high, value, key=key, **options)
    return number


def slider(label: str, low: int, high: int, *, key: str, **options: Any) -> int:
    """Draw a whole number, ``low`` to ``high``, as a position."""
    return int(st.slider(label, low, high, _number(key, low, high), key=key, **options))


def toggle(label: str, *, key: str, **options: Any) -> bool:
    """Draw a switch, off where the session holds no value."""
    return st.toggle(label, bool(_held(key, False)), key=key, **options)


def checkbox(label: str, *, key: str, **options: Any) -> bool:
    """Draw a box to tick; see ``toggle``."""
    return st.checkbox(label, bool(_held(key, False)), key=key, **options)


def date_input(label: str, *, key: str, **options: Any) -> date | None:
    """Draw a day, none where the session holds none."""
    held = _held(key, None)
    day: date | Literal["today"] | None = held if isinstance(held, date) else None
    chosen: date | None = st.date_input(label, day, key=key, **options)
    return chosen


def _held(key: str, otherwise: Any) -> Any:
    return st.session_state.get(key, otherwise)


def _text(key: str, otherwise: str) -> str:
    held = _held(key, otherwise)
    return held if isinstance(held, str) else otherwise


def _number(key: str, low: int, high: int) -> int:
    held = _held(key, low)
    return held if isinstance(held, int) and low <= held <= high else low
