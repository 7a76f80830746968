"""Thread to element: what one block does step by step, and which loads it repeats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.studies.broadcast.kernel import prepare
from tileviz.studies.broadcast.plan import BroadcastPlan
from tileviz.studies.broadcast.portion import Version
from tileviz.studies.broadcast.scalar import ScalarSchedule
from tileviz.studies.broadcast.vector import ELEMENT, VectorSchedule

Grid = NDArray[np.int64]
Mask = NDArray[np.bool_]

MAX_STEPS = 8
NOTHING = -1


@dataclass(frozen=True, eq=False)
class Picture:
    """One block of a kernel as a table of steps and threads.

    Attributes:
        version: Which kernel.
        block: The block's place in the grid, x and y.
        threads: Threads in x and y.
        steps: All steps of a thread; the tables show the first ``MAX_STEPS``.
        width: Elements of a cell: 1, or those of a vector.
        element: First flat element of a cell, int64 ``[step, thread]``; ``NOTHING`` where the
            thread has none.
        operand: Name of the operand shown.
        values: The operand's elements that a cell needs, int64 ``[step, thread, width]``.
        loads: Whether the cell loads them, bool ``[step, thread]``; else they are at hand.
        repeated: Whether the cell loads what an earlier step of this block has loaded, all of it.
    """

    version: Version
    block: tuple[int, int]
    threads: tuple[int, int]
    steps: int
    width: int
    element: Grid
    operand: str
    values: Grid
    loads: Mask
    repeated: Mask

    @property
    def loads_per_thread(self) -> int:
        """Most loads of one thread in the steps shown."""
        return int(self.loads.sum(axis=0).max(initial=0))


def picture(
    plan: BroadcastPlan, version: Version = "ours", operand: int = 0, block: int = 0
) -> Picture:
    """Return what one block of a version does.

    Args:
        plan: A plan of a static design.
        version: Which kernel.
        operand: Position of the operand shown.
        block: Linear number of the block.

    Raises:
        NotRunnable: The design has no such kernel.
        IndexError: There is no such operand or block.

    Example:
        >>> from tileviz.studies.design import validated
        >>> from tileviz.studies.broadcast.design import BroadcastDesign
        >>> from tileviz.studies.broadcast.plan import plan
        >>> seed = plan(validated(BroadcastDesign, {"operands": [[192]], "out": [64, 56, 56, 192]}))
        >>> before, after = picture(seed, "before"), picture(seed, "cinn")
        >>> before.loads_per_thread, int(before.repeated.sum()), int(after.repeated.sum())
        (4, 768, 0)
    """
    made = prepare(plan, version, whole=True)
    x, y = made.grid
    if not 0 <= block < x * y or not 0 <= operand < len(plan.design.names):
        raise IndexError(f"no block {block} or operand {operand}")
    ids = np.array([block])
    steps, element, values, works, kept = (
        _of_vectors(made.schedule, ids, operand)
        if isinstance(made.schedule, VectorSchedule)
        else _of_elements(made.schedule, ids, operand)
    )
    loads = works.copy()
    if kept:
        loads[1:] = False
    return Picture(
        version=version,
        block=(block % x, block // x),
        threads=made.block,
        steps=steps,
        width=values.shape[2],
        element=np.where(works, element, NOTHING),
        operand=plan.design.names[operand],
        values=np.where(works[:, :, None], values, NOTHING),
        loads=loads,
        repeated=_repeated(values, loads),
    )


def _of_elements(
    schedule: ScalarSchedule, ids: Grid, operand: int
) -> tuple[int, Grid, Grid, Mask, bool]:
    found = schedule.evaluate(ids)
    shown = min(schedule.serial, MAX_STEPS)
    values = found.reads[operand][0, :shown, :, None]
    read = schedule.reads[operand]
    return schedule.serial, found.element[0, :shown], values, found.works[0, :shown], read.kept


def _of_vectors(
    schedule: VectorSchedule, ids: Grid, operand: int
) -> tuple[int, Grid, Grid, Mask, bool]:
    walk = schedule.walk(ids, most=MAX_STEPS)
    element = np.asarray(schedule.values_at(walk)[ELEMENT])[0]
    works = (walk.batched | walk.single)[0]
    lanes = element[:, :, None] + np.arange(schedule.plan.vector)
    values = np.asarray(schedule.tail_index(operand).evaluate({ELEMENT: lanes}))
    values = np.broadcast_to(values, lanes.shape)
    return schedule.plan.steps, element, values, works, schedule.plan.kept(operand)


def _repeated(values: Grid, loads: Mask) -> Mask:
    """Return the cells whose values were all loaded in earlier steps."""
    step = np.broadcast_to(np.arange(len(values))[:, None, None], values.shape)
    loaded = np.broadcast_to(loads[:, :, None], values.shape)
    _, number = np.unique(values, return_inverse=True)
    number = number.reshape(values.shape)
    first = np.full(int(number.max(initial=0)) + 1, len(values))
    np.minimum.at(first, number[loaded], step[loaded])
    earlier = np.less(first[number], step).all(axis=2)
    found: Mask = np.logical_and(loads, earlier)
    return found
