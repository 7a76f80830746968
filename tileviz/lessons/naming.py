"""Whether everything that a lesson names is there: found on reading, before anything is drawn."""

from __future__ import annotations

from collections.abc import Iterable

from tileviz.errors import DesignError
from tileviz.lessons.expressions import expressions_in, first_words
from tileviz.lessons.model import (
    Ask,
    Bits,
    ChoiceAsk,
    ClaimAsk,
    Edit,
    Figure,
    Lesson,
    NumberAsk,
    Part,
    Prose,
    Reference,
    TypedAsk,
)

# What a typed answer's design is called among those that are shown.
TYPED = "yours"
_SAID_WITH_A_VERDICT = ("answer", "given", "it")


def check_names(lesson: Lesson) -> None:
    """Refuse a lesson that names a design it does not have.

    Raises:
        DesignError: The first fault, with file and line.
    """
    for part in lesson.parts:
        try:
            _check(lesson, part)
        except DesignError as error:
            raise lesson.at(part.line, error) from None


def _check(lesson: Lesson, part: Part) -> None:
    if isinstance(part, Prose):
        _texts(lesson, [part.text])
    elif isinstance(part, Figure):
        _shown(lesson, part.shown)
    elif isinstance(part, Bits):
        _known(lesson, [part.name])
    elif isinstance(part, Edit):
        _known(lesson, [part.edit.design])
        _no_pictures(part.edit.say)
        _texts(lesson, [part.edit.say])
    else:
        _question(lesson, part.ask)


def _question(lesson: Lesson, ask: Ask) -> None:
    for text in (ask.ask, ask.right, ask.wrong, ask.because):
        _no_pictures(text)
    _texts(lesson, [ask.ask])
    _texts(lesson, [ask.right, ask.wrong, ask.because], _SAID_WITH_A_VERDICT)
    typed = isinstance(ask, TypedAsk)
    if ask.show is not None:
        _shown(lesson, tuple(map(Reference.of, ask.show)), typed=typed)
    if isinstance(ask, NumberAsk):
        _known(lesson, first_words(ask.value))
    elif isinstance(ask, ChoiceAsk):
        _known(lesson, ask.choices.values())
        _known(lesson, first_words(ask.value), ("it",))
    elif isinstance(ask, ClaimAsk):
        _known(lesson, _words(ask.choices.values()))
    else:
        _known(lesson, [ask.design])
        _known(lesson, _words(ask.goals.values()), ("it",))


def _no_pictures(text: str) -> None:
    """Refuse pictures from elsewhere: a browser would fetch them."""
    if "![" in text:
        raise DesignError("", "pictures belong into show, or on a line of the lesson's own")


def _words(expressions: Iterable[str]) -> list[str]:
    return [word for expression in expressions for word in first_words(expression)]


def _texts(lesson: Lesson, texts: Iterable[str], also: tuple[str, ...] = ()) -> None:
    for text in texts:
        _known(lesson, _words(expressions_in(text)), also)


def _known(lesson: Lesson, names: Iterable[str], also: tuple[str, ...] = ()) -> None:
    for name in names:
        if name not in lesson.designs and name not in also:
            known = ", ".join(lesson.designs) or "none"
            raise DesignError(name, f"no design of this name; the lesson has {known}")


def _shown(lesson: Lesson, shown: tuple[Reference, ...], *, typed: bool = False) -> None:
    _known(lesson, [ref.name for ref in shown], (TYPED,) if typed else ())
    studies = {lesson.designs[ref.name].study for ref in shown if ref.name in lesson.designs}
    if len(studies) > 1:
        named = ", ".join(sorted(studies))
        raise DesignError("", f"pictures beside each other need one study, not {named}")
