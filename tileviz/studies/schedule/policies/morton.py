"""The Morton (Z) curve: row and column bits interleaved, the column's below."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Grid, Ints, Tasks, in_batches
from tileviz.studies.schedule.policies._curves import all_tiles, along_curve, square_bits
from tileviz.studies.schedule.policies.base import Parameters, Policy

_SPREAD = (
    (16, 0x0000FFFF0000FFFF),
    (8, 0x00FF00FF00FF00FF),
    (4, 0x0F0F0F0F0F0F0F0F),
    (2, 0x3333333333333333),
    (1, 0x5555555555555555),
)


def spread(value: Ints) -> Ints:
    """Return the value's bits with a zero between each two.

    Example:
        >>> import numpy as np
        >>> spread(np.array([0b11, 0b101])).tolist() == [0b101, 0b10001]
        True
    """
    for shift, mask in _SPREAD:
        value = (value | (value << shift)) & mask
    return value


def tasks(grid: Grid, workers: int, parameters: Parameters) -> Tasks:
    """Return the tasks along the curve; points outside the grid are skipped."""
    m, n = all_tiles(grid)
    side = 1 << square_bits(grid)
    m, n = along_curve(m, n, (spread(m) << np.int64(1)) | spread(n))
    return in_batches(grid, m, n, (("square", f"{side} x {side}"),))


POLICY = Policy(
    name="morton",
    title="Morton curve",
    system="space-filling curve",
    rule="Bits of row and column interleaved, the column's below; points outside are skipped.",
    parameters=Parameters,
    tasks=tasks,
)
