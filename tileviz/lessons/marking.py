"""Marking an answer: the engine works out what is right, and says how it comes about."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tileviz.errors import DesignError
from tileviz.lessons.expressions import (
    filled,
    first_words,
    holds,
    number_of,
    paths_in,
    shown,
)
from tileviz.lessons.model import (
    ChoiceAsk,
    ClaimAsk,
    Lesson,
    NumberAsk,
    Question,
    Reference,
    TypedAsk,
)
from tileviz.lessons.naming import TYPED
from tileviz.lessons.reasons import reason, unfolded
from tileviz.lessons.results import Result
from tileviz.lessons.typed import same_elements, with_typed
from tileviz.studies.derivation import Derivation
from tileviz.studies.design import Design
from tileviz.studies.statement import Statement, TextTable

# Numbers of the engine may be the result of a division.
# A comma that stands elsewhere is half the world's decimal point.
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(?!\d|,)")
_CLOSE = 1e-9
# Numbers unfolded for one answer.
_MAX_DERIVED = 4


@dataclass(frozen=True)
class Marked:
    """An answer, marked.

    Attributes:
        right: Whether it is right.
        statement: The verdict in one sentence.
        said: What the lesson says to this answer, Markdown.
        table: The value of every choice, or every goal; None where there is one number only.
        reasons: The engine's words for each design shown: (name, words).
        designs: The designs of ``shown``, by name.
        shown: What to draw.
        derivations: The arithmetic of the engine's numbers: (design, number).
    """

    right: bool
    statement: Statement
    said: str
    table: TextTable | None
    reasons: tuple[tuple[str, str], ...]
    designs: Mapping[str, Design]
    shown: tuple[Reference, ...]
    derivations: tuple[tuple[str, Derivation], ...] = ()


@dataclass(frozen=True)
class _Outcome:
    """What one kind of question makes of an answer."""

    right: bool
    sentence: str
    remark: str
    values: Mapping[str, Any]
    table: TextTable | None = None
    named: tuple[str, ...] = ()
    paths: tuple[tuple[str, str], ...] = ()
    typed: Design | None = None


def mark(lesson: Lesson, question: Question, given: str) -> Marked:
    """Return an answer, marked by what the engine works out now.

    Args:
        lesson: The lesson.
        question: One of its questions.
        given: The answer as text: a number, a choice's label, or what was typed.

    Raises:
        DesignError: It is no answer yet: nothing, no number, no design. Says what is expected.

    Example:
        >>> from tileviz.lessons.shelf import shelf
        >>> lesson = shelf().lesson("banks-and-words")
        >>> mark(lesson, lesson.questions[0], "-1").right
        False
    """
    if not given.strip():
        raise DesignError("", "give an answer first")
    ask = question.ask
    if isinstance(ask, NumberAsk):
        found = _number(lesson, ask, given)
    elif isinstance(ask, ChoiceAsk):
        found = _choice(lesson, ask, given)
    elif isinstance(ask, ClaimAsk):
        found = _claim(lesson, ask, given)
    else:
        found = _typed(lesson, ask, given)
    names = {**lesson.names, **found.values, "given": given.strip()}
    words = (ask.right if found.right else ask.wrong, found.remark, ask.because)
    said = "\n\n".join(filled(text, names) for text in words if text)
    designs = dict(lesson.designs)
    if found.typed is not None:
        designs[TYPED] = found.typed
    refs = _shown(ask.show, found)
    told = dict.fromkeys(ref.name for ref in refs)
    return Marked(
        found.right,
        Statement("ok" if found.right else "attention", found.sentence),
        said,
        found.table,
        tuple((name, reason(designs[name])) for name in told),
        designs,
        refs,
        _derived(designs, found.paths),
    )


def _derived(
    designs: Mapping[str, Design], paths: Iterable[tuple[str, str]]
) -> tuple[tuple[str, Derivation], ...]:
    """Return the numbers that the engine can unfold, each once."""
    found = {path: unfolded(designs[path[0]], path[1]) for path in paths if path[0] in designs}
    known = [(name, made) for (name, _), made in found.items() if made is not None]
    return tuple(known[:_MAX_DERIVED])


def _shown(wanted: tuple[str, ...] | None, found: _Outcome) -> tuple[Reference, ...]:
    """Return what appears with the verdict: as the lesson says, else what the answer names."""
    if wanted is not None:
        return tuple(map(Reference.of, wanted))
    names = found.named if found.typed is None else (TYPED,)
    return tuple(map(Reference, names))


def read_number(given: str, unit: str = "") -> float:
    """Return an answer that must be a number; its unit may stand behind it.

    Raises:
        DesignError: It is none.

    Example:
        >>> read_number(" 1,024 bytes", "bytes"), read_number("1 byte", "bytes")
        (1024.0, 1.0)
    """
    text = given.strip().removesuffix("%").strip()
    for ending in (unit, unit.removesuffix("s")):
        text = text.removesuffix(ending).strip()
    try:
        number = float(text.replace(",", "") if _THOUSANDS.match(text) else text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DesignError("", "a number is expected", given.strip()[:60])
    return number


def _number(lesson: Lesson, ask: NumberAsk, given: str) -> _Outcome:
    answer = number_of(ask.value, lesson.names)
    number = read_number(given, ask.unit)
    right = abs(number - answer) <= ask.within + _CLOSE
    counted = with_unit(answer, ask.unit)
    sentence = (
        f"Right: {counted}." if right else f"Not {shown(number)}. The engine finds {counted}."
    )
    if right and shown(number) != shown(answer):
        sentence = f"Close enough: the engine finds {counted}."
    known = {float(key): text for key, text in ask.mistakes.items()}
    return _Outcome(
        right,
        sentence,
        "" if right else known.get(number, ""),
        {"answer": answer},
        named=first_words(ask.value),
        paths=paths_in(ask.value),
    )


def _choice(lesson: Lesson, ask: ChoiceAsk, given: str) -> _Outcome:
    chosen = _chosen(tuple(ask.choices), given)
    values = values_of_choices(lesson, ask)
    best = min(values.values()) if ask.best == "lowest" else max(values.values())
    right = values[chosen] == best
    winner = next(label for label, value in values.items() if value == best)
    counted = f"{winner} has the {ask.best}, {with_unit(best, ask.unit)}"
    rows = tuple(
        (f"{label} ←" if value == best else label, with_unit(value, ask.unit))
        for label, value in values.items()
    )
    sentence = f"Right: {counted}." if right else f"Not {chosen}. {counted}."
    return _Outcome(
        right,
        sentence,
        "",
        {"answer": best},
        TextTable("every choice, worked out now", ("choice", ask.unit or "value"), rows),
        tuple(dict.fromkeys(ask.choices.values())),
        _paths_of(ask.value, *dict.fromkeys(ask.choices[label] for label in (winner, chosen))),
    )


def _paths_of(expression: str, *names: str) -> tuple[tuple[str, str], ...]:
    """Return the paths of an expression over ``it``, for each of some designs."""
    paths = paths_in(expression)
    return tuple((name if it == "it" else it, path) for name in names for it, path in paths)


def values_of_choices(lesson: Lesson, ask: ChoiceAsk) -> dict[str, float]:
    """Return the value of every choice, by its label."""
    names = lesson.names
    return {
        label: number_of(ask.value, {**names, "it": names[name]})
        for label, name in ask.choices.items()
    }


def _claim(lesson: Lesson, ask: ClaimAsk, given: str) -> _Outcome:
    chosen = _chosen(tuple(ask.choices), given)
    truths = truths_of_claims(lesson, ask)
    right = truths[chosen]
    true = next((label for label, value in truths.items() if value), "none of them")
    sentence = f"Right: {true}." if right else f"Not so. The engine finds: {true}."
    rows = tuple((label, "true" if value else "false") for label, value in truths.items())
    words = dict.fromkeys(
        word for condition in ask.choices.values() for word in first_words(condition)
    )
    return _Outcome(
        right,
        sentence.replace("..", "."),
        "" if right else ask.mistakes.get(chosen, ""),
        {"answer": true},
        TextTable("every claim, checked now", ("claim", "is"), rows),
        tuple(words),
        paths_in(ask.choices[true]) if true in ask.choices else (),
    )


def truths_of_claims(lesson: Lesson, ask: ClaimAsk) -> dict[str, bool]:
    """Return whether each claim is true."""
    names = lesson.names
    return {label: holds(condition, names) for label, condition in ask.choices.items()}


def _chosen(labels: tuple[str, ...], given: str) -> str:
    """Return the label that an answer names, by itself or by its number from 1."""
    text = given.strip()
    if text in labels:
        return text
    if text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= len(labels):
        return labels[int(text[:4]) - 1]
    raise DesignError("", f"must be one of: {'; '.join(labels)}", text[:60])


def _typed(lesson: Lesson, ask: TypedAsk, given: str) -> _Outcome:
    made = with_typed(lesson.designs, ask, given)
    same_elements(lesson.designs[ask.design], made)
    result = Result(TYPED, made)
    names = {**lesson.names, "it": result}
    reached = {goal: holds(condition, names) for goal, condition in ask.goals.items()}
    missed = [goal for goal, value in reached.items() if not value]
    right = not missed
    sentence = (
        "Right: every goal is reached." if right else f"Not yet, a goal is missed: {missed[0]}."
    )
    if len(missed) > 1:
        sentence = f"Not yet, {len(missed)} goals are missed."
    rows = tuple((goal, "✓ reached" if value else "✕ missed") for goal, value in reached.items())
    return _Outcome(
        right,
        sentence,
        "",
        {"it": result},
        TextTable("goals, checked by planning what you typed", ("goal", ""), rows),
        paths=tuple(path for goal in ask.goals.values() for path in _paths_of(goal, TYPED)),
        typed=made,
    )


def with_unit(value: float, unit: str) -> str:
    """Return a number with its unit, one of a thing in the singular.

    Example:
        >>> with_unit(1, "wavefronts"), with_unit(32.0, "wavefronts"), with_unit(95.3, "%")
        ('1 wavefront', '32 wavefronts', '95.3 %')
    """
    if unit.endswith("s") and value == 1:
        unit = unit[:-1]
    return f"{shown(value)} {unit}".strip()
