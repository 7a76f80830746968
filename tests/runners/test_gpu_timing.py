import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.runners.protocol import Timing
from tileviz.runners.timing import NOISY, median_error, speedup, summarise

TIMES = st.lists(st.floats(0.5, 1e6), min_size=6, max_size=60)


@given(TIMES)
def test_figures_agree_with_plain_statistics(times):
    timing = summarise(np.array(times), "cold", floor_us=1.0)
    assert math.isclose(timing.median_us, statistics.median(times))
    assert timing.min_us == min(times) and timing.n == len(times)
    assert timing.min_us <= timing.p10_us <= timing.median_us <= timing.p90_us <= max(times)
    ordered = sorted(times)

    def percentile(share):
        position = share * (len(times) - 1)
        low = int(position)
        high = min(low + 1, len(times) - 1)
        return ordered[low] + (position - low) * (ordered[high] - ordered[low])

    assert math.isclose(timing.p90_us, percentile(0.9), rel_tol=1e-9)
    spread = (percentile(0.8) - percentile(0.2)) / statistics.median(times)
    if not math.isclose(spread, NOISY):
        assert timing.noisy == (spread > NOISY)


@given(TIMES)
def test_the_medians_interval_comes_from_order_statistics(times):
    half = 1.96 * math.sqrt(len(times)) / 2
    low = max(math.floor(len(times) / 2 - half), 0)
    high = min(math.ceil(len(times) / 2 + half), len(times) - 1)
    ordered = sorted(times)
    want = (ordered[high] - ordered[low]) / 2 / statistics.median(times)
    assert math.isclose(median_error(np.array(times)), want, rel_tol=1e-9, abs_tol=1e-12)


def test_the_interval_covers_the_true_median_about_as_often_as_it_says():
    random = np.random.default_rng(7)
    hits = 0
    for _ in range(400):
        samples = random.gamma(2.0, 10.0, 101)
        error = median_error(samples) * np.median(samples)
        hits += abs(np.median(samples) - 16.783) <= 2 * error
    assert hits > 380


@pytest.mark.parametrize(
    ("median", "floor", "launches", "resolved"),
    [
        (10.0, 9.0, 1, True),  # long enough whatever the floor
        (9.0, 2.0, 1, False),
        (9.0, 1.5, 1, True),
        (9.0, None, 1, False),
        (4.0, 2.0, 200, True),  # back to back: twice the floor will do
        (3.0, 2.0, 200, False),
        (30.0, None, 200, False),
        (0.0, 0.0, 1, False),
    ],
)
def test_a_time_is_shown_only_above_its_floor(median, floor, launches, resolved):
    timing = summarise(np.full(20, median), "warm", floor_us=floor, launches=launches)
    assert timing.resolved is resolved


def test_few_samples_have_no_error():
    assert summarise(np.array([20.0, 21.0]), "cold", floor_us=1.0).error is None


def timing(median, half, **changes):
    return Timing(median, median - half, median + half, 50, "cold", **changes)


@given(st.floats(5, 500), st.floats(5, 500), st.floats(0, 0.4), st.floats(0, 0.4))
def test_a_speedup_below_its_spread_is_never_printed(before, after, one, other):
    found = speedup(timing(before, before * one), timing(after, after * other))
    ratio, spread = before / after, one + other
    if math.isclose(abs(ratio - 1), spread, rel_tol=1e-6, abs_tol=1e-9):
        return
    if abs(ratio - 1) <= spread:
        assert found.ratio is None and "no difference" in found.statement
    else:
        assert math.isclose(found.ratio, ratio)
        assert ("fast" if ratio > 1 else "slow") in found.statement


@pytest.mark.parametrize(
    "other",
    [
        timing(10.0, 0.1, resolved=False),
        timing(10.0, 0.1, launches=200),
        Timing(10.0, 9.9, 10.1, 50, "warm"),
    ],
)
def test_what_was_timed_otherwise_is_not_compared(other):
    for pair in ((timing(20.0, 0.1), other), (other, timing(20.0, 0.1))):
        found = speedup(*pair)
        assert found.ratio is None and found.statement.startswith("not comparable")
