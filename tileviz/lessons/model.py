"""A lesson's parts: prose, pictures, things to edit, and questions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tileviz.errors import DesignError
from tileviz.lessons.results import Result
from tileviz.studies.design import Design, shown, validated

MAX_CHOICES = 8
MAX_SAID = 1500

Said = Annotated[str, Field(max_length=MAX_SAID)]
Expression = Annotated[str, Field(min_length=1, max_length=200)]
Label = Annotated[str, Field(min_length=1, max_length=120)]

_REFERENCE = re.compile(r"([a-z][a-z0-9_]{0,39})(?:/([1-9]))?")


@dataclass(frozen=True)
class Reference:
    """A design whose pictures are shown.

    Attributes:
        name: The design.
        picture: Only this one of its pictures, counted from 1; None for all.
    """

    name: str
    picture: int | None = None

    @classmethod
    def of(cls, text: str) -> Reference:
        """Read ``NAME`` or ``NAME/2``.

        Raises:
            DesignError: It is neither.

        Example:
            >>> Reference.of("column/2")
            Reference(name='column', picture=2)
        """
        found = _REFERENCE.fullmatch(text.strip())
        if found is None:
            message = "must be a design's name, or NAME/2 for its second picture"
            raise DesignError("", message, shown(text))
        return cls(found[1], int(found[2]) if found[2] else None)


class _Ask(BaseModel):
    """What every question has.

    Attributes:
        ask: The question, Markdown.
        right: Said after a right answer.
        wrong: Said after a wrong one.
        because: Said after both: how the answer comes about.
        show: Designs whose pictures appear with the verdict; by default those the answer names.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ask: Annotated[str, Field(min_length=1, max_length=MAX_SAID)]
    right: Said = ""
    wrong: Said = ""
    because: Said = ""
    show: tuple[str, ...] | None = Field(default=None, max_length=4)


class NumberAsk(_Ask):
    """Asks for a number that the engine works out.

    Attributes:
        value: Where it lies in the engine's results.
        unit: What it counts.
        within: How far an answer may be off.
        choices: Numbers to choose from, instead of a field to type into.
        mistakes: What to say of a certain wrong number.
    """

    kind: Literal["number"]
    value: Expression
    unit: Annotated[str, Field(max_length=40)] = ""
    within: Annotated[float, Field(ge=0)] = 0.0
    choices: Annotated[tuple[float, ...], Field(min_length=2, max_length=MAX_CHOICES)] | None = None
    mistakes: dict[str, Said] = Field(default_factory=dict, max_length=MAX_CHOICES)

    @model_validator(mode="after")
    def _different(self) -> NumberAsk:
        if self.choices is not None and len(set(self.choices)) < len(self.choices):
            raise DesignError("choices", "must all differ", list(self.choices))
        for key in self.mistakes:
            try:
                float(key)
            except ValueError:
                raise DesignError("mistakes", "its keys must be numbers", shown(key)) from None
        return self


class ChoiceAsk(_Ask):
    """Asks which design has the lowest, or the highest, value.

    Attributes:
        choices: A label to the name of a design.
        value: What is compared; ``it`` is each design in turn.
        best: Which end wins.
        unit: What the value counts.
    """

    kind: Literal["choice"]
    choices: Annotated[dict[Label, str], Field(min_length=2, max_length=MAX_CHOICES)]
    value: Expression
    best: Literal["lowest", "highest"] = "lowest"
    unit: Annotated[str, Field(max_length=40)] = ""


class ClaimAsk(_Ask):
    """Asks which claim is true.

    Attributes:
        choices: A claim to the condition under which it is true.
        mistakes: What to say of a certain wrong claim.
    """

    kind: Literal["claim"]
    choices: Annotated[dict[Label, Expression], Field(min_length=2, max_length=MAX_CHOICES)]
    mistakes: dict[str, Said] = Field(default_factory=dict, max_length=MAX_CHOICES)

    @model_validator(mode="after")
    def _known(self) -> ClaimAsk:
        unknown = next((key for key in self.mistakes if key not in self.choices), None)
        if unknown is not None:
            raise DesignError("mistakes", "must name one of the choices", shown(unknown))
        return self


class _Typed(BaseModel):
    """A field of a design that people type into.

    Attributes:
        design: The design it starts from.
        field: The field, dotted where nested, such as ``src.layout``.
        template: Text around what is typed, with one ``{}``, such as ``S[(32, 32):({}, 1)]``.
        label: What the field is called.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    design: str
    field: Annotated[str, Field(pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)*$", max_length=60)]
    template: Annotated[str, Field(max_length=400)] = "{}"
    label: Annotated[str, Field(max_length=60)] = ""

    @model_validator(mode="after")
    def _one_place(self) -> _Typed:
        if self.template.count("{}") != 1:
            raise DesignError("template", "needs exactly one {}", self.template)
        return self


class TypedAsk(_Typed, _Ask):
    """Asks for a design that reaches a goal; what is typed is planned.

    Attributes:
        goals: What is wanted in words, to a condition over ``it``.
        start: What the field holds at first; it must miss a goal.
        example: One text that reaches every goal, to prove that there is one.
    """

    kind: Literal["design"]
    goals: Annotated[dict[Label, Expression], Field(min_length=1, max_length=MAX_CHOICES)]
    start: Annotated[str, Field(max_length=400)]
    example: Annotated[str, Field(max_length=400)]


class EditPart(_Typed):
    """A field to play with.

    Attributes:
        say: What to try, Markdown.
        start: What the field holds at first.
        show: Which picture of the design, counted from 1; None for all.
    """

    say: Annotated[str, Field(min_length=1, max_length=MAX_SAID)]
    start: Annotated[str, Field(max_length=400)]
    show: Annotated[int, Field(ge=1, le=9)] | None = None


Ask = NumberAsk | ChoiceAsk | ClaimAsk | TypedAsk
ASKS: Mapping[str, type[BaseModel]] = {
    "number": NumberAsk,
    "choice": ChoiceAsk,
    "claim": ClaimAsk,
    "design": TypedAsk,
}


@dataclass(frozen=True)
class Prose:
    """Markdown text, its ``{{ }}`` not worked out yet."""

    line: int
    text: str


@dataclass(frozen=True)
class Figure:
    """The live pictures of some designs of one study.

    Attributes:
        line: Where it stands in the file.
        caption: What to look at.
        shown: The designs.
    """

    line: int
    caption: str
    shown: tuple[Reference, ...]


@dataclass(frozen=True)
class Bits:
    """One element's way to its bank, bit by bit.

    Attributes:
        line: Where it stands in the file.
        caption: What to look at.
        name: An access design with a layout.
        coordinate: The element.
    """

    line: int
    caption: str
    name: str
    coordinate: tuple[int, ...]


@dataclass(frozen=True)
class Edit:
    """Something to change and look at."""

    line: int
    edit: EditPart


@dataclass(frozen=True)
class Question:
    """A question.

    Attributes:
        line: Where it stands in the file.
        number: Its number in the lesson, from 1.
        ask: The question itself.
    """

    line: int
    number: int
    ask: Ask


Part = Prose | Figure | Bits | Edit | Question


@dataclass(frozen=True)
class Lesson:
    """A lesson.

    Attributes:
        file: Name of its file.
        name: Its name in links, such as ``why-33-columns``.
        title: Its first line.
        summary: Its first paragraph.
        designs: Every design, by the name that the text uses.
        parts: Everything below the summary, in order.
    """

    file: str
    name: str
    title: str
    summary: str
    designs: Mapping[str, Design]
    parts: tuple[Part, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions, in order."""
        return tuple(part for part in self.parts if isinstance(part, Question))

    @property
    def names(self) -> dict[str, Any]:
        """What expressions may begin with: every design's result."""
        return {name: Result(name, design) for name, design in self.designs.items()}

    def at(self, line: int, error: DesignError) -> DesignError:
        """Return an error with the file and line in front."""
        return located(self.file, line, error)


def located(file: str | Path, line: int, error: DesignError) -> DesignError:
    """Return an error with the file and line in front.

    Example:
        >>> print(located("02_x.md", 14, DesignError("ask", "this field is required")))
        02_x.md, line 14: ask: this field is required
    """
    return DesignError(f"{Path(file).name}, line {line}", str(error), error.value)


def read_ask(document: Mapping[str, Any]) -> Ask:
    """Return the question of a JSON object.

    Raises:
        DesignError: Its kind is unknown, or a field is at fault.

    Example:
        >>> read_ask({"kind": "riddle"})
        Traceback (most recent call last):
        ...
        tileviz.errors.DesignError: kind: must be one of number, choice, claim, design
    """
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in ASKS:
        raise DesignError("kind", f"must be one of {', '.join(ASKS)}", shown(kind))
    return cast(Ask, checked(ASKS[kind], document))


def checked(model: type[BaseModel], document: Mapping[str, Any]) -> BaseModel:
    """Return a part made from a JSON object, faults reported as those of a design are.

    Raises:
        DesignError: A field is at fault.
    """
    return validated(cast("type[Design]", model), document)
