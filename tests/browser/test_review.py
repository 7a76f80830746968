"""A review by somebody who was only handed a link: compare, report, program, compile."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tileviz import api
from tileviz.cuda.nvrtc import compile_ptx
from tileviz.export.links import page_url, parse_link
from tileviz.studies.registry import preset

OpenPage = Callable[..., Page]
Settled = Callable[[Page], None]


def _link(name: str) -> str:
    found = preset(name)
    assert found is not None
    return page_url(found.design)


def _handed_on() -> str:
    sides = {
        "left": _link("banks-transpose-32x32"),
        "right": _link("banks-padding-33"),
        "left_name": "today",
        "right_name": "<b>proposal</b>",
        "note": "One unused word a row.",
    }
    return "/Compare?v=1&" + "&".join(f"{key}={quote(text, '')}" for key, text in sides.items())


def _downloaded(page: Page, button: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button, exact=True).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_a_stranger_reviews_two_designs(
    open_page: OpenPage, settled: Settled, tmp_path: Path
) -> None:
    page = open_page(_handed_on())
    expect(page.locator(".tv-input-error")).to_have_count(0)
    verdict = page.locator(".tv-verdict").first
    expect(verdict).to_contain_text("<b>proposal</b>")
    expect(verdict).to_contain_text("32")
    expect(page.get_by_test_id("stMain")).to_contain_text("One unused word a row.")

    page.get_by_role("button", name="Share and save").click()
    report = _downloaded(page, "Report of both", tmp_path)
    _reads_offline(open_page, report)
    page.keyboard.press("Escape")

    page.get_by_role("link", name="Open today in Banks and swizzles").click()
    expect(page.get_by_role("heading", name="Banks and swizzles", exact=True)).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Export", exact=True).click()
    _compiles(_downloaded(page, "CUDA program", tmp_path))


def _reads_offline(open_page: OpenPage, report: Path) -> None:
    """Open a report as a file: both designs, their figures, and names as text."""
    text = report.read_text(encoding="utf-8")
    assert "<b>proposal</b>" not in text
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)\s*=\s*[\"']?https?:", text)
    page = open_page("/Layouts").context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(report.as_uri())
        expect(page.locator("body")).to_contain_text("<b>proposal</b>")
        expect(page.locator(".js-plotly-plot .heatmaplayer").first).to_be_visible()
        assert page.locator(".js-plotly-plot").count() >= 4
        documents = page.locator('script[type="application/json"]').all_text_contents()
        assert any("S[(32, 33)" in text or "33" in text for text in documents)
        for document in documents:
            json.loads(document)
    finally:
        page.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def _compiles(program: Path) -> None:
    text = program.read_text(encoding="utf-8")
    kernel = api.kernel(parse_link(_link("banks-transpose-32x32")))
    assert kernel.source in text
    # NVRTC takes the device part; nvcc takes the whole file.
    assert f".entry {kernel.entry}" in compile_ptx(kernel.source).ptx
    nvcc = shutil.which("nvcc")
    if nvcc is not None:
        subprocess.run([nvcc, "-o", str(program.with_suffix("")), str(program)], check=True)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_fault_on_one_side_leaves_the_other(open_page: OpenPage, side: str) -> None:
    other = "right" if side == "left" else "left"
    good, bad = quote(_link("banks-transpose-32x32"), ""), quote("/Nowhere?v=9&layout=S[", "")
    page = open_page(f"/Compare?v=1&{other}={good}&{side}={bad}")
    expect(page.locator(".tv-input-error")).to_have_count(1)
    expect(page.get_by_test_id("stPlotlyChart").first).to_be_visible()
