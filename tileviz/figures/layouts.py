"""Pictures of layouts: each coordinate with its address, each address with its element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from tileviz.figures.outline import outline
from tileviz.figures.thumbnail import thumbnail_html
from tileviz.figures.tokens import IDLE, Theme
from tileviz.layouts import IntArray
from tileviz.studies.layout.forms import Facts
from tileviz.studies.layout.grid import MAX_NUMBERED, Grid, logical_grid
from tileviz.studies.layout.plan import LayoutPlan

ColourBy = Literal["place", "row"]
Palette = Literal["order", "lanes"]

CLASSES = 8
_CHUNK_BYTES = 16
# As wide as the page at 1280 pixels allows.
_WIDEST = 960
_NUMBERED_COLUMNS, _PLAIN_COLUMNS = 32, 128
_MOST_TEXT_CELLS = 4096
_THUMB_ROWS, _FOLD = 16, 32
_TOP, _RIGHT, _BOTTOM = 17, 3, 3


@dataclass(frozen=True, eq=False)
class Colouring:
    """The class of each cell, and what the classes mean.

    Attributes:
        classes: 0 to 7, ``IDLE`` where no element lives, int8 ``[row, column]``.
        palette: Which of a theme's colours.
        name: What the colours mean.
        labels: What each class means.
    """

    classes: NDArray[np.int8]
    palette: Palette
    name: str
    labels: tuple[str, ...]


def colouring(grid: Grid, by: ColourBy) -> Colouring:
    """Return a picture's colours; one element has the same colour in every picture.

    Args:
        grid: The picture.
        by: ``place``: where the element lives (its banks, four by four; or its lane). ``row``: the
            row of the logical tile that it belongs to.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> grid = logical_grid(TileLayout([(2, 33, "m"), (8, 1, "m")]))
        >>> found = colouring(grid, "place")
        >>> found.classes[1].tolist(), found.name, found.labels[1]
        ([0, 0, 0, 1, 1, 1, 1, 2], 'Banks', '4–7')
    """
    palette: Palette = "order"
    labels = tuple(map(str, range(CLASSES)))
    if by == "row":
        inner = grid.shape[-1] if len(grid.shape) > 1 else _FOLD
        numbers = grid.element // inner
        name = "Logical row, mod 8" if len(grid.shape) > 1 else f"Element ÷ {_FOLD}, mod 8"
    elif grid.in_memory:
        numbers = grid.byte // _CHUNK_BYTES
        name = "Banks"
        labels = tuple(f"{4 * index}–{4 * index + 3}" for index in range(CLASSES))
    else:
        numbers = grid.address[:, :, 0]
        name, palette = f"{grid.axes[0]}, mod 8", "lanes"
    classes = np.where(grid.element >= 0, numbers % CLASSES, IDLE).astype(np.int8)
    return Colouring(classes, palette, name, labels)


def most_columns(facts: Facts) -> int:
    """Return how many columns a layout's logical picture has at most, so that its numbers fit.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> from tileviz.studies.layout.forms import facts_of
        >>> most_columns(facts_of(TileLayout([(32, 1 << 20, "m"), (32, 1, "m")])))
        18
    """
    if facts.size > MAX_NUMBERED:
        return _PLAIN_COLUMNS
    digits = [max(len(str(low)), len(str(high))) for _, low, high in facts.reach]
    return max(min(_NUMBERED_COLUMNS, _WIDEST // _cell_width(sum(digits) + len(digits) - 1)), 1)


def most_physical_columns(facts: Facts) -> int:
    """Return how many columns a layout's physical picture has at most.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> from tileviz.studies.layout.forms import facts_of
        >>> most_physical_columns(facts_of(TileLayout([(4096, 1, "m")])))
        128
    """
    return _PLAIN_COLUMNS if facts.size > MAX_NUMBERED else _NUMBERED_COLUMNS


def _cell_width(characters: int) -> int:
    """Return the width of a cell for a text of 11 pixels: digits are 6 wide."""
    return max(18, 6 * characters + 3)


@dataclass(frozen=True)
class MapSize:
    """Pixels of a picture.

    Attributes:
        cell: Width and height of a cell.
        left: Room for the row labels.
        width: Of the whole picture; likewise ``height``.
        numbered: Whether cells hold numbers.
    """

    cell: tuple[int, int]
    left: int
    width: int
    height: int
    numbered: bool


def label_room(grid: Grid) -> int:
    """Return the pixels that a picture's row labels need."""
    return 12 + 6 * max(len(label) for label in grid.rows)


def map_size(grid: Grid, left: int = 0) -> MapSize:
    """Return the size of a picture: square cells where the numbers allow it.

    Args:
        grid: The picture.
        left: Room for row labels, at least; so that pictures below each other line up.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> size = map_size(logical_grid(TileLayout([(4, 32, "m"), (32, 1, "m")])))
        >>> size.cell, size.numbered
        ((21, 21), True)
    """
    rows, columns = grid.element.shape
    live = int((grid.element >= 0).sum())
    longest = int(np.char.str_len(cell_text(grid)).max(initial=1))
    wide = _cell_width(longest)
    fits = columns * wide <= _WIDEST and grid.element.size <= _MOST_TEXT_CELLS
    numbered = live <= MAX_NUMBERED and fits
    if numbered:
        wide = max(wide, 30 if columns <= 8 else 26 if columns <= 16 else 0)
        cell = (wide, min(wide, 30 if rows <= 8 else 22))
    else:
        side = min(max(_WIDEST // columns, 7), 18, max(900 // rows, 7))
        cell = (side, side)
    left = max(left, label_room(grid))
    width = left + columns * cell[0] + _RIGHT
    return MapSize(cell, left, width, rows * cell[1] + _TOP + _BOTTOM, numbered)


def cell_text(grid: Grid) -> NDArray[np.str_]:
    """Return what each cell says: its address, or (physical) its element or how many meet.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> cell_text(logical_grid(TileLayout([(2, 4, "laneid"), (2, 1, "m")]))).tolist()
        [['0·0', '0·1'], ['4·0', '4·1']]
    """
    if grid.kind == "physical":
        many = np.char.add(grid.meets.astype(str), "×")
        text = np.where(grid.meets > 1, many, grid.element.astype(str))
    else:
        text = grid.address[:, :, 0].astype(str)
        for at in range(1, len(grid.axes)):
            text = np.char.add(np.char.add(text, "·"), grid.address[:, :, at].astype(str))
    return np.where(grid.element >= 0, text, "")


def layout_map(
    grid: Grid,
    by: ColourBy,
    theme: Theme,
    marked: NDArray[np.bool_] | None = None,
    left: int = 0,
) -> go.Figure:
    """Return a picture of a layout.

    Args:
        grid: The cells.
        by: What colours mean.
        theme: Colours.
        marked: Cells under discussion, to be outlined, bool ``[row, column]``.
        left: Room for row labels, at least.

    Example:
        >>> from tileviz.figures.tokens import LIGHT
        >>> from tileviz.layouts import TileLayout
        >>> grid = logical_grid(TileLayout([(2, 33, "m"), (4, 1, "m")]))
        >>> layout_map(grid, "place", LIGHT).layout.height
        80
    """
    size = map_size(grid, left)
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
        "margin": {"l": size.left, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
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
    inner = [_line(x, y, theme.page, 4), _line(x, y, theme.strong, 1.5)] if x else []
    return [*inner, _line(border_x, border_y, theme.strong, 2)]


def _outlined(marked: NDArray[np.bool_] | None, theme: Theme) -> list[dict[str, Any]]:
    if marked is None or not marked.any():
        return []
    x, y = outline(marked)
    return [_line(x, y, theme.page, 6), _line(x, y, theme.hot, 3)]


def _line(
    x: Sequence[float | None], y: Sequence[float | None], colour: str, width: float
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(x),
        "y": list(y),
        "line": {"color": colour, "width": width},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def cells_key(grid: Grid) -> str:
    """Return what rows, columns and numbers are, in a few words.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> cells_key(logical_grid(TileLayout([(2, 4, "laneid"), (2, 1, "m")])))
        'rows: dim 0, columns: dim 1, cells: laneid·m'
    """
    if not map_size(grid).numbered:
        return grid.note
    held = "element" if grid.kind == "physical" else "·".join(grid.axes)
    return f"{grid.note}, cells: {'address' if held == 'm' else held}"


def describe(grid: Grid, facts: Facts) -> str:
    """Return a sentence for people who cannot see the picture.

    Example:
        >>> from tileviz.layouts import TileLayout
        >>> from tileviz.studies.layout.forms import facts_of
        >>> padded = TileLayout([(4, 33, "m"), (32, 1, "m")])
        >>> print(describe(logical_grid(padded), facts_of(padded)))
        Logical picture: 4 rows by 32 columns, each cell an element with its address.
        128 elements at addresses 0 to 130, 3 of them idle.
    """
    rows, columns = grid.element.shape
    held = "an element with its address" if grid.kind == "logical" else "an address, its element"
    elements = f"{facts.size} element{'s' * (facts.size != 1)}"
    shared = f" {facts.collision}." if facts.collision is not None else ""
    cut = f" {grid.left_out} are not drawn." if grid.left_out else ""
    return (
        f"{grid.kind.capitalize()} picture: {rows} row{'s' * (rows != 1)} by {columns} "
        f"column{'s' * (columns != 1)}, each cell {held}. "
        f"{elements} at {facts.addresses}.{shared}{cut}"
    )


def thumbnail(plan: LayoutPlan) -> str:
    """Return a picture, as HTML, of the resulting layout's coordinates, coloured by place.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.layout.plan import plan
        >>> print(thumbnail(plan(make_design({"study": "layout", "layout": "S[(2, 32)]"})))[:40])
        <div class="thumb" role="img" aria-label
    """
    layout = plan.operand if plan.result is None else plan.result
    shape = plan.operand_shape if plan.result is None else plan.result_shape
    grid = logical_grid(layout, shape, element_bytes=plan.design.element_bytes)
    found = colouring(grid, "place")
    palette = "lane" if found.palette == "lanes" else "order"
    alt = f"{layout} by coordinate, coloured by {found.name.lower()}"
    return thumbnail_html([found.classes[:_THUMB_ROWS]], alt, palette)
