"""Inputs start with what the session holds, and late reports of a browser undo nothing."""

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


def _ids(test: AppTest) -> dict[str, str]:
    return {name: element.proto.id for name, element in _elements(test).items()}


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
    before = _ids(test)
    test.text_input(key="line").set_value("typed")
    test.selectbox(key="choice").set_value("c")
    test.number_input(key="number").set_value(2)
    test.toggle(key="toggle").set_value(False)
    test.run()
    found = _elements(test)
    names = ("line", "choice", "number", "toggle")
    assert [_default(found[name].proto) for name in names] == ["typed", 2, 2.0, False]
    assert [test.session_state[name] for name in names] == ["typed", "c", 2, False]
    assert _ids(test) == before  # nobody loses the focus


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


# -- a script changes a value ----------------------------------------------------------------------


def _linked() -> None:
    import streamlit as st

    from tileviz.ui import inputs

    def loaded() -> None:
        st.session_state["text"] = {"a": "alpha", "b": "beta"}.get(st.session_state["preset"], "")
        st.session_state["loads"] = st.session_state.get("loads", 0) + 1

    def read() -> None:
        st.session_state["read"] = st.session_state["text"]

    inputs.sync()
    st.session_state.setdefault("text", "alpha")
    shown = {"alpha": "a", "beta": "b"}.get(st.session_state["text"], "own")
    st.session_state["preset"] = shown
    inputs.selectbox("preset", ["a", "b", "own"], key="preset", on_change=loaded)
    inputs.text_input("text", key="text")
    inputs.button("read", key="read_it", on_click=read)


def _reported(test: AppTest) -> Any:
    """Return what the browser reports of the inputs as now drawn."""
    return test._tree.get_widget_states()


def _run_late(test: AppTest, reported: Any, **values: str) -> None:
    """Run with what a browser reports that has not seen the last runs.

    Args:
        test: The page.
        reported: What it saw.
        values: What was typed since, by label.
    """
    for widget in reported.widgets:
        for label, value in values.items():
            if f"-{label}~" in widget.id:
                widget.string_value = value
    test._run(reported)
    assert not test.exception


def test_a_late_report_does_not_choose_the_preset_before() -> None:
    test = AppTest.from_function(_linked).run()
    late = _reported(test)
    _run_late(test, late, text="gamma")
    assert test.selectbox(key="preset").value == "own"
    # The browser does not know yet that the script chose another: nothing is loaded again.
    _run_late(test, late)
    assert (test.text_input(key="text").value, test.session_state["text"]) == ("gamma", "gamma")
    assert "loads" not in test.session_state


def test_a_late_report_does_not_undo_a_preset() -> None:
    test = AppTest.from_function(_linked).run()
    late = _reported(test)
    _run_late(test, late, preset="b")
    assert test.text_input(key="text").value == "beta"
    _run_late(test, late)
    assert (test.text_input(key="text").value, test.selectbox(key="preset").value) == ("beta", "b")
    assert test.session_state["loads"] == 1


def _listed() -> None:
    import streamlit as st

    from tileviz.ui import inputs

    def chosen() -> None:
        st.session_state["calls"] = [*st.session_state.get("calls", []), st.session_state["at"]]

    inputs.sync()
    word = st.session_state.setdefault("word", "old")
    inputs.selectbox(
        "at", range(3), key="at", format_func=lambda at: f"{word} {at}", on_change=chosen
    )
    inputs.segmented_control("row", range(2), key="row", format_func=lambda at: f"{word} {at}")


def test_words_of_other_choices_choose_nothing() -> None:
    test = AppTest.from_function(_listed).run()
    test.selectbox(key="at").set_value(1)
    test.button_group(key="row").set_value(1)
    test.run()
    late = _reported(test)
    test.session_state["word"] = "new"
    test.run()
    _run_late(test, late)
    assert (test.selectbox(key="at").value, test.session_state["at"]) == (1, 1)
    assert (test.button_group(key="row").value, test.session_state["row"]) == (1, 1)
    assert test.session_state["calls"] == [1]


def test_a_chosen_input_stays_the_widget_it_is() -> None:
    test = AppTest.from_function(_linked).run()
    before = test.selectbox(key="preset").proto.id
    test.selectbox(key="preset").set_value("b").run()
    assert test.selectbox(key="preset").proto.id == before
    test.text_input(key="text").set_value("other").run()
    assert test.selectbox(key="preset").proto.id != before


def test_a_button_reads_what_was_typed_right_before_it() -> None:
    test = AppTest.from_function(_linked).run()
    test.text_input(key="text").set_value("typed")
    test.button(key="read_it").click()
    test.run()
    assert test.session_state["read"] == "typed"


def _form() -> None:
    import streamlit as st

    from tileviz.ui import inputs

    def saved() -> None:
        st.session_state["saved"] = (st.session_state["name"], st.session_state["run"])

    inputs.sync()
    with st.form("form"):
        inputs.text_input("name", key="name", value="before", in_form=True)
        inputs.toggle("run", key="run", in_form=True)
        inputs.submit_button("Save", on_click=saved)


def test_a_form_hands_over_what_it_holds_once_it_is_sent() -> None:
    test = AppTest.from_function(_form).run()
    test.text_input(key="name").set_value("after")
    test.toggle(key="run").set_value(True)
    test.button[0].click().run()
    assert not test.exception
    assert test.session_state["saved"] == ("after", True)
    assert test.text_input(key="name").value == "after"
