"""The cell map: one ink a cell, no text outside, frames only where they say something."""

from __future__ import annotations

import numpy as np
import pytest

from tileviz.figures.cells import Cells, cell_map, row_height, worst_cells
from tileviz.figures.tokens import DARK, IDLE, LIGHT, THEMES, Theme


def _cells(classes: np.ndarray, **more: object) -> Cells:
    rows, columns = classes.shape
    text = np.arange(classes.size).reshape(classes.shape).astype(str)
    labels = tuple(f"r{row}" for row in range(rows))
    hover = np.zeros((rows, columns, 1), np.int64)
    return Cells(classes, text, labels, hover, "%{customdata[0]}", **more)


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_each_cell_is_written_once_in_the_ink_of_its_class(theme: Theme) -> None:
    classes = np.array([[-1, 0, 1, 2], [3, 4, 5, -1]], dtype=np.int8)
    written: dict[tuple[int, int], str] = {}
    for trace in cell_map(_cells(classes), theme).data:
        if trace.type == "heatmap" and trace.text is not None:
            for at in np.argwhere(np.array(trace.text) != "").tolist():
                assert tuple(at) not in written
                written[tuple(at)] = trace.textfont.color
    assert written == {
        (row, column): theme.inks[classes[row, column]]
        for row in range(2)
        for column in range(4)
        if classes[row, column] != IDLE
    }


def test_every_cell_has_a_colour_from_exactly_one_heat_map() -> None:
    classes = np.array([[-1, 0, 1], [3, 4, 5]], dtype=np.int8)
    maps = [trace for trace in cell_map(_cells(classes), DARK).data if trace.type == "heatmap"]
    drawn = sum((~np.isnan(np.array(trace.z, float))).astype(int) for trace in maps)
    assert (drawn == 1).all()


def test_only_active_cells_answer_to_the_pointer() -> None:
    classes = np.array([[0, IDLE, 0]], dtype=np.int8)
    targets = cell_map(_cells(classes), LIGHT).data[-1]
    assert targets.x.tolist() == [0, 2]
    assert len(targets.customdata) == 2


def test_thick_lines_and_frame_are_drawn_over_a_halo() -> None:
    classes = np.zeros((2, 32), dtype=np.int8)
    figure = cell_map(_cells(classes, borders=(8, 16), frame=(1, 9)), LIGHT)
    lines = [t for t in figure.data if t.type == "scatter" and t.mode == "lines"]
    colours = [trace.line.color for trace in lines]
    assert colours == [LIGHT.page, LIGHT.strong, LIGHT.page, LIGHT.hot]
    assert {x for x in lines[0].x if x is not None} == {7.5, 15.5}
    assert {x for x in lines[3].x if x is not None} == {8.5, 9.5}
    assert {y for y in lines[3].y if y is not None} == {0.5, 1.5}


def test_worst_cells_are_framed_only_when_they_are_few() -> None:
    few = np.zeros((2, 32), dtype=np.int8)
    few[0, :3] = 4
    assert worst_cells(few).sum() == 3
    many = np.full((2, 32), 3, dtype=np.int8)
    assert not worst_cells(many).any()
    assert not worst_cells(np.full((1, 4), IDLE, dtype=np.int8)).any()


def test_text_stays_readable_at_every_height() -> None:
    assert [row_height(rows) >= 16 for rows in (1, 8, 9, 32, 128)] == [True] * 5


def test_text_is_left_out_where_painting_it_would_take_seconds() -> None:
    figure = cell_map(_cells(np.zeros((128, 32), dtype=np.int8)), LIGHT)
    assert all(trace.text is None for trace in figure.data)
