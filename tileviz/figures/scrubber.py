"""The layout of the order map: bars of what waves read, a slider below them, the map at the end.

All places are pixels, so that cells stay square; a figure of another width would stretch them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tileviz.figures.order_map import MapSize, Unit, map_size, ticks
from tileviz.figures.plain import plain_axis, plain_layout
from tileviz.figures.tokens import Theme

MAP_COLUMN = 604
BAR = {"light": "#7D90A8", "dark": "#6C7C91", "print": "#A8A8A8"}
_LEFT, _RIGHT, _TOP, _BARS, _GAP, _LABELS, _BOTTOM = 52, 12, 26, 46, 52, 40, 8
# Room inside the map's axes for the squares that mark what is read, and for thick lines.
_MARKS, _EDGE = 18, 4
# Buttons stand left of the slider; the button that saves the picture covers the right end.
_BUTTONS, _SAVE = 84, 34
MOST_ABOVE = 5


def map_width(rows: int, columns: int) -> int:
    """Return the width of the map's column in pixels: cells stay square at every window size.

    Example:
        >>> map_width(19, 24), map_width(2, 2)
        (604, 604)
    """
    return max(map_size(rows, columns).width + _LEFT + _RIGHT, MAP_COLUMN)


@dataclass(frozen=True)
class Scrubber:
    """What the layout needs to know.

    Attributes:
        waves: Number of the wave at each stop.
        labels: Each stop in words.
        active: The stop shown first.
        highest: Most bytes that a wave reads.
        row_major: Mean bytes that a wave of row-major order reads.
        unit: Unit of the bars.
        size: Size of the map.
    """

    waves: tuple[int, ...]
    labels: tuple[str, ...]
    active: int
    highest: int
    row_major: float
    unit: Unit
    size: MapSize

    @property
    def width(self) -> int:
        """Width of the figure."""
        return map_width(self.size.rows, self.size.columns)

    @property
    def height(self) -> int:
        """Height of the figure."""
        return _TOP + _BARS + _GAP + _LABELS + self.size.height + _BOTTOM

    @property
    def off_scale(self) -> bool:
        """Whether row-major lies so far above that its line would flatten the bars."""
        return self.row_major > MOST_ABOVE * self.highest

    @property
    def _right(self) -> float:
        """Where bars and slider end, as a part of the width."""
        return max(_LEFT + self.size.width, MAP_COLUMN - _RIGHT) / self.width

    @property
    def _under_bars(self) -> float:
        return 1 - (_TOP + _BARS) / self.height

    def layout(self, theme: Theme) -> dict[str, Any]:
        """Return the layout of the figure."""
        margin = {"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0}
        return {
            **plain_layout(theme, self.height, margin),
            "width": self.width,
            "autosize": False,
            "barmode": "overlay",
            **self._bar_axes(theme),
            **self._map_axes(theme),
            "shapes": [] if self.off_scale else [self._row_major_line(theme)],
            "annotations": self._notes(theme),
            **(self._controls(theme) if len(self.waves) > 1 else {}),
        }

    def _bar_axes(self, theme: Theme) -> dict[str, Any]:
        top = self.highest if self.off_scale else max(self.highest, self.row_major)
        return {
            "xaxis": plain_axis(
                theme,
                domain=[_LEFT / self.width, self._right],
                range=[self.waves[0] - 0.6, self.waves[-1] + 0.6],
                visible=False,
                anchor="y",
            ),
            "yaxis": plain_axis(
                theme,
                domain=[self._under_bars, 1 - _TOP / self.height],
                range=[0, max(top, 1) / self.unit.bytes * 1.04],
                nticks=3,
                showgrid=True,
                gridcolor=theme.border,
                anchor="x",
            ),
        }

    def _map_axes(self, theme: Theme) -> dict[str, Any]:
        size = self.size
        wide, high = size.cell
        return {
            "xaxis2": plain_axis(
                theme,
                domain=[
                    (_LEFT - _MARKS) / self.width,
                    (_LEFT + size.width + _EDGE) / self.width,
                ],
                range=[-0.5 - _MARKS / wide, size.columns - 0.5 + _EDGE / wide],
                side="top",
                anchor="y2",
                **ticks(size.columns, wide, len(str(size.columns - 1)) * 6.5 + 4),
            ),
            "yaxis2": plain_axis(
                theme,
                domain=[
                    (_BOTTOM - _EDGE) / self.height,
                    (_BOTTOM + size.height + _MARKS) / self.height,
                ],
                range=[size.rows - 0.5 + _EDGE / high, -0.5 - _MARKS / high],
                anchor="x2",
                **ticks(size.rows, high, 14),
            ),
        }

    def _row_major_line(self, theme: Theme) -> dict[str, Any]:
        at = self.row_major / self.unit.bytes
        ends = {"x0": 0, "x1": 1, "y0": at, "y1": at}
        line = {"color": theme.strong, "width": 1.5, "dash": "dot"}
        return {"type": "line", "xref": "x domain", "yref": "y", **ends, "line": line}

    def _notes(self, theme: Theme) -> list[dict[str, Any]]:
        size = self.row_major / self.unit.bytes
        number = f"{size:,.0f}" if size >= 10 else f"{size:.1f}"
        unit = self.unit.name[:1].upper() + self.unit.name[1:]
        beyond = ", above" if self.off_scale else ""
        shared = {
            "xref": "paper",
            "yref": "paper",
            "y": 1,
            "yanchor": "top",
            "showarrow": False,
            "font": {"size": 12, "color": theme.text},
        }
        return [
            {
                "text": f"{unit} read by each wave",
                "x": _LEFT / self.width,
                "xanchor": "left",
                **shared,
            },
            {
                "text": f"row-major {number}{beyond}",
                "x": self._right - _SAVE / self.width,
                "xanchor": "right",
                **shared,
            },
        ]

    def _controls(self, theme: Theme) -> dict[str, Any]:
        """Return the slider, its label, and play and pause; nothing moves by itself."""
        frame = {"frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
        at = {"xanchor": "left", "y": self._under_bars, "yanchor": "top"}
        start = (_LEFT + _BUTTONS) / self.width
        slider = {
            "active": self.active,
            "steps": [
                {
                    "label": label,
                    "method": "animate",
                    "args": [[str(wave)], {"mode": "immediate", **frame}],
                }
                for wave, label in zip(self.waves, self.labels, strict=True)
            ],
            "x": start,
            "len": self._right - start,
            **at,
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
        return {"sliders": [slider], "updatemenus": [{**self._buttons(theme), **at}]}

    def _buttons(self, theme: Theme) -> dict[str, Any]:
        still = {"transition": {"duration": 0}, "mode": "immediate"}
        play = {"frame": {"duration": 400, "redraw": True}, "fromcurrent": True, **still}
        pause = {"frame": {"duration": 0, "redraw": True}, **still}
        return {
            "type": "buttons",
            "direction": "left",
            "showactive": False,
            "x": _LEFT / self.width,
            "pad": {"t": 8, "l": 0, "r": 0, "b": 0},
            "font": {"size": 11, "color": theme.text},
            "bgcolor": theme.idle,
            "bordercolor": theme.border,
            "buttons": [
                {"label": "▶", "method": "animate", "args": [None, play]},
                {"label": "❚❚", "method": "animate", "args": [[None], pause]},
            ],
        }
