"""Orders without numbers: small maps to compare."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from tileviz.figures.order_map import heatmap, map_size, order_classes, visits
from tileviz.figures.plain import line, plain_layout
from tileviz.figures.tokens import Theme
from tileviz.studies.schedule import views
from tileviz.studies.schedule.plan import SchedulePlan

_MAX_WAY = 4096
_SMALL_MAX = 128


def small_map(plan: SchedulePlan, theme: Theme) -> go.Figure:
    """Return an order as a small map without numbers, its way as a white line over a dark halo.

    Args:
        plan: A plan; of batches the first is drawn.
        theme: Colours.
    """
    order = views.order_map(plan)
    rows, columns = order.shape
    step = (-(-rows // _SMALL_MAX), -(-columns // _SMALL_MAX))
    classes = order_classes(order)[:: step[0], :: step[1]]
    place = {"dx": step[1], "x0": (step[1] - 1) / 2, "dy": step[0], "y0": (step[0] - 1) / 2}
    traces = [{**heatmap(classes, theme.order, place), "hoverinfo": "skip"}]
    if order.size <= _MAX_WAY:
        y, x = visits(order)
        thin = 1 if order.size > 1024 else 1.25
        traces += [line(x.tolist(), y.tolist(), "#10151C", thin + 2)]
        traces += [line(x.tolist(), y.tolist(), "#FFFFFF", thin)]
    shape = map_size(rows, columns)
    high = min(max(round(280 * shape.height / shape.width), 60), 300)
    axis = {"visible": False, "fixedrange": True, "constrain": "domain"}
    layout: dict[str, Any] = {
        **plain_layout(theme, high, {"l": 1, "r": 1, "t": 2, "b": 2}),
        "xaxis": {**axis, "range": [-0.5, columns - 0.5], "constraintoward": "left"},
        "yaxis": {**axis, "range": [rows - 0.5, -0.5], "constraintoward": "top"},
    }
    if shape.cell[0] == shape.cell[1]:
        layout["yaxis"]["scaleanchor"] = "x"
    return go.Figure({"data": traces, "layout": layout})
