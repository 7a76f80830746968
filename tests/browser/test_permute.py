"""The Permute page in a browser: links, edits, faults, clicks, keys, download, run, both themes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

import pytest
from browser_reading import each_preset, expect_query, field_of, verdict_of
from playwright.sync_api import FloatRect, Locator, Page, expect

from tileviz import api
from tileviz.export.links import page_url
from tileviz.studies.registry import Preset, preset, presets

OpenPage = Callable[..., Page]
Picture = Callable[[Page, str], Path | None]
Settled = Callable[[Page], None]
DECLINED = "/Permute_layout?v=1&src=S[(8,16):(16,1)]&dst=S[(8,16):(1,8)]"
PRESETS = [found for found in presets() if found.study == "permute"]


def _no_text_is_cut(page: Page) -> None:
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth - main.clientWidth") == 0
    cut = page.locator(".tv-title, .tv-verdict, .tv-cards > div, .tv-k, .tv-legend, .tv-phase")
    wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert cut.evaluate_all(wide) == 0


# Themes and sizes take turns: further tests open demo and declined case in the other theme.
@pytest.mark.parametrize(
    ("shown", "theme", "size"), [(PRESETS[::2], "light", "1280"), (PRESETS[1::2], "dark", "1440")]
)
def test_every_preset_is_drawn_whole(
    open_page: OpenPage, picture: Picture, shown: Sequence[Preset], theme: str, size: str
) -> None:
    for page, found in each_preset(open_page, shown, theme, size):
        expect(verdict_of(page)).to_be_visible()
        expect(page.locator(".tv-input-error")).to_have_count(0)
        _no_text_is_cut(page)
        picture(page, f"permute_{found.name}_{theme}")


def test_an_edit_is_drawn_and_the_address_follows(open_page: OpenPage, settled: Settled) -> None:
    page = open_page(DECLINED)
    expect(verdict_of(page)).to_contain_text("The reference declines")
    field = field_of(page, "Destination layout")
    field.fill("S[(8, 16):(16, 1)]")
    field.press("Enter")
    expect(verdict_of(page)).to_contain_text("Conflict-free")
    settled(page)
    expect_query(page, dst="S[(8,16):(16,1)]")
    page.reload()
    settled(page)
    expect(verdict_of(page)).to_contain_text("Conflict-free")
    expect(field_of(page, "Destination layout")).to_have_value("S[(8, 16):(16, 1)]")


def test_back_returns_to_the_design_before(open_page: OpenPage, settled: Settled) -> None:
    page = open_page("/")
    page.get_by_role("link", name=preset("permute-declined").title).click()
    expect(verdict_of(page)).to_contain_text("The reference declines")
    settled(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Home").click()
    expect(page.locator("h1")).to_have_text("tileviz")
    settled(page)
    page.go_back()
    expect(page.locator("h1")).to_have_text("Permute layout")
    expect(verdict_of(page)).to_contain_text("The reference declines")
    settled(page)


def test_a_typing_error_has_its_caret_and_nothing_is_lost(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(DECLINED)
    field = field_of(page, "Source layout")
    field.fill("S[(8, 16):(16, 1]")
    field.press("Enter")
    box = page.locator(".tv-input-error")
    expect(box).to_contain_text('Source layout: expected ")" before "]".')
    expect(box).to_contain_text("The last valid design stays below.")
    expect(verdict_of(page)).to_contain_text("The reference declines")
    expect(field).to_have_value("S[(8, 16):(16, 1]")
    settled(page)
    fault, caret = (
        _glyph_centre(page, "pre", 16),
        _glyph_centre(page, ".tv-caret", 16),
    )
    assert abs(fault - caret) < 2
    picture(page, "permute_error_light")


def _glyph_centre(page: Page, selector: str, index: int) -> float:
    """Return the middle of one character, in pixels from the left."""
    return float(
        page.locator(f".tv-input-error {selector}").first.evaluate(
            "(box, index) => { const range = document.createRange();"
            " range.setStart(box.firstChild, index); range.setEnd(box.firstChild, index + 1);"
            " const at = range.getBoundingClientRect(); return (at.left + at.right) / 2; }",
            index,
        )
    )


def test_a_bad_link_is_reported_and_the_rest_is_used(open_page: OpenPage, picture: Picture) -> None:
    hostile = quote("<img src=x onerror=alert(1)>")
    page = open_page(f"{DECLINED}&dtype=float99&colour={hostile}&space=far", theme="dark")
    box = page.locator(".tv-input-error")
    expect(box).to_contain_text("dtype: unknown dtype")
    expect(box).to_contain_text("<img src=x onerror=alert(1)>")
    expect(verdict_of(page)).to_contain_text("The reference declines")
    assert page.locator("img[src=x]").count() == 0
    picture(page, "permute_bad_link_dark")


def test_the_switches_work_from_the_keyboard(open_page: OpenPage, settled: Settled) -> None:
    page = open_page(page_url(preset("permute-demo").design))
    field_of(page, "Stages").focus()
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        role, name = page.evaluate(
            "() => [document.activeElement.getAttribute('role'), document.activeElement.innerText]"
        )
        reached.append(name)
        if role == "radio" and name == "k = 0":
            break
    else:
        pytest.fail(f"the switch is not reached by Tab; passed {reached}")
    page.keyboard.press("Enter")
    expect(page.locator(".tv-phase").nth(1)).to_contain_text("16 wavefronts, ideal 4, excess 12")
    settled(page)


def test_a_layout_can_be_typed_and_entered_without_a_mouse(open_page: OpenPage) -> None:
    page = open_page(DECLINED)
    field_of(page, "Source layout").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("S[(8, 16):(1, 8)] ")
    page.keyboard.press("Tab")
    expect(field_of(page, "Destination layout")).to_have_value("S[(8, 16):(1, 8)] ")
    expect(verdict_of(page)).to_contain_text("The reference declines")


def test_a_run_shows_prediction_beside_the_count(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(DECLINED, theme="dark", size="1440")
    expect(page.locator(".tv-empty")).to_contain_text("Not run yet.")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".tv-verdict").last).to_contain_text(
        "Output correct, 128 of 128 elements.", timeout=60_000
    )
    expect(page.locator(".tv-run .hatched")).to_have_count(1)
    settled(page)
    picture(page, "permute_run_dark")


def test_the_other_view_and_the_greys(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(DECLINED)
    page.get_by_role("radio", name="k = 1").click()
    page.get_by_role("radio", name="Banks → lanes").click()
    expect(page.locator(".tv-phase").first).to_contain_text("columns: banks")
    expect(page.locator(".tv-legend").first).to_contain_text("idle bank")
    settled(page)
    picture(page, "permute_banks_light")
    page.get_by_text("Greys, for print").click()
    expect(page.locator(".tv-map-legend i").nth(1)).to_have_css(
        "background-color", "rgb(244, 244, 244)"
    )
    settled(page)
    picture(page, "permute_print")


def test_the_fields_behind_the_row_edit_the_same_design(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(DECLINED, theme="dark")
    page.get_by_role("button", name="Shape, region and launch").click()
    region = field_of(page, "Source region")
    region.fill("0:8, 0:17")
    region.press("Enter")
    expect(page.locator(".tv-input-error")).to_contain_text("Source region")
    region.fill("0:8, 0:16")
    region.press("Enter")
    expect(page.locator(".tv-input-error")).to_have_count(0)
    settled(page)
    expect_query(page, src_region="0:8,0:16")
    picture(page, "permute_fields_dark")


def test_the_maps_answer_to_eye_pointer_and_screen_reader(
    open_page: OpenPage, settled: Settled
) -> None:
    page = open_page(page_url(preset("permute-demo").design))
    charts = page.get_by_test_id("stPlotlyChart")
    for chart in charts.all():
        assert _box(chart)["y"] + _box(chart)["height"] <= 800  # Both in the first fold.
    expect(charts.nth(0)).to_have_attribute("aria-label", re.compile("Read phase, k = 2"))
    expect(charts.nth(1)).to_have_attribute("aria-label", re.compile("4 wavefronts, ideal 4"))

    _point(page, charts.nth(1), lane=9, register=2)
    hover = page.locator(".hoverlayer .hovertext")
    expect(hover).to_contain_text("lane 9, register 2")
    expect(hover).to_contain_text("bank 7")

    note = page.locator(".tv-panel", has_text="One cell, bit by bit")
    expect(note).to_contain_text("lane 9, register 2, k = 2, write phase")
    _point(page, charts.nth(0), lane=20, register=1)
    page.mouse.down()
    page.mouse.up()
    expect(note).to_contain_text("lane 20, register 1, k = 2, read phase")
    settled(page)


def _box(part: Locator) -> FloatRect:
    box = part.bounding_box()
    assert box is not None
    return box


def _point(page: Page, chart: Locator, *, lane: int, register: int) -> None:
    box = _box(chart.locator(".nsewdrag").first)
    x = box["x"] + box["width"] * (lane + 0.5) / 32
    page.mouse.move(x, box["y"] + box["height"] * (register + 0.5) / 4)


def test_copy_and_download_hold_the_executed_text(open_page: OpenPage) -> None:
    design = preset("permute-demo").design
    source = api.kernel(design).source
    page = open_page(page_url(design))
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download .cu").click()
    assert waiting.value.suggested_filename == "permute.cu"
    assert source in Path(waiting.value.path()).read_text(encoding="utf-8")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_test_id("stCode").hover()
    page.get_by_role("button", name="Copy to clipboard").click()
    assert page.evaluate("navigator.clipboard.readText()") == source.strip("\n")
