"""The schedule plan in words and small tables: what pages, reports and the shell print."""

from __future__ import annotations

from tileviz.studies.schedule.metrics import Metrics
from tileviz.studies.schedule.plan import SchedulePlan
from tileviz.studies.schedule.recommend import (
    QUICK_TASKS,
    SAME,
    Recommendation,
    recommended,
)
from tileviz.studies.statement import Statement, TextTable

CONVENTION = (
    "Launch order on a GPU is a convention, not a guarantee; a persistent kernel makes it exact."
)


def mebibytes(count: float) -> str:
    """Return bytes as MiB.

    Example:
        >>> mebibytes(1 << 20), mebibytes(61.47 * (1 << 20)), mebibytes(558 << 20)
        ('1.0 MiB', '61.5 MiB', '558 MiB')
    """
    size = count / (1 << 20)
    return f"{size:,.0f} MiB" if size >= 100 else f"{size:.1f} MiB"


def percent(rate: float | None) -> str:
    """Return a rate as a percentage with one digit.

    Example:
        >>> percent(0.8981), percent(None)
        ('89.8%', 'not followed')
    """
    return "not followed" if rate is None else f"{100 * rate:.1f}%"


def verdict(plan: SchedulePlan, found: Recommendation | None = None) -> Statement:
    """Return the one sentence that sums up a plan.

    Args:
        plan: The plan.
        found: What a sweep recommended; on small grids it is made here.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.schedule.plan import plan
        >>> small = plan(make_design({"study": "schedule", "problem": [2400, 6000, 16384],
        ...     "tile": [128, 256, 256], "policy": "catlass", "offset": 3, "direction": "nz",
        ...     "workers": 24, "l2_bytes": 100663296}))
        >>> verdict(small).sentence
        'L2 hit rate 89.8%; Zn with offset 12 reaches 92.1%.'
    """
    metrics = plan.metrics
    if not metrics.coverage.exact:
        return _uncovered(metrics)
    facts = _facts(plan)
    if found is None and len(plan.schedule) <= QUICK_TASKS:
        found = recommended(plan.design)
    if metrics.operand_bytes <= plan.design.l2_bytes:
        return _fitting(plan, found, facts)
    missed = metrics.misses
    if missed is None:
        return Statement("attention", "L2 hit rate not followed.", f"{metrics.l2_note}. {facts}")
    rate = f"L2 hit rate {percent(missed.hit_rate)}"
    if found is None or found.best.hit_rate is None:
        # Nothing says that it is good, so it is not called so.
        return Statement("attention", f"{rate}; other settings not tried yet.", facts)
    facts = f"{facts} Tried: {found.tried}."
    edge = found.at_the_edge
    if found.best.hit_rate < missed.hit_rate + SAME:
        good = f"{rate}, as good as any setting tried"
        if edge:
            return Statement("attention", f"{good}; {edge}.", facts)
        return Statement("ok", f"{good}.", facts)
    sentence = f"{rate}; {_setting(found)} reaches {percent(found.best.hit_rate)}"
    return Statement("attention", f"{sentence}{f', {edge}' if edge else ''}.", facts)


def _fitting(plan: SchedulePlan, found: Recommendation | None, facts: str) -> Statement:
    """Say that only balance is left to choose by."""
    metrics = plan.metrics
    edges = " in whole tiles" if metrics.edges_note else ""
    fits = f"A and B, {mebibytes(metrics.operand_bytes)}{edges}, fit in L2"
    sentence = f"Order cannot change what is read: {fits}."
    if found is None or found.best.balance > metrics.balance - SAME:
        return Statement("ok", sentence, facts)
    better = f"balance {metrics.balance:.3f}, {_setting(found)} has {found.best.balance:.3f}"
    return Statement("attention", f"{sentence[:-1]}; {better}.", facts)


def _setting(found: Recommendation) -> str:
    """Return our pick in words: ``Zn with offset 12``."""
    candidate = found.best.candidate
    if candidate.policy != "catlass":
        return candidate.label
    parameters = dict(candidate.parameters)
    return f"{parameters['direction'].capitalize()} with offset {parameters['offset']}"


def _uncovered(metrics: Metrics) -> Statement:
    """Say which tiles are wrong, the first by name."""
    found = metrics.coverage
    parts = []
    for word, tiles in (("missed", found.missing), ("repeated", found.repeated)):
        if len(tiles):
            first = found.named(tiles[:1])[0]
            parts.append(f"{len(tiles)} {word}, the first {first}")
    return Statement("error", f"Not every tile once: {'; '.join(parts)}.", f"{found.tiles} tiles.")


def _facts(plan: SchedulePlan) -> str:
    metrics = plan.metrics
    rows = plan.baseline.misses
    start = "" if rows is None else f"Row-major {percent(rows.hit_rate)}. "
    covered = metrics.coverage
    once = f"Every tile once, {covered.tiles:,} of {covered.tiles:,}."
    if covered.outside:
        once += f" {covered.outside:,} launched outside the grid."
    return start + once


def tables(plan: SchedulePlan) -> tuple[TextTable, ...]:
    """Return the model's figures beside row-major, and what the policy decided."""
    name, metrics = plan.design.chosen.title, plan.metrics
    rows = [
        (label, mine, theirs)
        for label, mine, theirs in zip(
            LABELS, figures(metrics), figures(plan.baseline), strict=True
        )
    ]
    made = [TextTable("model", ("", name, "Row-major"), tuple(rows))]
    design = plan.design
    facts = [("rule", design.chosen.rule), ("tiles", "{} x {}".format(*plan.schedule.tiles))]
    facts += list(plan.schedule.tasks.facts)
    for note in (metrics.l2_note, metrics.edges_note and f"in all sizes, {metrics.edges_note}"):
        if note:
            facts.append(("note", note))
    made.append(TextTable(design.policy, ("", ""), tuple(facts)))
    return tuple(made)


LABELS = (
    "L2 hit rate",
    "missed",
    "mean wave footprint",
    "balance, largest / mean",
    "padding",
    "waves",
)


def figures(metrics: Metrics) -> tuple[str, ...]:
    """Return the figures of ``LABELS`` as text."""
    missed = metrics.misses
    return (
        percent(None if missed is None else missed.hit_rate),
        "not followed" if missed is None else mebibytes(missed.missed_bytes),
        mebibytes(float(metrics.footprints.mean())),
        f"{metrics.balance:.3f}",
        f"{100 * metrics.padding:.1f}%",
        str(metrics.schedule.waves),
    )
