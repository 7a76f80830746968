"""One task of a schedule: its tile by the policy's own arithmetic, its shape, its worker."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tileviz.studies.arithmetic import equals, shown
from tileviz.studies.derivation import Bits, Derivation, Family, Parameter, Step
from tileviz.studies.schedule.grid import Ints
from tileviz.studies.schedule.plan import SchedulePlan
from tileviz.studies.schedule.policies.base import Device

Steps = Sequence[Step]
_STRIPS, _FOLD = "schedule_strips.cuh.jinja", "schedule_fold.cuh.jinja"
# What a strip's device function may be told for its order to be the plain arithmetic below.
_STRIP_VALUES = {
    "offset", "direction", "snake", "runs", "splits", "normal", "share", "parts",
    "per_worker", "workers",
}  # fmt: skip
_AXES = ("tile row", "tile column")


def _column(choices: Sequence[str]) -> Parameter:
    return Parameter("column", tuple(map(str, range(len(choices)))), "0")


def order_family(plan: SchedulePlan, group: str) -> Family:
    """Return the tile of any task.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> from tileviz.studies.schedule.plan import plan
        >>> family = order_family(plan(preset("schedule-zn-3").design), "Order")
        >>> for step in family.at({"task": 20, "column": "1"}).steps: print(step.arithmetic)
        3 · 6 = 18
        floor(20 / 18) = 1
        20 − 1 · 18 = 2
        min(3, 6 − 1 · 3) = 3
        floor(2 / 3) = 0
        6 − 1 − 0 = 5
    """
    schedule = plan.schedule
    names, columns = ["tile row", "tile column"], [schedule.m, schedule.n]
    if schedule.planes > 1:
        names.insert(0, "batch")
        columns.insert(0, schedule.batch)
    if plan.design.chosen.splits_k:
        names.append("first K tile")
        k = schedule.tasks.k
        columns.append(np.zeros_like(schedule.m) if k is None else k)

    def make(task: int, column: str) -> Derivation:
        which = names[int(column)]
        value = int(columns[int(column)][task])
        work = partial(_order_steps, plan, task, which, value)
        return Derivation(f"order.{task}.{column}", group, f"task {task}: {which}", value, "", work)

    task = Parameter("task", range(len(schedule)), min(33, len(schedule) - 1))
    label = f"tile of any task ({', '.join(f'{at}: {name}' for at, name in enumerate(names))})"
    return Family("order.{task}.{column}", group, label, (task, _column(names)), make)


def _order_steps(plan: SchedulePlan, task: int, which: str, value: int) -> Steps:
    """Return the policy's arithmetic for one task, or its rule where it has none."""
    design, schedule = plan.design, plan.schedule
    per_batch = len(schedule) // design.batch
    device = _device(plan)
    rule = f"The policy's rule: {design.chosen.rule}"
    if device is None or per_batch * design.batch != len(schedule):
        return [Step(rule, shown(value))]
    batch, inner = divmod(task, per_batch)
    if which == "batch":
        line = equals(f"floor({shown(task)} / {shown(per_batch)})", batch)
        return [Step(f"{per_batch:,} tasks a batch.", line)]
    first = []
    if design.batch > 1:
        line = equals(f"{shown(task)} − {shown(batch)} · {shown(per_batch)}", inner)
        first = [Step(f"Its number within batch {batch}.", line)]
    if device.template == _FOLD:
        return [*first, *_fold_steps(device, inner, which)]
    found = _strip_index(device, inner, which, schedule.grid.tiles)
    if found is None:
        return [Step(rule, shown(value))]
    more, index = found
    tiles = schedule.grid.rows, schedule.grid.columns
    return [*first, *more, *_strip_steps(device, index, which, tiles)]


def _device(plan: SchedulePlan) -> Device | None:
    """Return the policy's device function where it is strips or a fold."""
    design = plan.design
    if design.chosen.device is None or plan.schedule.tasks.worker is not None:
        return None
    device = design.chosen.device(design.grid, design.workers, design.parameters)
    return device if device.template in (_STRIPS, _FOLD) else None


def _strip_index(
    device: Device, task: int, which: str, tiles: int
) -> tuple[list[Step], int] | None:
    """Return a task's place in the order of strips, and the steps to it; None where it has none."""
    values = device.values
    if which == "first K tile" or values.keys() - _STRIP_VALUES:
        return None
    if "per_worker" in values:
        workers = _whole(values["workers"])
        shares = values["per_worker"]
        assert isinstance(shares, tuple)
        each, rest = _whole(shares[0]), _whole(shares[1])
        turn, worker = divmod(task, workers)
        index = worker * each + min(worker, rest) + turn
        return [
            Step(f"{workers} workers take turns: this is worker {worker} in turn {turn}.",
                 equals(f"{turn} · {workers} + {worker}", task)),
            Step(f"Each walks {each:,} tasks of the order, the first {rest} one more.",
                 equals(f"{worker} · {each} + min({worker}, {rest}) + {turn}", index)),
        ], index  # fmt: skip
    if values.get("runs") == "slices":
        line = equals(f"{shown(task)} mod {shown(tiles)}", task % tiles)
        return [Step("Every slice of K is a whole order of tiles.", line)], task % tiles
    if "normal" in values and task >= _whole(values["normal"]):
        return None
    return [], task


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value


def _strip_steps(device: Device, task: int, which: str, tiles: tuple[int, int]) -> list[Step]:
    """Unfold strips: which strip, where in it, and whether it runs backwards."""
    rows, columns = tiles
    width = _whole(device.values["offset"])
    zn = device.values["direction"] == "zn"
    along, across = (rows, columns) if zn else (columns, rows)
    words = ("rows", "columns") if zn else ("columns", "rows")
    whole = width * across
    strip = task // whole
    rest = task - strip * whole
    height = min(width, along - strip * width)
    deep = rest // height
    steps = [
        Step(f"A strip is {width:,} {words[0]} wide and {across:,} {words[1]} long.",
             equals(f"{shown(width)} · {shown(across)}", whole)),
        Step("The strip of this task.", equals(f"floor({shown(task)} / {shown(whole)})", strip)),
        Step("Its position in the strip.",
             equals(f"{shown(task)} − {strip} · {shown(whole)}", rest)),
        Step(f"{words[0].capitalize()} of this strip; the last may be narrower.",
             equals(f"min({shown(width)}, {shown(along)} − {strip} · {shown(width)})", height)),
    ]  # fmt: skip
    if (which == "tile row") == zn:
        text = "Within a strip tasks run over its width first."
        line = f"{strip} · {shown(width)} + {shown(rest)} mod {shown(height)}"
        return [*steps, Step(text, equals(line, strip * width + rest % height))]
    steps.append(Step("Then along it.", equals(f"floor({shown(rest)} / {shown(height)})", deep)))
    if device.values["snake"]:
        if strip % 2:
            back = across - 1 - deep
            line = equals(f"{shown(across)} − 1 − {shown(deep)}", back)
            steps.append(Step(f"Strip {strip} is odd, so it runs backwards.", line))
        else:
            steps.append(Step(f"Strip {strip} is even, so it runs forwards.", shown(deep)))
    return steps


def _fold_steps(device: Device, block: int, which: str) -> list[Step]:
    """Unfold the fold of a launch grid by a power of two."""
    log, wide = _whole(device.values["log"]), _whole(device.values["wide"])
    y = block // wide
    x = block - y * wide
    mask = (1 << log) - 1
    top = max(x.bit_length(), log + 1)
    low, high = tuple(range(log)), tuple(range(log, top))
    steps = [
        Step(f"The launch grid is {wide:,} blocks wide: blockIdx.y.",
             equals(f"floor({shown(block)} / {shown(wide)})", y)),
        Step("blockIdx.x.", equals(f"{shown(block)} − {shown(y)} · {shown(wide)}", x),
             (Bits("blockIdx.x", x, x, 0, top, taken=low, changed=high),)),
    ]  # fmt: skip
    if which == "tile row":
        text = f"The tile row is x without its {log} low bits."
        return [*steps, Step(text, equals(f"{shown(x)} >> {log}", x >> log))]
    text = f"The tile column is y with the {log} low bits of x behind it."
    line = f"({shown(y)} << {log}) + ({shown(x)} & {mask})"
    return [*steps, Step(text, equals(line, (y << log) + (x & mask)))]


def shape_family(plan: SchedulePlan, group: str) -> Family:
    """Return the rows, columns and K elements that any task really computes."""
    schedule = plan.schedule
    names = ("rows", "columns", "K elements")
    columns: tuple[Ints, ...] = (schedule.heights, schedule.widths, schedule.lengths)

    def make(task: int, column: str) -> Derivation:
        axis = int(column)
        value = int(columns[axis][task])
        name, label = f"shapes.{task}.{column}", f"task {task}: {names[axis]}"
        work = partial(_shape_steps, plan, task, axis, value)
        return Derivation(name, group, label, value, "elements", work)

    task = Parameter("task", range(len(schedule)), min(33, len(schedule) - 1))
    label = "shape of any task (0: rows, 1: columns, 2: K elements)"
    return Family("shapes.{task}.{column}", group, label, (task, _column(names)), make)


def _shape_steps(plan: SchedulePlan, task: int, axis: int, value: int) -> Steps:
    schedule = plan.schedule
    if axis == 2:
        split = schedule.tasks.length is not None
        text = "This policy splits K; the part of this task." if split else "All of K."
        return [Step(text, shown(value))]
    if schedule.tasks.extent is not None:
        return [Step("This policy cuts tiles further; the part of this task.", shown(value))]
    place = int((schedule.m, schedule.n)[axis][task])
    tile, whole = schedule.grid.tile[axis], schedule.grid.problem[axis]
    line = f"max(0, min({shown(tile)}, {shown(whole)} − {shown(place)} · {shown(tile)}))"
    text = f"A whole tile, or what is left behind {_AXES[axis]} {place}."
    return [Step(text, equals(line, value))]


def worker_family(plan: SchedulePlan, group: str) -> Family:
    """Return the tasks of any worker, in order."""
    schedule = plan.schedule
    busiest = int(np.bincount(schedule.worker).max())

    def make(worker: int, turn: int) -> Derivation:
        name = f"per_core.{worker}.{turn}"
        label = f"worker {worker}: its task number {turn}"
        tasks = np.flatnonzero(schedule.worker == worker)
        if turn >= len(tasks):
            step = Step(f"It has {len(tasks)} tasks only.")
            return Derivation(name, group, label, "none", "", lambda: [step])
        value = int(tasks[turn])
        work = partial(_worker_steps, plan, worker, turn, value)
        return Derivation(name, group, label, value, "", work)

    parameters = (
        Parameter("worker", range(schedule.workers), 0),
        Parameter("turn", range(busiest), min(1, busiest - 1)),
    )
    return Family("per_core.{worker}.{turn}", group, "any task of any worker", parameters, make)


def _worker_steps(plan: SchedulePlan, worker: int, turn: int, value: int) -> Steps:
    schedule = plan.schedule
    turns = schedule.tasks.turns or schedule.workers
    if schedule.tasks.worker is None:
        text = f"{turns} workers take turns."
        line = equals(f"{shown(worker)} + {shown(turn)} · {shown(turns)}", value)
        return [Step(text, line)]
    rule = plan.design.chosen.rule
    return [Step(f"By the policy's own assignment. Its rule: {rule}", shown(value))]
