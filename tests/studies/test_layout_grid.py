"""The pictures of a layout hold every element where a slow look-up finds it."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.layouts import ComposeLayout, LayoutError, Swizzle, TileLayout, parse_layout
from tileviz.studies.layout.grid import IDLE, MAX_CELLS, OUTSIDE, Grid, axes_of, logical_grid
from tileviz.studies.layout.physical import physical_grid

AXES = ("m", "laneid", "warpid", "TLane")


@st.composite
def _layouts(draw: st.DrawFn) -> TileLayout | ComposeLayout:
    def digit(axes: tuple[str, ...]) -> st.SearchStrategy[tuple[int, int, str]]:
        return st.tuples(st.integers(1, 4), st.integers(-5, 40), st.sampled_from(axes))

    swizzled = draw(st.booleans())
    axes = ("m",) if swizzled else AXES
    shard = draw(st.lists(digit(axes), min_size=1, max_size=3))
    replica = draw(st.lists(digit(axes), max_size=2))
    offset = draw(st.dictionaries(st.sampled_from(axes), st.integers(-9, 70), max_size=2))
    tile = TileLayout(shard, replica, offset)
    return ComposeLayout(Swizzle(1, 2, 2), tile) if swizzled else tile


def _places(layout: TileLayout | ComposeLayout) -> dict[tuple[int, ...], set[int]]:
    """Return, per address, the elements that live there, digit by digit."""
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    axes = axes_of(layout)
    found: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for number, digits in enumerate(product(*(range(item.extent) for item in tile.shard))):
        for copy in product(*(range(item.extent) for item in tile.replica)):
            address = dict.fromkeys(axes, 0) | dict(tile.offset)
            for index, item in zip((*digits, *copy), (*tile.shard, *tile.replica), strict=True):
                address[item.axis] += index * item.stride
            if isinstance(layout, ComposeLayout):
                m = address["m"]
                address["m"] = m ^ (m >> 2 & (3 << 1))
            found[tuple(address[axis] for axis in axes)].add(number)
    return found


def _shown(grid: Grid) -> dict[tuple[int, ...], tuple[int, int, int]]:
    live = grid.element >= 0
    keys = map(tuple, grid.address[live].tolist())
    values = zip(grid.element[live], grid.other[live], grid.meets[live], strict=True)
    return {key: tuple(map(int, value)) for key, value in zip(keys, values, strict=True)}


@given(_layouts(), st.sampled_from([1, 2, 4, 16]), st.sampled_from([8, 32, 128]))
def test_every_address_holds_its_elements(
    layout: TileLayout | ComposeLayout, element_bytes: int, columns: int
) -> None:
    wanted = {}
    for address, who in _places(layout).items():
        first, other = [*sorted(who), IDLE][:2]
        wanted[address] = (first, other, len(who))
    grid = physical_grid(layout, element_bytes=element_bytes, max_columns=columns)
    assert grid.left_out == 0
    assert _shown(grid) == wanted
    assert grid.element.shape[1] <= columns


@given(_layouts(), st.sampled_from([8, 32]))
def test_idle_cells_lie_between_used_addresses_and_no_cell_is_drawn_twice(
    layout: TileLayout | ComposeLayout, columns: int
) -> None:
    grid = physical_grid(layout, max_columns=columns)
    used = np.array(list(_places(layout)))
    drawn = grid.address[grid.element != OUTSIDE]
    assert len({tuple(place) for place in drawn.tolist()}) == len(drawn)
    assert (drawn >= used.min(axis=0)).all()
    assert (drawn <= used.max(axis=0)).all()


@given(_layouts(), st.sampled_from([4, 32]))
def test_every_element_is_drawn_once_with_its_address(
    layout: TileLayout | ComposeLayout, columns: int
) -> None:
    grid = logical_grid(layout, max_columns=columns)
    live = grid.element >= 0
    assert grid.element[live].tolist() == list(range(layout.size))
    assert grid.left_out == 0
    table = layout.table()
    for at, axis in enumerate(grid.axes):
        wanted = table.get(axis, np.zeros(layout.size, dtype=np.int64))
        assert grid.address[:, :, at][live].tolist() == wanted.tolist()
    shape = layout.extents or (1,)
    numbers = np.ravel_multi_index(tuple(grid.coordinate[live].T), shape)
    assert numbers.tolist() == list(range(layout.size))


@pytest.mark.parametrize(
    ("shape", "columns", "rows", "labels"),
    [
        ((4, 32), 32, 4, ("0", "1", "2", "3")),
        ((20,), 20, 1, ("0",)),
        ((128,), 32, 4, ("0", "32", "64", "96")),
        ((2, 4, 32), 32, 8, ("0, 0", "0, 1", "0, 2", "0, 3")),
        ((8, 4, 2), 8, 8, ("0", "1", "2", "3")),
        ((4, 100), 25, 16, ("0, 0", "0, 25", "0, 50", "0, 75")),
        ((2, 37), 32, 3, ("0, 0", "0, 32", "1, 27")),
        ((64, 4), 4, 64, ("0", "1", "2", "3")),
        ((128, 4), 8, 64, ("0, 0", "2, 0", "4, 0", "6, 0")),
    ],
)
def test_long_rows_are_folded_and_short_ones_joined(
    shape: tuple[int, ...], columns: int, rows: int, labels: tuple[str, ...]
) -> None:
    grid = logical_grid(TileLayout([(prod(shape), 1, "m")]), shape)
    assert grid.element.shape == (rows, columns)
    assert grid.rows[: len(labels)] == labels


def test_thick_lines_part_the_runs_of_one_stride() -> None:
    fragment = logical_grid(parse_layout("S[(2, 8, 2, 4, 2):(1, 4, 128, 1, 64)]"), (16, 16))
    assert (fragment.row_lines, fragment.column_lines) == ((8,), tuple(range(2, 16, 2)))
    swizzled = logical_grid(parse_layout("Swizzle(2, 3, 3) o S[(8, 32):(32, 1)]"))
    assert swizzled.column_lines == tuple(range(4, 32, 4))
    tiled = logical_grid(parse_layout("S[(4, 4):(4, 1)]"), block=(2, 2))
    assert (tiled.row_lines, tiled.column_lines) == ((2,), (2,))


def test_memory_lies_in_rows_of_all_banks() -> None:
    padded = physical_grid(parse_layout("S[(4, 32):(33, 1)]"))
    assert padded.columns == tuple(map(str, range(32)))
    assert padded.rows == ("0", "32", "64", "96", "128")
    assert np.argwhere(padded.element == IDLE).tolist() == [[1, 0], [2, 1], [3, 2]]
    assert padded.bank[1, :3].tolist() == [0, 1, 2]
    assert padded.byte[1, 0] == 128
    halves = physical_grid(parse_layout("S[64:1]"), element_bytes=2)
    assert halves.element.shape == (2, 32)
    wide = physical_grid(parse_layout("S[64:1]"), element_bytes=2, max_columns=128)
    assert wide.columns[:4] == ("0", "", "1", "")


def test_long_idle_runs_shrink_to_one_row() -> None:
    grid = physical_grid(parse_layout("S[(3, 4):(128, 1)]"))
    assert grid.rows == ("0", "32", "64", "96", "128", "160", "192", "224", "256")
    grid = physical_grid(parse_layout("S[(3, 4):(1048576, 1)]"))
    assert grid.rows == ("0", "⋯", "1048576", "⋯", "2097152")
    assert (grid.element[1] == OUTSIDE).all()


def test_large_pictures_are_cut_and_say_how_much_is_left_out() -> None:
    layout = parse_layout("S[(1024, 1024):(1024, 1)]")
    for grid in (logical_grid(layout, max_columns=128), physical_grid(layout)):
        assert int((grid.element >= 0).sum()) == MAX_CELLS
        assert grid.left_out == layout.size - MAX_CELLS
    sparse = physical_grid(parse_layout("S[65536:1000]"))
    assert sparse.element.size <= MAX_CELLS
    assert sparse.left_out == 65536 - int((sparse.element >= 0).sum()) > 0


def test_what_cannot_be_drawn_is_refused_in_words() -> None:
    with pytest.raises(LayoutError, match="at most 4194304 can be drawn"):
        physical_grid(TileLayout([(1 << 20, 1, "m")], [(8, 1 << 20, "m")]))
    far = [(2, 1 << 40, axis) for axis in ("m", "laneid", "warpid")]
    with pytest.raises(LayoutError, match="spread too far"):
        physical_grid(TileLayout(far))
    with pytest.raises(LayoutError, match="has 5 elements"):
        logical_grid(TileLayout([(4, 1, "m")]), (5,))


def test_cells_of_given_elements_are_found_in_both_pictures() -> None:
    layout = parse_layout("S[(2, 8):(4, 1)]")
    wanted = np.zeros(16, dtype=bool)
    wanted[8] = True  # (1, 0) shares address 4 with (0, 4).
    assert np.argwhere(logical_grid(layout).holds(wanted)).tolist() == [[1, 0]]
    assert np.argwhere(physical_grid(layout).holds(wanted)).tolist() == [[0, 4]]
