"""A small picture of a CUDA text: its lines as bars, those that mention shared memory in colour."""

from __future__ import annotations

import re

import numpy as np

from tileviz.figures.thumbnail import thumbnail_html
from tileviz.figures.tokens import IDLE

_MIN_ROWS, _MAX_ROWS = 10, 18
_COLUMNS = 80
# Classes of the lanes' palette: plain text, and lines that declare or use a shared array.
_PLAIN, _SHARED = 1, 0
_DECLARED = re.compile(r"__shared__[^;=]*?([A-Za-z_]\w*)\s*(?:\[|;)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)


def thumbnail(source: str) -> str:
    """Return the first lines of a text as small bars, as HTML text to be styled as ``.thumb``.

    Comments are left out; where a line mentions a shared array, it has another colour.

    Args:
        source: CUDA text.

    Example:
        >>> thumbnail("__shared__ int a[2];\\nint b;")[:51]
        '<div class="thumb" role="img" aria-label="CUDA text'
    """
    text = _COMMENT.sub("", source).expandtabs(4)
    names = set(_DECLARED.findall(text))
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    rows = min(max(len(lines), _MIN_ROWS), _MAX_ROWS)
    classes = np.full((rows, _COLUMNS), IDLE, dtype=np.int8)
    for row, line in enumerate(lines[:rows]):
        start = len(line) - len(line.lstrip())
        shared = names & set(re.findall(r"\w+", line))
        classes[row, start : len(line)] = _SHARED if shared else _PLAIN
    mentions = f", {len(names)} shared array{'s' * (len(names) != 1)}" if names else ""
    return thumbnail_html([classes], f"CUDA text of {len(lines)} lines{mentions}", "lane")
