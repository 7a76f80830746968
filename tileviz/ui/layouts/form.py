"""What a person typed on the Layouts page, as text, and the design it stands for.

The form speaks the language of links, so a field, a link and the address bar are read by one parser
and a fault reads the same wherever the text came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

from tileviz.errors import DesignError
from tileviz.export.links import from_query, to_query
from tileviz.studies.layout.design import LayoutDesign, uses
from tileviz.ui.form_text import named_field, spaced

OPS: tuple[str, ...] = get_args(LayoutDesign.model_fields["op"].annotation)

# How fields of a design, and keys of a link, are called on the page.
LABELS = {
    "op": "Operation",
    "layout": "Layout",
    "dtype": "dtype",
    "shape": "Shape",
    "region": "Region",
    "outer": "Outer layout",
    "outer_shape": "Outer shape",
    "inner_shape": "Inner shape",
    "cuda_target": "Fuse thread axes",
}


@dataclass(frozen=True)
class LayoutForm:
    """Every field of the page as it was typed; the design's defaults where it was not touched."""

    op: str = "apply"
    layout: str = ""
    dtype: str = "float32"
    shape: str = ""
    region: str = ""
    outer: str = ""
    outer_shape: str = ""
    inner_shape: str = ""
    cuda_target: bool = False

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> LayoutForm:
        """Return the form that shows a link, faults and all.

        Text keeps the link's text; a value that a control cannot show falls back to the default.

        Example:
            >>> form = LayoutForm.from_query({"layout": "S[(4,32", "op": "fold"})
            >>> form.layout, form.op
            ('S[(4, 32', 'apply')
        """
        values: dict[str, Any] = {key: spaced(query[key]) for key in _TEXT_KEYS if key in query}
        if query.get("op") in OPS:
            values["op"] = query["op"]
        values["cuda_target"] = query.get("cuda_target") == "1"
        return cls(**values)

    @classmethod
    def of(cls, design: LayoutDesign) -> LayoutForm:
        """Return the form that shows a design."""
        return cls.from_query(to_query(design))

    def query(self) -> dict[str, str]:
        """Return the link that the form stands for, faults and all.

        Defaults are left out, and so are fields that the operation does not read.

        Example:
            >>> LayoutForm(op="span", layout="S[32:1]", shape="8, 4").query()
            {'layout': 'S[32:1]', 'op': 'span'}
        """
        query = {"layout": self.layout}
        if self.op != "apply":
            query["op"] = self.op
        if self.dtype.strip() != "float32":
            query["dtype"] = self.dtype.strip()
        for key in uses(self.op):
            value = getattr(self, key)
            if value and key != "cuda_target" and value.strip():
                query[key] = value.strip()
            elif value and key == "cuda_target":
                query[key] = "1"
        return query

    def read(self) -> tuple[LayoutDesign | None, tuple[DesignError, ...]]:
        """Return the design that was typed, or None and what is wrong."""
        design, errors = from_query("layout", self.query())
        if errors or not isinstance(design, LayoutDesign):
            return None, errors
        return design, ()


_TEXT_KEYS = ("layout", "dtype", "shape", "region", "outer", "outer_shape", "inner_shape")
FIELDS: tuple[str, ...] = tuple(item.name for item in fields(LayoutForm))


def label(field: str) -> str:
    """Return what the page calls a field of the design or a key of the link.

    Example:
        >>> label("layout"), label("region.1"), label("colour")
        ('Layout', 'Region', 'Link key “colour”')
    """
    return named_field(field, LABELS)
