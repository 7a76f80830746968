"""One warp instruction on its tile: which cells it wants, and what each of them costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from tileviz.figures.access_views import (
    PASSES_LEGEND,
    SECTOR_LABELS,
    SECTORS_LEGEND,
    lanes_to_banks,
    lanes_to_sectors,
)
from tileviz.figures.outline import outline
from tileviz.figures.plain import line
from tileviz.figures.tokens import IDLE, PASS_LABELS, Theme
from tileviz.memory import BANK_BYTES, BANKS, LANES, SECTOR_BYTES, bank_load
from tileviz.studies.access.shown import Instruction
from tileviz.studies.access.window import SIDE, Window

Ints = NDArray[np.int64]
CELL = 18
_LEFT, _TOP, _EDGE = 30, 20, 3
# Wide enough for 32 cells with their labels: tile and strips line up.
MAP_WIDTH = SIDE * CELL + _LEFT + _EDGE
_BLOCK = 8
_THUMB_ROWS = 16


def legend_of(shown: Instruction) -> tuple[str, tuple[str, ...]]:
    """Return the name of the legend and the labels of its six classes."""
    if shown.verdict.banks is None:
        return SECTORS_LEGEND, SECTOR_LABELS
    return PASSES_LEGEND, PASS_LABELS


def lane_classes(shown: Instruction) -> NDArray[np.int8]:
    """Return the class of each lane: passes of its bank, or waste of its sector; int8 ``[lane]``.

    Example:
        >>> from tileviz.studies.access.shown import instruction, sweeps
        >>> from tileviz.studies.registry import preset
        >>> design = preset("banks-transpose-32x32").design
        >>> lane_classes(instruction(design, sweeps(design)[0], 0))[:3].tolist()
        [5, 5, 5]
    """
    view = lanes_to_banks if shown.verdict.banks is not None else lanes_to_sectors
    classes: NDArray[np.int8] = view(shown.accesses).classes[0]
    return np.where(shown.active, classes, np.int8(IDLE))


# -- the tile ------------------------------------------------------------------------------------


def tile_classes(part: Window, shown: Instruction) -> NDArray[np.int8]:
    """Return the class of each cell of a window, ``IDLE`` where no lane comes."""
    by_lane = lane_classes(shown)
    return np.where(part.lane >= 0, by_lane[np.maximum(part.lane, 0)], np.int8(IDLE))


def tile_map(
    part: Window, shown: Instruction, theme: Theme, explained: tuple[int, int] | None = None
) -> go.Figure:
    """Return the tile with the cells of an instruction in colour, framed.

    Args:
        part: The part of the tile that is shown.
        shown: The instruction.
        theme: Colours.
        explained: Row and column, on the picture, of the cell that is explained; None for none.

    Example:
        >>> from tileviz.figures.tokens import LIGHT
        >>> from tileviz.studies.access.shown import instruction, sweeps
        >>> from tileviz.studies.access.window import window
        >>> from tileviz.studies.registry import preset
        >>> design = preset("banks-transpose-32x32").design
        >>> found = instruction(design, sweeps(design)[0], 0)
        >>> figure = tile_map(window(design, found), found, LIGHT)
        >>> figure.layout.width, figure.layout.height
        (609, 599)
    """
    classes = tile_classes(part, shown)
    rows, columns = classes.shape
    traces = [*_grounds(part, shown, classes, theme), *_grid_lines(rows, columns, theme)]
    x, y = outline(part.lane >= 0)
    traces += [line(x, y, theme.page, 5), line(x, y, theme.hot, 3)] if x else []
    if explained is not None:
        at = np.zeros_like(part.lane, dtype=bool)
        at[explained] = True
        x, y = outline(at)
        traces += [line(x, y, theme.page, 6), line(x, y, theme.strong, 2.5)]
    traces.append(_pointers(part, shown, classes))
    return go.Figure({"data": traces, "layout": _frame(part, theme)})


def _grounds(
    part: Window, shown: Instruction, classes: NDArray[np.int8], theme: Theme
) -> list[dict[str, Any]]:
    """Return one heat map a colour of ink, and one for cells outside the access."""
    there = part.element >= 0
    numbers = _cell_text(part, shown)
    traces = []
    for ink in dict.fromkeys(theme.inks):
        mine = np.array([one == ink for one in theme.inks])[np.clip(classes, 0, None)]
        mask = mine & (classes != IDLE)
        if mask.any():
            traces.append(_heatmap(mask, classes, theme.passes, numbers, ink))
    mask = there & (classes == IDLE)
    if mask.any():
        ground = (theme.idle,) * len(theme.passes)
        traces.append(_heatmap(mask, np.zeros_like(classes), ground, numbers, theme.muted))
    return traces


def _cell_text(part: Window, shown: Instruction) -> NDArray[np.str_]:
    if shown.verdict.banks is None:
        # Sector numbers are long; who comes is what matters.
        return np.where(part.lane >= 0, part.lane.astype(str), "")
    return (part.byte // BANK_BYTES % BANKS).astype(str)


def _heatmap(
    mask: NDArray[np.bool_],
    classes: NDArray[np.int8],
    palette: Sequence[str],
    text: NDArray[np.str_],
    ink: str,
) -> dict[str, Any]:
    count = len(palette)
    scale = [[(index + side) / count, c] for index, c in enumerate(palette) for side in (0, 1)]
    return {
        "type": "heatmap",
        "z": np.where(mask, classes, np.nan).astype(np.float32),
        "zmin": -0.5,
        "zmax": count - 0.5,
        "colorscale": scale,
        "showscale": False,
        "hoverinfo": "skip",
        "xgap": 1,
        "ygap": 1,
        # The text of a cell without a value is drawn all the same, so it must be blank.
        "text": np.where(mask, text, ""),
        "texttemplate": "%{text}",
        "textfont": {"size": 11, "color": ink},
    }


def _grid_lines(rows: int, columns: int, theme: Theme) -> list[dict[str, Any]]:
    """Return the border, and lines every eight cells."""
    top, bottom, left, right = -0.5, rows - 0.5, -0.5, columns - 0.5
    x: list[float | None] = []
    y: list[float | None] = []
    for column in range(_BLOCK, columns, _BLOCK):
        x += [column - 0.5, column - 0.5, None]
        y += [top, bottom, None]
    for row in range(_BLOCK, rows, _BLOCK):
        x += [left, right, None]
        y += [row - 0.5, row - 0.5, None]
    border = [left, right, right, left, left], [top, top, bottom, bottom, top]
    inner = [line(x, y, theme.muted, 1)] if x else []
    return [*inner, line([*border[0]], [*border[1]], theme.strong, 1.5)]


def _pointers(part: Window, shown: Instruction, classes: NDArray[np.int8]) -> dict[str, Any]:
    """Return unseen markers that answer to the pointer: heat maps report no selection."""
    there = part.element >= 0
    y, x = np.nonzero(there)
    lane = part.lane[there]
    cost = np.zeros(LANES, dtype=np.int64)
    if shown.verdict.banks is not None:
        cost = bank_load(shown.accesses)[0]
    row, column = np.divmod(part.element[there], max(part.shape[1], 1))
    byte = part.byte[there]
    fields = np.stack([row, column, byte, byte // BANK_BYTES % BANKS, byte // SECTOR_BYTES], axis=1)
    where = "row %{customdata[0]}, column %{customdata[1]}<br>byte %{customdata[2]} · "
    banks = shown.verdict.banks is not None
    where += "<b>bank %{customdata[3]}</b>" if banks else "<b>sector %{customdata[4]}</b>"
    who = np.where(
        lane >= 0, np.char.add("<b>lane ", np.char.add(lane.astype(str), "</b><br>")), ""
    )
    ends = np.where(lane >= 0, _cost_text(shown, cost, lane), "")
    more = part.lanes[there] - 1
    others = np.where(more > 0, np.char.add(" and ", np.char.add(more.astype(str), " more")), "")
    who = np.where(lane >= 0, np.char.replace(who, "</b>", np.char.add(others, "</b>")), who)
    template = np.char.add(np.char.add(who, where), ends)
    unseen = {"marker": {"opacity": 0}}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "marker": {"symbol": "square", "size": CELL - 2, "opacity": 0},
        "selected": unseen,
        "unselected": unseen,
        "customdata": fields,
        "hovertemplate": np.char.add(template, "<extra></extra>"),
        "cliponaxis": False,
    }


def _cost_text(shown: Instruction, cost: Ints, lane: Ints) -> NDArray[np.str_]:
    if shown.verdict.banks is None:
        return np.full(lane.shape, "")
    return np.char.add("<br>passes this bank needs: ", cost[np.maximum(lane, 0)].astype(str))


def _frame(part: Window, theme: Theme) -> dict[str, Any]:
    rows, columns = part.element.shape
    axis = {"showgrid": False, "zeroline": False, "fixedrange": True, "tickmode": "array"}
    axis |= {"tickfont": {"size": 11, "color": theme.muted}}
    across = part.column + part.per_cell * np.arange(columns)
    step = 1
    while step * CELL < 6 * len(str(int(across[-1]))) + 5:
        step *= 2
    return {
        "template": None,
        "width": columns * CELL + _LEFT + _EDGE,
        "height": rows * CELL + _TOP + _EDGE,
        "margin": {"l": _LEFT, "r": _EDGE, "t": _TOP, "b": _EDGE},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": theme.page,
        "showlegend": False,
        "dragmode": False,
        "clickmode": "event+select",
        "font": {"family": '"Source Sans", sans-serif', "size": 12, "color": theme.text},
        "hoverlabel": {
            "bgcolor": theme.page,
            "bordercolor": theme.muted,
            "font": {"size": 12, "color": theme.text},
            "align": "left",
        },
        "xaxis": {
            **axis,
            "side": "top",
            "ticks": "",
            "range": [-0.5, columns - 0.5],
            "tickvals": list(range(0, columns, step)),
            "ticktext": [str(int(at)) for at in across[::step]],
        },
        "yaxis": {
            **axis,
            # Unseen ticks keep the labels off the border.
            "ticks": "outside",
            "ticklen": 4,
            "tickcolor": "rgba(0,0,0,0)",
            "range": [rows - 0.5, -0.5],
            "tickvals": list(range(rows)),
            "ticktext": [str(part.row + at) for at in range(rows)],
        },
    }


def describe_tile(part: Window, shown: Instruction) -> str:
    """Return the picture in words, for people who cannot see it."""
    rows, columns = part.element.shape
    lanes = int(shown.active.sum()) - part.outside
    return (
        f"Tile: {rows} rows by {columns} cells of {part.per_cell} elements, from row {part.row}, "
        f"column {part.column}. {lanes} lanes touch {int((part.lane >= 0).sum())} cells."
    )
