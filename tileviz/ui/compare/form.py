"""What a person typed on the Compare page, and the two designs it stands for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from tileviz.comparing.comparison import MAX_NAME, MAX_NOTE
from tileviz.comparing.pairs import SIDES, Pair
from tileviz.errors import DesignError
from tileviz.export.links import MAX_LINK, VERSION, page_url
from tileviz.studies.design import Design, shown
from tileviz.ui.compare.cached import design_of

# How fields, and keys of a link, are called on the page.
LABELS = {
    "left": "Left",
    "right": "Right",
    "left_name": "Left name",
    "right_name": "Right name",
    "note": "Note",
    "v": "Link",
}
LIMITS = {"left_name": MAX_NAME, "right_name": MAX_NAME, "note": MAX_NOTE}


@dataclass(frozen=True)
class CompareForm:
    """Every field of the page as it was typed.

    Attributes:
        left: What names the left design: a link, a preset or JSON; likewise ``right``.
        right: What names the right design.
        left_name: What the left one is called; likewise ``right_name``.
        right_name: What the right one is called.
        note: What is worth saying about both.
    """

    left: str = ""
    right: str = ""
    left_name: str = ""
    right_name: str = ""
    note: str = ""

    @classmethod
    def of(cls, pair: Pair) -> CompareForm:
        """Return the form that shows a pair."""
        texts = {name: getattr(pair, name) for name in LIMITS}
        return cls(left=side_text(pair.left), right=side_text(pair.right), **texts)

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> CompareForm:
        """Return the form that shows a link, faults and all.

        Example:
            >>> CompareForm.from_query({"left": "/Layouts?v=1", "colour": "red"}).left
            '/Layouts?v=1'
        """
        return cls(**{name: query[name] for name in FIELDS if name in query})

    @property
    def empty(self) -> bool:
        """Whether neither side names a design."""
        return not (self.left.strip() or self.right.strip())

    def swapped(self) -> CompareForm:
        """Return the form with its sides changed over."""
        return replace(
            self,
            left=self.right,
            right=self.left,
            left_name=self.right_name,
            right_name=self.left_name,
        )

    def pair(self) -> tuple[Pair, tuple[DesignError, ...]]:
        """Return the designs that can be read, and what is wrong with the rest."""
        values: dict[str, Any] = {}
        errors = []
        for side in SIDES:
            found = design_of(getattr(self, side)) if getattr(self, side).strip() else None
            if isinstance(found, DesignError):
                errors.append(found.within(side))
                found = None
            values[side] = found
        for name, most in LIMITS.items():
            text = getattr(self, name)
            if len(text) > most:
                message = f"at most {most:,} characters; the rest is left out"
                errors.append(DesignError(name, message, shown(text)))
            values[name] = text[:most]
        return Pair(**values), tuple(errors)


FIELDS: tuple[str, ...] = tuple(item.name for item in fields(CompareForm))


def side_text(design: Design | None) -> str:
    """Return a design as the text of a side: its link, or JSON where that is too long.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> side_text(preset("layout-row-major").design)
        '/Layouts?v=1&layout=S[(4,32):(32,1)]'
    """
    if design is None:
        return ""
    link = page_url(design)
    return link if len(link) <= MAX_LINK else json.dumps(design.document(), ensure_ascii=False)


def link_faults(query: Mapping[str, str]) -> tuple[DesignError, ...]:
    """Return what is wrong with a link's keys; its sides are read by the form.

    Example:
        >>> [str(fault) for fault in link_faults({"v": "2"})]
        ['v: written by another version of tileviz; this one reads v=1, the rest is used']
    """
    errors = []
    for key, text in query.items():
        if key == "v" and text != VERSION:
            message = f"written by another version of tileviz; this one reads v={VERSION}"
            errors.append(DesignError("v", f"{message}, the rest is used", shown(text)))
        elif key != "v" and key not in FIELDS:
            name = key if len(key) <= 40 else key[:40] + "..."
            message = f"unknown key of a comparison; known: {', '.join(FIELDS)}"
            errors.append(DesignError(name, message, shown(text)))
    return tuple(errors)


def label(field: str) -> str:
    """Return what the page calls a field, a field of a side's design, or a key of the link.

    Example:
        >>> label("left"), label("right.layout"), label("colour")
        ('Left', 'Right, layout', 'Link key “colour”')
    """
    name, _, inner = field.partition(".")
    if name in LABELS:
        return f"{LABELS[name]}, {inner}" if inner else LABELS[name]
    return f"Link key “{field}”" if field else ""
