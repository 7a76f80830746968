"""The main pictures of any design, for reports, comparisons and lessons.

Several plans of one study are drawn together, so that one scale serves all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tileviz.figures import bank_strips, banks, broadcast, permute
from tileviz.figures.layout_views import (
    cells_key,
    colouring,
    drawn,
    map_size,
    room_for,
)
from tileviz.figures.layout_views import describe as describe_layout
from tileviz.figures.layouts import layout_map
from tileviz.figures.order_map import Unit, amount, step_labels
from tileviz.figures.schedule import describe as describe_order
from tileviz.figures.schedule import first_wave, highest_of, order_figure
from tileviz.figures.schedule_charts import Curve, l2_figure, shares_figure
from tileviz.figures.scrubber import map_width
from tileviz.figures.tokens import IDLE, Theme
from tileviz.studies.access.plan import AccessPlan
from tileviz.studies.access.shown import instruction, sweeps
from tileviz.studies.access.window import window
from tileviz.studies.broadcast.picture import picture as broadcast_picture
from tileviz.studies.broadcast.plan import BroadcastPlan
from tileviz.studies.broadcast.portion import VERSIONS
from tileviz.studies.errors import NotRunnable
from tileviz.studies.layout.grid import Grid
from tileviz.studies.layout.plan import LayoutPlan
from tileviz.studies.permute import explain as permute_words
from tileviz.studies.permute.plan import PermutePlan
from tileviz.studies.schedule import views
from tileviz.studies.schedule.plan import SchedulePlan
from tileviz.words import counted

_PHASES: tuple[tuple[permute.PhaseName, str], ...] = (
    ("read", "Read through source"),
    ("write", "Write through destination"),
)
_VERSION_NAMES = {"before": "Before", "cinn": "CINN", "ours": "Ours"}


@dataclass(frozen=True)
class Legend:
    """What colours mean.

    Attributes:
        name: What they stand for.
        entries: Pairs (colour, label), only those that occur or might.
    """

    name: str
    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class Picture:
    """One figure of a design.

    Attributes:
        name: Its title.
        note: Its unit, scope or counts, muted behind the title.
        figure: The figure.
        alt: The same in words.
        width: Pixels, or None where it stretches.
        legend: What its colours mean, or None.
    """

    name: str
    note: str
    figure: go.Figure
    alt: str
    width: int | None = None
    legend: Legend | None = None


def pictures(plans: Sequence[Any], theme: Theme) -> tuple[tuple[Picture, ...], ...]:
    """Return the main pictures of each of some plans of one study.

    Args:
        plans: Plans of the same study; their pictures share scales and colours.
        theme: Colours.

    Returns:
        The pictures of each plan, in order; none where a design has nothing to draw.

    Example:
        >>> from tileviz import api
        >>> from tileviz.figures.tokens import LIGHT
        >>> from tileviz.studies.registry import preset
        >>> plan = api.plan(preset("permute-demo").design)
        >>> [found.name for found in pictures([plan], LIGHT)[0]]
        ['Read through source', 'Write through destination']
    """
    if not plans:
        return ()
    draw = _DRAWN_BY.get(plans[0].design.study)
    return tuple(() for _ in plans) if draw is None else draw(plans, theme)


# -- permute, access -----------------------------------------------------------------------------


def _of_permute(plans: Sequence[PermutePlan], theme: Theme) -> tuple[tuple[Picture, ...], ...]:
    return tuple(_phases(plan, theme) for plan in plans)


def _phases(plan: PermutePlan, theme: Theme) -> tuple[Picture, ...]:
    schedule = plan.chosen
    if schedule is None:
        return ()
    found = []
    for phase, name in _PHASES:
        part = permute.phase_of(schedule, phase)
        view = permute.phase_view(plan, schedule, phase, "lanes")
        note = f"{schedule.label}: {part.cost} {permute_words.unit(plan)}, ideal {part.ideal}"
        found.append(
            Picture(
                name,
                note,
                permute.phase_map(plan, schedule, phase, "lanes", theme),
                permute.describe(plan, schedule, phase, "lanes"),
                legend=_passes(view.legend, view.labels, theme),
            )
        )
    return tuple(found)


def _passes(name: str, labels: Sequence[str], theme: Theme) -> Legend:
    return Legend(name, tuple(zip(theme.passes, labels, strict=True)))


def _of_access(plans: Sequence[AccessPlan], theme: Theme) -> tuple[tuple[Picture, ...], ...]:
    return tuple(_instruction(plan, theme) for plan in plans)


def _instruction(plan: AccessPlan, theme: Theme) -> tuple[Picture, ...]:
    design = plan.design
    sweep = sweeps(design)[0]
    shown = instruction(design, sweep, sweep.start)
    legend = _passes(*banks.legend_of(shown), theme)
    found = []
    if design.layout is not None:
        part = window(design, shown)
        found.append(
            Picture(
                "Logical tile",
                f"{sweep.name}: what one instruction wants",
                banks.tile_map(part, shown, theme),
                banks.describe_tile(part, shown),
                banks.MAP_WIDTH,
                legend,
            )
        )
    if not shown.active.any():
        return tuple(found)
    verdict = shown.verdict
    if verdict.banks is None:
        lines = counted(verdict.lines or 0, "line")
        note = f"{counted(verdict.sectors or 0, 'sector')} in {lines} of 128 bytes"
        strip, name = bank_strips.line_map(shown, theme), "Lines and sectors"
    else:
        note = f"{counted(verdict.wavefronts or 0, 'wavefront')}, ideal {verdict.ideal}"
        strip, name = bank_strips.bank_strip(shown, theme), "Words per bank"
    found.append(Picture(name, note, strip, f"{name}: {note}.", banks.MAP_WIDTH, legend))
    return tuple(found)


# -- schedule ------------------------------------------------------------------------------------


def _of_schedule(plans: Sequence[SchedulePlan], theme: Theme) -> tuple[tuple[Picture, ...], ...]:
    drawable = [plan for plan in plans if plan.schedule.waves]
    if not drawable:
        return tuple(() for _ in plans)
    sizes, _ = views.l2_curve(max(drawable, key=lambda plan: plan.design.l2_bytes))
    scale = _Scale(highest_of(drawable), tuple(sizes.tolist()), max(map(_largest_share, drawable)))
    return tuple(_order(plan, scale, theme) if plan.schedule.waves else () for plan in plans)


@dataclass(frozen=True)
class _Scale:
    """What the charts of several schedules share.

    Attributes:
        highest: Most bytes that a wave of any of them reads.
        sizes: Cache sizes, in bytes.
        share: Largest work of a worker over the mean.
    """

    highest: int
    sizes: tuple[int, ...]
    share: float


def _largest_share(plan: SchedulePlan) -> float:
    shares = plan.metrics.shares
    return float(shares.max() / (shares.mean() or 1.0))


def _order(plan: SchedulePlan, scale: _Scale, theme: Theme) -> tuple[Picture, ...]:
    wave = first_wave(plan)
    labels = step_labels(views.order_map(plan, 0))
    legend = Legend("Order", tuple((theme.order[step], label) for step, label in labels))
    found = [
        Picture(
            "Order of the tiles",
            f"{counted(len(plan.schedule), 'task')}, {counted(plan.schedule.waves, 'wave')}",
            order_figure(plan, wave, theme, highest=scale.highest),
            describe_order(plan, wave),
            map_width(*plan.schedule.tiles),
            legend,
        )
    ]
    sizes, rates = views.l2_curve(plan, scale.sizes)
    if rates:
        unit = Unit.of(max(scale.sizes))
        curve = Curve(plan.design.chosen.title, tuple(rates))
        said = ", ".join(
            f"{100 * rate:.1f} % at {amount(size)}"
            for size, rate in zip(sizes.tolist(), rates, strict=True)
        )
        found.append(
            Picture(
                "Hit rate against L2 size",
                f"{unit.name}; dashed: {amount(plan.design.l2_bytes)}",
                l2_figure(scale.sizes, [curve], plan.design.l2_bytes, theme),
                f"Hit rate against cache size: {said}.",
            )
        )
    found.append(
        Picture(
            "Work of each worker",
            f"largest / mean {plan.metrics.balance:.3f}",
            shares_figure(plan.metrics.shares, theme, top=scale.share),
            f"Work of {plan.design.workers} workers against their mean, "
            f"largest / mean {plan.metrics.balance:.3f}.",
        )
    )
    return tuple(found)


# -- broadcast -----------------------------------------------------------------------------------


def _of_broadcast(plans: Sequence[BroadcastPlan], theme: Theme) -> tuple[tuple[Picture, ...], ...]:
    return tuple(_blocks(plan, theme) for plan in plans)


def _blocks(plan: BroadcastPlan, theme: Theme) -> tuple[Picture, ...]:
    entries = zip(broadcast.CLASSES, broadcast.STATES, strict=True)
    legend = Legend("The value is", tuple((theme.passes[at], name) for at, name in entries))
    accesses = plan.design.accesses
    operand = accesses.index("broadcast") if "broadcast" in accesses else 0
    found = []
    for version in VERSIONS:
        # Where CINN declines, its kernel is the general one.
        if version == "cinn" and not plan.cinn.applies:
            continue
        try:
            block = broadcast_picture(plan, version, operand)
        except NotRunnable:
            continue
        found.append(
            Picture(
                f"{_VERSION_NAMES[version]}: first warp, operand {block.operand}",
                broadcast.counts(block),
                broadcast.warp_map(block, 0, theme),
                broadcast.describe(block, 0),
                legend=legend,
            )
        )
    return tuple(found)


# -- layout --------------------------------------------------------------------------------------


def _of_layout(plans: Sequence[LayoutPlan], theme: Theme) -> tuple[tuple[Picture, ...], ...]:
    return tuple(_grids(plan, theme) for plan in plans)


def _grids(plan: LayoutPlan, theme: Theme) -> tuple[Picture, ...]:
    side = drawn(plan, "result" if plan.makes_another else "operand")
    grids = [grid for grid in (side.logical, side.physical) if grid is not None]
    room = room_for(grids, grids if side.logical.in_memory else ())
    marked = side.colliding()
    found = []
    for grid in grids:
        cells = None if marked is None else grid.holds(marked)
        found.append(
            Picture(
                f"{'Result' if plan.makes_another else 'Layout'}, {grid.kind}",
                cells_key(grid),
                layout_map(grid, "place", theme, cells, room),
                describe_layout(grid, side.facts),
                map_size(grid, room).width,
                _places(grid, theme),
            )
        )
    return tuple(found)


def _places(grid: Grid, theme: Theme) -> Legend:
    found = colouring(grid, "place")
    palette = getattr(theme, found.palette)
    occur = np.unique(found.classes[found.classes != IDLE]).tolist()
    entries = [(palette[at], found.labels[at]) for at in occur]
    if (found.classes == IDLE).any():
        entries.append((theme.idle, "idle"))
    return Legend(found.name, tuple(entries))


_DRAWN_BY: dict[str, Callable[[Sequence[Any], Theme], tuple[tuple[Picture, ...], ...]]] = {
    "permute": _of_permute,
    "access": _of_access,
    "schedule": _of_schedule,
    "broadcast": _of_broadcast,
    "layout": _of_layout,
}
