"""Timing launches with events: cold and warm cache, until the spread is small enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from tileviz.runners.gpu.device import Action, Device, Event
from tileviz.runners.gpu.settings import Settings
from tileviz.runners.timing import Samples, median_error

_FIRST_REPEATS = 5
_COLD_BATCH, _WARM_BATCH = 50, 200
_BATCH_SECONDS = 0.1
_POLL_SECONDS = 0.0002
_SLOW_POLL_SECONDS = 0.002
_MOST_LAUNCHES = 200  # between one pair of events


class Hung(Exception):
    """The device did not come to the end of its work in time; the context is of no use any more."""


class Bench:
    """Times launches on one device.

    Args:
        device: The device.
        flush: Address and bytes of memory to overwrite before a cold launch.
        spin: Holds the device for some microseconds while launches are queued.
        settings: How long and how precisely.
        clock: Seconds; for tests.
    """

    def __init__(
        self,
        device: Device,
        flush: tuple[int, int],
        spin: Action,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._device, self._flush, self._spin = device, flush, spin
        self._settings, self._clock = settings, clock
        self._events: list[Event] = []
        self._turn = 0

    def finish(self, seconds: float | None = None) -> None:
        """Wait until the device has done everything queued.

        A poll, not a synchronise: a kernel that never ends must not hold this process too.

        Raises:
            Hung: It takes longer than ``seconds``, by default the limit of a launch.
        """
        (event,) = self._take(1)
        event.record()
        start = self._clock()
        limit = start + (self._settings.limit_seconds if seconds is None else seconds)
        while not event.ready():
            now = self._clock()
            if now > limit:
                raise Hung
            time.sleep(_POLL_SECONDS if now - start < 0.1 else _SLOW_POLL_SECONDS)

    def once(self, action: Action) -> float:
        """Launch once and return its microseconds."""
        first, last = self._take(2, keep=1)
        first.record()
        action()
        last.record()
        self.finish()
        return last.since(first)

    def warm_up(self, action: Action, estimate_us: float) -> None:
        """Launch for a while: clocks rise only under load."""
        end = self._clock() + self._settings.warm_up_seconds
        count = int(np.clip(5e3 / max(estimate_us, 1.0), 1, _WARM_BATCH))
        while self._clock() < end:
            for _ in range(count):
                action()
            self.finish()

    def cold(self, actions: Sequence[Action], before: Action) -> list[Samples]:
        """Time each launch with an L2 cache that holds none of its data.

        Overwriting the flush buffer evicts the cache, and lets the host queue the launch and both
        events before the device comes to them.

        Args:
            actions: Timed in turn, A B A B: clocks and neighbours drift.
            before: Queued before every launch.

        Returns:
            Microseconds of each action, shape ``[launch]``.
        """

        def prepare() -> None:
            before()
            self._turn += 1
            self._device.fill(self._flush[0], self._turn % 256, self._flush[1])

        return self._series(actions, prepare, lambda: None, _COLD_BATCH)

    def warm(self, actions: Sequence[Action], before: Action) -> list[Samples]:
        """Time each launch with whatever the launches before it left in the cache.

        Args:
            actions: Timed in turn.
            before: Queued before every batch of launches.

        Returns:
            Microseconds of each action, shape ``[launch]``.
        """

        def prepare_batch() -> None:
            before()
            self._spin()

        return self._series(actions, lambda: None, prepare_batch, _WARM_BATCH)

    def batched(self, actions: Sequence[Action], before: Action) -> tuple[list[Samples], int]:
        """Time many launches between one pair of events, back to back.

        Returns:
            Microseconds per launch of each action, and the number of launches in a pair.
        """
        many = _MOST_LAUNCHES
        repeated = [_repeat(action, many) for action in actions]

        def prepare() -> None:
            before()
            self._spin()

        series = self._series(repeated, prepare, lambda: None, 1)
        return [samples / many for samples in series], many

    def _series(
        self, actions: Sequence[Action], prepare: Action, prepare_batch: Action, most: int
    ) -> list[Samples]:
        """Repeat all actions in turn until every median is known well enough."""
        settings = self._settings
        found: list[Samples] = [np.empty(0) for _ in actions]
        start = self._clock()
        most = max(most // len(actions), 1)
        count = min(_FIRST_REPEATS, most)
        while True:
            began = self._clock()
            prepare_batch()
            batch = self._batch(actions, prepare, count)
            each = (self._clock() - began) / count
            found = [np.concatenate(pair) for pair in zip(found, batch, strict=True)]
            done, elapsed = len(found[0]), self._clock() - start
            precise = all(median_error(samples) <= settings.target for samples in found)
            if done >= settings.most or (precise and done >= settings.least):
                return found
            if elapsed > settings.seconds and done >= settings.least:
                return found
            if elapsed > settings.most_seconds and done >= _FIRST_REPEATS:
                return found
            count = int(np.clip(_BATCH_SECONDS / max(each, 1e-6), 1, most))
            count = max(min(count, settings.most - done), 1)

    def _batch(self, actions: Sequence[Action], prepare: Action, count: int) -> list[Samples]:
        """Queue ``count`` turns of all actions, wait once, and read the events."""
        events = self._take(2 * count * len(actions), keep=1)
        position = 0
        for _ in range(count):
            for action in actions:
                prepare()
                events[position].record()
                action()
                events[position + 1].record()
                position += 2
        self.finish(self._settings.limit_seconds * max(count * len(actions) / 10, 1))
        pairs = zip(events[::2], events[1::2], strict=True)
        times = np.array([last.since(first) for first, last in pairs])
        return [times[index :: len(actions)] for index in range(len(actions))]

    def _take(self, count: int, keep: int = 0) -> list[Event]:
        """Return events that live as long as this bench; the first ``keep`` are not among them."""
        while len(self._events) < count + keep:
            self._events.append(self._device.event())
        return self._events[keep : count + keep]


def _repeat(action: Action, count: int) -> Action:
    def run() -> None:
        for _ in range(count):
            action()

    return run
