"""The kernel study's page and the keys of its links."""

from __future__ import annotations

import math
import re

from tileviz.errors import DesignError
from tileviz.studies.codec import NUMBER, NUMBERS, TEXT, VERBATIM, Codec, Keys
from tileviz.studies.design import shown

PAGE = "Kernel_lab"

_WHOLE = re.compile(r"[+-]?\d{1,80}", re.ASCII)


def _fields(names: tuple[str, ...]) -> Codec:
    """Return a codec of ``a:b:c;a:b:c`` for lists of small records."""

    def write(records: list[dict[str, object]]) -> str:
        return ";".join(
            ":".join(_written(record.get(name)) for name in names) for record in records
        )

    def read(text: str) -> list[dict[str, object]]:
        records = [part.split(":") for part in text.split(";")]
        if any(len(record) > len(names) for record in records):
            raise DesignError("", f"{':'.join(names)} is expected", shown(text))
        found = [dict(zip(names, record, strict=False)) for record in records]
        return [
            {name: _read(name, value) for name, value in entry.items() if value} for entry in found
        ]

    return Codec(write, read)


def _written(value: object) -> str:
    if value is None:
        return ""
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)


def _read(name: str, text: str) -> object:
    if name == "shape":
        return [NUMBER.read(part) for part in text.split("x")]
    return _number(text) if name == "value" else text


def _number(text: str) -> int | float:
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DesignError("", "a number is expected", shown(text))
    return value


KEYS: Keys = {
    "entry": (("entry",), TEXT),
    "grid": (("grid",), NUMBERS),
    "block": (("block",), NUMBERS),
    "buffers": (("buffers",), _fields(("name", "dtype", "shape", "role"))),
    "scalars": (("scalars",), _fields(("name", "dtype", "value"))),
    "order": (("order",), Codec(",".join, lambda text: text.split(","))),
    "shared_bytes": (("shared_bytes",), NUMBER),
    "source": (("source",), VERBATIM),
}
