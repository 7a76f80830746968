"""Two designs of one study, compared: one sentence, every input, the numbers of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tileviz.comparing.inputs import Field, fields_of
from tileviz.comparing.measures import Row, Side
from tileviz.comparing.registry import NUMBERS, StudyNumbers
from tileviz.errors import DesignError
from tileviz.studies.design import Design
from tileviz.studies.documents import is_unicode
from tileviz.studies.registry import as_design, study_of
from tileviz.studies.statement import State, Statement

MAX_NAME = 80
MAX_NOTE = 2000
Better = Literal["left", "right", "equal", "each", "open"]

_NAMES = ("Left", "Right")
_MAX_CLAUSES = 2
_MAX_OTHERS = 3


@dataclass(frozen=True, eq=False)
class Compared:
    """One of the two designs.

    Attributes:
        name: What people call it, "" where they do not.
        design: The design.
        plan: Its plan.
        statement: Its own verdict.
    """

    name: str
    design: Design
    plan: Any
    statement: Statement


@dataclass(frozen=True, eq=False)
class Comparison:
    """Everything said about two designs.

    Attributes:
        left: One design.
        right: The other.
        statement: Which is better and by how much, in one sentence.
        better: The same as a word: ``equal`` where no deciding number differs, ``each`` where
            each side is better at something, ``open`` where nothing decides.
        fields: Every input.
        rows: Every number.
        note: What people wrote about it.
    """

    left: Compared
    right: Compared
    statement: Statement
    better: Better
    fields: tuple[Field, ...]
    rows: tuple[Row, ...]
    note: str = ""

    @property
    def study(self) -> str:
        """The study of both."""
        return self.left.design.study

    @property
    def names(self) -> tuple[str, str]:
        """What both are called, Left and Right where they have no names."""
        return _called(self.left.name, self.right.name)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON: what the page shows, without pictures and texts."""
        return {
            "study": self.study,
            "better": self.better,
            "verdict": _statement_json(self.statement),
            "left": _side_json(self.left),
            "right": _side_json(self.right),
            "inputs": [field.to_json() for field in self.fields],
            "numbers": [row.to_json() for row in self.rows],
            "note": self.note,
        }


def compare(
    left: Design | Mapping[str, Any],
    right: Design | Mapping[str, Any],
    *,
    left_name: str = "",
    right_name: str = "",
    note: str = "",
) -> Comparison:
    """Compare two designs of one study: what differs, which is better, and by how much.

    Args:
        left: One design, or its document.
        right: The other, of the same study.
        left_name: What the left one is called, at most 80 characters; likewise ``right_name``.
        right_name: What the right one is called.
        note: What is worth saying about both, at most 2,000 characters.

    Raises:
        DesignError: They are of different studies, one is no design or cannot be planned, or a
            text is too long.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> plain, padded = (preset(f"banks-{name}").design
        ...                  for name in ("transpose-32x32", "padding-33"))
        >>> compare(plain, padded).statement.sentence
        'Right is better: 1 wavefront against 32, 31 fewer (−97%).'
    """
    left, right = _given("left", left), _given("right", right)
    _check_study(left, right)
    one, two = _side("left", left, left_name), _side("right", right, right_name)
    return compare_planned(one, two, note)


def compare_planned(left: Compared, right: Compared, note: str = "") -> Comparison:
    """Compare two designs whose plans are there already.

    Args:
        left: One design, planned and judged.
        right: The other, of the same study.
        note: What is worth saying about both, at most 2,000 characters.

    Raises:
        DesignError: They are of different studies, or a text is too long.
    """
    _check_study(left.design, right.design)
    within("left_name", left.name, MAX_NAME)
    within("right_name", right.name, MAX_NAME)
    within("note", note, MAX_NOTE)
    numbers = NUMBERS.get(left.design.study)
    rows = () if numbers is None else _rows(numbers, left.plan, right.plan)
    fields = fields_of(left.design, right.design)
    better, statement = _verdict(numbers, left, right, rows, fields)
    return Comparison(left, right, statement, better, fields, rows, note)


def _check_study(left: Design, right: Design) -> None:
    if left.study != right.study:
        message = f"designs of one study compare; left is of {left.study}, right of {right.study}"
        raise DesignError("right", message, None)


def within(field: str, text: str, most: int) -> None:
    """Raise where a text is longer than ``most`` characters, or cannot be written."""
    if len(text) > most:
        raise DesignError(field, f"at most {most} characters", text[:120])
    if not is_unicode(text):
        raise DesignError(field, "is not valid Unicode text", ascii(text[:60]))


def _given(field: str, given: Design | Mapping[str, Any]) -> Design:
    try:
        return as_design(given)
    except DesignError as error:
        raise error.within(field) from None


def _side(field: str, design: Design, name: str) -> Compared:
    study = study_of(design)
    try:
        plan = study.plan(design)
    except DesignError as error:
        raise error.within(field) from None
    return Compared(name, design, plan, study.explain.verdict(plan))


def _rows(numbers: StudyNumbers, left: Any, right: Any) -> tuple[Row, ...]:
    """Return the numbers that at least one of two plans has."""
    same_work = numbers.work(left) == numbers.work(right)
    rows = []
    for measure in numbers.measures(left, right, same_work):
        values = measure.of(left), measure.of(right)
        if values != (None, None):
            rows.append(Row.of(measure, *values))
    return tuple(rows)


def _verdict(
    numbers: StudyNumbers | None,
    left: Compared,
    right: Compared,
    rows: tuple[Row, ...],
    fields: tuple[Field, ...],
) -> tuple[Better, Statement]:
    names = _called(left.name, right.name)
    facts = " ".join(_facts(numbers, left, right, rows))
    if all(field.same for field in fields):
        return "equal", Statement("ok", "Equal: both sides are the same design.", "")
    better, said = decided(rows, names)
    if better in ("equal", "open"):
        return _no_winner(numbers, left, right, rows, facts)
    return better, Statement("attention" if better == "each" else "ok", said, facts)


def decided(rows: Sequence[Row], names: tuple[str, str]) -> tuple[Better, str]:
    """Return which side the deciding numbers call better, and the sentence that says so.

    Args:
        rows: Numbers of both, the weightiest first.
        names: What both are called.

    Returns:
        ``equal`` with no sentence where none of them differs, ``open`` where none decides.
    """
    deciding = [row for row in rows if row.measure.decides]
    wins = {side: [row for row in deciding if row.better == side] for side in ("left", "right")}
    sides: tuple[tuple[Side, str], ...] = (("left", names[0]), ("right", names[1]))
    if wins["left"] and wins["right"]:
        halves = [f"{_quoted(name)}: {_clauses(wins[side][:1], names)}" for side, name in sides]
        return "each", f"Each is better at something. {'; '.join(halves)}."
    for side, name in sides:
        if wins[side]:
            said = _clauses(wins[side][:_MAX_CLAUSES], names)
            return side, f"{_quoted(name)} is better: {said}."
    return ("equal" if deciding else "open"), ""


def _no_winner(
    numbers: StudyNumbers | None,
    left: Compared,
    right: Compared,
    rows: Sequence[Row],
    facts: str,
) -> tuple[Better, Statement]:
    """Say that no deciding number differs, or that there is none."""
    own = "" if numbers is None else numbers.neither(left.plan, right.plan)
    if own:
        equal = own.startswith("Equal")
        state: State = "ok" if equal else "attention"
        return ("equal" if equal else "open"), Statement(state, own, facts)
    said = equals(rows)
    if not said:
        return "open", Statement("attention", "Open: no number here says which is better.", facts)
    return "equal", Statement("ok", said, facts)


def equals(rows: Sequence[Row]) -> str:
    """Return what is said where no deciding number differs; "" where there is none."""
    shown = [row for row in rows if row.measure.decides and isinstance(row.left, (int, float))]
    # A count of what is wrong, 0 on both sides, says less than what is paid.
    plain = [row for row in shown if row.left and not isinstance(row.left, bool)] or shown
    return f"Equal: {_each(plain[0])}." if plain else ""


def _each(row: Row) -> str:
    """Return a number that both have."""
    value = row.measure.text(row.left)
    one, many = row.measure.unit
    if one:
        return f"{value} {one if row.left == 1 else many} each"
    if isinstance(row.left, bool):
        has = row.measure.words[0]
        return f"both {_plural(has)}" if row.left else f"neither {has}"
    return f"{row.measure.label} {value} each"


def _plural(words: str) -> str:
    """Return what is said of one design as it is said of two.

    Example:
        >>> _plural("has a schedule"), _plural("can be launched")
        ('have a schedule', 'can be launched')
    """
    verb, space, rest = words.partition(" ")
    many = {"has": "have", "is": "are", "gives": "give"}.get(verb, verb)
    return f"{many}{space}{rest}"


def _facts(
    numbers: StudyNumbers | None, left: Compared, right: Compared, rows: tuple[Row, ...]
) -> list[str]:
    """Return what else matters: other work, other numbers that differ."""
    if numbers is None:
        return []
    found = []
    other = [
        f"{name} {_plain(one)} and {_plain(two)}"
        for (name, one), (_, two) in zip(
            numbers.work(left.plan), numbers.work(right.plan), strict=False
        )
        if one != two
    ]
    if other:
        found.append(f"Not the same work: {', '.join(other)}.")
    found += numbers.remarks(left.plan, right.plan)
    others = [
        f"{row.measure.label} {row.measure.text(row.left)} against {row.measure.text(row.right)}"
        for row in rows
        if row.measure.aside and not row.measure.decides and not row.same
    ]
    if others:
        found.append(f"Left against right: {', '.join(others[:_MAX_OTHERS])}.")
    return found


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return "×".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _clauses(rows: Sequence[Row], names: tuple[str, str]) -> str:
    return "; ".join(row.said(names) for row in rows)


def _called(left: str, right: str) -> tuple[str, str]:
    """Return what both are called; the same name twice tells nothing."""
    if left.strip() and left.strip() == right.strip():
        return f"{left.strip()} (left)", f"{right.strip()} (right)"
    return left.strip() or _NAMES[0], right.strip() or _NAMES[1]


def _quoted(name: str) -> str:
    return name if name in _NAMES else f"“{name}”"


def _side_json(side: Compared) -> dict[str, Any]:
    return {
        "name": side.name,
        "design": side.design.document(),
        "verdict": _statement_json(side.statement),
    }


def _statement_json(said: Statement) -> dict[str, str]:
    return {"state": said.state, "sentence": said.sentence, "facts": said.facts}
