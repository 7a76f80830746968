"""The Kernel lab in a browser: paste a conflicting transpose and be shown the line at fault."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from browser_reading import field_of, verdict_of
from playwright.sync_api import Locator, Page, expect

from tileviz.export.links import page_url
from tileviz.studies.kernel.design import KernelDesign
from tileviz.studies.registry import preset

OpenPage = Callable[..., Page]
Picture = Callable[[Page, str], Path | None]
Settled = Callable[[Page], None]

PASTED = """\
extern "C" __global__ void turn(const float* image, float* turned, int width) {
    __shared__ float tile[32][32];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = image[(blockIdx.y * 32 + y) * width + blockIdx.x * 32 + x];
    __syncthreads();
    float value = tile[x][y];
    turned[(blockIdx.x * 32 + y) * width + blockIdx.y * 32 + x] = value;
}
"""


def _link(name: str) -> str:
    found = preset(name)
    assert found is not None
    return page_url(found.design)


def _source(name: str) -> str:
    found = preset(name)
    assert found is not None and isinstance(found.design, KernelDesign)
    return found.design.source


def _run(page: Page, settled: Settled) -> None:
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".tv-neutral-box")).to_have_count(0, timeout=60_000)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0, timeout=60_000)
    expect(verdict_of(page)).to_be_visible()
    settled(page)


def _rows(page: Page, access: str) -> Locator:
    return page.locator("tr.counted", has=page.get_by_role("button", name=access))


def _no_text_is_cut(page: Page) -> None:
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth - main.clientWidth") == 0
    parts = page.locator(".tv-title, .tv-verdict, .tv-panel, .tv-legend, .tv-table, .view")
    wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert parts.evaluate_all(wide) == 0


def test_a_pasted_transpose_is_shown_its_line_at_fault(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page("/Kernel_lab")
    expect(page.locator(".lab-limits")).to_contain_text("64 KiB")
    field_of(page, "CUDA source").fill(PASTED)
    field_of(page, "CUDA source").press("Control+Enter")
    settled(page)
    page.get_by_role("button", name="Fill from the signature of turn").click()
    expect(field_of(page, "Name 1")).to_have_value("image")
    settled(page)
    for label, text in (
        ("Block", "32,32"),
        ("Shape or value 1", "64x64"),
        ("Shape or value 2", "64x64"),
        ("Shape or value 3", "64"),
    ):
        field_of(page, label).fill(text)
        field_of(page, label).press("Enter")
        settled(page)
    _run(page, settled)
    said = "Line 6: 32 wavefronts where 1 is ideal: 32 lanes meet in one bank."
    expect(verdict_of(page)).to_contain_text(said)
    # As tall as its lines: line 1 is seen, though the worst is below.
    view = page.locator(".view")
    assert view.evaluate("box => box.scrollHeight <= box.clientHeight && box.scrollTop === 0")
    worst = page.locator("tr.worst")
    expect(worst).to_contain_text(re.compile(r"tile\[x\]\[y\].*ld\.shared 4 B.*4,096 wavefronts"))
    chart = page.get_by_test_id("stPlotlyChart").first
    expect(chart).to_have_attribute("aria-label", "32 lanes touch 1 bank: 32 wavefronts, ideal 1.")
    _no_text_is_cut(page)
    picture(page, "kernel_lab_light")

    # The link is complete: it opens the same text, launch and parameters.
    query = {key: value[0] for key, value in parse_qs(urlsplit(page.url).query).items()}
    assert query["source"] == PASTED and query["block"] == "32,32,1"
    again = open_page(urlsplit(page.url).path + "?" + urlsplit(page.url).query)
    expect(field_of(again, "CUDA source")).to_have_value(PASTED)
    expect(again.locator(".tv-input-error")).to_have_count(0)


def test_lines_are_chosen_by_click_and_by_key_and_followed_over_time(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(_link("kernel-reduction"), theme="dark", size="1440")
    _run(page, settled)
    expect(verdict_of(page)).to_contain_text("Line 10: up to 8 wavefronts where 1 is ideal")
    shown = page.locator(".lab-who")
    expect(shown).to_contain_text("8 wavefronts, ideal 1: 8 lanes meet in one bank.")
    _no_text_is_cut(page)
    picture(page, "kernel_lab_dark")

    _rows(page, "Show ld.global 4 B, line 5").locator("td").first.click()
    expect(shown).to_contain_text("4 sectors, ideal 4")
    button = page.get_by_role("button", name="Show st.shared 4 B, line 10")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(shown).to_contain_text("wavefronts, ideal 1")
    slider = page.get_by_role("slider").first
    slider.focus()
    slider.press("Home")
    expect(shown).to_contain_text("Block (0, 0, 0), warp 0")
    expect(shown).to_contain_text("execution 1 of 48")
    expect(shown).to_contain_text("2 wavefronts, ideal 1: 2 lanes meet in one bank.")
    settled(page)
    page.get_by_role("link", name="These addresses in Banks and swizzles").click()
    expect(page.locator("h1")).to_have_text("Banks and swizzles")
    expect(verdict_of(page)).to_contain_text("2 wavefronts, ideal 1, 2-way bank conflict.")


def test_a_compile_error_stands_at_its_line(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(_link("kernel-transpose"), theme="dark")
    source = field_of(page, "CUDA source")
    whole = _source("kernel-transpose")
    expect(source).to_have_value(whole)  # The browser paints the field before its text.
    broken = whole.replace("__shared__ float tile", "__shared__ float <b>tile</b>")
    source.fill(broken)
    source.press("Control+Enter")
    settled(page)
    _run(page, settled)
    expect(verdict_of(page)).to_contain_text("Does not compile, line 3:")
    expect(page.locator("tr.problem").first).to_contain_text("expected")
    expect(page.locator(".view")).to_contain_text("<b>tile</b>")
    assert page.locator(".view b").count() == 0
    picture(page, "kernel_lab_compile_error_dark")
    # Nothing typed is lost.
    page.get_by_role("radio", name="Edit").click()
    expect(field_of(page, "CUDA source")).to_have_value(broken)


def test_a_race_is_shown_where_it_is(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page(_link("kernel-race"))
    _run(page, settled)
    expect(verdict_of(page)).to_contain_text("Line 6: race on 4-byte shared load.")
    expect(page.locator("tr.problem")).to_contain_text("with the store of thread (127,0,0)")
    picture(page, "kernel_lab_race_light")


def test_files_are_opened_and_handed_out(
    open_page: OpenPage, settled: Settled, picture: Picture, tmp_path: Path
) -> None:
    page = open_page(_link("kernel-vector-add"))
    picture(page, "kernel_lab_edit_light")
    _run(page, settled)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download trace").click()
    trace = json.loads(Path(waiting.value.path()).read_text(encoding="utf-8"))
    assert trace["study"] == "kernel" and trace["accesses"][0]["line"] == 4
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
        page.get_by_role("button", name="Design, JSON").click()
    design = tmp_path / "add.json"
    waiting.value.save_as(design)

    other = open_page(_link("kernel-race"))
    other.get_by_role("button", name="Open a file").click()
    large = tmp_path / "large.cu"
    large.write_bytes(b"x" * (50 << 20))
    field = other.locator("input[type=file]")
    field.set_input_files(large)
    expect(other.get_by_text("File must be 1.0MB or smaller.")).to_be_visible()
    field.set_input_files(design)
    expect(field_of(other, "Grid")).to_have_value("4")
    expect(field_of(other, "Name 3")).to_have_value("z")
    text = tmp_path / "long.cu"
    text.write_text("x" * 70_000)
    field.set_input_files(text)
    expect(other.locator(".tv-input-error")).to_contain_text("at most 65,536 of CUDA are read")
    expect(field_of(other, "Name 3")).to_have_value("z")
