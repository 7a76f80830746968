"""Two CUDA texts side by side: equal runs folded, changed lines paired, changed words marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from tileviz.cuda.kernel import source_lines
from tileviz.studies.design import Design
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import study_of

# Beyond these the search, which grows with the square, and the table would take too long.
MAX_LINES = 1500
MAX_COLUMNS = 240
_EXACT_LINES = 400
_CONTEXT = 3
# A shorter equal run is not worth folding.
_LEAST_FOLDED = 4
# Below this share of equal words two lines are not versions of each other.
_ALIKE = 0.5
_WORD = re.compile(r"\w+|\s+|[^\w\s]")

NO_CUDA = "this study generates no CUDA"

Change = Literal["same", "changed", "left", "right"]
# A piece of a line, and whether the other line has something else there.
Piece = tuple[str, bool]


@dataclass(frozen=True)
class Line:
    """One line of one text.

    Attributes:
        number: Its number, from 1.
        pieces: Its text in pieces, each with whether it differs from the other line's.
    """

    number: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class LinePair:
    """What stands side by side: a line of each text, or of one alone.

    Attributes:
        change: ``same``, ``changed``, or ``left`` or ``right`` where only that text has a line.
        left: The left line, or None.
        right: The right line, or None.
    """

    change: Change
    left: Line | None
    right: Line | None


@dataclass(frozen=True)
class Stretch:
    """Lines that follow each other.

    Attributes:
        pairs: The lines.
        folded: Whether they are equal and far from any change.
    """

    pairs: tuple[LinePair, ...]
    folded: bool = False


@dataclass(frozen=True)
class CodeDifference:
    """Two texts beside each other.

    Attributes:
        stretches: Everything that was compared, in order.
        changed: Pairs of lines that differ.
        only_left: Lines that only the left text has.
        only_right: Lines that only the right text has.
        left_out: Lines at the end of the longer text that were not compared.
    """

    stretches: tuple[Stretch, ...]
    changed: int
    only_left: int
    only_right: int
    left_out: int = 0

    @property
    def same(self) -> bool:
        """Whether no line differs."""
        return not (self.changed or self.only_left or self.only_right or self.left_out)

    @property
    def said(self) -> str:
        """How much differs, in words."""
        if self.same:
            return "The two texts are the same."
        parts = []
        if self.changed:
            parts.append(f"{self.changed} line{'s' * (self.changed != 1)} changed")
        for count, side in ((self.only_left, "left"), (self.only_right, "right")):
            if count:
                parts.append(f"{count} only on the {side}")
        said = ", ".join(parts) or "No difference so far"
        more = f" The first {MAX_LINES:,} lines are compared." if self.left_out else ""
        return f"{said[:1].upper()}{said[1:]}.{more}"


@dataclass(frozen=True)
class Code:
    """The CUDA of a design.

    Attributes:
        source: The text that runs; "" where there is none.
        reason: Why there is none.
    """

    source: str
    reason: str = ""


def code_of(design: Design, plan: Any) -> Code:
    """Return the CUDA of a plan, or the reason there is none.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> found = preset("layout-row-major").design
        >>> code_of(found, None).reason
        'this study generates no CUDA'
    """
    study = study_of(design)
    if not study.runnable:
        return Code("", NO_CUDA)
    try:
        return Code(study.kernel(plan).source)
    except NotRunnable as error:
        return Code("", str(error))


def differences(left: str, right: str) -> CodeDifference:
    """Compare two texts line by line.

    Example:
        >>> found = differences("a\\nb = 1;\\nc", "a\\nb = 2;\\nc\\nd")
        >>> found.said
        '1 line changed, 1 only on the right.'
        >>> found.stretches[0].pairs[1].left.pieces
        (('b = ', False), ('1', True), (';', False))
    """
    texts = [source_lines(text) for text in (left, right)]
    longest = max(map(len, texts))
    shown = [lines[:MAX_LINES] for lines in texts]
    pairs = list(_pairs(shown[0], shown[1]))
    counts = {change: sum(pair.change == change for pair in pairs) for change in _COUNTED}
    return CodeDifference(
        tuple(_stretches(pairs)),
        counts["changed"],
        counts["left"],
        counts["right"],
        max(longest - MAX_LINES, 0),
    )


_COUNTED: tuple[Change, ...] = ("changed", "left", "right")


def _pairs(left: Sequence[str], right: Sequence[str]) -> Iterator[LinePair]:
    """Yield what stands side by side; lines are aligned without their indentation."""
    exact = max(len(left), len(right)) <= _EXACT_LINES
    keys = [[" ".join(line.split()) for line in lines] for lines in (left, right)]
    matcher = SequenceMatcher(None, keys[0], keys[1], autojunk=not exact)
    for _, first, first_end, second, second_end in matcher.get_opcodes():
        together = min(first_end - first, second_end - second)
        for step in range(together):
            yield _pair(first + step, left, second + step, right)
        for one in range(first + together, first_end):
            yield LinePair("left", _whole(one, left[one]), None)
        for two in range(second + together, second_end):
            yield LinePair("right", None, _whole(two, right[two]))


def _whole(at: int, text: str) -> Line:
    return Line(at + 1, ((_cut(text), False),))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_COLUMNS else f"{text[:MAX_COLUMNS]}…"


def _pair(one: int, left: Sequence[str], two: int, right: Sequence[str]) -> LinePair:
    """Return two lines that stand at the same place, their words marked where they are alike."""
    whole = _whole(one, left[one]), _whole(two, right[two])
    if left[one] == right[two]:
        return LinePair("same", *whole)
    words = [_WORD.findall(_cut(text)) for text in (left[one], right[two])]
    matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
    if matcher.ratio() < _ALIKE:
        return LinePair("changed", *whole)
    sides: tuple[list[Piece], list[Piece]] = ([], [])
    for tag, first, first_end, second, second_end in matcher.get_opcodes():
        ends = ((first, first_end), (second, second_end))
        for side, own, (start, end) in zip(sides, words, ends, strict=True):
            if end > start:
                piece = "".join(own[start:end])
                # Indentation stands out enough as it is.
                side.append((piece, tag != "equal" and not piece.isspace()))
    return LinePair("changed", Line(one + 1, tuple(sides[0])), Line(two + 1, tuple(sides[1])))


def _stretches(pairs: Sequence[LinePair]) -> Iterator[Stretch]:
    """Yield the lines, equal runs far from a change as stretches of their own."""
    near = [False] * len(pairs)
    for at, pair in enumerate(pairs):
        if pair.change != "same":
            low, high = max(at - _CONTEXT, 0), min(at + _CONTEXT + 1, len(pairs))
            near[low:high] = [True] * (high - low)
    start = 0
    while start < len(pairs):
        end = start
        while end < len(pairs) and near[end] == near[start]:
            end += 1
        folded = not near[start] and end - start >= _LEAST_FOLDED
        yield Stretch(tuple(pairs[start:end]), folded)
        start = end
