"""Which blocks of a big grid are traced."""

from __future__ import annotations

import itertools
import random

from tileviz.emulator.problems import Coordinates

_RANDOM_BLOCKS = 5


def sample_blocks(grid: Coordinates, most: int) -> list[int] | None:
    """Return the linear numbers of the blocks to trace, ascending, or None for all of them.

    Boundary conditions follow the edges of a grid, so one block of every class is taken: first,
    inner and last on each axis. A few at random, the same every time, are added.

    Args:
        grid: Extents in x, y, z.
        most: Trace all blocks if there are no more than this.

    Example:
        >>> sample_blocks((2, 2, 1), 8) is None
        True
        >>> sample_blocks((100, 1, 1), 8)[:2], sample_blocks((100, 1, 1), 8)[-1]
        ([0, 1], 99)
    """
    x, y, z = grid
    total = x * y * z
    if total <= most:
        return None
    axes = [sorted({0, min(1, extent - 1), extent // 2, extent - 1}) for extent in grid]
    chosen = {i + x * (j + y * k) for i, j, k in itertools.product(*axes)}
    source = random.Random(total)
    chosen.update(source.randrange(total) for _ in range(_RANDOM_BLOCKS))
    return sorted(chosen)
