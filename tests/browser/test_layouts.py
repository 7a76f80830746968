"""The Layouts page in a browser: links, edits, faults, keys, hover, download, both themes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from browser_reading import each_preset, expect_query, field_of, verdict_of
from playwright.sync_api import Locator, Page, expect

from tileviz.studies.registry import make_design, preset

OpenPage = Callable[..., Page]
Picture = Callable[[Page, str], Path | None]
Settled = Callable[[Page], None]
PADDED = "/Layouts?v=1&layout=S[(4,32):(33,1)]"


def _no_text_is_cut(page: Page) -> None:
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth - main.clientWidth") == 0
    parts = page.locator(".tv-title, .tv-verdict, .tv-panel, .tv-legend, .tv-table")
    wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert parts.evaluate_all(wide) == 0


@pytest.mark.parametrize(
    ("theme", "size", "shown"),
    [
        ("light", "1280", {"layout-swizzled-128": 2, "layout-tile": 4}),
        ("dark", "1440", {"layout-fragment": 2, "layout-slice": 4}),
    ],
)
def test_presets_are_drawn_whole_in_both_themes(
    open_page: OpenPage, picture: Picture, theme: str, size: str, shown: dict[str, int]
) -> None:
    every = [found for name in shown if (found := preset(name)) is not None]
    assert len(every) == len(shown)
    for page, found in each_preset(open_page, every, theme, size):
        expect(verdict_of(page)).to_be_visible()
        expect(page.locator(".tv-input-error")).to_have_count(0)
        expect(page.get_by_test_id("stPlotlyChart")).to_have_count(shown[found.name])
        _no_text_is_cut(page)
        picture(page, f"layouts_{found.name}_{theme}")


def test_an_edit_a_fault_and_a_reload(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(PADDED)
    expect(verdict_of(page)).to_contain_text("Addresses 0 to 130, 3 of them idle.")
    field = field_of(page, "Layout")
    field.fill("S[(4, 8):(4, 1)]")
    field.press("Enter")
    expect(verdict_of(page)).to_contain_text("(0, 4) and (1, 0) share the address 4")
    settled(page)
    expect_query(page, layout="S[(4,8):(4,1)]")
    picture(page, "layouts_collision_light")
    field.fill("S[(4, 8):(4, 1]")
    field.press("Enter")
    box = page.locator(".tv-input-error")
    expect(box).to_contain_text('Layout: expected ")" before "]".')
    expect(box.locator(".tv-caret")).to_have_text(re.compile(r"^ {14}\^$"))
    expect(verdict_of(page)).to_contain_text("(0, 4) and (1, 0) share the address 4")
    expect(page.get_by_test_id("stPlotlyChart")).to_have_count(2)
    settled(page)
    page.reload()
    settled(page)
    expect(field).to_have_value("S[(4, 8):(4, 1)]")


def test_a_bad_link_is_reported_and_the_rest_is_used(open_page: OpenPage, picture: Picture) -> None:
    hostile = quote("<img src=x onerror=alert(1)>")
    page = open_page(f"{PADDED}&dtype=float99&colour={hostile}&region=4", theme="dark")
    box = page.locator(".tv-input-error")
    expect(box).to_contain_text("dtype: unknown dtype")
    expect(box).to_contain_text("<img src=x onerror=alert(1)>")
    expect(box).to_contain_text("Region: begin:end per dimension is expected")
    expect(verdict_of(page)).to_contain_text("3 of them idle")
    assert page.locator("img[src=x]").count() == 0
    picture(page, "layouts_bad_link_dark")


def test_keyboard_pointer_screen_reader_and_download(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(PADDED)
    charts = page.get_by_test_id("stPlotlyChart")
    for chart in charts.all():
        box = chart.bounding_box()
        assert box is not None and box["y"] + box["height"] <= 800  # Both in the first fold.
    expect(charts.nth(0)).to_have_attribute("aria-label", re.compile("Logical picture: 4 rows"))
    expect(charts.nth(1)).to_have_attribute("aria-label", re.compile("Physical picture: 5 rows"))

    _point(page, charts.nth(0), row=1, column=5, rows=4)
    hover = page.locator(".hoverlayer .hovertext")
    expect(hover).to_contain_text(re.compile(r"\(1, 5\).*address 38 · byte 152.*bank 6"))
    _point(page, charts.nth(1), row=1, column=0, rows=5)
    expect(hover).to_contain_text(re.compile(r"idle.*address 32.*bank 0"))

    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
        page.get_by_role("button", name="Design, JSON").click()
    document = json.loads(Path(waiting.value.path()).read_text(encoding="utf-8"))
    assert make_design(document) == make_design({"study": "layout", "layout": "S[(4,32):(33,1)]"})

    page.keyboard.press("Escape")
    field_of(page, "dtype").focus()
    page.keyboard.press("Tab")
    assert "Explain a number" in page.evaluate("document.activeElement.innerText")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Banks"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".tv-legend")).to_contain_text("Logical row, mod 8")
    settled(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.type") == "checkbox"
    page.keyboard.press("Space")
    expect(page.locator(".tv-legend i").first).to_have_css("background-color", "rgb(244, 244, 244)")
    settled(page)
    picture(page, "layouts_print")


def _point(page: Page, chart: Locator, *, row: int, column: int, rows: int) -> None:
    box = chart.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    x = box["x"] + box["width"] * (column + 0.5) / 32
    page.mouse.move(x, box["y"] + box["height"] * (row + 0.5) / rows)
