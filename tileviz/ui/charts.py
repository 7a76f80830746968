"""What every chart of every page has: one menu, with one entry that saves it as SVG."""

from __future__ import annotations

from typing import Any


def chart_config(name: str) -> dict[str, Any]:
    """Return the ``config`` of ``st.plotly_chart``.

    Args:
        name: What the chart shows, for the file's name: ``permute``.

    Example:
        >>> chart_config("permute")["toImageButtonOptions"]["filename"]
        'tileviz-permute'
    """
    return {
        "displaylogo": False,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": {"format": "svg", "filename": f"tileviz-{name}"},
    }
