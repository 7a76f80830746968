"""What one wave reads, unfolded: different strips of A and B, or blocks where K is split."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tileviz.studies.arithmetic import equals, shown
from tileviz.studies.derivation import Step
from tileviz.studies.schedule.grid import Ints
from tileviz.studies.schedule.metrics import Metrics
from tileviz.studies.schedule.runs import Runs, strips_read
from tileviz.studies.schedule.schedule import Schedule
from tileviz.words import counted

Steps = Sequence[Step]
# Blocks of one wave that are listed one by one, where K is split.
_MAX_BLOCKS = 1 << 22


def footprint_steps(metrics: Metrics, wave: int) -> Steps:
    """Return the way to the bytes that one wave reads: different rows of A and columns of B.

    Args:
        metrics: The metrics of a schedule.
        wave: Which wave, from 0.
    """
    schedule = metrics.schedule
    tasks = np.flatnonzero(schedule.wave == wave)
    text = (
        f"Wave {wave + 1} of {schedule.waves:,}, number {wave} in results, which count from 0, "
        f"runs {counted(len(tasks), 'task')}: {_first_tiles(schedule, tasks)}."
    )
    steps = [Step(text)]
    if schedule.tasks.length is not None:
        return [*steps, *_block_footprint(metrics, wave)]
    a, b, sizes = strips_read(schedule)
    chosen = [np.unique(side[tasks][side[tasks] >= 0]) for side in (a, b)]
    depth = schedule.grid.problem[2]
    rows, columns = (sizes[strips] for strips in chosen)
    bits = int(rows.sum() + columns.sum()) * depth * metrics.bits
    line = f"({_strips(rows)} + {_strips(columns)}) · {shown(depth)} · {metrics.bits} / 8"
    text = (
        f"They read {len(rows):,} different strips of A and {len(columns):,} of B, whole tiles "
        f"wide, over K = {depth:,}, in {metrics.bits} bits."
    )
    whole = f"ceil({line})" if bits % 8 else line
    return [*steps, Step(text, equals(whole, -(-bits // 8)))]


def _strips(sizes: Ints) -> str:
    """Return how many strips there are of each size."""
    found, counts = np.unique(sizes, return_counts=True)
    pairs = zip(counts.tolist(), found.tolist(), strict=True)
    return " + ".join(f"{shown(count)} · {shown(size)}" for count, size in pairs) or "0"


def _first_tiles(schedule: Schedule, tasks: Ints) -> str:
    pairs = zip(schedule.m[tasks[:3]].tolist(), schedule.n[tasks[:3]].tolist(), strict=True)
    some = ", ".join(f"({m}, {n})" for m, n in pairs)
    return f"tiles {some}{', ...' if len(tasks) > 3 else ''}"


def _block_footprint(metrics: Metrics, wave: int) -> Steps:
    """Count the different blocks of a wave whose tasks read parts of K."""
    schedule, value = metrics.schedule, int(metrics.footprints[wave])
    runs = Runs.of(schedule)
    _, _, sizes = strips_read(schedule)
    chosen = np.flatnonzero((runs.wave == wave) & (runs.a >= 0))
    steps = runs.steps[chosen]
    count = int(steps.sum())
    if 2 * count > _MAX_BLOCKS:
        text = f"The different blocks among the {2 * count:,} that it reads."
        return [Step(text, shown(value))]
    run = np.repeat(chosen, steps)
    within = np.arange(count) - np.repeat(np.cumsum(steps) - steps, steps)
    k = runs.k[run] + within
    strip = np.concatenate([runs.a[run], runs.b[run]])
    key = np.unique(strip * (schedule.grid.depth + 1) + np.tile(k, 2))
    strip, k = key // (schedule.grid.depth + 1), key % (schedule.grid.depth + 1)
    depth, step = schedule.grid.problem[2], schedule.grid.tile[2]
    elements = sizes[strip] * np.clip(depth - k * step, 0, step)
    bits = int(elements.sum()) * metrics.bits
    many = f"({_strips(elements)})" if len(np.unique(elements)) <= 8 else shown(int(elements.sum()))
    line = f"{many} · {metrics.bits} / 8"
    text = (
        f"They read {len(key):,} different blocks of one tile by one K tile: how many there are of "
        f"so many elements, in {metrics.bits} bits."
    )
    whole = f"ceil({line})" if bits % 8 else line
    return [Step(text, equals(whole, -(-bits // 8)))]
