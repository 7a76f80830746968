"""The accesses of a generated product, predicted from the very indices in its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.templates import Rendered
from tileviz.dtypes import dtype as dtype_of
from tileviz.memory import LANES, Accesses, Space
from tileviz.studies.schedule.grid import Ints
from tileviz.studies.schedule.indices import Indices, Values, constants
from tileviz.studies.schedule.plan import SchedulePlan
from tileviz.studies.schedule.tiling import Tiling

Mask = NDArray[np.bool_]

# Launches of up to this many threads are predicted whole; of bigger ones, one whole tile.
PREDICTED_THREADS = 1 << 16
# Above these many lanes or K steps only one step is predicted; the comparison scales it.
MAX_LANES = 1 << 22
MAX_STEPS = 1 << 16


@dataclass(frozen=True, eq=False)
class _Walk:
    """Runs of K tiles with their place in the matrices, one entry a run.

    Attributes:
        row: First row of A and C, batches or groups counted through.
        plane: Batch or group.
        column: First column.
        rows: Rows computed; likewise ``columns``.
        k: First K element; ``k_end`` is one past the last.
        task: The task that it belongs to.
    """

    row: Ints
    plane: Ints
    column: Ints
    rows: Ints
    columns: Ints
    k: Ints
    k_end: Ints
    task: Ints

    @classmethod
    def of(cls, plan: SchedulePlan) -> _Walk:
        schedule = plan.schedule
        tile_m, tile_n, tile_k = plan.design.tile
        whole = plan.design.problem
        heights = schedule.tasks.heights or (whole[0],) * plan.design.batch
        base = np.cumsum((0, *heights))[:-1]
        row, column = schedule.tasks.corner or (schedule.m * tile_m, schedule.n * tile_n)
        k = np.zeros_like(row) if schedule.tasks.k is None else schedule.tasks.k * tile_k
        plane = schedule.batch
        task = np.arange(len(schedule), dtype=np.int64)
        columns = [plane, row, column, schedule.heights, schedule.widths, k, schedule.lengths, task]
        parts = schedule.parts
        if parts is not None:
            top, left = parts.m * tile_m, parts.n * tile_n
            high = np.minimum(tile_m, whole[0] - top)
            wide = np.minimum(tile_n, whole[1] - left)
            more = [plane[parts.task], top, left, high, wide, parts.k * tile_k, parts.length,
                    parts.task]  # fmt: skip
            columns = [np.concatenate(pair) for pair in zip(columns, more, strict=True)]
        busy = (columns[3] > 0) & (columns[4] > 0)
        plane, row, column, high, wide, k, length, task = (part[busy] for part in columns)
        return cls(row + base[plane], plane, column, high, wide, k, k + length, task)

    def only(self, which: slice | Mask) -> _Walk:
        """Return some runs alone."""
        return _Walk(*(part[which] for part in vars(self).values()))

    def step_count(self, step: int) -> int:
        """Return the number of staged steps of all runs."""
        return int((-(-(self.k_end - self.k) // step)).sum())

    def steps(self, step: int) -> tuple[Ints, Ints]:
        """Return run and first K element of every staged step, or of one where they are many."""
        counts = -(-(self.k_end - self.k) // step)
        if counts.sum() > MAX_STEPS:
            return np.zeros(1, np.int64), self.k[:1]
        run = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
        inside = np.arange(len(run), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
        return run, self.k[run] + inside * step


@dataclass(frozen=True, eq=False)
class _Predictor:
    """Evaluates the indices of one kernel."""

    plan: SchedulePlan
    tiling: Tiling
    lines: dict[str, int]
    indices: Indices
    fixed: Values

    @classmethod
    def of(cls, plan: SchedulePlan, tiling: Tiling, rendered: Rendered) -> _Predictor:
        """Return the predictor of a rendered kernel."""
        fixed = constants(tiling, plan.design.problem)
        return cls(plan, tiling, rendered.lines, Indices.of(tiling), fixed)

    def every(self, walk: _Walk, adds: bool) -> tuple[Accesses, ...]:
        """Return the accesses of runs; none where there is no run."""
        if not len(walk.task):
            return ()
        steps = walk.step_count(self.tiling.step)
        return (*self.staged(walk), *self.read(steps), self.stored(walk, adds))

    def _accesses(
        self, mark: str, address: Ints, active: Mask, space: Space, op: str, width: int
    ) -> Accesses:
        address = np.broadcast_to(address, np.broadcast_shapes(address.shape, active.shape))
        address, active = address.reshape(-1, LANES), np.broadcast_to(active, address.shape)
        active = active.reshape(-1, LANES)
        some = active.any(axis=1)
        buffer = mark[0] if space == "global" else f"{mark[0]}s"
        index = getattr(self.indices, "c_store" if mark[0] == "c" else mark)
        return Accesses.of(
            address[some], active=active[some], space=space, op=op, bytes=width,
            line=self.lines[mark], text=f"{buffer}[{index}]", buffer=buffer,
        )  # fmt: skip

    def _rounds(self, count: int) -> tuple[Ints, Mask]:
        """Return the loop index of every round, warp and lane, and whether it is in the loop."""
        threads = self.tiling.threads
        every = np.arange(-(-count // threads) * threads, dtype=np.int64)
        index = every.reshape(-1, threads // LANES, LANES)
        return index, index < count

    def staged(self, walk: _Walk) -> Iterator[Accesses]:
        """Yield the loads of A and B and the stores into shared memory."""
        tiling, step = self.tiling, self.tiling.step
        run, k = walk.steps(step)
        kind = dtype_of(self.plan.design.dtype).bytes
        for name, width in (("a", tiling.va), ("b", tiling.vb)):
            index, runs = self._rounds(tiling.counts[name])
            first, second = index // tiling.chunks[name], index % tiling.chunks[name] * width
            some = slice(None) if len(run) * index.size <= MAX_LANES else slice(0, 1)
            at, here = k[some, None, None, None], run[some, None, None, None]
            if name == "a":
                r, q = first, second
                inside = (r < walk.rows[here]) & (at + q < walk.k_end[here])
                values: Values = {"row": walk.row[here] + r, "k": at, "q": q}
            else:
                q, s = first, second
                inside = (s < walk.columns[here]) & (at + q < walk.k_end[here])
                row = walk.plane[here] * self.plan.design.problem[2] + at + q
                values = {"row": row, "task.column": walk.column[here], "s": s}
            load = getattr(self.indices, f"{name}_load").evaluate({**self.fixed, **values})
            yield self._accesses(
                f"{name}_load", load * kind, inside & runs, "global", "ld", kind * width
            )
            yield self._stored(name, width, index, runs, walk.step_count(step))

    def _stored(self, name: str, width: int, index: Ints, runs: Mask, steps: int) -> Accesses:
        """Return the stores into shared memory of all steps, or of one where they are many."""
        first = index // self.tiling.chunks[name]
        second = index % self.tiling.chunks[name] * width
        together = 4 if name == "b" and width > 1 else 1
        e = np.arange(0, width, together, dtype=np.int64)[:, None, None, None]
        values: Values = {"e": e, **({"r": first, "q": second} if name == "a" else {})}
        if name == "b":
            values = {"e": e, "q": first, "s": second}
        address = getattr(self.indices, f"{name}_store").evaluate({**self.fixed, **values})
        mark = f"{name}_store" if width > 1 else f"{name}_load"
        address = np.broadcast_to(address, (len(e), *index.shape))
        made = self._accesses(mark, self._shared(name, address), runs, "shared", "st", 4 * together)
        return _repeated(replace(made, text=f"{name}s[{getattr(self.indices, f'{name}_store')}]"),
                         steps)  # fmt: skip

    def _shared(self, name: str, position: Ints) -> Ints:
        start = self.tiling.step * self.tiling.pitch_a if name == "b" else 0
        return 4 * (position + start)

    def read(self, steps: int) -> Iterator[Accesses]:
        """Yield the reads of shared memory in the inner loop."""
        tiling = self.tiling
        thread = np.arange(tiling.threads, dtype=np.int64).reshape(-1, LANES)
        q = np.arange(tiling.step, dtype=np.int64)[:, None, None, None]
        for name, count, width in (("a", tiling.tm, tiling.wm), ("b", tiling.tn, tiling.wn)):
            which = np.arange(0, count, width, dtype=np.int64)[:, None, None]
            values: Values = {"q": q, "tx": thread % tiling.tx, "ty": thread // tiling.tx}
            values["i" if name == "a" else "j"] = which
            address = getattr(self.indices, f"{name}_read").evaluate({**self.fixed, **values})
            full = np.broadcast_to(address, (tiling.step, len(which), *thread.shape))
            every = np.ones(full.shape, bool)
            made = self._accesses(
                f"{name}_read", self._shared(name, full), every, "shared", "ld", 4 * width
            )
            yield _repeated(made, steps)

    def stored(self, walk: _Walk, adds: bool) -> Accesses:
        """Return the stores of C, or the additions to it."""
        tiling = self.tiling
        thread = np.arange(tiling.threads, dtype=np.int64).reshape(-1, LANES)
        i = np.arange(tiling.tm, dtype=np.int64)[:, None, None, None]
        j = np.arange(0, tiling.tn, tiling.wc, dtype=np.int64)[:, None, None]
        values: Values = {**self.fixed, "tx": thread % tiling.tx, "ty": thread // tiling.tx,
                          "i": i, "j": j}  # fmt: skip
        r, s = self.indices.c_row.evaluate(values), self.indices.c_column.evaluate(values)
        lanes = tiling.tm * len(j) * tiling.threads
        some = slice(None) if len(walk.row) * lanes <= MAX_LANES else slice(0, 1)
        row, column, rows, columns = (
            part[some, None, None, None, None]
            for part in (walk.row, walk.column, walk.rows, walk.columns)
        )
        inside = (r < rows) & (s < columns)
        place = self.indices.c_store.evaluate({**values, "row": row + r, "task.column": column,
                                               "s": s})  # fmt: skip
        op, width = ("atom", 1) if adds else ("st", tiling.wc)
        address = np.broadcast_to(np.asarray(place) * 4, inside.shape)
        return self._accesses("c_store", address, inside, "global", op, 4 * width)


@dataclass(frozen=True)
class Prediction:
    """What is predicted of a product.

    Attributes:
        accesses: Of every source line that loads or stores.
        whole: Whether they are those of all blocks. Of large problems they are those of one whole
            tile, which the comparison with a run scales to what was traced.
        of_blocks: Maps linear block numbers to the accesses of those blocks, or None.
    """

    accesses: tuple[Accesses, ...] = ()
    whole: bool = True
    of_blocks: Callable[[Ints], tuple[Accesses, ...]] | None = None


def prediction(
    plan: SchedulePlan, tiling: Tiling, rendered: Rendered, *, adds: bool, persistent: bool
) -> Prediction:
    """Predict a product; convolutions are not predicted."""
    if plan.design.policy == "catlass_conv2d":
        return Prediction()
    made = _Predictor.of(plan, tiling, rendered)
    walk = _Walk.of(plan)
    whole = len(plan.schedule) * tiling.threads <= PREDICTED_THREADS
    if not whole:
        largest = int(np.argmax(walk.rows * walk.columns))
        walk = walk.only(slice(largest, largest + 1))

    def of_blocks(blocks: Ints) -> tuple[Accesses, ...]:
        # Walked again: the walk of a large problem is too much to keep with its kernel.
        every = _Walk.of(plan)
        return made.every(every.only(np.isin(every.task, blocks)), adds)

    # A persistent block has several tasks.
    return Prediction(made.every(walk, adds), whole, None if persistent else of_blocks)


def _repeated(one: Accesses, times: int) -> Accesses:
    """Return the accesses of a step as often as it runs, or once where that is a lot."""
    if one.addresses.size * times > MAX_LANES:
        return one
    return replace(
        one,
        addresses=np.tile(one.addresses, (times, 1)),
        active=np.tile(one.active, (times, 1)),
    )
