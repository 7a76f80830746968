"""The CATLASS block swizzle under the reference's own names, for scripts and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tileviz.errors import DesignError
from tileviz.studies.design import shown
from tileviz.studies.schedule.design import MAX_TILES
from tileviz.studies.schedule.grid import Grid
from tileviz.studies.schedule.policies._catlass import snaking_strips
from tileviz.studies.schedule.policies.base import (
    UINT32,
    Direction,
    check_offset,
    read_direction,
)


class BlockCoord(NamedTuple):
    """Tile row and tile column of a task."""

    m: int
    n: int


class BlockShape(NamedTuple):
    """Rows, columns and K elements that a task really computes."""

    m: int
    n: int
    k: int


class BlockSwizzle:
    """``GemmIdentityBlockSwizzle``, and its dynamic form through ``set_swizzle_params``.

    Args:
        problem: M, N, K in elements.
        tile: Rows and columns of a tile (a third entry, K, is not looked at).
        offset: Tiles a strip is wide.
        direction: 0 or ``"zn"`` for strips of rows, 1 or ``"nz"`` for strips of columns.
        loops: Tile rows and columns, where they are not those of the problem.
        batch: Number of equal products; tasks of all of them are numbered through.

    Raises:
        DesignError: A size, offset or direction that the reference could not compute with.

    Example:
        >>> swizzle = BlockSwizzle((300, 500, 64), (128, 256), offset=2, direction=0)
        >>> swizzle.core_loops(), swizzle.block_coord(4), swizzle.actual_block_shape((2, 1))
        (6, BlockCoord(m=2, n=1), BlockShape(m=44, n=244, k=64))
        >>> swizzle.block_coord(6)
        Traceback (most recent call last):
        tileviz.errors.DesignError: task: past the last task, 5
    """

    def __init__(
        self,
        problem: Sequence[int],
        tile: Sequence[int],
        offset: int = 1,
        direction: int | str = 0,
        loops: Sequence[int] | None = None,
        batch: int = 1,
    ) -> None:
        self._batch = _number("batch", batch, MAX_TILES)
        self._offset, self._direction = _params(offset, direction)
        self._place(problem, tile, loops)

    def update(
        self, problem: Sequence[int], tile: Sequence[int], loops: Sequence[int] | None = None
    ) -> None:
        """Set another problem, tile and, if given, loops; the offset and direction stay."""
        self._place(problem, tile, loops)

    def set_swizzle_params(self, offset: int, direction: int | str) -> None:
        """Set offset and direction, as the dynamic variant does at run time."""
        chosen = _params(offset, direction)
        check_offset(self._grid, *chosen)
        self._offset, self._direction = chosen

    @property
    def loops(self) -> tuple[int, int]:
        """Tile rows and columns."""
        return self._grid.rows, self._grid.columns

    @property
    def offset(self) -> int:
        """Tiles a strip is wide."""
        return self._offset

    @property
    def direction(self) -> Direction:
        """``"zn"`` or ``"nz"``."""
        return self._direction

    def core_loops(self) -> int:
        """Return the number of tasks of one batch."""
        return self._grid.tiles

    def batch_index(self, task: int) -> int:
        """Return the batch of a task."""
        return self._checked(task) // self._grid.tiles

    def block_coord(self, task: int) -> BlockCoord:
        """Return tile row and column of a task."""
        inner = np.array([self._checked(task) % self._grid.tiles], dtype=np.int64)
        m, n = snaking_strips(self._grid, inner, self._offset, self._direction)
        return BlockCoord(int(m[0]), int(n[0]))

    def actual_block_shape(self, coord: Sequence[int]) -> BlockShape:
        """Return what a tile really computes: the last row and column get the remainder."""
        given = list(coord) if isinstance(coord, (tuple, list)) else []
        inside = len(given) in (2, 3) and all(
            type(place) is int and 0 <= place < loops
            for place, loops in zip(given, self.loops, strict=False)
        )
        if not inside:
            rows, columns = self.loops
            raise DesignError(
                "coord", f"outside the grid of {rows} x {columns} tiles", shown(coord)
            )
        m, n = (
            size - place * tile if place == loops - 1 else tile
            for place, tile, loops, size in zip(
                given[:2], self._tile, self.loops, self._problem[:2], strict=True
            )
        )
        return BlockShape(m, n, self._problem[2])

    def _place(
        self, problem: Sequence[int], tile: Sequence[int], loops: Sequence[int] | None
    ) -> None:
        sizes = _sizes("problem", problem, (3,))
        m, n, *_ = _sizes("tile", tile, (2, 3))
        grid = Grid((sizes[0], sizes[1], 1), (m, n, 1))
        if loops is not None:
            rows, columns = _sizes("loops", loops, (2,))
            grid = Grid((rows, columns, 1), (1, 1, 1))
            _check_loops(grid, (sizes[0], sizes[1]), (m, n))
        if grid.tiles * self._batch > MAX_TILES:
            message = f"{grid.tiles * self._batch} tiles; at most {MAX_TILES}"
            raise DesignError("problem", message, list(sizes))
        check_offset(grid, self._offset, self._direction)
        self._problem, self._tile, self._grid = sizes, (m, n), grid

    def _checked(self, task: Any) -> int:
        count = self._grid.tiles * self._batch
        if isinstance(task, bool) or not isinstance(task, (int, np.integer)) or task < 0:
            raise DesignError("task", "a whole number from 0 on is expected", shown(task))
        if task >= count:
            raise DesignError("task", f"past the last task, {count - 1}", int(task))
        return int(task)


def _number(field: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise DesignError(field, "a whole number is expected", shown(value))
    if not 1 <= value <= most:
        raise DesignError(field, f"must be between 1 and {most}", int(value))
    return int(value)


def _params(offset: Any, direction: Any) -> tuple[int, Direction]:
    chosen = _number("offset", offset, UINT32)
    try:
        return chosen, read_direction(direction)
    except DesignError as error:
        raise error.within("direction") from None


def _sizes(field: str, values: Any, lengths: tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(values, str) or not hasattr(values, "__len__") or len(values) not in lengths:
        wanted = " or ".join(map(str, lengths))
        raise DesignError(field, f"{wanted} sizes are expected", shown(values))
    return tuple(_number(f"{field}.{place}", value, UINT32) for place, value in enumerate(values))


def _check_loops(grid: Grid, problem: tuple[int, int], tile: tuple[int, int]) -> None:
    """Refuse loops that leave the last tile without rows: the reference's sizes wrap."""
    for axis, (loops, size, step) in enumerate(
        zip((grid.rows, grid.columns), problem, tile, strict=True)
    ):
        if (loops - 1) * step >= size:
            most = -(-size // step)
            raise DesignError(
                f"loops.{axis}", f"at most {most} tiles of {step} begin in {size}", loops
            )
