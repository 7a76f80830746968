"""The Compare page in a browser: one link for both, what differs, sending, files, both themes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from browser_reading import expect_query, field_of, verdict_of
from playwright.sync_api import Page, expect

from tileviz.comparing.pairs import Pair, read_pair, read_side
from tileviz.export.links import page_url
from tileviz.studies.registry import preset
from tileviz.ui.compare.starts import starts

OpenPage = Callable[..., Page]
Picture = Callable[[Page, str], Path | None]
Settled = Callable[[Page], None]


def _link(name: str) -> str:
    found = preset(name)
    assert found is not None
    return page_url(found.design)


def _nothing_is_cut(page: Page) -> None:
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth - main.clientWidth") == 0
    parts = page.locator(".tv-title, .tv-verdict, .tv-panel, .tv-sides, .tv-inputs, .tv-numbers")
    wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert parts.evaluate_all(wide) == 0


@pytest.mark.parametrize(
    ("number", "theme", "charts", "line"),
    [
        (0, "light", 4, "dst[lane] = tile[lane * 33];"),
        (1, "dark", 6, "if (strip % 2u == 1u) n = COLUMNS - 1u - n;"),
    ],
)
def test_a_link_opens_cold_and_shows_what_differs(
    open_page: OpenPage,
    settled: Settled,
    picture: Picture,
    number: int,
    theme: str,
    charts: int,
    line: str,
) -> None:
    start = starts()[number]
    page = open_page(start.pair.link(), theme=theme)
    expect(verdict_of(page)).to_contain_text(f"“{start.pair.right_name}” is better")
    expect(page.locator(".tv-input-error")).to_have_count(0)
    expect(page.get_by_test_id("stPlotlyChart")).to_have_count(charts)
    # Two pictures stand beside each other at 1280 pixels.
    boxes = [page.get_by_test_id("stPlotlyChart").nth(at).bounding_box() for at in (0, 1)]
    left, right = boxes
    assert left is not None
    assert right is not None
    assert left["x"] + left["width"] <= right["x"]
    assert abs(left["y"] - right["y"]) < 30
    differing = page.get_by_role("table", name="Inputs that differ").locator("tbody tr")
    expect(differing.first).to_contain_text("≠")
    added = page.locator(".tv-diff td.code.is").filter(has_text=line)
    expect(added).to_have_count(1)
    folded = page.locator(".tv-fold")
    expect(page.get_by_role("table", name="Equal inputs")).to_be_hidden()
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("table", name="Equal inputs")).to_be_visible()
    settled(page)
    _nothing_is_cut(page)
    expect_query(page, **start.pair.query())
    picture(page, f"compare_{number}_{theme}")


def test_designs_are_sent_from_two_pages_and_changed_over(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(_link("banks-transpose-32x32"))
    for step in ("32x32", "33"):
        if step == "33":
            layout = field_of(page, "Layout")
            layout.fill("S[(32, 32):(33, 1)]")
            layout.press("Enter")
            expect(verdict_of(page)).to_contain_text("1 wavefront, ideal 1")
            settled(page)
        export = page.get_by_role("button", name="Export")
        export.click()
        page.get_by_role("button", name="Send to compare").click()
        go = page.get_by_role("link", name=re.compile("Open Compare"))
        expect(go).to_be_visible()
        if step == "32x32":
            page.keyboard.press("Escape")
            expect(go).to_be_hidden()
    go.click()
    expect(field_of(page, "Left design")).to_have_value(_link("banks-transpose-32x32"))
    expect(verdict_of(page)).to_contain_text("Right is better: 1 wavefront against 32")
    expect(page.get_by_label("Sent here (2)")).to_be_visible()
    settled(page)
    picture(page, "compare_sent_light")
    page.get_by_role("button", name="Swap").click()
    expect(verdict_of(page)).to_contain_text("Left is better: 1 wavefront against 32")
    settled(page)
    expect_query(page, right=_link("banks-transpose-32x32"))


def test_both_run_and_are_taken_away_and_opened_again(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page("/Compare")
    expect(page.locator(".tv-empty")).to_contain_text("Nothing to compare yet.")
    picture(page, "compare_empty_light")
    page.get_by_role("button", name="32 columns against 33").click()
    expect(verdict_of(page)).to_contain_text("“33 columns” is better")
    settled(page)
    page.get_by_role("button", name="Run", exact=True).click()
    measured = page.locator(".tv-verdict", has_text="Measured.")
    expect(measured).to_contain_text("1 wavefront against 32, 31 fewer", timeout=60_000)
    expect(page.get_by_role("table", name="Measured numbers")).to_contain_text("registers")
    settled(page)
    picture(page, "compare_run_light")
    page.get_by_role("button", name="Share and save").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Comparison file").click()
    saved = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert read_pair(saved).query() == starts()[0].pair.query()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Report of both").click()
    report = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert "31 fewer" in report
    assert "tile[lane * 33]" in report
    page.keyboard.press("Escape")

    again = open_page("/Compare", theme="dark")
    again.get_by_role("button", name="Open", exact=True).click()
    again.locator('input[type="file"]').set_input_files(
        {"name": "both.json", "mimeType": "application/json", "buffer": saved.encode()}
    )
    expect(verdict_of(again)).to_contain_text("“33 columns” is better")
    settled(again)
    expect_query(again, **starts()[0].pair.query())


def test_what_is_wrong_gets_one_line_and_nothing_is_lost(
    open_page: OpenPage, settled: Settled, picture: Picture, tmp_path: Path
) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    pair = Pair(read_side("permute-demo"), read_side("permute-declined"), hostile, "", hostile)
    page = open_page(f"{pair.link()}&colour={quote(hostile)}", theme="dark")
    expect(page.locator(".tv-input-error")).to_contain_text("unknown key of a comparison")
    expect(page.locator(".tv-sides").first).to_contain_text(hostile)
    left = field_of(page, "Left design")
    left.fill("/Permute_layout?v=2&src=S[4:1]")
    left.press("Enter")
    box = page.locator(".tv-input-error")
    expect(box).to_contain_text("Left, v: written by another version of tileviz")
    expect(verdict_of(page)).to_contain_text("Equal: 8 wavefronts each.")
    expect(left).to_have_value("/Permute_layout?v=2&src=S[4:1]")
    assert page.locator("img[src=x]").count() == 0
    picture(page, "compare_fault_dark")
    left.fill("schedule-zn-3")
    left.press("Enter")
    expect(verdict_of(page)).to_contain_text("Not comparable: left is of Block schedule")
    settled(page)
    page.get_by_role("button", name="Choose").last.click()
    choose = page.locator('input[type="file"]')
    big = tmp_path / "big.json"
    with big.open("wb") as file:
        file.truncate(50 << 20)
    choose.set_input_files(big)
    refused = page.get_by_test_id("stFileChip").get_by_role("alert")
    expect(refused).to_be_visible()
    expect(refused).to_contain_text("1.0MB or smaller")
    choose.set_input_files(
        {"name": "x.json", "mimeType": "application/json", "buffer": json.dumps([1]).encode()}
    )
    expect(box).to_contain_text("x.json: a design is a JSON object")
    expect(box).to_contain_text("Nothing was changed.")
