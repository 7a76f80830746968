"""What a person typed on the Banks page, as text, and the design it stands for.

The form speaks the language of links, so a field, a link and the address bar are read by one parser
and a fault reads the same wherever the text came from. Only the layout is cut in two here: its
swizzle has a field of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

from tileviz.errors import DesignError
from tileviz.export.links import from_query, to_query
from tileviz.studies.access.design import AccessDesign, Op
from tileviz.ui.form_text import named_field, spaced

OPS: tuple[str, ...] = get_args(Op)
SPACES = ("shared", "global")
WIDTHS = ("", "1", "2", "4", "8", "16")
# Patterns with a name; then a coordinate a lane, and byte addresses without any layout.
NAMED = ("row", "column", "ldmatrix")
ACCESSES = (*NAMED, "lanes", "addresses")

# How fields of a design, and keys of a link, are called on the page.
LABELS = {
    "layout": "Layout",
    "swizzle": "Swizzle",
    "pattern": "Access",
    "access": "Access",
    "lanes": "Coordinate of each lane",
    "addresses": "Byte address of each lane",
    "op": "Op",
    "bytes": "Bytes",
    "dtype": "dtype",
    "space": "Memory",
    "also": "Further accesses",
}
_SWIZZLED = re.compile(r"\s*((?:Swizzle|Sw)\s*(?:\([^()]*\)|<[^<>]*>))\s*(?:o|∘)\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class AccessForm:
    """Every field of the page as it was typed; the design's defaults where it was not touched."""

    layout: str = ""
    swizzle: str = ""
    access: str = "row"
    lanes: str = ""
    addresses: str = ""
    op: str = "ld"
    bytes: str = ""
    dtype: str = "float32"
    space: str = "shared"
    also: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> AccessForm:
        """Return the form that shows a link, faults and all.

        Text keeps the link's text; a value that a control cannot show falls back to the default.

        Example:
            >>> form = AccessForm.from_query({"layout": "Sw<5,0,5> o S[32,32]", "op": "lds"})
            >>> form.swizzle, form.layout, form.op
            ('Sw<5, 0, 5>', 'S[32, 32]', 'ld')
        """
        values: dict[str, Any] = {"dtype": query.get("dtype", "float32")}
        values["swizzle"], values["layout"] = split_layout(spaced(query.get("layout", "")))
        pattern = query.get("pattern", "")
        if pattern in NAMED:
            values["access"] = pattern
        elif pattern:
            values |= {"access": "lanes", "lanes": pattern}
        if "addresses" in query:
            values["addresses"] = query["addresses"]
            if not query.get("layout"):
                values["access"] = "addresses"
        for key, allowed in (("op", OPS), ("space", SPACES), ("bytes", WIDTHS)):
            if query.get(key) in allowed:
                values[key] = query[key]
        values["also"] = query.get("also", "")
        return cls(**values)

    @classmethod
    def of(cls, design: AccessDesign) -> AccessForm:
        """Return the form that shows a design."""
        return cls.from_query(to_query(design))

    def with_layout(self, text: str) -> AccessForm:
        """Return the form with another layout, its swizzle cut off.

        Example:
            >>> AccessForm().with_layout("Swizzle(0, 5, 5) o S[(32, 32):(32, 1)]").swizzle
            'Swizzle(0, 5, 5)'
        """
        swizzle, layout = split_layout(text)
        return replace(self, swizzle=swizzle, layout=layout)

    def query(self) -> dict[str, str]:
        """Return the link that the form stands for, faults and all, defaults left out.

        Example:
            >>> AccessForm(layout="S[32, 32]", swizzle="Sw<5,0,5>", access="column").query()
            {'layout': 'Sw<5,0,5> o S[32, 32]', 'pattern': 'column'}
        """
        query = {}
        if self.access == "addresses":
            query["addresses"] = self.addresses
        else:
            swizzle = self.swizzle.strip()
            query["layout"] = f"{swizzle} o {self.layout}" if swizzle else self.layout
            query["pattern"] = self.lanes.strip() if self.access == "lanes" else self.access
            if self.also.strip():
                query["also"] = self.also.strip()
        if self.op != "ld":
            query["op"] = self.op
        if self.bytes:
            query["bytes"] = self.bytes
        if self.dtype.strip() != "float32":
            query["dtype"] = self.dtype.strip()
        if self.space != "shared":
            query["space"] = self.space
        return query

    def read(self) -> tuple[AccessDesign | None, tuple[DesignError, ...]]:
        """Return the design that was typed, or None and what is wrong."""
        design, errors = from_query("access", self.query())
        if errors or not isinstance(design, AccessDesign):
            return None, told(errors)
        return design, ()


FIELDS: tuple[str, ...] = tuple(item.name for item in fields(AccessForm))


def told(errors: tuple[DesignError, ...]) -> tuple[DesignError, ...]:
    """Return the faults without "give addresses or a layout", which another fault has caused."""
    others = tuple(error for error in errors if not error.message.startswith("give either"))
    return others or errors


def split_layout(text: str) -> tuple[str, str]:
    """Return the swizzle at the start of a layout's text, "" for none, and the rest.

    Example:
        >>> split_layout("Sw<3,3,3> o S[(64, 64):(64, 1)]"), split_layout("S[8]")
        (('Sw<3,3,3>', 'S[(64, 64):(64, 1)]'), ('', 'S[8]'))
    """
    found = _SWIZZLED.fullmatch(text)
    return (found[1], found[2]) if found else ("", text)


def label(field: str) -> str:
    """Return what the page calls a field of the design or a key of the link.

    Example:
        >>> label("pattern.3"), label("also.0.bytes"), label("colour")
        ('Access', 'Further accesses', 'Link key “colour”')
    """
    return named_field(field, LABELS)
