"""Two designs field by field, defaults included."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tileviz.cuda.kernel import source_lines
from tileviz.studies.design import Design

# Longer values are shown around the place where they differ.
_WINDOW = 90
_LEAD = 24
NOTHING = "–"


@dataclass(frozen=True)
class Field:
    """One field of both designs.

    Attributes:
        name: Its name, dotted where nested (``src.layout``).
        left: Its value in the left design as JSON has it, None where it has none.
        right: Likewise in the right design.
        left_default: Whether the left design leaves it at its default.
        right_default: Likewise the right design.
    """

    name: str
    left: object
    right: object
    left_default: bool = False
    right_default: bool = False

    @property
    def same(self) -> bool:
        """Whether both designs agree; spaces in one line of text mean nothing.

        Example:
            >>> Field("layout", "S[(4,8):(8,1)]", "S[(4, 8):(8, 1)]").same
            True
        """
        same_type = type(self.left) is type(self.right)
        return same_type and _compact(self.left) == _compact(self.right)

    @property
    def texts(self) -> tuple[str, str]:
        """Both values as short text, cut around the first difference where they are long.

        Example:
            >>> Field("dtype", "float32", None).texts
            ('float32', '–')
        """
        left, right = _text(self.left), _text(self.right)
        if max(len(left), len(right)) <= _WINDOW:
            return left, right
        at = next(
            (i for i, pair in enumerate(zip(left, right, strict=False)) if len({*pair}) > 1),
            min(len(left), len(right)),
        )
        start = 0 if self.same or at <= _LEAD else at - _LEAD
        return _cut(left, start), _cut(right, start)

    def to_json(self) -> dict[str, object]:
        """Return ``{"field", "left", "right", "same"}``."""
        return {"field": self.name, "left": self.left, "right": self.right, "same": self.same}


def fields_of(left: Design, right: Design) -> tuple[Field, ...]:
    """Return every field of two designs of one study, in the order in which the study has them.

    Fields that both leave empty are left out.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> one, two = (make_design({"study": "access", "pattern": "column", "layout": layout})
        ...             for layout in ("S[(32, 32):(32, 1)]", "S[(32, 32):(33, 1)]"))
        >>> [field.name for field in fields_of(one, two) if not field.same]
        ['layout']
    """
    sides = [dict(_leaves(design.whole_document(), "")) for design in (left, right)]
    given = [dict(_leaves(design.document(), "")) for design in (left, right)]
    names = _in_order(*(list(side) for side in sides))
    found = []
    for name in names:
        values = [side.get(name) for side in sides]
        if name == "study" or values == [None, None]:
            continue
        defaults = [
            name in side and name not in own for side, own in zip(sides, given, strict=True)
        ]
        found.append(Field(name, values[0], values[1], defaults[0], defaults[1]))
    return tuple(found)


def _leaves(value: Mapping[str, object], path: str) -> Iterator[tuple[str, object]]:
    """Yield every field with its dotted path; lists of plain values are one field."""
    for name, inner in value.items():
        where = f"{path}{name}"
        if isinstance(inner, Mapping):
            yield from _leaves(inner, f"{where}.")
        elif isinstance(inner, list) and inner and all(isinstance(one, Mapping) for one in inner):
            for number, one in enumerate(inner):
                yield from _leaves(one, f"{where}.{number}.")
        else:
            yield where, inner


def _in_order(first: list[str], second: list[str]) -> list[str]:
    """Return the names of both, those of the second alone beside what stands before them."""
    merged = list(first)
    known = set(first)
    at = 0
    for name in second:
        if name in known:
            at = merged.index(name) + 1
        else:
            merged.insert(at, name)
            at += 1
    return merged


def _compact(value: object) -> object:
    if isinstance(value, str) and "\n" not in value:
        return "".join(value.split())
    return value


def _text(value: object) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, str):
        if "\n" in value:
            return f"{len(source_lines(value))} lines of text"
        return re.sub(r",(?=\S)", ", ", value)
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str, start: int) -> str:
    """Return the part of a long text that begins at ``start``."""
    end = start + _WINDOW
    before = "…" if start else ""
    after = f"… ({len(text):,} characters)" if end < len(text) else ""
    return f"{before}{text[start:end]}{after}"
