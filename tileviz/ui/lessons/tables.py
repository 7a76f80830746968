"""The Lessons page's own pieces as HTML text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tileviz.errors import DesignError
from tileviz.lessons import Lesson
from tileviz.ui import html

_MAX_FAULTS = 3


def style() -> str:
    """Return the style that only this page needs."""
    form = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    return f"<style>{form}</style>"


def head(lesson: Lesson, right: int) -> str:
    """Return a lesson's title, its summary, and how many questions are answered right."""
    asked = len(lesson.questions)
    return (
        f'<div class="tv-lesson-head"><h2>{html.text(lesson.title)}</h2>'
        f'<span class="tv-muted">{right} of {asked} answered right</span>'
        f"<p>{html.text(lesson.summary)}</p></div>"
    )


def question_title(number: int, *, solved: bool) -> str:
    """Return the line above a question."""
    mark = f" {html.glyph('ok')}" if solved else ""
    return f'<h3 class="tv-question">Question {number}{mark}</h3>'


def caption(text: str) -> str:
    """Return what to look at in a picture."""
    return f'<p class="tv-note">{html.text(text)}</p>' if text else ""


def faults(errors: Sequence[DesignError], note: str = "") -> str:
    """Return faults of files or links, one clear line each."""
    listed = [html.Fault("", _one_line(error)) for error in errors[:_MAX_FAULTS]]
    return html.error_box(listed, note, max(len(errors) - _MAX_FAULTS, 0))


def _one_line(error: DesignError) -> DesignError:
    """Return an error whose message says where it is, and nothing below it."""
    return DesignError("", str(error), error.value if error.position is not None else None)
