"""A verdict in one sentence, with its state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "attention", "reject", "error"]

GLYPHS: dict[State, str] = {"ok": "✓", "attention": "▲", "reject": "⊘", "error": "✕"}


@dataclass(frozen=True)
class Statement:
    """One sentence in profiler words, then facts.

    Attributes:
        state: ``ok`` (proven or measured good), ``attention`` (better exists), ``reject`` (the
            reference refuses; a result, not a fault) or ``error``.
        sentence: The verdict, ending in a full stop.
        facts: What else matters, muted.
    """

    state: State
    sentence: str
    facts: str = ""

    @property
    def glyph(self) -> str:
        """The state's sign, so that colour never stands alone."""
        return GLYPHS[self.state]


@dataclass(frozen=True)
class TextTable:
    """A small table for the terminal: title, column heads, rows of text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
