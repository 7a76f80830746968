"""One execution of a line's access, lane by lane, and what every execution costs."""

from __future__ import annotations

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
from tileviz.figures.cells import Cells, cell_map
from tileviz.figures.plain import plain_axis, plain_layout
from tileviz.figures.tokens import IDLE, PASS_LABELS, Theme
from tileviz.memory import BANK_BYTES, BANKS, LANES, SECTOR_BYTES, Accesses, bank_load
from tileviz.runners.executions import Executions

Ints = NDArray[np.int64]
_BLOCK = 8
_BORDERS = tuple(range(_BLOCK, LANES, _BLOCK))
_MATRIX_ROW_BYTES = 16
_TIME_HEIGHT = 150


def legend_of(space: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of the legend and the labels of its six classes.

    Example:
        >>> legend_of("shared")[1][0]
        '1 · free'
    """
    if space == "shared":
        return PASSES_LEGEND, PASS_LABELS
    return SECTORS_LEGEND, SECTOR_LABELS


def lane_map(accesses: Accesses, theme: Theme) -> go.Figure:
    """Return lanes down and, across, the banks or sectors that each of them touches.

    Args:
        accesses: One execution.
        theme: Colours.

    Example:
        >>> from tileviz.figures.tokens import LIGHT
        >>> column = Accesses.of(128 * np.arange(32), space="shared", op="ld", bytes=4)
        >>> lane_map(column, LIGHT).layout.height
        567
    """
    cells = _banks(accesses) if accesses.space == "shared" else _sectors(accesses)
    return cell_map(cells, theme)


def _banks(accesses: Accesses) -> Cells:
    width = _MATRIX_ROW_BYTES if "matrix" in accesses.op else accesses.bytes
    words = np.arange(max(width // BANK_BYTES, 1))
    lane = np.repeat(np.flatnonzero(accesses.active[0]), len(words))
    word = (accesses.addresses[0, accesses.active[0], None] // BANK_BYTES + words).ravel()
    bank, row = word % BANKS, word // BANKS
    load = bank_load(accesses)[0]
    classes = _empty()
    classes[lane, bank] = lanes_to_banks(accesses).classes[0, lane]
    text = np.full((LANES, BANKS), "", dtype="U12")
    text[lane, bank] = row.astype(str)
    fields = np.zeros((LANES, BANKS, 5), dtype=np.int64)
    fields[lane, bank] = np.stack([lane, bank, word * BANK_BYTES, row, load[lane]], axis=1)
    hover = (
        "<b>lane %{customdata[0]}, bank %{customdata[1]}</b><br>byte %{customdata[2]}, "
        "row %{customdata[3]} of 128 bytes<br>passes this bank needs: %{customdata[4]}"
    )
    return Cells(classes, text, _lanes(), fields, hover, _BORDERS, name="lane_banks")


def _sectors(accesses: Accesses) -> Cells:
    view = lanes_to_sectors(accesses)
    lane = np.flatnonzero(accesses.active[0])
    rank = view.text[0, lane].astype(np.int64)
    byte = accesses.addresses[0, lane]
    classes = _empty()
    classes[lane, rank] = view.classes[0, lane]
    text = np.full((LANES, LANES), "", dtype="U12")
    text[lane, rank] = (byte % SECTOR_BYTES).astype(str)
    fields = np.zeros((LANES, LANES, 4), dtype=np.int64)
    used = view.fields[0, lane, -1]
    fields[lane, rank] = np.stack([lane, byte, byte // SECTOR_BYTES, used], axis=1)
    hover = (
        "<b>lane %{customdata[0]}, sector %{customdata[2]}</b><br>byte %{customdata[1]}<br>"
        "bytes used of this sector: %{customdata[3]} of 32"
    )
    return Cells(classes, text, _lanes(), fields, hover, _BORDERS, name="lane_sectors")


def _empty() -> NDArray[np.int8]:
    return np.full((LANES, LANES), IDLE, dtype=np.int8)


def _lanes() -> tuple[str, ...]:
    return tuple(map(str, range(LANES)))


def map_key(accesses: Accesses) -> str:
    """Return what rows, columns and cells of a map are.

    Example:
        >>> map_key(Accesses.of(4 * np.arange(32), space="global", op="ld", bytes=4))
        'down: lanes, across: its sectors by address, cells: first byte in the sector'
    """
    if accesses.space == "shared":
        return "down: lanes, across: banks, cells: row of 128 bytes"
    return "down: lanes, across: its sectors by address, cells: first byte in the sector"


def describe(accesses: Accesses, cost: int, ideal: int) -> str:
    """Return a map in words, for people who cannot see it."""
    lanes = int(accesses.active.sum())
    what, paid = ("banks", "wavefront") if accesses.space == "shared" else ("sectors", "sector")
    classes = (_banks if accesses.space == "shared" else _sectors)(accesses).classes
    columns = int((classes != IDLE).any(axis=0).sum())
    return (
        f"{lanes} lanes touch {columns} {what[:-1] if columns == 1 else what}: "
        f"{cost} {paid}{'s' * (cost != 1)}, ideal {ideal}."
    )


def cost_bars(sample: Executions, shown: int, theme: Theme) -> go.Figure:
    """Return a bar for each kept execution: what it costs; the one that is shown stands out.

    Args:
        sample: Kept executions.
        shown: The stop that is shown.
        theme: Colours.
    """
    colours = np.where(np.arange(sample.stops) == shown, theme.hot, theme.bar).tolist()
    unit = "wavefronts" if sample.space == "shared" else "sectors"
    bars: dict[str, Any] = {
        "type": "bar",
        "x": np.arange(sample.stops),
        "y": sample.cost,
        "marker": {"color": colours, "line": {"width": 0}},
        "customdata": np.stack([sample.number + 1, sample.ideal], axis=1),
        "hovertemplate": "execution %{customdata[0]}<br>"
        f"%{{y}} {unit}, ideal %{{customdata[1]}}<extra></extra>",
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }
    ideal: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "x": np.arange(-1, sample.stops + 1),
        "y": np.concatenate([sample.ideal[:1], sample.ideal, sample.ideal[-1:]]),
        "line": {"color": theme.strong, "width": 1.5, "dash": "dot", "shape": "hvh"},
        "hoverinfo": "skip",
    }
    layout = plain_layout(theme, _TIME_HEIGHT, {"l": 34, "r": 16, "t": 6, "b": 24})
    ends = [0, sample.stops - 1] if sample.stops > 1 else [0]
    top = int(max(sample.cost.max(initial=1), sample.ideal.max(initial=1)))
    layout |= {
        "bargap": 0.15 if sample.stops <= 64 else 0,
        "clickmode": "event+select",
        "xaxis": plain_axis(
            theme,
            range=[-0.5, sample.stops - 0.5],
            tickvals=ends,
            ticktext=[f"{int(sample.number[at]) + 1:,}" for at in ends],
        ),
        "yaxis": plain_axis(theme, range=[0, top * 1.06], tickvals=[0, top]),
    }
    return go.Figure({"data": [bars, ideal], "layout": layout})
