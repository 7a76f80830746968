"""Charts beside the order map: hit rate against L2 size, workers' shares, the sweep, small maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from tileviz.figures.order_map import Unit, heatmap, ticks
from tileviz.figures.plain import line, plain_axis, plain_layout
from tileviz.figures.tokens import IDLE, Theme
from tileviz.studies.schedule.policies.base import DIRECTIONS
from tileviz.studies.schedule.recommend import Outcome

# Points of hit rate below the best: class ends, and cividis from best to worst.
RATE_ENDS = (0.5, 2.0, 5.0, 10.0, 20.0)
RATE_LABELS = ("< 0.5", "2", "5", "10", "20", "more")
RATES = ("#FEE838", "#D7C463", "#A59C74", "#6C6E72", "#3A486B", "#00224E")
_LINES = {"light": "#0068A6", "dark": "#56B4E9", "print": "#000000"}
# Labels of lines that end closer than this share one.
_JOINT = 0.05
# The curve's axis on the narrowest page.
_CURVE_PIXELS = 190
_MAX_BARS = 512


@dataclass(frozen=True)
class Curve:
    """Hit rates of one order.

    Attributes:
        label: Whose they are.
        rates: 0 to 1, one for each size.
        baseline: Whether it is what others are measured against: dotted.
    """

    label: str
    rates: tuple[float, ...]
    baseline: bool = False


def l2_figure(sizes: Sequence[int], curves: Sequence[Curve], mark: int, theme: Theme) -> go.Figure:
    """Return hit rates against cache sizes, each line labelled at its end.

    Args:
        sizes: Cache sizes in bytes.
        curves: One or more orders.
        mark: The design's own size.
        theme: Colours.

    Example:
        >>> from tileviz.figures.tokens import LIGHT
        >>> figure = l2_figure([1 << 20, 2 << 20], [Curve("Zn 3", (0.5, 0.9))], 1 << 20, LIGHT)
        >>> figure.data[0].y
        (50.0, 90.0)
    """
    unit = Unit.of(max(sizes))
    x = [size / unit.bytes for size in sizes]
    traces = []
    for curve in curves:
        colour = theme.text if curve.baseline else _LINES[theme.name]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": x,
                "y": [round(100 * rate, 3) for rate in curve.rates],
                "line": {
                    "color": colour,
                    "width": 1.5 if curve.baseline else 2,
                    "dash": "dot" if curve.baseline else "solid",
                },
                "marker": {"size": 5, "color": colour},
                "hovertemplate": f"{curve.label}<br>%{{x:.4~g}} {unit.name} of L2: %{{y:.1f}} %"
                "<extra></extra>",
                "cliponaxis": False,
            }
        )
    at = mark / unit.bytes
    traces.append(line([at, at], [0, 100], theme.muted, 1, "dash"))
    labels = [
        {
            "text": text,
            "x": x[-1],
            "y": 100 * height,
            "xanchor": "left",
            "align": "left",
            "xshift": 8,
            "showarrow": False,
            "font": {"size": 12, "color": theme.text},
        }
        for text, height in _end_labels(curves)
    ]
    room = 7 * max(len(curve.label) for curve in curves) + 16
    layout = {
        **plain_layout(theme, 196, {"l": 44, "r": room, "t": 8, "b": 24}),
        "xaxis": plain_axis(
            theme,
            range=[x[0] - 0.04 * (x[-1] - x[0]), x[-1]],
            tickvals=_spread(x, at),
            ticktext=_sizes(_spread(x, at)),
            tickangle=0,
        ),
        "yaxis": plain_axis(
            theme,
            range=[0, 102],
            tickvals=[0, 50, 100],
            ticktext=["0 %", "50 %", "100 %"],
            showgrid=True,
            gridcolor=theme.border,
        ),
        "annotations": labels,
    }
    return go.Figure({"data": traces, "layout": layout})


def _spread(x: Sequence[float], mark: float) -> list[float]:
    """Return the sizes whose labels have room, the marked one among them."""
    room = (6.5 * max(len(text) for text in _sizes(x)) + 6) / _CURVE_PIXELS * (x[-1] - x[0])
    kept = [mark]
    for at in sorted(x, key=lambda size: abs(size - mark)):
        if all(abs(at - other) >= room for other in kept):
            kept.append(at)
    return sorted(kept)


def _sizes(x: Sequence[float]) -> list[str]:
    return [f"{at:.3g}" if at < 1000 else f"{at:,.0f}" for at in x]


def _end_labels(curves: Sequence[Curve]) -> list[tuple[str, float]]:
    """Return a label where each line ends; lines that end within 5 % share one."""
    ends = sorted((curve.rates[-1], curve.label) for curve in curves)
    groups: list[list[tuple[float, str]]] = []
    for end in ends:
        if groups and end[0] - groups[-1][-1][0] < _JOINT:
            groups[-1].append(end)
        else:
            groups.append([end])
    return [
        (
            "<br>".join(name for _, name in reversed(group)),
            sum(rate for rate, _ in group) / len(group),
        )
        for group in groups
    ]


def shares_figure(shares: NDArray[np.float64], theme: Theme, top: float = 0.0) -> go.Figure:
    """Return every worker's work against the mean; the largest are marked if few.

    Args:
        shares: Multiply-adds of every worker.
        theme: Colours.
        top: Work over the mean that the scale reaches at least, to compare several schedules.

    Example:
        >>> from tileviz.figures.tokens import LIGHT
        >>> shares_figure(np.array([3.0, 1.0]), LIGHT).data[0].y.tolist()
        [150.0, 50.0]
    """
    mean = float(shares.mean()) or 1.0
    part = np.round(100 * shares / mean, 2)
    workers = len(part)
    # More bars than pixels: neighbours share one, the most loaded speaks for them.
    step = -(-workers // _MAX_BARS)
    edges = np.arange(0, workers, step)
    height = np.maximum.reduceat(part, edges)
    worst = height == part.max()
    # Marking most of them would say nothing.
    worst &= 4 * int(worst.sum()) < len(worst)
    colours = np.where(worst, theme.hot, theme.bar).tolist()
    who = "worker %{x}" if step == 1 else f"workers from %{{x}}, {step} of them, at most"
    bars = {
        "type": "bar",
        "x": edges,
        "y": height,
        "marker": {"color": colours, "line": {"width": 0}},
        "width": 0.82 * step,
        "offset": -0.41 * step if step == 1 else 0,
        "hovertemplate": f"{who}: %{{y:.1f}} % of the mean<extra></extra>",
    }
    top = max(float(part.max()), 100 * top)
    layout = {
        **plain_layout(theme, 92, {"l": 44, "r": 8, "t": 6, "b": 20}),
        "xaxis": plain_axis(
            theme, range=[-0.6, workers - 0.4], **ticks(workers, 440 / workers, 32)
        ),
        "yaxis": plain_axis(
            theme,
            range=[0, max(top, 100) * 1.06],
            # Far above the mean the two labels would touch.
            tickvals=[0, 100] if top < 500 else [100],
            ticktext=["0 %", "mean"] if top < 500 else ["mean"],
            showgrid=True,
            gridcolor=theme.border,
        ),
    }
    return go.Figure({"data": [bars], "layout": layout})


@dataclass(frozen=True, eq=False)
class Sweep:
    """Every offset and direction as a strip of two rows.

    Attributes:
        offsets: Offset of each column.
        rates: L2 hit rate, 0 to 1, NaN where nothing was tried: ``[direction, offset]``.
        bound: Whether only a bound is known: at most that rate.
        balance: Most work of a worker over the mean.
    """

    offsets: tuple[int, ...]
    rates: NDArray[np.float64]
    bound: NDArray[np.bool_]
    balance: NDArray[np.float64]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Sweep:
        """Return the strip of a sweep's outcomes; other policies are left out."""
        settings = {}
        for outcome in outcomes:
            if outcome.candidate.policy == "catlass":
                chosen = dict(outcome.candidate.parameters)
                settings[DIRECTIONS.index(chosen["direction"]), int(chosen["offset"])] = outcome
        offsets = tuple(sorted({offset for _, offset in settings}))
        shape = (len(DIRECTIONS), len(offsets))
        rates, balance = np.full(shape, np.nan), np.full(shape, np.nan)
        bound = np.zeros(shape, bool)
        for (row, offset), outcome in settings.items():
            at = row, offsets.index(offset)
            rates[at] = np.nan if outcome.hit_rate is None else outcome.hit_rate
            balance[at], bound[at] = outcome.balance, outcome.pruned
        return cls(offsets, rates, bound, balance)

    def at(self, row: int, column: int) -> tuple[int, str] | None:
        """Return offset and direction of a cell, or None where nothing was tried."""
        inside = 0 <= row < len(DIRECTIONS) and 0 <= column < len(self.offsets)
        if not inside or np.isnan(self.rates[row, column]):
            return None
        return self.offsets[column], DIRECTIONS[row]

    def cell(self, offset: int, direction: str) -> tuple[int, int] | None:
        """Return row and column of a setting, or None where it was not tried."""
        if offset not in self.offsets or direction not in DIRECTIONS:
            return None
        found = DIRECTIONS.index(direction), self.offsets.index(offset)
        return None if np.isnan(self.rates[found]) else found


def rate_classes(rates: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return the class of each rate by its points below the best, ``IDLE`` where there is none.

    Example:
        >>> rate_classes(np.array([0.92, 0.916, 0.89, 0.5, np.nan])).tolist()
        [0, 0, 2, 5, -1]
    """
    known = ~np.isnan(rates)
    if not known.any():
        return np.full(rates.shape, IDLE, np.int8)
    below = 100 * (np.nanmax(rates) - np.where(known, rates, 0))
    # Rounded, so that 0.5 points typed in decimals are not 0.5000001.
    classes = np.searchsorted(RATE_ENDS, np.round(below, 6), side="right")
    return np.where(known, classes, IDLE).astype(np.int8)


def sweep_figure(
    sweep: Sweep, best: tuple[int, int] | None, shown: tuple[int, int] | None, theme: Theme
) -> go.Figure:
    """Return the strip: a cell a setting, a frame around the best, a ring around the one shown.

    Args:
        sweep: The strip.
        best: Row and column of the best.
        shown: Row and column of the design.
        theme: Colours.
    """
    classes = rate_classes(sweep.rates)
    place = [*range(len(sweep.offsets))]
    words = np.where(
        np.isnan(sweep.rates), "", np.char.mod("%.0f", np.nan_to_num(100 * sweep.rates))
    )
    words = np.where(sweep.bound, np.char.add("≤", words), words)
    traces = []
    inks = [theme.ink(colour) for colour in RATES]
    for ink in dict.fromkeys(inks):
        mine = np.array([one == ink for one in inks])[np.clip(classes, 0, None)] & (classes >= 0)
        trace = heatmap(np.where(mine, classes, IDLE), RATES)
        traces.append(
            {
                **trace,
                "xgap": 1,
                "ygap": 1,
                "hoverinfo": "skip",
                "text": np.where(mine, words, ""),
                "texttemplate": "%{text}",
                "textfont": {"size": 11, "color": ink},
            }
        )
    if best is not None:
        row, column = best
        x = [column - 0.5, column + 0.5, column + 0.5, column - 0.5, column - 0.5, column + 0.5]
        y = [row - 0.5, row - 0.5, row + 0.5, row + 0.5, row - 0.5, row - 0.5]
        traces += [line(x, y, theme.page, 6), line(x, y, theme.hot, 3)]
    if shown is not None:
        for colour, width in ((theme.page, 4.0), (theme.hot, 2.0)):
            traces.append(_ring(shown, colour, width))
    traces.append(_targets(sweep))
    layout = {
        **plain_layout(theme, 78, {"l": 26, "r": 3, "t": 20, "b": 4}),
        "clickmode": "event+select",
        "xaxis": plain_axis(
            theme,
            side="top",
            range=[-0.5, len(place) - 0.5],
            tickvals=place,
            ticktext=[str(offset) for offset in sweep.offsets],
        ),
        "yaxis": plain_axis(theme, range=[1.5, -0.5], tickvals=[0, 1], ticktext=["Zn", "Nz"]),
    }
    return go.Figure({"data": traces, "layout": layout})


def _ring(cell: tuple[int, int], colour: str, width: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [cell[1]],
        "y": [cell[0]],
        "marker": {
            "symbol": "circle-open",
            "size": 20,
            "color": colour,
            "line": {"width": width, "color": colour},
        },
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def _targets(sweep: Sweep) -> dict[str, Any]:
    """Return unseen markers that answer to pointer and click."""
    known = np.argwhere(~np.isnan(sweep.rates))
    y, x = known[:, 0], known[:, 1]
    fields = np.stack(
        [
            np.array(sweep.offsets)[x].astype(float),
            np.round(100 * sweep.rates[y, x], 2),
            np.round(sweep.balance[y, x], 3),
        ],
        axis=1,
    )
    names = [
        f"{DIRECTIONS[row].capitalize()} {sweep.offsets[column]}: "
        + ("at most " if sweep.bound[row, column] else "")
        for row, column in known.tolist()
    ]
    unseen = {"marker": {"opacity": 0}}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "marker": {"symbol": "square", "size": 22, "opacity": 0},
        "selected": unseen,
        "unselected": unseen,
        "text": names,
        "customdata": fields,
        "hovertemplate": "%{text}%{customdata[1]:.1f} % hit, balance %{customdata[2]:.3f}"
        "<extra></extra>",
        "cliponaxis": False,
    }
