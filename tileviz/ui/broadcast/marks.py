"""The tint of lines that only one of two CUDA texts has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def tint(sides: Mapping[str, Sequence[int]]) -> str:
    """Return the style that tints some lines of the texts beside each other.

    The code element has no element for a line, so a line is a stripe of its background.

    Example:
        >>> tint({"is": (3,)}).partition("background: ")[2]
        'linear-gradient(var(--changed-is) 0 0) 0 2lh / 100% 1lh no-repeat; }</style>'
    """
    rules = []
    for side, lines in sides.items():
        ground = f"linear-gradient(var(--changed-{side}) 0 0)"
        stripes = ", ".join(
            f"{ground} 0 {start - 1}lh / 100% {count}lh no-repeat" for start, count in _runs(lines)
        )
        if stripes:
            rules.append(f".st-key-broadcast_code_{side} pre code {{ background: {stripes}; }}")
    return f"<style>{' '.join(rules)}</style>"


def _runs(lines: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive line numbers as (first, count)."""
    found: list[tuple[int, int]] = []
    for line in lines:
        if found and line == sum(found[-1]):
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((line, 1))
    return found


def changed(left: Sequence[int], right: Sequence[int]) -> str:
    """Return how many lines differ, in words.

    Example:
        >>> changed((3, 4), (3,))
        'Tinted: 2 lines only on the left, 1 only on the right.'
    """
    return (
        f"Tinted: {len(left)} line{'s' * (len(left) != 1)} only on the left, "
        f"{len(right)} only on the right."
    )
