"""Late addresses, the browser's history, and scripts that are ended half-way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest
from page_reading import page_address, page_words, put_address
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.testing.v1 import AppTest

from tileviz.export.links import to_query
from tileviz.studies.registry import presets
from tileviz.ui import address, agreement, controls
from tileviz.ui.permute.form import PermuteForm
from tileviz.ui.permute.state import RULES
from tileviz.ui.state import Kept
from tileviz.ui.state import PageState as AnyState

Opened = Callable[..., AppTest]
KERNEL = next(one.design for one in presets() if one.name == "kernel-vector-add")
FIRST = {"v": "1", "src": "S[(8,16):(16,1)]", "dst": "S[(8,16):(1,8)]"}
EDITED = {**FIRST, "dst": "S[(8,16):(16,1)]"}


def test_streamlit_says_whether_the_history_led_here() -> None:
    assert "is_history_navigation" in {field.name for field in fields(ScriptRunContext)}


# -- a script that ends at any access to its session ----------------------------------------------


class Ended(BaseException):
    """What Streamlit raises in a script whose browser asks for the next run."""


class Session(dict[str, Any]):
    """A session state that ends the script at its n-th access, as Streamlit's may at each."""

    left: int | None = None

    def tick(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Ended

    def __getitem__(self, key: str) -> Any:
        self.tick()
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self.tick()
        super().__setitem__(key, value)

    def __contains__(self, key: object) -> bool:
        self.tick()
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.tick()
        return super().get(key, default)


class Address:
    """The address bar of the browser, and what the script is told of it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.told: dict[str, str] = {}
        self.written: dict[str, str] = {}

    def to_dict(self) -> dict[str, str]:
        return dict(self.told)

    def from_dict(self, query: Mapping[str, str]) -> None:
        self.session.tick()
        self.written = self.told = dict(query)


class Browser:
    """One session of the permute page, without Streamlit."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.session = Session()
        self.bar = Address(self.session)
        fake = SimpleNamespace(session_state=self.session, query_params=self.bar)
        for module in (address, agreement, controls):
            monkeypatch.setattr(module, "st", fake)
        self.history = False
        monkeypatch.setattr(address, "_by_history", lambda: self.history)
        names = tuple(field.name for field in fields(PermuteForm))
        made: Any = controls.Controls("permute", RULES, PermuteForm, names)
        self.editors = SimpleNamespace(
            fill=made.fill, collect=made.collect, design_row=lambda: None
        )

    def type(self, field: str, text: str) -> None:
        """Put a text into a field: with every run from now on it is in the session."""
        dict.__setitem__(self.session, f"permute.{field}", text)

    def run(
        self, query: Mapping[str, str], *, history: bool = False, ends_after: int | None = None
    ) -> Kept | None:
        """Run the script; None where it was ended.

        Args:
            query: What the browser reports as its address.
            history: Whether Back or Forward led to it.
            ends_after: The access to the session at which it ends.
        """
        self.bar.told, self.history, self.session.left = dict(query), history, ends_after
        try:
            address.visit("Permute layout")
            state: Kept = agreement.settle(RULES, self.editors, "permute")
        except Ended:
            return None
        finally:
            self.session.left = None
        return state


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    made = Browser(monkeypatch)
    state = made.run(FIRST)
    assert isinstance(state, AnyState) and made.bar.written == {}
    yield made


def _accesses(browser: Browser, run: Callable[[int], Kept | None]) -> Iterator[int]:
    """Yield every access at which a run can end; the last run ends by itself."""
    for number in range(500):
        kept, bar = dict(browser.session), browser.bar.written
        if run(number) is not None:
            return
        yield number
        browser.session.clear()
        browser.session.update(kept)
        browser.bar.written = bar
    pytest.fail("the script never comes to its end")


def test_an_edit_survives_a_run_that_ends_anywhere(browser: Browser) -> None:
    browser.type("dst", EDITED["dst"])
    ends = 0
    for _ in _accesses(browser, lambda number: browser.run(FIRST, ends_after=number)):
        # The browser has not taken up the new address: a button comes with the old one.
        state = browser.run(FIRST)
        assert isinstance(state, AnyState)
        assert RULES.address(state) == EDITED and browser.bar.written == EDITED
        assert browser.session["permute.dst"] == EDITED["dst"]
        # And once more, nothing typed or pressed, as when a view is switched.
        assert browser.run(FIRST) == state
        ends += 1
    assert ends > 20


def test_the_way_back_survives_a_run_that_ends_once_it_is_noted(browser: Browser) -> None:
    browser.type("dst", EDITED["dst"])
    browser.run(FIRST)
    ends = 0

    def back(number: int) -> Kept | None:
        # The first two accesses note the visit.
        return browser.run(FIRST, history=True, ends_after=number + 2)

    for _ in _accesses(browser, back):
        state = browser.run(FIRST)
        assert isinstance(state, AnyState)
        assert RULES.address(state) == FIRST
        assert browser.session["permute.dst"].replace(" ", "") == FIRST["dst"]
        ends += 1
    assert ends > 20


def test_an_edit_while_going_back_counts(browser: Browser) -> None:
    browser.type("dst", EDITED["dst"])
    browser.run(FIRST)
    browser.run(FIRST, history=True)
    browser.type("stages", "2")
    state = browser.run(FIRST)
    assert state is not None and state.form.dst.replace(" ", "") == FIRST["dst"]
    assert browser.bar.written == {**FIRST, "stages": "2"}


# -- the pages themselves --------------------------------------------------------------------------


def _edited(open_page: Opened) -> AppTest:
    test = open_page("pages/1_Permute_layout.py", FIRST)
    test.text_input(key="permute.dst").set_value(EDITED["dst"]).run()
    assert page_address(test) == EDITED
    return test


def test_a_view_switched_right_after_an_edit_keeps_it(open_page: Opened) -> None:
    test = _edited(open_page)
    put_address(test, FIRST)
    test.toggle[-1].set_value(True).run()
    assert not test.exception
    assert page_address(test) == EDITED
    assert test.text_input(key="permute.dst").value == EDITED["dst"]


def test_run_pressed_before_the_page_was_drawn_again_keeps_the_edit(open_page: Opened) -> None:
    test = open_page("pages/6_Kernel_lab.py", to_query(KERNEL))
    late = test._tree.get_widget_states()
    text = KERNEL.source.replace("float* ", "const float* ")
    (area,) = [widget for widget in late.widgets if "-lab.source~" in widget.id]
    area.string_value = text
    test._run(late)
    run = next(button for button in test.button if button.label == "Run")
    # The browser still shows the preset's name, and the address, from before the edit.
    put_address(test, to_query(KERNEL))
    late.widgets.add(id=run.proto.id, trigger_value=True)
    test._run(late)
    assert not test.exception
    assert test.session_state["lab.source"] == text
    assert test.session_state["lab.preset"] == "custom"


def test_back_opens_the_design_before(open_page: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    test = _edited(open_page)
    monkeypatch.setattr(address, "_by_history", lambda: True)
    put_address(test, FIRST)
    test.run()
    assert "The reference declines" in page_words(test)
    assert test.text_input(key="permute.dst").value == "S[(8, 16):(1, 8)]"


def test_a_link_from_another_page_is_opened(open_page: Opened) -> None:
    test = _edited(open_page)
    test.switch_page("app.py").run()
    put_address(test, FIRST)
    test.switch_page("pages/1_Permute_layout.py").run()
    assert not test.exception
    assert test.text_input(key="permute.dst").value == "S[(8, 16):(1, 8)]"
    # From the list of pages there is none: the design is still there.
    test.switch_page("app.py").run()
    put_address(test, {})
    test.switch_page("pages/1_Permute_layout.py").run()
    assert page_address(test) == FIRST


def test_a_lesson_turned_right_after_another_stays(open_page: Opened) -> None:
    test = open_page("pages/9_Lessons.py", {"lesson": "xor-swizzle"})
    _press(test, "Next")
    before = page_address(test)
    _press(test, "Next")
    after = page_address(test)
    assert before != after
    put_address(test, before)
    test.run()
    assert page_address(test) == after


def test_a_search_right_after_another_stays(open_page: Opened) -> None:
    test = open_page("pages/8_Runs.py", {"find": "first"})
    test.text_input(key="runs.find").set_value("second").run()
    assert page_address(test) == {"find": "second"}
    put_address(test, {"find": "first"})
    test.run()
    assert page_address(test) == {"find": "second"}


def _press(test: AppTest, name: str) -> None:
    next(button for button in test.button if button.label.startswith(name)).click().run()
    assert not test.exception
