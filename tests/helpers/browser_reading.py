"""What the tests of several pages read from a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from playwright.sync_api import Locator, Page, expect

from tileviz.export.links import page_url
from tileviz.studies.registry import Preset


def verdict_of(page: Page) -> Locator:
    """Return the page's own verdict, not what is wrong with its input."""
    return page.locator(".tv-verdict:not(.tv-input-error)").first


def field_of(page: Page, label: str) -> Locator:
    """Return the field with a label: the newest, where one is about to be removed behind it."""
    return page.get_by_label(label, exact=True).filter(visible=True).first


def settle(page: Page) -> None:
    """Wait until the script has run and every chart is painted."""
    page.locator(".tv-title").first.wait_for()
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.wait_for_function(
        "() => [...document.querySelectorAll('[data-testid=stPlotlyChart]')]"
        ".every(chart => chart.querySelector("
        "'.main-svg :is(.heatmaplayer, .barlayer, .scatterlayer)'))"
    )
    page.wait_for_function("() => !document.querySelector('[data-stale=true]')")


def choose_preset(page: Page, title: str) -> None:
    """Choose a preset of the page's list, and wait until it is drawn."""
    page.get_by_role("combobox", name="Preset").click()
    page.get_by_role("option", name=title, exact=True).click()
    expect(page.get_by_role("combobox", name="Preset")).to_have_value(title)
    settle(page)


def each_preset(
    open_page: Callable[..., Page], found: Iterable[Preset], theme: str, size: str
) -> Iterator[tuple[Page, Preset]]:
    """Yield presets as drawn: the first is opened cold by its link, the others are chosen."""
    page = None
    for one in found:
        if page is None:
            page = open_page(page_url(one.design), theme=theme, size=size)
        else:
            choose_preset(page, one.title)
        yield page, one


def expect_query(page: Page, **wanted: str) -> None:
    """Wait until the address bar has these keys with these values; others do not matter."""
    page.wait_for_function(
        """wanted => {
            const query = new URLSearchParams(location.search);
            return Object.entries(wanted).every(([key, value]) => query.get(key) === value);
        }""",
        arg=wanted,
    )
