"""The schedule of our plan: which vectors a thread handles, and where it reads their operands.

Every index is an expression that the CUDA text prints and the prediction evaluates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.expr import Const, Expr, Value, Var
from tileviz.studies.broadcast.axes import Digit, digits, position
from tileviz.studies.broadcast.ours import THREADS, How, Ours

Index = NDArray[np.int64]
Mask = NDArray[np.bool_]

VECTOR, FIRST, ELEMENT, ROW, LEFT, LANE = "i", "first", "e", "row", "left", "u"


@dataclass(frozen=True)
class VectorSchedule:
    """Our plan over a part of its output: the first ``elements`` of the flat order.

    Attributes:
        plan: The plan.
        elements: Elements handled, at most the plan's.
        grid: Blocks launched for them.
    """

    plan: Ours
    elements: int
    grid: int

    @property
    def vectors(self) -> int:
        """Whole vectors."""
        return self.elements // self.plan.vector

    @property
    def tail(self) -> int:
        """Elements that fill no whole vector."""
        return self.elements % self.plan.vector

    @property
    def tiled(self) -> bool:
        """Whether a block stays in one row."""
        return self.plan.kind == "row_tile"

    @property
    def stationary(self) -> bool:
        """Whether a thread goes through the whole output in strides."""
        return self.plan.kind == "stationary"

    @property
    def chunk(self) -> int:
        """Vectors of a block, where it handles neighbouring ones."""
        return THREADS * self.plan.unroll

    @property
    def row_vectors(self) -> int:
        """Vectors of an innermost row (row_tile only)."""
        return self.plan.merged.inner // self.plan.vector

    @property
    def limit(self) -> int:
        """What a vector's number must stay below: all vectors, or those of a row."""
        return self.row_vectors if self.tiled else self.vectors

    @property
    def step(self) -> int:
        """Distance of a thread's vectors."""
        return self.plan.grid * THREADS if self.stationary else THREADS

    @property
    def alone(self) -> bool:
        """Whether a thread has one vector and nothing else to do."""
        return self.plan.unroll == 1 and not self.stationary and not self.tail

    @property
    def leaves(self) -> bool:
        """Whether threads without a vector leave before they load what they keep."""
        if self.alone:
            return self.limit % self.chunk != 0
        return self.plan.kind == "flat_fastdiv" and any(
            self.plan.kept(k) and how != "scalar" for k, how in enumerate(self.plan.how)
        )

    def kept(self, operand: int) -> bool:
        """Return whether an operand is loaded once, before the vectors, if there are any."""
        return self.plan.kept(operand) and self.vectors > 0

    # -- expressions -------------------------------------------------------------------------------

    @cached_property
    def block(self) -> Var:
        """The block, wide enough to be multiplied."""
        return Var("Index(blockIdx.x)" if self.plan.wide else "blockIdx.x")

    @property
    def first(self) -> Expr:
        """A thread's first vector (in its row, for row_tile)."""
        thread = Var("threadIdx.x", THREADS)
        if self.stationary:
            return self.block * THREADS + thread
        if not self.tiled:
            return self.block * self.chunk + thread
        tiles = self.plan.tiles
        return self.block % tiles * self.chunk + thread if tiles > 1 else thread

    @property
    def row(self) -> Expr:
        """A block's row (row_tile only)."""
        return self.block // self.plan.tiles

    def place(self, vector: Expr) -> Expr:
        """Return a vector's place among all vectors."""
        return Var(ROW) * self.row_vectors + vector if self.tiled else vector

    def how(self, operand: int) -> How:
        """Return how an operand is read; what is loaded once needs no short cut at a row's end."""
        how = self.plan.how[operand]
        return "gathered" if how.startswith("wrapped") and self.plan.kept(operand) else how

    def index(self, operand: int) -> Expr:
        """Return an operand's index for a vector (and lane u, where read element by element)."""
        merged, how = self.plan.merged, self.how(operand)
        if how == "scalar":
            return Const(0)
        if self.tiled:
            extents, mask = merged.extents[:-1], merged.masks[operand][:-1]
            return position(Var(ROW), digits(extents, mask))
        if how.startswith("wrapped"):
            return self.at_row(operand, Var(ROW))
        parts = digits(merged.extents, merged.masks[operand])
        if how == "gathered":
            return self._gathered(parts)
        where = Var(FIRST if self.plan.kept(operand) else VECTOR)
        return position(where, tuple(self._in_vectors(part, how) for part in parts))

    def _gathered(self, parts: tuple[Digit, ...]) -> Expr:
        """Return the index of lane u; digits that stay within a vector do without u."""
        total: Expr = Const(0)
        for part in parts:
            whole = part.divisor % self.plan.vector == 0
            lane = Var(ELEMENT) if whole else Var(ELEMENT) + Var(LANE, self.plan.vector)
            total = total + position(lane, (part,))
        return total

    def sharing(self, operand: int) -> tuple[int, int]:
        """Return period and run of a vector's gathered values: lane u holds that of ``source``.

        Elements start at multiples of V, so some digits are the same for some lanes, and the value
        is where all digits are: lane u holds what lane ``u % period - u % run`` does, and only
        these lanes load.
        """
        vector = self.plan.vector
        parts = digits(self.plan.merged.extents, self.plan.merged.masks[operand])
        keys = [tuple(_lane_key(part, u, vector) for part in parts) for u in range(vector)]
        sources = [keys.index(key) for key in keys]
        powers = [1 << bit for bit in range(vector.bit_length())]
        for period in powers:
            for run in powers[::-1]:
                if [u % period - u % run for u in range(vector)] == sources:
                    return period, run
        return vector, 1

    def lanes(self, operand: int) -> tuple[int, ...]:
        """Return the lanes of a vector whose gathered values are loads of their own."""
        period, run = self.sharing(operand)
        return tuple(range(0, period, run))

    def _in_vectors(self, part: Digit, how: How) -> Digit:
        """Return a digit of an element number as one of a vector's number.

        Rows are whole vectors here, so every divisor but the innermost 1 is a multiple of V; the
        index of an operand read in vectors counts vectors, too.
        """
        vector = self.plan.vector
        weight = part.weight // vector if how == "row_vector" else part.weight
        if part.divisor > 1:
            return Digit(part.divisor // vector, part.modulus, weight)
        modulus = None if part.modulus is None else part.modulus // vector
        return Digit(1, modulus, part.weight)

    def at_row(self, operand: int, row: Expr) -> Expr:
        """Return an operand's index at the start of one of its rows."""
        return position(row, self.plan.merged.rows(operand))

    def tail_index(self, operand: int) -> Expr:
        """Return an operand's index for a single element ``e``."""
        merged = self.plan.merged
        return position(Var(ELEMENT), digits(merged.extents, merged.masks[operand]))

    # -- evaluation --------------------------------------------------------------------------------

    def walk(self, blocks: Index, most: int | None = None) -> Walk:
        """Return the vectors that some blocks handle.

        Args:
            blocks: Block numbers, int64 ``[block]``.
            most: Only the first so many of a thread.
        """
        ids = blocks[:, None]
        thread = np.arange(THREADS, dtype=np.int64)
        values: dict[str, Value] = {self.block.name: ids, "threadIdx.x": thread}
        first = np.broadcast_to(np.asarray(self.first.evaluate(values)), (len(blocks), THREADS))
        row = np.broadcast_to(np.asarray(self.row.evaluate(values)), first.shape)
        steps = self.plan.unroll
        if self.stationary:
            steps = max(1, -(-(self.limit - int(first.min(initial=0))) // self.step))
        steps = steps if most is None else min(steps, most)
        number = np.arange(steps, dtype=np.int64)[:, None]
        vector = first[:, None, :] + number * self.step
        inside = vector < self.limit
        unroll = self.plan.unroll
        group_end = first[:, None, :] + (number // unroll * unroll + unroll - 1) * self.step
        batched = (group_end < self.limit) & (unroll > 1)
        entered = (first < self.limit) | (not self.leaves)
        return Walk(vector, inside & batched, inside & ~batched, first, row, entered)

    def values_at(
        self, walk: Walk, operand: int | None = None, once: bool = False
    ) -> dict[str, Value]:
        """Return the variables of the walked vectors, or of every thread's first.

        Args:
            walk: From `walk`.
            operand: Whose rows ``row`` and ``left`` are about; not needed for whole rows.
            once: Of the first vectors, ``[block, thread]``, not of all, ``[block, step, thread]``.
        """
        where = walk.first if once else walk.vector
        element = where * self.plan.vector
        if self.tiled:
            row = walk.row if once else walk.row[:, None, :]
            element = element + row * self.plan.merged.inner
            return {VECTOR: where, FIRST: where, ELEMENT: element, ROW: row}
        run = 1 if operand is None else self.plan.merged.run(operand)
        row = element // run
        left = (row + 1) * run - element
        return {VECTOR: where, FIRST: where, ELEMENT: element, ROW: row, LEFT: left}


def _lane_key(part: Digit, u: int, vector: int) -> int:
    """Return a number that is equal for lanes known to share a digit.

    Elements start at a multiple of V, so the digit changes at multiples of gcd(divisor, V) only.
    """
    run = math.gcd(part.divisor, vector)
    key = u // run
    if run == part.divisor and part.modulus is not None and vector // run % part.modulus == 0:
        return key % part.modulus
    return key


@dataclass(frozen=True, eq=False)
class Walk:
    """The vectors that some blocks handle.

    Attributes:
        vector: Vector numbers, int64 ``[block, step, thread]``.
        batched: Which are handled in batches of ``unroll``, bool of the same shape.
        single: Which are handled one by one.
        first: Each thread's first vector, int64 ``[block, thread]``.
        row: Each thread's row (row_tile), int64 ``[block, thread]``.
        entered: Which threads come to what they keep for vectors, bool ``[block, thread]``.
    """

    vector: Index
    batched: Mask
    single: Mask
    first: Index
    row: Index
    entered: Mask
