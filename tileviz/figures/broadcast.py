"""Thread to element: one warp of a block, step by step, and which loads it repeats."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from tileviz.figures.cells import Cells, cell_map, worst_cells
from tileviz.figures.thumbnail import thumbnail_html
from tileviz.figures.tokens import IDLE, Theme
from tileviz.studies.broadcast.picture import NOTHING, Picture

LANES = 32
# More steps repeat what four show.
STEPS = 4
# What a cell is, from cheap to dear, and the class of passes whose colour it takes.
STATES = ("in a register", "loaded", "loaded again")
CLASSES = (0, 2, 4)
# A cell has room for five digits at 1280 pixels.
_MOST_DIGITS = 5
_THUMB_COLUMNS, _ORDER_STEPS = 64, 8


def warps(picture: Picture) -> int:
    """Return how many warps the block has."""
    return -(-picture.threads[0] * picture.threads[1] // LANES)


def warp_states(picture: Picture, warp: int) -> NDArray[np.int8]:
    """Return the class of every cell that is drawn of a warp, int8 ``[step, lane]``."""
    return states(picture)[:STEPS, warp * LANES : (warp + 1) * LANES]


def states(picture: Picture) -> NDArray[np.int8]:
    """Return the class of every cell of the block, int8 ``[step, thread]``.

    Example:
        >>> import numpy as np
        >>> element, values = np.array([[0, 1], [2, -1]]), np.zeros((2, 2, 1), np.int64)
        >>> loads, again = element >= 0, np.array([[False, False], [True, False]])
        >>> one = Picture("before", (0, 0), (2, 1), 2, 1, element, "b", values, loads, again)
        >>> states(one).tolist()
        [[2, 2], [4, -1]]
    """
    found = np.where(picture.loads, CLASSES[1], CLASSES[0])
    found = np.where(picture.repeated, CLASSES[2], found)
    classes: NDArray[np.int8] = np.where(picture.element == NOTHING, IDLE, found).astype(np.int8)
    return classes


def warp_map(picture: Picture, warp: int, theme: Theme) -> go.Figure:
    """Return one warp of a block: lanes across, steps down, the operand's element in each cell.

    Args:
        picture: The block.
        warp: Which warp, 0-based.
        theme: Colours.
    """
    shown = (slice(STEPS), slice(warp * LANES, (warp + 1) * LANES))
    classes = warp_states(picture, warp)
    values = picture.values[shown]
    steps, lanes = classes.shape
    thread = np.broadcast_to(np.arange(lanes) + warp * LANES, classes.shape)
    step = np.broadcast_to(np.arange(steps)[:, None], classes.shape)
    element = picture.element[shown]
    loads, again = picture.loads[shown], picture.repeated[shown]
    fields = [thread, step, element, element + picture.width - 1, values[..., 0], values[..., -1]]
    text = values[..., 0].astype(str)
    if int(np.char.str_len(text).max(initial=0)) > _MOST_DIGITS:
        text = np.full(text.shape, "")
    return cell_map(
        Cells(
            classes=classes,
            text=text,
            rows=tuple(f"k{number}" for number in range(steps)),
            hover=np.stack([*fields, loads, again], axis=2).astype(np.int64),
            template=_template(picture),
            name=f"broadcast-{picture.version}",
        ),
        theme,
    )


def _template(picture: Picture) -> str:
    name = picture.operand
    if picture.width == 1:
        what = f"output %{{customdata[2]}} needs <b>{name}[%{{customdata[4]}}]</b>"
    else:
        what = (
            "outputs %{customdata[2]} to %{customdata[3]} need "
            f"<b>{name}[%{{customdata[4]}}]</b> to {name}[%{{customdata[5]}}]"
        )
    return (
        "<b>thread %{customdata[0]}, step %{customdata[1]}</b><br>"
        f"{what}<br>loads here: %{{customdata[6]}}, of these again: %{{customdata[7]}}"
    )


def few_again(picture: Picture, warp: int) -> bool:
    """Return whether so few cells of a warp load again that the map frames them."""
    classes = warp_states(picture, warp)
    return bool((worst_cells(classes) & (classes == CLASSES[2])).any())


def counts(picture: Picture) -> str:
    """Return what the whole block loads, in words.

    Example:
        >>> from tileviz.studies.broadcast.plan import plan
        >>> from tileviz.studies.broadcast.picture import picture
        >>> from tileviz.studies.registry import preset
        >>> made = plan(preset("broadcast-192").design)
        >>> counts(picture(made, "before"))
        '4 loads a thread; 768 of 1,024 fetch what the block has fetched before'
        >>> counts(picture(made, "cinn"))
        '1 load a thread, none twice'
    """
    each, every = picture.loads_per_thread, int(picture.loads.sum())
    loads = f"{each} load{'s' * (each != 1)} a thread"
    again = int(picture.repeated.sum())
    if not again:
        return f"{loads}, none twice"
    return f"{loads}; {again:,} of {every:,} fetch what the block has fetched before"


def describe(picture: Picture, warp: int) -> str:
    """Return the picture in words, for people who cannot see it."""
    classes = warp_states(picture, warp)
    parts = [
        f"{int((classes == found).sum())} {name}"
        for found, name in zip(CLASSES, STATES, strict=True)
        if (classes == found).any()
    ]
    return (
        f"Warp {warp} of one block, {classes.shape[0]} steps of {classes.shape[1]} lanes, "
        f"element of {picture.operand} in each cell: {', '.join(parts) or 'idle'}."
    )


def thumbnail(before: Picture, after: Picture) -> str:
    """Return two blocks as HTML: a row a step, coloured by the operand's element.

    Above the general tactic, below what replaces it. Rows that are alike need one load.
    """
    alt = (
        f"which element of {before.operand} each thread needs, step by step: "
        "above before, below after"
    )
    return thumbnail_html([_ordered(before), _ordered(after)], alt, "order")


def _ordered(picture: Picture) -> NDArray[np.int8]:
    values = picture.values[:STEPS, :, 0]
    columns = np.linspace(0, values.shape[1] - 1, min(values.shape[1], _THUMB_COLUMNS)).astype(int)
    values = values[:, columns]
    live = values != NOTHING
    if not live.any():
        return np.full(values.shape, IDLE, np.int8)
    low, high = int(values[live].min()), int(values[live].max())
    classes = (values - low) * _ORDER_STEPS // (high - low + 1)
    return np.where(live, classes, IDLE).astype(np.int8)
