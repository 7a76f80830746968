"""What is proven about a plan of ours by arithmetic alone, at any size."""

from __future__ import annotations

from dataclasses import dataclass

from tileviz.studies.broadcast.ours import THREADS, Ours


@dataclass(frozen=True)
class Proof:
    """Two lines that follow from the plan's numbers.

    Attributes:
        coverage: Why every element is written exactly once.
        loads: Why a thread loads a broadcast value as often as stated.
        holds: Whether the arithmetic of both lines is true.
    """

    coverage: str
    loads: str
    holds: bool


def prove(plan: Ours) -> Proof:
    """Check the arithmetic of a plan and put it in words.

    Example:
        >>> from tileviz.studies.design import validated
        >>> from tileviz.studies.broadcast.design import BroadcastDesign
        >>> from tileviz.studies.broadcast.ours import ours
        >>> odd = validated(BroadcastDesign, {"operands": [[33]], "out": [16, 14, 14, 33]})
        >>> print(prove(ours(odd)).loads)
        stride 33 * 256 * 4 = 33792 = 1024 * 33: a thread's values never change, 1 load each
    """
    covered, coverage = _coverage(plan)
    constant, loads = _loads(plan)
    return Proof(coverage, loads, covered and constant)


def _coverage(plan: Ours) -> tuple[bool, str]:
    lanes = plan.grid * THREADS
    if plan.kind == "row_tile":
        row = plan.merged.inner // plan.vector
        rows = plan.elements // plan.merged.inner
        slots = plan.tiles * THREADS * plan.steps
        text = f"{rows} rows * {row} vectors, {plan.tiles} * {THREADS} * {plan.steps} >= {row}"
        exact = plan.grid == rows * plan.tiles and slots >= row > slots - THREADS * plan.steps
        return exact and plan.tail == 0, f"{text}: every element once"
    slots = lanes * plan.steps
    text = f"{plan.grid} * {THREADS} * {plan.steps} >= {plan.vectors} vectors of {plan.vector}"
    if plan.tail:
        text += f", then {plan.tail} single elements"
    fits = slots >= plan.vectors and plan.tail < lanes
    return fits, f"{text}: every element once"


def _loads(plan: Ours) -> tuple[bool, str]:
    count = plan.loads_per_thread
    if not plan.merged.broadcasting:
        return True, "no operand is broadcast"
    if plan.kind == "stationary":
        whole, rest = divmod(plan.stride, plan.period)
        left = f"stride {plan.grid} * {THREADS} * {plan.vector} = {plan.stride}"
        text = f"{left} = {whole} * {plan.period}: a thread's values never change, 1 load each"
        return rest == 0 and count == 1, text
    if plan.kind == "row_tile":
        row = plan.merged.inner
        return plan.merged.inner % plan.vector == 0 and count == 1, (
            f"a block stays in one row of {row}: 1 load for {plan.steps} vectors"
        )
    if plan.vectors == 0:
        return True, "fewer elements than one vector: 1 load each"
    unit = "vectors" if count > 1 else "vector"
    return count <= plan.steps, f"{count} loads for {plan.steps} {unit}: one division a vector"
