"""The access plan: what one warp instruction costs, group by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, TileLayout, parse_layout
from tileviz.memory import LANES, Accesses, Verdict, judge
from tileviz.studies.access.design import AccessDesign


@dataclass(frozen=True, eq=False)
class AccessPlan:
    """One warp instruction and its verdict.

    Attributes:
        design: The design.
        accesses: The instruction, one row of 32 lanes.
        verdict: Wavefronts, or sectors and lines, and how well the rule is known.
    """

    design: AccessDesign
    accesses: Accesses
    verdict: Verdict

    def to_json(self) -> dict[str, Any]:
        """Return the ``access`` object of the results."""
        verdict = self.verdict
        banks = verdict.banks
        return {
            "study": "access",
            "wavefronts": verdict.wavefronts,
            "ideal": verdict.ideal,
            "excess": verdict.excess,
            "n_way": verdict.n_way,
            "groups": [] if banks is None else [n for n in banks.passes[0].tolist() if n],
            "sectors": verdict.sectors,
            "lines": verdict.lines,
            "bytes_used": verdict.bytes_used,
            "confidence": verdict.evidence.confidence,
            "source": verdict.evidence.source,
        }


def plan(design: AccessDesign) -> AccessPlan:
    """Judge one warp instruction.

    Raises:
        DesignError: A coordinate lies outside the layout, or an address is not aligned.

    Example:
        >>> from tileviz.studies.design import validated
        >>> column = validated(AccessDesign, {"layout": "S[(32, 32):(32, 1)]", "pattern": "column"})
        >>> plan(column).verdict.wavefronts
        32
    """
    if design.addresses is not None:
        lanes = [*design.addresses, *[None] * (LANES - len(design.addresses))]
        active = np.array([lane is not None for lane in lanes])
        addresses = np.array([lane or 0 for lane in lanes], dtype=np.int64)
    else:
        addresses, active = _through_layout(design)
    accesses = Accesses.of(
        addresses, active=active, space=design.space, op=design.op, bytes=design.width
    )
    return AccessPlan(design, accesses, judge(accesses))


def _through_layout(design: AccessDesign) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    layout = parse_layout(design.layout or "")
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    shape = tile.extents
    if set(tile.axes) - {"m"}:
        raise DesignError("layout", "must map to memory (axis m) only", design.layout)
    coordinates, active = _coordinates(design, shape)
    element = dtype_of(design.dtype).bytes
    offsets = _memory(layout, coordinates, shape)
    addresses = offsets * element
    if (addresses[active] < 0).any():
        raise DesignError("layout", "maps an element below address 0", design.layout)
    off = np.flatnonzero(active & (addresses % design.width != 0))
    if off.size:
        lane = int(off[0])
        message = f"lane {lane} gets byte address {addresses[lane]}, not a multiple of"
        raise DesignError("layout", f"{message} {design.width}", design.layout)
    return addresses, active


def _memory(
    layout: TileLayout | ComposeLayout, coordinates: NDArray[np.int64], shape: tuple[int, ...]
) -> NDArray[np.int64]:
    places = layout.apply(tuple(coordinates), shape)
    offsets = places.get("m", np.zeros(LANES, dtype=np.int64))
    return np.asarray(np.broadcast_to(offsets, LANES), dtype=np.int64)


def _coordinates(
    design: AccessDesign, shape: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the coordinate each lane wants, ``[dimension, lane]``, and which lanes take part."""
    lane = np.arange(LANES, dtype=np.int64)
    size = int(np.prod(shape, dtype=np.int64))
    vector = max(design.width // dtype_of(design.dtype).bytes, 1)
    pattern = design.pattern
    if isinstance(pattern, str):
        if pattern != "row" and len(shape) != 2:
            message = f"{pattern} needs a layout of 2 dimensions, this one has {len(shape)}"
            raise DesignError("pattern", message, pattern)
        if pattern == "row":
            flat = lane * vector
            points = np.stack(np.unravel_index(flat % size, shape)) if shape else lane[None] * 0
            return points, flat < size
        if pattern == "column":
            column = lane // shape[0] * vector
            return np.stack([lane % shape[0], column % shape[1]]), column < shape[1]
        # Lanes 8i to 8i + 7 name the rows of matrix i; matrices go down first, then right.
        row = lane % 8 + lane // 8 % 2 * 8
        column = lane // 16 * vector
        return np.stack([row % shape[0], column % shape[1]]), (row < shape[0]) & (column < shape[1])
    return _listed(design, shape)


def _listed(
    design: AccessDesign, shape: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    points = np.zeros((len(shape), LANES), dtype=np.int64)
    active = np.zeros(LANES, dtype=bool)
    assert design.pattern is not None
    for lane, point in enumerate(design.pattern):
        if point is None:
            continue
        assert not isinstance(point, str)
        inside = len(point) == len(shape) and all(
            0 <= index < extent for index, extent in zip(point, shape, strict=True)
        )
        if not inside:
            raise DesignError(f"pattern.{lane}", f"must lie inside {list(shape)}", list(point))
        points[:, lane] = point
        active[lane] = True
    return points, active
