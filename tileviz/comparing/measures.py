"""Numbers that are compared: how they read, which direction is better, and by how much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tileviz.studies.schedule.explain import mebibytes

Value: TypeAlias = "int | float | str | bool | None"
Form = Literal["count", "percent", "bytes", "ratio", "times", "yes", "text"]
Direction = Literal["lower", "higher", ""]
Side = Literal["left", "right"]

NOTHING = "–"
_MINUS = "−"


@dataclass(frozen=True)
class Measure:
    """One number of a plan.

    Attributes:
        key: Its name in JSON.
        label: Its name for people.
        of: Takes it from a plan; None where the plan has no such number.
        form: How it is written.
        better: Which direction is better; "" where neither is.
        decides: Whether it says which of two designs is better.
        slack: A difference up to this is none.
        unit: What is counted, as one and as many: ``("wavefront", "wavefronts")``.
        words: For ``yes``: what is said of a design that has it, and of one that has not.
        aside: Whether a difference is worth a word where another number decides.
    """

    key: str
    label: str
    of: Callable[[Any], Value]
    form: Form = "count"
    better: Direction = ""
    decides: bool = False
    slack: float = 0.0
    unit: tuple[str, str] = ("", "")
    words: tuple[str, str] = ("has it", "has not")
    aside: bool = False

    def text(self, value: Value) -> str:
        """Return a value as people read it.

        Example:
            >>> Measure("rate", "hit rate", lambda plan: 0, "percent").text(0.8981)
            '89.8%'
        """
        if value is None:
            return NOTHING
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, str):
            return value
        if self.form == "percent":
            return f"{100 * value:.1f}%"
        if self.form == "bytes":
            return mebibytes(value)
        if self.form == "times":
            return f"{value:.3g}"
        return f"{value:.3f}" if self.form == "ratio" else f"{value:,}"


@dataclass(frozen=True)
class Row:
    """One number of both plans.

    Attributes:
        measure: What it is.
        left: Its value on the left.
        right: Its value on the right.
        better: The side that is better; None where they are equal or neither is.
    """

    measure: Measure
    left: Value
    right: Value
    better: Side | None

    @classmethod
    def of(cls, measure: Measure, left: Value, right: Value) -> Row:
        """Return a row, judged."""
        return cls(measure, left, right, _better(measure, left, right))

    @property
    def same(self) -> bool:
        """Whether there is no difference worth a word."""
        if _numbers(self.left, self.right) and not isinstance(self.left, bool):
            return abs(float(self.right or 0) - float(self.left or 0)) <= self.measure.slack
        return self.left == self.right

    @property
    def difference(self) -> str:
        """The right value less the left one, with its sign; "" where there is none.

        Example:
            >>> count = Measure("read", "read", lambda plan: 0)
            >>> Row.of(count, 4, 16).difference, Row.of(count, 4, 4).difference
            ('+12', '')
        """
        left, right = self.left, self.right
        if left == right or not _numbers(left, right) or isinstance(left, bool):
            return ""
        change = float(right or 0) - float(left or 0)
        sign = _MINUS if change < 0 else "+"
        if self.measure.form == "percent":
            return f"{sign}{100 * abs(change):.1f} points"
        if self.measure.form == "count" and change == int(change):
            return f"{sign}{abs(int(change)):,}"
        return f"{sign}{self.measure.text(abs(change))}"

    @property
    def mark(self) -> str:
        """The difference, or where it is none in figures whether the values are equal: = or ≠.

        Example:
            >>> kind = Measure("kind", "kind", lambda plan: 0, "text")
            >>> Row.of(kind, "xor", "f2").mark, Row.of(kind, "xor", "xor").mark
            ('≠', '=')
        """
        return self.difference or ("=" if self.left == self.right else "≠")

    def said(self, names: tuple[str, str]) -> str:
        """Return the row as a clause about its better side.

        Args:
            names: What the left and the right design are called.

        Example:
            >>> cost = Measure("cost", "cost", lambda plan: 0, better="lower",
            ...                unit=("wavefront", "wavefronts"))
            >>> Row.of(cost, 1, 32).said(("Left", "Right"))
            '1 wavefront against 32, 31 fewer (−97%)'
        """
        good, bad = (self.left, self.right) if self.better == "left" else (self.right, self.left)
        if isinstance(good, bool):
            other = names[1] if self.better == "left" else names[0]
            return f"it {self.measure.words[0]}, {_inside(other)} {self.measure.words[1]}"
        one, many = self.measure.unit
        unit = one if good == 1 else many
        label = "" if unit else f"{self.measure.label} "
        value = f"{self.measure.text(good)}{f' {unit}' if unit else ''}"
        return f"{label}{value} against {self.measure.text(bad)}{_amount(self.measure, good, bad)}"

    def to_json(self) -> dict[str, object]:
        """Return ``{"name", "label", "unit", "left", "right", "difference", "better"}``."""
        plain = _numbers(self.left, self.right) and not isinstance(self.left, bool)
        return {
            "name": self.measure.key,
            "label": self.measure.label,
            "unit": self.measure.unit[1] or None,
            "left": self.left,
            "right": self.right,
            "difference": (self.right or 0) - (self.left or 0) if plain else None,  # type: ignore[operator]
            "same": self.same,
            "better": self.better,
            "decides": self.measure.decides,
        }


def _numbers(*values: Value) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


def _better(measure: Measure, left: Value, right: Value) -> Side | None:
    if not measure.better or not _numbers(left, right):
        return None
    change = float(right or 0) - float(left or 0)
    if abs(change) <= measure.slack:
        return None
    return "right" if (change < 0) == (measure.better == "lower") else "left"


def _inside(name: str) -> str:
    """Return a side's name as it stands inside a sentence."""
    return name.lower() if name in ("Left", "Right") else name


def _amount(measure: Measure, good: Value, bad: Value) -> str:
    """Return how far apart two values are, in the unit that people compare them in."""
    if not isinstance(good, (int, float)) or not isinstance(bad, (int, float)):
        return ""
    change = good - bad
    if measure.form == "percent":
        return f", {100 * abs(change):.1f} points {'higher' if change > 0 else 'lower'}"
    share = "" if not bad else f"{'+' if change > 0 else _MINUS}{100 * abs(change) / bad:.0f}%"
    if measure.form == "count" and change == int(change):
        word = "more" if change > 0 else "fewer"
        return f", {abs(int(change)):,} {word}{f' ({share})' if share else ''}"
    return f" ({share})" if share else ""
