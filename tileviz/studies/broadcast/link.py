"""The broadcast study's page and the keys of its links."""

from __future__ import annotations

from tileviz.errors import DesignError
from tileviz.studies.codec import NUMBER, NUMBERS, TEXT, Codec, Keys
from tileviz.studies.design import shown

PAGE = "Broadcast"

_SCALAR = "scalar"


def _written(shapes: list[list[int]]) -> str:
    return ";".join(",".join(map(str, shape)) if shape else _SCALAR for shape in shapes)


def _read(text: str) -> list[list[int]]:
    shapes: list[list[int]] = []
    for part in text.split(";"):
        if part.strip() == _SCALAR:
            shapes.append([])
            continue
        extents = NUMBERS.read(part)
        if None in extents:
            message = 'extents such as 1,1,1,192 are expected, shapes parted by ";"'
            raise DesignError("", message, shown(text))
        shapes.append(extents)
    return shapes


SHAPES = Codec(_written, _read)

KEYS: Keys = {
    "operands": (("operands",), SHAPES),
    "out": (("out",), NUMBERS),
    "dtype": (("dtype",), TEXT),
    "sm_count": (("sm_count",), NUMBER),
    "expression": (("expression",), TEXT),
}
