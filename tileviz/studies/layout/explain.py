"""The layout plan in words."""

from __future__ import annotations

from tileviz.studies.layout.plan import LayoutPlan
from tileviz.studies.statement import Statement, TextTable

_SHOWN = 64


def verdict(plan: LayoutPlan) -> Statement:
    """Return the one sentence that sums up an operation.

    Example:
        >>> from tileviz import api
        >>> verdict(api.plan(api.design(study="layout", op="span", layout="S[4:2]"))).sentence
        'span gives S[4:2].'
    """
    if plan.result is None:
        return Statement("reject", f"{plan.design.op} gives nothing.", plan.reason or "")
    return Statement("ok", f"{plan.design.op} gives {plan.result}.")


def tables(plan: LayoutPlan) -> tuple[TextTable, ...]:
    """Return spans and the first addresses, for the terminal."""
    found = []
    if plan.value is not None:
        rows = tuple((axis, str(span)) for axis, span in plan.value.items())
        found.append(TextTable("span", ("axis", "elements"), rows))
    if plan.table is not None:
        rows = tuple(
            (axis, " ".join(map(str, places[:_SHOWN].tolist())) + " ..." * (len(places) > _SHOWN))
            for axis, places in plan.table.items()
        )
        found.append(TextTable("address of every element", ("axis", "addresses"), rows))
    return tuple(found)
