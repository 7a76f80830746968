"""Pictures made narrower, so that two of them stand beside each other."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

from tileviz.figures.overview import Picture

# A digit of the cells' text at 11 px, and the least room around a number.
_DIGIT, _ROOM = 6.2, 1.0


def fitted(picture: Picture, width: int) -> Picture:
    """Return a picture that is at most ``width`` pixels wide, its cells as square as before.

    Numbers that no longer fit into their cells are left to the colours and to the hover.

    Example:
        >>> from tileviz import api
        >>> from tileviz.figures.overview import pictures
        >>> from tileviz.figures.tokens import LIGHT
        >>> from tileviz.studies.registry import preset
        >>> tile = pictures([api.plan(preset("banks-padding-33").design)], LIGHT)[0][0]
        >>> tile.width, fitted(tile, 488).width, fitted(tile, 700) is tile
        (609, 488, True)
    """
    if picture.width is None or picture.width <= width:
        return picture
    figure = deepcopy(picture.figure)
    if figure.layout.sliders:
        _narrow_scrubber(figure, width, width / picture.width)
    else:
        _narrow(figure, width, picture.width)
    for trace in figure.data:
        if trace.type == "heatmap" and trace.texttemplate and not _fits(figure, trace, width):
            trace.texttemplate = None
    return replace(picture, figure=figure, width=width)


def _narrow(figure: Any, width: int, before: int) -> None:
    """Shrink a figure of maps alone; what stands in its margins keeps its size."""
    layout = figure.layout
    left, right, top, bottom = (getattr(layout.margin, side) or 0 for side in "lrtb")
    share = (width - left - right) / (before - left - right)
    height = top + bottom + share * (layout.height - top - bottom)
    figure.update_layout(width=width, height=round(height), autosize=False)


def _narrow_scrubber(figure: Any, width: int, share: float) -> None:
    """Shrink the map of a scrubber; bars, slider and buttons above it keep their height."""
    layout = figure.layout
    low, high = layout.yaxis2.domain
    tall = layout.height
    short = tall - (1 - share) * (high - low) * tall

    def from_top(y: float) -> float:
        return float(1 - (1 - y) * tall / short)

    floor = low * tall / short
    figure.update_layout(
        width=width,
        height=round(short),
        autosize=False,
        yaxis={"domain": [from_top(y) for y in layout.yaxis.domain]},
        yaxis2={"domain": [floor, floor + share * (high - low) * tall / short]},
    )
    for control in (*layout.sliders, *layout.updatemenus):
        control.y = from_top(control.y)


def _fits(figure: Any, trace: Any, width: int) -> bool:
    """Return whether the text of a map fits into its cells."""
    axis = figure.layout["xaxis" + (trace.xaxis or "x")[1:]]
    begin, end = axis.domain or (0.0, 1.0)
    margin = figure.layout.margin
    across = (end - begin) * (width - (margin.l or 0) - (margin.r or 0))
    columns = abs(axis.range[1] - axis.range[0]) if axis.range else len(trace.z[0])
    longest = max((len(str(text)) for row in trace.text for text in row), default=0)
    return bool(_DIGIT * longest + _ROOM <= across / columns)
