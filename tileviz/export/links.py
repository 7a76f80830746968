"""Links: a complete design as readable query keys, and back, reporting what cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from tileviz.errors import DesignError
from tileviz.studies.codec import VERBATIM, Codec
from tileviz.studies.design import Design, shown
from tileviz.studies.registry import STUDIES, make_design, presets, study_of

VERSION = "1"
MAX_LINK = 8192
_MAX_KEYS = 64


def to_query(design: Design) -> dict[str, str]:
    """Return the query keys of a design's link, defaults left out.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> to_query(preset("permute-demo").design)["stages"]
        '2'
    """
    document = design.document()
    query = {"v": VERSION}
    for key, (path, codec) in study_of(design).link.KEYS.items():
        value: Any = document
        for name in path:
            value = None if value is None else value.get(name)
        if value is not None:
            query[key] = codec.write(value)
    return query


def short_query(design: Design) -> dict[str, str]:
    """Return the query keys of a design's link without the spaces behind commas.

    They double in length in an address and mean nothing, but in CUDA text.
    """
    keys = study_of(design).link.KEYS
    return {
        key: value if key in keys and keys[key][1] is VERBATIM else value.replace(", ", ",")
        for key, value in to_query(design).items()
    }


def page_url(design: Design) -> str:
    """Return a design's link, relative to the app's address.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> page_url(preset("permute-declined").design)
        '/Permute_layout?v=1&src=S[(8,16):(16,1)]&dst=S[(8,16):(1,8)]'
    """
    query = short_query(design)
    return f"/{study_of(design).link.PAGE}?{urlencode(query, safe='[]():,@', quote_via=quote)}"


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
        >>> design.dtype, str(errors[0])[:72]
        ('float32', 'colour: unknown key of a permute link; known: src, src_shape, src_region')
    """
    keys = STUDIES[study].link.KEYS
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
            message = f"unknown key of a {study} link; known: {', '.join(keys)}"
            errors.append(DesignError(name, message, shown(text)))
        else:
            try:
                fields[key] = _decoded(key, text, keys[key][1])
            except DesignError as error:
                errors.append(error)
    return _assemble(study, fields, errors)


def _decoded(key: str, text: str, codec: Codec) -> Any:
    if len(text) > MAX_LINK:
        raise DesignError(key, f"at most {MAX_LINK} characters are read", shown(text))
    try:
        return codec.read(text)
    except DesignError as error:
        raise error.within(key) from None


def _assemble(
    study: str, fields: dict[str, Any], errors: list[DesignError]
) -> tuple[Design | None, tuple[DesignError, ...]]:
    """Validate; on a fault report it, drop the key at fault and try again with the rest.

    Where a field that every design needs is missing, the first preset stands in for it, so that
    the other faults are found too; then there is no design.
    """
    keys = STUDIES[study].link.KEYS
    base: dict[str, Any] = {"study": study}
    whole = True
    while True:
        document = deepcopy(base)
        for key, value in fields.items():
            _place(document, keys[key][0], value)
        try:
            design = make_design(document)
        except DesignError as error:
            culprit = _key_of(study, error.field, fields)
            root = error.field.split(".")[0]
            # A field dropped for its fault is missing now: one error says it all.
            if culprit is not None or all(root != known.field.split(".")[0] for known in errors):
                errors.append(error)
            if culprit is not None:
                del fields[culprit]
                continue
            if not whole:
                return None, tuple(errors)
            whole, base = False, _stand_in(study, fields)
            continue
        return (design if whole else None), tuple(errors)


def _stand_in(study: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a preset's required parts that ``fields`` lack."""
    given = {STUDIES[study].link.KEYS[key][0][0] for key in fields}
    example = next((found.document for found in presets() if found.study == study), {})
    return {
        name: deepcopy(value)
        for name, value in example.items()
        if name == "study" or (name not in given and name in _required(study))
    }


def _required(study: str) -> set[str]:
    fields = STUDIES[study].model.model_fields
    return {name for name, field in fields.items() if field.is_required()}


def _place(document: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        document = document.setdefault(name, {})
    document[path[-1]] = value


def _key_of(study: str, field: str, fields: Mapping[str, Any]) -> str | None:
    """Return the query key, among those given, that holds a design's field."""
    parts = tuple(field.split("."))
    for key in fields:
        path = STUDIES[study].link.KEYS[key][0]
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
    studies = {study.link.PAGE: name for name, study in STUDIES.items()}
    if page not in studies:
        raise DesignError("link", f"its page must be one of {', '.join(studies)}", shown(page))
    design, errors = from_query(studies[page], query_of(parts.query))
    if errors or design is None:
        raise errors[0] if errors else DesignError("link", "names no design", shown(link))
    return design


def query_of(text: str) -> dict[str, str]:
    """Return the keys of a link's query.

    Raises:
        DesignError: There are too many, or one stands twice and would hide the other value.

    Example:
        >>> query_of("v=1&layout=S[32:1]")
        {'v': '1', 'layout': 'S[32:1]'}
    """
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_KEYS)
    except ValueError:
        raise DesignError("link", f"at most {_MAX_KEYS} keys are read", shown(text)) from None
    query: dict[str, str] = {}
    for key, value in pairs:
        if key in query:
            raise DesignError(key[:40], "stands twice in the link", shown(value))
        query[key] = value
    return query
