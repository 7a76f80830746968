"""Lessons in a browser: a wrong and a right answer, deep links, keys, both themes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from browser_reading import expect_query, field_of
from playwright.sync_api import Locator, Page, expect

OpenPage = Callable[..., Page]
Picture = Callable[[Page, str], Path | None]
Settled = Callable[[Page], None]


def _form(page: Page, number: int) -> Locator:
    return page.get_by_test_id("stForm").nth(number - 1)


def _verdicts(page: Page) -> Locator:
    return page.locator(".tv-verdict:not(.tv-input-error)")


def _nothing_is_cut(page: Page) -> None:
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth - main.clientWidth") == 0
    parts = page.locator(".tv-title, .tv-verdict, .tv-panel, .tv-legend, .tv-table")
    wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert parts.evaluate_all(wide) == 0


def test_lesson_1_with_a_wrong_and_then_right_answers(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page("/Lessons")
    expect_query(page, lesson="banks-and-words", v="1")
    expect(page.get_by_text("0 of 4 answered right")).to_be_visible()
    # Only the picture of the setting: what answers a question is not there yet.
    expect(page.get_by_test_id("stPlotlyChart")).to_have_count(1)
    expect(_verdicts(page)).to_have_count(0)
    box = _form(page, 1).bounding_box()
    assert box is not None and box["y"] + box["height"] <= 800  # Asked in the first fold.

    _form(page, 1).get_by_role("button", name="Check").click()
    expect(page.locator(".tv-input-error")).to_contain_text("give an answer first")
    _form(page, 1).get_by_test_id("stRadio").get_by_text("16", exact=True).click()
    _form(page, 1).get_by_role("button", name="Check").click()
    expect(_verdicts(page)).to_contain_text("Not 16. The engine finds 2 wavefronts.")
    expect(page.get_by_text("2 lanes want different words of bank 0")).to_be_visible()
    expect(page.get_by_text("0 of 4 answered right")).to_be_visible()
    settled(page)
    expect(page.get_by_test_id("stPlotlyChart")).to_have_count(2)
    page.get_by_text("wavefronts = 2, step by step").click()
    expect(page.locator(".tv-steps")).to_contain_text("16 banks are asked")
    picture(page, "lessons_wrong_light")

    _form(page, 1).get_by_test_id("stRadio").get_by_text("2", exact=True).click()
    _form(page, 1).get_by_role("button", name="Check").click()
    expect(_verdicts(page)).to_contain_text("Right: 2 wavefronts.")
    # The rest by keyboard alone.
    field_of(page, "Answer to question 2, in wavefronts").fill("1")
    page.keyboard.press("Enter")
    expect(_verdicts(page).nth(1)).to_contain_text("Right: 1 wavefront.")
    settled(page)
    _form(page, 3).get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(_verdicts(page).nth(2)).to_contain_text("Every 32nd word has the highest")
    settled(page)
    field = field_of(page, "Stride, in words: the ? in `S[32:?]`")
    field.fill("6")
    field.press("Enter")
    expect(_verdicts(page).nth(3)).to_contain_text("a goal is missed: One wavefront.")
    field.fill("5")
    field.press("Enter")
    expect(_verdicts(page).nth(3)).to_contain_text("Right: every goal is reached.")
    expect(page.get_by_text("4 of 4 answered right")).to_be_visible()
    settled(page)
    _nothing_is_cut(page)
    picture(page, "lessons_finished_light")

    page.get_by_role("button", name="Next: Why 33 columns").click()
    expect(page.get_by_role("heading", name="Why 33 columns")).to_be_visible()
    settled(page)
    expect_query(page, lesson="why-33-columns")
    page.go_back()
    expect(page.get_by_text("4 of 4 answered right")).to_be_visible()


def test_a_deep_link_its_full_page_and_a_field_to_play_with(
    open_page: OpenPage, settled: Settled, picture: Picture
) -> None:
    page = open_page("/Lessons?lesson=xor-swizzle&v=1", theme="dark")
    expect(page.get_by_role("heading", name="The XOR swizzle, bit by bit")).to_be_visible()
    expect(page.locator(".tv-bits tbody tr").first.locator("td.taken")).to_have_count(5)
    field_of(page, "Answer to question 1").fill("8")
    page.keyboard.press("Enter")
    expect(_verdicts(page)).to_contain_text("Not 8. The engine finds 6.")
    expect(page.get_by_text("XOR adds without carrying")).to_be_visible()
    settled(page)
    chart = page.get_by_test_id("stPlotlyChart").first
    expect(chart).to_have_attribute("aria-label", re.compile(r"\w{4,}"))
    _nothing_is_cut(page)
    picture(page, "lessons_xor_dark")
    page.get_by_role("link", name="Open in Banks and swizzles").click()
    expect(_verdicts(page).first).to_contain_text("1 wavefront, ideal 1, conflict-free.")
    expect(page).to_have_url(re.compile(r"layout=Sw(%3C|<)5(%2C|,)0(%2C|,)5"))


def test_an_unknown_lesson_is_one_line(open_page: OpenPage, picture: Picture) -> None:
    page = open_page("/Lessons?lesson=%3Cimg%20src%3Dx%3E&v=1", theme="dark")
    box = page.locator(".tv-input-error")
    expect(box).to_contain_text("lesson: there is no such lesson; known: banks-and-words")
    assert page.locator("img[src=x]").count() == 0
    page.get_by_role("button", name="Tile order and L2").click()
    expect(page.get_by_role("heading", name="Tile order and L2")).to_be_visible()
    expect(box).to_have_count(0)
