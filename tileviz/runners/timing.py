"""Statistics of repeated launches: what may be said about a time, and what may not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.runners.protocol import Timing

Samples = NDArray[np.float64]

# Half of a launch's time may be the launch itself, until it takes several times an empty one.
RESOLVED_FLOORS = 5.0
RESOLVED_US = 10.0
BATCH_FLOORS = 2.0
NOISY = 0.05
_NORMAL_95 = 1.96


def median_error(samples: Samples) -> float:
    """Return half the width of the median's 95 % interval, relative to the median.

    From order statistics: no assumption about the shape, which has a long tail to the right.

    Args:
        samples: Times, any unit, shape ``[launch]``.

    Returns:
        Infinity for fewer than six samples, where no such interval exists.

    Example:
        >>> round(median_error(np.arange(100.0, 200.0)), 3), median_error(np.ones(5))
        (0.067, inf)
    """
    count = len(samples)
    if count < 6:
        return math.inf
    ordered = np.sort(samples)
    half = _NORMAL_95 * math.sqrt(count) / 2
    low = max(math.floor(count / 2 - half), 0)
    high = min(math.ceil(count / 2 + half), count - 1)
    middle = float(np.median(ordered))
    if middle <= 0:
        return math.inf
    return float(ordered[high] - ordered[low]) / 2 / middle


def summarise(samples: Samples, mode: str, *, floor_us: float | None, launches: int = 1) -> Timing:
    """Return the figures of one series of times.

    Args:
        samples: Microseconds per launch, shape ``[sample]``, at least one.
        mode: ``"cold"`` or ``"warm"`` L2 cache.
        floor_us: Median time of an empty kernel of the same shape, measured the same way.
        launches: Launches between one pair of events; more than one is back to back.

    Example:
        >>> timing = summarise(np.array([50.0] * 8 + [54.0, 60.0]), "cold", floor_us=2.0)
        >>> timing.median_us, timing.resolved, timing.noisy
        (50.0, True, False)
    """
    p10, p20, median, p80, p90 = (
        float(value) for value in np.percentile(samples, [10, 20, 50, 80, 90])
    )
    spread = (p80 - p20) / median if median > 0 else math.inf
    error = median_error(samples)
    return Timing(
        median_us=median,
        p10_us=p10,
        p90_us=p90,
        n=len(samples),
        mode=mode,
        min_us=float(samples.min()),
        error=error if math.isfinite(error) else None,
        noisy=spread > NOISY,
        floor_us=floor_us,
        launches=launches,
        resolved=_resolved(median, floor_us, launches),
    )


def _resolved(median: float, floor_us: float | None, launches: int) -> bool:
    if median <= 0:
        return False
    if launches > 1:
        return floor_us is not None and median >= BATCH_FLOORS * floor_us
    if median >= RESOLVED_US:
        return True
    return floor_us is not None and median >= RESOLVED_FLOORS * floor_us


@dataclass(frozen=True)
class Speedup:
    """How many times faster one kernel is than another, timed in alternation.

    Attributes:
        ratio: Time of the slower over time of the faster, or None where that cannot be said.
        spread: Relative spread of the ratio.
        statement: One line for people; says so where no ratio can be given.
    """

    ratio: float | None
    spread: float
    statement: str


def speedup(before: Timing, after: Timing) -> Speedup:
    """Compare two timings, and refuse a difference that is smaller than its own spread.

    The spread of a ratio is the sum of both relative half-widths from the 10th to the 90th
    percentile: what one launch may differ from the next.

    Args:
        before: The kernel that is compared with.
        after: The kernel that should be faster.

    Example:
        >>> slow = Timing(20.0, 19.9, 20.1, 100, "cold")
        >>> speedup(slow, Timing(10.0, 9.9, 10.1, 100, "cold")).statement
        '2.00 times as fast (± 1.5 %)'
        >>> speedup(slow, Timing(19.9, 19.6, 20.2, 100, "cold")).ratio is None
        True
    """
    if before.mode != after.mode or before.launches != after.launches:
        return Speedup(None, math.inf, "not comparable: timed in different ways")
    for timing in (before, after):
        if not timing.resolved:
            return Speedup(None, math.inf, "not comparable: at the floor of what events resolve")
    ratio = before.median_us / after.median_us
    spread = sum((t.p90_us - t.p10_us) / 2 / t.median_us for t in (before, after))
    if abs(ratio - 1) <= spread:
        text = f"no difference beyond the spread of ± {100 * spread:.1f} %"
        return Speedup(None, spread, text)
    word = "as fast" if ratio > 1 else "as slow"
    shown = ratio if ratio > 1 else 1 / ratio
    return Speedup(ratio, spread, f"{shown:.2f} times {word} (± {100 * spread:.1f} %)")
