"""JSON from outside, read strictly and with one line about a fault; and JSON for outside."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from tileviz.errors import DesignError

MAX_DOCUMENT = 1 << 20
# Python itself refuses to read longer whole numbers.
_MAX_DIGITS = 4000

_TIGHT = (",", ":")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str) -> Any:
    """Return the value of a JSON text, or say what is wrong with it.

    Raises:
        DesignError: The text is too long, no JSON, or holds what JSON has no number for.

    Example:
        >>> parse_json('{"study": "layout"}')
        {'study': 'layout'}
        >>> parse_json("[NaN]")
        Traceback (most recent call last):
        ...
        tileviz.errors.DesignError: design: is not JSON: NaN is no JSON number
    """
    if len(text) > MAX_DOCUMENT:
        raise DesignError("design", f"at most {MAX_DOCUMENT} characters are read", None)
    try:
        value = json.loads(
            text,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_once,
        )
    except RecursionError:
        raise DesignError("design", "is nested too deeply to be read", text[:120]) from None
    except ValueError as error:
        raise DesignError("design", f"is not JSON: {error}", text[:120]) from None
    if _SURROGATE.search(text) and not is_unicode(json.dumps(value, ensure_ascii=False)):
        raise DesignError("design", "is not JSON: half of a surrogate pair", text[:120])
    return value


def json_line(document: Any) -> str:
    """Return a document on one line; a NaN or an infinity becomes its name, in quotes.

    Example:
        >>> json_line({"want": [1.5, float("nan")]})
        '{"want":[1.5,"nan"]}'
    """
    try:
        return json.dumps(document, ensure_ascii=False, separators=_TIGHT, allow_nan=False)
    except ValueError:
        return json.dumps(_named(document), ensure_ascii=False, separators=_TIGHT)


def _named(value: Any) -> Any:
    """Return a document whose numbers are all JSON's."""
    if isinstance(value, dict):
        return {key: _named(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_named(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _whole(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"{text[:40]}... has over {_MAX_DIGITS} digits")
    return int(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a name that stands twice in it would hide one of two values."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f'"{name[:40]}" stands twice in one object')
        found[name] = value
    return found


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is too large for a number")
    return value


def is_unicode(text: str) -> bool:
    """Return whether a text can be written: half of a surrogate pair cannot.

    Example:
        >>> is_unicode("S[32:1]"), is_unicode("\\ud800")
        (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
