"""A map of square cells: discrete classes, a text in each cell, thick borders, one hot frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from tileviz.figures.plain import line
from tileviz.figures.tokens import IDLE, Theme

Classes = NDArray[np.int8]
Texts = NDArray[np.str_]

MARGIN = {"l": 30, "r": 3, "t": 20, "b": 3}
# Above this many cells a browser takes seconds to paint the texts.
_MAX_TEXT_CELLS = 2048
_CLASSES = 6


@dataclass(frozen=True, eq=False)
class Cells:
    """What a cell map shows; every array is ``[row, column]``.

    Attributes:
        classes: Index into the palette, or ``IDLE``.
        text: Text in each cell; ignored in idle cells.
        rows: Label of each row, top first.
        hover: Integers for the hover text, int64 ``[row, column, field]``.
        template: Plotly hover template over ``customdata``.
        borders: Columns that start behind a thick line.
        frame: The cell under discussion as (row, column), or None.
        name: What the map is called, for the saved picture and for events.
    """

    classes: Classes
    text: Texts
    rows: tuple[str, ...]
    hover: NDArray[np.int64]
    template: str
    borders: tuple[int, ...] = ()
    frame: tuple[int, int] | None = None
    name: str = field(default="cells")


def row_height(rows: int) -> int:
    """Return the height of a row in pixels: roomy for few rows, 17 at least, so text stays at 11.

    Example:
        >>> row_height(4), row_height(32)
        (23, 17)
    """
    return 23 if rows <= 8 else 20 if rows <= 16 else 17


def cell_map(cells: Cells, theme: Theme) -> go.Figure:
    """Return the map as a figure that stretches to its column.

    Args:
        cells: The content.
        theme: Colours.

    Example:
        >>> import numpy as np
        >>> from tileviz.figures.tokens import LIGHT
        >>> cells = Cells(np.zeros((2, 32), np.int8), np.full((2, 32), "7"), ("r0", "r1"),
        ...               np.zeros((2, 32, 1), np.int64), "bank %{customdata[0]}")
        >>> cell_map(cells, LIGHT).layout.height
        69
    """
    rows, columns = cells.classes.shape
    traces = [
        *_grounds(cells, theme),
        *_lines(cells, theme),
        *_worst(cells, theme),
        *_frame(cells, theme),
        _targets(cells),
    ]
    axis = {"showgrid": False, "zeroline": False, "fixedrange": True}
    tick = {"tickfont": {"size": 11, "color": theme.muted}}
    layout = {
        "template": None,
        "height": rows * row_height(rows) + MARGIN["t"] + MARGIN["b"],
        "margin": MARGIN,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": theme.page,
        "showlegend": False,
        "font": {"family": '"Source Sans", sans-serif', "size": 12, "color": theme.text},
        "hoverlabel": {
            "bgcolor": theme.page,
            "bordercolor": theme.muted,
            "font": {"size": 12, "color": theme.text},
            "align": "left",
        },
        "clickmode": "event+select",
        "dragmode": False,
        "xaxis": {
            **axis,
            **tick,
            "side": "top",
            "ticks": "",
            "range": [-0.5, columns - 0.5],
            "tickmode": "array",
            "tickvals": list(range(columns)),
        },
        "yaxis": {
            **axis,
            **tick,
            # Unseen ticks keep the labels off the border.
            "ticks": "outside",
            "ticklen": 4,
            "tickcolor": "rgba(0,0,0,0)",
            "range": [rows - 0.5, -0.5],
            "tickmode": "array",
            "tickvals": list(range(rows)),
            "ticktext": list(cells.rows),
        },
    }
    return go.Figure({"data": traces, "layout": layout})


def _grounds(cells: Cells, theme: Theme) -> list[dict[str, Any]]:
    """Return one heat map a colour of ink: Plotly's own choice of ink is weak on mid tones."""
    is_idle = cells.classes == IDLE
    traces = []
    for colour in dict.fromkeys(theme.inks):
        wanted = np.array([ink == colour for ink in theme.inks])[np.clip(cells.classes, 0, None)]
        traces.append(_heatmap(cells, wanted & ~is_idle, theme.passes, colour))
    traces.append(_heatmap(cells, is_idle, (theme.idle,) * _CLASSES, theme.muted, text=False))
    return [trace for trace in traces if trace is not None]


def _heatmap(
    cells: Cells, mask: NDArray[np.bool_], palette: Sequence[str], colour: str, text: bool = True
) -> dict[str, Any] | None:
    if not mask.any():
        return None
    steps = np.repeat(np.arange(len(palette) + 1) / len(palette), 2)[1:-1]
    colours = np.repeat(np.array(palette), 2)
    trace: dict[str, Any] = {
        "type": "heatmap",
        "z": np.where(mask, np.clip(cells.classes, 0, None).astype(float), np.nan),
        "zmin": -0.5,
        "zmax": len(palette) - 0.5,
        "colorscale": [[float(at), str(c)] for at, c in zip(steps, colours, strict=True)],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hoverinfo": "skip",
    }
    if text and cells.classes.size <= _MAX_TEXT_CELLS:
        # The text of a cell without a value is drawn all the same, so it must be blank.
        trace["text"] = np.where(mask, cells.text, "")
        trace["texttemplate"] = "%{text}"
        trace["textfont"] = {"size": 11, "color": colour}
    return trace


def _lines(cells: Cells, theme: Theme) -> list[dict[str, Any]]:
    """Return the outer border and the thick lines, halo first: black alone vanishes on purple."""
    rows, columns = cells.classes.shape
    top, bottom, left, right = -0.5, rows - 0.5, -0.5, columns - 0.5
    x: list[float | None] = [left, right, right, left, left]
    y: list[float | None] = [top, top, bottom, bottom, top]
    inner_x: list[float | None] = []
    inner_y: list[float | None] = []
    for column in cells.borders:
        inner_x += [column - 0.5, column - 0.5, None]
        inner_y += [top, bottom, None]
    halo = line(inner_x, inner_y, theme.page, 5)
    strong = line([*x, None, *inner_x], [*y, None, *inner_y], theme.strong, 2)
    return [halo, strong] if inner_x else [strong]


def worst_cells(classes: Classes) -> NDArray[np.bool_]:
    """Return which cells are the worst, none where framing them would say nothing.

    Framed are cells of the worst class that is not free, if they are under a quarter of all.

    Example:
        >>> worst_cells(np.array([[0, 0, 0, 0, 0, 2]], dtype=np.int8)).tolist()
        [[False, False, False, False, False, True]]
        >>> worst_cells(np.array([[2, 2, 0, 0]], dtype=np.int8)).any()
        np.False_
    """
    top = int(classes.max(initial=IDLE))
    worst = classes == top
    few = top > 0 and int(worst.sum()) * 4 < int((classes != IDLE).sum())
    return worst if few else np.zeros_like(worst)


def _worst(cells: Cells, theme: Theme) -> list[dict[str, Any]]:
    x: list[float | None] = []
    y: list[float | None] = []
    for row, column in np.argwhere(worst_cells(cells.classes)).tolist():
        left, right, top, bottom = column - 0.42, column + 0.42, row - 0.42, row + 0.42
        x += [left, right, right, left, left, right, None]
        y += [top, top, bottom, bottom, top, top, None]
    return [line(x, y, theme.page, 4), line(x, y, theme.strong, 2)] if x else []


def _frame(cells: Cells, theme: Theme) -> list[dict[str, Any]]:
    if cells.frame is None:
        return []
    row, column = cells.frame
    # Closing one corner past the start keeps the last corner from showing a notch.
    x = [column - 0.5, column + 0.5, column + 0.5, column - 0.5, column - 0.5, column + 0.5]
    y = [row - 0.5, row - 0.5, row + 0.5, row + 0.5, row - 0.5, row - 0.5]
    return [line(x, y, theme.page, 6), line(x, y, theme.hot, 3)]


def _targets(cells: Cells) -> dict[str, Any]:
    """Return invisible markers that answer to the pointer: heat maps report no selection."""
    rows, columns = cells.classes.shape
    y, x = np.mgrid[0:rows, 0:columns]
    live = cells.classes.ravel() != IDLE
    unseen = {"marker": {"opacity": 0}}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x.ravel()[live],
        "y": y.ravel()[live],
        "marker": {"symbol": "square", "size": row_height(rows) - 2, "opacity": 0},
        "selected": unseen,
        "unselected": unseen,
        "customdata": cells.hover.reshape(rows * columns, -1)[live],
        "hovertemplate": cells.template + "<extra></extra>",
        "cliponaxis": False,
    }
