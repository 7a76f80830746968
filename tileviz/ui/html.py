"""The page's pieces as HTML text; everything that comes from outside is escaped here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Protocol

from tileviz.errors import DesignError
from tileviz.figures.tokens import IDLE, Theme
from tileviz.studies.statement import GLYPHS

_GLYPHS = {str(state): sign for state, sign in GLYPHS.items()} | {"neutral": "–"}
# Streamlit makes icons, emoji and arrows of these even where every sign is escaped; a joiner that
# takes no room keeps the signs apart.
_SHORTHAND = re.compile(r"(?<=:)(?=[\w+/-]+:)|(?<=[<>~=-])(?=[<>=-])")
_JOINER = "\u2060"
# Marks that turn the direction of everything after them, out of the text they stand in.
_TURNS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)
_MARKDOWN = frozenset(r"\`*_{}[]()#+-.!~:$<>|&")
_WORDS = {
    "ok": "Good",
    "attention": "Attention",
    "reject": "Rejected",
    "error": "Error",
    "neutral": "Note",
}


def text(value: object) -> str:
    """Return ``value`` as text that is safe inside HTML.

    Example:
        >>> text("<b>")
        '&lt;b&gt;'
    """
    return escape(str(value).translate(_TURNS), quote=True)


def literal(value: object) -> str:
    """Return ``value`` as Markdown in which no character means anything.

    Labels of controls are Markdown, and what stands in them may come from outside.

    Example:
        >>> print(literal("S[32:1] *now*"))
        S\\[32\\:1\\] \\*now\\*
    """
    apart = _SHORTHAND.sub(_JOINER, str(value).translate(_TURNS))
    return "".join(f"\\{char}" if char in _MARKDOWN else char for char in apart)


def sentence(words: str) -> str:
    """Return ``words`` with a capital at the start and a full stop at the end.

    Example:
        >>> sentence("the reference rejects it")
        'The reference rejects it.'
    """
    return words[:1].upper() + words[1:] + ("" if not words or words.endswith(".") else ".")


def title(name: str, purpose: str) -> str:
    """Return the page title, its purpose on the same line."""
    return f'<div class="tv-title"><h1>{text(name)}</h1><p>{text(purpose)}</p></div>'


def section(name: str, note: str = "") -> str:
    """Return the title of a section, with a hairline above."""
    return f'<div class="tv-section"><h2>{text(name)}</h2>{_note(note)}</div>'


def panel(name: str, note: str = "", right: str = "") -> str:
    """Return the title of a panel, its unit or scope muted behind it."""
    end = f'<span class="tv-right">{text(right)}</span>' if right else ""
    return f'<div class="tv-panel"><h3>{text(name)}</h3>{_note(note)}{end}</div>'


def phase_title(name: str, counts: str, line: int | None, right: str) -> str:
    """Return the title above one phase: name, counts, source line, what columns are."""
    where = f'<span class="tv-muted">line {line}</span>' if line else ""
    return (
        f'<div class="tv-phase"><h3>{text(name)}</h3><span>{text(counts)}</span>{where}'
        f'<span class="tv-right">{text(right)}</span></div>'
    )


def _note(note: str) -> str:
    return f"<span>{text(note)}</span>" if note else ""


def glyph(state: str) -> str:
    """Return a state's sign; screen readers hear the word."""
    sign = f'<span aria-hidden="true">{_GLYPHS[state]}</span>'
    word = f'<span class="tv-sr">{_WORDS[state]}: </span>'
    return f'<span class="tv-glyph tv-{state}">{sign}{word}</span>'


def verdict(state: str, said: str, facts: str = "") -> str:
    """Return the verdict line.

    Example:
        >>> "Conflict-free." in verdict("ok", "Conflict-free.")
        True
    """
    more = f' <span class="tv-facts">{text(facts)}</span>' if facts else ""
    return (
        f'<div class="tv-verdict tv-{state}-box" role="status">{glyph(state)}'
        f"<p><strong>{text(said)}</strong>{more}</p></div>"
    )


@dataclass(frozen=True)
class Fault:
    """A fault in the input, and what the page calls the field it is in."""

    label: str
    error: DesignError


def error_box(faults: Sequence[Fault], note: str = "", more: int = 0) -> str:
    """Return faults in the input: field, what is allowed, the text with a caret below it.

    Args:
        faults: The faults to show, one line each.
        note: What is drawn instead, muted behind the first.
        more: How many further faults are left out.

    Example:
        >>> fault = DesignError("src.layout", 'expected ")"', "S[(4, 32]", position=8)
        >>> "<strong>Source layout: " in error_box([Fault("Source layout", fault)])
        True
    """
    lines = "".join(_fault(fault, "" if number else note) for number, fault in enumerate(faults))
    if more:
        lines += f'<p class="tv-facts">And {more} more like these.</p>'
    return (
        f'<div class="tv-verdict tv-error-box tv-input-error" role="alert"><div>{lines}</div></div>'
    )


def _fault(fault: Fault, note: str) -> str:
    error = fault.error
    said = f"{fault.label}: {error.message}" if fault.label else error.message
    said = said if said.endswith(".") else f"{said}."
    value = ""
    if error.position is not None and isinstance(error.value, str):
        shown, at = _around(error.value, error.position)
        value = f'<pre>{text(shown)}\n<span class="tv-caret">{" " * at}^</span></pre>'
    elif error.value is not None:
        value = f"<pre>{text(_short(error.value))}</pre>"
    muted = f' <span class="tv-facts">{text(note)}</span>' if note else ""
    return f"<p><strong>{text(said)}</strong>{muted}</p>{value}"


_WINDOW = 96


def _around(value: str, position: int) -> tuple[str, int]:
    """Return the part of a long text around the fault, and where the fault is in it."""
    line = "".join(" " if char.isspace() else char for char in value)
    if len(line) <= _WINDOW:
        return line, position
    start = max(0, min(position - _WINDOW // 2, len(line) - _WINDOW))
    before = "…" if start else ""
    after = "…" if start + _WINDOW < len(line) else ""
    return f"{before}{line[start : start + _WINDOW]}{after}", position - start + len(before)


def _short(value: object) -> str:
    shown = str(value)
    return shown if len(shown) <= _WINDOW else f"{shown[:_WINDOW]}…"


class CardLike(Protocol):
    """What a card says: who answers, in which state, the outcome and its evidence."""

    @property
    def who(self) -> str:
        """Who answers."""

    @property
    def state(self) -> str:
        """``ok``, ``attention``, ``reject``, ``error`` or ``neutral``."""

    @property
    def outcome(self) -> str:
        """The answer."""

    @property
    def evidence(self) -> str:
        """What it rests on."""


@dataclass(frozen=True)
class CardText:
    """A card of the interface's own."""

    who: str
    state: str
    outcome: str
    evidence: str


def cards(three: Iterable[CardLike]) -> str:
    """Return cards in one border with dividers."""
    cells = "".join(
        f'<div><span class="tv-who">{text(card.who)}</span>'
        f"<p>{glyph(card.state)}<strong>{text(card.outcome)}</strong></p>"
        f'<span class="tv-muted">{text(card.evidence)}</span></div>'
        for card in three
    )
    return f'<div class="tv-cards">{cells}</div>'


def legend(
    name: str, labels: Sequence[str], theme: Theme, idle: str = "", *, worst: bool = False
) -> str:
    """Return the legend of the six classes and the frames.

    Args:
        name: What the colours mean.
        labels: What each class means.
        theme: The theme that the map was drawn for.
        idle: What idle cells are called, "" where none occur.
        worst: Whether the worst cells are framed.
    """
    entries = [(IDLE, idle)] if idle else []
    entries += list(enumerate(labels))
    items = "".join(
        f'<span><i style="background:{theme.idle if index == IDLE else theme.passes[index]}"></i>'
        f"{text(label)}</span>"
        for index, label in entries
    )
    frames = [(theme.strong, "worst")] if worst else []
    frames.append((theme.hot, "explained below"))
    items += "".join(
        f'<span><i style="box-shadow:inset 0 0 0 2px {colour}"></i>{text(label)}</span>'
        for colour, label in frames
    )
    return f'<div class="tv-legend tv-map-legend"><strong>{text(name)}</strong>{items}</div>'


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], css: str = "", label: str = ""
) -> str:
    """Return a table; cells are HTML already, so escape with ``text`` what comes from outside."""
    head = "".join(f"<th>{text(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>" for cells in rows
    )
    named = f' aria-label="{text(label)}"' if label else ""
    thead = f"<thead><tr>{head}</tr></thead>" if heads else ""
    return f'<table class="tv-table {css}"{named}>{thead}<tbody>{body}</tbody></table>'


def empty(name: str, note: str) -> str:
    """Return a dashed box: what is not there yet, what will happen, what it needs."""
    return f'<div class="tv-empty"><strong>{text(name)}</strong> <span>{text(note)}</span></div>'


def hidden(note: str) -> str:
    """Return text for screen readers only."""
    return f'<p class="tv-sr">{text(note)}</p>'
