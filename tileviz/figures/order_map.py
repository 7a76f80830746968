"""The order of tiles as a map of numbers: cells, strips, tails, the way through a small grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.figures.plain import line
from tileviz.figures.tokens import IDLE, Theme
from tileviz.studies.schedule import views
from tileviz.studies.schedule.plan import SchedulePlan

STEPS = 8
# A grid of at most this many rows and columns gets large cells and arrows from tile to tile.
SMALL = 12
MAX_NUMBERED = 1024
_SMALL_CELL, _CELLS, _LEAST_CELL, _MOST_CELL = 44, 580, 12, 22
_MOST_HEIGHT, _THIN = 1000, 240
# More cells than this on one axis are not told apart on a screen: every second, third... is drawn.
_MAX_SHOWN = 256
_MAX_HOVER = 16384
_DIGIT = 6.3


@dataclass(frozen=True)
class MapSize:
    """The size of an order map.

    Attributes:
        rows: Tile rows; likewise ``columns``.
        cell: Width and height of a tile, in pixels.
        step: Rows and columns from one drawn tile to the next; 1 where all are drawn.
    """

    rows: int
    columns: int
    cell: tuple[float, float]
    step: tuple[int, int]

    @property
    def width(self) -> int:
        """Width of all tiles, in pixels."""
        return max(round(self.columns * self.cell[0]), 1)

    @property
    def height(self) -> int:
        """Height of all tiles, in pixels."""
        return max(round(self.rows * self.cell[1]), 1)

    @property
    def small(self) -> bool:
        """Whether arrows fit between the numbers."""
        return max(self.rows, self.columns) <= SMALL

    def numbered(self, largest: int) -> bool:
        """Return whether numbers up to ``largest`` can be read inside the cells."""
        few = self.rows * self.columns <= MAX_NUMBERED
        return few and self.cell[1] >= _LEAST_CELL and len(str(largest)) * _DIGIT <= self.cell[0]


@dataclass(frozen=True)
class Unit:
    """A unit of bytes that suits some sizes.

    Attributes:
        name: ``bytes``, ``KiB`` or ``MiB``.
        bytes: Bytes in one.
    """

    name: str
    bytes: int

    @classmethod
    def of(cls, largest: float) -> Unit:
        """Return the largest unit of which there is at least a tenth.

        Example:
            >>> Unit.of(1 << 20).name, Unit.of(2000).name, Unit.of(54).name
            ('MiB', 'KiB', 'bytes')
        """
        for name, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
            if largest >= size / 10:
                return cls(name, size)
        return cls("bytes", 1)


def amount(count: float) -> str:
    """Return bytes in a unit that suits them, three digits.

    Example:
        >>> amount(76 << 20), amount(61.47 * (1 << 20)), amount(3724 << 20), amount(768)
        ('76.0 MiB', '61.5 MiB', '3,724 MiB', '0.75 KiB')
    """
    unit = Unit.of(count)
    size = count / unit.bytes
    if unit.bytes == 1 or size >= 100:
        return f"{size:,.0f} {unit.name}"
    return f"{size:.1f} {unit.name}" if size >= 1 else f"{size:.2f} {unit.name}"


def map_size(rows: int, columns: int) -> MapSize:
    """Return the size of a map: square cells of 12 to 22 pixels, others where that cannot be.

    Example:
        >>> map_size(19, 24).cell, map_size(6, 6).cell, map_size(320, 320).step
        ((22, 22), (44, 44), (2, 2))
    """
    step = (-(-rows // _MAX_SHOWN), -(-columns // _MAX_SHOWN))
    if max(rows, columns) <= SMALL:
        return MapSize(rows, columns, (_SMALL_CELL, _SMALL_CELL), step)
    cell: float = min(max(_CELLS // columns, _LEAST_CELL), _MOST_CELL)
    cell = min(cell, _CELLS / columns, _MOST_HEIGHT / rows)
    # Long thin grids would be a line: their cells stretch across.
    wide = max(cell, min(_MOST_CELL, _THIN / columns))
    high = max(cell, min(_MOST_CELL, _THIN / rows))
    return MapSize(rows, columns, (wide, high), step)


def order_classes(order: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return the step (0 first .. 7 last) of every tile's number, ``IDLE`` without one.

    Example:
        >>> order_classes(np.array([[0, 7, 8, 15, -1]])).tolist()
        [[0, 3, 4, 7, -1]]
    """
    first, count = _span(order)
    steps = (order - first) * STEPS // count
    return np.where(order < 0, IDLE, np.clip(steps, 0, STEPS - 1)).astype(np.int8)


def _span(order: NDArray[np.int64]) -> tuple[int, int]:
    """Return the first number, and how many numbers there are from it to the last."""
    known = order[order >= 0]
    if not known.size:
        return 0, 1
    return int(known.min()), int(known.max() - known.min()) + 1


def step_labels(order: NDArray[np.int64]) -> tuple[tuple[int, str], ...]:
    """Return every step that occurs with its first and last number.

    Example:
        >>> step_labels(np.arange(456).reshape(19, 24))[:2]
        ((0, '0–56'), (1, '57–113'))
    """
    first, count = _span(order)
    found = []
    for step in range(STEPS):
        low, high = -(-step * count // STEPS), -(-(step + 1) * count // STEPS) - 1
        if low <= high:
            label = f"{first + low}–{first + high}" if low < high else f"{first + low}"
            found.append((step, label))
    return tuple(found)


def cells(plan: SchedulePlan, order: NDArray[np.int64], theme: Theme) -> list[dict[str, Any]]:
    """Return the numbered cells as heat maps: one for each ink, one that answers to the pointer.

    Args:
        plan: The plan.
        order: Number of the task of each tile, or -1: ``[row, column]``.
        theme: Colours.
    """
    size = map_size(*order.shape)
    shown = order[:: size.step[0], :: size.step[1]]
    classes = order_classes(order)[:: size.step[0], :: size.step[1]]
    numbered = size.numbered(int(order.max(initial=0)))
    place = _place(size)
    traces = []
    inks = [theme.ink(colour) for colour in theme.order]
    for ink in dict.fromkeys(inks) if numbered else ("",):
        mine = np.array([not ink or one == ink for one in inks])[np.clip(classes, 0, None)]
        trace = heatmap(np.where(mine, classes, IDLE), theme.order, place)
        if numbered:
            trace["text"] = np.where(mine & (shown >= 0), shown.astype(str), "")
            trace["texttemplate"] = "%{text}"
            trace["textfont"] = {"size": 12 if size.small else 11, "color": ink}
        gap = 1 if min(size.cell) >= 6 else 0
        traces.append({**trace, "xgap": gap, "ygap": gap, "hoverinfo": "skip"})
    return [*traces, _pointer(plan, shown, place)]


def _place(size: MapSize) -> dict[str, Any]:
    return {
        "x0": (size.step[1] - 1) / 2,
        "dx": size.step[1],
        "y0": (size.step[0] - 1) / 2,
        "dy": size.step[0],
    }


def heatmap(
    classes: NDArray[np.int8], palette: Sequence[str], place: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return classes as a heat map of discrete colours; ``IDLE`` cells are left open."""
    count = len(palette)
    scale = [[(index + side) / count, colour] for index, colour in enumerate(palette)
             for side in (0, 1)]  # fmt: skip
    return {
        "type": "heatmap",
        "z": np.where(classes == IDLE, np.nan, classes.astype(np.float32)),
        "zmin": -0.5,
        "zmax": count - 0.5,
        "colorscale": scale,
        "showscale": False,
        "hoverongaps": False,
        **(place or {}),
    }


def _pointer(plan: SchedulePlan, shown: NDArray[np.int64], place: dict[str, Any]) -> dict[str, Any]:
    """Return a heat map nobody sees, which tells the pointer about each tile."""
    schedule = plan.schedule
    task = np.maximum(shown, 0)
    fields = [shown, schedule.wave[task] + 1, schedule.worker[task]]
    said = "<b>task %{customdata[0]}</b> · wave %{customdata[1]} · worker %{customdata[2]}"
    if shown.size <= _MAX_HOVER:
        fields += [schedule.m[task], schedule.n[task], schedule.heights[task]]
        fields += [schedule.widths[task], schedule.lengths[task]]
        said += (
            "<br>tile (%{customdata[3]}, %{customdata[4]}) · %{customdata[5]} × %{customdata[6]}"
            " elements, K %{customdata[7]}"
        )
    else:
        said += "<br>tile (%{y}, %{x})"
    return {
        "type": "heatmap",
        "z": np.where(shown < 0, np.nan, np.float32(0)),
        "colorscale": [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]],
        "showscale": False,
        "hoverongaps": False,
        "customdata": np.stack(fields, axis=-1).astype(np.int32),
        "hovertemplate": said + "<extra></extra>",
        **place,
    }


def ticks(count: int, cell: float, room: float) -> dict[str, Any]:
    """Return tick labels at 0, 1, 2..., or at every 2nd, 5th, 10th... where they would touch.

    Args:
        count: Number of places.
        cell: Pixels of a place.
        room: Pixels that a label needs.

    Example:
        >>> ticks(12, 5.0, 16.0)["tickvals"]
        [0, 5, 10]
    """
    steps = (scale * part for scale in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
             for part in (1, 2, 5))  # fmt: skip
    step = next(step for step in steps if step * cell >= room)
    return {"tickmode": "array", "tickvals": list(range(0, count, step))}


def borders(plan: SchedulePlan, theme: Theme) -> list[dict[str, Any]]:
    """Return the border of the grid, thick lines between strips and dotted ones at the tails."""
    size = map_size(*plan.schedule.tiles)
    top, bottom, left, right = -0.5, size.rows - 0.5, -0.5, size.columns - 0.5
    traces = []
    x, y = _strip_lines(plan, size)
    fine = min(size.cell) < _LEAST_CELL
    if x and fine:
        traces.append(line(x, y, theme.page, 1.5))
        x, y = [], []
    if x:
        traces.append(line(x, y, theme.page, 5))
    frame_x = [left, right, right, left, left, None, *x]
    frame_y = [top, top, bottom, bottom, top, None, *y]
    traces.append(line(frame_x, frame_y, theme.strong, 2))
    tail_m, tail_n = drawn_tails(plan)
    x, y = [], []
    if tail_m:
        x, y = [left, right, None], [bottom - 1, bottom - 1, None]
    if tail_n:
        x, y = [*x, right - 1, right - 1], [*y, top, bottom]
    if x:
        traces += [line(x, y, theme.page, 4), line(x, y, theme.strong, 2, "2px,2px")]
    return traces


def _strip_lines(
    plan: SchedulePlan, size: MapSize
) -> tuple[list[float | None], list[float | None]]:
    """Return lines between strips; none where they would lie closer than 8 pixels."""
    found = drawn_strips(plan)
    x: list[float | None] = []
    y: list[float | None] = []
    for start in found.starts[1:] if found else ():
        at = start - 0.5
        along = [-0.5, (size.columns if found and found.axis == "rows" else size.rows) - 0.5, None]
        across = [at, at, None]
        x += along if found and found.axis == "rows" else across
        y += across if found and found.axis == "rows" else along
    return x, y


def drawn_strips(plan: SchedulePlan) -> views.Strips | None:
    """Return the strips whose borders are drawn, or None where there are none or too many."""
    found = views.strips(plan)
    if found is None or len(found.starts) < 2:
        return None
    size = map_size(*plan.schedule.tiles)
    pixels = size.height if found.axis == "rows" else size.width
    return found if pixels / len(found.starts) >= 8 else None


def drawn_tails(plan: SchedulePlan) -> tuple[int, int]:
    """Return rows of the last tile row and columns of the last tile column, 0 where not drawn."""
    if plan.schedule.tasks.tiles is not None or plan.schedule.tasks.heights is not None:
        return 0, 0
    rows, columns = plan.schedule.tiles
    tail_m, tail_n = views.tails(plan)
    return (tail_m if rows > 1 else 0), (tail_n if columns > 1 else 0)


def way(m: NDArray[np.int64], n: NDArray[np.int64]) -> tuple[list[float | None], ...]:
    """Return the way through a small grid as arrows that leave room for the numbers.

    Returns:
        x, y and marker size of each point: a start, a tip with a head, a gap; for every step.

    Example:
        >>> x, y, head = way(np.array([0, 3]), np.array([1, 1]))
        >>> x, y, head
        ([1.0, 1.0, None], [0.33, 2.67, None], [0, 8, 0])
    """
    dx, dy = np.diff(n).astype(float), np.diff(m).astype(float)
    length = np.maximum(np.hypot(dx, dy), 1)
    ux, uy = 0.33 * dx / length, 0.33 * dy / length
    x: list[float | None] = []
    y: list[float | None] = []
    head: list[float | None] = []
    points = zip(n[:-1] + ux, n[1:] - ux, m[:-1] + uy, m[1:] - uy, strict=True)
    for x0, x1, y0, y1 in points:
        x += [float(x0), float(x1), None]
        y += [float(y0), float(y1), None]
        head += [0, 8, 0]
    return x, y, head


def visits(order: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row and column of every tile, in the order in which they are first computed.

    Example:
        >>> m, n = visits(np.array([[0, 3], [1, -1]]))
        >>> m.tolist(), n.tolist()
        ([0, 1, 0], [0, 0, 1])
    """
    found = np.argsort(order, axis=None)
    found = found[order.ravel()[found] >= 0]
    m, n = np.unravel_index(found, order.shape)
    return m, n


def arrows(order: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return arrows from tile to tile, white over a dark halo: both read on every step."""
    x, y, head = way(*visits(order))
    shared = {"type": "scatter", "mode": "lines+markers", "x": x, "y": y, "hoverinfo": "skip"}

    def drawn(colour: str, width: float, grow: float) -> dict[str, Any]:
        sizes = [size + grow if size else 0 for size in head]
        marker = {"symbol": "arrow", "angleref": "previous", "size": sizes, "color": colour,
                  "opacity": 1, "line": {"width": 0}}  # fmt: skip
        return {**shared, "line": {"color": colour, "width": width}, "marker": marker}

    return [drawn("#10151C", 3.5, 3), drawn("#FFFFFF", 1.5, 0)]
