"""Files that people hand in on the Compare page: a design for one side, or a whole comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tileviz.comparing.pairs import KIND, MAX_FILE, Pair, read_pair, side_of
from tileviz.errors import DesignError
from tileviz.studies.design import Design
from tileviz.studies.documents import parse_json


class Upload(Protocol):
    """A file as the browser handed it in."""

    @property
    def size(self) -> int:
        """Bytes."""

    def getvalue(self) -> bytes:
        """Return the content."""


def opened(upload: Upload) -> Design | Pair:
    """Return what a file holds: a design, or a comparison.

    Raises:
        DesignError: It is too large, no text, or neither.
    """
    # The size is known without a copy of the content.
    if upload.size > MAX_FILE:
        size = upload.size / (1 << 20)
        message = f"has {size:,.1f} MiB; a design or comparison has at most {MAX_FILE >> 20} MiB"
        raise DesignError("", message, None)
    try:
        text = upload.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DesignError("", "is no UTF-8 text; a design is a JSON file", None) from None
    document = parse_json(text)
    if isinstance(document, Mapping) and document.get("kind") == KIND:
        return read_pair(text)
    return side_of(document)
