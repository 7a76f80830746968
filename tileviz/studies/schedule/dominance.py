"""Sums over what comes before in two orders at once: the heart of exact reuse distances.

The engine asks, for many queries at once, "of the first ``prefix`` points, what do those with a
key below ``bound`` weigh together?". A wavelet matrix answers all of them in one pass a key bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def dominated_weight(keys: Ints, weights: Ints, prefixes: Ints, bounds: Ints) -> Ints:
    """Return the weight of the points before a prefix whose key lies below a bound.

    Args:
        keys: Key per point, 0 or more, shape ``[points]``.
        weights: Weight per point, same shape.
        prefixes: How many points count, per query, 0 to the number of points.
        bounds: Keys below which points count, per query, 0 or more.

    Returns:
        One sum a query, int64. Time and memory are O((points + queries) * key bits) and
        O(points + queries).

    Example:
        >>> import numpy as np
        >>> keys, weights = np.array([3, 0, 2, 1]), np.array([1, 10, 100, 1000])
        >>> dominated_weight(keys, weights, np.array([4, 3]), np.array([2, 3])).tolist()
        [1010, 110]
    """
    total = np.zeros(len(prefixes), np.int64)
    largest = int(max(keys.max(initial=0), bounds.max(initial=0)))
    # Positions fit 32 bits, which halves what is moved.
    index = np.int32 if len(keys) < 1 << 31 and largest < 1 << 31 else np.int64
    keys, bounds = keys.astype(index), bounds.astype(index)
    start, stop = np.zeros(len(prefixes), index), prefixes.astype(index)
    before = np.zeros(len(keys) + 1, index)
    light = np.zeros(len(keys) + 1, np.int64)
    for bit in reversed(range(largest.bit_length())):
        zero = (keys >> bit) & 1 == 0
        np.cumsum(zero, out=before[1:])
        np.cumsum(np.where(zero, weights, 0), out=light[1:])
        set_bit = (bounds >> bit) & 1 == 1
        # Where the bound has the bit, everything here without it lies below.
        total += np.where(set_bit, light[stop] - light[start], 0)
        zeros, start_zero, stop_zero = before[-1], before[start], before[stop]
        start = np.where(set_bit, zeros + start - start_zero, start_zero)
        stop = np.where(set_bit, zeros + stop - stop_zero, stop_zero)
        keys = np.concatenate([keys[zero], keys[~zero]])
        weights = np.concatenate([weights[zero], weights[~zero]])
    return total
