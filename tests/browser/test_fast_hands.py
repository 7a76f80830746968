"""People who are faster than their page: nothing waits for anything, in a browser that is slow."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browser_reading import expect_query, field_of, verdict_of
from playwright.sync_api import Page, expect

from tileviz.export.links import page_url
from tileviz.studies.kernel.design import KernelDesign
from tileviz.studies.registry import preset

OpenPage = Callable[..., Page]
Settled = Callable[[Page], None]
PERMUTE = "/Permute_layout?v=1&src=S[(8,16):(16,1)]&dst=S[(8,16):(1,8)]"
PLAIN = "S[(8, 16):(16, 1)]"
SLOWER = 2  # times, in the browser; the server stays as fast as it is


@pytest.fixture
def slow(open_page: OpenPage) -> OpenPage:
    """Return a function that opens a page in a browser that takes its time."""

    def opened(link: str) -> Page:
        page = open_page(link)
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        return page

    return opened


def test_run_runs_the_text_that_was_just_typed(slow: OpenPage) -> None:
    found = preset("kernel-transpose")
    assert found is not None and isinstance(found.design, KernelDesign)
    page = slow(page_url(found.design))
    source = field_of(page, "CUDA source")
    expect(source).to_have_value(found.design.source)
    source.fill(
        found.design.source.replace("__shared__ float tile", "__shared__ float <b>tile</b>")
    )
    source.press("Control+Enter")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(verdict_of(page)).to_contain_text("Does not compile, line 3:")


def test_a_view_switched_at_once_keeps_the_edit(slow: OpenPage) -> None:
    page = slow(PERMUTE)
    field = field_of(page, "Destination layout")
    field.fill(PLAIN)
    field.press("Enter")
    page.get_by_text("Greys, for print").click()
    expect(verdict_of(page)).to_contain_text("Conflict-free")
    expect_query(page, dst="S[(8,16):(16,1)]")
    expect(field).to_have_value(PLAIN)


def test_run_pressed_at_once_runs_the_preset_that_was_chosen(slow: OpenPage) -> None:
    page = slow(PERMUTE)
    box = page.get_by_role("combobox", name="Preset")
    box.click()
    wanted = preset("permute-demo")
    assert wanted is not None
    page.get_by_role("option", name=wanted.title).click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("Output correct, 256 of 256 elements.")).to_be_visible()
    expect(field_of(page, "Source layout")).to_have_value("S[(2, 1, 4, 32):(128, 128, 32, 1)]")


def test_back_and_forward_go_through_the_edits(slow: OpenPage, settled: Settled) -> None:
    page = slow(PERMUTE)
    field = field_of(page, "Destination layout")
    field.fill(PLAIN)
    field.press("Enter")
    expect_query(page, dst="S[(8,16):(16,1)]")
    page.go_back()
    expect(field).to_have_value("S[(8, 16):(1, 8)]")
    expect(verdict_of(page)).to_contain_text("The reference declines")
    page.go_forward()
    expect(field).to_have_value(PLAIN)
    expect(verdict_of(page)).to_contain_text("Conflict-free")
    settled(page)
