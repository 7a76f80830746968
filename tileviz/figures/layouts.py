"""Pictures of layouts: each coordinate with its address, each address with its element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from tileviz.figures.layout_views import (
    BOTTOM,
    OWN,
    RIGHT,
    TOP,
    ColourBy,
    Colouring,
    MapSize,
    Room,
    cell_text,
    colouring,
    map_size,
)
from tileviz.figures.outline import outline
from tileviz.figures.plain import line
from tileviz.figures.thumbnail import thumbnail_html
from tileviz.figures.tokens import IDLE, Theme
from tileviz.layouts import IntArray
from tileviz.studies.layout.grid import MAX_NUMBERED, Grid, logical_grid
from tileviz.studies.layout.physical import physical_grid
from tileviz.studies.layout.plan import LayoutPlan

_THUMB_ROWS = 16


def layout_map(
    grid: Grid,
    by: ColourBy,
    theme: Theme,
    marked: NDArray[np.bool_] | None = None,
    room: Room = OWN,
) -> go.Figure:
    """Return a picture of a layout.

    Args:
        grid: The cells.
        by: What colours mean.
        theme: Colours.
        marked: Cells under discussion, to be outlined, bool ``[row, column]``.
        room: What it shares with other pictures.

    Example:
        >>> from tileviz.figures.tokens import LIGHT
        >>> from tileviz.layouts import TileLayout
        >>> grid = logical_grid(TileLayout([(2, 33, "m"), (4, 1, "m")]))
        >>> layout_map(grid, "place", LIGHT).layout.height
        80
    """
    size = map_size(grid, room)
    found = colouring(grid, by)
    traces = [
        *_grounds(grid, found, size, theme),
        *_pointers(grid),
        *_lines(grid, theme),
        *_outlined(marked, theme),
    ]
    return go.Figure({"data": traces, "layout": _frame(grid, size, theme)})


def _frame(grid: Grid, size: MapSize, theme: Theme) -> dict[str, Any]:
    rows, columns = grid.element.shape
    axis = {"showgrid": False, "zeroline": False, "fixedrange": True, "ticks": ""}
    axis |= {"tickfont": {"size": 11, "color": theme.muted}, "tickmode": "array"}
    return {
        "template": None,
        "height": size.height,
        "margin": {"l": size.left, "r": RIGHT, "t": TOP, "b": BOTTOM},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "dragmode": False,
        "font": {"family": '"Source Sans", sans-serif', "size": 12, "color": theme.text},
        "hoverlabel": {
            "bgcolor": theme.page,
            "bordercolor": theme.muted,
            "font": {"size": 12, "color": theme.text},
            "align": "left",
        },
        "xaxis": {
            **axis,
            **_ticks(grid.columns, size.cell[0], across=True),
            "side": "top",
            "range": [-0.5, columns - 0.5],
        },
        "yaxis": {
            **axis,
            **_ticks(grid.rows, size.cell[1], across=False),
            # Unseen ticks keep the labels off the border.
            "ticks": "outside",
            "ticklen": 4,
            "tickcolor": "rgba(0,0,0,0)",
            "range": [rows - 0.5, -0.5],
        },
    }


def _ticks(labels: Sequence[str], pixels: int, *, across: bool) -> dict[str, Any]:
    """Return the labels that have room: every one, every second, every fourth..."""
    need = 6 * max(map(len, labels)) + 4 if across else 12
    step = 1
    while step * pixels < need:
        step *= 2
    return {"tickvals": list(range(0, len(labels), step)), "ticktext": list(labels[::step])}


def _grounds(grid: Grid, found: Colouring, size: MapSize, theme: Theme) -> list[dict[str, Any]]:
    """Return one heat map a colour of ink, and one for idle addresses."""
    palette = getattr(theme, found.palette)
    inks = [theme.ink(colour) for colour in palette]
    gap = 1 if min(size.cell) >= 10 else 0
    text = cell_text(grid) if size.numbered else None
    traces = []
    for ink in dict.fromkeys(inks) if size.numbered else ("",):
        mine = np.array([not ink or one == ink for one in inks])[np.clip(found.classes, 0, None)]
        mask = mine & (found.classes != IDLE)
        if not mask.any():
            continue
        trace = _heatmap(np.where(mask, found.classes, np.nan), palette, gap)
        if text is not None:
            # The text of a cell without a value is drawn all the same, so it must be blank.
            trace |= {"text": np.where(mask, text, ""), "texttemplate": "%{text}"}
            trace["textfont"] = {"size": 11, "color": ink}
        traces.append({**trace, "hoverinfo": "skip"})
    idle = grid.element == IDLE
    if idle.any():
        ground = _heatmap(np.where(idle, 0.0, np.nan), (theme.idle,), gap)
        if size.numbered:
            # A sign tells a gap between addresses from the page beyond the last one.
            ground |= {"text": np.where(idle, "–", ""), "texttemplate": "%{text}"}
            ground["textfont"] = {"size": 11, "color": theme.muted}
        traces.append({**ground, "hoverinfo": "skip"})
    return traces


def _heatmap(classes: NDArray[Any], palette: Sequence[str], gap: int) -> dict[str, Any]:
    count = len(palette)
    scale = [[(index + side) / count, c] for index, c in enumerate(palette) for side in (0, 1)]
    return {
        "type": "heatmap",
        "z": classes.astype(np.float32),
        "zmin": -0.5,
        "zmax": count - 0.5,
        "colorscale": scale,
        "showscale": False,
        "hoverongaps": False,
        "xgap": gap,
        "ygap": gap,
    }


def _pointers(grid: Grid) -> list[dict[str, Any]]:
    """Return unseen heat maps that tell the pointer about each cell: who first, then where."""
    rank, count = len(grid.shape), len(grid.axes)
    other = np.where(grid.other[:, :, None] >= 0, _coordinates(grid, grid.other), 0)
    fields = np.concatenate(
        [grid.coordinate, grid.address, grid.byte[:, :, None], grid.bank[:, :, None], other],
        axis=2,
    )
    fields = np.concatenate([fields, grid.meets[:, :, None], grid.element[:, :, None]], axis=2)
    last = fields.shape[2] - 1
    where = _where(grid, rank)
    who = f"<b>({_list(0, rank)})</b> · element %{{customdata[{last}]}}"
    pair = f"({_list(0, rank)}) and ({_list(rank + count + 2, rank)})"
    meeting = f"<b>{pair} share this address</b><br>%{{customdata[{last - 1}]}} elements in all"
    cases = [
        (grid.meets == 1, who),
        (grid.meets > 1, meeting),
        (grid.element == IDLE, "<b>idle</b>"),
    ]
    return [
        {
            **_heatmap(np.where(mask, 0.0, np.nan), ("rgba(0,0,0,0)",), 0),
            "customdata": fields,
            "hovertemplate": f"{said}<br>{where}<extra></extra>",
        }
        for mask, said in cases
        if mask.any()
    ]


def _coordinates(grid: Grid, element: IntArray) -> IntArray:
    parts = np.unravel_index(np.maximum(element, 0), grid.shape)
    return np.stack(parts, axis=-1).astype(np.int64)


def _where(grid: Grid, first: int) -> str:
    """Return the place of a cell for the hover text; its address starts at field ``first``."""
    if grid.in_memory:
        wide = -(-grid.element_bytes // 4) - 1
        more = f" and the next {wide}" if wide else ""
        places = f"address %{{customdata[{first}]}} · byte %{{customdata[{first + 1}]}}"
        places += f"<br><b>bank %{{customdata[{first + 2}]}}</b>{more}"
    else:
        named = (f"{axis} %{{customdata[{first + at}]}}" for at, axis in enumerate(grid.axes))
        places = " · ".join(named)
    if grid.copies > 1 and grid.kind == "logical":
        places += f"<br>the first of {grid.copies} copies"
    return places


def _list(start: int, count: int) -> str:
    return ", ".join(f"%{{customdata[{start + at}]}}" for at in range(count))


def _lines(grid: Grid, theme: Theme) -> list[dict[str, Any]]:
    """Return the outer border and the thick lines, halo first."""
    rows, columns = grid.element.shape
    top, bottom, left, right = -0.5, rows - 0.5, -0.5, columns - 0.5
    x: list[float | None] = []
    y: list[float | None] = []
    for column in grid.column_lines:
        x += [column - 0.5, column - 0.5, None]
        y += [top, bottom, None]
    for row in grid.row_lines:
        x += [left, right, None]
        y += [row - 0.5, row - 0.5, None]
    border_x = [left, right, right, left, left, None]
    border_y = [top, top, bottom, bottom, top, None]
    inner = [line(x, y, theme.page, 4), line(x, y, theme.strong, 1.5)] if x else []
    return [*inner, line(border_x, border_y, theme.strong, 2)]


def _outlined(marked: NDArray[np.bool_] | None, theme: Theme) -> list[dict[str, Any]]:
    if marked is None or not marked.any():
        return []
    x, y = outline(marked)
    return [line(x, y, theme.page, 6), line(x, y, theme.hot, 3)]


def thumbnail(plan: LayoutPlan) -> str:
    """Return a picture, as HTML, of the resulting layout: its coordinates, coloured by place.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.layout.plan import plan
        >>> print(thumbnail(plan(make_design({"study": "layout", "layout": "S[(2, 32)]"})))[:40])
        <div class="thumb" role="img" aria-label
    """
    layout = plan.operand if plan.result is None else plan.result
    shape = plan.operand_shape if plan.result is None else plan.result_shape
    grid = logical_grid(layout, shape, element_bytes=plan.design.element_bytes)
    if 1 < layout.replicas <= MAX_NUMBERED // layout.size:
        # Copies show only where addresses are looked at.
        grid = physical_grid(layout, shape, element_bytes=plan.design.element_bytes)
    found = colouring(grid, "place")
    palette = "lane" if found.palette == "lanes" else "order"
    by = "coordinate" if grid.kind == "logical" else "address"
    alt = f"{layout} by {by}, coloured by {found.name.lower()}"
    return thumbnail_html([found.classes[:_THUMB_ROWS]], alt, palette)
