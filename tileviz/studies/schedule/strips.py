"""Strips: the arithmetic that most block schedules share.

A strip is ``width`` tiles wide on one axis (*along*) and as long as the grid on the other
(*across*). Tasks fill a strip before they go on to the next.
"""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Ints


def count(total: int) -> Ints:
    """Return task numbers 0 to ``total - 1``."""
    return np.arange(total, dtype=np.int64)


def strips(task: Ints, along: int, across: int, width: int, *, snake: bool) -> tuple[Ints, Ints]:
    """Return the coordinates of tasks on both axes; the last strip may be narrower.

    Args:
        task: Task numbers within one batch.
        along: Tiles on the axis that is cut into strips.
        across: Tiles on the other axis.
        width: Tiles a strip is wide.
        snake: Whether every second strip runs backwards.

    Example:
        >>> along, across = strips(count(6), 3, 2, 2, snake=True)
        >>> list(zip(along.tolist(), across.tolist()))
        [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (2, 0)]
    """
    strip = task // (width * across)
    rest = task - strip * (width * across)
    start = strip * width
    height = np.minimum(width, along - start)
    deep = rest // height
    first = start + (rest - deep * height)
    if snake:
        deep = np.where(strip & 1, across - 1 - deep, deep)
    return first, deep


def merged_strips(
    task: Ints, along: int, across: int, width: int, *, last: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return where tasks lie when the last strip has a height of its own.

    Args:
        task: Task numbers within one batch.
        along: Tiles on the axis that is cut into strips.
        across: Tiles on the other axis.
        width: Tiles a strip is wide.
        last: Number of the last strip, which takes all that is left.

    Returns:
        Strip, its height, and the position along and across inside it, no snake applied.
    """
    strip = np.minimum(task // (width * across), last)
    rest = task - strip * (width * across)
    height = np.where(strip == last, along - last * width, width)
    deep = rest // height
    return strip, height, rest - deep * height, deep


def rounded_up(value: int, step: int) -> int:
    """Return the next multiple of ``step``.

    Example:
        >>> rounded_up(5, 4), rounded_up(8, 4)
        (8, 8)
    """
    return -(-value // step) * step
