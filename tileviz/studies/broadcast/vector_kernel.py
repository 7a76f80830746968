"""CUDA of our plan, and the accesses it will make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.expr import Var
from tileviz.cuda.templates import Rendered, render
from tileviz.dtypes import dtype as dtype_of
from tileviz.memory import LANES, Accesses
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.ours import THREADS, VECTOR_BYTES
from tileviz.studies.broadcast.text import applied, common
from tileviz.studies.broadcast.values import ValueType
from tileviz.studies.broadcast.vector import (
    ELEMENT,
    FIRST,
    LANE,
    LEFT,
    ROW,
    VECTOR,
    VectorSchedule,
    Walk,
)

Index = NDArray[np.int64]
Mask = NDArray[np.bool_]

_TEMPLATE = "broadcast_ours.cu.jinja"


def render_vector(design: BroadcastDesign, schedule: VectorSchedule, header: list[str]) -> Rendered:
    """Return the CUDA text of our plan.

    Marks: ``x_main`` (a batch), ``rest`` (one vector), ``y``, one for every operand, ``tail``.
    """
    plan = schedule.plan
    step = "STRIDE" if schedule.stationary else str(THREADS)
    names = design.names
    operands = [_operand(schedule, k, name) for k, name in enumerate(names)]
    kept = [o for k, o in enumerate(operands) if schedule.kept(k)]
    each = [o for k, o in enumerate(operands) if not plan.kept(k) and plan.how[k] != "elementwise"]
    values = ValueType.of(design.dtype)
    packed = [values.to_value("x_pack.v[u]"), *(values.to_value(_lane(o)) for o in operands)]
    # What is one value for all is at hand already.
    tail = [k for k, how in enumerate(plan.how) if how != "scalar" or not schedule.vectors]
    single = [values.to_value("x[e]")]
    single += [
        values.to_value(f"{name}_{'tail' if k in tail else 'value'}")
        for k, name in enumerate(names)
    ]
    batch = Var(VECTOR) + Var(LANE) * Var(step)
    kept_locals = _kept_locals(schedule, kept) + _shared(kept)
    vector_locals = _vector_locals(schedule, each) + _shared(each)
    return render(
        _TEMPLATE,
        **common(design, header),
        threads=THREADS,
        vector=plan.vector,
        unroll=plan.unroll,
        stationary=schedule.stationary,
        stride=schedule.step,
        stride_note=_stride_note(schedule),
        step=step,
        limit=str(schedule.row_vectors) if schedule.tiled else "VECTORS",
        vectors=schedule.vectors,
        vectors_note=_vectors_note(schedule),
        tiled=schedule.tiled,
        places=_places(schedule),
        leaves=schedule.leaves,
        alone=schedule.alone,
        scalars=[o for o in kept if o["how"] == "scalar" and not schedule.tiled],
        kept=[o for o in kept if o["how"] != "scalar" or schedule.tiled],
        kept_note=_kept_note(schedule),
        kept_locals=kept_locals,
        each=each,
        vector_locals=vector_locals,
        result=applied("y_pack.v[u]", packed, values, 12),
        tail_result=applied("y[e]", single, values, 8, "tail"),
        elementwise=[name for k, name in enumerate(names) if plan.how[k] == "elementwise"],
        place=str(schedule.place(Var(VECTOR))),
        place_u=str(schedule.place(batch)),
        packed=[
            name
            for name, how in zip(("x", *names), ("elementwise", *plan.how), strict=True)
            if how in ("elementwise", "row_vector") and schedule.vectors
        ],
        tail_count=schedule.tail,
        tail=[{"name": names[k], "index": str(schedule.tail_index(k))} for k in tail],
    )


def _operand(schedule: VectorSchedule, k: int, name: str) -> dict[str, Any]:
    """Return what the template needs to read an operand."""
    how, run = schedule.how(k), schedule.plan.merged.run(k)
    suffix = _suffix(schedule, run) if how.startswith("wrapped") else ""
    row, left = Var(f"{ROW}{suffix}"), f"{LEFT}{suffix}"
    found: dict[str, Any] = {
        "name": name,
        "how": how,
        "run": run,
        "suffix": suffix,
        "left": left,
        "index": "",
        "next": "",
        "loads": "",
        "source": "",
    }
    if how.startswith("wrapped") and not schedule.tiled:
        here, onward = schedule.at_row(k, row), schedule.at_row(k, row + 1)
        found["index"], found["next"] = str(here), str(onward)
        if how == "wrapped_vector":
            there = f"{Var(f'column{suffix}') + Var(LANE) + here}"
            found["index"] = f"u < {left} ? {there} : {Var(LANE) + onward} - {left}"
    elif how != "elementwise":
        found["index"] = str(schedule.index(k))
    if how == "gathered":
        found["loads"], found["source"] = _sharing(schedule, k)
    return found


def _sharing(schedule: VectorSchedule, k: int) -> tuple[str, str]:
    """Return which lanes load their gathered value ("": all), and where the others copy it from."""
    period, run = schedule.sharing(k)
    conditions, place = [], "u"
    if period < schedule.plan.vector:
        conditions.append(f"u < {period}")
        place = f"u % {period}"
    if run > 1:
        conditions.append(f"u % {run} == 0")
        place += f" - u % {run}"
    return " && ".join(conditions), place


def _suffix(schedule: VectorSchedule, run: int) -> str:
    """Return what tells the rows of several operands apart, "" where all agree."""
    count = len(schedule.plan.how)
    wrapped = [k for k in range(count) if schedule.how(k).startswith("wrapped")]
    runs = list(dict.fromkeys(schedule.plan.merged.run(k) for k in wrapped))
    return str(runs.index(run)) if len(runs) > 1 else ""


def _lane(operand: dict[str, Any]) -> str:
    """Return an operand's element for lane u of a vector."""
    name, how = operand["name"], operand["how"]
    if how in ("scalar", "row_value"):
        return f"{name}_value"
    return (
        f"u < {operand['left']} ? {name}_here : {name}_next"
        if how == "wrapped_value"
        else f"{name}_pack.v[u]"
    )


def _shared(operands: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Name the indices that several operands are read by, and let them use the name."""
    found: list[dict[str, str]] = []
    plain = [o for o in operands if o["how"] in ("row_value", "row_vector")]
    for index in dict.fromkeys(o["index"] for o in plain):
        users = [o for o in plain if o["index"] == index]
        if len(users) > 1 and " " in index:
            name = f"at{len(found) or ''}"
            found.append({"name": name, "value": index})
            for user in users:
                user["index"] = name
    return found


def _places(schedule: VectorSchedule) -> list[dict[str, str]]:
    found = [{"name": FIRST, "value": str(schedule.first)}]
    if schedule.tiled:
        return [{"name": ROW, "value": str(schedule.row)}, *found]
    return found


def _kept_locals(schedule: VectorSchedule, kept: list[dict[str, Any]]) -> list[dict[str, str]]:
    if not any(ELEMENT in o["index"].replace("(", " ").split() for o in kept):
        return []
    return [{"name": ELEMENT, "value": f"{FIRST} * {schedule.plan.vector}"}]


def _vector_locals(schedule: VectorSchedule, each: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return what the operands of a vector need: its element, its row, and what is left of that."""
    if not any(o["how"] in ("wrapped_value", "wrapped_vector", "gathered") for o in each):
        return []
    found = [{"name": ELEMENT, "value": f"{VECTOR} * {schedule.plan.vector}"}]
    runs = {o["suffix"]: o["run"] for o in each if o["how"].startswith("wrapped")}
    for suffix, run in runs.items():
        row = f"{ROW}{suffix}"
        found.append({"name": row, "value": f"{ELEMENT} / {run}"})
        found.append({"name": f"column{suffix}", "value": f"{ELEMENT} - {row} * {run}"})
        found.append({"name": f"{LEFT}{suffix}", "value": f"{run} - column{suffix}"})
    return found


def _vectors_note(schedule: VectorSchedule) -> str:
    """Say what the vectors leave out: single elements, or the rest of a sampled output."""
    tail = f"and {schedule.tail} single element{'s' * (schedule.tail > 1)}" if schedule.tail else ""
    whole = schedule.plan.elements
    if schedule.elements == whole:
        return tail
    sample = f"a sample: {schedule.elements} of {whole} elements"
    return f"{tail}; {sample}" if tail else sample


def _stride_note(schedule: VectorSchedule) -> str:
    plan = schedule.plan
    return f"{plan.stride} elements, {plan.stride // plan.period} times the period {plan.period}"


def _kept_note(schedule: VectorSchedule) -> str:
    if schedule.stationary:
        return "a stride further on, the same values are needed"
    if schedule.tiled:
        return "the block stays in its row"
    return "the thread's other vectors need the same values"


# -- prediction ------------------------------------------------------------------------------------


def predict_vector(
    design: BroadcastDesign, schedule: VectorSchedule, rendered: Rendered, blocks: Index
) -> tuple[Accesses, ...]:
    """Return the accesses that some blocks will make.

    Args:
        design: A static design.
        schedule: Our schedule of it.
        rendered: Its text.
        blocks: Block numbers, int64 ``[block]``.
    """
    walk = schedule.walk(blocks)
    maker = _Maker(design, rendered)
    found = list(_vectors(design, schedule, walk, maker))
    for k, name in enumerate(design.names):
        if schedule.kept(k):
            found += _operand_loads(schedule, k, name, walk, None, maker)
        elif schedule.plan.how[k] != "elementwise":
            for part in (walk.batched, walk.single):
                found += _operand_loads(schedule, k, name, walk, part, maker)
    if schedule.tail:
        found += _tail(design, schedule, walk, maker)
    return tuple(accesses for accesses in found if accesses.executions)


class _Maker:
    """Makes accesses of this design's element type, attributed to lines of its text."""

    def __init__(self, design: BroadcastDesign, rendered: Rendered) -> None:
        self.width = dtype_of(design.dtype).bytes
        self._lines = rendered.lines

    def make(
        self, element: Index, active: Mask, op: str, name: str, mark: str, bytes: int
    ) -> Accesses:
        """Return the accesses of elements; ``[..., thread]``, one instruction a warp."""
        index = np.broadcast_to(element, active.shape).reshape(-1, LANES)
        mask = active.reshape(-1, LANES)
        used = mask.any(axis=1)
        # What nobody executes may not stand in the text.
        line = self._lines[mark] if used.any() else None
        return Accesses.of(
            np.where(mask, index, 0)[used] * self.width,
            active=mask[used],
            space="global",
            op=op,
            bytes=bytes,
            line=line,
            text=f"{name}[...]",
            buffer=name,
        )


def _vectors(
    design: BroadcastDesign, schedule: VectorSchedule, walk: Walk, maker: _Maker
) -> Iterator[Accesses]:
    """Yield the accesses to x, y and the elementwise operands."""
    element = np.asarray(schedule.values_at(walk)[ELEMENT])
    whole = [name for k, name in enumerate(design.names) if schedule.plan.how[k] == "elementwise"]
    for name in ("x", *whole):
        if schedule.plan.unroll > 1:
            yield maker.make(element, walk.batched, "ld", name, f"{name}_main", VECTOR_BYTES)
        yield maker.make(element, walk.single, "ld", name, "rest", VECTOR_BYTES)
    for part in (walk.batched, walk.single):
        yield maker.make(element, part, "st", "y", "y", VECTOR_BYTES)


def _operand_loads(
    schedule: VectorSchedule, k: int, name: str, walk: Walk, part: Mask | None, maker: _Maker
) -> Iterator[Accesses]:
    """Yield the loads of an operand for the vectors in ``part``, or for None once a thread."""
    values = schedule.values_at(walk, k, once=part is None)
    how = schedule.how(k)
    active = walk.entered if part is None else part
    if how == "scalar" and part is None and not schedule.alone:
        active = np.ones_like(active)
    if how == "wrapped_vector":
        yield from _wrapped(schedule, k, name, values, active, maker)
        return
    index = schedule.index(k)
    bytes = VECTOR_BYTES if how == "row_vector" else maker.width
    for u in schedule.lanes(k) if how == "gathered" else (0,):
        where = np.asarray(index.evaluate({**values, LANE: u}))
        if how == "row_vector":
            where = where * schedule.plan.vector
        yield maker.make(where, active, "ld", name, name, bytes)
    if how == "wrapped_value" and not schedule.tiled:
        where = np.asarray(schedule.at_row(k, Var(ROW) + 1).evaluate(values))
        more = active & (np.asarray(values[LEFT]) < schedule.plan.vector)
        yield maker.make(where, more, "ld", name, f"{name}_next", maker.width)


def _wrapped(
    schedule: VectorSchedule, k: int, name: str, values: dict[str, Any], active: Mask, maker: _Maker
) -> Iterator[Accesses]:
    """Yield the loads of a vector that may go on in the next row, lane by lane."""
    left = np.asarray(values[LEFT])
    here = np.asarray(schedule.at_row(k, Var(ROW)).evaluate(values))
    onward = np.asarray(schedule.at_row(k, Var(ROW) + 1).evaluate(values))
    column = schedule.plan.merged.run(k) - left
    for u in range(schedule.plan.vector):
        where = np.where(left > u, here + column + u, onward + u - left)
        yield maker.make(where, active, "ld", name, name, maker.width)


def _tail(
    design: BroadcastDesign, schedule: VectorSchedule, walk: Walk, maker: _Maker
) -> Iterator[Accesses]:
    active = walk.first < schedule.tail
    element = schedule.vectors * schedule.plan.vector + walk.first
    for k, name in enumerate(design.names):
        if schedule.kept(k) and schedule.plan.how[k] == "scalar":
            continue
        where = np.asarray(schedule.tail_index(k).evaluate({ELEMENT: element}))
        yield maker.make(where, active, "ld", name, f"{name}_tail", maker.width)
    yield maker.make(element, active, "ld", "x", "tail", maker.width)
    yield maker.make(element, active, "st", "y", "tail", maker.width)
