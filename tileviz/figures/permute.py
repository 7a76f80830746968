"""Pictures of a permute plan: the pair of phases, and the thumbnail of a preset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from tileviz.figures.access_views import (
    AccessView,
    banks_to_lanes,
    lanes_to_banks,
    lanes_to_sectors,
    sectors_to_lanes,
)
from tileviz.figures.cells import Cells, cell_map
from tileviz.figures.thumbnail import thumbnail_html
from tileviz.figures.tokens import IDLE, Theme
from tileviz.memory import LANES, Accesses
from tileviz.studies.permute.plan import PermutePlan, Phase, Schedule

PhaseName = Literal["read", "write"]
ViewName = Literal["lanes", "targets"]

_THUMB_ROWS = 8
_VIEWS: dict[tuple[str, ViewName], Callable[[Accesses], AccessView]] = {
    ("shared", "lanes"): lanes_to_banks,
    ("shared", "targets"): banks_to_lanes,
    ("global", "lanes"): lanes_to_sectors,
    ("global", "targets"): sectors_to_lanes,
}


def phase_of(schedule: Schedule, phase: PhaseName) -> Phase:
    """Return the read or the write phase of a schedule."""
    return schedule.read if phase == "read" else schedule.write


def phase_view(
    plan: PermutePlan, schedule: Schedule, phase: PhaseName, view: ViewName
) -> AccessView:
    """Return one phase as cells: lanes across, or banks (sectors in global memory) across."""
    return _VIEWS[plan.design.space, view](phase_of(schedule, phase).accesses)


def phase_map(
    plan: PermutePlan,
    schedule: Schedule,
    phase: PhaseName,
    view: ViewName,
    theme: Theme,
    cell: tuple[int, int] | None = None,
) -> go.Figure:
    """Return one phase as a figure, 32 columns wide.

    Args:
        plan: The plan, for the coordinates of elements.
        schedule: The schedule shown.
        phase: ``read`` or ``write``.
        view: ``lanes`` (lanes across) or ``targets`` (banks or sectors across).
        theme: Colours.
        cell: (lane, register) to frame, or None.

    Example:
        >>> from tileviz.figures.tokens import LIGHT
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.permute.plan import plan
        >>> demo = plan(make_design({"study": "permute", "src": {"layout": "S[(4, 32):(32, 1)]"},
        ...                          "dst": {"layout": "S[(4, 32):(1, 4)]"}}))
        >>> figure = phase_map(demo, demo.chosen, "write", "lanes", LIGHT)
        >>> figure.data[0].text[0, :8].tolist()  # banks of lanes 0 to 7, register 0
        ['0', '4', '8', '12', '16', '20', '24', '28']
    """
    shown = phase_view(plan, schedule, phase, view)
    fields, template = shown.fields, shown.hover
    if view == "lanes":
        extents = plan.extents
        coordinate = np.stack(np.unravel_index(schedule.elements, extents), axis=2)
        offset = phase_of(schedule, phase).offsets[:, :, None]
        first = fields.shape[2]
        fields = np.concatenate([fields, offset, coordinate], axis=2)
        places = (f"%{{customdata[{first + 1 + dim}]}}" for dim in range(len(extents)))
        who, _, rest = template.partition("<br>")
        where = f"element ({', '.join(places)}) · offset %{{customdata[{first}]}}"
        template = f"{who}<br>{where}<br>{rest}"
    cells = Cells(
        classes=shown.classes,
        text=shown.text,
        rows=shown.rows,
        hover=fields,
        template=template,
        borders=_borders(schedule) if view == "lanes" else (),
        frame=_frame(shown, cell),
        name=f"{phase} phase",
    )
    return cell_map(cells, theme)


def _borders(schedule: Schedule) -> tuple[int, ...]:
    """Return the lanes where the value that the XOR adds changes."""
    width = 1 << schedule.shift
    return tuple(range(width, LANES, width))


def _frame(view: AccessView, cell: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return where a lane of a register is drawn, if it has a cell of its own."""
    if cell is None:
        return None
    lane, register = cell
    found = np.argwhere((view.lane == lane) & (view.instruction == register)[:, None])
    return (int(found[0, 0]), int(found[0, 1])) if len(found) else None


def clicked_cell(view: AccessView, row: int, column: int) -> tuple[int, int] | None:
    """Return the (lane, register) drawn at a row and column, or None outside or where idle."""
    rows, columns = view.lane.shape
    if not (0 <= row < rows and 0 <= column < columns) or view.lane[row, column] < 0:
        return None
    return int(view.lane[row, column]), int(view.instruction[row])


def describe(plan: PermutePlan, schedule: Schedule, phase: PhaseName, view: ViewName) -> str:
    """Return a sentence for people who cannot see the map.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.permute.plan import plan
        >>> demo = plan(make_design({"study": "permute", "src": {"layout": "S[(4, 32):(32, 1)]"},
        ...                          "dst": {"layout": "S[(4, 32):(1, 4)]"}}))
        >>> print(describe(demo, demo.schedules[0], "write", "lanes"))
        Write phase, k = 0: 4 registers by 32 lanes, each cell a bank. 16 wavefronts, ideal 4;
        at most 4 passes for one bank.
    """
    part = phase_of(schedule, phase)
    shared = plan.design.space == "shared"
    registers = len(schedule.elements)
    place = "bank" if shared else "32-byte sector"
    across = f"{LANES} lanes, each cell a {place}"
    if view == "targets":
        across = f"{LANES} {place}s, each cell the lanes that meet there"
    unit = "wavefronts" if shared else "sectors"
    passes = "1 pass" if part.n_way == 1 else f"{part.n_way} passes"
    worst = "" if part.n_way is None else f"; at most {passes} for one bank"
    many = f"{registers} register{'s' * (registers != 1)}"
    return (
        f"{phase.capitalize()} phase, {schedule.label}: {many} by {across}. "
        f"{part.cost} {unit}, ideal {part.ideal}{worst}."
    )


def thumbnail(plan: PermutePlan) -> str:
    """Return a picture, as HTML, of the phase that costs most in plain order, before and after.

    Upper half: plain order (k = 0); lower half: the schedule that runs, where it is another.
    Columns are banks (sectors in global memory). Colours are the page's CSS variables, so they
    follow its theme.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.permute.plan import plan
        >>> demo = plan(make_design({"study": "permute", "src": {"layout": "S[(4, 32):(32, 1)]"},
        ...                          "dst": {"layout": "S[(4, 32):(1, 4)]"}}))
        >>> thumbnail(demo)[:28]
        '<div class="thumb" role="img'
    """
    if plan.chosen is None:
        nothing = np.full((8, LANES), IDLE, dtype=np.int8)
        return thumbnail_html([nothing], "Rejected: no schedule to draw")
    plain, chosen = plan.schedules[0], plan.chosen
    phase: PhaseName = "read" if plain.read.excess > plain.write.excess else "write"
    after = phase_view(plan, chosen, phase, "targets").classes[:_THUMB_ROWS]
    place = "bank" if plan.design.space == "shared" else "sector"
    if chosen is plain:
        return thumbnail_html([after], f"{phase} phase by {place}, {chosen.label}")
    before = phase_view(plan, plain, phase, "targets").classes[:_THUMB_ROWS]
    alt = f"{phase} phase by {place}: {plain.label} above, {chosen.label} below"
    return thumbnail_html([before, after], alt)
