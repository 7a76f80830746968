"""Lanes against banks and sectors: every cell is where the address says; bars are the costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest
from numpy.typing import NDArray

from tileviz.figures.over_time import cost_bars, describe, lane_map, legend_of, map_key
from tileviz.figures.tokens import DARK, LIGHT, Theme
from tileviz.memory import Accesses
from tileviz.runners.compare import compare
from tileviz.runners.executions import Executions, kept

LANE = np.arange(32)


def _targets(figure: go.Figure) -> NDArray[np.int64]:
    """Return lane, column and the fields of every cell in use."""
    trace = figure.data[-1]
    return np.column_stack([trace.y, trace.x, trace.customdata])


def test_a_column_lies_in_one_bank() -> None:
    column = Accesses.of(128 * LANE + 20, space="shared", op="ld", bytes=4)
    cells = _targets(lane_map(column, LIGHT))
    assert cells[:, 0].tolist() == list(range(32))
    assert set(cells[:, 1].tolist()) == {5}
    # lane, bank, byte, row, passes
    assert cells[3, 2:].tolist() == [3, 5, 404, 3, 32]
    assert describe(column, 32, 1) == "32 lanes touch 1 bank: 32 wavefronts, ideal 1."


def test_a_padded_column_is_a_diagonal() -> None:
    padded = Accesses.of(132 * LANE, space="shared", op="ld", bytes=4)
    cells = _targets(lane_map(padded, DARK))
    assert cells[:, 0].tolist() == cells[:, 1].tolist() == list(range(32))
    assert set(cells[:, -1].tolist()) == {1}


def test_wide_accesses_cover_their_banks_and_idle_lanes_none() -> None:
    active = LANE < 3
    wide = Accesses.of(16 * LANE, space="shared", op="st", bytes=16, active=active)
    cells = _targets(lane_map(wide, LIGHT))
    assert cells[:, :2].tolist() == [[lane, 4 * lane + at] for lane in range(3) for at in range(4)]


def test_rows_of_matrices_are_sixteen_bytes() -> None:
    rows = Accesses.of(128 * LANE, space="shared", op="ldmatrix.x1", bytes=16, active=LANE < 8)
    cells = _targets(lane_map(rows, LIGHT))
    assert len(cells) == 32 and set(cells[:, 1].tolist()) == {0, 1, 2, 3}
    assert set(cells[:, -1].tolist()) == {8}


def test_sectors_are_ordered_by_address() -> None:
    strided = Accesses.of(8 * LANE[::-1], space="global", op="ld", bytes=4)
    cells = _targets(lane_map(strided, LIGHT))
    assert cells[:, 1].tolist() == [lane // 4 for lane in range(31, -1, -1)]
    # lane, byte, sector, bytes used of it
    assert cells[0, 2:].tolist() == [0, 248, 7, 16]
    assert describe(strided, 8, 4) == "32 lanes touch 8 sectors: 8 sectors, ideal 4."


@pytest.mark.parametrize("space", ["shared", "global"])
def test_legend_and_key_fit_the_space(space: str) -> None:
    name, labels = legend_of(space)
    assert len(labels) == 6 and ("bank" in name) == (space == "shared")
    accesses = Accesses.of(4 * LANE, space=space, op="ld", bytes=4)
    assert ("banks" in map_key(accesses)) == (space == "shared")


def _sample(strides: list[int]) -> Executions:
    addresses = np.array(strides)[:, None] * LANE
    accesses = Accesses.of(addresses, space="shared", op="ld", bytes=4, line=1)
    accesses = replace(accesses, warps=np.arange(len(strides)))
    (sample,) = kept(compare([], [accesses]), [accesses])
    assert sample is not None
    return sample


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_bars_are_costs_and_the_shown_one_stands_out(theme: Theme) -> None:
    figure = cost_bars(_sample([4, 128, 8]), 1, theme)
    bars, ideal = figure.data
    assert bars.y.tolist() == [1, 32, 2]
    assert list(bars.marker.color) == [theme.bar, theme.hot, theme.bar]
    assert set(ideal.y.tolist()) == {1}
    assert figure.layout.yaxis.range[1] > 32


def test_bars_of_a_single_execution_are_drawn() -> None:
    figure = cost_bars(_sample([4]), 0, LIGHT)
    assert figure.layout.xaxis.ticktext == ("1",)
