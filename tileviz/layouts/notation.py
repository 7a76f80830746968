"""The text form of layouts: ``S[(4, 32):(32, 1)] + R[2:4@warpid] + 5@warpid``.

The grammar is that of the interface document: the reference's own notation (with or without its
``T.`` prefixes and ``TileLayout(...)``), swizzles in the reference's letters or in CuTe's, and CuTe
layouts. Where the reference drops text silently, this parser refuses with a message.
"""

from __future__ import annotations

from functools import lru_cache

from tileviz.errors import DesignError
from tileviz.layouts.axes import AXES, LayoutError, unknown_axis
from tileviz.layouts.cute import cute_of
from tileviz.layouts.swizzle import ComposeLayout, Swizzle
from tileviz.layouts.tile_layout import Iter, TileLayout
from tileviz.layouts.tokens import MAX_STRIDE, Tokens

MAX_CHARACTERS = 4096
MAX_RANK = 8
MAX_ELEMENTS = 1 << 20
_MAX_DEPTH = 8

_SWIZZLED = ("Swizzle", "Sw", "SwizzleLayout", "ComposeLayout")
_BOOLEANS = {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}


def parse_layout(text: object, field: str = "layout") -> TileLayout | ComposeLayout:
    """Return the layout that ``text`` describes.

    Args:
        text: At most 4,096 characters; at most 8 iters and 1,048,576 elements in shard and replica
            each; extents from 1; strides and offsets up to 2**40 either way.
        field: The field that an error names.

    Raises:
        DesignError: The text is malformed or over a limit; ``position`` points at the fault.

    Example:
        >>> print(parse_layout("T.TileLayout(T.S[(8, 4):(4 @ Axis.laneid, 1)]) "))
        S[(8, 4):(4@laneid, 1)]
        >>> print(parse_layout("Sw<3,4,3> o S[8,64]"), parse_layout("64 + S[16]"))
        Swizzle(4, 3, 3) o S[(8, 64):(64, 1)] S[16:1] + 64
        >>> print(parse_layout("((2, 4), 8):((1, 16), 2)"))
        S[(4, 2, 8):(16, 1, 2)]
        >>> parse_layout("S[(4, 32]")
        Traceback (most recent call last):
        tileviz.errors.DesignError: layout: expected ")" before "]"
    """
    if not isinstance(text, str):
        raise DesignError(field, "a layout is text such as S[(4, 32):(32, 1)]", text)
    if len(text) > MAX_CHARACTERS:
        message = f"a layout text has at most {MAX_CHARACTERS} characters, this one {len(text)}"
        raise DesignError(field, message, text[:80])
    if field == "layout":
        return _parse(text)
    try:
        return _parse(text)
    except DesignError as error:
        raise DesignError(field, error.message, error.value, position=error.position) from None


def format_layout(layout: TileLayout | ComposeLayout) -> str:
    """Return the short text form, which ``parse_layout`` reads back.

    Example:
        >>> format_layout(parse_layout("R[2:4@warpid] + 5@warpid + S[(4,32)]"))
        'S[(4, 32):(32, 1)] + R[2:4@warpid] + 5@warpid'
    """
    return str(layout)


@lru_cache(maxsize=256)
def _parse(text: str) -> TileLayout | ComposeLayout:
    return _Parser(text).whole()


class _Sum:
    """What the terms of a sum have given so far."""

    def __init__(self) -> None:
        self.shard: tuple[Iter, ...] | None = None
        self.replica: tuple[Iter, ...] | None = None
        self.offset: dict[str, int] = {}


class _Parser(Tokens):
    """Recursive descent over the tokens of one text."""

    def whole(self) -> TileLayout | ComposeLayout:
        """Parse the whole text."""
        if self.kinds[0] == "end":
            raise self.error("a layout text is empty; write for instance S[(4, 32):(32, 1)]")
        layout = self.layout()
        if self.kinds[self.at] != "end":
            if self.kinds[self.at] in (")", "]"):
                raise self.error(f'"{self.values[self.at]}" closes nothing')
            raise self.expected('"+" or the end')
        return layout

    def layout(self) -> TileLayout | ComposeLayout:
        self.skip_prefix()
        if self.kinds[self.at] == "name" and self.values[self.at] in _SWIZZLED:
            return self.composed() if self.values[self.at] == "ComposeLayout" else self.swizzled()
        return self.plain()

    def plain(self) -> TileLayout:
        """Parse a layout without a swizzle."""
        if self.take_name("TileLayout"):
            self.expect("(")
            layout = self.sum_layout()
            self.expect(")")
            return layout
        return self.cute() if self.is_cute() else self.sum_layout()

    def tile(self) -> TileLayout:
        """Parse the layout under a swizzle."""
        self.skip_prefix()
        start = self.at
        # Looked at before it is parsed, so that a chain of swizzles cannot recurse.
        if self.kinds[start] == "name" and self.values[start] in _SWIZZLED:
            raise self.error("a swizzle applies to a tile, not to another swizzle")
        layout = self.plain()
        axes = [name for name in layout.axes if name != "m"]
        axes += [item.axis for item in layout.replica if item.axis != "m"]
        if axes:
            raise self.error(f"a swizzle applies to memory only, and its tile has {axes[0]}", start)
        return layout

    def swizzled(self) -> ComposeLayout:
        start = self.at
        name = self.values[self.at]
        self.at += 1
        close = ">" if name == "Sw" else ")"
        self.expect("<" if name == "Sw" else "(")
        letters = self.letters()
        inner = self.inner(close) if name != "Sw" else True
        self.expect(close)
        order = (letters[1], letters[0], letters[2]) if name == "Sw" else letters
        if name == "Sw" and letters[2] < 0:
            # CuTe's negative S is the outer form.
            order, inner = (order[0], order[1], -letters[2]), False
        swizzle = self.swizzle(order, inner, start)
        if name == "SwizzleLayout":
            if swizzle.size > MAX_ELEMENTS:
                raise self.error(f"a layout has at most {MAX_ELEMENTS} elements", start)
            return ComposeLayout(swizzle, TileLayout([Iter(swizzle.size, 1, "m")]))
        if not self.take_name("o"):
            raise self.expected('"o" and the layout that is swizzled')
        return ComposeLayout(swizzle, self.tile())

    def composed(self) -> ComposeLayout:
        """Parse the reference's ``ComposeLayout(M, B, S, tile, swizzle_inner=bool)``."""
        start = self.at
        self.at += 1
        self.expect("(")
        letters = self.letters()
        self.expect(",")
        tile = self.tile()
        inner = self.inner(")")
        self.expect(")")
        return ComposeLayout(self.swizzle(letters, inner, start), tile)

    def letters(self) -> tuple[int, int, int]:
        first = self.integer()
        self.expect(",")
        second = self.integer()
        self.expect(",")
        return first, second, self.integer()

    def inner(self, close: str) -> bool:
        """Parse the optional ``, inner=bool`` before ``close``."""
        if self.kinds[self.at] == close or not self.take(","):
            return True
        if self.take_name("inner", "swizzle_inner"):
            self.expect("=")
        if self.kinds[self.at] not in ("name", "int") or self.values[self.at] not in _BOOLEANS:
            raise self.expected("True or False")
        self.at += 1
        return _BOOLEANS[self.values[self.at - 1]]

    def swizzle(self, letters: tuple[int, int, int], inner: bool, start: int) -> Swizzle:
        try:
            return Swizzle(*letters, inner=inner)
        except LayoutError as error:
            raise self.error(str(error), start) from None

    def is_cute(self) -> bool:
        """Return whether a number or "(" follows, and a ":" outside of square brackets."""
        if self.kinds[self.at] not in ("(", "int"):
            return False
        depth = 0
        for kind in self.kinds[self.at :]:
            if kind == "[":
                depth += 1
            elif kind == "]":
                depth -= 1
            elif kind == ":" and depth == 0:
                return True
        return False

    def cute(self) -> TileLayout:
        """Parse a CuTe layout: every mode is one dimension, its digits slowest first."""
        start = self.at
        layout = cute_of(self)
        digits = [digit for mode in layout.modes for digit in reversed(mode.digits)]
        extents = [(extent, start) for extent, _ in digits]
        return TileLayout(self.iters(extents, [(step, "m", start) for _, step in digits], start))

    def sum_layout(self) -> TileLayout:
        start = self.at
        parts = _Sum()
        self.sum(parts, 0)
        if parts.shard is None and parts.replica is None:
            raise self.error("a layout needs a term S[...]", start)
        return TileLayout(parts.shard or (), parts.replica or (), parts.offset)

    def sum(self, parts: _Sum, depth: int) -> None:
        self.term(parts, depth)
        while self.take("+"):
            self.term(parts, depth)

    def term(self, parts: _Sum, depth: int) -> None:
        self.skip_prefix()
        start = self.at
        if self.kinds[start] == "name" and self.kinds[start + 1] == "[":
            letter = self.values[start]
            if letter not in ("S", "R"):
                raise self.expected("S or R")
            if (parts.shard if letter == "S" else parts.replica) is not None:
                raise self.error(f"a layout has one {letter}[...]; this is a second", start)
            self.at += 2
            items = self.body(letter)
            self.expect("]")
            if letter == "S":
                parts.shard = items
            else:
                parts.replica = items
        elif self.kinds[start] == "(" and not self.is_pair():
            if depth == _MAX_DEPTH:
                raise self.error(f"parentheses nest at most {_MAX_DEPTH} deep")
            self.at += 1
            self.sum(parts, depth + 1)
            self.expect(")")
        else:
            value, axis = self.entry()
            total = parts.offset.get(axis, 0) + value
            if abs(total) > MAX_STRIDE:
                raise self.error(f"offsets go up to 2**40 = {MAX_STRIDE} either way", start)
            parts.offset[axis] = total

    def is_pair(self) -> bool:
        """Return whether "(" int "," follows."""
        at = self.at + 1
        if self.kinds[at] == "-":
            at += 1
        return self.kinds[at] == "int" and self.kinds[at + 1] == ","

    def body(self, letter: str) -> tuple[Iter, ...]:
        start = self.at
        extents = self.entries()
        if self.kinds[start] != "(" and len(extents) > 1 and self.kinds[self.at] == ":":
            raise self.error("put the extents in parentheses: S[(8, 4):(4, 1)]", start)
        plain = []
        for value, axis, token in extents:
            if axis is not None:
                raise self.error("an extent is a plain whole number, without an axis", token)
            plain.append((value, token))
        if self.take(":"):
            strides = [(value, axis or "m", token) for value, axis, token in self.entries()]
            return self.iters(plain, strides, start)
        compact = []
        stride = 1
        for value, token in reversed(plain):
            compact.append((stride, "m", token))
            stride *= max(value, 1)
        return self.iters(plain, compact[::-1], start)

    def entries(self) -> list[tuple[int, str | None, int]]:
        """Parse a tuple (or a bare list) of entries: value, axis or None, token."""
        if not self.take("("):
            result = [self.tuple_entry()]
            while self.take(","):
                result.append(self.tuple_entry())
            return result
        result = []
        while self.kinds[self.at] != ")":
            result.append(self.tuple_entry())
            if not self.take(","):
                break
        self.expect(")")
        return result

    def tuple_entry(self) -> tuple[int, str | None, int]:
        token = self.at
        if self.kinds[token] == "int" and self.kinds[token + 1] != "@":
            return self.integer(), None, token
        if self.kinds[token] == "-" and self.kinds[token + 2 : token + 3] != ["@"]:
            return self.integer(), None, token
        value, axis = self.entry()
        return value, axis, token

    def entry(self) -> tuple[int, str]:
        """Parse a value on an axis; an axis alone has the value 1."""
        kind = self.kinds[self.at]
        if kind == "(":
            self.at += 1
            value = self.integer()
            self.expect(",")
            axis = self.axis()
            self.expect(")")
            return value, axis
        if kind in ("int", "-"):
            value = self.integer()
            return value, self.axis() if self.take("@") else "m"
        if kind in ("name", "quoted"):
            return 1, self.axis()
        raise self.expected("a number, an axis, S[...] or R[...]")

    def axis(self) -> str:
        if self.take_name("Axis"):
            self.expect(".")
        kind, name = self.kinds[self.at], self.values[self.at]
        if kind == "quoted":
            name = name[1:-1]
        elif kind != "name":
            raise self.expected("an axis")
        if name not in AXES:
            raise self.error(unknown_axis(name))
        self.at += 1
        return name

    def iters(
        self, extents: list[tuple[int, int]], strides: list[tuple[int, str, int]], start: int
    ) -> tuple[Iter, ...]:
        """Pair extents with strides, within the limits."""
        if len(extents) != len(strides):
            raise self.error(f"{len(extents)} extents and {len(strides)} strides", start)
        if len(extents) > MAX_RANK:
            raise self.error(f"at most {MAX_RANK} iters, these are {len(extents)}", start)
        size = 1
        for value, token in extents:
            if value < 1:
                raise self.error("extents are whole numbers from 1", token)
            size *= value
        if size > MAX_ELEMENTS:
            raise self.error(f"at most {MAX_ELEMENTS} elements, these are {size}", start)
        return tuple(
            Iter(extent, stride, axis)
            for (extent, _), (stride, axis, _) in zip(extents, strides, strict=True)
        )
