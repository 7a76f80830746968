"""Numbers with their nouns."""

from __future__ import annotations


def counted(count: float, noun: str, plural: str = "") -> str:
    """Return a count with its noun in the right number.

    Args:
        count: How many.
        noun: What, in the singular.
        plural: What, in the plural; with an ``s`` by default.

    Example:
        >>> counted(1, "wavefront"), counted(4096, "tile"), counted(0, "proof", "proofs")
        ('1 wavefront', '4,096 tiles', '0 proofs')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
