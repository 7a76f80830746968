"""The grid of output tiles, and the tasks that a policy makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Grid:
    """The output of a product C[M, N] = A[M, K] B[K, N], cut into tiles.

    Attributes:
        problem: M, N, K in elements.
        tile: Rows, columns and K elements of a tile.
        batch: Number of equal products.

    Example:
        >>> grid = Grid((300, 500, 64), (128, 256, 32))
        >>> grid.rows, grid.columns, grid.depth, grid.tiles
        (3, 2, 2, 6)
    """

    problem: tuple[int, int, int]
    tile: tuple[int, int, int]
    batch: int = 1

    @property
    def rows(self) -> int:
        """Tiles along M."""
        return -(-self.problem[0] // self.tile[0])

    @property
    def columns(self) -> int:
        """Tiles along N."""
        return -(-self.problem[1] // self.tile[1])

    @property
    def depth(self) -> int:
        """Tiles along K."""
        return -(-self.problem[2] // self.tile[2])

    @property
    def tiles(self) -> int:
        """Tiles of one batch."""
        return self.rows * self.columns

    @property
    def transposed(self) -> Grid:
        """The grid with M and N exchanged."""
        (m, n, k), (rows, columns, depth) = self.problem, self.tile
        return Grid((n, m, k), (columns, rows, depth), self.batch)


@dataclass(frozen=True, eq=False)
class Parts:
    """Second parts of tasks that run on into another tile (stream-K).

    Attributes:
        task: The task each part belongs to.
        m: Tile row; likewise ``n``, the tile column.
        k: First K tile.
        length: K elements.
    """

    task: Ints
    m: Ints
    n: Ints
    k: Ints
    length: Ints


@dataclass(frozen=True, eq=False)
class Tasks:
    """What a policy decides: the tile of every task, in the order in which tasks start.

    Whatever is None has its plain meaning: batch 0, the whole of K, the tile's own corner and
    actual shape, and workers that take turns.

    Attributes:
        m: Tile row per task, int64; may lie outside the grid where the policy pads.
        n: Tile column per task.
        batch: Batch (or group) per task.
        k: First K tile per task, where the policy splits K.
        length: K elements per task, where the policy splits K.
        corner: First row and first column per task, in elements, where tiles are cut further.
        extent: Rows and columns per task, in elements, where tiles are cut further.
        worker: Worker per task.
        wave: Wave per task: its position among its worker's tasks.
        turns: Number of workers that take turns, where it is not all of them.
        parts: Second parts of tasks.
        heights: Rows of every group, where groups differ.
        tiles: Tile rows and columns, where they are not those of a matrix.
        facts: What else the policy decided, name and value.
    """

    m: Ints
    n: Ints
    batch: Ints | None = None
    k: Ints | None = None
    length: Ints | None = None
    corner: tuple[Ints, Ints] | None = None
    extent: tuple[Ints, Ints] | None = None
    worker: Ints | None = None
    wave: Ints | None = None
    turns: int | None = None
    parts: Parts | None = None
    heights: tuple[int, ...] | None = None
    tiles: tuple[int, int] | None = None
    facts: tuple[tuple[str, str], ...] = field(default=())

    def __len__(self) -> int:
        return len(self.m)


def in_batches(grid: Grid, m: Ints, n: Ints, facts: tuple[tuple[str, str], ...] = ()) -> Tasks:
    """Return tasks that repeat one batch's order for every batch, batch outermost.

    Example:
        >>> import numpy as np
        >>> grid = Grid((2, 1, 1), (1, 1, 1), batch=2)
        >>> tasks = in_batches(grid, np.array([1, 0]), np.array([0, 0]))
        >>> tasks.batch.tolist(), tasks.m.tolist()
        ([0, 0, 1, 1], [1, 0, 1, 0])
    """
    if grid.batch == 1:
        return Tasks(m, n, facts=facts)
    batch = np.repeat(np.arange(grid.batch, dtype=np.int64), len(m))
    return Tasks(np.tile(m, grid.batch), np.tile(n, grid.batch), batch, facts=facts)


def by_round(counts: Ints) -> tuple[Ints, Ints, Ints]:
    """Return worker, round and position of tasks that workers own in ranges.

    Worker ``w`` owns positions ``sum(counts[:w])`` and on. Tasks come out by round, then worker:
    the order in which they start.

    Args:
        counts: Tasks of every worker.

    Example:
        >>> import numpy as np
        >>> worker, wave, position = by_round(np.array([2, 1]))
        >>> worker.tolist(), wave.tolist(), position.tolist()
        ([0, 1, 0], [0, 0, 1], [0, 2, 1])
    """
    total = int(counts.sum())
    worker = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    position = np.arange(total, dtype=np.int64)
    wave = position - np.repeat(np.cumsum(counts) - counts, counts)
    order = np.argsort(wave, kind="stable")
    return worker[order], wave[order], position[order]
