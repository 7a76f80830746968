"""Pictures of one warp instruction: its cells in the tile, and what the memory makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from tileviz.figures.cells import MARGIN, Cells, cell_map, row_height
from tileviz.figures.outline import outline
from tileviz.figures.thumbnail import thumbnail_html
from tileviz.figures.tokens import IDLE, PASS_LABELS, Theme, pass_classes
from tileviz.memory import BANK_BYTES, BANKS, LANES, LINE_BYTES, SECTOR_BYTES, bank_load
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
    traces += [_line(x, y, theme.page, 5), _line(x, y, theme.hot, 3)] if x else []
    if explained is not None:
        at = np.zeros_like(part.lane, dtype=bool)
        at[explained] = True
        x, y = outline(at)
        traces += [_line(x, y, theme.page, 6), _line(x, y, theme.strong, 2.5)]
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
    inner = [_line(x, y, theme.muted, 1)] if x else []
    return [*inner, _line([*border[0]], [*border[1]], theme.strong, 1.5)]


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


# -- what the memory makes of it -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Served:
    """Which lane each bank serves, pass by pass.

    Attributes:
        lane: The first lane served, -1 for an idle bank, int64 ``[wavefront, bank]``.
        shared: Whether more lanes are served by the same word, likewise.
        group: The group of lanes of each wavefront, int64 ``[wavefront]``.
        asked: Words asked of each bank, int64 ``[group, bank]``.
    """

    lane: Ints
    shared: NDArray[np.bool_]
    group: Ints
    asked: Ints


def served(shown: Instruction) -> Served:
    """Return which lane each bank serves in each wavefront, first come, first served.

    How hardware orders lanes within a group is not known; how many wavefronts it takes, is.

    Example:
        >>> from tileviz.studies.access.shown import instruction, sweeps
        >>> from tileviz.studies.registry import preset
        >>> design = preset("banks-transpose-32x32").design
        >>> found = served(instruction(design, sweeps(design)[0], 0))
        >>> found.lane.shape, found.lane[:3, 0].tolist(), found.asked[0, :2].tolist()
        ((32, 32), [0, 1, 2], [32, 0])
    """
    width = 16 if "matrix" in shown.accesses.op else shown.accesses.bytes
    groups = LANES // shown.group_size
    each = np.arange(max(width // BANK_BYTES, 1))
    lane = np.repeat(np.flatnonzero(shown.active), len(each))
    word = (shown.accesses.addresses[0, shown.active, None] // BANK_BYTES + each).ravel()
    merges = not shown.accesses.op.startswith(("ldgsts", "atom"))
    what = word if merges else np.arange(len(word))
    slot = lane // shown.group_size * BANKS + word % BANKS
    # One request for each distinct word of a group; the first lane stands for it.
    pairs = np.stack([slot, what])
    _, first, many = np.unique(pairs, axis=1, return_index=True, return_counts=True)
    order = np.lexsort((lane[first], slot[first]))
    first, many = first[order], many[order]
    slots = slot[first]
    asked = np.bincount(slots, minlength=groups * BANKS).reshape(groups, BANKS)
    turn = np.arange(len(slots)) - np.searchsorted(slots, slots)
    high = asked.max(axis=1)
    start = np.concatenate([[0], np.cumsum(high)])
    rows = start[slots // BANKS] + turn
    table = np.full((int(start[-1]), BANKS), -1, dtype=np.int64)
    table[rows, slots % BANKS] = lane[first]
    several = np.zeros(table.shape, dtype=bool)
    several[rows, slots % BANKS] = many > 1
    return Served(table, several, np.repeat(np.arange(groups), high), asked)


def bank_strip(shown: Instruction, theme: Theme) -> go.Figure:
    """Return banks across, a row for each group of lanes: words asked of each bank."""
    found = served(shown)
    active = found.asked.any(axis=1)
    asked = found.asked[active]
    groups = np.flatnonzero(active)
    fields = np.stack(
        [
            np.broadcast_to(np.arange(BANKS), asked.shape),
            np.broadcast_to(groups[:, None], asked.shape),
            asked,
        ],
        axis=2,
    )
    size = shown.group_size
    hover = "<b>bank %{customdata[0]}, group %{customdata[1]}</b><br>"
    hover += f"words asked by its {size} lanes: %{{customdata[2]}}"
    labels = tuple("all" if size == LANES else f"g{group}" for group in groups.tolist())
    return _strip(pass_classes(asked), asked.astype(str), labels, fields, hover, theme, ())


def lane_strip(shown: Instruction, theme: Theme) -> go.Figure:
    """Return lanes across, the bank of each, a thick line between groups."""
    view = lanes_to_banks(shown.accesses)
    size = shown.group_size
    borders = tuple(range(size, LANES, size))
    hover = view.hover.replace(", register %{customdata[1]}", "")
    return _strip(view.classes, view.text, ("lane",), view.fields, hover, theme, borders)


def wavefront_map(shown: Instruction, theme: Theme) -> go.Figure:
    """Return banks across, a row for each wavefront: the lane that each bank serves."""
    found = served(shown)
    asked = np.where(found.lane >= 0, found.asked[found.group], 0)
    text = np.where(found.shared, np.char.add(found.lane.astype(str), "+"), found.lane.astype(str))
    rows = np.arange(len(found.group))[:, None]
    fields = np.stack(
        [
            np.broadcast_to(np.arange(BANKS), asked.shape),
            np.broadcast_to(rows + 1, asked.shape),
            np.maximum(found.lane, 0),
            asked,
        ],
        axis=2,
    )
    hover = "<b>lane %{customdata[2]}</b>, wavefront %{customdata[1]}<br>"
    hover += "<b>bank %{customdata[0]}</b>, which needs %{customdata[3]} passes"
    labels = tuple(str(row + 1) for row in range(len(found.group)))
    return _strip(pass_classes(asked), text, labels, fields, hover, theme, ())


def line_map(shown: Instruction, theme: Theme) -> go.Figure:
    """Return the lines that move, a row each: a cell a word, the lane in it, idle sectors blank.

    Example:
        >>> from tileviz.figures.tokens import LIGHT
        >>> from tileviz.studies.access.shown import instruction, sweeps
        >>> from tileviz.studies.design import validated
        >>> from tileviz.studies.access.design import AccessDesign
        >>> design = validated(AccessDesign, {"space": "global", "addresses": [0, 4, 256]})
        >>> line_map(instruction(design, sweeps(design)[0], 0), LIGHT).layout.height
        69
    """
    accesses = shown.accesses
    each = np.arange(max(accesses.bytes // BANK_BYTES, 1))
    lane = np.repeat(np.flatnonzero(shown.active), len(each))
    word = (accesses.addresses[0, shown.active, None] // BANK_BYTES + each).ravel()
    wide = LINE_BYTES // BANK_BYTES
    lines, row = np.unique(word // wide, return_inverse=True)
    shape = (len(lines), wide)
    cell = row.reshape(-1) * wide + word % wide
    lowest = np.full(len(lines) * wide, LANES)
    np.minimum.at(lowest, cell, lane)
    users = np.bincount(cell, minlength=lowest.size).reshape(shape)
    first = lowest.reshape(shape)
    per_lane = lanes_to_sectors(accesses).classes[0]
    per_sector = np.full((len(lines), LINE_BYTES // SECTOR_BYTES), IDLE, dtype=np.int8)
    per_sector[row.reshape(-1), word % wide * BANK_BYTES // SECTOR_BYTES] = per_lane[lane]
    classes = np.repeat(per_sector, SECTOR_BYTES // BANK_BYTES, axis=1)
    one = np.where(first < LANES, first.astype(str), "")
    text = np.where(users > 1, np.char.add(one, "+"), one)
    byte = lines[:, None] * LINE_BYTES + np.arange(wide) * BANK_BYTES
    fields = np.stack([byte, byte // SECTOR_BYTES, users], axis=2)
    hover = "byte %{customdata[0]} · <b>sector %{customdata[1]}</b><br>"
    hover += "lanes that use this word: %{customdata[2]}"
    labels = tuple(f"L{at}" for at in range(len(lines)))
    return _strip(classes, text, labels, fields, hover, theme)


def _strip(
    classes: NDArray[np.int8],
    text: NDArray[np.str_],
    labels: tuple[str, ...],
    fields: Ints,
    hover: str,
    theme: Theme,
    borders: tuple[int, ...] = tuple(range(_BLOCK, LANES, _BLOCK)),
) -> go.Figure:
    return cell_map(Cells(classes, text, labels, fields, hover, borders), theme)


def strip_height(rows: int) -> int:
    """Return the height of a strip in pixels."""
    return rows * row_height(rows) + MARGIN["t"] + MARGIN["b"]


def thumbnail(before: Instruction, after: Instruction | None = None) -> str:
    """Return small strips, as HTML: wavefronts before, and after where there is another.

    Example:
        >>> from tileviz.studies.access.shown import instruction, sweeps
        >>> from tileviz.studies.registry import preset
        >>> design = preset("banks-padding-33").design
        >>> thumbnail(instruction(design, sweeps(design)[0], 0))[:28]
        '<div class="thumb" role="img'
    """
    parts = [_small(before)]
    alt = _said(before)
    if after is not None:
        parts.append(_small(after))
        alt = f"{alt} above, {_said(after)} below"
    return thumbnail_html(parts, alt)


def _small(shown: Instruction) -> NDArray[np.int8]:
    if shown.verdict.banks is None:
        return lane_classes(shown)[None]
    found = served(shown)
    asked = np.where(found.lane >= 0, found.asked[found.group], 0)
    return pass_classes(asked)[:_THUMB_ROWS]


def _said(shown: Instruction) -> str:
    unit = "sector" if shown.verdict.banks is None else "wavefront"
    return f"{shown.verdict.cost} {unit}{'s' * (shown.verdict.cost != 1)}"
