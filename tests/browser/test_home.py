"""Home in a browser: presets open their page with a complete link, both themes hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tileviz.export.links import to_query
from tileviz.studies.registry import presets
from tileviz.ui.frame import page_of

OpenPage = Callable[..., Page]
Picture = Callable[[Page, str], Path | None]
Settled = Callable[[Page], None]
GALLERY = [preset for preset in presets() if page_of(preset.study)]
PRESETS = [preset for preset in GALLERY if preset.study == "permute"]


@pytest.mark.parametrize(("theme", "size"), [("light", "1280"), ("dark", "1440")])
def test_home_in_both_themes(open_page: OpenPage, picture: Picture, theme: str, size: str) -> None:
    page = open_page("/", theme=theme, size=size)
    expect(page.locator("h1")).to_have_text("tileviz")
    expect(page.locator(".tv-cards > div")).to_have_count(3)
    expect(page.locator(".thumb, .tv-thumb-empty")).to_have_count(len(GALLERY))
    for picture_of in page.locator(".thumb").all():
        expect(picture_of).to_have_attribute("aria-label", re.compile(r"\w+ \w+"))
    assert _overflow(page) == 0
    picture(page, f"home_{theme}_{size}")


def test_a_preset_opens_its_page_with_a_complete_link(
    open_page: OpenPage, settled: Settled
) -> None:
    preset = PRESETS[3]
    page = open_page("/")
    page.get_by_role("link", name=preset.title).click()
    expect(page.locator("h1")).to_have_text("Permute layout")
    settled(page)
    page.wait_for_url(re.compile(r"/Permute_layout\?.*src="))
    query = {key: value[0] for key, value in parse_qs(urlsplit(page.url).query).items()}
    wanted = {key: value.replace(" ", "") for key, value in to_query(preset.design).items()}
    assert {key: value.replace(" ", "") for key, value in query.items()} == wanted


def _overflow(page: Page) -> int:
    return int(
        page.evaluate(
            "() => { const main = document.querySelector('[data-testid=stMain]');"
            " return main.scrollWidth - main.clientWidth; }"
        )
    )
