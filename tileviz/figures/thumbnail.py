"""Small pictures as SVG text: one path a class, coloured by the page's CSS variables."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

_WIDTH, _HEIGHT, _GAP = 320, 112, 1.0


def thumbnail_svg(classes: NDArray[np.int8], alt: str) -> str:
    """Return a map of classes as SVG text.

    Args:
        classes: Class of each cell, negative where idle, int8 ``[row, column]``.
        alt: What it shows, for people who cannot see it.

    Example:
        >>> svg = thumbnail_svg(np.array([[0, 2], [-1, 0]], dtype=np.int8), "two by two")
        >>> svg.count("<path"), "var(--pass-2)" in svg, "var(--idle)" in svg
        (3, True, True)
    """
    rows, columns = classes.shape
    wide, high = _WIDTH / columns, _HEIGHT / rows
    paths = []
    for value in np.unique(classes).tolist():
        fill = "var(--idle)" if value < 0 else f"var(--pass-{value})"
        cells = np.argwhere(classes == value) * (high, wide)
        box = f"h{wide - _GAP:.4g}v{high - _GAP:.4g}h{_GAP - wide:.4g}z"
        steps = "".join(f"M{x:.5g} {y:.5g}{box}" for y, x in cells.tolist())
        paths.append(f'<path style="fill:{fill}" d="{steps}"/>')
    return (
        f'<svg class="thumb" viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" '
        f'role="img" aria-label="{escape(alt, quote=True)}">{"".join(paths)}</svg>'
    )
