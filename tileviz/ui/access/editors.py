"""The design row and the fields behind it; all of them write one form."""

from __future__ import annotations

import streamlit as st

from tileviz.dtypes import NAMES
from tileviz.ui import inputs
from tileviz.ui.access.form import (
    ACCESSES,
    FIELDS,
    LABELS,
    OPS,
    SPACES,
    WIDTHS,
    AccessForm,
)
from tileviz.ui.access.state import RULES
from tileviz.ui.controls import Controls, choose_preset

_DTYPES = (*NAMES, "float32x2", "float32x4")
_ACCESS_NAMES = {
    "row": "row",
    "column": "column",
    "ldmatrix": "ldmatrix",
    "lanes": "lane by lane",
    "addresses": "addresses",
}
# Swizzles that people look for: of 4-byte columns, of 8-byte ones, and TMA's three for 2 bytes.
_SWIZZLES = (
    "",
    "Swizzle(0, 5, 5)",
    "Swizzle(0, 4, 5)",
    "Swizzle(2, 3, 3)",
    "Swizzle(3, 1, 3)",
    "Swizzle(3, 2, 3)",
    "Swizzle(3, 3, 3)",
)
_HINTS = {
    "lanes": "such as 0,0;0,1;1,0;-;1,1 (a dash for an idle lane)",
    "addresses": "such as 0,128,256,-,512",
    "also": "such as st/16/row|ld//column",
}


_CONTROLS = Controls("banks", RULES, AccessForm, FIELDS)
key, fill, collect = _CONTROLS.key, _CONTROLS.fill, _CONTROLS.collect
_load_preset = _CONTROLS.load_preset


def apply_layout(form: AccessForm, text: str) -> None:
    """Put another layout into the controls: what "use this layout" does."""
    fill(collect(form).with_layout(text), force=True)


def design_row() -> None:
    """Draw the design in one row; lane by lane and byte addresses have a field of their own."""
    access = st.session_state[key("access")]
    addressed = access == "addresses"
    with st.container(key="design_row"), st.container(key="banks_row"):
        columns = st.columns([2.3, 2.05, 1.2, 1.35, 1.3, 0.95, 1.1, 1.1], gap="xsmall")
    with columns[0]:
        choose_preset(RULES.presets(), key("preset"), _load_preset, "Your own access")
    with columns[1]:
        inputs.text_input(
            LABELS["layout"], key=key("layout"), autocomplete="off", disabled=addressed
        )
    with columns[2]:
        _swizzle(disabled=addressed)
    with columns[3]:
        inputs.selectbox(
            LABELS["access"], ACCESSES, key=key("access"), format_func=_ACCESS_NAMES.__getitem__
        )
    with columns[4]:
        inputs.selectbox(LABELS["op"], OPS, key=key("op"))
    with columns[5]:
        inputs.selectbox(
            "Bytes",
            WIDTHS,
            key=key("bytes"),
            format_func=lambda width: width or "auto",
            help="Bytes a lane. Auto: one element, or 16 for the rows of matrices.",
        )
    with columns[6]:
        current = st.session_state[key("dtype")]
        names = _DTYPES if current in _DTYPES else (*_DTYPES, current)
        inputs.selectbox(LABELS["dtype"], names, key=key("dtype"), accept_new_options=True)
    with columns[7]:
        inputs.selectbox(LABELS["space"], SPACES, key=key("space"))
    if access in ("lanes", "addresses"):
        with st.container(key="more_fields"):
            inputs.text_input(
                LABELS[access], key=key(access), placeholder=_HINTS[access], autocomplete="off"
            )


def _swizzle(*, disabled: bool) -> None:
    current = st.session_state[key("swizzle")]
    known = {_cute(option) for option in _SWIZZLES}
    # The same swizzle may come in another notation; then that one stands for both.
    options = [current if _cute(one) == _cute(current) else one for one in _SWIZZLES]
    if _cute(current) not in known:
        options.append(current)
    inputs.selectbox(
        LABELS["swizzle"],
        options,
        key=key("swizzle"),
        format_func=lambda text: _cute(text) or "none",
        accept_new_options=True,
        disabled=disabled,
        help="CuTe's Sw<B,M,S>: B bits from bit M on are XORed with those S places above. "
        "Type any other.",
    )


def _cute(text: str) -> str:
    """Return a swizzle in CuTe's letters, as typed where it cannot be read.

    Example:
        >>> _cute("Swizzle(3, 2, 4)"), _cute("Sw<3, 3, 3>"), _cute("Sw<")
        ('Sw<2,3,4>', 'Sw<3,3,3>', 'Sw<')
    """
    compact = text.replace(" ", "")
    letters = compact[len("Swizzle(") : -1].split(",")
    if compact.startswith("Swizzle(") and compact.endswith(")") and len(letters) == 3:
        return f"Sw<{letters[1]},{letters[0]},{letters[2]}>"
    return compact


def further_accesses() -> None:
    """Draw the field for what else the same layout must serve."""
    inputs.text_input(
        LABELS["also"],
        key=key("also"),
        placeholder=_HINTS["also"],
        autocomplete="off",
        disabled=st.session_state[key("access")] == "addresses",
        help="What else the same layout must serve, for the search: op/bytes/pattern, "
        "with | between. Bytes may be left out; a pattern is row, column, ldmatrix or coordinates.",
    )
