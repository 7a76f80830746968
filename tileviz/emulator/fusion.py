"""Runs of independent ``fma.rn.f32`` executed together.

A matrix product is nearly all multiply-adds, each over a few thousand lanes: too short to amortise
the half dozen NumPy calls that one exact fma takes. A run whose results do not feed each other is
computed in two-dimensional arrays instead, every multiplicand converted to float64 once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.emulator.binder import Binder
from tileviz.emulator.lanes import Lanes
from tileviz.emulator.memory import aligned
from tileviz.emulator.numerics import quick_sum, round_sum
from tileviz.emulator.ops import build
from tileviz.emulator.ptx import Instruction, Register
from tileviz.emulator.state import Step

_OPCODES = ("fma.rn.f32", "mad.rn.f32")
_CHUNK = 16384  # elements computed at once: two arrays of float64 stay in the cache
_LEAST = 4


def runs(body: list[Instruction], binder: Binder) -> Iterator[list[Instruction]]:
    """Split a block into runs of fusable instructions and single others, in order."""
    run: list[Instruction] = []
    written: set[str] = set()
    for instruction in body:
        names = _registers(instruction, binder)
        if names and not written.intersection(names):
            run.append(instruction)
            written.add(names[0])
            continue
        if run:
            yield run
        run, written = [], set()
        if names:
            run, written = [instruction], {names[0]}
        else:
            yield [instruction]
    if run:
        yield run


def _registers(instruction: Instruction, binder: Binder) -> list[str]:
    """Return target and sources of a fusable instruction, or nothing."""
    if instruction.opcode not in _OPCODES or instruction.guard is not None:
        return []
    names = [o.name for o in instruction.operands if isinstance(o, Register)]
    known = any(name in binder.known for name in names)
    return names if len(names) == len(instruction.operands) == 4 and not known else []


def steps_of(run: list[Instruction], binder: Binder) -> list[Step]:
    """Return the steps of a run: one for all of it, if that is worth it."""
    if len(run) < _LEAST or binder.state.geometry.lanes > _CHUNK // 2:
        steps = (build(instruction, binder) for instruction in run)
        return [step for step in steps if step is not None]
    return [_Fused(run, binder).run]


class _Chunk:
    """Some of the multiply-adds of a run.

    Attributes:
        targets, addends: Their rows, as a slice where they follow each other.
        products: For each multiplicand: where its products go, and the slots of the other factors.
    """

    def __init__(
        self, terms: list[tuple[int, int, int, int]]
    ) -> None:  # target row, slot a, slot b, addend row
        self.targets = _as_slice([term[0] for term in terms])
        self.addends = _as_slice([term[3] for term in terms])
        self.count = len(terms)
        self.products: list[tuple[slice, int, Any]] = []
        start = 0
        for slot, group in groupby(terms, key=lambda term: term[1]):
            others = [term[2] for term in group]
            self.products.append((slice(start, start + len(others)), slot, _as_slice(others)))
            start += len(others)

    def load(
        self,
        rows: NDArray[np.float32],
        wide: NDArray[np.float64],
        product: NDArray[np.float64],
        addend: NDArray[np.float64],
    ) -> None:
        """Compute the exact products, and widen the addends."""
        for place, slot, others in self.products:
            np.multiply(wide[slot], wide[others], out=product[place])
        np.copyto(addend, rows[self.addends])


def _as_slice(numbers: list[int]) -> Any:
    """Return numbers that follow each other as a slice, others as an array."""
    if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return slice(numbers[0], numbers[0] + len(numbers))
    return np.array(numbers)


class _Fused:
    """A run and its scratch memory; ``alone`` has its steps one by one, made when needed."""

    def __init__(self, run: list[Instruction], binder: Binder) -> None:
        self.instructions = run
        self.binder = binder
        self.alone: list[Step] = []
        self.rows = binder.rows(32).view(np.float32)
        rows = binder.allocation.rows
        names = [[o.name for o in i.operands if isinstance(o, Register)] for i in run]
        slots: dict[str, int] = {}
        for _, a, b, _ in names:
            for name in (a, b):
                slots.setdefault(name, len(slots))
        self.factors = _as_slice([rows[name] for name in slots])
        terms = [(rows[d], slots[a], slots[b], rows[c]) for d, a, b, c in names]
        lanes = binder.state.geometry.lanes
        size = max(1, _CHUNK // lanes)
        self.chunks = [_Chunk(terms[i : i + size]) for i in range(0, len(terms), size)]
        self.wide = _scratch(len(slots), lanes, np.float64)
        self.product = _scratch(size, lanes, np.float64)
        self.addend = _scratch(size, lanes, np.float64)
        self.sum = _scratch(size, lanes, np.float32)

    def run(self, lanes: Lanes) -> None:
        """Execute the run."""
        pick = lanes.loose
        if pick is not None and not isinstance(pick, slice):
            self._one_by_one(lanes)
            return
        rows = self.rows if pick is None else self.rows[:, pick]
        width = rows.shape[1]
        wide = self.wide[:, :width]
        np.copyto(wide, rows[self.factors])
        for chunk in self.chunks:
            count = chunk.count
            product, addend = self.product[:count, :width], self.addend[:count, :width]
            total = self.sum[:count, :width]
            chunk.load(rows, wide, product, addend)
            if not quick_sum(product, addend, total):
                chunk.load(rows, wide, product, addend)
                round_sum(product, addend, total)
            rows[chunk.targets] = total

    def _one_by_one(self, lanes: Lanes) -> None:
        """Execute for scattered lanes, where two dimensions gain nothing."""
        if not self.alone:
            steps = (build(instruction, self.binder) for instruction in self.instructions)
            self.alone = [step for step in steps if step is not None]
        for step in self.alone:
            step(lanes)


def _scratch(rows: int, lanes: int, dtype: type) -> NDArray[Any]:
    return aligned(rows * lanes, dtype).reshape(rows, lanes)
