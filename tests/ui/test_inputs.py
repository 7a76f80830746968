"""Every input is sent with the value that the session holds, as its default too."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest


def _page() -> None:
    from datetime import date

    import streamlit as st

    from tileviz.ui import inputs

    for key, value in {
        "line": "a text",
        "area": "two\nlines",
        "choice": "b",
        "own": "mine",
        "none": None,
        "radio": "c",
        "row": "b",
        "many": ["c", "a"],
        "number": 7,
        "empty": None,
        "slider": 5,
        "toggle": True,
        "box": True,
        "day": date(2026, 2, 3),
    }.items():
        st.session_state.setdefault(key, value)
    some = ["a", "b", "c"]
    inputs.text_input("line", key="line")
    inputs.text_area("area", key="area")
    inputs.selectbox("choice", some, key="choice")
    inputs.selectbox("own", some, key="own", accept_new_options=True)
    inputs.selectbox("none", some, key="none")
    inputs.radio("radio", some, key="radio")
    inputs.segmented_control("row", some, key="row")
    inputs.multiselect("many", some, key="many")
    inputs.number_input("number", 0, 9, key="number")
    inputs.number_input("empty", 0, 9, key="empty")
    inputs.slider("slider", 0, 9, key="slider")
    inputs.toggle("toggle", key="toggle")
    inputs.checkbox("box", key="box")
    inputs.date_input("day", key="day")


def _bare() -> None:
    from tileviz.ui import inputs

    some = ["a", "b", "c"]
    inputs.text_input("line", key="line", value="given")
    inputs.text_area("area", key="area")
    inputs.selectbox("choice", some, key="choice")
    inputs.selectbox("none", some, key="none", index=None)
    inputs.radio("radio", some, key="radio")
    inputs.segmented_control("row", some, key="row")
    inputs.multiselect("many", some, key="many")
    inputs.number_input("number", 3, 9, key="number")
    inputs.slider("slider", 3, 9, key="slider")
    inputs.toggle("toggle", key="toggle")
    inputs.date_input("day", key="day")


DEFAULTS: dict[str, tuple[Any, Any]] = {
    # what the session holds, then what is sent as the default: an index for choices
    "line": ("a text", "a text"),
    "area": ("two\nlines", "two\nlines"),
    "choice": ("b", 1),
    "own": ("mine", 3),
    "none": (None, None),
    "radio": ("c", 2),
    "row": ("b", [1]),
    "many": (["c", "a"], [2, 0]),
    "number": (7, 7.0),
    "empty": (None, None),
    "slider": (5, [5.0]),
    "toggle": (True, True),
    "box": (True, True),
    "day": ("2026-02-03", ["2026-02-03"]),
}


def _elements(test: AppTest) -> dict[str, Any]:
    return {
        element.proto.label: element
        for element in test.main
        if getattr(element, "proto", None) is not None
    }


def _default(proto: Any) -> Any:
    if "default" not in {field.name for field, _ in proto.ListFields()}:
        has_presence = proto.DESCRIPTOR.fields_by_name["default"].has_presence
        return None if has_presence else proto.default
    found = proto.default
    return found if isinstance(found, (str, bool, int, float)) else list(found)


@pytest.mark.parametrize("again", [False, True], ids=["first run", "second run"])
def test_the_default_is_the_value_that_the_session_holds(again: bool) -> None:
    test = AppTest.from_function(_page).run()
    if again:
        test.run()
    assert not test.exception
    found = _elements(test)
    assert set(found) == set(DEFAULTS)
    for name, (held, default) in DEFAULTS.items():
        assert _default(found[name].proto) == default, name
        value = found[name].value
        assert (str(value) if name == "day" else value) == held, name


def test_an_edit_is_the_default_of_the_next_run() -> None:
    test = AppTest.from_function(_page).run()
    test.text_input(key="line").set_value("typed")
    test.selectbox(key="choice").set_value("c")
    test.number_input(key="number").set_value(2)
    test.toggle(key="toggle").set_value(False)
    test.run()
    found = _elements(test)
    assert [_default(found[name].proto) for name in ("line", "choice", "number", "toggle")] == [
        "typed",
        2,
        2.0,
        False,
    ]


def test_without_a_value_there_is_a_plain_default() -> None:
    test = AppTest.from_function(_bare).run()
    assert not test.exception
    values = {name: element.value for name, element in _elements(test).items()}
    assert values == {
        "line": "given",
        "area": "",
        "choice": "a",
        "none": None,
        "radio": None,
        "row": None,
        "many": [],
        "number": 3,
        "slider": 3,
        "toggle": False,
        "day": None,
    }
