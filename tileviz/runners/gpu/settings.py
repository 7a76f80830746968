"""How long a request may hold the GPU, and how precisely it is timed."""

from __future__ import annotations

from dataclasses import dataclass

# Bytes of the arrays of one request or answer: the largest published shape, several times.
FRAME_BYTES = 16 << 30


@dataclass(frozen=True)
class Settings:
    """Limits and goals of one request.

    Attributes:
        limit_seconds: Wall-clock seconds one launch may take.
        timing: Whether to time at all.
        target: Wanted half-width of the median's 95 % interval, relative to the median.
        seconds: Of each series of launches, once there are ``least``.
        most_seconds: After which a series ends, however few it holds.
        warm_up_seconds: Of launches before the first series.
        least: Fewest launches of a series, and
        most: most.
        memory_bytes: Most device memory of all buffers together; None for half of what is free.
    """

    limit_seconds: float = 10.0
    timing: bool = True
    target: float = 0.01
    seconds: float = 0.5
    most_seconds: float = 3.0
    warm_up_seconds: float = 0.2
    least: int = 20
    most: int = 500
    memory_bytes: int | None = None

    @property
    def total_seconds(self) -> float:
        """Longest time a whole request may take in the worker: three launches and the series."""
        series = 4 * (self.most_seconds + self.limit_seconds) if self.timing else 0.0
        return 3 * self.limit_seconds + self.warm_up_seconds + series + 10.0
