"""The Hilbert curve: neighbours in time are neighbours in the grid."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Grid, Ints, Tasks, in_batches
from tileviz.studies.schedule.policies._curves import all_tiles, along_curve, square_bits
from tileviz.studies.schedule.policies.base import Parameters, Policy


def places(m: Ints, n: Ints, bits: int) -> Ints:
    """Return the place of every point on the curve through a square of side ``2 ** bits``.

    Example:
        >>> import numpy as np
        >>> places(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0]), 1).tolist()
        [0, 1, 2, 3]
    """
    x, y = m.copy(), n.copy()
    place: Ints = np.zeros_like(x)
    for bit in reversed(range(bits)):
        right, up = (x >> bit) & 1, (y >> bit) & 1
        place = (place << 2) | ((3 * right) ^ up)
        # A quadrant with up = 0 is entered turned: mirrored if right, then with axes exchanged.
        mirror = -(right & (up ^ 1))
        x ^= mirror
        y ^= mirror
        swap = (x ^ y) & (up - 1)
        x ^= swap
        y ^= swap
    return place


def tasks(grid: Grid, workers: int, parameters: Parameters) -> Tasks:
    """Return the tasks along the curve; points outside the grid are skipped."""
    m, n = all_tiles(grid)
    bits = square_bits(grid)
    m, n = along_curve(m, n, places(m, n, bits))
    return in_batches(grid, m, n, (("square", f"{1 << bits} x {1 << bits}"),))


POLICY = Policy(
    name="hilbert",
    title="Hilbert curve",
    system="space-filling curve",
    rule="Along the Hilbert curve of the smallest 2^k square; points outside are skipped.",
    parameters=Parameters,
    tasks=tasks,
)
