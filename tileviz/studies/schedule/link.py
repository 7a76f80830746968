"""The schedule study's page and the keys of its links."""

from __future__ import annotations

from typing import Any

from tileviz.studies.codec import COORDINATES, FLAG, NUMBER, NUMBERS, TEXT, Codec, Keys

PAGE = "Block_schedule"


def _write_groups(value: int | list[int]) -> str:
    """Write rows of a group, or a list of them: a list of one ends in a comma."""
    if isinstance(value, int):
        return str(value)
    return NUMBERS.write(value) + ("," if len(value) == 1 else "")


def _read_groups(text: str) -> Any:
    if "," not in text:
        return NUMBER.read(text)
    return NUMBERS.read(text.removesuffix(","))


_CODECS = {
    "problem": NUMBERS,
    "tile": NUMBERS,
    "policy": TEXT,
    "offset": NUMBER,
    "direction": TEXT,
    "splitk": NUMBER,
    "log_tile": NUMBER,
    "N": NUMBER,
    "cluster": NUMBERS,
    "max_swizzle": NUMBER,
    "raster_option": TEXT,
    "group_m": Codec(_write_groups, _read_groups),
    "multicast": NUMBER,
    "multicast_on_a": FLAG,
    "panel": NUMBER,
    "axis": TEXT,
    "xcds": NUMBER,
    "chunk": NUMBER,
    "tail_split_allowed": FLAG,
    "batch_ho_wo_cout_cin1": NUMBERS,
    "tile_ho_wo_cout": NUMBERS,
    "order": COORDINATES,
    "batch": NUMBER,
    "workers": NUMBER,
    "l2_bytes": NUMBER,
    "dtype": TEXT,
}

KEYS: Keys = {key: ((key,), codec) for key, codec in _CODECS.items()}
