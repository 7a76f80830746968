"""The place each lane goes to, as the shortest expression that says it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.expr import Const, Expr, Lookup, Var, bit_field
from tileviz.layouts.f2 import linear_columns, sum_table
from tileviz.memory import LANES
from tileviz.studies.access.plan import AccessPlan
from tileviz.studies.bit_fields import xor_fields

Ints = NDArray[np.int64]
_LANE = Var("lane", LANES)
_LINE_BYTES = 128
# Matrices of ldmatrix and stmatrix; each takes the addresses of eight lanes.
MATRICES = {"x1": 1, "x2": 2, "x4": 4}


@dataclass(frozen=True)
class LaneIndex:
    """An index by lane.

    Attributes:
        index: The expression, over ``lane``.
        guard: Condition of a lane to take part, "" where all do.
        table: Entries of the table ``AT``, where no shorter expression was found.
    """

    index: Expr
    guard: str
    table: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The expression as printed."""
        return str(self.index)

    def evaluate(self) -> Ints:
        """Return the index of every lane, int64 ``[lane]``."""
        values = self.index.evaluate({"lane": np.arange(LANES, dtype=np.int64)})
        return np.asarray(np.broadcast_to(values, LANES), dtype=np.int64)


def lane_index(units: Ints, active: NDArray[np.bool_]) -> LaneIndex:
    """Return the index of every lane.

    Args:
        units: Where each lane goes, int64 ``[lane]``.
        active: Which lanes count.

    Example:
        >>> every = np.ones(32, dtype=bool)
        >>> print(lane_index(33 * np.arange(32) + 2, every).text)
        lane * 33 + 2
        >>> print(lane_index(np.arange(32) ^ 5, every).text)
        lane ^ 5
        >>> print(lane_index(np.arange(32) // 4 * 64 + np.arange(32) % 4, every).text)
        (lane >> 2) * 64 + (lane & 3)
    """
    guard = _guard(active)
    for found in (_affine(units, active), _fields(units, active), _xors(units, active)):
        if found is not None:
            return LaneIndex(found, guard)
    table = tuple(np.where(active, units, 0).tolist())
    return LaneIndex(Lookup("AT", table, _LANE), guard, table)


def _guard(active: NDArray[np.bool_]) -> str:
    if active.all():
        return ""
    count = int(active.sum())
    if active[:count].all():
        return f"lane < {count}"
    mask = sum(1 << lane for lane in np.flatnonzero(active).tolist())
    return f"0x{mask:08X}u >> lane & 1u"


def _affine(units: Ints, active: NDArray[np.bool_]) -> Expr | None:
    lanes = np.flatnonzero(active)
    step = 0
    if len(lanes) > 1:
        step = int((units[lanes[1]] - units[lanes[0]]) // (lanes[1] - lanes[0]))
    base = int(units[lanes[0]] - step * lanes[0])
    if base < 0 or step < 0 or not np.array_equal(units[lanes], base + step * lanes):
        return None
    return _LANE * step + base if step else Const(base)


def _fields(units: Ints, active: NDArray[np.bool_]) -> Expr | None:
    """Return a sum of strided bit fields of the lane."""
    if not active.all():
        return None
    weights = (units[1 << np.arange(5)] - units[0]).tolist()
    if min(weights) < 0 or not np.array_equal(sum_table(weights), units - units[0]):
        return None
    parts, start = [], 0
    for end in range(1, 6):
        if end < 5 and weights[end] == 2 * weights[end - 1]:
            continue
        parts.append((bit_field(_LANE, start, end - start), weights[start]))
        start = end
    total: Expr = Const(0)
    for part, weight in sorted(parts, key=lambda term: -term[1]):
        total = total + part * weight
    return total + int(units[0])


def _xors(units: Ints, active: NDArray[np.bool_]) -> Expr | None:
    """Return an XOR of bit fields of the lane."""
    if not active.all():
        return None
    first = int(units[0])
    columns = linear_columns(units ^ first)
    if columns is not None:
        return xor_fields(_LANE, columns) ^ first
    if int(units.min()) < first:
        return None
    columns = linear_columns(units - first)
    return None if columns is None else xor_fields(_LANE, columns) + first


def used_units(plan: AccessPlan) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where each lane goes, in units of the access from the first 128-byte line used.

    And which lanes carry an address that counts; the place of others is 0.
    """
    active: NDArray[np.bool_] = plan.accesses.active[0]
    if plan.design.op.startswith("ldmatrix"):
        active = active & (np.arange(LANES) < 8 * MATRICES[plan.design.op.rpartition(".")[2]])
    addresses = plan.accesses.addresses[0]
    low = int(addresses[active].min(initial=1 << 62)) // _LINE_BYTES * _LINE_BYTES
    units: NDArray[np.int64] = np.where(active, (addresses - low) // plan.accesses.bytes, 0)
    return units, active
