"""The layout study's page and the keys of its links."""

from __future__ import annotations

from tileviz.studies.codec import FLAG, NUMBERS, REGION, TEXT, Keys

PAGE = "Layouts"

KEYS: Keys = {
    "op": (("op",), TEXT),
    "layout": (("layout",), TEXT),
    "shape": (("shape",), NUMBERS),
    "region": (("region",), REGION),
    "outer": (("outer",), TEXT),
    "outer_shape": (("outer_shape",), NUMBERS),
    "inner_shape": (("inner_shape",), NUMBERS),
    "cuda_target": (("cuda_target",), FLAG),
    "dtype": (("dtype",), TEXT),
}
