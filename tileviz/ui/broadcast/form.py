"""What a person typed on the Broadcast page, as text, and the design it stands for.

The form speaks the language of links, so a field, a link and the address bar are read by one parser
and a fault reads the same wherever the text came from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tileviz.errors import DesignError
from tileviz.export.links import from_query, to_query
from tileviz.studies.broadcast.design import DTYPES, MAX_SMS, BroadcastDesign
from tileviz.studies.broadcast.expressions import EXPRESSIONS
from tileviz.ui.form_text import named_field

# How fields of a design, and keys of a link, are called on the page.
LABELS = {
    "out": "Output shape",
    "operands": "Operand shapes",
    "expression": "Expression",
    "dtype": "dtype",
    "sm_count": "SMs",
}


@dataclass(frozen=True)
class BroadcastForm:
    """Every field of the page as it was typed; the design's defaults where it was not touched."""

    out: str = ""
    operands: str = ""
    expression: str = "add"
    dtype: str = "float32"
    sm_count: int = 80

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> BroadcastForm:
        """Return the form that shows a link, faults and all.

        Text keeps the link's text; a value that a control cannot show falls back to the default.

        Example:
            >>> form = BroadcastForm.from_query({"out": "8,x", "operands": "1,8;8", "dtype": "f"})
            >>> form.out, form.operands, form.dtype
            ('8, x', '1, 8; 8', 'float32')
        """
        values: dict[str, Any] = {key: _spaced(query[key]) for key in _TEXTS if key in query}
        for key, allowed in (("expression", tuple(EXPRESSIONS)), ("dtype", DTYPES)):
            if query.get(key) in allowed:
                values[key] = query[key]
        count = query.get("sm_count", "").strip()
        if count.isascii() and count.isdigit() and len(count) < 6 and 1 <= int(count) <= MAX_SMS:
            values["sm_count"] = int(count)
        return cls(**values)

    @classmethod
    def of(cls, design: BroadcastDesign) -> BroadcastForm:
        """Return the form that shows a design."""
        return cls.from_query(to_query(design))

    def query(self) -> dict[str, str]:
        """Return the link that the form stands for, faults and all, defaults left out.

        Example:
            >>> BroadcastForm(out="4, 8", operands="8", sm_count=132).query()
            {'out': '4, 8', 'operands': '8', 'sm_count': '132'}
        """
        query = {key: value for key in _TEXTS if (value := getattr(self, key).strip())}
        for key in ("expression", "dtype", "sm_count"):
            if getattr(self, key) != _DEFAULTS[key]:
                query[key] = str(getattr(self, key))
        return query

    def read(self) -> tuple[BroadcastDesign | None, tuple[DesignError, ...]]:
        """Return the design that was typed, or None and what is wrong."""
        design, errors = from_query("broadcast", self.query())
        if errors or not isinstance(design, BroadcastDesign):
            return None, errors
        return design, ()


_TEXTS = ("out", "operands")
FIELDS: tuple[str, ...] = tuple(item.name for item in fields(BroadcastForm))
_DEFAULTS: dict[str, object] = {item.name: item.default for item in fields(BroadcastForm)}


def _spaced(text: str) -> str:
    """Return a link's text with room behind its commas, as people write it."""
    return re.sub(r"([,;])(?=\S)", r"\1 ", text)


def label(field: str) -> str:
    """Return what the page calls a field of the design or a key of the link.

    Example:
        >>> label("out"), label("operands.1"), label("colour")
        ('Output shape', 'Operand shapes', 'Link key “colour”')
    """
    return named_field(field, LABELS)
