"""Numbers with their nouns, and words from outside made fit to print."""

from __future__ import annotations

# Control characters move a terminal's cursor, marks of direction turn what follows around, and
# halves of characters cannot be written at all. One sign each, so that positions stay.
_UNSEEN = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
_UNSEEN |= dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000), 0x61C), 0xFFFD)
_UNSEEN |= dict.fromkeys((0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)


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


def visible(text: str) -> str:
    """Return a text from outside on one line, a sign for each character that acts unseen.

    Example:
        >>> visible("a\\x1b[31m\\n"), visible("a\\u202eb")
        ('a␛[31m␊', 'a�b')
    """
    return text.translate(_UNSEEN)
