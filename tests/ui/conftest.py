"""The app without a browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from page_reading import put_address
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ElementList

ROOT = Path(__file__).resolve().parents[2]
Opened = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def _inputs_by_their_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find an input by the key of its value: its widget's own key counts the widgets."""
    plain = ElementList.__call__

    def found(self: Any, key: str) -> Any:
        try:
            return plain(self, key)
        except KeyError:
            named = [one for one in self if (one.key or "").rpartition("~")[0] == key]
            if not named:
                raise
            return named[0]

    monkeypatch.setattr(ElementList, "__call__", found)


@pytest.fixture
def open_page() -> Opened:
    """Return a function that opens a page, by its script, with a link's query."""

    def opened(script: str, query: Mapping[str, str] | None = None) -> AppTest:
        test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        if script != "app.py":
            test.switch_page(script)
        put_address(test, query or {})
        test.run()
        assert not test.exception
        return test

    return opened
