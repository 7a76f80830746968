"""What charts share: a layout without decoration, a quiet axis, a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tileviz.figures.tokens import Theme


def plain_layout(theme: Theme, height: int, margin: Mapping[str, int]) -> dict[str, Any]:
    """Return the layout that every chart starts from: no grounds, no legend, the page's fonts.

    Args:
        theme: Colours.
        height: Pixels.
        margin: Pixels by side, as Plotly names them.
    """
    return {
        "template": None,
        "height": height,
        "margin": dict(margin),
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
    }


def plain_axis(theme: Theme, **more: Any) -> dict[str, Any]:
    """Return an axis without grid or ticks; ``more`` adds to it."""
    return {
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "tickfont": {"size": 11, "color": theme.muted},
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": "rgba(0,0,0,0)",
        **more,
    }


def line(
    x: Sequence[float | None],
    y: Sequence[float | None],
    colour: str,
    width: float,
    dash: str = "solid",
) -> dict[str, Any]:
    """Return a line that does not answer to the pointer."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(x),
        "y": list(y),
        "line": {"color": colour, "width": width, "dash": dash},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
