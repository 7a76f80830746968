"""The menu of everything a design can be taken away as: made when asked for, never on a rerun."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tileviz.export.links import page_url
from tileviz.studies.registry import make_design, preset
from tileviz.ui import sent, take_away

Opened = Callable[..., AppTest]
PAGES = {
    "permute": ("pages/1_Permute_layout.py", "permute-demo"),
    "schedule": ("pages/2_Block_schedule.py", "schedule-zn-1"),
    "broadcast": ("pages/3_Broadcast.py", "broadcast-192"),
    "banks": ("pages/4_Banks_and_swizzles.py", "banks-transpose-32x32"),
    "layouts": ("pages/5_Layouts.py", "layout-row-major"),
}


def opened(open_page: Opened, page: str) -> AppTest:
    test = open_page(PAGES[page][0])
    test.session_state[f"{page}.export"] = True
    test.run()
    assert not test.exception
    return test


def labels(test: AppTest) -> list[str]:
    return [element.proto.label for element in test.get("download_button")]


@pytest.mark.parametrize("page", PAGES)
def test_every_study_offers_what_it_has(open_page: Opened, page: str) -> None:
    test = opened(open_page, page)
    programs = [] if page == "layouts" else ["CUDA program", "PyCUDA script"]
    assert labels(test)[: len(programs) + 1] == [*programs, "Design, JSON"]
    if page == "layouts":
        assert any(
            "No CUDA: This study generates none." in element.proto.body
            for element in test.get("html")
        )
    link = test.code[0].value
    assert link.startswith(("/", "http"))
    assert "?v=1&" in link


def test_it_is_empty_until_it_is_opened(open_page: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> str:
        raise AssertionError("made on a rerun")

    for name in ("standalone_cu", "pycuda_script", "report_of"):
        monkeypatch.setattr(take_away, name, never)
    test = open_page(PAGES["permute"][0])
    assert "Design, JSON" not in labels(test)
    test = opened(open_page, "permute")
    assert "Design, JSON" in labels(test) and "HTML report" not in labels(test)
    test.text_input(key="permute.export.title").input("Mine")
    test.button(key="FormSubmitter:permute.export.report-Make report").click().run()
    assert not test.exception and "HTML report" in labels(test)
    # Another design needs a report of its own.
    test.selectbox(key="permute.preset").set_value("permute-declined").run()
    assert not test.exception and "HTML report" not in labels(test)


def test_a_report_outlives_the_closed_menu_together_with_its_words(open_page: Opened) -> None:
    test = opened(open_page, "permute")
    test.text_input(key="permute.export.title").input("Mine")
    test.text_area(key="permute.export.note").input("Seen <b>")
    test.toggle(key="permute.export.run").set_value(True)
    test.button(key="FormSubmitter:permute.export.report-Make report").click().run()
    assert "HTML report" in labels(test)
    for open_now in (False, True):
        test.session_state["permute.export"] = open_now
        test.run()
        assert ("HTML report" in labels(test)) is open_now
    assert test.text_input(key="permute.export.title").value == "Mine"
    assert test.text_area(key="permute.export.note").value == "Seen <b>"
    assert test.toggle(key="permute.export.run").value is True
    said = "Holds: title “Mine”, your note, run first."
    assert any(said in element.proto.body for element in test.get("html"))


def test_a_design_is_sent_once(open_page: Opened) -> None:
    test = opened(open_page, "permute")
    wanted = preset("permute-demo")
    assert wanted is not None
    for _ in range(2):
        test.button(key="permute.export.send").click().run()
        assert not test.exception
        (document,) = test.session_state[sent.KEY]
        assert make_design(document) == wanted.design


def test_a_session_with_nonsense_in_it_still_sends(open_page: Opened) -> None:
    test = opened(open_page, "banks")
    test.session_state[sent.KEY] = "nonsense"
    test.button(key="banks.export.send").click().run()
    assert not test.exception
    assert len(test.session_state[sent.KEY]) == 1


def test_what_no_link_can_hold_is_said(open_page: Opened) -> None:
    pattern = json.dumps([[row % 64, row % 64] for row in range(32)])
    long = {"study": "access", "layout": "S[(64, 64):(64, 1)]", "pattern": json.loads(pattern)}
    assert len(page_url(make_design(long))) < 8192
    order = [[m, n] for m in range(40) for n in range(40)]
    huge = make_design(
        {
            "study": "schedule",
            "problem": [40 * 64, 40 * 64, 64],
            "tile": [64, 64],
            "policy": "custom",
            "order": order,
        }
    )
    assert len(page_url(huge)) > take_away.MAX_LINK

    def script() -> None:
        import streamlit as st

        from tileviz.ui import take_away as menu

        menu._link(st.session_state["design"])

    test = AppTest.from_function(script)
    test.session_state["design"] = huge
    test.run()
    assert not test.exception and not test.code
    assert any("too long for a link" in element.proto.body for element in test.get("html"))
