"""The Lessons page without a browser: links, answers, what is revealed when, broken files."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_reading import page_address, page_html
from streamlit.testing.v1 import AppTest

from tileviz.lessons import shelf
from tileviz.ui.lessons.progress import Attempt, Progress

LESSONS = "pages/9_Lessons.py"
Opened = Callable[..., AppTest]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def _words(test: AppTest) -> str:
    drawn = unescape(re.sub(r"<[^>]+>", "", page_html(test)))
    return "\n".join([drawn, *(element.value for element in test.markdown)])


def _check(test: AppTest, number: int) -> None:
    """Press the number-th question's button."""
    [button for button in test.button if button.label == "Check"][number - 1].click().run()
    assert not test.exception


def _press(test: AppTest, label: str) -> None:
    next(button for button in test.button if label in button.label).click().run()
    assert not test.exception


def test_the_first_lesson_opens_and_its_link_is_written(open_page: Opened) -> None:
    test = open_page(LESSONS)
    assert "Banks and words" in _words(test)
    assert page_address(test) == {"lesson": "banks-and-words", "v": "1"}
    listed = [button.label for button in test.button if button.key.startswith("lessons.open.")]
    assert len(listed) == len(shelf().lessons)


@pytest.mark.parametrize("lesson", shelf().lessons, ids=lambda lesson: lesson.name)
def test_every_lesson_opens_from_its_link(open_page: Opened, lesson: object) -> None:
    test = open_page(LESSONS, {"lesson": lesson.name, "v": "1"})
    words = _words(test)
    assert lesson.title in words and lesson.summary in words
    assert "tv-input-error" not in page_html(test)
    assert "{{" not in words
    assert f"0 of {len(lesson.questions)} answered right" in words
    assert words.count("Question ") >= len(lesson.questions)


def test_nothing_is_revealed_before_an_answer(open_page: Opened) -> None:
    test = open_page(LESSONS, {"lesson": "why-33-columns"})
    before = _words(test)
    # Only the picture of the field to play with; the answers' pictures come with a verdict.
    assert before.count("Words per bank") == 1
    assert "the bank never changes" not in before
    assert "Not " not in before and "Right" not in before
    _check(test, 1)
    assert "Your answer: give an answer first." in _words(test)
    assert "the bank never changes" not in _words(test)
    assert "0 of 4 answered right" in _words(test)


def test_a_wrong_answer_then_a_right_one(open_page: Opened) -> None:
    test = open_page(LESSONS, {"lesson": "why-33-columns"})
    test.radio[0].set_value("1")
    _check(test, 1)
    words = _words(test)
    assert "Not 1. The engine finds 32 wavefronts." in words
    assert "The lanes want 32 different words." in words
    assert "32 lanes want different words of bank 0" in words
    assert "0 of 4 answered right" in words
    assert [expander.label for expander in test.expander] == [
        "wavefronts = 32, step by step",
    ]
    assert words.count("Words per bank") == 2
    test.radio[0].set_value("32")
    _check(test, 1)
    words = _words(test)
    assert "Right: 32 wavefronts." in words
    assert "1 of 4 answered right" in words
    # Solved stays solved, whatever is tried afterwards.
    test.radio[0].set_value("2")
    _check(test, 1)
    assert "Not 2." in _words(test) and "1 of 4 answered right" in _words(test)


def test_all_right_answers_finish_a_lesson(open_page: Opened) -> None:
    test = open_page(LESSONS)
    test.radio[0].set_value("2")
    _check(test, 1)
    test.text_input[0].set_value("1 wavefront")
    _check(test, 2)
    test.radio[1].set_value("Every 32nd word")
    _check(test, 3)
    test.text_input[1].set_value("7")
    _check(test, 4)
    assert "4 of 4 answered right" in _words(test)
    entry = next(b for b in test.button if b.key == "lessons.open.banks-and-words")
    assert entry.icon == ":material/check_circle:"
    _press(test, "Next: Why 33 columns")
    assert page_address(test) == {"lesson": "why-33-columns", "v": "1"}
    assert "0 of 4 answered right" in _words(test)
    _press(test, "Previous: Banks and words")
    assert "4 of 4 answered right" in _words(test)
    assert "Right: 2 wavefronts." in _words(test)
    # What was answered stands in the controls again.
    assert [radio.value for radio in test.radio] == ["2", "Every 32nd word"]
    assert [field.value for field in test.text_input] == ["1 wavefront", "7"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("S[(32, 32):(33, 1]", 'Your answer: expected ")"'),
        ("S[(1, 32):(1, 1)]", "Your answer: must still have the extents (32, 32)"),
        ("S[(32, 32):(0, 1)]", "Your answer: must keep every element apart"),
        (HOSTILE, "<script>alert(1)</script>"),
    ],
)
def test_what_is_no_layout_is_pointed_at(open_page: Opened, typed: str, said: str) -> None:
    test = open_page(LESSONS, {"lesson": "why-33-columns"})
    [field for field in test.text_input if field.label == "Layout"][-1].set_value(typed)
    _check(test, 4)
    assert said in _words(test)
    assert "<script" not in page_html(test) and "<img" not in page_html(test)
    assert "goals" not in _words(test)


def test_a_field_to_play_with_follows_what_is_typed(open_page: Opened) -> None:
    test = open_page(LESSONS, {"lesson": "why-33-columns"})
    field = next(field for field in test.text_input if field.label == "Layout")
    assert "8 wavefronts, ideal 1, 8-way bank conflict." in _words(test)
    field.set_value("S[(32, 32):(65, 1)]").run()
    assert "1 wavefront, ideal 1, conflict-free." in _words(test)
    field.set_value("S[(32, 32):(65, 1]").run()
    words = _words(test)
    assert 'Layout: expected ")" before "]".' in words
    assert "The last valid one stays below." in words
    assert "1 wavefront, ideal 1, conflict-free." in words


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"lesson": "<b>none</b>"}, "lesson: there is no such lesson; known: banks-and-words"),
        ({"lesson": "why-33-columns", "v": "7"}, "v: this version reads links of v=1"),
        ({"lesson": "why-33-columns", "colour": HOSTILE}, "colour: unknown key of a lesson's link"),
    ],
)
def test_a_link_at_fault_is_one_line(open_page: Opened, query: dict[str, str], said: str) -> None:
    test = open_page(LESSONS, query)
    assert said in _words(test)
    assert "<script" not in page_html(test) and "<b>none" not in page_html(test)
    wanted = "Why 33 columns" if query["lesson"] == "why-33-columns" else "Banks and words"
    assert f"{wanted}0 of" in _words(test)
    _press(test, "Wide accesses")
    assert "tv-input-error" not in page_html(test)
    assert page_address(test) == {"lesson": "wide-accesses", "v": "1"}


def test_coming_back_finds_the_lesson_and_its_answers(open_page: Opened) -> None:
    test = open_page(LESSONS, {"lesson": "why-33-columns"})
    test.radio[0].set_value("32")
    _check(test, 1)
    test.switch_page("app.py").run()
    test.query_params.clear()
    test.switch_page(LESSONS).run()
    assert not test.exception
    assert "Right: 32 wavefronts." in _words(test)
    assert page_address(test) == {"lesson": "why-33-columns", "v": "1"}


def test_a_teachers_lessons_and_a_broken_one(
    open_page: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = {"study": "access", "bytes": 4, "addresses": [0, 128]}
    ask = {
        "kind": "claim",
        "ask": f"{HOSTILE} **What?**",
        "choices": {f"{HOSTILE}": "two.wavefronts == 2", "[x](http://y)": "two.wavefronts > 2"},
    }
    (tmp_path / "01_mine.md").write_text(
        f"# {HOSTILE}\n\n{HOSTILE}\n\n{HOSTILE}\n\n```tileviz-design two\n{json.dumps(design)}\n"
        f"```\n![{HOSTILE}](design:two)\n```tileviz-question\n{json.dumps(ask)}\n```\n"
        "Fails when drawn: {{two.nothing}}\n"
    )
    (tmp_path / "02_broken.md").write_text(
        "# Broken\n\nIts design is wrong.\n\n```tileviz-design a\n{}"
    )
    monkeypatch.setenv("TILEVIZ_LESSONS", str(tmp_path))
    test = open_page(LESSONS, {"lesson": "mine"})
    words = _words(test)
    assert "02_broken.md, line 5: this block is never closed" in words
    assert "The other lessons work." in words
    assert "01_mine.md, line 14: two.nothing: not in the result" in words
    assert "<script" not in page_html(test) and "<img" not in page_html(test)
    # Markdown is shown without HTML, and labels without Markdown.
    assert not any(element.allow_html for element in test.markdown)
    test.radio[0].set_value(HOSTILE)
    _check(test, 1)
    assert "Right: " in _words(test)
    assert "<script" not in page_html(test)
    _press(test, "Why 33 columns")
    assert "Writing a row is free" in _words(test)


def test_without_any_lesson_the_page_says_so(
    open_page: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = importlib.import_module("tileviz.lessons.shelf")
    monkeypatch.setattr(files, "folders", lambda: (tmp_path,))
    test = open_page(LESSONS)
    assert "No lessons." in _words(test)


@given(st.dictionaries(st.sampled_from(["lesson", "v", "x"]), st.text(max_size=30)))
def test_any_link_opens_a_lesson_and_reports_what_is_wrong(query: dict[str, str]) -> None:
    found = shelf()
    names = [lesson.name for lesson in found.lessons]
    opened = Progress().opened(found, query)
    assert opened.current in names
    good = (
        query.get("lesson", names[0]) in names and query.get("v", "1") == "1" and "x" not in query
    )
    assert (opened.problems == ()) == good
    assert (opened.address() is None) == bool(opened.problems)


def test_an_answer_counts_for_its_own_lesson_and_question() -> None:
    first, second = shelf().lessons[:2]
    progress = Progress().answered(first, 1, Attempt("9", False))
    assert (progress.right(first), progress.attempt(first, 1)) == (0, Attempt("9", False))
    progress = progress.answered(first, 1, Attempt("2", True)).answered(
        first, 99, Attempt("", True)
    )
    assert (progress.right(first), progress.right(second)) == (1, 0)
    assert progress.attempt(second, 1) is None
