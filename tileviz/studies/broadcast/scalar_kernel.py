"""CUDA of the schedules that move one element a step, and the accesses they will make."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.templates import Rendered, render
from tileviz.dtypes import dtype as dtype_of
from tileviz.memory import LANES, Accesses
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.ours import INDEX_32
from tileviz.studies.broadcast.scalar import Evaluated, Guard, ScalarSchedule
from tileviz.studies.broadcast.text import applied, common
from tileviz.studies.broadcast.values import ValueType

Mask = NDArray[np.bool_]


def render_scalar(design: BroadcastDesign, schedule: ScalarSchedule, header: list[str]) -> Rendered:
    """Return the CUDA text of a schedule, with marks ``xy`` and one for every operand."""
    guard = schedule.guard
    shared = _shared(schedule)
    reads: list[dict[str, Any]] = [
        {
            "name": name,
            "value": f"{name}_value",
            "index": shared.get((str(read.index), read.kept), str(read.index)),
            "kept": read.kept,
        }
        for name, read in zip(design.names, schedule.reads, strict=True)
    ]
    values = ValueType.of(design.dtype)
    depth = 4 + 4 * (schedule.serial > 1) + 4 * (guard is not None)
    arguments = [values.to_value("x[i]"), *(read["value"] for read in reads)]
    return render(
        "broadcast_scalar.cu.jinja",
        **common(design, header),
        result=applied("y[i]", arguments, values, depth, "xy"),
        threads=schedule.threads,
        serial=schedule.serial,
        before=schedule.before,
        inside=_in_order(schedule),
        leaves=_condition(schedule.leaves, ">="),
        guard=_condition(guard, "<"),
        reads=reads,
        kept=any(read.kept for read in schedule.reads),
        shared=[
            {"name": name, "value": index, "kept": kept} for (index, kept), name in shared.items()
        ],
    )


def _shared(schedule: ScalarSchedule) -> dict[tuple[str, bool], str]:
    """Return names for indices that several operands are read by."""
    keys = [(str(read.index), read.kept) for read in schedule.reads]
    names: dict[tuple[str, bool], str] = {}
    for key in keys:
        if keys.count(key) > 1 and " " in key[0]:
            names.setdefault(key, f"at{len(names) or ''}")
    return names


def _in_order(schedule: ScalarSchedule) -> list[dict[str, Any]]:
    """Return the variables of a step; those up to the guarded one stand before the guard."""
    guarded = "" if schedule.guard is None else str(schedule.guard.value)
    names = [local.name for local in schedule.inside]
    first = names.index(guarded) + 1 if guarded in names else 0
    return [
        {"name": local.name, "value": str(local.value), "guards": number < first}
        for number, local in enumerate(schedule.inside)
    ]


def predict_scalar(
    design: BroadcastDesign, schedule: ScalarSchedule, rendered: Rendered, blocks: NDArray[np.int64]
) -> tuple[Accesses, ...]:
    """Return the accesses that some blocks will make.

    Args:
        design: A static design.
        schedule: Its schedule.
        rendered: The schedule's text.
        blocks: Linear block numbers, int64 ``[block]``.
    """
    found = schedule.evaluate(blocks)
    width = dtype_of(design.dtype).bytes

    def accesses(index: NDArray[np.int64], active: Mask, op: str, name: str, mark: str) -> Accesses:
        rows, mask = _by_warp(index, active)
        return Accesses.of(
            rows * width,
            active=mask,
            space="global",
            op=op,
            bytes=width,
            line=rendered.lines[mark],
            text=f"{name}[...]",
            buffer=name,
        )

    made = [
        accesses(*_read(found, read.kept, index), "ld", name, name)
        for name, read, index in zip(design.names, schedule.reads, found.reads, strict=True)
    ]
    made.append(accesses(found.element, found.works, "ld", "x", "xy"))
    made.append(accesses(found.element, found.works, "st", "y", "xy"))
    return tuple(made)


def _read(found: Evaluated, kept: bool, index: NDArray[np.int64]) -> tuple[Any, Any]:
    if kept:
        return index[:, :1], found.entered[:, None, :]
    return index, found.works


def _by_warp(index: NDArray[np.int64], active: Mask) -> tuple[NDArray[np.int64], Mask]:
    """Return ``[instruction, lane]`` without warps that have nothing to do."""
    threads = index.shape[-1]
    padding = ((0, 0), (0, 0), (0, -threads % LANES))
    rows = np.pad(index, padding).reshape(-1, LANES)
    mask = np.pad(active, padding).reshape(-1, LANES)
    used = mask.any(axis=1)
    return rows[used], mask[used]


def _condition(guard: Guard | None, sign: str) -> str:
    return "" if guard is None else f"{guard.value} {sign} {_number(guard.limit)}"


def _number(value: int) -> str:
    return f"{value}ull" if value >= INDEX_32 else str(value)
