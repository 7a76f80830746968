"""A number unfolded to its arithmetic: steps that end in the number, and the rule behind it.

A study's ``derive`` module names every number of its plan. What is in the plan's results has the
path it has there as its name, ``ours.write.wavefronts``; long arrays of results (addresses, the
order of tasks) are families: one derivation for any index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tileviz.errors import DesignError
from tileviz.memory import Evidence
from tileviz.studies.arithmetic import Number, shown

_HOLE = re.compile(r"\{(\w+)\}")
_MANY = 12
# The unit of shares of a whole.
SHARE = "share"


@dataclass(frozen=True)
class Bits:
    """A number bit by bit, one row of a table whose columns are bits.

    Attributes:
        label: What the number is.
        value: Its value, as people write it.
        bits: The bits, in place.
        low: Lowest place that belongs to the number.
        high: One beyond the highest.
        taken: Places that are taken to be moved.
        changed: Places that the step sets.
    """

    label: str
    value: int
    bits: int
    low: int
    high: int
    taken: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the row, its bits as text from the highest place down."""
        digits = "".join(
            str(self.bits >> place & 1) for place in range(self.high - 1, self.low - 1, -1)
        )
        return {"label": self.label, "value": self.value, "bits": digits, "low": self.low}


def bit_lines(rows: Sequence[Bits]) -> list[str]:
    """Return rows of bits as lines of text, places below each other.

    Example:
        >>> for line in bit_lines([Bits("word", 9, 9, 0, 6), Bits("bank", 9, 9, 0, 5)]): print(line)
        word  001001  9
        bank   01001  9
    """
    name = max((len(row.label) for row in rows), default=0)
    high = max((row.high for row in rows), default=0)
    places = [f"{row.to_json()['bits']:>{high - row.low}}{' ' * row.low}" for row in rows]
    return [
        f"{row.label:<{name}}  {place}  {row.value}"
        for row, place in zip(rows, places, strict=True)
    ]


@dataclass(frozen=True)
class Step:
    """One step on the way to a number.

    Attributes:
        text: What the step is about.
        arithmetic: Its arithmetic with the result, ``4 + 4 = 8``; "" where there is none. It can be
            evaluated: both sides of every ``=`` have the same value, ``≈`` rounds.
        bits: Where bits matter, a row each.
    """

    text: str
    arithmetic: str = ""
    bits: tuple[Bits, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the step as an object."""
        document: dict[str, Any] = {"text": self.text, "arithmetic": self.arithmetic}
        if self.bits:
            document["bits"] = [row.to_json() for row in self.bits]
        return document


@dataclass(frozen=True)
class Rule:
    """A rule of the hardware that a number rests on, and how well it is known."""

    text: str
    evidence: Evidence

    @property
    def standing(self) -> str:
        """How well it is known, in words.

        Example:
            >>> Rule("", Evidence("derived", "by counting")).standing
            'derived: by counting'
            >>> Rule("", Evidence("measured", "measured on sm_80")).standing
            'measured on sm_80'
        """
        confidence, source = self.evidence.confidence, self.evidence.source
        return source if source.startswith(confidence) else f"{confidence}: {source}"

    def to_json(self) -> dict[str, Any]:
        """Return the rule as an object."""
        confidence, source = self.evidence.confidence, self.evidence.source
        return {"text": self.text, "confidence": confidence, "source": source}


@dataclass(frozen=True, eq=False)
class Derivation:
    """A number and the way to it.

    Attributes:
        name: Its name: the path in the results, or one of its own for what only pages show.
        group: The part of the page it stands in.
        label: What it is, in the page's words.
        value: The number; a truth value where a page says yes or no.
        unit: Its unit, "" for none; ``share`` for a share of a whole.
        work: Makes the steps when they are asked for.
        rule: The rule of the hardware behind it, or None.

    Example:
        >>> made = Derivation("cost", "Costs", "both phases", 8, "wavefronts",
        ...                   lambda: [Step("read and write", "4 + 4 = 8")])
        >>> made.title, made.steps[0].arithmetic
        ('both phases = 8 wavefronts', '4 + 4 = 8')
    """

    name: str
    group: str
    label: str
    value: Number | bool | str
    unit: str
    work: Callable[[], Sequence[Step]] = field(repr=False)
    rule: Rule | None = None

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The way to the number, the number at its end."""
        return tuple(self.work())

    @property
    def amount(self) -> str:
        """The value with its unit; a share as a percentage, too."""
        if self.unit == SHARE:
            return f"{shown(self.value)} ({100 * float(self.value):.1f}%)"
        return f"{shown(self.value)} {self.unit}".rstrip()

    @property
    def title(self) -> str:
        """The number in one line: what it is, and its value with unit."""
        return f"{self.label} = {self.amount}"

    def __str__(self) -> str:
        lines = [self.title]
        for at, step in enumerate(self.steps, start=1):
            lines.append(f"{at:>3}. {step.text}")
            lines += [f"       {step.arithmetic}"] if step.arithmetic else []
            lines += [f"       {line}" for line in bit_lines(step.bits)]
        if self.rule is not None:
            lines.append(f"Rule: {self.rule.text} ({self.rule.standing})")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the derivation as an object, its steps included."""
        return {
            "name": self.name,
            "group": self.group,
            "label": self.label,
            "value": self.value,
            "unit": self.unit,
            "steps": [step.to_json() for step in self.steps],
            "rule": None if self.rule is None else self.rule.to_json(),
        }


@dataclass(frozen=True)
class Parameter:
    """One index of a family.

    Attributes:
        name: As in the family's name.
        choices: What it may be.
        default: Where to begin.
        first: What a page calls the first choice of a range; names and results count from 0.
    """

    name: str
    choices: range | tuple[str, ...]
    default: int | str
    first: int = 0

    def read(self, text: str) -> int | str:
        """Return the choice that a text names.

        Raises:
            DesignError: The text names none.
        """
        if isinstance(self.choices, range):
            # Longer texts are no index, and Python refuses to read thousands of digits.
            if text.isascii() and text.isdigit() and len(text) < 20 and int(text) in self.choices:
                return int(text)
        elif text in self.choices:
            return text
        raise DesignError(self.name, f"must be {self.allowed}", text[:40])

    @property
    def allowed(self) -> str:
        """The choices in words."""
        if isinstance(self.choices, range):
            return f"{self.choices[0]} to {self.choices[-1]}"
        return f"one of {', '.join(self.choices)}"


@dataclass(frozen=True, eq=False)
class Family:
    """Numbers that are too many to list: one for any index.

    Attributes:
        template: The name with its indices in braces: ``ours.src_addr.{register}.{lane}``.
        group: The part of the page they stand in.
        label: What they are, in the page's words.
        parameters: The indices, none of them empty.
        make: Returns the derivation of one, from the indices in their order.
    """

    template: str
    group: str
    label: str
    parameters: tuple[Parameter, ...]
    make: Callable[..., Derivation] = field(repr=False)

    def at(self, chosen: Mapping[str, int | str] | None = None) -> Derivation:
        """Return the derivation of one number; indices left out are the default ones."""
        given = chosen or {}
        return self.make(*(given.get(one.name, one.default) for one in self.parameters))

    def named(self, name: str) -> Derivation | None:
        """Return the derivation of the number called ``name``, or None.

        Raises:
            DesignError: The name is one of this family's, with an index out of range.
        """
        pattern = re.escape(self.template).replace(r"\{", "{").replace(r"\}", "}")
        found = re.fullmatch(_HOLE.sub(r"(?P<\1>[^.]+)", pattern), name)
        if found is None:
            return None
        return self.at({one.name: one.read(found[one.name]) for one in self.parameters})

    def to_json(self) -> dict[str, Any]:
        """Return the family's name, label, and what its indices may be."""
        return {
            "name": self.template,
            "group": self.group,
            "label": self.label,
            "parameters": {one.name: one.allowed for one in self.parameters},
        }


@dataclass(frozen=True, eq=False)
class Numbers:
    """Every number of a plan or a run.

    Attributes:
        derivations: Those listed one by one, in the page's order.
        families: Those addressed by an index.
    """

    derivations: tuple[Derivation, ...]
    families: tuple[Family, ...] = ()

    def __iter__(self) -> Iterator[Derivation]:
        return iter(self.derivations)

    @property
    def opening(self) -> str:
        """The name of the number to show first: one that has arithmetic, where there is one.

        Example:
            >>> given = Derivation("k", "K", "k", 0, "", lambda: [Step("By definition.", "0")])
            >>> both = Derivation("cost", "K", "cost", 8, "", lambda: [Step("Both.", "4 + 4 = 8")])
            >>> Numbers((given, both)).opening
            'cost'
        """
        for one in self.derivations:
            if any(" = " in step.arithmetic or " ≈ " in step.arithmetic for step in one.steps):
                return one.name
        names = [one.name for one in self.derivations] + [one.template for one in self.families]
        return names[0] if names else ""

    def find(self, name: str) -> Derivation:
        """Return the derivation of the number called ``name``.

        Raises:
            DesignError: There is none; names some that there are.

        Example:
            >>> three = Derivation("size.0", "Sizes", "rows", 3, "", lambda: [Step("given", "3")])
            >>> Numbers((three,)).find("size.0").value
            3
            >>> Numbers((three,)).find("size.1")
            Traceback (most recent call last):
            tileviz.errors.DesignError: number: no such number; there are size.0
        """
        for derivation in self.derivations:
            if derivation.name == name:
                return derivation
        for family in self.families:
            found = family.named(name)
            if found is not None:
                return found
        names = [one.name for one in self.derivations] + [one.template for one in self.families]
        near = [known for known in names if name.rpartition(".")[2] in known] or names
        listed = ", ".join(near[:_MANY]) + (", ..." if len(near) > _MANY else "")
        raise DesignError("number", f"no such number; there are {listed}", name[:80])

    def __str__(self) -> str:
        lines, group = [], ""
        for one in self.derivations:
            lines += [one.group] if one.group != group else []
            lines.append(f"  {one.title}  [{one.name}]")
            group = one.group
        lines += ["Any index"] if self.families else []
        lines += [f"  {family.label}  [{family.template}]" for family in self.families]
        return "\n".join(lines)

    def __add__(self, other: Numbers) -> Numbers:
        return Numbers(self.derivations + other.derivations, self.families + other.families)

    def to_json(self) -> dict[str, Any]:
        """Return every number without its steps, and the families."""
        return {
            "numbers": [
                {
                    "name": one.name,
                    "group": one.group,
                    "label": one.label,
                    "value": one.value,
                    "unit": one.unit,
                }
                for one in self.derivations
            ],
            "families": [family.to_json() for family in self.families],
        }
