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


def sized(count: int) -> str:
    """Return bytes in a unit of powers of two: three digits, four where they are whole.

    Example:
        >>> sized(512), sized(524288), sized(8160), sized(10_000_000), sized(1_048_000)
        ('512 B', '512 KiB', '7.97 KiB', '9.54 MiB', '1023 KiB')
    """
    size, units = float(count), ["B", "KiB", "MiB", "GiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    digits = f"{size:.0f}" if size >= 100 or size == int(size) else f"{size:.3g}"
    return f"{digits} {units[0]}"


def visible(text: str) -> str:
    """Return a text from outside on one line, a sign for each character that acts unseen.

    Example:
        >>> visible("a\\x1b[31m\\n"), visible("a\\u202eb")
        ('a␛[31m␊', 'a�b')
    """
    return text.translate(_UNSEEN)
