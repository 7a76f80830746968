"""What differs between designs: field by field, and line by line of their CUDA."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Above this many lines the search for a common order, which grows with their square, is left out.
_EXACT_LINES = 1000


@dataclass(frozen=True)
class Marks:
    """Lines of two texts, 1-based, that the other text has not."""

    left: tuple[int, ...]
    right: tuple[int, ...]


def line_marks(left: str, right: str) -> Marks:
    """Return the lines that one text has and the other has not.

    Example:
        >>> line_marks("a\\nb\\nc", "a\\nx\\ny\\nc")
        Marks(left=(2,), right=(2, 3))
    """
    texts = left.split("\n"), right.split("\n")
    if max(map(len, texts)) > _EXACT_LINES:
        return Marks(_absent(texts[0], texts[1]), _absent(texts[1], texts[0]))
    matcher = difflib.SequenceMatcher(None, *texts, autojunk=False)
    lines: tuple[list[int], list[int]] = ([], [])
    for tag, first, first_end, second, second_end in matcher.get_opcodes():
        if tag != "equal":
            lines[0].extend(range(first + 1, first_end + 1))
            lines[1].extend(range(second + 1, second_end + 1))
    return Marks(tuple(lines[0]), tuple(lines[1]))


def _absent(lines: Sequence[str], other: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the lines that stand more often here than in the other text."""
    left = Counter(other)
    left.subtract(lines)
    absent = []
    # The last of equal lines are the ones too many.
    for number, line in reversed(list(enumerate(lines, start=1))):
        if left[line] < 0:
            left[line] += 1
            absent.append(number)
    return tuple(reversed(absent))


@dataclass(frozen=True)
class FieldValues:
    """One field of some designs.

    Attributes:
        name: Its path in the document, ``src.layout``.
        values: Its value in each design as text; "" where it is left at its default.
        differs: Whether the values are not all the same.
    """

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the values are not all the same."""
        return len(set(self.values)) > 1


def field_values(documents: Sequence[Mapping[str, Any]]) -> tuple[FieldValues, ...]:
    """Return every field that some of the documents give, in their order.

    Args:
        documents: Design documents.

    Example:
        >>> one, two = field_values([{"study": "access", "bytes": 4},
        ...                          {"study": "access", "bytes": 8}])
        >>> one.differs, two.name, two.values
        (False, 'bytes', ('4', '8'))
    """
    flat = [dict(_leaves(document)) for document in documents]
    names = dict.fromkeys(name for fields in flat for name in fields)
    return tuple(
        FieldValues(name, tuple(fields.get(name, "") for fields in flat)) for name in names
    )


def _leaves(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        elif isinstance(value, str):
            yield prefix + name, value
        else:
            yield prefix + name, json.dumps(value, ensure_ascii=False)
