"""The order map with its scrubber: what every wave reads, above where it works."""

from __future__ import annotations

from collections.abc import Sequence
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
    map_size,
    order_classes,
)
from tileviz.figures.outline import outline_of
from tileviz.figures.plain import line
from tileviz.figures.scrubber import BAR, MOST_ABOVE, Scrubber
from tileviz.figures.thumbnail import thumbnail_html
from tileviz.figures.tokens import Theme
from tileviz.studies.schedule import views
from tileviz.studies.schedule.plan import SchedulePlan

MAX_STOPS = 200
_FEW_STOPS, _MANY_TASKS = 60, 200_000
_THUMB_ROWS, _THUMB_COLUMNS = 16, 32


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


def first_wave(plan: SchedulePlan) -> int:
    """Return the wave that is shown first: past the start of the first batch, before its end.

    Example:
        >>> from tileviz import api
        >>> from tileviz.studies.registry import preset
        >>> first_wave(api.plan(preset("schedule-ragged").design))
        7
    """
    schedule = plan.schedule
    last = int(schedule.wave[schedule.batch == 0].max(initial=0))
    return (last + 1) * 2 // 5


def highest_of(plans: Sequence[SchedulePlan]) -> int:
    """Return the bytes that the bars of several plans' orders must reach to be compared.

    Args:
        plans: Plans with at least one wave each.

    Example:
        >>> from tileviz import api
        >>> from tileviz.studies.registry import preset
        >>> highest_of([api.plan(preset("schedule-zn-3").design)]) >> 20
        4
    """
    highest = max(int(plan.metrics.footprints.max()) for plan in plans)
    # A row-major line far above the bars is left out; with higher bars it comes back.
    for line_at in sorted(map(_row_major, plans)):
        if line_at <= MOST_ABOVE * highest:
            highest = max(highest, int(np.ceil(line_at)))
    return highest


def order_figure(
    plan: SchedulePlan,
    wave: int,
    theme: Theme,
    batch: int = 0,
    task: int | None = None,
    highest: int = 0,
) -> go.Figure:
    """Return bars of what every wave reads, the scrubber, and the order map below.

    Args:
        plan: A plan with at least one wave.
        wave: The wave shown first.
        theme: Colours.
        batch: The batch (or group) whose tiles are drawn.
        task: A task whose tile is framed, or None.
        highest: Bytes that the bars' scale reaches at least, to compare several orders.

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
    highest = max(highest, *(stop.footprint for stop in shown))
    unit = Unit.of(highest)
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
    scrubber = Scrubber(
        waves=tuple(stop.wave for stop in shown),
        labels=tuple(stop.label for stop in shown),
        active=active,
        highest=highest,
        row_major=_row_major(plan),
        unit=unit,
        size=size,
    )
    return go.Figure({"data": still + moving, "layout": scrubber.layout(theme), "frames": frames})


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
