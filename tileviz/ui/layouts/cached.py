"""The engine's answers about layouts, shared by all sessions.

Designs are frozen and hashable, so they are the keys; what is kept is small and never changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tileviz.figures.layout_views import most_columns, most_physical_columns
from tileviz.layouts import LayoutError
from tileviz.studies.layout import explain
from tileviz.studies.layout.design import LayoutDesign
from tileviz.studies.layout.forms import Facts, digits_table, facts_of, printed_forms
from tileviz.studies.layout.grid import Grid, Layout, logical_grid
from tileviz.studies.layout.physical import physical_grid
from tileviz.studies.layout.plan import LayoutPlan, plan
from tileviz.studies.statement import Statement, TextTable

Side = Literal["operand", "result"]


@lru_cache(maxsize=64)
def plan_of(design: LayoutDesign) -> LayoutPlan:
    """Return the plan of a design."""
    return plan(design)


@lru_cache(maxsize=64)
def verdict_of(design: LayoutDesign) -> Statement:
    """Return the verdict, which looks at every element once."""
    return explain.verdict(plan_of(design))


@dataclass(frozen=True, eq=False)
class Shown:
    """Everything the page shows of one layout.

    Attributes:
        layout: The layout.
        facts: What is true of it.
        logical: Its elements.
        physical: Its addresses, None where they cannot be drawn.
        reason: Why they cannot.
        forms: The layout as text: (name, text).
        digits: Its parts.
        table: What is true of it, in words.
    """

    layout: Layout
    facts: Facts
    logical: Grid
    physical: Grid | None
    reason: str
    forms: tuple[tuple[str, str], ...]
    digits: TextTable
    table: TextTable


@lru_cache(maxsize=32)
def shown(design: LayoutDesign, side: Side) -> Shown:
    """Return what the page shows of a design's operand, or of its result.

    Args:
        design: The design.
        side: ``result`` only where the operation has one.
    """
    made = plan_of(design)
    layout, shape = made.operand, made.operand_shape
    if side == "result" and made.result is not None:
        layout, shape = made.result, made.result_shape
    facts = facts_of(layout, shape)
    width = design.element_bytes
    block = design.inner_shape if side == "result" and len(shape) > 1 else None
    logical = logical_grid(
        layout, shape, element_bytes=width, max_columns=most_columns(facts), block=block
    )
    physical, reason = None, ""
    try:
        physical = physical_grid(
            layout, shape, element_bytes=width, max_columns=most_physical_columns(facts)
        )
    except LayoutError as error:
        reason = str(error)
    table = explain.facts_table(made, layout, shape)
    return Shown(
        layout, facts, logical, physical, reason, printed_forms(layout), digits_table(layout), table
    )


def one_number(design: LayoutDesign) -> str:
    """Return what is true of a design's result, in a few words, for the gallery.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> print(one_number(preset("layout-padded-33").design))
        1024 elements, addresses 0 to 1054, 31 of them idle
    """
    made = plan_of(design)
    if made.result is None:
        return made.reason or ""
    facts = facts_of(made.result, made.result_shape)
    copies = f", {facts.copies} copies of each" if facts.copies > 1 else ""
    return f"{facts.size} elements{copies}, {facts.addresses.replace('addresses: ', '')}"
