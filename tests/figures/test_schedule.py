"""The order map shows the schedule's own numbers, and its scrubber the waves' own tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tileviz.figures.order_map import (
    STEPS,
    amount,
    drawn_strips,
    map_size,
    order_classes,
    step_labels,
    ticks,
    visits,
    way,
)
from tileviz.figures.outline import outline, outline_of
from tileviz.figures.schedule import (
    MAX_STOPS,
    describe,
    order_figure,
    stops,
    thumbnail,
)
from tileviz.figures.scrubber import map_width
from tileviz.figures.tokens import DARK, IDLE, LIGHT, THEMES, Theme
from tileviz.studies.registry import make_design, presets
from tileviz.studies.schedule.plan import SchedulePlan, plan

PRESETS = [preset for preset in presets() if preset.study == "schedule"]


def _plan(rows: int, columns: int, **fields: Any) -> SchedulePlan:
    document = {"policy": "catlass", "offset": 2, "workers": 4, **fields}
    sizes = {"problem": [rows, columns, 1], "tile": [1, 1, 1]}
    return plan(make_design({"study": "schedule", **sizes, **document}))


RAGGED = plan(next(found for found in PRESETS if found.name == "schedule-ragged").design)


def _texts(figure: Any) -> dict[tuple[int, int], tuple[str, str]]:
    """Return text and ink of every cell; a cell written twice fails."""
    found: dict[tuple[int, int], tuple[str, str]] = {}
    for trace in figure.data:
        if trace.type == "heatmap" and trace.text is not None:
            for row, column in np.argwhere(np.array(trace.text) != "").tolist():
                assert (row, column) not in found
                found[row, column] = trace.text[row][column], trace.textfont.color
    return found


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_every_tile_is_written_once_in_an_ink_that_reads(theme: Theme) -> None:
    texts = _texts(order_figure(RAGGED, 7, theme))
    order = dict(enumerate(RAGGED.order()))
    assert {cell: int(text) for cell, (text, _) in texts.items()} == {
        tuple(tile): task for task, tile in order.items()
    }
    for task, tile in order.items():
        assert texts[tuple(tile)][1] == theme.ink(theme.order[task * STEPS // len(order)])


def _edges(x: Any, y: Any) -> set[tuple[float, float, float, float]]:
    """Return unit edges of segments, whatever runs they were drawn as."""
    found = set()
    for start in range(0, len(x), 3):
        (x0, x1), (y0, y1) = x[start : start + 2], y[start : start + 2]
        if y0 == y1:
            for at in range(round(x0 + 0.5), round(x1 + 0.5)):
                found.add((at - 0.5, y0, at + 0.5, y0))
        else:
            for at in range(round(y0 + 0.5), round(y1 + 0.5)):
                found.add((x0, at - 0.5, x0, at + 0.5))
    return found


def _plain_edges(cells: set[tuple[int, int]]) -> set[tuple[float, float, float, float]]:
    found = set()
    for row, column in cells:
        if (row - 1, column) not in cells:
            found.add((column - 0.5, row - 0.5, column + 0.5, row - 0.5))
        if (row + 1, column) not in cells:
            found.add((column - 0.5, row + 0.5, column + 0.5, row + 0.5))
        if (row, column - 1) not in cells:
            found.add((column - 0.5, row - 0.5, column - 0.5, row + 0.5))
        if (row, column + 1) not in cells:
            found.add((column + 0.5, row - 0.5, column + 0.5, row + 0.5))
    return found


@given(hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=7)))
def test_an_outline_is_the_border_between_in_and_out(cells: np.ndarray) -> None:
    x, y = outline(cells, 3, 5)
    wanted = _plain_edges({(row + 3, column + 5) for row, column in np.argwhere(cells).tolist()})
    assert _edges(x, y) == wanted


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20))
def test_an_outline_of_tiles_is_that_of_their_cells(tiles: set[tuple[int, int]]) -> None:
    listed = np.array(sorted(tiles), np.int64).reshape(-1, 2)
    assert _edges(*outline_of(listed[:, 0], listed[:, 1])) == _plain_edges(tiles)


@pytest.mark.parametrize("wave", [0, 7, 18])
def test_a_frame_shows_its_wave_and_nothing_else(wave: int) -> None:
    figure = order_figure(RAGGED, 7, DARK)
    bar, _, frame, squares = figure.frames[wave].data
    tasks = range(24 * wave, min(24 * wave + 24, 456))
    tiles = {tuple(RAGGED.order()[task]) for task in tasks}
    assert _edges(frame.x, frame.y) == _plain_edges(tiles)
    assert frame.line.color == DARK.hot
    assert bar.x == (wave,)
    assert bar.y[0] * (1 << 20) == RAGGED.metrics.footprints[wave]
    inside = {(x, y) for x, y in zip(squares.x, squares.y, strict=True)}
    rows = {y for x, y in inside if x < -0.5}
    columns = {x for x, y in inside if y < -0.5}
    assert rows == {m for m, _ in tiles}
    assert columns == {n for _, n in tiles}


def test_a_frame_replaces_the_traces_that_move_and_names_their_axes() -> None:
    figure = order_figure(RAGGED, 3, LIGHT)
    for frame in figure.frames:
        assert list(frame.traces) == list(range(len(figure.data) - 4, len(figure.data)))
        assert [trace.xaxis for trace in frame.data] == ["x", "x2", "x2", "x2"]
    shown, first = figure.data[-4:], figure.frames[3].data
    assert [list(trace.x) for trace in shown] == [list(trace.x) for trace in first]


def test_the_slider_names_every_wave_and_starts_at_the_one_asked_for() -> None:
    figure = order_figure(RAGGED, 7, LIGHT)
    slider = figure.layout.sliders[0]
    assert slider.active == 7
    assert slider.steps[7].label == "wave 8 of 19, tasks 168–191, reads 76.0 MiB"
    assert [step.args[0] for step in slider.steps] == [(frame.name,) for frame in figure.frames]


def test_cells_stay_square_whatever_the_grid() -> None:
    for rows, columns in [(6, 6), (19, 24), (40, 13), (64, 64), (320, 320), (100, 200)]:
        wide, high = map_size(rows, columns).cell
        assert wide == high, (rows, columns)
        figure = order_figure(_plan(rows, columns), 0, LIGHT)
        for axis, pixels in (("xaxis2", figure.layout.width), ("yaxis2", figure.layout.height)):
            domain, span = figure.layout[axis].domain, figure.layout[axis].range
            cell = (domain[1] - domain[0]) * pixels / abs(span[1] - span[0])
            assert cell == pytest.approx(wide, rel=0.05), (rows, columns, axis)


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_no_map_outgrows_its_page(rows: int, columns: int) -> None:
    size = map_size(rows, columns)
    assert size.height <= 1100
    assert map_width(rows, columns) <= 720
    assert min(size.cell) > 0


@pytest.mark.parametrize(
    ("policy", "fields", "lines"),
    [
        ("catlass", {"offset": 3, "direction": "zn"}, {("y", 2.5), ("y", 5.5)}),
        ("catlass", {"offset": 4, "direction": "nz"}, {("x", 3.5), ("x", 7.5)}),
        ("row_major", {}, set()),
    ],
)
def test_strips_are_parted_by_thick_lines(
    policy: str, fields: dict[str, Any], lines: set[tuple[str, float]]
) -> None:
    made = plan(
        make_design(
            {"study": "schedule", "problem": [7, 9, 1], "tile": [1, 1], "policy": policy, **fields}
        )
    )
    figure = order_figure(made, 0, LIGHT)
    found = set()
    for trace in figure.data:
        if trace.type == "scatter" and trace.line.color == LIGHT.strong:
            for start in range(0, len(trace.x) - 1, 3):
                if trace.x[start] == trace.x[start + 1] and 0 < trace.x[start] < 8:
                    found.add(("x", trace.x[start]))
                if trace.y[start] == trace.y[start + 1] and 0 < trace.y[start] < 6:
                    found.add(("y", trace.y[start]))
    assert found == lines


def test_strips_too_thin_to_see_are_left_out() -> None:
    assert drawn_strips(_plan(600, 600, offset=1)) is None
    assert drawn_strips(_plan(600, 600, offset=60)) is not None


def test_tails_are_dotted_and_named_where_the_last_tile_is_cut() -> None:
    dotted = [trace for trace in order_figure(RAGGED, 0, LIGHT).data if trace.type == "scatter"
              and trace.line.dash == "2px,2px"]  # fmt: skip
    assert [(list(trace.x), list(trace.y)) for trace in dotted] == [
        ([-0.5, 23.5, None, 22.5, 22.5], [17.5, 17.5, None, -0.5, 18.5])
    ]
    whole = order_figure(_plan(6, 6), 0, LIGHT)
    assert not any(trace.type == "scatter" and trace.line.dash == "2px,2px" for trace in whole.data)


def _arrows(made: SchedulePlan) -> list[Any]:
    traces = order_figure(made, 0, LIGHT).data
    return [one for one in traces if one.type == "scatter" and one.mode == "lines+markers"]


def test_a_small_grid_has_an_arrow_for_every_step() -> None:
    made = _plan(4, 3)
    arrows = _arrows(made)
    assert len(arrows) == 2
    steps = list(zip(made.order(), made.order()[1:], strict=False))
    assert len(arrows[0].x) == 3 * len(steps)
    for index, ((m0, n0), (m1, n1)) in enumerate(steps):
        x0, x1, _ = arrows[0].x[3 * index : 3 * index + 3]
        y0, y1, _ = arrows[0].y[3 * index : 3 * index + 3]
        assert np.sign([x1 - x0, y1 - y0]).tolist() == np.sign([n1 - n0, m1 - m0]).tolist()
    assert _arrows(RAGGED) == []


def test_a_tile_that_several_tasks_share_is_visited_once() -> None:
    made = _plan(3, 3, policy="catlass_splitk", splitk=2, problem=[3, 3, 64], tile=[1, 1, 8])
    assert len(_arrows(made)[0].x) == 3 * 8


def test_the_pointer_is_told_task_wave_worker_and_shape() -> None:
    figure = order_figure(RAGGED, 0, LIGHT)
    pointer = next(trace for trace in figure.data if trace.customdata is not None
                   and trace.type == "heatmap")  # fmt: skip
    m, n = RAGGED.order()[401]
    fields = pointer.customdata[m][n].tolist()
    assert fields == [401, 401 // 24 + 1, 401 % 24, m, n, *RAGGED.shapes()[401]]


def test_a_missing_tile_has_no_number_and_no_colour() -> None:
    made = plan(
        make_design(
            {
                "study": "schedule",
                "problem": [2, 2, 1],
                "tile": [1, 1],
                "policy": "custom",
                "order": [[0, 0], [1, 1], [0, 1]],
            }
        )
    )
    figure = order_figure(made, 0, LIGHT)
    assert set(_texts(figure)) == {(0, 0), (1, 1), (0, 1)}
    colours = [trace for trace in figure.data if trace.type == "heatmap"]
    assert all(np.isnan(np.array(trace.z, float)[1, 0]) for trace in colours)


def test_large_grids_are_sampled_and_few_waves_are_stops() -> None:
    made = _plan(700, 500, offset=3)
    figure = order_figure(made, 41, LIGHT)
    assert len(figure.frames) <= MAX_STOPS
    assert "41" in [frame.name for frame in figure.frames]
    pointer = next(t for t in figure.data if t.customdata is not None and t.type == "heatmap")
    assert max(pointer.customdata.shape[:2]) <= 256
    assert (pointer.dx, pointer.dy) == (2, 3)
    assert pointer.customdata[10][20][0] == made.order().index([30, 40])
    assert _texts(figure) == {}
    assert stops(made, 41)[0] == 0
    assert stops(made, 41)[-1] == made.schedule.waves - 1


def test_batches_are_drawn_one_at_a_time() -> None:
    made = _plan(3, 3, batch=2, workers=5)
    texts = _texts(order_figure(made, 2, LIGHT, batch=1))
    assert sorted(int(text) for text, _ in texts.values()) == list(range(9, 18))
    # Wave 1 holds tasks 5 to 9; only task 9 belongs to the second batch.
    frame = order_figure(made, 2, LIGHT, batch=1).frames[1].data[2]
    assert _edges(frame.x, frame.y) == _plain_edges({tuple(made.order()[9][1:])})


@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9)))
def test_steps_of_any_order_go_up_with_the_number(values: np.ndarray) -> None:
    order = np.argsort(np.argsort(values, axis=None)).reshape(values.shape)
    classes = order_classes(order)
    ranked = classes.ravel()[np.argsort(order, axis=None)]
    assert (np.diff(ranked.astype(int)) >= 0).all()
    assert ranked[0] == 0
    for step, label in step_labels(order):
        low, _, high = label.partition("–")
        numbers = order[classes == step]
        assert (numbers.min(), numbers.max()) == (int(low), int(high or low))


def test_ticks_leave_room_for_their_labels() -> None:
    assert ticks(24, 22, 17)["tickvals"] == list(range(24))
    assert ticks(320, 1.8, 24)["tickvals"][:3] == [0, 20, 40]


def test_the_way_skips_tiles_that_are_not_there() -> None:
    m, n = visits(np.array([[2, IDLE], [0, 1]]))
    assert list(zip(m.tolist(), n.tolist(), strict=True)) == [(1, 0), (1, 1), (0, 0)]
    assert way(m, n)[2] == [0, 8, 0, 0, 8, 0]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_every_preset_has_a_map_a_thumbnail_and_a_description(preset: Any) -> None:
    made = plan(preset.design)
    assert order_figure(made, 0, LIGHT).layout.height > 150
    assert 'role="img"' in thumbnail(made)
    assert f"{len(made.schedule):,} tasks" in describe(made, 0)


def test_a_huge_thumbnail_is_small() -> None:
    assert thumbnail(_plan(900, 900)).count("<i ") == 16


def test_amounts_keep_three_digits() -> None:
    assert [amount(size) for size in (0, 54, 1000, 1 << 19, 5 << 30)] == [
        "0 bytes",
        "54 bytes",
        "0.98 KiB",
        "0.50 MiB",
        "5,120 MiB",
    ]
