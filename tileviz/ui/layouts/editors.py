"""The design row and the fields that an operation needs; all of them write one form."""

from __future__ import annotations

import streamlit as st

from tileviz.dtypes import NAMES
from tileviz.studies.layout.design import uses
from tileviz.ui import inputs
from tileviz.ui.controls import Controls, choose_preset
from tileviz.ui.layouts.form import FIELDS, LABELS, OPS, LayoutForm
from tileviz.ui.layouts.state import RULES

_DTYPES = (*NAMES, "float32x2", "float32x4")
_OPERATIONS = {
    "apply": "Apply: every address",
    "canonicalize": "Canonicalize",
    "group": "Group by a shape",
    "slice": "Slice a region",
    "tile": "Tile by an outer layout",
    "direct_sum": "Direct sum with an outer",
    "span": "Span",
}
_HINTS = {
    "shape": "such as 4, 32",
    "region": "such as 0:4, 0:16",
    "outer": "such as S[(2, 2):(2, 1)]",
    "outer_shape": "tiles, such as 2, 2",
    "inner_shape": "elements, such as 8, 8",
}
_WIDTHS = {"shape": 1.0, "region": 1.2, "outer": 2.0, "cuda_target": 1.4}


_CONTROLS = Controls("layouts", RULES, LayoutForm, FIELDS)
key, fill, collect = _CONTROLS.key, _CONTROLS.fill, _CONTROLS.collect
_load_preset = _CONTROLS.load_preset


def design_row() -> None:
    """Draw preset, operation, layout and element in one row, the operation's own fields below."""
    # The shape that apply may take has room in the first row.
    applies = st.session_state[key("op")] == "apply"
    with st.container(key="design_row"):
        widths = [2, 1.75, 2.6, 1, 1.15] if applies else [2, 1.75, 3.6, 1.15]
        preset, operation, layout, *shape, dtype = st.columns(widths, gap="xsmall")
    with preset:
        choose_preset(RULES.presets(), key("preset"), _load_preset, "Your own layout")
    with operation:
        inputs.selectbox("Operation", OPS, key=key("op"), format_func=lambda op: _OPERATIONS[op])
    with layout:
        inputs.text_input(_layout_label(), key=key("layout"), autocomplete="off")
    for column in shape:
        with column:
            _text("shape", "its extents")
    with dtype:
        current = st.session_state[key("dtype")]
        names = _DTYPES if current in _DTYPES else (*_DTYPES, current)
        inputs.selectbox(LABELS["dtype"], names, key=key("dtype"), accept_new_options=True)
    if not applies:
        _operands(uses(st.session_state[key("op")]))


def _text(field: str, hint: str) -> None:
    inputs.text_input(LABELS[field], key=key(field), placeholder=hint, autocomplete="off")


def _layout_label() -> str:
    return "Layout" if st.session_state[key("op")] not in ("tile", "direct_sum") else "Inner layout"


def _operands(names: tuple[str, ...]) -> None:
    """Draw the fields that the operation reads besides the layout."""
    if not names:
        return
    widths = [_WIDTHS.get(name, 1.0) for name in names]
    room = max(8.5 - sum(widths) * 2, 0.01)
    with st.container(key="more_fields"):
        columns = st.columns(
            [*(2 * width for width in widths), room], gap="xsmall", vertical_alignment="bottom"
        )
    for column, name in zip(columns, names, strict=False):
        with column:
            if name != "cuda_target":
                _text(name, _HINTS[name])
                continue
            inputs.toggle(
                LABELS[name],
                key=key(name),
                help="On a CUDA target, warpid and laneid together become tx, and so on.",
            )
