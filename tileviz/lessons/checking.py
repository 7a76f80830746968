"""Whether a lesson holds: every expression, question, picture and number worked out once."""

from __future__ import annotations

from collections.abc import Iterator

from tileviz.errors import DesignError
from tileviz.lessons.expressions import filled, number_of
from tileviz.lessons.marking import mark, truths_of_claims, values_of_choices
from tileviz.lessons.model import (
    Bits,
    ClaimAsk,
    Edit,
    Lesson,
    NumberAsk,
    Part,
    Prose,
    Question,
    TypedAsk,
)
from tileviz.lessons.results import Cells, plan_of
from tileviz.lessons.typed import with_typed


def faults_of(lesson: Lesson) -> tuple[DesignError, ...]:
    """Return what is wrong with a lesson, each fault with its line; none where it holds.

    Every design is planned, every number and picture worked out, and every question answered
    once right and once wrong.
    """
    faults = []
    for part in lesson.parts:
        try:
            _check(lesson, part)
        except DesignError as error:
            faults.append(lesson.at(part.line, error))
    if not lesson.questions:
        faults.append(DesignError(lesson.file, "a lesson asks at least one question"))
    faults += _unplanned(lesson)
    return tuple(faults)


def _unplanned(lesson: Lesson) -> Iterator[DesignError]:
    for name, design in lesson.designs.items():
        try:
            plan_of(design)
        except DesignError as error:
            yield DesignError(lesson.file, str(error.within(name)))


def _check(lesson: Lesson, part: Part) -> None:
    if isinstance(part, Prose):
        filled(part.text, lesson.names)
    elif isinstance(part, Bits):
        Cells(lesson.designs[part.name]).at(part.coordinate)
    elif isinstance(part, Edit):
        with_typed(lesson.designs, part.edit, part.edit.start)
    elif isinstance(part, Question):
        _check_question(lesson, part)


def _check_question(lesson: Lesson, question: Question) -> None:
    ask = question.ask
    filled(ask.ask, lesson.names)
    right, wrong = answers(lesson, question)
    if not mark(lesson, question, right).right:
        raise DesignError("", f"the engine refuses what should be right: {right}")
    if mark(lesson, question, wrong).right:
        raise DesignError("", f"the engine accepts what should be wrong: {wrong}")


def answers(lesson: Lesson, question: Question) -> tuple[str, str]:
    """Return a right answer to a question, worked out by the engine, and a wrong one.

    Raises:
        DesignError: There is no right one among the choices, or more than one.
    """
    ask = question.ask
    if isinstance(ask, NumberAsk):
        return _number_answers(lesson, ask)
    if isinstance(ask, TypedAsk):
        return ask.example, ask.start
    if isinstance(ask, ClaimAsk):
        truths = truths_of_claims(lesson, ask)
    else:
        values = values_of_choices(lesson, ask)
        best = min(values.values()) if ask.best == "lowest" else max(values.values())
        truths = {label: value == best for label, value in values.items()}
    return _only_one(truths, "choices")


def _number_answers(lesson: Lesson, ask: NumberAsk) -> tuple[str, str]:
    answer = number_of(ask.value, lesson.names)
    if ask.choices is None:
        return repr(answer), repr(answer + 2 * ask.within + 1)
    right = {repr(choice): abs(choice - answer) <= ask.within + 1e-9 for choice in ask.choices}
    return _only_one(right, f"the engine has {answer}; choices")


def _only_one(truths: dict[str, bool], what: str) -> tuple[str, str]:
    right = [label for label, true in truths.items() if true]
    if len(right) != 1:
        raise DesignError("", f"{what}: exactly one must be right, {len(right)} are")
    return right[0], next(label for label, true in truths.items() if not true)
