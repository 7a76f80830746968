"""What a person typed on the Block schedule page, as text, and the design it stands for.

The form speaks the language of links, so a field, a link and the address bar are read by one parser
and a fault reads the same wherever the text came from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin

from tileviz.errors import DesignError
from tileviz.export.links import from_query, to_query
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.policies import NAMES, policy
from tileviz.studies.schedule.policies.base import DIRECTIONS, read_direction
from tileviz.ui.form_text import named_field, spaced

_MIB = 1 << 20
_SIZE = re.compile(r"\d{1,10}(\.\d{1,20})?", re.ASCII)

# How fields of a design, and keys of a link, are called on the page.
_LABELS = {
    "problem": "Problem",
    "tile": "Tile",
    "policy": "Policy",
    "batch": "Batch",
    "workers": "Workers",
    "l2_bytes": "L2 cache",
    "dtype": "dtype",
    "offset": "Offset",
    "direction": "Direction",
    "splitk": "Slices of K",
    "log_tile": "Log of the fold",
    "N": "Widest fold",
    "cluster": "Cluster",
    "max_swizzle": "Max swizzle",
    "raster_option": "Raster",
    "group_m": "Group M",
    "multicast": "Multicast",
    "multicast_on_a": "Multicast on A",
    "panel": "Panel",
    "axis": "Axis",
    "xcds": "XCDs",
    "chunk": "Chunk",
    "tail_split_allowed": "Split tails",
    "batch_ho_wo_cout_cin1": "Image: batch, ho, wo, cout, cin1",
    "tile_ho_wo_cout": "Tile: ho, wo, cout",
    "order": "Order",
}


@dataclass(frozen=True)
class OwnField:
    """A parameter of a policy, as a control.

    Attributes:
        name: Its name, also the key of links.
        options: What can be chosen, as in a link; empty where text is typed.
        default: The text of its default, "" where there is none.
    """

    name: str
    options: tuple[str, ...]
    default: str

    @property
    def label(self) -> str:
        """What the page calls it."""
        return label(self.name)


@lru_cache(maxsize=len(NAMES))
def own_fields(name: str) -> tuple[OwnField, ...]:
    """Return the parameters of a policy.

    Example:
        >>> [(field.name, field.options) for field in own_fields("catlass")]
        [('offset', ()), ('direction', ('zn', 'nz'))]
    """
    found = []
    for key, field in policy(name).parameters.model_fields.items():
        options: tuple[str, ...] = ()
        if get_origin(field.annotation) is Literal:
            options = tuple(map(str, get_args(field.annotation)))
        elif field.annotation is bool:
            options = ("1", "0")
        default = "" if field.is_required() else _written(field.default)
        found.append(OwnField(key, options, default))
    return tuple(found)


def _written(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value)


@dataclass(frozen=True)
class ScheduleForm:
    """Every field of the page as it was typed; the design's defaults where it was not touched.

    Attributes:
        own: The policy's own parameters, name and text, in their order.
    """

    problem: str = ""
    tile: str = ""
    policy: str = "catlass"
    batch: str = "1"
    workers: str = "108"
    l2: str = "40"
    dtype: str = "float16"
    own: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> ScheduleForm:
        """Return the form that shows a link, faults and all.

        Example:
            >>> form = ScheduleForm.from_query({"problem": "4,x,1", "policy": "catlass",
            ...                                 "offset": "0", "l2_bytes": "1048576"})
            >>> form.problem, form.l2, form.own
            ('4, x, 1', '1', (('offset', '0'), ('direction', 'zn')))
        """
        values: dict[str, Any] = {
            name: spaced(query[name].strip())
            for name in ("problem", "tile", "dtype")
            if name in query
        }
        values |= {name: query[name].strip() for name in ("batch", "workers") if name in query}
        if "l2_bytes" in query:
            values["l2"] = _mebibytes(query["l2_bytes"])
        chosen = query.get("policy", "catlass")
        if chosen in NAMES:
            values["policy"] = chosen
        form = cls(**values)
        return replace(form, own=own_texts(form.policy, query))

    @classmethod
    def of(cls, design: ScheduleDesign) -> ScheduleForm:
        """Return the form that shows a design."""
        return cls.from_query(to_query(design))

    def query(self) -> dict[str, str]:
        """Return the link that the form stands for, faults and all, defaults left out.

        Example:
            >>> ScheduleForm("64, 64, 8", "8, 8, 8", own=(("offset", "2"),)).query()["offset"]
            '2'
        """
        query = {"problem": self.problem, "tile": self.tile, "policy": self.policy}
        for name in ("batch", "workers", "dtype"):
            value = getattr(self, name).strip()
            if value != _DEFAULTS[name]:
                query[name] = value
        if self.l2.strip() != _DEFAULTS["l2"]:
            query["l2_bytes"] = _bytes(self.l2)
        defaults = {field.name: field.default for field in own_fields(self.policy)}
        for name, text in self.own:
            if text.strip() and text.strip() != defaults.get(name):
                query[name] = text.strip()
        return query

    def read(self) -> tuple[ScheduleDesign | None, tuple[DesignError, ...]]:
        """Return the design that was typed, or None and what is wrong."""
        if not _SIZE.fullmatch(self.l2.strip()):
            message = "a size in MiB is expected, such as 40 or 0.5"
            return None, (DesignError("l2_bytes", message, self.l2[:120]),)
        design, errors = from_query("schedule", self.query())
        if errors or not isinstance(design, ScheduleDesign):
            return None, errors
        return design, ()


_DEFAULTS: dict[str, Any] = {item.name: item.default for item in fields(ScheduleForm)}


def own_texts(name: str, given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the texts of a policy's parameters, defaults where ``given`` has none.

    Example:
        >>> own_texts("triton_grouped", {"group_m": "4", "offset": "3"})
        (('group_m', '4'),)
    """
    found = []
    for field in own_fields(name):
        text = given.get(field.name, field.default).strip()
        if field.options == DIRECTIONS:
            text = _direction(text)
        elif field.options and text not in field.options:
            text = field.default
        found.append((field.name, text if field.options else spaced(text.strip())))
    return tuple(found)


def _direction(text: str) -> str:
    """Return ``zn`` or ``nz``; what is neither is shown as ``zn``, and reported."""
    try:
        return read_direction(text)
    except DesignError:
        return DIRECTIONS[0]


def _mebibytes(text: str) -> str:
    """Return bytes as MiB without loss, or the text as it is where it is no number.

    Example:
        >>> _mebibytes("41943040"), _mebibytes("524289"), _mebibytes("far")
        ('40', '0.50000095367431640625', 'far')
    """
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= 16):
        return text
    whole, rest = divmod(int(text), _MIB)
    # A 2^20th has twenty decimals: exact in whole numbers.
    return f"{whole}.{rest * 5**20:020d}".rstrip("0").rstrip(".")


def _bytes(text: str) -> str:
    """Return MiB as bytes, to the nearest; what is no number stays as it is.

    Example:
        >>> _bytes("40"), _bytes("0.50000095367431640625"), _bytes("x")
        ('41943040', '524289', 'x')
    """
    text = text.strip()
    if not _SIZE.fullmatch(text):
        return text
    whole, _, digits = text.partition(".")
    scale = 10 ** len(digits)
    return str((int(whole + digits) * _MIB + scale // 2) // scale)


def label(field: str) -> str:
    """Return what the page calls a field of the design or a key of the link.

    Example:
        >>> label("problem.0"), label("l2_bytes"), label("colour")
        ('Problem', 'L2 cache', 'Link key “colour”')
    """
    return named_field(field, _LABELS)
