"""Explain a number, in a browser: by keys alone, in both themes, bits and rule readable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

OpenPage = Callable[..., Page]
Picture = Callable[[Page, str], Path | None]
Settled = Callable[[Page], None]
DECLINED = "/Permute_layout?v=1&src=S[(8,16):(16,1)]&dst=S[(8,16):(1,8)]"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_number_is_found_and_unfolded_by_keys_alone(
    open_page: OpenPage, picture: Picture, settled: Settled, theme: str
) -> None:
    page = open_page(DECLINED, theme=theme)
    button = page.get_by_role("button", name="Explain a number")
    button.focus()
    page.keyboard.press("Enter")
    steps = page.get_by_role("list", name="The way to")
    expect(steps).to_be_visible()
    page.get_by_role("combobox", name="Number, type to search").focus()
    page.keyboard.type("k = 0, write = 16")
    expect(
        page.get_by_role("option", name="Every k · k = 0, write = 16 wavefronts")
    ).to_be_visible()
    page.keyboard.press("Enter")
    expect(steps).to_contain_text("4 + 4 + 4 + 4 = 16")
    settled(page)
    # The verdict keeps its row, and nothing is cut.
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth - main.clientWidth") == 0
    expect(page.locator(".tv-rule")).to_contain_text("A bank delivers one 4-byte word a pass")
    ground = page.locator(".tv-steps td.changed").first
    shades = ground.evaluate("one => [getComputedStyle(one).color, getComputedStyle(one)"
                             ".backgroundColor]")  # fmt: skip
    assert shades[0] != shades[1]
    picture(page, f"explain-{theme}")
    page.get_by_role("button", name="Close", exact=True).focus()
    page.keyboard.press("Enter")
    expect(steps).to_have_count(0)
    expect(page.get_by_role("button", name="Explain a number")).to_be_visible()
