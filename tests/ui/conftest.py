"""The app without a browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from page_reading import put_address
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]
Opened = Callable[..., AppTest]


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
