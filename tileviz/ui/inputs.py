"""The inputs of all pages: what a script put into one is never undone by a browser that is late.

The value of an input is a plain entry of the session. Streamlit's own widget stands beside it: as
long as only people change the value it is one and the same widget; where a script changes it, the
next one is drawn as a new widget that starts with it. What a busy browser then still reports of the
widget before counts for nothing. With Streamlit alone it overrides the script, and looks like a
choice that somebody made: a preset came back that had just been edited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import streamlit as st

_DRAWN = "tileviz.inputs"
_Callback = Callable[..., None] | None


@dataclass(frozen=True)
class _Drawn:
    """One input as last drawn.

    Attributes:
        generation: Counts its widgets.
        shown: What it showed.
        value: What script and browser last agreed on since.
        offered: The words of its choices.
    """

    generation: int
    shown: Any
    value: Any
    offered: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Widget:
    """The widget of an input in this run.

    Attributes:
        key: The input's.
        generation: Counts its widgets.
        value: What it starts with.
    """

    key: str
    generation: int
    value: Any

    @property
    def name(self) -> str:
        """The widget's own key."""
        return _name(self.key, self.generation)

    def calls(self, callback: _Callback = None, args: Sequence[Any] = ()) -> dict[str, Any]:
        """Return the options that have a callback called once the widget was changed."""
        return {"on_change": _changed, "args": (self.key, self.generation, callback, *args)}

    def end(self, value: Any) -> Any:
        """Take over what the widget holds, for forms, which have no callbacks; return it."""
        _take(self.key, value)
        return value


# -- values ----------------------------------------------------------------------------------------


def sync() -> None:
    """Take over what was typed and chosen; every script and every callback begins with it."""
    state = st.session_state
    for key, drawn in tuple(_drawn().items()):
        name = _name(key, drawn.generation)
        if name in state:
            _take(key, state[name])


def _drawn() -> dict[str, _Drawn]:
    known: dict[str, _Drawn] = st.session_state.setdefault(_DRAWN, {})
    return known


def _name(key: str, generation: int) -> str:
    return f"{key}~{generation}"


def _take(key: str, value: Any) -> None:
    drawn = _drawn()[key]
    if value != drawn.value:
        st.session_state[key] = value
        _drawn()[key] = replace(drawn, value=value)


def _begin(key: str, otherwise: Any, offered: tuple[str, ...] = ()) -> _Widget:
    value = st.session_state.setdefault(key, otherwise)
    drawn = _drawn().get(key)
    generation = 0
    if drawn is not None:
        # A browser reports the words of a choice: among other words they mean nothing.
        generation = drawn.generation + (drawn.value != value or drawn.offered != offered)
    _drawn()[key] = _Drawn(generation, value, value, offered)
    return _Widget(key, generation, value)


def _words(choices: Sequence[Any], options: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(map(options.get("format_func", str), choices))


def _changed(key: str, generation: int, callback: _Callback, *args: Any) -> None:
    """Call back after a change; what a late browser reports of a widget before is none."""
    sync()
    drawn, name = _drawn()[key], _name(key, generation)
    changed = generation == drawn.generation and st.session_state.get(name) != drawn.shown
    if changed and callback is not None:
        callback(*args)


def _pressed(callback: _Callback, *args: Any) -> None:
    sync()
    if callback is not None:
        callback(*args)


# -- inputs ----------------------------------------------------------------------------------------


def text_input(
    label: str,
    *,
    key: str,
    value: str = "",
    on_change: _Callback = None,
    args: Sequence[Any] = (),
    in_form: bool = False,
    **options: Any,
) -> str:
    """Draw a line of text.

    Args:
        label: Its name.
        key: Under which the session keeps its value.
        value: Its value where the session holds none.
        on_change: Called once it was changed.
        args: With these.
        in_form: Whether it stands in a form, which allows no callbacks.
        options: Further options of ``st.text_input``.
    """
    widget = _begin(key, value)
    calls = {} if in_form else widget.calls(on_change, args)
    text = st.text_input(label, widget.value or "", key=widget.name, **calls, **options)
    return str(widget.end(text))


def text_area(label: str, *, key: str, in_form: bool = False, **options: Any) -> str:
    """Draw a text of several lines; see ``text_input``."""
    widget = _begin(key, "")
    calls = {} if in_form else widget.calls()
    text = st.text_area(label, widget.value or "", key=widget.name, **calls, **options)
    return str(widget.end(text))


def selectbox(
    label: str,
    choices: Sequence[Any],
    *,
    key: str,
    index: int | None = 0,
    on_change: _Callback = None,
    args: Sequence[Any] = (),
    sometimes: Sequence[Any] = (),
    **options: Any,
) -> Any:
    """Draw a choice out of a list; a text of one's own, where that is allowed, is one of them.

    Args:
        label: Its name.
        choices: What can be chosen.
        key: Under which the session keeps its value.
        index: Which one is chosen where the session holds no value.
        on_change: Called once another was chosen.
        args: With these.
        sometimes: Further choices, which may come and go.
        options: Further options of ``st.selectbox``.
    """
    first = None if index is None else choices[index]
    widget = _begin(key, first, _words(choices, options))
    choices, held = [*choices, *sometimes], widget.value
    if options.get("accept_new_options") and held is not None and held not in choices:
        choices = [*choices, held]
    chosen = None if held is None else choices.index(held) if held in choices else index
    calls = widget.calls(on_change, args)
    return widget.end(st.selectbox(label, choices, chosen, key=widget.name, **calls, **options))


def radio(
    label: str, choices: Sequence[Any], *, key: str, in_form: bool = False, **options: Any
) -> Any:
    """Draw a choice of which every option is seen; none is chosen where the session holds none."""
    widget = _begin(key, None, _words(choices, options))
    chosen = choices.index(widget.value) if widget.value in choices else None
    calls = {} if in_form else widget.calls()
    return widget.end(st.radio(label, choices, chosen, key=widget.name, **calls, **options))


def segmented_control(label: str, choices: Sequence[Any], *, key: str, **options: Any) -> Any:
    """Draw a choice as a row of buttons, none pressed where the session holds none of them."""
    widget = _begin(key, None, _words(choices, options))
    chosen = widget.value if widget.value in choices else None
    control: Any = st.segmented_control
    return widget.end(
        control(label, choices, default=chosen, key=widget.name, **widget.calls(), **options)
    )


def multiselect(label: str, choices: Sequence[Any], *, key: str, **options: Any) -> list[Any]:
    """Draw a choice of several."""
    widget = _begin(key, [], _words(choices, options))
    chosen = [value for value in widget.value if value in choices]
    found = st.multiselect(label, choices, chosen, key=widget.name, **widget.calls(), **options)
    return list(widget.end(found))


def number_input(
    label: str,
    low: int,
    high: int,
    *,
    key: str,
    on_change: _Callback = None,
    args: Sequence[Any] = (),
    **options: Any,
) -> int | None:
    """Draw a whole number, both ends included; empty where the session holds None."""
    widget = _begin(key, low)
    start = None if widget.value is None else min(max(int(widget.value), low), high)
    calls = widget.calls(on_change, args)
    number: int | None = widget.end(
        st.number_input(label, low, high, start, key=widget.name, **calls, **options)
    )
    return number


def slider(label: str, low: int, high: int, *, key: str, **options: Any) -> int:
    """Draw a whole number, ``low`` to ``high``, as a position."""
    widget = _begin(key, low)
    start = min(max(int(widget.value), low), high)
    calls = widget.calls()
    return int(widget.end(st.slider(label, low, high, start, key=widget.name, **calls, **options)))


def toggle(label: str, *, key: str, in_form: bool = False, **options: Any) -> bool:
    """Draw a switch, off where the session holds no value."""
    widget = _begin(key, False)
    calls = {} if in_form else widget.calls()
    on = st.toggle(label, bool(widget.value), key=widget.name, **calls, **options)
    return bool(widget.end(on))


def checkbox(
    label: str,
    *,
    key: str,
    on_change: _Callback = None,
    args: Sequence[Any] = (),
    **options: Any,
) -> bool:
    """Draw a box to tick; see ``toggle``."""
    widget = _begin(key, False)
    calls = widget.calls(on_change, args)
    on = st.checkbox(label, bool(widget.value), key=widget.name, **calls, **options)
    return bool(widget.end(on))


def date_input(label: str, *, key: str, **options: Any) -> date | None:
    """Draw a day, none where the session holds none."""
    widget = _begin(key, None)
    day: date | None = widget.end(
        st.date_input(label, widget.value, key=widget.name, **widget.calls(), **options)
    )
    return day


# -- buttons ---------------------------------------------------------------------------------------


def button(
    label: str, *, on_click: _Callback = None, args: Sequence[Any] = (), **options: Any
) -> bool:
    """Draw a button whose callback finds every input as it was when it was pressed.

    Args:
        label: Its name.
        on_click: Called once it was pressed.
        args: With these.
        options: Further options of ``st.button``.
    """
    return st.button(label, on_click=_pressed, args=(on_click, *args), **options)


def submit_button(
    label: str, *, on_click: _Callback = None, args: Sequence[Any] = (), **options: Any
) -> bool:
    """Draw a form's button; see ``button``."""
    return st.form_submit_button(label, on_click=_pressed, args=(on_click, *args), **options)
