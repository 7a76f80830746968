"""The access study's page and the keys of its links."""

from __future__ import annotations

from tileviz.studies.codec import COORDINATES, NUMBER, NUMBERS, TEXT, Keys

PAGE = "Banks_and_swizzles"

KEYS: Keys = {
    "space": (("space",), TEXT),
    "op": (("op",), TEXT),
    "bytes": (("bytes",), NUMBER),
    "addresses": (("addresses",), NUMBERS),
    "layout": (("layout",), TEXT),
    "dtype": (("dtype",), TEXT),
    "pattern": (("pattern",), COORDINATES),
}
