"""Schedules that move one element a step: the general tactic, and CINN's broadcast tactic.

Every index is an expression that the CUDA text prints and the prediction evaluates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.expr import Const, Expr, Value, Var
from tileviz.studies.broadcast.axes import AxisGroups, Merged, digits, position
from tileviz.studies.broadcast.cinn import Launch
from tileviz.studies.broadcast.design import BroadcastDesign, Shape, aligned
from tileviz.studies.broadcast.general import General, operand_digits
from tileviz.studies.broadcast.ours import INDEX_32

Extents = tuple[int, int]
Index = NDArray[np.int64]

STEP = "k"


@dataclass(frozen=True)
class Places:
    """Where a thread is, as variables of the kernel, by launch and index width.

    A 64-bit index must not be the product of two 32-bit numbers.
    """

    grid: Extents
    block: Extents
    wide: bool

    @property
    def x(self) -> Var:
        """The block in x."""
        return self._var("blockIdx.x", self.grid[0])

    @property
    def y(self) -> Expr:
        """The block in y."""
        return self._var("blockIdx.y", self.grid[1]) if self.grid[1] > 1 else Const(0)

    @property
    def thread(self) -> Var:
        """The thread in x."""
        return Var("threadIdx.x", self.block[0])

    @property
    def thread_y(self) -> Expr:
        """The thread in y."""
        return Var("threadIdx.y", self.block[1]) if self.block[1] > 1 else Const(0)

    def _var(self, name: str, extent: int) -> Var:
        return Var(f"Index({name})" if self.wide else name, extent)

    def values(self, blocks: Index) -> dict[str, Value]:
        """Return the variables' values, of shapes ``[block, 1, 1]`` and ``[thread]``."""
        ids = blocks[:, None, None]
        thread = np.arange(self.block[0] * self.block[1], dtype=np.int64)
        x, y = ids % self.grid[0], ids // self.grid[0]
        return {
            "blockIdx.x": x,
            "Index(blockIdx.x)": x,
            "blockIdx.y": y,
            "Index(blockIdx.y)": y,
            "threadIdx.x": thread % self.block[0],
            "threadIdx.y": thread // self.block[0],
        }


@dataclass(frozen=True)
class Local:
    """A local variable of the kernel and the expression that defines it."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Guard:
    """A condition ``value < limit`` that masks threads or steps."""

    value: Expr
    limit: int


@dataclass(frozen=True)
class Read:
    """How an operand is read.

    Attributes:
        index: Its index, in the schedule's variables.
        kept: Whether it is read once, before the steps.
    """

    index: Expr
    kept: bool


@dataclass(frozen=True)
class ScalarSchedule:
    """Which element every (block, thread, step) handles.

    Attributes:
        places: Where a thread is: the launch.
        serial: Steps of a thread.
        before: Variables defined once a thread, in order.
        leaves: A thread for which this fails has nothing to do, or None.
        inside: Variables defined in every step, in order.
        guard: A step for which this fails is left out, or None.
        element: The flat element handled.
        reads: How each operand is read.
    """

    places: Places
    serial: int
    before: tuple[Local, ...]
    leaves: Guard | None
    inside: tuple[Local, ...]
    guard: Guard | None
    element: Expr
    reads: tuple[Read, ...]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.places.block[0] * self.places.block[1]

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.places.grid[0] * self.places.grid[1]

    def evaluate(self, blocks: Index) -> Evaluated:
        """Return what some blocks do.

        Args:
            blocks: Linear block numbers, int64 ``[block]``.
        """
        values = self.places.values(blocks)
        values[STEP] = np.arange(self.serial, dtype=np.int64)[:, None]
        for local in self.before:
            values[local.name] = local.value.evaluate(values)
        shape = (len(blocks), self.serial, self.threads)
        works = np.ones(shape, np.bool_)
        if self.leaves is not None:
            works &= np.asarray(self.leaves.value.evaluate(values)) < self.leaves.limit
        entered = works[:, 0]
        for local in self.inside:
            values[local.name] = local.value.evaluate(values)
        if self.guard is not None:
            works &= np.asarray(self.guard.value.evaluate(values)) < self.guard.limit
        spread = [np.asarray(read.index.evaluate(values)) for read in self.reads]
        return Evaluated(
            np.broadcast_to(np.asarray(self.element.evaluate(values)), shape),
            works,
            entered,
            tuple(np.broadcast_to(index, shape) for index in spread),
        )


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What some blocks of a schedule do.

    Attributes:
        element: Flat element, int64 ``[block, step, thread]``; meaningless where not ``works``.
        works: Whether the step is taken, bool of the same shape.
        entered: Whether the thread comes to its steps at all, bool ``[block, thread]``.
        reads: Index in each operand, int64 of the shape of ``element``.
    """

    element: Index
    works: NDArray[np.bool_]
    entered: NDArray[np.bool_]
    reads: tuple[Index, ...]


def general_schedule(design: BroadcastDesign, tactic: General) -> ScalarSchedule:
    """Return the general tactic's schedule of a static design."""
    n, chunk = design.elements, tactic.threads * tactic.serial
    places = Places((tactic.grid, 1), (tactic.threads, 1), n >= INDEX_32)
    first = places.x * chunk + places.thread
    start, i = Var("first", n), Var("i", n)
    before: tuple[Local, ...] = (Local("i", first),)
    inside: tuple[Local, ...] = ()
    reads = tuple(
        Read(position(i, operand_digits(design, k)), False) for k in range(len(design.shapes))
    )
    if tactic.serial > 1:
        before = (Local("first", first),)
        inside = (Local("i", start + Var(STEP, tactic.serial) * tactic.threads),)
        reads = tuple(
            Read(position(start if kept else i, operand_digits(design, k)), kept)
            for k, kept in enumerate(tactic.invariant)
        )
    partial = n % chunk != 0
    return ScalarSchedule(
        places=places,
        serial=tactic.serial,
        before=before,
        leaves=Guard(start, n) if partial and any(read.kept for read in reads) else None,
        inside=inside,
        guard=Guard(i, n) if partial else None,
        element=i,
        reads=reads,
    )


def tactic_schedule(design: BroadcastDesign, launch: Launch) -> ScalarSchedule:
    """Return the schedule of CINN's broadcast tactic.

    Args:
        design: A static design.
        launch: What the reference decided for it.
    """
    return _nhwc(design, launch) if launch.K is not None else _nchw(design, launch)


def _nhwc(design: BroadcastDesign, launch: Launch) -> ScalarSchedule:
    channels, places = design.out[-1], _places(design, launch)
    rows = design.elements // channels
    width, depth = launch.block
    row, c = Var("row", rows), Var("c", channels)
    leaves = guard = None
    before: tuple[Local, ...]
    inside: tuple[Local, ...] = (Local("i", row * channels + c),)
    if launch.kind == "nhwc_flat":
        parts = -(-channels // width)
        column = places.x % parts * width + places.thread if parts > 1 else places.thread
        before = (Local("row", places.x // parts), Local("c", column))
        leaves = Guard(c, channels) if channels < width else None
    else:
        before = (Local("c", places.y * width + places.thread),)
        place = places.x * launch.serial + Var(STEP, launch.serial)
        inside = (Local("row", place * depth + places.thread_y), *inside)
        guard = Guard(row, rows) if rows % (launch.serial * depth) else None
    reads = _reads(design, (len(design.out) - 1,), c)
    return ScalarSchedule(places, launch.serial, before, leaves, inside, guard, Var("i"), reads)


def _nchw(design: BroadcastDesign, launch: Launch) -> ScalarSchedule:
    groups, places = AxisGroups.of(design), _places(design, launch)
    serial, threads = launch.serial, launch.block[0]
    high, preserved, low = map(groups.size, (groups.high, groups.preserved, groups.low))
    k, h, p, place = Var(STEP, serial), Var("h", high), Var("p", preserved), Var("l", low)
    guard = None
    if launch.kind == "nchw_small":
        before: tuple[Local, ...] = (Local("p", places.x), Local("l", places.thread))
        inside: tuple[Local, ...] = (Local("h", places.y * serial + k),)
        guard = Guard(h, high) if high % serial else None
    elif launch.kind == "nchw_medium":
        before = (Local("h", places.y), Local("p", places.x))
        inside = (Local("l", k * threads + places.thread),)
        guard = Guard(place, low) if low % threads else None
    else:
        j = Var("j", high * low)
        before = (Local("p", places.y),)
        inside = (Local("j", places.x * (serial * threads) + k * threads + places.thread),)
        inside += (Local("h", j // low), Local("l", j % low))
        guard = Guard(j, high * low) if high * low % (serial * threads) else None
    element = _spread(design.out, groups.high, h) + _spread(design.out, groups.preserved, p)
    inside = (*inside, Local("i", element + place))
    reads = _reads(design, groups.preserved, p)
    return ScalarSchedule(places, serial, before, None, inside, guard, Var("i"), reads)


def _places(design: BroadcastDesign, launch: Launch) -> Places:
    x, y = launch.grid
    assert isinstance(x, int) and isinstance(y, int), "a dynamic design has no kernel"
    return Places((x, y), launch.block, design.elements >= INDEX_32)


def _spread(out: Shape, axes: tuple[int, ...], fused: Var) -> Expr:
    """Return what a fused index of some axes adds to the flat element of the output."""
    runs: list[tuple[int, int]] = []  # extent and weight, innermost first
    end = len(out)
    for axis in reversed(axes):
        if out[axis] == 1:
            continue
        if runs and math.prod(out[axis + 1 : end]) == 1:
            runs[-1] = (runs[-1][0] * out[axis], runs[-1][1])
        else:
            runs.append((out[axis], math.prod(out[axis + 1 :])))
        end = axis
    total: Expr = Const(0)
    inner = math.prod(extent for extent, _ in runs)
    for number, (extent, weight) in enumerate(reversed(runs)):
        inner //= extent
        digit = fused // inner
        total = total + (digit % extent if number else digit) * weight
    return total


def _reads(design: BroadcastDesign, preserved: tuple[int, ...], kept: Var) -> tuple[Read, ...]:
    """Return how operands are read where the tactic keeps their index through the steps."""
    extents = tuple(design.out[axis] for axis in preserved)
    found = []
    for shape, access in zip(design.shapes, design.accesses, strict=True):
        if access == "elementwise":
            found.append(Read(Var("i"), False))
            continue
        lined = aligned(shape, len(design.out))
        merged = Merged.of(extents, (tuple(lined[axis] for axis in preserved),))
        found.append(Read(position(kept, digits(merged.extents, merged.masks[0])), True))
    return tuple(found)
