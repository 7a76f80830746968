"""The Lessons page: the list on the left, one lesson beside it."""

from __future__ import annotations

import streamlit as st

from tileviz.errors import DesignError
from tileviz.lessons import Edit, Figure, Lesson, Prose, Question, Shelf, shelf
from tileviz.lessons.model import Bits, Part
from tileviz.ui import frame, html, inputs
from tileviz.ui.address import recall, remember, replace_state
from tileviz.ui.lessons import parts, tables
from tileviz.ui.lessons.progress import Progress
from tileviz.ui.lessons.questions import question

_STATE = "lessons.progress"
_LIST_WIDTH = 250


def page() -> None:
    """Draw the page."""
    frame.begin("Lessons")
    st.html(tables.style())
    st.html(html.title("Lessons", "Predict, then see; the engine checks every answer"))
    found = shelf()
    progress = _opened(found)
    if progress.problems:
        st.html(tables.faults(progress.problems, "Another lesson is shown instead."))
    if found.faults:
        st.html(tables.faults(found.faults, "The other lessons work."))
    if not found.lessons:
        st.html(html.empty("No lessons.", "A lesson is a Markdown file in assets/lessons."))
        return
    lesson = found.lesson(progress.current)
    with st.container(horizontal=True, gap="large", key="lessons"):
        left = st.container(width=_LIST_WIDTH, key="lessons.list")
        right = st.container(width="stretch", key="lessons.read")
    with right:
        progress = _read(lesson, progress)
        _turn(found, lesson)
    remember(_STATE, progress)
    # Drawn last, so that this run's answer counts already.
    with left:
        _list(found, progress)


def _opened(found: Shelf) -> Progress:
    """Return the session's progress, with the address bar written."""
    before: Progress | None
    before, fresh = recall(_STATE)
    query = st.query_params.to_dict()
    progress = before or Progress()
    progress = progress.opened(found, query) if fresh else progress.within(found)
    remember(_STATE, progress)
    wanted = progress.address()
    if wanted is not None and wanted != query:
        st.query_params.from_dict(wanted)
    return progress


def _pick(name: str) -> None:
    progress, _ = recall(_STATE)
    replace_state(_STATE, progress.turned_to(name))


def _list(found: Shelf, progress: Progress) -> None:
    """Draw every lesson with what is answered of it."""
    for number, lesson in enumerate(found.lessons, start=1):
        right, asked = progress.right(lesson), len(lesson.questions)
        here = lesson.name == progress.current
        done = ":material/check_circle:" if right == asked else ":material/radio_button_unchecked:"
        if 0 < right < asked:
            done = ":material/contrast:"
        inputs.button(
            f"{number}\\. {html.literal(lesson.title)}",
            key=f"lessons.open.{lesson.name}",
            icon=done,
            type="secondary" if here else "tertiary",
            width="stretch",
            help=html.literal(f"{lesson.summary} {right} of {asked} answered right."),
            on_click=_pick,
            args=(lesson.name,),
        )


def _read(lesson: Lesson, progress: Progress) -> Progress:
    """Draw a lesson from top to bottom; a part at fault is one line, the rest is there."""
    place = st.empty()
    for number, part in enumerate(lesson.parts):
        key = f"lessons.{lesson.name}.{number}"
        try:
            if isinstance(part, Question):
                progress = question(lesson, part, key, progress)
            else:
                _part(lesson, part, key)
        except DesignError as error:
            st.html(tables.faults([lesson.at(part.line, error)]))
    place.html(tables.head(lesson, progress.right(lesson)))
    return progress


def _part(lesson: Lesson, part: Part, key: str) -> None:
    if isinstance(part, Prose):
        parts.prose(lesson, part)
    elif isinstance(part, Figure):
        parts.figure(lesson, part, key)
    elif isinstance(part, Bits):
        parts.bits(lesson, part)
    elif isinstance(part, Edit):
        parts.edit(lesson, part, key)


def _turn(found: Shelf, lesson: Lesson) -> None:
    """Draw the way to the lessons before and after."""
    names = [one.name for one in found.lessons]
    at = names.index(lesson.name)
    with st.container(horizontal=True, horizontal_alignment="distribute", key="lessons.turn"):
        for step, word, icon in ((-1, "Previous", "arrow_back"), (1, "Next", "arrow_forward")):
            other = found.lessons[at + step] if 0 <= at + step < len(names) else None
            title = f"{word}: {html.literal(other.title)}" if other is not None else word
            inputs.button(
                title,
                key=f"lessons.{word.lower()}",
                icon=f":material/{icon}:",
                icon_position="left" if step < 0 else "right",
                disabled=other is None,
                on_click=_pick,
                args=(other.name if other is not None else lesson.name,),
            )
