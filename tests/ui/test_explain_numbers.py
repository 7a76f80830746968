"""The numbers of every page without a browser: opened, searched, unfolded, and of a run."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from page_reading import page_html, spaced_words
from streamlit.testing.v1 import AppTest

from tileviz.studies.derivation import Derivation, Step
from tileviz.ui import explain

Opened = Callable[..., AppTest]

PERMUTE = "pages/1_Permute_layout.py"
DECLINED = {"src": "S[(8,16):(16,1)]", "dst": "S[(8,16):(1,8)]"}
# Script, prefix of the keys, the number a page begins with, and its last line.
PAGES = (
    (PERMUTE, "permute", "ours, read = 4 wavefronts", "1 + 1 + 1 + 1 = 4"),
    ("pages/2_Block_schedule.py", "schedule", "L2 hit rate = 0.898072 (89.8%)", "≈ 0.898072"),
    ("pages/3_Broadcast.py", "broadcast", "loads of a value a thread, before = 4", "max(4) = 4"),
    ("pages/4_Banks_and_swizzles.py", "banks", "wavefronts = 32", "max(32, 0) = 32"),
    ("pages/5_Layouts.py", "layouts", "elements = 128", "4 · 32 = 128"),
    ("pages/6_Kernel_lab.py", "lab", "grid, x = ", ""),
)


def _open(test: AppTest, page: str) -> AppTest:
    test.button(key=f"{page}.explain.button").click().run()
    assert not test.exception
    return test


def _choose(test: AppTest, page: str, words: str) -> AppTest:
    box = test.selectbox(key=f"{page}.explain.name")
    found = next(option for option in box.options if words in option)
    box.select(found).run()
    assert not test.exception
    return test


@pytest.mark.parametrize(("script", "page", "first", "line"), PAGES, ids=[p[1] for p in PAGES])
def test_every_page_unfolds_its_numbers(
    open_page: Opened, script: str, page: str, first: str, line: str
) -> None:
    test = open_page(script)
    assert 'class="tv-steps"' not in page_html(test)
    _open(test, page)
    options = test.selectbox(key=f"{page}.explain.name").options
    assert len(set(options)) == len(options) > 8
    wanted = next(option for option in options if first in option)
    _choose(test, page, wanted)
    assert line in spaced_words(test)
    test.button(key=f"{page}.explain.button").click().run()
    assert 'class="tv-steps"' not in page_html(test)


@pytest.mark.parametrize(
    ("script", "page"), [p[:2] for p in PAGES[:5]], ids=[p[1] for p in PAGES[:5]]
)
def test_the_number_offered_first_has_arithmetic(open_page: Opened, script: str, page: str) -> None:
    test = _open(open_page(script), page)
    drawn = page_html(test)
    lines = re.findall(r"<code>([^<]*)</code>", drawn[drawn.index('class="tv-steps"') :])
    assert any(" = " in line for line in lines), lines
    assert "By definition." not in drawn


def test_waves_are_counted_as_the_page_counts_them(open_page: Opened) -> None:
    test = _open(open_page("pages/2_Block_schedule.py"), "schedule")
    _choose(test, "schedule", "footprint of any wave")
    box = next(one for one in test.number_input if one.label == "Wave, 1 to 19")
    box.set_value(19).run()
    words = spaced_words(test)
    assert "wave 19: footprint" in words
    assert "Wave 19 of 19, number 18 in results, which count from 0, runs 24 tasks" in words
    assert "metrics.wave_footprint_bytes.18" in words


def test_a_conflict_unfolds_with_its_bits_and_its_rule(open_page: Opened) -> None:
    test = _open(open_page(PERMUTE, DECLINED), "permute")
    _choose(test, "permute", "k = 0, write = 16 wavefronts")
    words = spaced_words(test)
    assert "4 + 4 + 4 + 4 = 16" in words
    assert "bank 0 for 4 words by lanes 0, 4, 8, 12" in words
    assert "Measured on sm_110" in words or "measured on sm_110" in words
    assert 'aria-label="Bits of one cell"' in page_html(test)
    assert "schedules.0.write.wavefronts" in words


def test_one_lane_is_chosen_by_its_indices_and_survives_another_design(open_page: Opened) -> None:
    padded = {"src": "S[(32,32):(32,1)]", "dst": "S[(32,32):(1,33)]"}
    test = _open(open_page(PERMUTE, padded), "permute")
    _choose(test, "permute", "k = 0: bank of one lane")
    key = "permute.explain.schedules.0.bank.{phase}.{register}.{lane}"
    test.number_input(key=f"{key}.lane").set_value(31).run()
    assert "k = 0, write, register 2, lane 31: bank" in spaced_words(test)
    test.number_input(key=f"{key}.register").set_value(31).run()
    assert "register 31, lane 31" in spaced_words(test)
    # The demo has four registers: the index goes back to where it began.
    test.selectbox(key="permute.preset").set_value("permute-demo").run()
    assert not test.exception
    assert "k = 0, write, register 2, lane 31: bank" in spaced_words(test)


def test_a_number_that_is_gone_makes_room_for_the_first(open_page: Opened) -> None:
    test = _open(open_page("pages/5_Layouts.py"), "layouts")
    _choose(test, "layouts", "bank of one element")
    test.text_input(key="layouts.layout").set_value("S[(8, 4):(4@laneid, 1)]").run()
    assert not test.exception
    assert "8 · 4 = 32" in spaced_words(test)


def test_the_numbers_of_a_run_unfold(open_page: Opened) -> None:
    test = open_page("pages/4_Banks_and_swizzles.py")
    run = next(button for button in test.button if button.label == "Run")
    run.click().run()
    for _ in range(200):
        if any(button.label == "Explain a number of this run" for button in test.button):
            break
        time.sleep(0.1)
        test.run()
    page = next(
        button.key.removesuffix(".explain.button")
        for button in test.button
        if button.label == "Explain a number of this run"
    )
    _open(test, page)
    _choose(test, page, "ld 4 B: measured wavefronts = 32")
    words = spaced_words(test)
    assert "Words asked of each bank by lanes 0 to 31: 31 banks none, 1 bank 32." in words
    assert "Measured" in words or "measured on" in words


def test_what_comes_from_outside_is_text() -> None:
    evil = "<script>alert(1)</script>"
    one = Derivation(evil, evil, evil, evil, evil, lambda: [Step(evil, evil)])
    drawn = explain.summary(one) + explain.steps(one)
    assert "<script>" not in drawn and drawn.count("&lt;script&gt;") >= 6
