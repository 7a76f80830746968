"""The Kernel lab's controls: the design row, the text, and a row of fields for each parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import streamlit as st

from tileviz.studies.kernel.design import MAX_PARAMETERS
from tileviz.studies.kernel.signature import Signature, missing_entry, signatures
from tileviz.ui import html, inputs
from tileviz.ui.controls import CUSTOM, choose_preset
from tileviz.ui.kernel.form import (
    BUFFER_DTYPES,
    LABELS,
    ROLES,
    SCALAR_DTYPES,
    LabForm,
    ParameterForm,
)
from tileviz.ui.kernel.state import RULES

_TEXTS = ("source", "entry", "grid", "block", "shared")
_PARTS = tuple(part.name for part in fields(ParameterForm))
_ROWS = "lab.rows"
_WIDTHS = [1.25, 1.45, 1.35, 1.3, 0.42, 0.42]
_HEADS = ("Name", "dtype", "Shape or value", "Role")
SOURCE_HEIGHT = 430
_MAX_OFFERED = 3


def key(field: str) -> str:
    """Return the session key of a field's control."""
    return f"lab.{field}"


def _part(place: int, part: str) -> str:
    return f"lab.p{place}.{part}"


# -- the form in the controls ----------------------------------------------------------------------


def fill(form: LabForm, *, force: bool) -> None:
    """Put a form into the controls; without ``force`` only where one has no value yet."""
    state = st.session_state
    for field in _TEXTS:
        if force or key(field) not in state:
            state[key(field)] = getattr(form, field)
    if force or _ROWS not in state:
        _put(form.parameters)
    for place in range(state[_ROWS]):
        for part in _PARTS:
            if _part(place, part) not in state and place < len(form.parameters):
                state[_part(place, part)] = getattr(form.parameters[place], part)
    found = RULES.matching_preset(collect(form))
    state[key("preset")] = found.name if found else CUSTOM


def collect(form: LabForm) -> LabForm:
    """Return what the controls hold; a field without a value there keeps the form's."""
    state = st.session_state
    texts = {field: state.get(key(field)) for field in _TEXTS}
    kept = {name: getattr(form, name) if text is None else text for name, text in texts.items()}
    count = state.get(_ROWS, len(form.parameters))
    rows = [_row(place, form.parameters) for place in range(count)]
    return LabForm(**kept, parameters=tuple(rows))


def _row(place: int, before: Sequence[ParameterForm] = ()) -> ParameterForm:
    old = before[place] if place < len(before) else ParameterForm()
    values = {part: st.session_state.get(_part(place, part)) for part in _PARTS}
    return ParameterForm(
        **{part: getattr(old, part) if value is None else value for part, value in values.items()}
    )


def _put(rows: Sequence[ParameterForm]) -> None:
    state = st.session_state
    for place in range(len(rows), state.get(_ROWS, 0)):
        for part in _PARTS:
            state.pop(_part(place, part), None)
    for place, row in enumerate(rows):
        for part in _PARTS:
            state[_part(place, part)] = getattr(row, part)
    state[_ROWS] = len(rows)


# -- the design row --------------------------------------------------------------------------------


def design_row() -> None:
    """Draw preset, entry and launch in one row."""
    row = st.container(key="design_row")
    with row:
        columns = st.columns([2.4, 1.7, 1.1, 1.1, 1.1], gap="small")
    with columns[0]:
        choose_preset(
            RULES.presets(), key("preset"), _load_preset, "Your own kernel", label="Start from"
        )
    with columns[1]:
        current = st.session_state[key("entry")]
        found = [kernel.name for kernel in _kernels() if kernel.extern_c]
        inputs.selectbox(
            LABELS["entry"],
            found if current in found else [*found, current],
            key=key("entry"),
            accept_new_options=True,
            help='The extern "C" __global__ function to launch.',
        )
    helps = {
        "grid": "Blocks in x, y, z, such as 4,2.",
        "block": "Threads of a block in x, y, z, such as 32,8.",
        "shared": "Dynamic shared memory of a block.",
    }
    for column, (field, note) in zip(columns[2:], helps.items(), strict=True):
        with column:
            inputs.text_input(LABELS[field], key=key(field), autocomplete="off", help=note)

    with row:  # inside, so that nothing below it moves to another place in the page
        _missing_entry()


def _missing_entry() -> None:
    """Say at the entry that the text has no such kernel, and offer those that it has."""
    entry = str(st.session_state[key("entry")] or "").strip()
    said = missing_entry(st.session_state[key("source")], entry)
    if not said:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="lab_missing"):
        st.html(f'<p class="tv-note" role="status">{html.text(said)}</p>', width="content")
        for kernel in _kernels()[:_MAX_OFFERED]:
            name = html.literal(kernel.name)
            inputs.button(
                f"Fill from the signature of {name}",
                icon=":material/auto_fix_high:",
                key=f"lab.fill.{kernel.name}",
                type="tertiary",
                on_click=_fill_from,
                args=(kernel,),
            )


def _load_preset() -> None:
    name = st.session_state[key("preset")]
    for preset in RULES.presets():
        if preset.name == name:
            fill(RULES.preset_form(preset), force=True)


def _kernels() -> tuple[Signature, ...]:
    return signatures(st.session_state[key("source")])


# -- the text and its parameters -------------------------------------------------------------------


def source_editor() -> None:
    """Draw the CUDA text, to be typed or pasted."""
    inputs.text_area(
        "CUDA source",
        key=key("source"),
        height=SOURCE_HEIGHT,
        placeholder='extern "C" __global__ void kernel(const float* x, float* y, int n) { … }',
        help="Leave the field, or press Ctrl+Enter, to take the text over.",
    )


def parameters() -> None:
    """Draw a row of fields for each parameter, in the order of the signature."""
    st.html(html.panel("Parameters", "in the order of the signature"))
    count = st.session_state[_ROWS]
    with st.container(key="lab_parameters"):
        if count:
            heads = "".join(f"<span>{name}</span>" for name in _HEADS)
            st.html(f'<div class="lab-heads" aria-hidden="true">{heads}</div>')
        for place in range(count):
            _parameter(place)
    with st.container(horizontal=True, gap="small"):
        inputs.button(
            "Add parameter",
            icon=":material/add:",
            key="lab.add",
            on_click=_add,
            disabled=count >= MAX_PARAMETERS,
        )
        declared = _declared()
        inputs.button(
            "Fill from the signature",
            icon=":material/auto_fix_high:",
            key="lab.fill",
            on_click=_from_signature,
            disabled=declared is None,
            help="Names, types, and what is read and written, as the text declares them. Sizes are "
            "yours: a new buffer starts with one element a thread, whole numbers as its extents.",
        )


def _parameter(place: int) -> None:
    columns = st.columns(_WIDTHS, gap="xxsmall", vertical_alignment="bottom")
    number = place + 1
    with columns[0]:
        inputs.text_input(
            f"Name {number}",
            key=_part(place, "name"),
            autocomplete="off",
            label_visibility="collapsed",
        )
    with columns[1]:
        scalar = st.session_state[_part(place, "role")] == "scalar"
        known = SCALAR_DTYPES if scalar else BUFFER_DTYPES
        current = st.session_state[_part(place, "dtype")]
        inputs.selectbox(
            f"dtype {number}",
            known if current in known else (*known, current),
            key=_part(place, "dtype"),
            accept_new_options=True,
            label_visibility="collapsed",
        )
    with columns[2]:
        hint = "1024" if scalar else "64x32"
        inputs.text_input(
            f"Shape or value {number}",
            key=_part(place, "size"),
            placeholder=hint,
            autocomplete="off",
            label_visibility="collapsed",
        )
    with columns[3]:
        inputs.selectbox(
            f"Role {number}", ROLES, key=_part(place, "role"), label_visibility="collapsed"
        )
    with columns[4]:
        inputs.button(
            "",
            icon=":material/arrow_upward:",
            key=f"lab.up{place}",
            on_click=_up,
            args=(place,),
            disabled=not place,
            help=f"Move parameter {number} up",
            type="tertiary",
        )
    with columns[5]:
        inputs.button(
            "",
            icon=":material/close:",
            key=f"lab.remove{place}",
            on_click=_remove,
            args=(place,),
            help=f"Remove parameter {number}",
            type="tertiary",
        )


def _rows() -> list[ParameterForm]:
    return [_row(place) for place in range(st.session_state[_ROWS])]


def _add() -> None:
    rows = _rows()
    if len(rows) < MAX_PARAMETERS:
        _put([*rows, ParameterForm()])


def _remove(place: int) -> None:
    rows = _rows()
    _put(rows[:place] + rows[place + 1 :])


def _up(place: int) -> None:
    rows = _rows()
    if 0 < place < len(rows):
        rows[place - 1 : place + 1] = [rows[place], rows[place - 1]]
    _put(rows)


def _declared() -> Signature | None:
    """Return the signature of the entry; the only kernel of the text where it has another name."""
    kernels = _kernels()
    entry = str(st.session_state[key("entry")] or "").strip()
    named = [kernel for kernel in kernels if kernel.name == entry]
    found = named or (kernels if len(kernels) == 1 else ())
    return found[0] if found else None


def _from_signature() -> None:
    declared = _declared()
    if declared is not None:
        _fill_from(declared)


def _fill_from(declared: Signature) -> None:
    fill(collect(LabForm()).with_signature(declared), force=True)
