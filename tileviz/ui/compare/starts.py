"""Pairs worth comparing, for a page that is still empty: one click each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tileviz.comparing.pairs import Pair
from tileviz.studies.design import Design
from tileviz.studies.registry import make_design, preset


@dataclass(frozen=True)
class Start:
    """A pair to begin with.

    Attributes:
        title: A few words.
        note: What it shows.
        pair: Both designs with their names.
    """

    title: str
    note: str
    pair: Pair


def _changed(name: str, dropped: tuple[str, ...] = (), **fields: Any) -> Design:
    """Return a preset's design with some fields changed."""
    found = preset(name)
    assert found is not None
    document = {key: value for key, value in found.document.items() if key not in dropped}
    return make_design({**document, **fields})


@lru_cache(maxsize=1)
def starts() -> tuple[Start, ...]:
    """Return the pairs.

    Example:
        >>> [start.title for start in starts()][0]
        '32 columns against 33'
    """
    order = ("offset", "direction")
    wide: dict[str, Any] = {"operands": [[1, 1, 1, 64]], "out": [32, 28, 28, 64]}
    return (
        Start(
            "32 columns against 33",
            "A 32×32 tile read by column: what one padding column does to its banks.",
            Pair(
                _changed("banks-transpose-32x32"),
                _changed("banks-padding-33"),
                "32 columns",
                "33 columns",
            ),
        ),
        Start(
            "Row-major against CATLASS Zn 3",
            "One GEMM in two orders of its tiles: L2 hit rate, balance, and the CUDA of both.",
            Pair(
                _changed("schedule-ragged", order, policy="row_major"),
                _changed("schedule-ragged", direction="zn"),
                "row-major",
                "Zn, offset 3",
            ),
        ),
        Start(
            "C = 33 against C = 64",
            "One broadcast on two channel counts: which of them the tactic takes, and why.",
            Pair(_changed("broadcast-33"), _changed("broadcast-33", **wide), "C = 33", "C = 64"),
        ),
    )
