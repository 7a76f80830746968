"""The Block schedule page's pieces of HTML: legend, model table, titles of small maps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tileviz.figures.order_map import amount, drawn_strips, drawn_tails, step_labels
from tileviz.figures.schedule_charts import RATE_LABELS, RATES
from tileviz.figures.tokens import Theme
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.explain import LABELS, figures, percent
from tileviz.studies.schedule.metrics import Metrics
from tileviz.studies.schedule.plan import SchedulePlan
from tileviz.studies.schedule.recommend import Candidate
from tileviz.studies.schedule.views import order_map
from tileviz.ui import html
from tileviz.ui.schedule.cached import plan_of

# Eight longer labels do not fit on one line: only where each step begins is written.
_LONG = 7


def style() -> str:
    """Return the style that only this page needs."""
    form = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    return f"<style>{form}</style>"


def order_legend(plan: SchedulePlan, theme: Theme, batch: int) -> str:
    """Return what colours, frame, squares and lines of the order map mean."""
    labels = step_labels(order_map(plan, batch))
    name = "Order, from" if len(labels[-1][1]) > _LONG else "Order"
    items = "".join(
        f'<span><i style="background:{theme.order[step]}"></i>'
        f"{text if name == 'Order' else text.partition('–')[0]}</span>"
        for step, text in labels
    )
    first = f'<div class="tv-legend tv-order-legend"><strong>{name}</strong>{items}</div>'
    marks = '<span class="wave">wave</span><span>and the rows of A, columns of B it reads</span>'
    if drawn_strips(plan) is not None:
        marks += '<span><i class="strip"></i>strip</span>'
    tail_m, tail_n = drawn_tails(plan)
    tile_m, tile_n, _ = plan.design.tile
    parts = []
    if tail_m:
        parts.append(f"{tail_m} of {tile_m} rows")
    if tail_n:
        parts.append(f"{tail_n} of {tile_n} columns")
    if parts:
        marks += f'<span><i class="tail"></i>tail: {", ".join(parts)}</span>'
    return f'{first}<div class="tv-legend tv-order-legend">{marks}</div>'


def rate_legend() -> str:
    """Return what the colours of the sweep mean."""
    items = "".join(
        f'<span><i style="background:{colour}"></i>{html.text(text)}</span>'
        for colour, text in zip(RATES, RATE_LABELS, strict=True)
    )
    return f'<div class="tv-legend tv-order-legend"><strong>Points below best</strong>{items}</div>'


def model_table(columns: Sequence[tuple[str, Metrics]]) -> str:
    """Return the model's figures, an order a column; the shown one first, row-major last."""
    every = [figures(metrics) for _, metrics in columns]
    rows = [
        (html.text(name), *(html.text(values[index]) for values in every))
        for index, name in enumerate(LABELS)
        if name != "padding" or any(metrics.padding for _, metrics in columns)
    ]
    heads = ("", *(name for name, _ in columns))
    return html.table(heads, rows, css="tv-model", label="What the model says")


def short_label(design: ScheduleDesign) -> str:
    """Return a design's policy and settings in a few letters.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> fields = {"study": "schedule", "problem": [8, 8, 8], "tile": [2, 2]}
        >>> short_label(make_design({**fields, "policy": "catlass", "offset": 3}))
        'Zn 3'
        >>> short_label(make_design({**fields, "policy": "triton_grouped"}))
        'Triton grouped 8'
        >>> short_label(make_design({**fields, "policy": "hilbert"}))
        'Hilbert curve'
    """
    settings = design.parameters.model_dump(mode="json", exclude_none=True)
    if design.policy == "catlass":
        return f"{settings['direction'].capitalize()} {settings['offset']}"
    shown = [str(value) for value in settings.values() if type(value) is int]
    return " ".join([design.chosen.title.removeprefix("CATLASS "), *shown[:1]])


def short_candidate(candidate: Candidate) -> str:
    """Return a candidate's label without the library that the page is about.

    Example:
        >>> from tileviz.studies.schedule.recommend import catlass
        >>> short_candidate(catlass(12, "zn"))
        'Zn 12'
    """
    return candidate.label.removeprefix("catlass ")


def small_title(name: str, metrics: Metrics, measured: tuple[str, str] | None = None) -> str:
    """Return the title of a small map: name, three numbers, and a measured one if there is one."""
    missed = metrics.misses
    footprint = float(metrics.footprints.mean()) if len(metrics.footprints) else 0.0
    numbers = [
        (percent(None if missed is None else missed.hit_rate), "hit"),
        (amount(footprint), "a wave"),
        (f"{metrics.balance:.3f}", "balance"),
        *([measured] if measured else []),
    ]
    words = "".join(
        f"<span><strong>{html.text(value)}</strong> {html.text(unit)}</span>"
        for value, unit in numbers
    )
    return f'<div class="tv-small-title"><h3>{html.text(name)}</h3><p>{words}</p></div>'


def one_number(design: ScheduleDesign) -> str:
    """Return what a card says of a design: the hit rate, or the balance where all fits in L2.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> one_number(preset("schedule-ragged").design)
        'L2 hit rate 89.8%, row-major 31.9%'
        >>> one_number(preset("schedule-unbalanced").design)
        'balance 1.500, largest / mean'
    """
    plan = plan_of(design)
    metrics, baseline = plan.metrics, plan.baseline
    if metrics.operand_bytes <= design.l2_bytes and metrics.balance >= 1.005:
        return f"balance {metrics.balance:.3f}, largest / mean"
    rates = [None if one.misses is None else one.misses.hit_rate for one in (metrics, baseline)]
    other = "" if design.policy == "row_major" else f", row-major {percent(rates[1])}"
    return f"L2 hit rate {percent(rates[0])}{other}"
