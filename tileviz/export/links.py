"""Links: a complete design as readable query keys, and back, reporting what cannot be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from tileviz.errors import DesignError
from tileviz.studies.design import Design, shown
from tileviz.studies.registry import STUDIES, make_design

VERSION = "1"
MAX_LINK = 8192

_INTEGER = re.compile(r"-?\d{1,19}", re.ASCII)


@dataclass(frozen=True)
class _Codec:
    """How a field is written in a link, and read back."""

    write: Callable[[Any], str]
    read: Callable[[str], Any]


def _int(text: str) -> int:
    if not _INTEGER.fullmatch(text.strip()):
        raise DesignError("", "a whole number is expected", shown(text))
    return int(text)


def _int_or_none(text: str) -> int | None:
    return None if text.strip() in ("-", "") else _int(text)


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise DesignError("", "0 or 1 is expected", shown(text))
    return text == "1"


def _region(text: str) -> list[list[int | None]]:
    spans = [part.split(":") for part in text.split(",")]
    if any(len(span) != 2 for span in spans):
        raise DesignError("", "begin:end per dimension is expected, such as 0:1,0:32", shown(text))
    return [[_int(begin), _int_or_none(end)] for begin, end in spans]


def _stages(text: str) -> dict[str, int]:
    count, _, dim = text.partition("@")
    return {"count": _int(count), "dim": _int(dim)} if dim else {"count": _int(count)}


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


_TEXT = _Codec(str, str)
_NUMBER = _Codec(str, _int)
_FLAG = _Codec(lambda value: "1" if value else "0", _flag)
_NUMBERS = _Codec(
    lambda values: ",".join(map(_number, values)),
    lambda text: [_int_or_none(part) for part in text.split(",")],
)
_REGION = _Codec(lambda spans: ",".join(f"{begin}:{_number(end)}" for begin, end in spans), _region)
_STAGES = _Codec(
    lambda stages: (
        f"{stages['count']}@{stages['dim']}" if stages.get("dim") else str(stages["count"])
    ),
    _stages,
)
_COORDINATES = _Codec(
    lambda value: value if isinstance(value, str) else _pairs(value),
    lambda text: text if text.isalpha() else [_point(part) for part in text.split(";")],
)


def _pairs(points: list[list[int] | None]) -> str:
    return ";".join("-" if point is None else ",".join(map(str, point)) for point in points)


def _point(text: str) -> list[int] | None:
    return None if text.strip() == "-" else [_int(part) for part in text.split(",")]


def _tile(side: str) -> dict[str, tuple[tuple[str, ...], _Codec]]:
    return {
        side: ((side, "layout"), _TEXT),
        f"{side}_shape": ((side, "shape"), _NUMBERS),
        f"{side}_region": ((side, "region"), _REGION),
        f"{side}_dtype": ((side, "dtype"), _TEXT),
    }


# Per study: query key -> (path in the design document, codec). The order is the link's order.
_KEYS: dict[str, dict[str, tuple[tuple[str, ...], _Codec]]] = {
    "permute": {
        **_tile("src"),
        **_tile("dst"),
        "dtype": (("dtype",), _TEXT),
        "stages": (("stages",), _STAGES),
        "space": (("space",), _TEXT),
        "in_place": (("in_place",), _FLAG),
        "scope": (("scope",), _TEXT),
        "block": (("block",), _NUMBERS),
    },
    "access": {
        "space": (("space",), _TEXT),
        "op": (("op",), _TEXT),
        "bytes": (("bytes",), _NUMBER),
        "addresses": (("addresses",), _NUMBERS),
        "layout": (("layout",), _TEXT),
        "dtype": (("dtype",), _TEXT),
        "pattern": (("pattern",), _COORDINATES),
    },
    "layout": {
        "op": (("op",), _TEXT),
        "layout": (("layout",), _TEXT),
        "shape": (("shape",), _NUMBERS),
        "region": (("region",), _REGION),
        "outer": (("outer",), _TEXT),
        "outer_shape": (("outer_shape",), _NUMBERS),
        "inner_shape": (("inner_shape",), _NUMBERS),
        "cuda_target": (("cuda_target",), _FLAG),
    },
}

PAGES: dict[str, str] = {
    "permute": "Permute_layout",
    "access": "Banks_and_swizzles",
    "layout": "Layouts",
}


def to_query(design: Design) -> dict[str, str]:
    """Return the query keys of a design's link, defaults left out.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> to_query(preset("permute-demo").design)["stages"]
        '2'
    """
    document = design.document()
    query = {"v": VERSION}
    for key, (path, codec) in _KEYS[design.study].items():
        value: Any = document
        for name in path:
            value = None if value is None else value.get(name)
        if value is not None:
            query[key] = codec.write(value)
    return query


def page_url(design: Design) -> str:
    """Return a design's link, relative to the app's address.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> page_url(preset("permute-declined").design)
        '/Permute_layout?v=1&src=S[(8,16):(16,1)]&dst=S[(8,16):(1,8)]'
    """
    query = {key: value.replace(" ", "") for key, value in to_query(design).items()}
    return f"/{PAGES[design.study]}?{urlencode(query, safe='[]():,@', quote_via=quote)}"


def from_query(
    study: str, query: Mapping[str, str]
) -> tuple[Design | None, tuple[DesignError, ...]]:
    """Read a design from a link's query.

    What cannot be read is reported and left out, and the rest is used.

    Args:
        study: The study whose page was opened.
        query: Key to value, as decoded by the browser.

    Returns:
        The design, or None where too little is left; and one error for each key at fault.

    Example:
        >>> design, errors = from_query("permute", {
        ...     "src": "S[(4, 32):(32, 1)]", "dst": "S[(4, 32):(1, 4)]", "colour": "red"})
        >>> design.dtype, str(errors[0])
        ('float32', 'colour: unknown key of a permute link')
    """
    keys = _KEYS[study]
    errors: list[DesignError] = []
    fields: dict[str, Any] = {}
    for key, text in query.items():
        if key == "v":
            if text != VERSION:
                errors.append(
                    DesignError("v", f"this version reads links of v={VERSION}", shown(text))
                )
        elif key not in keys:
            name = key if len(key) <= 40 else key[:40] + "..."
            errors.append(DesignError(name, f"unknown key of a {study} link", shown(text)))
        else:
            try:
                fields[key] = _decoded(key, text, keys[key][1])
            except DesignError as error:
                errors.append(error)
    return _assemble(study, fields, errors)


def _decoded(key: str, text: str, codec: _Codec) -> Any:
    if len(text) > MAX_LINK:
        raise DesignError(key, f"at most {MAX_LINK} characters are read", shown(text))
    try:
        return codec.read(text)
    except DesignError as error:
        raise error.within(key) from None


def _assemble(
    study: str, fields: dict[str, Any], errors: list[DesignError]
) -> tuple[Design | None, tuple[DesignError, ...]]:
    """Validate; on a fault report it, drop the key at fault and try again with the rest."""
    while True:
        document: dict[str, Any] = {"study": study}
        for key, value in fields.items():
            _place(document, _KEYS[study][key][0], value)
        try:
            return make_design(document), tuple(errors)
        except DesignError as error:
            errors.append(error)
            culprit = _key_of(study, error.field, fields)
            if culprit is None:
                return None, tuple(errors)
            del fields[culprit]


def _place(document: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        document = document.setdefault(name, {})
    document[path[-1]] = value


def _key_of(study: str, field: str, fields: Mapping[str, Any]) -> str | None:
    """Return the query key, among those given, that holds a design's field."""
    parts = tuple(field.split("."))
    for key in fields:
        path = _KEYS[study][key][0]
        if parts[: len(path)] == path:
            return key
    return None


def parse_link(link: str) -> Design:
    """Return the design of a whole link, as copied from an address bar.

    Raises:
        DesignError: The link's page is unknown, or a key or value is at fault.

    Example:
        >>> parse_link("http://host/Permute_layout?v=1&src=S[32:1]&dst=S[32:1]").study
        'permute'
    """
    if len(link) > MAX_LINK:
        raise DesignError("link", f"at most {MAX_LINK} characters are read", shown(link))
    try:
        parts = urlsplit(link)
    except ValueError as error:
        raise DesignError("link", str(error), shown(link)) from None
    page = parts.path.rstrip("/").rpartition("/")[2]
    studies = {name: study for study, name in PAGES.items() if study in STUDIES}
    if page not in studies:
        raise DesignError("link", f"its page must be one of {', '.join(studies)}", shown(page))
    query = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=64))
    design, errors = from_query(studies[page], query)
    if errors or design is None:
        raise errors[0] if errors else DesignError("link", "names no design", shown(link))
    return design
