"""How the fields of designs are written in links: readable text, and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tileviz.errors import DesignError
from tileviz.studies.design import shown

Keys = dict[str, tuple[tuple[str, ...], "Codec"]]

_INTEGER = re.compile(r"-?\d{1,19}", re.ASCII)


@dataclass(frozen=True)
class Codec:
    """How a field is written in a link, and read back.

    Attributes:
        write: Field value, as in the JSON document, to text.
        read: Text to field value; raises ``DesignError`` with an empty field.
    """

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


TEXT = Codec(str, str)
# Text in which every space counts.
VERBATIM = Codec(str, str)
NUMBER = Codec(str, _int)
FLAG = Codec(lambda value: "1" if value else "0", _flag)
NUMBERS = Codec(
    lambda values: ",".join(map(_number, values)),
    lambda text: [_int_or_none(part) for part in text.split(",")] if text else [],
)
REGION = Codec(lambda spans: ",".join(f"{begin}:{_number(end)}" for begin, end in spans), _region)
STAGES = Codec(
    lambda stages: (
        f"{stages['count']}@{stages['dim']}" if stages.get("dim") else str(stages["count"])
    ),
    _stages,
)
COORDINATES = Codec(
    lambda value: value if isinstance(value, str) else _pairs(value),
    lambda text: text if text.isalpha() else [_point(part) for part in text.split(";")],
)


def _pairs(points: list[list[int] | None]) -> str:
    return ";".join("-" if point is None else ",".join(map(str, point)) for point in points)


def _point(text: str) -> list[int] | None:
    return None if text.strip() == "-" else [_int(part) for part in text.split(",")]
