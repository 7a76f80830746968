"""The permute study's page and the keys of its links."""

from __future__ import annotations

from tileviz.studies.codec import FLAG, NUMBERS, REGION, STAGES, TEXT, Keys

PAGE = "Permute_layout"


def _tile(side: str) -> Keys:
    return {
        side: ((side, "layout"), TEXT),
        f"{side}_shape": ((side, "shape"), NUMBERS),
        f"{side}_region": ((side, "region"), REGION),
        f"{side}_dtype": ((side, "dtype"), TEXT),
    }


KEYS: Keys = {
    **_tile("src"),
    **_tile("dst"),
    "dtype": (("dtype",), TEXT),
    "stages": (("stages",), STAGES),
    "space": (("space",), TEXT),
    "in_place": (("in_place",), FLAG),
    "scope": (("scope",), TEXT),
    "block": (("block",), NUMBERS),
}
