"""Every lesson that comes along holds: each design, number, picture and question."""

from __future__ import annotations

import pytest

from tileviz.figures.overview import pictures
from tileviz.figures.tokens import LIGHT
from tileviz.lessons import Lesson, faults_of, mark, shelf_of
from tileviz.lessons.checking import answers
from tileviz.lessons.model import ChoiceAsk, ClaimAsk, Figure, NumberAsk, Reference
from tileviz.lessons.results import plan_of
from tileviz.studies.registry import assets

SHELF = shelf_of([assets() / "lessons"])
LESSONS = pytest.mark.parametrize("lesson", SHELF.lessons, ids=lambda lesson: lesson.name)
QUESTIONS = pytest.mark.parametrize(
    ("lesson", "number"),
    [(lesson, question.number) for lesson in SHELF.lessons for question in lesson.questions],
    ids=lambda value: value.name if isinstance(value, Lesson) else str(value),
)
# What the issue asks for, by a word of each name.
SUBJECTS = ("bank", "33", "xor-swizzle", "wide", "permute", "fails", "l2", "snake", "broadcast")


def test_every_file_is_a_lesson() -> None:
    assert SHELF.faults == ()
    assert len(SHELF.lessons) >= 8
    names = [lesson.name for lesson in SHELF.lessons]
    for subject in SUBJECTS:
        assert any(subject in name for name in names), subject


@LESSONS
def test_a_lesson_holds(lesson: Lesson) -> None:
    assert [str(fault) for fault in faults_of(lesson)] == []
    assert lesson.questions


@QUESTIONS
def test_the_right_answer_is_accepted_and_a_wrong_one_refused(lesson: Lesson, number: int) -> None:
    question = lesson.questions[number - 1]
    right, wrong = answers(lesson, question)
    accepted, refused = mark(lesson, question, right), mark(lesson, question, wrong)
    assert accepted.right and accepted.statement.state == "ok"
    assert not refused.right and refused.statement.state == "attention"
    ask = question.ask
    if isinstance(ask, NumberAsk) and ask.choices is not None:
        assert float(right) in ask.choices
    if isinstance(ask, (ChoiceAsk, ClaimAsk)):
        assert right in ask.choices
    # Both say how it comes about: in the lesson's words, or in the engine's.
    for marked in (accepted, refused):
        assert marked.said or marked.reasons
        assert "{{" not in marked.said


@LESSONS
def test_every_picture_that_a_lesson_names_is_there(lesson: Lesson) -> None:
    shown: list[Reference] = []
    for part in lesson.parts:
        if isinstance(part, Figure):
            shown += part.shown
    for question in lesson.questions:
        for answer in answers(lesson, question):
            marked = mark(lesson, question, answer)
            for ref in marked.shown:
                found = pictures([plan_of(marked.designs[ref.name])], LIGHT)[0]
                assert ref.picture is None or len(found) >= ref.picture, (question.number, ref)
    for ref in shown:
        found = pictures([plan_of(lesson.designs[ref.name])], LIGHT)[0]
        assert found, ref
        assert ref.picture is None or len(found) >= ref.picture, ref


def test_no_lesson_gives_a_number_away_that_it_asks_for_later() -> None:
    for lesson in SHELF.lessons:
        for question in lesson.questions:
            if isinstance(question.ask, NumberAsk):
                before = [part for part in lesson.parts if part.line < question.line]
                said = " ".join(getattr(part, "text", "") for part in before)
                assert f"{{{{{question.ask.value}}}}}" not in said, (lesson.name, question.number)
