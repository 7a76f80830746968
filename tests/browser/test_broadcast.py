"""The Broadcast page in a browser: links, edits, faults, hover, download, both themes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from browser_reading import expect_query, field_of, verdict_of
from playwright.sync_api import Page, expect

from tileviz.export.links import page_url
from tileviz.studies.registry import make_design, preset

OpenPage = Callable[..., Page]
Picture = Callable[[Page, str], Path | None]
Settled = Callable[[Page], None]
RANK_EIGHT = "/Broadcast?v=1&operands=1,8,1,1,1,8,1,1;8,1,1;2,1,1,1,1,1,1,1&out=2,8,8,8,2,8,8,1024"
ODD = "/Broadcast?v=1&operands=1,1,1,255&out=64,32,32,255&expression=batchnorm"


def _no_text_is_cut(page: Page) -> None:
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth - main.clientWidth") == 0
    parts = page.locator(
        ".tv-title, .tv-verdict, .tv-panel, .tv-legend, .tv-table, .tv-axes .axis, .tv-axes .part, "
        ".tv-path li, .tv-finder > div, .tv-scroll"
    )
    wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert parts.evaluate_all(wide) == 0


@pytest.mark.parametrize(
    ("name", "theme", "size", "charts"),
    [
        ("broadcast-192", "dark", "1440", 3),
        ("broadcast-grid-trap", "light", "1280", 2),
    ],
)
def test_presets_open_cold_in_both_themes(
    open_page: OpenPage, picture: Picture, name: str, theme: str, size: str, charts: int
) -> None:
    found = preset(name)
    assert found is not None
    page = open_page(page_url(found.design), theme=theme, size=size)
    expect(verdict_of(page)).to_contain_text("CINN's tactic applies")
    expect(page.locator(".tv-input-error")).to_have_count(0)
    expect(page.get_by_test_id("stPlotlyChart")).to_have_count(charts)
    for part in (".tv-axes", ".tv-loads", ".tv-path .decides"):
        box = page.locator(part).bounding_box()
        assert box is not None and box["y"] + box["height"] <= 800  # In the first fold.
    _no_text_is_cut(page)
    picture(page, f"broadcast_{name}_{theme}")


def test_an_edit_a_fault_and_a_reload(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(ODD, theme="dark")
    expect(verdict_of(page)).to_contain_text("CINN's tactic declines")
    expect(page.locator(".tv-path .decides")).to_contain_text("255 = 32 * 7 + 31")
    picture(page, "broadcast_reject_dark")
    field = field_of(page, "Output shape")
    operands = field_of(page, "Operands, “;” between")
    operands.fill("1, 1, 1, 256")
    operands.press("Enter")
    box = page.locator(".tv-input-error")
    expect(box).to_contain_text("Operand shapes: mean does not broadcast on axis 3")
    expect(box).to_contain_text("The last valid design stays below.")
    expect(verdict_of(page)).to_contain_text("CINN's tactic declines")
    expect(page.get_by_test_id("stPlotlyChart")).to_have_count(2)
    settled(page)
    picture(page, "broadcast_fault_dark")
    field.fill("64, 32, 32, 256")
    field.press("Enter")
    expect(verdict_of(page)).to_contain_text("CINN's tactic applies (nhwc_equal)")
    expect(box).to_have_count(0)
    settled(page)
    expect_query(page, out="64,32,32,256")
    page.reload()
    settled(page)
    expect(field).to_have_value("64, 32, 32, 256")
    expect(verdict_of(page)).to_contain_text("nhwc_equal")


def test_a_bad_link_is_reported_and_the_rest_is_used(open_page: OpenPage, picture: Picture) -> None:
    hostile = quote("<img src=x onerror=alert(1)>")
    page = open_page(f"{RANK_EIGHT}&dtype=float99&colour={hostile}")
    box = page.locator(".tv-input-error")
    expect(box).to_contain_text("dtype: unknown dtype")
    expect(box).to_contain_text("<img src=x onerror=alert(1)>")
    expect(box).to_contain_text("The rest of the link is used.")
    expect(verdict_of(page)).to_contain_text("CINN's tactic applies (nchw_large)")
    assert page.locator("img[src=x]").count() == 0
    expect(page.locator(".tv-axes .axis")).to_have_count(8)
    expect(page.locator(".tv-axes .part")).to_have_count(24)
    _no_text_is_cut(page)
    picture(page, "broadcast_bad_link_light")


def test_compare_download_run_hover_and_keys(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    link = "/Broadcast?v=1&operands=64&out=8,14,14,64&expression=mul"
    page = open_page(link)
    charts = page.get_by_test_id("stPlotlyChart")
    expect(charts.first).to_have_attribute("aria-label", re.compile("Warp 0 of one block, 1 step"))
    charts.last.scroll_into_view_if_needed()
    box = charts.first.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 5.5 / 32, box["y"] + box["height"] / 2)
    expect(page.locator(".hoverlayer .hovertext")).to_contain_text(
        re.compile(r"thread 5, step 0.*output 5 needs b\[5\]")
    )

    page.get_by_role("radio", name="CINN").first.click()
    expect(page.locator(".st-key-broadcast_code_is")).to_have_count(0)  # Not against itself.
    page.get_by_role("radio", name="Before").last.click()
    left = page.locator(".st-key-broadcast_code_was pre code")
    right = page.locator(".st-key-broadcast_code_is pre code")
    expect(right).to_contain_text("const float b_value = b[c];")
    for code in (left, right):
        expect(code).to_have_css("background-image", re.compile("linear-gradient"))
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CINN .cu").click()
    source = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert "int main(" in source
    assert "cudaLaunchKernel(reinterpret_cast<const void*>(broadcast)" in source

    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
        page.get_by_role("button", name="Design, JSON").click()
    document = json.loads(Path(waiting.value.path()).read_text(encoding="utf-8"))
    assert make_design(document).out == (8, 14, 14, 64)
    page.keyboard.press("Escape")

    run = page.get_by_role("button", name="Run", exact=True)
    run.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Output correct, 100,352 of 100,352 elements.")).to_be_visible()
    settled(page)
    _no_text_is_cut(page)
    picture(page, "broadcast_run_light")
