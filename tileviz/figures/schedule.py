"""The order map with its scrubber: what every wave reads, above where it works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from tileviz.figures.order_map import (
    MapSize,
    Unit,
    amount,
    arrows,
    borders,
    cells,
    line,
    map_size,
    order_classes,
    ticks,
)
from tileviz.figures.outline import outline_of
from tileviz.figures.thumbnail import thumbnail_html
from tileviz.figures.tokens import Theme
from tileviz.studies.schedule import views
from tileviz.studies.schedule.plan import SchedulePlan

MAP_COLUMN = 604
MAX_STOPS = 200
_FEW_STOPS, _MANY_TASKS = 60, 200_000
_LEFT, _RIGHT, _TOP, _BARS, _GAP, _LABELS, _BOTTOM = 52, 12, 26, 46, 52, 40, 8
# Room inside the map's axes for the squares that mark what is read, and for thick lines.
_MARKS, _EDGE = 18, 4
_THUMB_ROWS, _THUMB_COLUMNS = 16, 32
_MOST_ABOVE = 5


def stops(plan: SchedulePlan, wave: int) -> tuple[int, ...]:
    """Return the waves at which the scrubber stops: all, or some of many, ``wave`` among them.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.schedule.plan import plan
        >>> made = plan(make_design({"study": "schedule", "problem": [4, 4, 1], "tile": [1, 1],
        ...                          "policy": "row_major", "workers": 6}))
        >>> stops(made, 1)
        (0, 1, 2)
    """
    waves = plan.schedule.waves
    most = MAX_STOPS if len(plan.schedule) <= _MANY_TASKS else _FEW_STOPS
    if waves <= most:
        return tuple(range(waves))
    some = np.unique(np.linspace(0, waves - 1, most - 1).round().astype(int)).tolist()
    return tuple(sorted({*some, wave}))


def map_width(rows: int, columns: int) -> int:
    """Return the width of the map's column in pixels: cells stay square at every window size.

    Example:
        >>> map_width(19, 24), map_width(2, 2)
        (604, 604)
    """
    return max(map_size(rows, columns).width + _LEFT + _RIGHT, MAP_COLUMN)


@dataclass(frozen=True, eq=False)
class _Wave:
    """One stop of the scrubber as the four traces that change."""

    wave: int
    label: str
    footprint: int
    outline: tuple[list[float | None], list[float | None]]
    squares: tuple[list[float], list[float]]

    @classmethod
    def of(cls, plan: SchedulePlan, wave: int, batch: int, size: MapSize) -> _Wave:
        view = views.wave_view(plan, wave)
        here = plan.schedule.batch[view.tasks] == batch
        m, n = view.m[here], view.n[here]
        rows, columns = np.unique(m), np.unique(n)
        # Just outside the map: 10 pixels to the left and above.
        left, top = -0.5 - 10 / size.cell[0], -0.5 - 10 / size.cell[1]
        x = [left] * len(rows) + columns.astype(float).tolist()
        y = rows.astype(float).tolist() + [top] * len(columns)
        return cls(
            wave,
            wave_label(plan, view),
            view.footprint_bytes,
            outline_of(m, n),
            (x, y),
        )


def wave_label(plan: SchedulePlan, view: views.WaveView) -> str:
    """Return one wave in words.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.schedule.plan import plan
        >>> made = plan(make_design({"study": "schedule", "problem": [4, 4, 1], "tile": [1, 1],
        ...                          "policy": "row_major", "workers": 6}))
        >>> wave_label(made, views.wave_view(made, 1))
        'wave 2 of 3, tasks 6–11, reads 12 bytes'
    """
    tasks = view.tasks
    named = "no task"
    if len(tasks):
        low, high = int(tasks.min()), int(tasks.max())
        named = f"tasks {low}–{high}" if low < high else f"task {low}"
    size = amount(view.footprint_bytes)
    return f"wave {view.wave + 1} of {plan.schedule.waves}, {named}, reads {size}"


def order_figure(
    plan: SchedulePlan, wave: int, theme: Theme, batch: int = 0, task: int | None = None
) -> go.Figure:
    """Return bars of what every wave reads, the scrubber, and the order map below.

    Args:
        plan: A plan with at least one wave.
        wave: The wave shown first.
        theme: Colours.
        batch: The batch (or group) whose tiles are drawn.
        task: A task whose tile is framed, or None.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.schedule.plan import plan
        >>> from tileviz.figures.tokens import LIGHT
        >>> made = plan(make_design({"study": "schedule", "problem": [4, 4, 1], "tile": [1, 1],
        ...                          "policy": "row_major", "workers": 6}))
        >>> figure = order_figure(made, 1, LIGHT)
        >>> len(figure.frames), figure.layout.sliders[0].active
        (3, 1)
    """
    order = views.order_map(plan, batch)
    size = map_size(*order.shape)
    shown = [_Wave.of(plan, stop, batch, size) for stop in stops(plan, wave)]
    active = next(index for index, stop in enumerate(shown) if stop.wave == wave)
    unit = Unit.of(max(stop.footprint for stop in shown))
    still = [*_bars(shown, unit, theme)]
    on_map = [*cells(plan, order, theme)]
    if size.small:
        on_map += arrows(order)
    on_map += [*borders(plan, theme), *_framed(order, task, theme)]
    still += [{**trace, "xaxis": "x2", "yaxis": "y2"} for trace in on_map]
    moving = _moving(shown[active], unit, size, theme)
    places = list(range(len(still), len(still) + len(moving)))
    frames = [
        {"name": str(stop.wave), "data": _moving(stop, unit, size, theme), "traces": places}
        for stop in shown
    ]
    layout = _layout(_row_major(plan), shown, active, unit, size, theme)
    return go.Figure({"data": still + moving, "layout": layout, "frames": frames})


def _bars(shown: list[_Wave], unit: Unit, theme: Theme) -> list[dict[str, Any]]:
    return [
        {
            "type": "bar",
            "x": [stop.wave for stop in shown],
            "y": [stop.footprint / unit.bytes for stop in shown],
            "marker": {"color": BAR[theme.name], "line": {"width": 0}},
            "customdata": [stop.label for stop in shown],
            "hovertemplate": "%{customdata}<extra></extra>",
            "width": _bar_width(shown),
        }
    ]


BAR = {"light": "#7D90A8", "dark": "#6C7C91", "print": "#A8A8A8"}


def _bar_width(shown: list[_Wave]) -> float:
    return 0.8 * max((shown[-1].wave - shown[0].wave) / max(len(shown) - 1, 1), 1)


def _framed(order: NDArray[np.int64], task: int | None, theme: Theme) -> list[dict[str, Any]]:
    """Return a frame around the tile of a task, if it is on this map."""
    if task is None or not (order == task).any():
        return []
    found = np.argwhere(order == task)
    x, y = outline_of(found[:1, 0], found[:1, 1])
    return [line(x, y, theme.page, 7), line(x, y, theme.hot, 3.5)]


def _moving(stop: _Wave, unit: Unit, size: MapSize, theme: Theme) -> list[dict[str, Any]]:
    """Return what changes from wave to wave; a trace of a frame must name its axes again."""
    axes = {"xaxis": "x2", "yaxis": "y2"}
    x, y = stop.outline
    return [
        {
            "type": "bar",
            "x": [stop.wave],
            "y": [stop.footprint / unit.bytes],
            "marker": {"color": theme.hot, "line": {"width": 0}},
            "customdata": [stop.label],
            "hovertemplate": "%{customdata}<extra></extra>",
            # A single bar in a crowd must still be seen.
            "width": 0.8,
            "xaxis": "x",
            "yaxis": "y",
        },
        {**line(x, y, theme.page, 7 if min(size.cell) >= 8 else 4), **axes},
        {**line(x, y, theme.hot, 3.5 if min(size.cell) >= 8 else 2), **axes},
        {
            "type": "scatter",
            "mode": "markers",
            "x": stop.squares[0],
            "y": stop.squares[1],
            "marker": {
                "symbol": "square",
                "size": max(2.0, min(9.0, 0.8 * min(size.cell))),
                "color": theme.hot,
            },
            "hoverinfo": "skip",
            "cliponaxis": False,
            **axes,
        },
    ]


def _row_major(plan: SchedulePlan) -> float:
    """Return the mean bytes that a wave of row-major order reads."""
    return float(plan.baseline.footprints.mean())


def _layout(
    row_major_bytes: float,
    shown: list[_Wave],
    active: int,
    unit: Unit,
    size: MapSize,
    theme: Theme,
) -> dict[str, Any]:
    width = map_width(size.rows, size.columns)
    height = _TOP + _BARS + _GAP + _LABELS + size.height + _BOTTOM
    row_major = row_major_bytes / unit.bytes
    highest = max(stop.footprint for stop in shown) / unit.bytes
    # A line far above would flatten the bars; then only its number is written.
    off_scale = row_major > _MOST_ABOVE * highest
    top = highest if off_scale else max(row_major, highest)
    beyond = ", above" if off_scale else ""
    axis = {"showgrid": False, "zeroline": False, "fixedrange": True}
    tick = {"tickfont": {"size": 11, "color": theme.muted}}
    bars_right = (max(_LEFT + size.width, MAP_COLUMN - _RIGHT)) / width
    return {
        "template": None,
        "width": width,
        "height": height,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
        "autosize": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "barmode": "overlay",
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
            "domain": [_LEFT / width, bars_right],
            "range": [shown[0].wave - 0.6, shown[-1].wave + 0.6],
            "visible": False,
            "anchor": "y",
        },
        "yaxis": {
            **axis,
            **tick,
            "domain": [1 - (_TOP + _BARS) / height, 1 - _TOP / height],
            "range": [0, top * 1.04],
            "nticks": 3,
            "showgrid": True,
            "gridcolor": theme.border,
            "ticks": "outside",
            "ticklen": 4,
            "tickcolor": "rgba(0,0,0,0)",
            "anchor": "x",
        },
        "xaxis2": {
            **axis,
            **tick,
            "domain": [(_LEFT - _MARKS) / width, (_LEFT + size.width + _EDGE) / width],
            "range": [
                -0.5 - _MARKS / size.cell[0],
                size.columns - 0.5 + _EDGE / size.cell[0],
            ],
            "side": "top",
            "anchor": "y2",
            "ticks": "outside",
            "ticklen": 2,
            "tickcolor": "rgba(0,0,0,0)",
            **ticks(size.columns, size.cell[0], len(str(size.columns - 1)) * 6.5 + 4),
        },
        "yaxis2": {
            **axis,
            **tick,
            "domain": [
                (_BOTTOM - _EDGE) / height,
                (_BOTTOM + size.height + _MARKS) / height,
            ],
            "range": [
                size.rows - 0.5 + _EDGE / size.cell[1],
                -0.5 - _MARKS / size.cell[1],
            ],
            "anchor": "x2",
            "ticks": "outside",
            "ticklen": 4,
            "tickcolor": "rgba(0,0,0,0)",
            **ticks(size.rows, size.cell[1], 14),
        },
        "shapes": []
        if off_scale
        else [
            {
                "type": "line",
                "xref": "x domain",
                "yref": "y",
                "x0": 0,
                "x1": 1,
                "y0": row_major,
                "y1": row_major,
                "line": {"color": theme.strong, "width": 1.5, "dash": "dot"},
            }
        ],
        "annotations": [
            _note(
                f"{unit.name[:1].upper()}{unit.name[1:]} read by each wave",
                _LEFT / width,
                1,
                "left",
                theme,
            ),
            # Left of the button that saves the picture.
            _note(
                f"row-major {_plain(row_major)}{beyond}", bars_right - 34 / width, 1, "right", theme
            ),
        ],
        **_controls(shown, active, width, height, bars_right, theme),
    }


def _plain(size: float) -> str:
    return f"{size:,.0f}" if size >= 10 else f"{size:.1f}"


def _note(text: str, x: float, y: float, side: str, theme: Theme) -> dict[str, Any]:
    return {
        "text": text,
        "xref": "paper",
        "yref": "paper",
        "x": x,
        "y": y,
        "xanchor": side,
        "yanchor": "top",
        "showarrow": False,
        "font": {"size": 12, "color": theme.text},
    }


def _controls(
    shown: list[_Wave], active: int, width: int, height: int, right: float, theme: Theme
) -> dict[str, Any]:
    """Return the slider, its label, and play and pause; nothing moves by itself."""
    if len(shown) < 2:
        return {}
    at = 1 - (_TOP + _BARS) / height
    frame = {"frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    steps = [
        {
            "label": stop.label,
            "method": "animate",
            "args": [[str(stop.wave)], {"mode": "immediate", **frame}],
        }
        for stop in shown
    ]
    play = {
        "frame": {"duration": 400, "redraw": True},
        "transition": {"duration": 0},
        "fromcurrent": True,
        "mode": "immediate",
    }
    return {
        "sliders": [
            {
                "active": active,
                "steps": steps,
                "x": (_LEFT + 84) / width,
                "len": right - (_LEFT + 84) / width,
                "xanchor": "left",
                "y": at,
                "yanchor": "top",
                "pad": {"t": 6, "b": 0, "l": 0, "r": 0},
                # The steps' own labels would overlap; the current one is written above.
                "font": {"size": 1, "color": "rgba(0,0,0,0)"},
                "currentvalue": {
                    "visible": True,
                    "xanchor": "right",
                    "offset": 8,
                    "font": {"size": 13, "color": theme.text},
                },
                "bgcolor": BAR[theme.name],
                "activebgcolor": theme.hot,
                "bordercolor": BAR[theme.name],
                "borderwidth": 1,
                "ticklen": 0,
                "minorticklen": 0,
                "transition": {"duration": 0},
            }
        ],
        "updatemenus": [
            {
                "type": "buttons",
                "direction": "left",
                "showactive": False,
                "x": _LEFT / width,
                "xanchor": "left",
                "y": at,
                "yanchor": "top",
                "pad": {"t": 8, "l": 0, "r": 0, "b": 0},
                "font": {"size": 11, "color": theme.text},
                "bgcolor": theme.idle,
                "bordercolor": theme.border,
                "buttons": [
                    {"label": "▶", "method": "animate", "args": [None, play]},
                    {
                        "label": "❚❚",
                        "method": "animate",
                        "args": [[None], {"mode": "immediate", **frame}],
                    },
                ],
            }
        ],
    }


def describe(plan: SchedulePlan, wave: int) -> str:
    """Return a sentence for people who cannot see the map.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.schedule.plan import plan
        >>> made = plan(make_design({"study": "schedule", "problem": [4, 4, 1], "tile": [1, 1],
        ...                          "policy": "row_major", "workers": 6}))
        >>> print(describe(made, 1))
        Order map, Row-major: 4 by 4 tiles, 16 tasks.
        Shown: wave 2 of 3, tasks 6–11, reads 12 bytes.
    """
    rows, columns = plan.schedule.tiles
    shown = wave_label(plan, views.wave_view(plan, wave))
    return (
        f"Order map, {plan.design.chosen.title}: {rows} by {columns} tiles, "
        f"{len(plan.schedule):,} tasks.\nShown: {shown}."
    )


def thumbnail(plan: SchedulePlan) -> str:
    """Return the order as a small picture in HTML, early dark and late bright.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.schedule.plan import plan
        >>> made = plan(make_design({"study": "schedule", "problem": [4, 4, 1], "tile": [1, 1],
        ...                          "policy": "row_major"}))
        >>> thumbnail(made).count("--order-") >= 4
        True
    """
    order = views.order_map(plan)
    classes = order_classes(order)
    rows, columns = (
        np.arange(min(count, most)) * count // min(count, most)
        for count, most in zip(classes.shape, (_THUMB_ROWS, _THUMB_COLUMNS), strict=True)
    )
    alt = f"{plan.design.chosen.title}: tiles from first, dark, to last, bright"
    return thumbnail_html([classes[np.ix_(rows, columns)]], alt, "order")
