"""The access study's page and the keys of its links."""

from __future__ import annotations

from typing import Any

from tileviz.errors import DesignError
from tileviz.studies.codec import COORDINATES, NUMBER, NUMBERS, TEXT, Codec, Keys
from tileviz.studies.design import shown

PAGE = "Banks_and_swizzles"


def _written(others: list[dict[str, Any]]) -> str:
    """Write further accesses: ``st/16/row|ld//column``."""
    return "|".join(
        f"{other.get('op', 'ld')}/{other.get('bytes') or ''}/{COORDINATES.write(other['pattern'])}"
        for other in others
    )


def _read(text: str) -> list[dict[str, Any]]:
    found = []
    for part in text.split("|"):
        pieces = part.split("/")
        if len(pieces) != 3:
            raise DesignError("", "op/bytes/pattern is expected, such as st/16/row", shown(part))
        op, width, pattern = pieces
        other = {"op": op, "pattern": COORDINATES.read(pattern)}
        if width:
            other["bytes"] = NUMBER.read(width)
        found.append(other)
    return found


KEYS: Keys = {
    "space": (("space",), TEXT),
    "op": (("op",), TEXT),
    "bytes": (("bytes",), NUMBER),
    "addresses": (("addresses",), NUMBERS),
    "layout": (("layout",), TEXT),
    "dtype": (("dtype",), TEXT),
    "pattern": (("pattern",), COORDINATES),
    "also": (("also",), Codec(_written, _read)),
}
