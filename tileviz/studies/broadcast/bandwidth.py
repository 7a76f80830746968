"""Bandwidth: the bytes formula, the published rows, and measured ones as shares of a copy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tileviz.cuda.kernel import Buffer, Kernel
from tileviz.cuda.templates import render
from tileviz.dtypes import dtype as dtype_of
from tileviz.studies.broadcast.design import BroadcastDesign, aligned
from tileviz.studies.broadcast.measured import Measured, gb_per_s
from tileviz.studies.broadcast.ours import BLOCKS_PER_SM, INDEX_32, THREADS, VECTOR_BYTES
from tileviz.studies.broadcast.plan import bytes_moved
from tileviz.studies.broadcast.portion import Version
from tileviz.studies.design import validated

V100_GB_PER_S = 900.0
FORMULA = "bytes = size * (2 * elements + elements of all operands); GB/s = bytes / us / 1000"


@dataclass(frozen=True)
class Published:
    """A row of #71434: batchnorm in float32 with CINN's tactic on a V100.

    Attributes:
        shape: Output shape [N, H, W, C].
        peak_percent: Share of 900 GB/s as published.
        us: Run time as published.
        gain_percent: Gain in bandwidth over the general tactic.
        change_percent: Change in run time.
    """

    shape: tuple[int, int, int, int]
    peak_percent: float
    us: float
    gain_percent: float
    change_percent: float

    @property
    def document(self) -> dict[str, Any]:
        """The row's design as a document."""
        return {
            "study": "broadcast",
            "operands": [[1, 1, 1, self.shape[3]]],
            "out": list(self.shape),
            "expression": "batchnorm",
        }

    @property
    def bytes(self) -> int:
        """Bytes by the formula: ``8 * N * H * W * C + 16 * C``."""
        return 8 * math.prod(self.shape) + 16 * self.shape[3]


PUBLISHED: tuple[Published, ...] = (
    Published((256, 64, 64, 192), 92.26, 1940, 35.56, -26.24),
    Published((128, 72, 72, 224), 92.33, 1430, 64.43, -39.14),
    Published((256, 48, 48, 224), 92.31, 1270, 67.29, -40.37),
    Published((400, 72, 72, 384), 92.30, 7680, 62.10, -38.13),
)


@dataclass(frozen=True)
class Rate:
    """What one version reaches.

    Attributes:
        us: Run time.
        gb_per_s: Bandwidth by the formula.
        share: Of the row's ceiling, 0 to 1; None where there is none.
    """

    us: float
    gb_per_s: float
    share: float | None


@dataclass(frozen=True)
class BandwidthRow:
    """One design on one device: a row of the bandwidth table.

    Attributes:
        design: What ran.
        device: The device's name.
        source: ``published``, ``recorded`` or ``live``.
        when: The publication, or the day of the measurement.
        bytes: Bytes by the formula.
        ceiling_gb_per_s: What the shares are of, None where it was not measured.
        ceiling: What that is, in words.
        rates: What each version reaches that has a time.
        missing: The versions without a time, and why.
        gain_percent: CINN's bandwidth against the general tactic's, in percent more.
        change_percent: CINN's run time against the general tactic's, in percent more.
        published_percent: The share as its source gives it, None for our own.
    """

    design: BroadcastDesign
    device: str
    source: Literal["published", "recorded", "live"]
    when: str
    bytes: int
    ceiling_gb_per_s: float | None
    ceiling: str
    rates: Mapping[Version, Rate]
    missing: Mapping[Version, str]
    gain_percent: float | None = None
    change_percent: float | None = None
    published_percent: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the row as an object of the results."""
        return {
            **{name: value for name, value in vars(self).items() if name != "design"},
            "design": self.design.document(),
            "rates": {version: dict(vars(rate)) for version, rate in self.rates.items()},
            "missing": dict(self.missing),
        }


def bandwidth_rows(measured: Sequence[Measured] = ()) -> tuple[BandwidthRow, ...]:
    """Return the four published rows, each before our own of its shape; other designs follow.

    Args:
        measured: Recorded and live measurements; of one design, live ones and late ones come first.

    Example:
        >>> cinn = [row.rates["cinn"] for row in bandwidth_rows()]
        >>> [f"{rate.gb_per_s:.1f} GB/s = {rate.share:.2%}" for rate in cinn][:2]
        ['830.2 GB/s = 92.25%', '831.5 GB/s = 92.39%']
    """
    ordered = sorted(measured, key=lambda one: (one.source == "live", one.date), reverse=True)
    groups: dict[str, list[BandwidthRow]] = {}
    for published in PUBLISHED:
        row = _published_row(published)
        groups[same_shape(row.design)] = [row]
    for one in ordered:
        groups.setdefault(same_shape(one.design), []).append(_measured_row(one))
    return tuple(row for group in groups.values() for row in group)


def same_shape(design: BroadcastDesign) -> str:
    """Return a key that designs share which differ only in the device they are planned for.

    Example:
        >>> one, other = (
        ...     validated(BroadcastDesign, {"operands": [[8]], "out": [4, 8], "sm_count": count})
        ...     for count in (80, 132))
        >>> same_shape(one) == same_shape(other)
        True
    """
    shapes = [aligned(shape, len(design.out)) for shape in design.shapes]
    return repr((design.out, shapes, design.dtype, design.expression))


def for_device(design: BroadcastDesign, multiprocessors: int) -> BroadcastDesign:
    """Return a design planned for the multiprocessors of a device."""
    return validated(BroadcastDesign, {**design.document(), "sm_count": multiprocessors})


def _published_row(row: Published) -> BandwidthRow:
    rate = gb_per_s(row.bytes, row.us)
    return BandwidthRow(
        design=validated(BroadcastDesign, row.document),
        device="V100",
        source="published",
        when="#71434",
        bytes=row.bytes,
        ceiling_gb_per_s=V100_GB_PER_S,
        ceiling="nominal peak",
        rates={"cinn": Rate(row.us, rate, rate / V100_GB_PER_S)},
        missing={"before": "published only as a gain", "ours": "not part of the publication"},
        gain_percent=row.gain_percent,
        change_percent=row.change_percent,
        published_percent=row.peak_percent,
    )


def _measured_row(one: Measured) -> BandwidthRow:
    count = bytes_moved(one.design)
    before, cinn = one.time("before"), one.time("cinn")
    return BandwidthRow(
        design=one.design,
        device=one.device,
        source=one.source,
        when=one.date,
        bytes=count,
        ceiling_gb_per_s=one.copy_gb_per_s,
        ceiling="a plain copy, same run",
        rates={
            time.version: Rate(time.us, gb_per_s(count, time.us), one.share(time.version))
            for time in one.times
        },
        missing=dict(one.missing),
        gain_percent=100 * (before.us / cinn.us - 1) if before and cinn else None,
        change_percent=100 * (cinn.us / before.us - 1) if before and cinn else None,
    )


def copy_kernel(design: BroadcastDesign) -> Kernel:
    """Return a plain copy of x to y, in 16-byte vectors: the ceiling of the design's device.

    Example:
        >>> from tileviz.studies.design import validated
        >>> design = validated(BroadcastDesign, {"operands": [[192]], "out": [4, 192]})
        >>> copy_kernel(design).buffers[1].count
        768
    """
    n, kind = design.elements, dtype_of(design.dtype)
    vector = VECTOR_BYTES // kind.bytes
    blocks = max(1, min(design.sm_count * BLOCKS_PER_SM, -(-n // (vector * THREADS))))
    text = render(
        "broadcast_copy.cu.jinja",
        type=kind.cuda,
        vector=vector,
        threads=THREADS,
        vectors=n // vector,
        tail=n % vector,
        wide=n >= INDEX_32,
    )
    return Kernel(
        source=text.source,
        entry="copy",
        grid=(blocks, 1, 1),
        block=(THREADS, 1, 1),
        parameters=(
            Buffer("x", design.dtype, design.out, "in"),
            Buffer("y", design.dtype, design.out, "out"),
        ),
        reference=lambda inputs: {"y": inputs["x"].copy()},
    )
