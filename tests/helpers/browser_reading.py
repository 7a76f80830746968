"""What the tests of several pages read from a browser."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Locator, Page


def verdict_of(page: Page) -> Locator:
    """Return the page's own verdict, not what is wrong with its input."""
    return page.locator(".tv-verdict:not(.tv-input-error)").first


def query_of(page: Page) -> dict[str, str]:
    """Return the keys of the address bar."""
    return {key: value[0] for key, value in parse_qs(urlsplit(page.url).query).items()}
