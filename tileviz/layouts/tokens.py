"""Tokens of the layout notation, and the numbers in them.

Digits are hostile: only ASCII digits count, and a long run of them is refused before conversion.
"""

from __future__ import annotations

import re

from tileviz.errors import DesignError

MAX_STRIDE = 1 << 40
_MAX_DIGITS = 13  # of a number up to MAX_STRIDE

_TOKEN = re.compile(r"\s*(?:([0-9]+)|([A-Za-z_][A-Za-z0-9_]*)|(\"[^\"]*\"|'[^']*')|(\S))", re.ASCII)
_KINDS = ("", "int", "name", "quoted")


class Tokens:
    """The tokens of one text and the place reached in it.

    Kinds are "int", "name", "quoted", "end", or the symbol itself.

    Args:
        text: Any text: a character that begins no token is a symbol of its own.

    Example:
        >>> tokens = Tokens("4@ tx")
        >>> tokens.kinds
        ['int', '@', 'name', 'end']
        >>> tokens.integer(), tokens.take("@"), tokens.expected('")"')
        (4, True, DesignError('layout: expected ")" before "tx"'))
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.kinds: list[str] = []
        self.values: list[str] = []
        self.places: list[int] = []
        end = 0
        for match in _TOKEN.finditer(text):
            group = match.lastindex or 4
            value = match[group]
            self.kinds.append(value if group == 4 else _KINDS[group])
            self.values.append(value)
            self.places.append(match.start(group))
            end = match.end()
        self.kinds.append("end")
        self.values.append("")
        self.places.append(end)
        self.at = 0

    def error(self, message: str, token: int | None = None) -> DesignError:
        """Return the error at ``token`` (the next one)."""
        place = self.places[self.at if token is None else token]
        return DesignError("layout", message, self.text, position=place)

    def expected(self, what: str) -> DesignError:
        """Return the error that ``what`` is missing before the next token."""
        kind, value = self.kinds[self.at], self.values[self.at]
        before = "the end of the text" if kind == "end" else f'"{value[:24]}"'
        return self.error(f"expected {what} before {before}")

    def take(self, symbol: str) -> bool:
        """Consume ``symbol`` if it comes next."""
        if self.kinds[self.at] == symbol:
            self.at += 1
            return True
        return False

    def expect(self, symbol: str) -> None:
        """Consume ``symbol``; it must come next."""
        if not self.take(symbol):
            raise self.expected(f'"{symbol}"')

    def take_name(self, *names: str) -> bool:
        """Consume one of ``names`` if it comes next."""
        if self.kinds[self.at] == "name" and self.values[self.at] in names:
            self.at += 1
            return True
        return False

    def integer(self) -> int:
        """Consume a whole number, with its sign."""
        start = self.at
        negative = self.take("-")
        if self.kinds[self.at] != "int":
            raise self.expected("a whole number")
        digits = self.values[self.at].lstrip("0") or "0"
        value = int(digits) if len(digits) <= _MAX_DIGITS else MAX_STRIDE + 1
        if value > MAX_STRIDE:
            raise self.error(f"numbers go up to 2**40 = {MAX_STRIDE} either way", start)
        self.at += 1
        return -value if negative else value

    def skip_prefix(self) -> None:
        """Consume the reference's ``T.``."""
        if (
            self.kinds[self.at] == "name"
            and self.values[self.at] == "T"
            and self.kinds[self.at + 1] == "."
        ):
            self.at += 2
