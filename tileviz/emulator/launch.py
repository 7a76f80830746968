"""The shape of a launch: what a GPU accepts, batches, special registers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.emulator.binder import Value
from tileviz.emulator.errors import LaunchError
from tileviz.emulator.lanes import WARP, Geometry
from tileviz.emulator.limits import Limits
from tileviz.emulator.problems import Coordinates, Problem, Stop
from tileviz.emulator.ptx import Function

MAX_THREADS = 1024
_BATCH_LANES = 8192
_BATCH_GRANULES = 1 << 21
_MAX_ROW_BYTES = 256 << 20
_MAX_BLOCKS = (1 << 31) - 1
_AXES = "xyz"


def check_shape(function: Function, grid: Coordinates, block: Coordinates) -> None:
    """Raise `LaunchError` unless a GPU would accept the launch."""
    for name, extents in (("grid", grid), ("block", block)):
        if len(extents) != 3 or any(extent < 1 for extent in extents):
            raise LaunchError(f"{name} {extents} must have three extents of at least 1")
    threads = block[0] * block[1] * block[2]
    if threads > MAX_THREADS or block[2] > 64:
        raise LaunchError(f"block {block} is too large: at most {MAX_THREADS} threads, 64 in z")
    if function.max_threads is not None and threads > function.max_threads:
        raise LaunchError(
            f"block {block} has {threads} threads, but __launch_bounds__ allows "
            f"{function.max_threads}"
        )
    if grid[0] > _MAX_BLOCKS or max(grid[1:]) > 65535:
        raise LaunchError(f"grid {grid} is too large: at most 2^31-1, 65535, 65535")


@dataclass(frozen=True)
class Needs:
    """Memory that a kernel needs while it runs.

    Attributes:
        granules: Entries that a block needs in the race check's shadow.
        local_bytes: Local memory of a thread.
        row_bytes: Registers of a thread that are live at once.
    """

    granules: int
    local_bytes: int
    row_bytes: int


def batch_capacity(blocks: int, threads: int, needs: Needs, limits: Limits) -> int:
    """Return how many blocks to run at once.

    Enough lanes to amortise NumPy's cost per call, few enough to stay in cache and within limits;
    batches are of equal size as far as possible.

    Args:
        blocks: Blocks to run in all.
        threads: Threads of a block.
        needs: What a block and a thread need.
        limits: The limits of the run.

    Raises:
        Stop: Not even one block is within the limits.

    Example:
        >>> batch_capacity(100, 128, Needs(granules=512, local_bytes=0, row_bytes=80), Limits())
        50
    """
    stride = -(-threads // WARP) * WARP
    most = max(1, min(_BATCH_LANES // stride, _BATCH_GRANULES // max(needs.granules, 1)))
    for what, each, limit in (
        ("local memory", needs.local_bytes, limits.local_bytes),
        ("registers", needs.row_bytes, _MAX_ROW_BYTES),
    ):
        room = limit // max(each * stride, 1)
        if room < 1:
            message = f"{what} of {each:,} bytes x {stride} threads, over the limit of {limit:,}"
            raise Stop(Problem("limit", message))
        most = min(most, room)
    batches = -(-blocks // most)
    return -(-blocks // batches)


class Specials:
    """The special registers of a batch."""

    def __init__(self, geometry: Geometry, shared_bytes: int, dynamic_bytes: int) -> None:
        self.geometry = geometry
        self.scalars: dict[str, int] = {
            "WARP_SZ": WARP,
            "%total_smem_size": shared_bytes,
            "%dynamic_smem_size": dynamic_bytes,
            "%nwarpid": -(-geometry.threads // 32),
            **dict.fromkeys(("%smid", "%gridid", "%clock", "%clock_hi", "%clock64"), 0),
            **dict.fromkeys(("%globaltimer", "%globaltimer_lo", "%globaltimer_hi"), 0),
            "%nsmid": 1,
        }

    def __call__(self, name: str) -> Value | None:
        """Return a special register as a row or scalar, or None if the name is none."""
        geometry = self.geometry
        if name in self.scalars:
            wide = name in ("%clock64", "%globaltimer", "%gridid")
            return _scalar(self.scalars[name], wide=wide)
        base, _, axis = name.partition(".")
        if axis in tuple(_AXES):
            number = _AXES.index(axis)
            if base == "%tid":
                return geometry.thread_index[number]
            if base == "%ctaid":
                return geometry.block_index[number]
            if base == "%ntid":
                return _scalar(geometry.block[number])
            if base == "%nctaid":
                return _scalar(geometry.grid[number])
        if name == "%laneid":
            return geometry.lane
        if name == "%warpid":
            return np.asarray(geometry.linear // WARP, np.uint32)
        if name.startswith("%lanemask_"):
            return _lane_mask(geometry.lane, name.removeprefix("%lanemask_"))
        return None


def _scalar(value: int, *, wide: bool = False) -> Value:
    scalar: Value = np.array(value, np.uint64 if wide else np.uint32)[()]
    return scalar


def _lane_mask(lane: NDArray[np.uint32], which: str) -> Value | None:
    one = np.uint64(1) << lane.astype(np.uint64)
    masks = {
        "eq": one,
        "lt": one - np.uint64(1),
        "le": (one << np.uint64(1)) - np.uint64(1),
        "gt": ~((one << np.uint64(1)) - np.uint64(1)),
        "ge": ~(one - np.uint64(1)),
    }
    return np.asarray(masks[which] & np.uint64(0xFFFFFFFF), np.uint32) if which in masks else None
