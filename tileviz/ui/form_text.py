"""Text that the forms of several pages have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TIGHT = re.compile(r",(?=\S)")


def spaced(text: str) -> str:
    """Return a link's text with room behind its commas, as people write it.

    Example:
        >>> spaced("S[(4,32):(32, 1)]")
        'S[(4, 32):(32, 1)]'
    """
    return _TIGHT.sub(", ", text)


def named_field(field: str, labels: Mapping[str, str]) -> str:
    """Return what a page calls a field of its design, or a key of a link that it does not know.

    Args:
        field: Its path, such as ``region.1``; "" for the design as a whole.
        labels: The page's names of the first part of a path.

    Example:
        >>> named_field("region.1", {"region": "Region"}), named_field("colour", {})
        ('Region', 'Link key “colour”')
    """
    name = field.partition(".")[0]
    return labels.get(name) or (f"Link key “{field}”" if field else "")
