"""What the tests of several pages read from a browser."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


def verdict_of(page: Page) -> Locator:
    """Return the page's own verdict, not what is wrong with its input."""
    return page.locator(".tv-verdict:not(.tv-input-error)").first


def field_of(page: Page, label: str) -> Locator:
    """Return the field with a label: the newest, where one is about to be removed behind it."""
    return page.get_by_label(label, exact=True).filter(visible=True).first


def expect_query(page: Page, **wanted: str) -> None:
    """Wait until the address bar has these keys with these values; others do not matter."""
    page.wait_for_function(
        """wanted => {
            const query = new URLSearchParams(location.search);
            return Object.entries(wanted).every(([key, value]) => query.get(key) === value);
        }""",
        arg=wanted,
    )
