"""What a person typed on the Permute page, as text, and the design it stands for.

The form speaks the language of links, so a field, a link and the address bar are read by one parser
and a fault reads the same wherever the text came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

from tileviz.errors import DesignError
from tileviz.export.links import from_query, to_query
from tileviz.studies.design import MAX_RANK
from tileviz.studies.permute.design import PermuteDesign
from tileviz.ui.form_text import spaced

SPACES: tuple[str, ...] = get_args(PermuteDesign.model_fields["space"].annotation)
SCOPES: tuple[str, ...] = get_args(PermuteDesign.model_fields["scope"].annotation)
MAX_STAGES = 4096

# How fields of a design, and keys of a link, are called on the page.
_LABELS = {
    "src_shape": "Source shape",
    "src.shape": "Source shape",
    "dst_shape": "Destination shape",
    "dst.shape": "Destination shape",
    "src_region": "Source region",
    "src.region": "Source region",
    "dst_region": "Destination region",
    "dst.region": "Destination region",
    "src_dtype": "Source dtype",
    "src.dtype": "Source dtype",
    "dst_dtype": "Destination dtype",
    "dst.dtype": "Destination dtype",
    "src": "Source layout",
    "dst": "Destination layout",
    "dtype": "dtype",
    "stages.dim": "Stage dimension",
    "stages": "Stages",
    "space": "Memory",
    "scope": "Scope",
    "block": "Block",
    "in_place": "In place",
}


@dataclass(frozen=True)
class PermuteForm:
    """Every field of the page as it was typed; the design's defaults where it was not touched."""

    src: str = ""
    dst: str = ""
    dtype: str = "float32"
    stages: int = 1
    stage_dim: int = 0
    src_shape: str = ""
    src_region: str = ""
    src_dtype: str = ""
    dst_shape: str = ""
    dst_region: str = ""
    dst_dtype: str = ""
    space: str = "shared"
    in_place: bool = False
    scope: str = "warp"
    block: str = "32, 1, 1"

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> PermuteForm:
        """Return the form that shows a link, faults and all.

        Text keeps the link's text; a value that a control cannot show falls back to the default.

        Example:
            >>> form = PermuteForm.from_query({"src": "S[(4,32", "stages": "2@1", "space": "far"})
            >>> form.src, form.stages, form.stage_dim, form.space
            ('S[(4, 32', 2, 1, 'shared')
        """
        values: dict[str, Any] = {}
        for key in _TEXT_KEYS:
            if key in query:
                values[key] = spaced(query[key])
        count, _, dim = query.get("stages", "").partition("@")
        values["stages"] = _within(count, 1, MAX_STAGES, 1)
        values["stage_dim"] = _within(dim, 0, MAX_RANK - 1, 0)
        for key, allowed in (("space", SPACES), ("scope", SCOPES)):
            if query.get(key) in allowed:
                values[key] = query[key]
        values["in_place"] = query.get("in_place") == "1"
        return cls(**values)

    @classmethod
    def of(cls, design: PermuteDesign) -> PermuteForm:
        """Return the form that shows a design."""
        return cls.from_query(to_query(design))

    def query(self) -> dict[str, str]:
        """Return the link that the form stands for, faults and all, defaults left out.

        Example:
            >>> PermuteForm(src="S[32:1]", dst="S[32:1]", stages=2).query()
            {'src': 'S[32:1]', 'dst': 'S[32:1]', 'stages': '2'}
        """
        query = {"src": self.src, "dst": self.dst}
        for key in _TEXT_KEYS[2:]:
            value = getattr(self, key).strip()
            if value and value != _DEFAULTS[key]:
                query[key] = value
        if self.stages != 1 or self.stage_dim:
            query["stages"] = (
                f"{self.stages}@{self.stage_dim}" if self.stage_dim else f"{self.stages}"
            )
        if self.space != "shared":
            query["space"] = self.space
        if self.scope != "warp":
            query["scope"] = self.scope
        if self.in_place:
            query["in_place"] = "1"
        return query

    def read(self) -> tuple[PermuteDesign | None, tuple[DesignError, ...]]:
        """Return the design that was typed, or None and what is wrong."""
        design, errors = from_query("permute", self.query())
        if errors or not isinstance(design, PermuteDesign):
            return None, errors
        return design, ()


_TEXT_KEYS = (
    "src",
    "dst",
    "dtype",
    "src_shape",
    "src_region",
    "src_dtype",
    "dst_shape",
    "dst_region",
    "dst_dtype",
    "block",
)
FIELDS: tuple[str, ...] = tuple(item.name for item in fields(PermuteForm))
_DEFAULTS: dict[str, object] = {item.name: item.default for item in fields(PermuteForm)}


def _within(text: str, low: int, high: int, default: int) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= 6):
        return default
    return int(text) if low <= int(text) <= high else default


def label(field: str) -> str:
    """Return what the page calls a field of the design or a key of the link.

    Example:
        >>> label("src.layout"), label("stages.count"), label("dst.region.1"), label("colour")
        ('Source layout', 'Stages', 'Destination region', 'Link key “colour”')
    """
    for name, shown in _LABELS.items():
        if field == name or field.startswith((f"{name}.",)):
            return shown
    return f"Link key “{field}”" if field else ""
