"""Our plan: no rule on channels, any pattern of broadcast axes, operands and element widths.

All operands are planned together on the flat index of the output, in 16-byte vectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tileviz.dtypes import dtype as dtype_of
from tileviz.studies.broadcast.axes import Merged, digits, loop_invariant
from tileviz.studies.broadcast.design import BroadcastDesign

VECTOR_BYTES = 16
THREADS = 256
UNROLL = 4
BLOCKS_PER_SM = 8
WAVES = 4
INDEX_32 = 1 << 31
MAX_GRID = 2**31 - 1

Kind = Literal["stationary", "row_tile", "flat_fastdiv"]
How = Literal[
    "elementwise",  # a vector, as x is
    "scalar",  # one value for all
    "row_value",  # one value for a vector, which stays in its row
    "row_vector",  # a vector, which stays in its row
    "wrapped_value",  # one value, and the next row's where the vector goes on there
    "wrapped_vector",  # element by element, on from the next row's start
    "gathered",  # element by element: rows are shorter than vectors
]

NAMES: dict[Kind, str] = {
    "stationary": "stationary grid-stride",
    "row_tile": "one row tile a block",
    "flat_fastdiv": "flat, one division a vector",
}


@dataclass(frozen=True)
class Ours:
    """A plan of ours.

    Attributes:
        kind: ``stationary``: the grid's stride is a multiple of the period, so a thread's
            broadcast values never change; ``row_tile``: a block stays in one row of a broadcast
            innermost axis; ``flat_fastdiv``: every vector finds its operands by one division.
        merged: The output without unit axes, neighbours merged.
        vector: Elements of one 16-byte access.
        grid: Blocks of ``THREADS`` threads.
        steps: Most vectors a thread handles.
        unroll: Vectors whose loads are in flight together.
        tiles: Blocks for one row (row_tile only).
        elements: Elements of the output.
        how: How each operand is read.
    """

    kind: Kind
    merged: Merged
    vector: int
    grid: int
    steps: int
    unroll: int
    tiles: int
    how: tuple[How, ...]

    @property
    def elements(self) -> int:
        """Elements of the output."""
        return self.merged.elements

    @property
    def vectors(self) -> int:
        """Whole vectors; the rest is the scalar tail."""
        return self.elements // self.vector

    @property
    def tail(self) -> int:
        """Elements that fill no whole vector."""
        return self.elements % self.vector

    @property
    def period(self) -> int:
        """After how many elements all broadcast operands repeat (Q)."""
        return self.merged.period

    @property
    def stride(self) -> int:
        """Elements between a thread's consecutive vectors in a grid-stride loop."""
        return self.grid * THREADS * self.vector

    @property
    def wide(self) -> bool:
        """Whether indices need 64 bits."""
        return self.elements >= INDEX_32

    @property
    def loads_per_thread(self) -> int:
        """How often a thread loads each broadcast value it needs: once, or once a vector.

        The most over all broadcasting operands; 0 where there is none.
        """
        return max((self.loads(k) for k in self.merged.broadcasting), default=0)

    def loads(self, operand: int) -> int:
        """Return how often a thread loads one operand: once, or once a vector."""
        return 1 if self.kept(operand) else self.steps

    def kept(self, operand: int) -> bool:
        """Return whether an operand is loaded once, before the vectors.

        In a flat plan with several vectors a thread this is so where these all repeat the first.
        """
        if self.how[operand] in ("elementwise", "scalar"):
            return self.how[operand] == "scalar"
        if self.kind != "flat_fastdiv":
            return True
        parts = digits(self.merged.extents, self.merged.masks[operand])
        return self.unroll > 1 and loop_invariant(parts, THREADS * self.vector, self.unroll)


def ours(design: BroadcastDesign) -> Ours | None:
    """Return our plan of a design, or None where an extent is dynamic or a load is no broadcast.

    Example:
        >>> from tileviz.studies.design import validated
        >>> odd = validated(BroadcastDesign, {"operands": [[33]], "out": [16, 14, 14, 33]})
        >>> plan = ours(odd)
        >>> plan.kind, plan.grid, plan.loads_per_thread, plan.stride % 33
        ('stationary', 33, 1, 0)
    """
    if design.dynamic or not set(design.accesses) <= {"broadcast", "elementwise"}:
        return None
    merged = Merged.of(design.out, design.shapes)
    vector = VECTOR_BYTES // dtype_of(design.dtype).bytes
    return (
        _stationary(merged, vector, design.sm_count)
        or _row_tile(merged, vector)
        or _flat(merged, vector, design.sm_count)
    )


def smallest_grid(period: int, vector: int) -> int:
    """Return the fewest blocks whose joint stride in elements is a multiple of the period.

    Example:
        >>> smallest_grid(192, 4), smallest_grid(33, 4), smallest_grid(1 << 16, 4)
        (3, 33, 64)
    """
    vectors = math.lcm(period, vector) // vector
    return vectors // math.gcd(vectors, THREADS)


def _stationary(merged: Merged, vector: int, sm_count: int) -> Ours | None:
    broadcasting = merged.broadcasting
    if not broadcasting or any(merged.masks[k][0] for k in broadcasting):
        return None
    vectors = merged.elements // vector
    least = smallest_grid(merged.period, vector)
    most = sm_count * BLOCKS_PER_SM * WAVES
    if least > most or least * 2 * THREADS > vectors:
        return None
    # Two vectors a thread at least, or there is nothing to keep.
    wanted = min(most, -(-vectors // THREADS) // 2)
    grid = least * max(1, wanted // least)
    steps = -(-vectors // (grid * THREADS))
    return Ours("stationary", merged, vector, grid, steps, UNROLL, 1, _hows(merged, vector))


def _row_tile(merged: Merged, vector: int) -> Ours | None:
    broadcasting, inner = merged.broadcasting, merged.inner
    if not broadcasting or any(merged.masks[k][-1] for k in broadcasting):
        return None
    row = inner // vector
    if inner % vector or row < THREADS:
        return None
    unroll = UNROLL
    while unroll > 1 and row < THREADS * unroll and row % (THREADS * unroll):
        unroll //= 2
    tiles = -(-row // (THREADS * unroll))
    grid = merged.elements // inner * tiles
    if grid > MAX_GRID:
        return None
    return Ours("row_tile", merged, vector, grid, unroll, unroll, tiles, _hows(merged, vector))


def _flat(merged: Merged, vector: int, sm_count: int) -> Ours:
    vectors = merged.elements // vector
    unroll = UNROLL
    while unroll > 1 and -(-vectors // (THREADS * unroll)) < sm_count * BLOCKS_PER_SM:
        unroll //= 2
    grid = max(1, -(-vectors // (THREADS * unroll)))
    return Ours("flat_fastdiv", merged, vector, grid, unroll, unroll, 1, _hows(merged, vector))


def _hows(merged: Merged, vector: int) -> tuple[How, ...]:
    return tuple(_how(merged, operand, vector) for operand in range(len(merged.masks)))


def _how(merged: Merged, operand: int, vector: int) -> How:
    """Return how the elements of one vector find their values of an operand."""
    mask, run = merged.masks[operand], merged.run(operand)
    if all(mask):
        return "elementwise"
    if not any(mask):
        return "scalar"
    if run % vector == 0:
        return "row_vector" if mask[-1] else "row_value"
    if run < vector:
        return "gathered"
    return "wrapped_vector" if mask[-1] else "wrapped_value"
