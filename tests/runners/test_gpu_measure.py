"""The stopwatch over a device whose clock is a number: what is queued, how often, in what order."""

from dataclasses import replace

import numpy as np
import pytest

from tileviz.runners.gpu.measure import Bench, Hung
from tileviz.runners.gpu.settings import Settings

FLUSH = (1 << 20, 1 << 16)


class Ticks:
    """A clock that advances a little at every look."""

    def __init__(self, step=0.001):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


@pytest.fixture
def made(device):
    address = device.allocate(FLUSH[1])
    settings = Settings(seconds=0.5, most_seconds=2.0, least=8, most=60, warm_up_seconds=0.05)

    def spin():
        device.log.append("spin")

    def make(clock=None, **changes):
        chosen = replace(settings, **changes)
        return Bench(device, (address, FLUSH[1]), spin, chosen, clock or Ticks())

    return make


def kernel(device, name, microseconds):
    times = iter(microseconds) if not isinstance(microseconds, float) else None

    def run():
        device.log.append(name)
        device.now += microseconds if times is None else next(times)

    return run


def test_a_cold_launch_comes_right_behind_a_flush(device, made):
    actions = [kernel(device, "a", 10.0), kernel(device, "b", 20.0)]
    device.log.clear()
    times = made().cold(actions, lambda: device.log.append("restore"))
    assert [set(t.tolist()) for t in times] == [{10.0}, {20.0}]
    turn = ["restore", ("fill", FLUSH[1]), "a", "restore", ("fill", FLUSH[1]), "b"]
    assert len(device.log) % len(turn) == 0
    assert device.log == turn * (len(device.log) // len(turn))  # A B A B, never A A B B


def test_the_flush_itself_is_not_timed(device, made):
    real = device.fill

    def slow(address, value, size):
        device.now += 1e6
        real(address, value, size)

    device.fill = slow
    (times,) = made().cold([kernel(device, "a", 10.0)], lambda: None)
    assert set(times.tolist()) == {10.0}


def test_warm_launches_queue_behind_a_spin_without_a_flush(device, made):
    device.log.clear()
    made().warm([kernel(device, "a", 10.0)], lambda: device.log.append("restore"))
    assert device.log[:3] == ["restore", "spin", "a"] and ("fill", FLUSH[1]) not in device.log
    assert device.log.count("spin") == device.log.count("restore") < device.log.count("a")


def test_a_steady_time_needs_few_launches_and_a_noisy_one_more(device, made):
    (steady,) = made().cold([kernel(device, "a", 10.0)], lambda: None)
    random = np.random.default_rng(3)
    noisy_times = random.uniform(5, 100, 10_000)
    (noisy,) = made().cold([kernel(device, "a", noisy_times)], lambda: None)
    assert 8 <= len(steady) < len(noisy) == 60


def test_a_slow_series_ends_by_time(device, made):
    clock = Ticks(step=0.2)
    random = np.random.default_rng(3)
    (times,) = made(clock).cold([kernel(device, "a", random.uniform(1, 99, 999))], lambda: None)
    assert 5 <= len(times) < 60


def test_many_launches_share_a_pair_of_events(device, made):
    (times,), many = made().batched([kernel(device, "a", 3.0)], lambda: None)
    assert many == 200 and times == pytest.approx(np.full(len(times), 3.0))


def test_warming_up_takes_its_time(device, made):
    device.log.clear()
    made(Ticks(0.001)).warm_up(kernel(device, "a", 10.0), 10.0)
    assert device.log.count("a") >= 10


def test_what_never_ends_is_given_up(device, made):
    device.hung = True
    with pytest.raises(Hung):
        made(Ticks(1.0), limit_seconds=5.0).once(kernel(device, "a", 1.0))
    with pytest.raises(Hung):
        made(Ticks(1.0), limit_seconds=5.0).cold([kernel(device, "a", 1.0)], lambda: None)


def test_one_launch_is_timed_by_its_own_events(device, made):
    assert made().once(kernel(device, "a", 42.0)) == 42.0
