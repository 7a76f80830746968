"""Bandwidth: the bytes formula, the published rows, and measured ones as shares of a copy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tileviz.cuda.kernel import Buffer, Kernel
from tileviz.cuda.templates import render
from tileviz.dtypes import dtype as dtype_of
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.ours import BLOCKS_PER_SM, INDEX_32, THREADS, VECTOR_BYTES
from tileviz.studies.broadcast.plan import bytes_moved
from tileviz.studies.broadcast.portion import Version

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
            "operands": [[self.shape[3]]],
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
class Timed:
    """A measured run time, live or recorded.

    Attributes:
        device: The device's name.
        design: What ran, all of it.
        version: Which kernel.
        us: Median run time, cold L2.
        copy_us: Median run time of a plain copy of ``copy_bytes`` on the same device.
        copy_bytes: Bytes the copy reads and writes.
    """

    device: str
    design: BroadcastDesign
    version: Version
    us: float
    copy_us: float
    copy_bytes: int


@dataclass(frozen=True)
class BandwidthRow:
    """A row of the bandwidth table.

    Attributes:
        device: The device's name.
        shape: Output shape.
        version: Which kernel.
        bytes: Bytes by the formula.
        us: Run time.
        gb_per_s: Bandwidth by the formula.
        share: Of the ceiling, 0 to 1.
        ceiling: What the share is of.
        published_percent: The share as its source gives it, None for our own.
    """

    device: str
    shape: tuple[int, ...]
    version: Version
    bytes: int
    us: float
    gb_per_s: float
    share: float
    ceiling: str
    published_percent: float | None = None


def bandwidth_rows(timed: Sequence[Timed] = ()) -> tuple[BandwidthRow, ...]:
    """Return the four published rows, then each measured one as a share of its own copy.

    Example:
        >>> [f"{row.gb_per_s:.1f} GB/s = {row.share:.2%}" for row in bandwidth_rows()][:2]
        ['830.2 GB/s = 92.25%', '831.5 GB/s = 92.39%']
    """
    rows = [
        BandwidthRow(
            "V100, published",
            row.shape,
            "cinn",
            row.bytes,
            row.us,
            _rate(row.bytes, row.us),
            _rate(row.bytes, row.us) / V100_GB_PER_S,
            f"{V100_GB_PER_S:g} GB/s",
            row.peak_percent,
        )
        for row in PUBLISHED
    ]
    for run in timed:
        rate, copy = _rate(bytes_moved(run.design), run.us), _rate(run.copy_bytes, run.copy_us)
        rows.append(
            BandwidthRow(
                run.device,
                run.design.out,
                run.version,
                bytes_moved(run.design),
                run.us,
                rate,
                rate / copy,
                f"a plain copy, {copy:.0f} GB/s",
            )
        )
    return tuple(rows)


def _rate(count: int, us: float) -> float:
    return count / us / 1000


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
