"""How much of a design a kernel handles: all of it, or the first part where that is too big to run.

A part is always the beginning of the flat output. The general tactic and CINN's run some of their
blocks, with the very same text; ours runs a smaller count of vectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tileviz.dtypes import dtype as dtype_of
from tileviz.studies.broadcast.axes import AxisGroups, Merged, digits
from tileviz.studies.broadcast.cinn import Launch
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.general import General
from tileviz.studies.broadcast.ours import THREADS, Ours
from tileviz.studies.broadcast.plan import BroadcastPlan, bytes_moved
from tileviz.studies.errors import NotRunnable

Version = Literal["before", "cinn", "ours"]
VERSIONS: tuple[Version, ...] = ("before", "cinn", "ours")

# What a run on a CPU may allocate, and the elements it gets through in a few seconds.
WHOLE_BYTES = 480 << 20
WHOLE_ELEMENTS = {"before": 1 << 22, "cinn": 1 << 22, "ours": 1 << 26}
SAMPLE_ELEMENTS = 1 << 20
_STRIDES = 5


@dataclass(frozen=True)
class Portion:
    """A part of a design that one launch handles.

    Attributes:
        elements: How many elements, from the first on.
        whole: Elements of the design.
        grid: Blocks in x and y.
    """

    elements: int
    whole: int
    grid: tuple[int, int]

    @property
    def complete(self) -> bool:
        """Whether it is all of the design."""
        return self.elements == self.whole

    @property
    def note(self) -> str:
        """What is left out, in words; "" where nothing is."""
        if self.complete:
            return ""
        share = 100 * self.elements / self.whole
        return f"runs the first {self.elements:,} of {self.whole:,} elements ({share:.2g} %)"


def portion(plan: BroadcastPlan, version: Version, whole: bool | None = None) -> Portion:
    """Return the part of a plan that a version's kernel handles.

    Args:
        plan: A plan of a static design.
        version: Which kernel.
        whole: All of it (True), a sample (False), or what an emulator manages (None).

    Raises:
        NotRunnable: No part of it fits.

    Example:
        >>> from tileviz.studies.design import validated
        >>> from tileviz.studies.broadcast.plan import plan
        >>> big = plan(validated(BroadcastDesign, {"operands": [[192]], "out": [256, 64, 64, 192]}))
        >>> portion(big, "before").note
        'runs the first 1,048,576 of 201,326,592 elements (0.52 %)'
    """
    n = plan.design.elements
    if whole is None:
        fits = bytes_moved(plan.design) <= WHOLE_BYTES
        whole = fits and n <= WHOLE_ELEMENTS[version]
    launch = plan.cinn.launch
    if version == "ours":
        assert plan.ours is not None
        found = _ours(plan.ours, whole)
    elif version == "before" or launch is None:
        assert plan.before is not None
        found = _general(plan.before, n, whole)
    elif launch.K is not None:
        found = _nhwc(launch, plan.design, whole)
    else:
        found = _nchw(launch, plan.design, whole)
    size = 2 * found.elements * dtype_of(plan.design.dtype).bytes
    if not found.complete and size > WHOLE_BYTES:
        raise NotRunnable(
            f"its smallest part takes {size >> 20} MiB; at most {WHOLE_BYTES >> 20} are run"
        )
    return found


def operand_size(design: BroadcastDesign, operand: int, elements: int) -> int:
    """Return how many elements of an operand the first ``elements`` of the output need.

    Example:
        >>> from tileviz.studies.design import validated
        >>> column = validated(BroadcastDesign, {"operands": [[64, 1]], "out": [64, 100]})
        >>> operand_size(column, 0, 250)
        3
    """
    merged = Merged.of(design.out, (design.shapes[operand],))
    last = 0
    for part in digits(merged.extents, merged.masks[0]):
        reached = (elements - 1) // part.divisor
        most = reached if part.modulus is None else min(reached, part.modulus - 1)
        last += most * part.weight
    return last + 1


def _ours(plan: Ours, whole: bool) -> Portion:
    n, vector = plan.elements, plan.vector
    if whole:
        return Portion(n, n, (plan.grid, 1))
    if plan.kind == "stationary":
        # Some strides and a half: a batch, single vectors, threads with one fewer, and the tail.
        some = _STRIDES * plan.stride + plan.stride // (2 * vector) * vector + plan.tail
        return Portion(min(n, some), n, (plan.grid, 1))
    chunk = THREADS * plan.unroll * vector
    blocks = -(-SAMPLE_ELEMENTS // chunk)
    if plan.kind == "row_tile":
        inner = plan.merged.inner
        if blocks >= plan.tiles:
            rows = min(n // inner, -(-SAMPLE_ELEMENTS // inner))
            return Portion(rows * inner, n, (rows * plan.tiles, 1))
        return Portion(blocks * chunk, n, (blocks, 1))
    if blocks >= plan.grid:
        return Portion(n, n, (plan.grid, 1))
    # The last block is full, or not, as that of the whole is.
    missing = 0 if n % chunk == 0 else vector - plan.tail
    return Portion(blocks * chunk - missing, n, (blocks, 1))


def _general(tactic: General, n: int, whole: bool) -> Portion:
    chunk = tactic.threads * tactic.serial
    blocks = -(-SAMPLE_ELEMENTS // chunk)
    if whole or blocks >= tactic.grid:
        return Portion(n, n, (tactic.grid, 1))
    return Portion(blocks * chunk, n, (blocks, 1))


def _nhwc(launch: Launch, design: BroadcastDesign, whole: bool) -> Portion:
    n, (x, y) = design.elements, launch.grid
    assert isinstance(x, int) and isinstance(y, int)
    chunk = launch.threads * launch.serial * y
    blocks = -(-SAMPLE_ELEMENTS // chunk)
    if whole or launch.kind == "nhwc_flat" or blocks >= x:
        return Portion(n, n, (x, y))
    return Portion(blocks * chunk, n, (blocks, y))


def _nchw(launch: Launch, design: BroadcastDesign, whole: bool) -> Portion:
    """Return the whole, or slices of the outermost axis that need no further guard."""
    n, (x, y) = design.elements, launch.grid
    assert isinstance(x, int) and isinstance(y, int)
    axis = next(a for a, extent in enumerate(design.out) if extent > 1)
    groups, outer = AxisGroups.of(design), design.out[axis]
    count = -(-SAMPLE_ELEMENTS // (n // outer))
    high, low = groups.size(groups.high), groups.size(groups.low)
    sliced_high = groups.group(axis) == "high"
    if sliced_high and launch.kind != "nchw_medium":
        unit = launch.serial if launch.kind == "nchw_small" else launch.threads * launch.serial
        each = high // outer * (1 if launch.kind == "nchw_small" else low)
        even = unit // math.gcd(unit, each)
        count = -(-count // even) * even
    if whole or count >= outer:
        return Portion(n, n, (x, y))
    # Blocks in proportion: every block is full, or rows of blocks stand for preserved axes.
    along_y = sliced_high is (launch.kind != "nchw_large")
    if along_y:
        rows = high // outer * count if sliced_high else y // outer * count
        y = -(-rows // launch.serial) if launch.kind == "nchw_small" else rows
    elif sliced_high:
        x = high // outer * count * low // (launch.threads * launch.serial)
    else:
        x = x // outer * count
    return Portion(n // outer * count, n, (x, y))
