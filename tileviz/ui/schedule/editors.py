"""The design row and the fields behind it; all of them write one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from tileviz.dtypes import NAMES as DTYPES
from tileviz.studies.schedule.design import MAX_WORKERS
from tileviz.studies.schedule.policies import NAMES, policy
from tileviz.ui import inputs
from tileviz.ui.controls import CUSTOM, choose_preset
from tileviz.ui.schedule.form import OwnField, ScheduleForm, own_fields
from tileviz.ui.schedule.state import matching_preset, preset_design, schedule_presets

_TEXTS = ("problem", "tile", "batch", "l2", "dtype", "policy")
# As many of a policy's parameters stand in the row; the others are behind it.
_IN_ROW = 2
_KEPT = ("offset", "direction")
_HINTS = {
    "order": "0,0; 0,1; ...",
    "log_tile": "automatic",
    "chunk": "none",
    "group_m": "one group",
}
_OPTIONS = {"1": "Yes", "0": "No", "zn": "Zn", "nz": "Nz", "row": "Row", "column": "Column"}


def key(field: str) -> str:
    """Return the session key of a field's control."""
    return f"schedule.{field}"


def own_key(name: str) -> str:
    """Return the session key of a policy's parameter; policies share those of one name."""
    return f"schedule.own.{name}"


def fill(form: ScheduleForm, *, force: bool) -> None:
    """Put a form into the controls; without ``force`` only where a control has no value yet."""
    for field in _TEXTS:
        if force or key(field) not in st.session_state:
            st.session_state[key(field)] = getattr(form, field)
    if force or key("workers") not in st.session_state:
        st.session_state[key("workers")] = _number(form.workers)
    for name, text in form.own:
        if force or own_key(name) not in st.session_state:
            st.session_state[own_key(name)] = text
    preset = matching_preset(collect(form))
    st.session_state[key("preset")] = preset.name if preset else CUSTOM


def _number(text: str) -> int:
    """Return a number of workers that the control can show; a fault is reported elsewhere."""
    plain = text.isascii() and text.isdecimal() and len(text) <= 6
    return min(max(int(text), 1), MAX_WORKERS) if plain else 1


def collect(form: ScheduleForm) -> ScheduleForm:
    """Return what the controls hold; fields without a control keep their value in ``form``."""
    values: dict[str, Any] = {}
    for name in _TEXTS:
        value = st.session_state.get(key(name))
        values[name] = getattr(form, name) if value is None else str(value)
    workers = st.session_state.get(key("workers"))
    # A link's faulty number stays until somebody types another.
    unchanged = workers is None or workers == _number(form.workers)
    values["workers"] = form.workers if unchanged else str(workers)
    before = dict(form.own)
    own = []
    for field in own_fields(values["policy"]):
        text = st.session_state.get(own_key(field.name))
        fallback = before.get(field.name, field.default)
        own.append((field.name, fallback if text is None else str(text)))
    return ScheduleForm(**values, own=tuple(own))


def _load_preset() -> None:
    name = st.session_state[key("preset")]
    for preset in schedule_presets():
        if preset.name == name:
            fill(ScheduleForm.of(preset_design(preset)), force=True)


def _new_policy() -> None:
    """Give a new policy's parameters their defaults; strips keep their width and direction."""
    for field in own_fields(st.session_state[key("policy")]):
        if field.name not in _KEPT or own_key(field.name) not in st.session_state:
            st.session_state[own_key(field.name)] = field.default


def design_row() -> None:
    """Draw preset, problem, tile, policy, its first parameters and workers in one row."""
    shown = own_fields(st.session_state[key("policy")])[:_IN_ROW]
    with st.container(key="design_row"):
        columns = st.columns([1.75, 1.6, 1.2, 1.5, *map(_room, shown), 1.05], gap="xsmall")
    with columns[0]:
        _preset()
    with columns[1]:
        inputs.text_input("Problem M, N, K", key=key("problem"), autocomplete="off")
    with columns[2]:
        inputs.text_input("Tile m, n, k", key=key("tile"), autocomplete="off")
    with columns[3]:
        inputs.selectbox(
            "Policy",
            NAMES,
            key=key("policy"),
            format_func=lambda name: policy(name).title,
            on_change=_new_policy,
        )
    for column, field in zip(columns[4:-1], shown, strict=True):
        with column:
            _own(field)
    with columns[-1]:
        inputs.number_input("Workers", 1, MAX_WORKERS, step=1, key=key("workers"))


def _preset() -> None:
    choose_preset(schedule_presets(), key("preset"), _load_preset)


def _room(field: OwnField) -> float:
    """Return the share of the row that a parameter needs."""
    if field.name == "order":
        return 2.0
    if field.options:
        return 1.25 if len(field.options) > 2 or "column" in field.options else 1.1
    return 0.9 if len(field.label) < 12 else 1.2


def _own(field: OwnField) -> None:
    """Draw the control of one parameter of the policy."""
    name = own_key(field.name)
    st.session_state.setdefault(name, field.default)
    if not field.options:
        inputs.text_input(field.label, key=name, autocomplete="off", placeholder=_hint(field))
    elif len(field.options) == 2:
        inputs.segmented_control(
            field.label, field.options, key=name, format_func=_option, required=True
        )
    else:
        inputs.selectbox(field.label, field.options, key=name, format_func=_option)


def _hint(field: OwnField) -> str:
    return _HINTS.get(field.name, "")


def _option(value: str) -> str:
    return _OPTIONS.get(value, value)


def more_fields() -> None:
    """Draw batch, cache, element type, and the policy's further parameters."""
    with st.container(key="more_fields"):
        columns = st.columns(3, gap="small", vertical_alignment="bottom")
        with columns[0]:
            inputs.text_input("Batch", key=key("batch"), autocomplete="off")
        with columns[1]:
            inputs.text_input("L2 cache, MiB", key=key("l2"), autocomplete="off")
        with columns[2]:
            current = st.session_state[key("dtype")]
            names: Sequence[str] = DTYPES if current in DTYPES else (*DTYPES, current)
            inputs.selectbox("dtype of A and B", names, key=key("dtype"), accept_new_options=True)
        for field in own_fields(st.session_state[key("policy")])[_IN_ROW:]:
            _own(field)


def choose(offset: int, direction: str) -> None:
    """Put a CATLASS setting into the controls; the next run of the page draws it."""
    st.session_state[key("policy")] = "catlass"
    st.session_state[own_key("offset")] = str(offset)
    st.session_state[own_key("direction")] = direction
