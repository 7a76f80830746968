"""Times of a broadcast design on a GPU: all versions and a plain copy, timed in alternation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.plan import bytes_moved
from tileviz.studies.broadcast.portion import VERSIONS, Version
from tileviz.studies.design import validated

Source = Literal["recorded", "live"]

_MOST_TEXT = 300
_MOST_US = 1e12


@dataclass(frozen=True)
class VersionTime:
    """The time of one version, in microseconds, each launch with a cold L2.

    Attributes:
        version: Which kernel.
        us: Median.
        p10_us: 10th percentile.
        p90_us: 90th percentile.
        launches: Number of samples.
    """

    version: Version
    us: float
    p10_us: float
    p90_us: float
    launches: int


@dataclass(frozen=True)
class Measured:
    """One measurement of a design: its versions beside a plain copy, in the same run.

    Attributes:
        design: What ran, planned for the device's own multiprocessors.
        device: The device's name.
        date: Day in UTC: ``2026-11-29``.
        source: ``recorded`` in a file, or ``live``: taken in this process.
        copy_us: Median time of a copy of x to y, cold L2; None where nothing was timed.
        times: The versions that were timed; every element of each was compared first.
        missing: Versions without a time, and why.
    """

    design: BroadcastDesign
    device: str
    date: str
    source: Source
    copy_us: float | None
    times: tuple[VersionTime, ...] = ()
    missing: tuple[tuple[Version, str], ...] = ()

    @property
    def copy_bytes(self) -> int:
        """Bytes that the copy reads and writes."""
        return 2 * self.design.elements * dtype_of(self.design.dtype).bytes

    @property
    def copy_gb_per_s(self) -> float | None:
        """The ceiling: what the copy moves in a second; None where it was not timed."""
        return None if self.copy_us is None else gb_per_s(self.copy_bytes, self.copy_us)

    def time(self, version: Version) -> VersionTime | None:
        """Return the time of a version, or None."""
        return next((time for time in self.times if time.version == version), None)

    def share(self, version: Version) -> float | None:
        """Return a version's bandwidth as a share of the copy's; None where one was not timed.

        Example:
            >>> design = validated(BroadcastDesign, {"operands": [[192]], "out": [64, 192]})
            >>> took = VersionTime("ours", 10.0, 9.9, 10.2, 50)
            >>> found = Measured(design, "a device", "2026-11-29", "live", 9.0, (took,))
            >>> round(found.share("ours"), 3), found.share("before")
            (0.907, None)
        """
        time, ceiling = self.time(version), self.copy_gb_per_s
        if time is None or ceiling is None:
            return None
        return gb_per_s(bytes_moved(self.design), time.us) / ceiling

    def to_json(self) -> dict[str, Any]:
        """Return what a recording keeps; its device and date are the recording's own."""
        return {
            "design": self.design.document(),
            "mode": "cold",
            "copy_us": self.copy_us,
            "copy_bytes": self.copy_bytes,
            "bytes": bytes_moved(self.design),
            "times": [dict(vars(time)) for time in self.times],
            "missing": [list(pair) for pair in self.missing],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], *, device: str, date: str) -> Measured:
        """Return a recorded measurement.

        Raises:
            ValueError: It is none; says what is wrong.
        """
        try:
            design = validated(BroadcastDesign, document["design"])
            copy_us = document["copy_us"]
            times = tuple(_time(item) for item in document["times"])
            missing = tuple((_version(name), _text(why)) for name, why in document["missing"])
        except (DesignError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"no measured bandwidth: {error!r:.200}") from error
        if document.get("mode") != "cold" or design.dynamic:
            raise ValueError("no measured bandwidth: not of a static design with a cold L2")
        return cls(
            design,
            _text(device),
            _text(date),
            "recorded",
            None if copy_us is None else _us(copy_us),
            times,
            missing,
        )


def gb_per_s(count: int, us: float) -> float:
    """Return 10^9 bytes a second.

    Example:
        >>> gb_per_s(900_000, 1.0)
        900.0
    """
    return count / us / 1000


def _time(item: Mapping[str, Any]) -> VersionTime:
    launches = item["launches"]
    if type(launches) is not int or launches < 1:
        raise ValueError(f"no measured bandwidth: {launches!r:.40} launches")
    us, p10_us, p90_us = (_us(item[name]) for name in ("us", "p10_us", "p90_us"))
    return VersionTime(_version(item["version"]), us, p10_us, p90_us, launches)


def _us(value: Any) -> float:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain or not (math.isfinite(value) and 0 < value < _MOST_US):
        raise ValueError(f"no measured bandwidth: {value!r:.40} is no time")
    return float(value)


def _version(name: Any) -> Version:
    for version in VERSIONS:
        if name == version:
            return version
    raise ValueError(f"no measured bandwidth: {name!r:.40} is no version")


def _text(value: Any) -> str:
    return " ".join(str(value).split())[:_MOST_TEXT]
