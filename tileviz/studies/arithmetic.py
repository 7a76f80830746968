"""Arithmetic as text that a reader can follow and a test can evaluate.

Operators are those of CUDA and of paper: ``+ − · / mod >> << & ^``; functions are ``max``, ``min``,
``ceil`` and ``floor``. Numbers are written with thousands separators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Number = int | float

# As many terms of a sum are written out; more are counted by value.
_TERMS = 8


def shown(value: Number | bool | str) -> str:
    """Return a number as people write it.

    Example:
        >>> shown(38535168), shown(-4), shown(0.898114437), shown(True), shown(1234567.25)
        ('38,535,168', '−4', '0.898114', 'yes', '1,234,567.2')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    sign = "−" if value < 0 else ""
    if isinstance(value, float) and not value.is_integer():
        text = f"{abs(value):,.1f}" if abs(value) >= 10_000 else f"{abs(value):.6g}"
    else:
        text = f"{abs(int(value)):,}"
    return sign + text


def equals(expression: str, value: Number) -> str:
    """Return an expression with its value behind it; a rounded value is marked as such.

    Example:
        >>> equals("4 · 8", 32), equals("2 / 3", 2 / 3)
        ('4 · 8 = 32', '2 / 3 ≈ 0.666667')
    """
    written = shown(value)
    if expression == written:
        return written
    exact = float(written.replace(",", "").replace("−", "-")) == value
    return f"{expression} {'=' if exact else '≈'} {written}"


def product(factors: Iterable[Number]) -> str:
    """Return a product; factors of 1 stay, so that every extent is seen.

    Example:
        >>> product((64, 56, 56, 192)), product(())
        ('64 · 56 · 56 · 192', '1')
    """
    return " · ".join(map(shown, factors)) or "1"


def total(values: Sequence[int] | NDArray[np.int64]) -> str:
    """Return a sum: every term where they are few, else how often each value occurs.

    Example:
        >>> total([4, 4, 4, 4]), total([1] * 24 + [4] * 8), total([])
        ('4 + 4 + 4 + 4', '24 · 1 + 8 · 4', '0')
    """
    if len(values) <= _TERMS:
        return " + ".join(shown(int(value)) for value in values) or "0"
    found, counts = np.unique(np.asarray(values), return_counts=True)
    pairs = zip(counts.tolist(), found.tolist(), strict=True)
    return " + ".join(f"{shown(count)} · {shown(value)}" for count, value in pairs)


def ceil(expression: str, divisor: Number) -> str:
    """Return a division rounded up.

    Example:
        >>> ceil("2,400", 128)
        'ceil(2,400 / 128)'
    """
    return f"ceil({expression} / {shown(divisor)})"


def listed(values: Sequence[int], most: int = _TERMS) -> str:
    """Return some numbers in words, cut where they are many.

    Example:
        >>> listed([0, 8, 16, 24]), listed(range(40), 3)
        ('0, 8, 16, 24', '0, 1, 2, ...')
    """
    text = ", ".join(shown(value) for value in values[:most])
    return text + (", ..." if len(values) > most else "")


def runs(values: Sequence[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as runs without a gap: first and last of each.

    Example:
        >>> runs([0, 1, 2, 8, 9, 20])
        [(0, 2), (8, 9), (20, 20)]
    """
    if not len(values):
        return []
    array = np.asarray(values)
    cut = np.flatnonzero(np.diff(array) != 1)
    first = np.concatenate([array[:1], array[cut + 1]])
    last = np.concatenate([array[cut], array[-1:]])
    return list(zip(first.tolist(), last.tolist(), strict=True))


def run_words(values: Sequence[int], most: int = 4) -> str:
    """Return ascending numbers in words, runs as ``0 to 3``.

    Example:
        >>> run_words([0, 1, 2, 3, 8, 12, 13])
        '0 to 3, 8, 12, 13'
    """
    parts = runs(values)
    between = {0: "", 1: ", "}
    words = [
        shown(a) + (f"{between.get(b - a, ' to ')}{shown(b)}" if b > a else "")
        for a, b in parts[:most]
    ]
    return ", ".join(words) + (", ..." if len(parts) > most else "")
