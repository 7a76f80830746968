"""Runs in a browser: a run made on a page is found, named, downloaded and opened again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from browser_reading import field_of
from playwright.sync_api import Page, expect

OpenPage = Callable[..., Page]
Picture = Callable[[Page, str], Path | None]
Settled = Callable[[Page], None]
LINK = "/Permute_layout?v=1&src=S[(4,32):(32,1)]&dst=S[(4,32):(1,4)]"
NAME = "review <b>one</b>"


def test_a_run_is_found_named_and_opened_again(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(LINK)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("Output correct, 128 of 128 elements.")).to_be_visible()
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page.locator("h1")).to_have_text("Runs")
    rows = page.locator('[class*="st-key-runs_row"]:not([class*="runs_row_head"])')
    rows.first.get_by_role("button").click()
    page.wait_for_url(re.compile(r"/Runs\?run=\d+"))
    expect(page.locator("table.tv-run tbody tr").first).to_contain_text("4 B")
    settled(page)
    field_of(page, "Name").fill(NAME)
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".tv-section h2").first).to_have_text(NAME)  # as text, never as markup
    field_of(page, "Search").fill("review")
    field_of(page, "Search").press("Enter")
    page.wait_for_url(re.compile(r"find=review"))
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text(NAME)
    settled(page)
    with page.expect_download() as started:
        page.get_by_role("button", name="Download all found").click()
    (line,) = Path(started.value.path()).read_text().splitlines()
    kept = json.loads(line)
    assert kept["name"] == NAME and kept["run"]["verified"] is True
    assert _overflow(page) == 0
    picture(page, "runs_light_1280")
    page.get_by_role("link", name="Open in Permute layout").click()
    expect(page.locator("h1")).to_have_text("Permute layout")
    page.wait_for_url(re.compile(r"/Permute_layout\?.*src="))
    expect(field_of(page, "Destination layout")).to_have_value("S[(4, 32):(1, 4)]")


def test_a_link_opens_cold_in_the_dark(open_page: OpenPage, picture: Picture) -> None:
    page = open_page("/Runs?outcome=wrong&study=<i>", theme="dark", size="1440")
    expect(page.get_by_role("alert")).to_contain_text("Study: must be one of permute")
    assert page.locator(".stMainBlockContainer i").count() == 0
    page = open_page("/Runs", theme="dark", size="1440")
    assert _overflow(page) == 0
    picture(page, "runs_dark_1440")


def _overflow(page: Page) -> int:
    return int(
        page.evaluate(
            "() => { const main = document.querySelector('[data-testid=stMain]');"
            " return main.scrollWidth - main.clientWidth; }"
        )
    )
