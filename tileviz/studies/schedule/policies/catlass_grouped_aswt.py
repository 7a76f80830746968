"""CATLASS grouped ASWT: groups of rows, one after the other, on cores that keep turning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tileviz.errors import DesignError
from tileviz.studies.schedule.grid import Grid, Ints, Tasks
from tileviz.studies.schedule.policies.base import Parameters, Policy
from tileviz.studies.schedule.policies.catlass_aswt import (
    ceil_div,
    fitted,
    tail_columns,
    tail_rows,
    windows,
)

SMALLEST = 16
MAX_GROUPS = 4096


class GroupedParameters(Parameters):
    """Rows of M of every group; None means one group."""

    group_m: tuple[int, ...] | None = None
    tail_split_allowed: bool = True


def complete(document: dict[str, Any]) -> dict[str, Any]:
    """Fill in M, the sum of the groups, where the problem says only N and K."""
    groups, problem = document.get("group_m"), document.get("problem")
    pair = isinstance(problem, (list, tuple)) and len(problem) == 2
    rows = isinstance(groups, (list, tuple)) and all(type(rows) is int for rows in groups)
    if pair and rows:
        return {**document, "problem": [sum(groups or ()), *(problem or ())]}
    return document


def check(grid: Grid, workers: int, parameters: GroupedParameters) -> None:
    """Refuse groups that do not add up to M."""
    groups = parameters.group_m
    if groups is None:
        return
    if not 1 <= len(groups) <= MAX_GROUPS or min(groups) < 0:
        allowed = f"1 to {MAX_GROUPS} groups of 0 or more rows"
        raise DesignError("group_m", allowed, list(groups[:8]))
    if sum(groups) != grid.problem[0]:
        message = (
            f"the groups have {sum(groups)} rows in all, the problem has M = {grid.problem[0]}"
        )
        raise DesignError("group_m", message, list(groups[:8]))


@dataclass(frozen=True)
class _Group:
    """One group on the cores: it starts on core ``start`` and ends on core ``end``."""

    number: int
    grid: Grid
    start: int
    end: int
    workers: int

    @property
    def tail(self) -> int:
        """Tiles of the last wave."""
        return min(self.end + 1, self.grid.tiles)


def _groups(grid: Grid, workers: int, heights: tuple[int, ...]) -> Iterator[_Group]:
    end = workers - 1
    for number, height in enumerate(heights):
        if height:
            inner = Grid((height, *grid.problem[1:]), grid.tile)
            start = (end + 1) % workers
            end = (start + inner.tiles - 1) % workers
            yield _Group(number, inner, start, end, workers)


def _split(group: _Group) -> tuple[int, int]:
    """Return into how many parts the tiles of the very last wave are split."""
    if group.end + 1 > group.workers // 2:
        return 1, 1
    most = (group.workers - group.end - 1) // group.tail + 1
    rows, columns = tail_rows(group.grid), tail_columns(group.grid)
    return fitted(most, ceil_div(rows, SMALLEST), ceil_div(columns, SMALLEST))


def _rounds(group: _Group) -> Ints:
    """Return the rounds of every core, with no split."""
    core = np.arange(group.workers)
    inside = (core >= group.start) & (core <= group.end)
    if group.start > group.end:
        inside = (core >= group.start) | (core <= group.end)
    return ceil_div(group.grid.tiles, group.workers) - (~inside).astype(np.int64)


def _truncated(value: Ints, step: int) -> Ints:
    """Return ``value / step`` rounded towards zero, as C++ divides."""
    found: Ints = np.sign(value) * (np.abs(value) // step)
    return found


def _place(group: _Group, split: tuple[int, int]) -> tuple[Ints, ...]:
    """Return core, round, tile index and whether the tile is split, for every task of a group."""
    parts = split[0] * split[1]
    end = group.end + group.tail * (parts - 1)
    core = np.arange(group.workers)
    rounds = _rounds(group) + ((core > group.end) & (core <= end))
    worker = np.repeat(core, rounds)
    turn = np.arange(len(worker)) - np.repeat(np.cumsum(rounds) - rounds, rounds)
    cut = (turn == rounds[worker] - 1) & (worker <= end) & (parts > 1)
    base = group.end + 1 - group.tail
    shared = _truncated(base + _truncated(worker - base, parts) * parts, parts)
    index = np.where(cut, shared, worker) + turn * group.workers
    # Once split, the last wave may reach back over the core on which the group started.
    reaches = parts > 1 and end + 1 >= parts * group.grid.tiles
    start = np.array([group.start])
    folded = _truncated(base + _truncated(start - base, parts) * parts, parts)[0]
    back = np.where(reaches & (worker <= end), folded, group.start)
    index = index + np.where(worker < group.start, group.workers - group.start, -back)
    return worker, turn, index, cut


def launched(grid: Grid, workers: int, parameters: GroupedParameters) -> int:
    """Return the most tasks that there may be."""
    heights = parameters.group_m or (grid.problem[0],)
    return sum(ceil_div(rows, grid.tile[0]) for rows in heights) * grid.columns + workers


def tasks(grid: Grid, workers: int, parameters: GroupedParameters) -> Tasks:
    """Return the tasks of all groups, by core and in turns."""
    heights = parameters.group_m or (grid.problem[0],)
    groups = list(_groups(grid, workers, heights))
    columns: list[tuple[Ints, ...]] = []
    split = (1, 1)
    for group in groups:
        last = group.number == len(heights) - 1
        split = _split(group) if last and parameters.tail_split_allowed else (1, 1)
        columns.append(_of_group(group, split))
    number, m, n, row, left, high, wide, worker = (
        np.concatenate([part[place] for part in columns]) for place in range(8)
    )
    order = np.argsort(worker, kind="stable")
    counts = np.bincount(worker, minlength=workers)
    wave = np.empty_like(worker)
    wave[order] = np.arange(len(worker)) - np.repeat(np.cumsum(counts) - counts, counts)
    order = np.lexsort((worker, wave))
    return Tasks(
        m[order],
        n[order],
        number[order],
        corner=(row[order], left[order]),
        extent=(high[order], wide[order]),
        worker=worker[order],
        wave=wave[order],
        heights=heights,
        tiles=(max(ceil_div(rows, grid.tile[0]) for rows in heights), grid.columns),
        facts=(
            ("groups", str(len(heights))),
            ("parts of a tile of the last wave", f"{split[0]} x {split[1]}"),
        ),
    )


def _of_group(group: _Group, split: tuple[int, int]) -> tuple[Ints, ...]:
    """Return group, tile, corner, extent and core of every task of one group."""
    worker, _, index, cut = _place(group, split)
    m, n = windows(group.grid, index)
    part = worker % (split[0] * split[1])
    found = []
    for axis, tile, parts, place in (
        (0, m, split[0], part % split[0]),
        (1, n, split[1], part // split[0]),
    ):
        start = tile * group.grid.tile[axis]
        length = np.minimum(start + group.grid.tile[axis], group.grid.problem[axis]) - start
        step = -(-length // parts)
        step = -(-step // SMALLEST) * SMALLEST if axis else step
        offset = np.where(cut, place * step, 0)
        found.append((start + offset, np.where(cut, np.minimum(length - offset, step), length)))
    (row, high), (left, wide) = found
    empty = (high <= 0) | (wide <= 0)
    number = np.full(len(m), group.number, np.int64)
    high, wide = np.where(empty, 0, high), np.where(empty, 0, wide)
    return number, m, n, row, left, high, wide, worker


POLICY = Policy(
    name="catlass_grouped_aswt",
    title="CATLASS grouped ASWT",
    system="CATLASS",
    rule="Groups follow each other on cores that keep turning; the last wave's tiles are split.",
    parameters=GroupedParameters,
    tasks=tasks,
    check=check,
    launched=launched,
    batches=False,
    complete=complete,
)
