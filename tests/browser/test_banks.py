"""The Banks page in a browser: links, edits, the fix, faults, a click, a run, both themes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from browser_reading import choose_preset, expect_query, field_of, verdict_of
from playwright.sync_api import Browser, Page, expect

from tileviz.export.links import page_url
from tileviz.studies.registry import preset

OpenPage = Callable[..., Page]
Picture = Callable[[Page, str], Path | None]
Settled = Callable[[Page], None]
COLUMN = "/Banks_and_swizzles?v=1&layout=S[(32,32):(32,1)]&pattern=column&also=st//row"


def _no_text_is_cut(page: Page) -> None:
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth - main.clientWidth") == 0
    parts = page.locator(".tv-title, .tv-verdict, .tv-panel, .tv-legend, .tv-table")
    wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert parts.evaluate_all(wide) == 0


def test_no_choice_of_the_design_row_is_cut(open_page: OpenPage) -> None:
    page = open_page("/Banks_and_swizzles")
    for name in ("banks-ldmatrix-64x64", "banks-mixed-widths", "banks-cp-async"):
        found = preset(name)
        assert found is not None
        choose_preset(page, found.title)
        chosen = page.locator(".st-key-design_row").get_by_test_id("stSelectbox").locator("input")
        cut = "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.value)"
        assert chosen.evaluate_all(cut) == []


def test_where_nothing_hovers_the_camera_covers_no_label(
    server: str, browser: Browser, settled: Settled
) -> None:
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(f"{server}{COLUMN}")
    settled(page)
    camera = page.locator(".stMain .modebar-btn").first
    expect(camera).to_be_visible()
    box, top = camera.bounding_box(), page.locator(".stMain .main-svg").first.bounding_box()
    assert box is not None and top is not None
    # Above the picture and inside the page: neither over a label nor cut away.
    assert box["y"] + box["height"] <= top["y"] + 1
    over = "one => document.elementFromPoint(...(r => [r.x + r.width / 2, r.y + r.height / 2])"
    over += "(one.getBoundingClientRect())).closest('.modebar-btn') === one"
    assert camera.evaluate(over)
    context.close()


@pytest.mark.parametrize(
    ("name", "theme", "size"),
    [
        ("banks-transpose-32x32", "light", "1280"),
        ("banks-lds128-column", "dark", "1440"),
    ],
)
def test_presets_open_cold_in_both_themes(
    open_page: OpenPage, picture: Picture, name: str, theme: str, size: str
) -> None:
    found = preset(name)
    assert found is not None
    page = open_page(page_url(found.design), theme=theme, size=size)
    expect(verdict_of(page)).to_be_visible()
    expect(page.locator(".tv-input-error")).to_have_count(0)
    expect(page.get_by_test_id("stPlotlyChart")).to_have_count(3)
    expect(page.get_by_text("Ideal:")).to_be_visible()
    _no_text_is_cut(page)
    picture(page, f"{name.replace('-', '_')}_{theme}")


def test_the_fix_an_edit_a_fault_and_a_reload(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(COLUMN)
    expect(verdict_of(page)).to_contain_text("32 wavefronts, ideal 1, 32-way bank conflict.")
    page.get_by_role("button", name="Use this layout").click()
    expect(verdict_of(page)).to_contain_text("1 wavefront, ideal 1, conflict-free.")
    settled(page)
    expect_query(page, layout="Swizzle(0,5,5) o S[(32,32):(32,1)]")
    field = field_of(page, "Layout")
    expect(field).to_have_value("S[(32, 32):(32, 1)]")
    picture(page, "banks_fixed_light")
    field.fill("S[(32, 32):(32, 1]")
    field.press("Enter")
    box = page.locator(".tv-input-error")
    expect(box).to_contain_text('Layout: expected ")" before "]".')
    expect(verdict_of(page)).to_contain_text("1 wavefront, ideal 1, conflict-free.")
    expect(page.get_by_test_id("stPlotlyChart")).to_have_count(3)
    settled(page)
    page.reload()
    settled(page)
    expect(verdict_of(page)).to_contain_text("1 wavefront, ideal 1, conflict-free.")


def test_a_bad_link_is_reported_and_the_rest_is_used(open_page: OpenPage, picture: Picture) -> None:
    hostile = quote("<img src=x onerror=alert(1)>")
    page = open_page(f"{COLUMN}&dtype=float99&colour={hostile}&bytes=3", theme="dark")
    box = page.locator(".tv-input-error")
    expect(box).to_contain_text("dtype: unknown dtype")
    expect(box).to_contain_text("<img src=x onerror=alert(1)>")
    expect(box).to_contain_text("Bytes: must be 1, 2, 4, 8 or 16.")
    expect(verdict_of(page)).to_contain_text("32 wavefronts")
    assert page.locator("img[src=x]").count() == 0
    picture(page, "banks_bad_link_dark")


def test_a_click_the_pointer_a_download_and_a_run(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    found = preset("banks-tma-128b")
    assert found is not None
    page = open_page(page_url(found.design))
    tile = page.get_by_test_id("stPlotlyChart").first
    expect(tile).to_have_attribute("aria-label", re.compile("Tile: 32 rows by 32 cells"))
    box = tile.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] * 4.5 / 32, box["y"] + box["height"] * 3.5 / 32
    page.mouse.move(x, y)
    expect(page.locator(".hoverlayer .hovertext")).to_contain_text(
        re.compile(r"lane 19.*row 3, column 8.*bank")
    )
    page.mouse.click(x, y)
    expect(page.locator(".tv-panel", has_text="One cell")).to_contain_text("row 3, column 8")
    settled(page)

    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download .cu").click()
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert "ldmatrix" in text and "int main" in text

    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".tv-run")).to_contain_text("ldmatrix", timeout=60_000)
    expect(page.locator(".tv-verdict").last).to_contain_text("Output correct")
    settled(page)
    picture(page, "banks_run_light")


def test_sectors_and_wavefronts_are_drawn(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(
        "/Banks_and_swizzles?layout=S[(32,32):(32,1)]&pattern=column&space=global", theme="dark"
    )
    expect(verdict_of(page)).to_contain_text("32 sectors in 32 lines, ideal 4.")
    picture(page, "banks_global_dark")
    page.goto(page.url.partition("?")[0] + "?addresses=0,128,256,4,-,8&op=st")
    settled(page)
    expect(verdict_of(page)).to_contain_text("3 wavefronts, ideal 1")
    page.get_by_role("radio", name="Wavefronts").click()
    strip = page.get_by_test_id("stPlotlyChart").first
    expect(strip).to_have_attribute("aria-label", re.compile("the lane each bank serves"))
    settled(page)
    picture(page, "banks_addresses_dark")
