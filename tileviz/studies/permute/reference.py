"""The decision of TVM's ``permute_layout`` (variant ``warp_xor_swizzle``), reproduced exactly.

Source: Apache TVM TIRx 0.25 to 0.27, checked case by case against results of the real code
(``tests/oracle``). Its weaknesses are kept: they are shown beside the hardware's verdict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.layouts import LayoutError, TileLayout, canonicalize, group, slice_layout
from tileviz.memory import BANK_BYTES, BANKS, LANES
from tileviz.studies.permute.design import PermuteDesign, Region

Outcome = Literal["ok", "fail", "reject"]
_LOG_LANES = 5
_MAX_REGISTERS = 32

REASONS: dict[str, str] = {
    "scope": "the scope is not a warp",
    "multidim_tid": "the block has threads in y or z",
    "dtype_mismatch": "source and destination differ in dtype",
    "dynamic_extent": "a region extent is not a constant",
    "extent_mismatch": "source and destination regions differ in extents",
    "dtype_width": "the element is not 1, 2, 4, 8 or 16 bytes wide",
    "src_not_tile": "the source is not a plain tile layout",
    "dst_not_tile": "the destination is not a plain tile layout",
    "slice": "a region cannot be expressed as a layout",
    "group": "the layouts cannot be regrouped by the region's extents",
    "nonint_shard": "a shard extent is not an integer",
    "shard_mismatch": "the source cannot be cut along the destination's shard",
    "volume": "the region's volume is 0 or not a multiple of 32",
    "per_thread": "elements per lane are not a power of two up to 32",
    "src_bijection": "two elements share one source offset",
    "dst_bijection": "two elements share one destination offset",
}


@dataclass(frozen=True)
class Alignment:
    """Both layouts cut along the same dimensions.

    Attributes:
        extents: Common extents, outermost first.
        src_strides: Element stride of each in the source.
        dst_strides: Element stride of each in the destination.
        src_base: Source offset of the region's first element.
        dst_base: Destination offset of the region's first element.
        memory_only: Whether both layouts map to memory alone, no thread or tensor axis.
    """

    extents: tuple[int, ...]
    src_strides: tuple[int, ...]
    dst_strides: tuple[int, ...]
    src_base: int
    dst_base: int
    memory_only: bool

    @property
    def volume(self) -> int:
        """Number of elements that move."""
        return math.prod(self.extents)


@dataclass(frozen=True)
class Reference:
    """What the reference decides.

    Attributes:
        outcome: ``ok``, ``fail`` (accepted, but no k frees both phases) or ``reject``.
        reason: The reject token, the first that applies in the reference's order; else None.
        alignment: The common cut; None where the reference stops before it.
        registers: Elements per lane (P); None where rejected before.
        free: Per k, whether the read and the write phase are free of conflicts by its own rule.
        k: The smallest k that frees both phases; None unless ``ok``.
    """

    outcome: Outcome
    reason: str | None = None
    alignment: Alignment | None = None
    registers: int | None = None
    free: tuple[tuple[bool, bool], ...] = ()
    k: int | None = None

    @property
    def shift(self) -> int | None:
        """Right shift of the lane in ``r ^ ((lane >> shift) & mask)``."""
        return None if self.k is None else _LOG_LANES - self.k

    @property
    def mask(self) -> int | None:
        """Mask in ``r ^ ((lane >> shift) & mask)``."""
        return None if self.k is None else (1 << self.k) - 1


def decide(design: PermuteDesign, stage: int = 0) -> Reference:
    """Return the reference's decision for one stage of a design.

    Args:
        design: A validated design.
        stage: Pipeline stage whose region is decided.

    Raises:
        DesignError: A layout's size differs from its buffer's, where the reference itself dies
            without a reason.
    """
    token = _reject_before_slicing(design, stage)
    if token:
        return Reference("reject", token)
    src_region, dst_region = design.region("src", stage), design.region("dst", stage)
    extents = tuple(_extent(span) for span in dst_region)
    volume = math.prod(extents)
    aligned = _align(design, src_region, dst_region, extents) if volume else "volume"
    if isinstance(aligned, str):
        return Reference("reject", aligned)
    if volume % LANES:
        return Reference("reject", "volume", aligned)
    registers = volume // LANES
    if registers & (registers - 1) or registers > _MAX_REGISTERS:
        return Reference("reject", "per_thread", aligned, registers)
    for side, strides in (("src", aligned.src_strides), ("dst", aligned.dst_strides)):
        if not _injective(aligned.extents, strides):
            return Reference("reject", f"{side}_bijection", aligned, registers)
    element_bytes = dtype_of(design.tile_dtype("src")).bytes
    free = xor_free(aligned.extents, aligned.src_strides, aligned.dst_strides, element_bytes)
    k = next((k for k, (read, write) in enumerate(free) if read and write), None)
    return Reference("fail" if k is None else "ok", None, aligned, registers, free, k)


def _extent(span: tuple[int, int | None]) -> int:
    begin, end = span
    return 0 if end is None else end - begin


def _reject_before_slicing(design: PermuteDesign, stage: int) -> str | None:
    src_region, dst_region = design.region("src", stage), design.region("dst", stage)
    src, dst = design.src.parsed, design.dst.parsed
    checks = {
        "scope": design.scope != "warp",
        "multidim_tid": design.block[1] > 1 or design.block[2] > 1,
        "dtype_mismatch": design.tile_dtype("src") != design.tile_dtype("dst"),
        "dynamic_extent": any(end is None for _, end in (*src_region, *dst_region)),
        "extent_mismatch": [_extent(s) for s in src_region] != [_extent(s) for s in dst_region],
        "dtype_width": dtype_of(design.tile_dtype("src")).bytes not in (1, 2, 4, 8, 16),
        "src_not_tile": not isinstance(src, TileLayout),
        "dst_not_tile": not isinstance(dst, TileLayout),
    }
    return next((token for token, applies in checks.items() if applies), None)


def _align(
    design: PermuteDesign, src_region: Region, dst_region: Region, extents: tuple[int, ...]
) -> Alignment | str:
    """Slice, regroup and compare both layouts; return the reject token where that fails."""
    sliced = []
    for side, region in (("src", src_region), ("dst", dst_region)):
        tile = design.src if side == "src" else design.dst
        layout = tile.parsed
        assert isinstance(layout, TileLayout)
        if layout.size != math.prod(tile.extents):
            message = f"has {math.prod(tile.extents)} elements, the layout {layout.size}"
            raise DesignError(f"{side}.shape", message, list(tile.extents))
        spans = tuple((begin, begin if end is None else end) for begin, end in region)
        part = slice_layout(layout, tile.extents, spans)
        if part is None:
            return "slice"
        assert isinstance(part, TileLayout)
        sliced.append(canonicalize(part, cuda_target=True))
    src, dst = sliced
    try:
        dst_cut, _ = group(dst, tuple(extent for extent in extents if extent != 1))
        shard = tuple(iteration.extent for iteration in dst_cut.shard)
        src_cut, _ = group(src, shard)
    except LayoutError:
        return "group"
    if tuple(iteration.extent for iteration in src_cut.shard) != shard:
        return "shard_mismatch"
    return Alignment(
        shard,
        tuple(iteration.stride for iteration in src_cut.shard),
        tuple(iteration.stride for iteration in dst_cut.shard),
        sum(value for _, value in src.offset),
        sum(value for _, value in dst.offset),
        all(_memory_only(side) for side in (src_cut, dst_cut)),
    )


def _memory_only(layout: TileLayout) -> bool:
    axes = [iteration.axis for iteration in (*layout.shard, *layout.replica)]
    return all(axis == "m" for axis in [*axes, *(axis for axis, _ in layout.offset)])


def _injective(extents: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether no two elements share an offset, gaps and negative strides allowed."""
    reach = 0
    for stride, extent in sorted((abs(s), e) for e, s in zip(extents, strides, strict=True)):
        if extent > 1 and stride <= reach:
            break
        reach += stride * (extent - 1)
    else:
        return True
    offsets = element_offsets(extents, strides)
    return len(np.unique(offsets)) == len(offsets)


def element_offsets(extents: tuple[int, ...], strides: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the offset of every element in row-major order, int64 ``[volume]``.

    Example:
        >>> element_offsets((2, 3), (10, 1)).tolist()
        [0, 1, 2, 10, 11, 12]
    """
    offsets = np.zeros(1, dtype=np.int64)
    for extent, stride in zip(extents, strides, strict=True):
        offsets = (offsets[:, None] + stride * np.arange(extent, dtype=np.int64)).ravel()
    return offsets


@lru_cache(maxsize=64)
def xor_elements(registers: int) -> NDArray[np.int64]:
    """Return the element each lane handles, int64 ``[k, register, lane]``.

    Element = ``lane + 32 * j`` with ``j = r ^ ((lane >> (5 - k)) & (2**k - 1))``, for every k from
    0 to log2(registers).

    Example:
        >>> xor_elements(4)[2, 0, 8].item()  # lane 8 starts with j = 1
        40
    """
    lane = np.arange(LANES, dtype=np.int64)
    r = np.arange(registers, dtype=np.int64)[:, None]
    per_k = [
        lane + LANES * (r ^ ((lane >> (_LOG_LANES - k)) & ((1 << k) - 1)))
        for k in range(registers.bit_length())
    ]
    elements = np.stack(per_k)
    elements.setflags(write=False)
    return elements


def xor_free(
    extents: tuple[int, ...],
    src_strides: tuple[int, ...],
    dst_strides: tuple[int, ...],
    element_bytes: int,
) -> tuple[tuple[bool, bool], ...]:
    """Return per k whether the read and the write phase meet 32 distinct banks in every register.

    The reference looks at an element's first word only, whatever its width.

    Args:
        extents: Common extents; their product is 32 times a power of two up to 32.
        src_strides: Element stride of each in the source; likewise ``dst_strides``.
        element_bytes: Bytes per element.

    Example:
        >>> xor_free((4, 32), (32, 1), (1, 4), 4)
        ((True, False), (True, False), (True, True))
    """
    elements = xor_elements(math.prod(extents) // LANES)
    verdicts = []
    for strides in (src_strides, dst_strides):
        offsets = element_offsets(extents, strides)
        banks = (offsets * element_bytes // BANK_BYTES) & (BANKS - 1)
        seen = np.bitwise_or.reduce((np.uint32(1) << banks.astype(np.uint32))[elements], axis=2)
        verdicts.append((seen == np.uint32(0xFFFFFFFF)).all(axis=1).tolist())
    return tuple(zip(*verdicts, strict=True))
