"""The controls of the Compare page: two sides in one row, what was sent, files and names."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import streamlit as st

from tileviz.comparing.pairs import MAX_FILE, SIDES, Pair
from tileviz.errors import DesignError
from tileviz.studies.design import Design
from tileviz.studies.registry import make_design, preset, presets
from tileviz.ui import frame, html, inputs, sent
from tileviz.ui.compare.cached import verdict_of
from tileviz.ui.compare.files import opened
from tileviz.ui.compare.form import FIELDS, CompareForm, side_text
from tileviz.ui.compare.starts import starts
from tileviz.ui.compare.state import sent_text

_FILE_FAULT, _FILES, _CHOSEN = "compare.file_fault", "compare.files", "compare.chosen_sent"
_NAMES = {"left": "Left", "right": "Right"}
_ANY_FILE = "both"
_POPOVER = 360
_WIDTHS = [1.15, 2.5, 1.0]


def key(field: str) -> str:
    """Return the session key of a field's control."""
    return f"compare.{field}"


def fill(form: CompareForm, *, force: bool) -> None:
    """Put a form into the controls; without ``force`` only where one has no value yet."""
    for field in FIELDS:
        if force or key(field) not in st.session_state:
            st.session_state[key(field)] = getattr(form, field)


def collect(form: CompareForm) -> CompareForm:
    """Return what the controls hold; a field without a value there keeps the form's."""
    values: dict[str, str] = {}
    for field in FIELDS:
        held = st.session_state.get(key(field))
        values[field] = getattr(form, field) if held is None else held
    return CompareForm(**values)


def design_row() -> None:
    """Draw both sides: name, design, and the ways to choose one."""
    with st.container(key="design_row"):
        columns = st.columns([*_WIDTHS, 0.6, *_WIDTHS], gap="xsmall", vertical_alignment="bottom")
    for side, part in zip(SIDES, (columns[:3], columns[4:]), strict=True):
        _side(side, *part)
    with columns[3]:
        inputs.button(
            "Swap",
            key="compare.swap",
            on_click=_swap,
            width="stretch",
            help="Change the sides over",
        )
    _sent_row()


def _side(side: str, name: Any, design: Any, more: Any) -> None:
    label = _NAMES[side]
    with name:
        inputs.text_input(
            f"{label} name", key=key(f"{side}_name"), placeholder=label, autocomplete="off"
        )
    with design:
        inputs.text_input(
            f"{label} design",
            key=key(side),
            placeholder="a link, a preset or JSON",
            autocomplete="off",
            on_change=_renamed,
            args=(side,),
        )
    with more:
        popover = st.popover(
            "Choose", icon=":material/folder_open:", key=key(f"{side}.more"), width="stretch"
        )
    with popover, st.container(width=_POPOVER):
        inputs.selectbox(
            f"{label}: a preset",
            _preset_names(),
            index=None,
            key=key(f"{side}.preset"),
            format_func=_preset_label,
            placeholder="Choose a preset",
            on_change=_take_preset,
            args=(side,),
        )
        _uploader(side, f"{label}: a design file")


def further() -> None:
    """Draw the note's field."""
    with st.container(width=_POPOVER):
        inputs.text_area(
            "Note",
            key=key("note"),
            placeholder="What should a reader of this comparison know?",
            height=140,
        )


def open_file() -> None:
    """Draw the field for a comparison file."""
    with st.container(width=_POPOVER):
        _uploader(_ANY_FILE, "A comparison file, or a design")


# -- presets and swapping ----------------------------------------------------------------------


@lru_cache(maxsize=1)
def _preset_names() -> list[str]:
    return [found.name for found in presets()]


def _preset_label(name: str) -> str:
    found = preset(name)
    if found is None:
        return name
    page = frame.page_of(found.study)
    return f"{found.study if page is None else page.title}: {found.title}"


def _put(side: str, text: str) -> None:
    """Put another design into a side."""
    st.session_state[key(side)] = text
    _renamed(side)


def _renamed(side: str) -> None:
    """Forget the name that a start gave to the design that was here before."""
    given = {name for start in starts() for name in (start.pair.left_name, start.pair.right_name)}
    if st.session_state.get(key(f"{side}_name")) in given:
        st.session_state[key(f"{side}_name")] = ""


def _take_preset(side: str) -> None:
    """Put the chosen preset's link into a side."""
    name = st.session_state[key(f"{side}.preset")]
    found = preset(name) if name else None
    if found is not None:
        _put(side, side_text(found.design))
        # The same preset can be chosen again after the side was changed.
        st.session_state[key(f"{side}.preset")] = None


def _swap() -> None:
    fill(collect(CompareForm()).swapped(), force=True)


def start_with(pair: Pair) -> None:
    """Put both designs of a pair into the controls."""
    fill(CompareForm.of(pair), force=True)


# -- what was sent -----------------------------------------------------------------------------


def sent_designs() -> list[Design]:
    """Return the designs that other pages sent here, the newest last, each once."""
    found: dict[str, Design] = {}
    for document in sent.documents():
        text = sent_text(document)
        if text:
            found.setdefault(text, make_design(document))
    return list(found.values())


def _sent_row() -> None:
    """Draw what was sent here, and where it may go."""
    designs = sent_designs()
    if not designs:
        return
    with st.container(key="compare_sent"):
        columns = st.columns([4.6, 1, 1, 1], gap="xsmall", vertical_alignment="bottom")
    with columns[0]:
        if st.session_state.get(_CHOSEN) not in range(len(designs)):
            st.session_state[_CHOSEN] = len(designs) - 1
        inputs.selectbox(
            f"Sent here ({len(designs)})",
            range(len(designs)),
            key=_CHOSEN,
            format_func=lambda at: _sent_label(at, designs),
        )
    texts = [side_text(design) for design in designs]
    for side, column in zip(SIDES, columns[1:3], strict=True):
        with column:
            inputs.button(
                f"To {side}",
                key=key(f"sent_to_{side}"),
                on_click=_take_sent,
                args=(side, texts),
                width="stretch",
            )
    with columns[3]:
        inputs.button("Clear list", key=key("clear_sent"), on_click=sent.clear, width="stretch")


def _sent_label(at: int, designs: list[Design]) -> str:
    design = designs[at]
    page = frame.page_of(design.study)
    name = design.study if page is None else page.title
    return f"{at + 1}. {name}: {verdict_of(design).sentence}"


def _take_sent(side: str, texts: list[str]) -> None:
    at = st.session_state.get(_CHOSEN)
    if isinstance(at, int) and at < len(texts):
        _put(side, texts[at])


# -- files -------------------------------------------------------------------------------------


def _uploader(place: str, label: str) -> None:
    # A new key empties the control, so that the same file can be taken again.
    count = st.session_state.setdefault(f"{_FILES}.{place}", 0)
    control = f"{_FILES}.{place}.{count}"
    st.file_uploader(
        label,
        type="json",
        key=control,
        max_upload_size=MAX_FILE >> 20,
        on_change=_take_file,
        args=(place, control),
    )


def _take_file(place: str, control: str) -> None:
    """Put what a file holds into its side, or into both."""
    inputs.sync()
    upload = st.session_state.get(control)
    st.session_state.pop(_FILE_FAULT, None)
    if upload is None:
        return
    form = collect(CompareForm())
    try:
        found = opened(upload)
    except DesignError as error:
        name = str(getattr(upload, "name", "file"))[:80]
        st.session_state[_FILE_FAULT] = (form, name, error)
        return
    st.session_state[f"{_FILES}.{place}"] += 1
    if isinstance(found, Pair):
        start_with(found)
    elif place in SIDES:
        _put(place, side_text(found))
    else:
        side = "right" if form.left.strip() and not form.right.strip() else "left"
        _put(side, side_text(found))


def file_fault(form: CompareForm) -> html.Fault | None:
    """Return what is wrong with the last file, while nothing else was typed since."""
    held = st.session_state.get(_FILE_FAULT)
    if held is None or held[0] != form:
        return None
    _, name, error = held
    shown = DesignError("", f"{error.field}: {error.message}" if error.field else error.message)
    return html.Fault(name, shown)
