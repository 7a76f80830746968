"""The Block schedule page in a browser: links, edits, scrubber, strip, keys, a run, its looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

import pytest
from browser_reading import each_preset, expect_query, field_of, verdict_of
from playwright.sync_api import FloatRect, Locator, Page, expect

from tileviz.export.links import page_url
from tileviz.studies.registry import preset
from tileviz.studies.schedule.plan import plan
from tileviz.ui.schedule.cuda import kernel_of

OpenPage = Callable[..., Page]
Picture = Callable[[Page, str], Path | None]
Settled = Callable[[Page], None]
RAGGED = preset("schedule-ragged").design
SMALL = "/Block_schedule?v=1&problem=96,160,64&tile=32,32,16&policy=catlass&offset=2&workers=4"
MAP = ".st-key-schedule-map"


def _settle(page: Page) -> None:
    """Wait until the script has run and every chart is painted, those without cells too."""
    page.locator(".tv-title").first.wait_for()
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.wait_for_function(
        "() => [...document.querySelectorAll('[data-testid=stPlotlyChart]')]"
        ".every(chart => chart.querySelector('.cartesianlayer .subplot'))"
    )
    page.wait_for_function("() => !document.querySelector('[data-stale=true]')")


@pytest.fixture(autouse=True)
def settled(settled: Settled, monkeypatch: pytest.MonkeyPatch) -> Settled:
    """Let every fixture of this folder wait for curves and bars, which have no cells."""
    monkeypatch.setitem(settled.__globals__, "settle", _settle)
    return _settle


def _box(part: Locator) -> FloatRect:
    box = part.bounding_box()
    assert box is not None
    return box


def _no_text_is_cut(page: Page) -> None:
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth - main.clientWidth") == 0
    cut = page.locator(".tv-title, .tv-verdict, .tv-model, .tv-legend, .tv-small-title")
    wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert cut.evaluate_all(wide) == 0


def _shown_wave(page: Page) -> Locator:
    return page.locator(f"{MAP} .slider-label").first


# Every picture is for people to look at, beside the design's.
LOOKS = [
    ("light", "1440", ("schedule-ragged", "schedule-unbalanced")),
    ("dark", "1280", ("schedule-ragged", "schedule-zn-3")),
]


@pytest.mark.parametrize(("theme", "size", "names"), LOOKS)
def test_presets_are_drawn_whole(
    open_page: OpenPage, picture: Picture, theme: str, size: str, names: Sequence[str]
) -> None:
    for page, found in each_preset(open_page, map(preset, names), theme, size):
        expect(verdict_of(page)).to_be_visible()
        expect(page.locator(".tv-input-error")).to_have_count(0)
        _no_text_is_cut(page)
        picture(page, f"schedule_{found.name}_{theme}_{size}")


def test_the_map_is_square_in_the_first_fold_and_says_what_it_shows(open_page: OpenPage) -> None:
    page = open_page(page_url(RAGGED))
    area = _box(page.locator(f"{MAP} .nsewdrag").nth(1))
    # Inside the axes 18 + 4 pixels are for marks and thick lines.
    assert abs((area["width"] - 22) / 24 - (area["height"] - 22) / 19) < 0.1
    assert area["y"] < 420
    chart = page.locator(f"{MAP} [role=figure]").or_(page.locator(f"{MAP}[role=figure]")).first
    said = "456 tasks.\nShown: wave 8 of 19, tasks 168–191, reads 76.0 MiB."
    expect(chart).to_have_attribute("aria-label", f"Order map, CATLASS: 19 by 24 tiles, {said}")
    page.mouse.move(area["x"] + 18 + 22 * 5.5, area["y"] + 18 + 22 * 3.5)
    hover = page.locator(".hoverlayer .hovertext").first
    m, n = 3, 5
    task = plan(RAGGED).order().index([m, n])
    expect(hover).to_contain_text(f"task {task} · wave {task // 24 + 1} · worker {task % 24}")
    expect(hover).to_contain_text(f"tile ({m}, {n}) · 128 × 256 elements, K 16384")


def test_the_scrubber_moves_the_wave_without_the_server(open_page: OpenPage) -> None:
    page = open_page(page_url(RAGGED))
    expect(_shown_wave(page)).to_have_text("wave 8 of 19, tasks 168–191, reads 76.0 MiB")
    rail = _box(page.locator(f"{MAP} .slider-rail-touch-rect"))
    page.mouse.click(rail["x"] + rail["width"] * 0.995, rail["y"] + rail["height"] / 2)
    expect(_shown_wave(page)).to_contain_text("wave 19 of 19, tasks 432–455")
    # The map and its numbers are still there.
    assert page.locator(f"{MAP} .heatmaplayer text").count() >= 456


def test_wave_and_task_are_reached_by_key(open_page: OpenPage, settled: Settled) -> None:
    page = open_page(page_url(RAGGED), theme="dark")
    wave = page.get_by_role("spinbutton", name="Wave")
    wave.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(_shown_wave(page)).to_contain_text("wave 9 of 19")
    for _ in range(6):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('aria-label')") == "Task":
            break
    page.keyboard.type("400")
    page.keyboard.press("Enter")
    expect(_shown_wave(page)).to_contain_text("wave 17 of 19")
    expect(wave).to_have_value("17")
    settled(page)


def test_an_edit_is_drawn_and_a_reload_finds_it(open_page: OpenPage, settled: Settled) -> None:
    page = open_page(SMALL)
    expect(verdict_of(page)).to_contain_text("Every tile once, 15 of 15.")
    offset = field_of(page, "Offset")
    offset.fill("3")
    offset.press("Enter")
    expect(page.locator(".tv-model th").nth(1)).to_have_text("Zn 3")
    settled(page)
    page.get_by_role("radio", name="Nz").click()
    expect(page.locator(".tv-model th").nth(1)).to_have_text("Nz 3")
    settled(page)
    expect_query(page, offset="3", direction="nz")
    page.reload()
    settled(page)
    expect(offset).to_have_value("3")
    expect(page.locator(".tv-model th").nth(1)).to_have_text("Nz 3")


def test_a_click_on_the_strip_opens_the_setting(open_page: OpenPage, settled: Settled) -> None:
    page = open_page(page_url(RAGGED))
    strip = _box(page.locator(".st-key-schedule-strip .nsewdrag").first)
    page.mouse.click(strip["x"] + strip["width"] * 11.5 / 16, strip["y"] + strip["height"] / 4)
    expect(verdict_of(page)).to_contain_text("L2 hit rate 92.1%, as good as any setting tried.")
    expect(field_of(page, "Offset")).to_have_value("12")
    settled(page)
    expect_query(page, offset="12")


def test_bad_values_are_reported_and_the_picture_stays(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    hostile = quote("<img src=x onerror=alert(1)>")
    page = open_page(f"{SMALL}&workers=0&colour={hostile}")
    box = page.locator(".tv-input-error")
    expect(box).to_contain_text("Workers: ")
    expect(box).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("img[src=x]").count() == 0
    problem = field_of(page, "Problem M, N, K")
    problem.fill("96, 160")
    problem.press("Enter")
    expect(box).to_contain_text("Problem: ")
    expect(box).to_contain_text("The last valid design stays below.")
    expect(verdict_of(page)).to_contain_text("Every tile once, 15 of 15.")
    expect(problem).to_have_value("96, 160")
    settled(page)
    picture(page, "schedule_error_light")


def test_the_product_runs_and_the_download_holds_its_text(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(page_url(RAGGED), theme="dark", size="1440")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download .cu").click()
    assert waiting.value.suggested_filename == "schedule.cu"
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert kernel_of(RAGGED, "cut", False).source in text
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".tv-verdict").last).to_contain_text(
        "Output correct, 28,200 of 28,200 elements.", timeout=60_000
    )
    settled(page)
    picture(page, "schedule_run_dark")
