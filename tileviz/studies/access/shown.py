"""One warp instruction at a time: what a picture of an access shows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.memory import LANES, Accesses, Verdict, group_lanes, judge
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.phases import Phase, Points, all_points, first_points, phases_of
from tileviz.studies.access.plan import memory_layout, plan

Ints = NDArray[np.int64]
_MATRIX_LANES = {"x1": 8, "x2": 16, "x4": 32}


@dataclass(frozen=True, eq=False)
class Sweep:
    """Every instruction with which one access covers its tile.

    Attributes:
        name: The access in a few words.
        phase: The access; None where the design gives byte addresses.
        points: The first element of every lane of every instruction; None likewise.
        start: The instruction that the plan judges and the kernel runs.
    """

    name: str
    phase: Phase | None
    points: Points | None
    start: int

    @property
    def count(self) -> int:
        """Number of instructions."""
        return 1 if self.points is None else len(self.points.active)


@dataclass(frozen=True, eq=False)
class Instruction:
    """One warp instruction.

    Attributes:
        accesses: Its addresses, one row of 32 lanes.
        coordinates: First element of every lane, int64 ``[dimension, lane]``; no dimensions where
            the design gives byte addresses.
        verdict: What it costs.
    """

    accesses: Accesses
    coordinates: Ints
    verdict: Verdict

    @property
    def active(self) -> NDArray[np.bool_]:
        """Lanes that take part, ``[lane]``."""
        row: NDArray[np.bool_] = self.accesses.active[0]
        return row

    @property
    def group_size(self) -> int:
        """Lanes that are served together, the pair rule applied."""
        size = group_lanes(self.accesses.op, self.accesses.bytes)
        banks = self.verdict.banks
        return 2 * size if banks is not None and banks.merged[0] else size


def sweeps(design: AccessDesign) -> tuple[Sweep, ...]:
    """Return the design's own access, then those in ``also``.

    Where an access would need too many instructions, only its first is there.

    Raises:
        DesignError: A pattern does not fit the layout.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> [(sweep.name, sweep.count) for sweep in sweeps(preset("banks-transpose-32x32").design)]
        [('ld 4 B column', 32), ('st 4 B row', 32)]
    """
    if design.layout is None:
        return (Sweep(f"{design.op} {design.width} B addresses", None, None, 0),)
    shape = memory_layout(design).extents
    return tuple(_sweep(phase, shape) for phase in phases_of(design))


def _sweep(phase: Phase, shape: tuple[int, ...]) -> Sweep:
    first = first_points(phase, shape)
    try:
        every = all_points(phase, shape)
    except DesignError:
        return Sweep(phase.name, phase, first, 0)
    same = (every.coordinates == first.coordinates) | ~first.active
    found = np.flatnonzero(same.all(axis=(0, 2)) & (every.active == first.active).all(axis=1))
    if not found.size:
        return Sweep(phase.name, phase, first, 0)
    return Sweep(phase.name, phase, every, int(found[0]))


def instruction(design: AccessDesign, sweep: Sweep, number: int) -> Instruction:
    """Return one instruction of an access.

    Raises:
        DesignError: An address of it is below 0, or no multiple of the width.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> design = preset("banks-transpose-32x32").design
        >>> found = instruction(design, sweeps(design)[0], 3)
        >>> found.coordinates[:, 2].tolist(), found.verdict.wavefronts
        ([2, 3], 32)
    """
    if sweep.points is None or sweep.phase is None:
        accesses = _only_matrix_lanes(plan(design).accesses)
        return Instruction(accesses, np.zeros((0, LANES), dtype=np.int64), judge(accesses))
    rows = slice(number, number + 1)
    points = Points(sweep.points.coordinates[:, rows], sweep.points.active[rows])
    accesses = points.accesses(memory_layout(design), sweep.phase, design.space)
    accesses = _only_matrix_lanes(accesses)
    return Instruction(accesses, points.coordinates[:, 0], judge(accesses))


def _only_matrix_lanes(accesses: Accesses) -> Accesses:
    """Return the accesses without lanes whose row address no matrix takes."""
    if "matrix" not in accesses.op:
        return accesses
    used = np.arange(LANES) < _MATRIX_LANES[accesses.op.rpartition(".")[2]]
    return replace(accesses, active=accesses.active & used)


def element_bytes(design: AccessDesign) -> int:
    """Return the bytes of one element of the design's layout."""
    return dtype_of(design.dtype).bytes
