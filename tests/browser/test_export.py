"""What is taken away from a page: a program that compiles, a report that opens offline, an SVG."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tileviz.cuda.nvrtc import compile_ptx
from tileviz.studies.registry import make_design, preset

OpenPage = Callable[..., Page]
Picture = Callable[[Page, str], Path | None]


def _saved(page: Page, name: str, folder: Path) -> Path:
    """Press a button of the menu; return the file that comes."""
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


@pytest.fixture(scope="module")
def files(
    server: str, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Return everything that the menu of the demo hands out."""
    folder = tmp_path_factory.mktemp("exported")
    page = browser.new_page(accept_downloads=True)
    page.goto(f"{server}/Permute_layout")
    page.get_by_role("button", name="Export").click()
    page.get_by_role("textbox", name="Title").fill("<b>Review</b> of the demo")
    page.get_by_role("textbox", name="Note").fill("First line\nsecond <script>alert(1)</script>")
    page.get_by_text("Run it in the emulator first").click()
    page.get_by_role("button", name="Make report").click()
    page.get_by_role("button", name="HTML report").wait_for()
    page.wait_for_function("() => !document.querySelector('[data-stale=true]')")
    names = {
        "cu": "CUDA program",
        "py": "PyCUDA script",
        "json": "Design, JSON",
        "html": "HTML report",
    }
    found = {form: _saved(page, name, folder) for form, name in names.items()}
    page.close()
    return found


def test_a_program_holds_the_text_and_compiles(files: dict[str, Path]) -> None:
    design = make_design(json.loads(files["json"].read_text(encoding="utf-8")))
    demo = preset("permute-demo")
    assert demo is not None and design == demo.design
    for form in ("cu", "py"):
        assert "b[s * 128 + lane * 4 + j] = reg[r];" in files[form].read_text(encoding="utf-8")
    text = files["cu"].read_text(encoding="utf-8")
    device = text[text.index("// ---- the kernel") : text.index("// ---- end of the kernel")]
    assert ".entry permute(" in compile_ptx(device).ptx
    compile(files["py"].read_text(encoding="utf-8"), "permute.py", "exec")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_report_opens_offline(
    files: dict[str, Path], browser: Browser, theme: Any, tmp_path: Path
) -> None:
    context = browser.new_context(
        offline=True,
        color_scheme=theme,
        accept_downloads=True,
        viewport={"width": 1280, "height": 800},
    )
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(files["html"].as_uri())
    expect(page.locator("h1")).to_have_text("<b>Review</b> of the demo")
    expect(page.locator(".note")).to_contain_text("second <script>alert(1)</script>")
    expect(page.locator(".heatmaplayer")).to_have_count(2)
    expect(page.get_by_text("Output correct, 256 of 256 elements.").first).to_be_visible()
    expect(page.locator("#d0-cuda")).to_contain_text("b[s * 128 + lane * 4 + j] = reg[r];")
    first = page.locator(".js-plotly-plot").first
    expect(first).to_have_attribute("aria-label", re.compile("lane"))
    box = first.locator(".heatmaplayer").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 9.5 / 32, box["y"] + box["height"] / 8)
    expect(page.locator(".hoverlayer .hovertext")).to_contain_text("lane 9")
    with page.expect_download() as waiting:
        first.get_by_role("button").first.click()
    svg = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert waiting.value.suggested_filename.endswith(".svg") and svg.startswith("<svg")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width == 1280
    assert faults == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    page.screenshot(path=tmp_path / "report.png", full_page=True)
    context.close()


def test_two_designs_meet_on_the_compare_page(open_page: OpenPage, picture: Picture) -> None:
    page = open_page("/Banks_and_swizzles")
    page.get_by_role("button", name="Export").click()
    page.get_by_role("button", name="Send to compare").click()
    expect(page.get_by_role("link", name="Open Compare")).to_be_visible()
    picture(page, "export_menu_light")
    page.get_by_role("link", name="Open Compare").click()
    expect(page.locator(".tv-title")).to_contain_text("Compare")
    expect(page.locator(".stMain")).to_contain_text(re.compile("column", re.IGNORECASE))
