"""Small pictures as HTML text: one bar a row, coloured by the page's CSS variables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray


def thumbnail_html(parts: Sequence[NDArray[np.int8]], alt: str, palette: str = "pass") -> str:
    """Return maps of classes, one below the other, as HTML text to be styled as ``.thumb``.

    Args:
        parts: Class of each cell, negative where idle, int8 ``[row, column]`` each.
        alt: What it shows, for people who cannot see it.
        palette: Which of the page's colours: ``pass``, ``order`` or ``lane``.

    Example:
        >>> html = thumbnail_html([np.array([[2, 2, -1, 0]], dtype=np.int8)], "one row")
        >>> html.partition("linear-gradient")[2][:45]
        '(90deg,var(--pass-2) 0% 50%,var(--idle) 50% 7'
    """
    rows = '<i class="gap"></i>'.join(
        "".join(f'<i style="background:{_bar(row, palette)}"></i>' for row in classes)
        for classes in parts
    )
    columns = parts[0].shape[1]
    return (
        f'<div class="thumb" role="img" aria-label="{escape(alt, quote=True)}" '
        f'style="--columns:{columns}">{rows}</div>'
    )


def _bar(row: NDArray[np.int8], palette: str) -> str:
    """Return a row as a gradient with a hard stop wherever the class changes."""
    ends = [*(np.flatnonzero(np.diff(row)) + 1).tolist(), len(row)]
    stops = []
    start = 0
    for end in ends:
        value = int(row[start])
        colour = "var(--idle)" if value < 0 else f"var(--{palette}-{value})"
        stops.append(f"{colour} {start / len(row):.4%} {end / len(row):.4%}")
        start = end
    return f"linear-gradient(90deg,{','.join(stops)})".replace(".0000%", "%")
