"""Every number of a schedule plan, unfolded: grid, waves, footprints, L2, balance, coverage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tileviz.memory import Evidence
from tileviz.studies.arithmetic import Number, equals, shown, total
from tileviz.studies.derivation import (
    SHARE,
    Derivation,
    Family,
    Numbers,
    Parameter,
    Rule,
    Step,
)
from tileviz.studies.schedule.footprint_steps import footprint_steps
from tileviz.studies.schedule.grid import Ints
from tileviz.studies.schedule.metrics import Metrics
from tileviz.studies.schedule.plan import SchedulePlan
from tileviz.studies.schedule.runs import Runs, strips_read
from tileviz.studies.schedule.schedule import Schedule
from tileviz.studies.schedule.task_steps import order_family, shape_family, worker_family
from tileviz.words import counted

__all__ = ["numbers"]

Steps = Sequence[Step]
_GRID, _MODEL, _WAVES, _LISTS = "Grid and coverage", "Model", "Waves", "Order"
_CORNERS = ("first row", "first column")
# More different tasks than this are told together.
_KINDS = 8
_ROW_MAJOR = "Row-major, for comparison"

LRU = Rule(
    "The workers of a wave step through K together and read blocks of A and B through a fully "
    "associative cache that drops what was used longest ago. A read hits when all that was read "
    "since the block's last use, the block included, fits the cache.",
    Evidence("derived", "exact for this model; real caches are not fully associative"),
)


def numbers(plan: SchedulePlan) -> Numbers:
    """Return every number of a plan.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> from tileviz.studies.schedule.plan import plan
        >>> found = numbers(plan(preset("schedule-ragged").design))
        >>> [found.find(f"tiles.{axis}").steps[-1].arithmetic for axis in (0, 1)]
        ['ceil(2,400 / 128) = 19', 'ceil(6,000 / 256) = 24']
        >>> found.find("metrics.wave_footprint_bytes.7").steps[-1].arithmetic
        '(7 · 128 + 6 · 256) · 16,384 · 16 / 8 = 79,691,776'
    """
    listed = [*_metrics("metrics", _MODEL, plan.metrics), *_grid(plan), *_coverage(plan)]
    if plan.design.policy != "row_major":
        listed += _metrics("row_major", _ROW_MAJOR, plan.baseline)
    return Numbers(tuple(listed), _families(plan))


def _families(plan: SchedulePlan) -> tuple[Family, ...]:
    """Return what single waves, tasks and workers have."""
    schedule = plan.schedule
    if not len(schedule):
        return ()

    def wave(number: int) -> Derivation:
        value = int(plan.metrics.footprints[number])
        name = f"metrics.wave_footprint_bytes.{number}"
        label = f"wave {number + 1}: footprint"
        work = partial(footprint_steps, plan.metrics, number)
        return Derivation(name, _WAVES, label, value, "bytes", work)

    number = Parameter("wave", range(schedule.waves), schedule.waves * 2 // 5, first=1)
    template = "metrics.wave_footprint_bytes.{wave}"
    found = [
        Family(template, _WAVES, "footprint of any wave", (number,), wave),
        order_family(plan, _LISTS),
        shape_family(plan, _LISTS),
        worker_family(plan, _LISTS),
    ]
    parts, corner = schedule.parts, schedule.tasks.corner
    if parts is not None and len(parts.task):
        columns = (parts.task, parts.m, parts.n, parts.k, parts.length)
        heads = ("task", "tile row", "tile column", "first K tile", "K elements")
        found.append(_listed("parts", "second part of a task", columns, heads, plan))
    if corner is not None:
        found.append(_listed("corners", "corner of a task", corner, _CORNERS, plan))
    coverage = plan.metrics.coverage
    for word, tiles in (("missing", coverage.missing), ("repeated", coverage.repeated)):
        shown_tiles = np.array(coverage.named(tiles), dtype=np.int64)
        if len(shown_tiles):
            names = ("batch", "row", "column")[-shown_tiles.shape[1] :]
            where = f"metrics.coverage.{word}"
            found.append(_listed(where, f"{word} tile", tuple(shown_tiles.T), names, plan))
    return tuple(found)


def _listed(
    name: str, label: str, columns: Sequence[Ints], names: Sequence[str], plan: SchedulePlan
) -> Family:
    """Return numbers that the policy itself lists."""
    rule = plan.design.chosen.rule

    def make(at: int, column: str) -> Derivation:
        value = int(columns[int(column)][at])
        said = f"{label} {at}: {names[int(column)]}"
        step = Step(f"As the policy lists it. Its rule: {rule}", shown(value))
        return Derivation(f"{name}.{at}.{column}", _LISTS, said, value, "", lambda: [step])

    at = Parameter("number", range(len(columns[0])), 0)
    column = Parameter("column", tuple(map(str, range(len(columns)))), "0")
    return Family(f"{name}.{{number}}.{{column}}", _LISTS, f"{label}, any", (at, column), make)


# -- grid and coverage -----------------------------------------------------------------------------


def _grid(plan: SchedulePlan) -> list[Derivation]:
    """Return tile rows and columns, tasks and waves."""
    design, schedule = plan.design, plan.schedule
    found = []
    for axis, (word, letter) in enumerate((("rows", "M"), ("columns", "N"))):
        value = schedule.tiles[axis]
        whole, tile = design.problem[axis], design.tile[axis]
        line = f"ceil({shown(whole)} / {shown(tile)})"
        steps = [Step(f"{letter} in tiles of {tile:,}.", equals(line, value))]
        if -(-whole // tile) != value:
            steps = [Step("Tiles as the policy cuts them.", shown(value))]
        label = f"tile {word}"
        found.append(
            Derivation(f"tiles.{axis}", _GRID, label, value, "", partial(list[Step], steps))
        )
    tasks = partial(_task_steps, plan)
    return [*found, Derivation("count", _GRID, "tasks", len(schedule), "", tasks)]


def _task_steps(plan: SchedulePlan) -> Steps:
    design, count = plan.design, len(plan.schedule)
    rows, columns = plan.schedule.tiles
    tiles = rows * columns * design.batch
    batch = f" · {design.batch}" if design.batch > 1 else ""
    line = f"{shown(rows)} · {shown(columns)}{batch}"
    if tiles == count:
        return [Step("One task for every tile.", equals(line, count))]
    first = Step("Tiles.", equals(line, tiles))
    text = f"The policy launches another number of tasks. Its rule: {design.chosen.rule}"
    return [first, Step(text, shown(count))]


def _coverage(plan: SchedulePlan) -> list[Derivation]:
    """Return the tiles that are computed, missed, repeated, and outside."""
    coverage, schedule = plan.metrics.coverage, plan.schedule
    rows = schedule.rows_of
    line = f"({total(rows)}) · {shown(schedule.tiles[1])}"
    tiles = Step(
        "Tile rows of every batch or group, times tile columns.", equals(line, coverage.tiles)
    )
    inside = len(schedule) - coverage.outside
    outside = Step(
        f"Of {len(schedule):,} tasks, {inside:,} have a tile inside the grid.",
        equals(f"{shown(len(schedule))} − {shown(inside)}", coverage.outside),
    )

    def figure(name: str, label: str, value: int, work: Callable[[], Steps]) -> Derivation:
        return Derivation(f"metrics.coverage.{name}", _GRID, label, value, "", work)

    missing, repeated = len(coverage.missing), len(coverage.repeated)
    return [
        figure("tiles", "tiles to compute", coverage.tiles, lambda: [tiles]),
        figure("outside", "tasks outside the grid", coverage.outside, lambda: [outside]),
        figure("missing_count", "tiles missed", missing, partial(_missing_steps, plan)),
        figure("repeated_count", "tiles repeated", repeated, partial(_repeated_steps, plan)),
    ]


def _times(schedule: Schedule) -> Ints | None:
    """Return how often each tile of the real grid is computed; None where tiles are cut."""
    if schedule.tasks.corner is not None or schedule.tasks.length is not None:
        return None
    rows, columns = schedule.tiles
    inside = schedule.inside
    number = (schedule.batch * rows + schedule.m) * columns + schedule.n
    return np.bincount(number[inside], minlength=schedule.planes * rows * columns)


def _missing_steps(plan: SchedulePlan) -> Steps:
    coverage, times = plan.metrics.coverage, _times(plan.schedule)
    if times is None:
        text = "Tiles of which some part of K, or some element, is not computed; all were checked."
        return [Step(text, shown(len(coverage.missing)))]
    computed = int(np.count_nonzero(times))
    text = "Tiles, less the different ones that tasks compute."
    return [Step(text, equals(f"{shown(times.size)} − {shown(computed)}", times.size - computed))]


def _repeated_steps(plan: SchedulePlan) -> Steps:
    coverage, times = plan.metrics.coverage, _times(plan.schedule)
    if times is None:
        text = "Tiles of which some part is computed more than once; all were checked."
        return [Step(text, shown(len(coverage.repeated)))]
    computed, once = int(np.count_nonzero(times)), int(np.count_nonzero(times == 1))
    text = "Different tiles that tasks compute, less those that only one task does."
    return [Step(text, equals(f"{shown(computed)} − {shown(once)}", computed - once))]


# -- what it costs ---------------------------------------------------------------------------------


def _metrics(prefix: str, group: str, metrics: Metrics) -> list[Derivation]:
    """Return hit rate, misses, balance, waves, footprint, padding."""
    figures, missed = metrics.figures(), metrics.misses

    def made(
        name: str,
        label: str,
        value: Number,
        unit: str,
        work: Callable[[], Steps],
        rule: bool = False,
    ) -> Derivation:
        behind = LRU if rule else None
        return Derivation(f"{prefix}.{name}", group, label, value, unit, work, behind)

    found = []
    if missed is not None:
        rate, lost = partial(_rate_steps, metrics), partial(_miss_steps, metrics)
        size = missed.missed_bytes
        found.append(made("l2_hit_rate", "L2 hit rate", missed.hit_rate, SHARE, rate, True))
        found.append(made("miss_bytes", "missed in L2", size, "bytes", lost, True))
    once, read = metrics.operand_bytes, metrics.read_bytes
    edges = ", edges as whole tiles" if metrics.edges_note else ""
    found += [
        made(
            "operand_bytes",
            f"A and B, each once{edges}",
            once,
            "bytes",
            partial(_once_steps, metrics),
        ),
        made(
            "read_bytes",
            f"read by all workers{edges}",
            read,
            "bytes",
            partial(_read_steps, metrics),
        ),
        made("balance", "balance", metrics.balance, "", partial(_balance_steps, metrics)),
        made("waves", "waves", metrics.schedule.waves, "", partial(_wave_steps, metrics.schedule)),
        made("padding", "padding", metrics.padding, SHARE, partial(_padding_steps, metrics)),
    ]
    mean = figures["mean_wave_footprint_bytes"] or 0
    work = partial(_mean_steps, metrics)
    return [*found, made("mean_wave_footprint_bytes", "mean wave footprint", mean, "bytes", work)]


def _in_bytes(bits: int) -> str:
    return shown(bits // 8) if bits % 8 == 0 else f"{shown(bits)} / 8"


def _rate_steps(metrics: Metrics) -> Steps:
    missed = metrics.misses
    assert missed is not None
    if not missed.read:
        return [Step("Nothing is read, so nothing is missed.", "1")]
    hits = missed.read - missed.missed
    unit = "bits" if missed.read % 8 or missed.missed % 8 else "bytes"
    scale = 8 if unit == "bytes" else 1
    parts = [count // scale for count in (missed.read, missed.missed, hits)]
    read, lost, kept = map(shown, parts)
    return [
        Step(
            f"The workers read {read} {unit} in all; the cache misses {lost}.",
            f"{read} − {lost} = {kept}",
        ),
        Step("The share that it already held.", equals(f"{kept} / {read}", missed.hit_rate)),
    ]


def _miss_steps(metrics: Metrics) -> Steps:
    missed = metrics.misses
    assert missed is not None
    once, value = metrics.operand_bytes, missed.missed_bytes
    again = value - once
    text = (
        f"Every byte of A and B is missed once; {again:,} bytes more are read again when the "
        f"cache of {metrics.l2_bytes:,} bytes has dropped them."
    )
    return [Step(text, equals(f"{shown(once)} + {shown(again)}", value))]


def _once_steps(metrics: Metrics) -> Steps:
    """Unfold A and B: every strip once, whole tiles."""
    schedule = metrics.schedule
    a, b, sizes = strips_read(schedule)
    count = int(a.max(initial=-1)) + 1
    rows, columns = sizes[:count], sizes[count:]
    deep = schedule.grid.depth * schedule.grid.tile[2]
    line = f"({total(rows)} + {total(columns)}) · {shown(deep)} · {metrics.bits} / 8"
    value = -(-int(sizes.sum()) * deep * metrics.bits // 8)
    if value != metrics.operand_bytes:
        text = "Every block of A and B that some task reads, once."
        return [Step(text, shown(metrics.operand_bytes))]
    if int(sizes.sum()) * deep * metrics.bits % 8:
        line = f"ceil({line})"
    text = (
        f"{len(rows):,} strips of A and {len(columns):,} of B, edges counted as whole tiles, times "
        f"K in whole tiles, times {metrics.bits} bits."
    )
    assert len(b) == len(a)
    return [*_themselves(metrics), Step(text, equals(line, value))]


def _themselves(metrics: Metrics) -> Steps:
    """Return what A and B themselves hold, where whole tiles are more."""
    m, n, k = metrics.schedule.grid.problem
    if not metrics.edges_note or metrics.schedule.planes > 1:
        return []
    bits = (m + n) * k * metrics.bits
    line = f"({shown(m)} + {shown(n)}) · {shown(k)} · {metrics.bits} / 8"
    whole = f"ceil({line})" if bits % 8 else line
    return [Step("What A and B themselves hold, without the rest of their edge tiles.",
                 equals(whole, -(-bits // 8)))]  # fmt: skip


def _read_steps(metrics: Metrics) -> Steps:
    """Unfold what all tasks read: a block of A and one of B for every K tile."""
    schedule = metrics.schedule
    runs = Runs.of(schedule)
    _, _, sizes = strips_read(schedule)
    busy = runs.a >= 0
    rows = (sizes[runs.a[busy]] + sizes[runs.b[busy]]) * runs.steps[busy]
    step = schedule.grid.tile[2]
    value = -(-int(rows.sum()) * step * metrics.bits // 8)
    many = f"({total(rows)})" if len(np.unique(rows)) <= _KINDS else shown(int(rows.sum()))
    line = f"{many} · {shown(step)} · {metrics.bits} / 8"
    if int(rows.sum()) * step * metrics.bits % 8:
        line = f"ceil({line})"
    text = f"All tasks together, times {step:,} elements of a K tile, times {metrics.bits} bits."
    return [*_reads_of_tasks(runs, sizes, rows), Step(text, equals(line, value))]


def _reads_of_tasks(runs: Runs, sizes: Ints, rows: Ints) -> Steps:
    """Unfold what one task of each kind reads; or all of A and all of B, where kinds are many."""
    busy = runs.a >= 0
    a, b, steps = sizes[runs.a[busy]], sizes[runs.b[busy]], runs.steps[busy]
    kinds, first = np.unique(rows, return_index=True)
    if len(kinds) <= _KINDS:
        found = []
        for kind, at in zip(kinds.tolist(), first.tolist(), strict=True):
            text = (
                f"A task reads {a[at]:,} rows of A and {b[at]:,} columns of B, edges as whole "
                f"tiles, for {counted(int(steps[at]), 'K tile')}."
            )
            line = f"({shown(int(a[at]))} + {shown(int(b[at]))}) · {shown(int(steps[at]))}"
            found.append(Step(text, equals(line, kind)))
        return found
    every = [int((side * steps).sum()) for side in (a, b)]
    text = (
        "Rows of A and columns of B that the tasks read, each times the task's K tiles, edges as "
        "whole tiles."
    )
    line = f"{shown(every[0])} + {shown(every[1])}"
    return [Step(text, equals(line, int(rows.sum())))]


def _balance_steps(metrics: Metrics) -> Steps:
    """Unfold the balance: the busiest worker's multiply-adds over the mean."""
    schedule, shares = metrics.schedule, metrics.shares
    if not shares.sum():
        return [Step("No worker has anything to do.", "1")]
    busiest = int(shares.argmax())
    work = schedule.work[schedule.worker == busiest].astype(np.int64)
    most, every = int(work.sum()), int(shares.sum())
    mean = every / schedule.workers
    first = Step(
        f"Worker {busiest} has the most: multiply-adds of its {len(work):,} tasks.",
        equals(total(work), most),
    )
    second = Step(
        f"All tasks together, over {schedule.workers} workers.",
        equals(f"{shown(every)} / {schedule.workers}", mean),
    )
    last = Step("The most over the mean.")
    ratio = equals(f"{shown(most)} · {schedule.workers} / {shown(every)}", metrics.balance)
    return [first, second, Step(last.text, ratio)]


def _wave_steps(schedule: Schedule) -> Steps:
    turns = schedule.tasks.turns or schedule.workers
    if schedule.tasks.wave is None and len(schedule):
        line = f"ceil({shown(len(schedule))} / {shown(turns)})"
        text = f"{turns} workers take turns, one task each a wave."
        return [Step(text, equals(line, schedule.waves))]
    if not len(schedule):
        return [Step("No tasks.", "0")]
    counts = np.bincount(schedule.worker, minlength=schedule.workers)
    most = int(counts.max())
    if most == schedule.waves:
        return [Step("As many as the worker with the most tasks has.", shown(most))]
    text = "The number of the last wave, counted from 1; a worker may sit one out."
    return [Step(text, shown(schedule.waves))]


def _padding_steps(metrics: Metrics) -> Steps:
    count, outside = len(metrics.schedule), metrics.coverage.outside
    if not count:
        return [Step("No tasks.", "0")]
    text = "Launched tasks whose tile lies outside the grid, of all."
    return [Step(text, equals(f"{shown(outside)} / {shown(count)}", metrics.padding))]


def _mean_steps(metrics: Metrics) -> Steps:
    if not len(metrics.schedule):
        return [Step("No tasks.", "0")]
    found = metrics.footprints
    every, mean = int(found.sum()), float(found.mean())
    many = f"({total(found)})" if len(found) <= 8 else shown(every)
    text = f"The footprints of {len(found):,} waves together, over their number."
    return [Step(text, equals(f"{many} / {shown(len(found))}", mean))]
