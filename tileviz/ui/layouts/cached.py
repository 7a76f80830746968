"""The engine's answers about layouts, shared by all sessions.

Designs are frozen and hashable, so they are the keys; what is kept is small and never changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tileviz.figures.layout_views import Drawn, Side, drawn
from tileviz.studies.layout import explain
from tileviz.studies.layout.design import LayoutDesign
from tileviz.studies.layout.forms import Facts, digits_table, facts_of, printed_forms
from tileviz.studies.layout.grid import Grid
from tileviz.studies.layout.plan import LayoutPlan, plan
from tileviz.studies.statement import Statement, TextTable


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
        drawn: Its pictures.
        forms: The layout as text: (name, text).
        digits: Its parts.
        table: What is true of it, in words.
    """

    drawn: Drawn
    forms: tuple[tuple[str, str], ...]
    digits: TextTable
    table: TextTable

    @property
    def facts(self) -> Facts:
        """What is true of it."""
        return self.drawn.facts

    @property
    def logical(self) -> Grid:
        """Its elements."""
        return self.drawn.logical

    @property
    def physical(self) -> Grid | None:
        """Its addresses, None where they cannot be drawn."""
        return self.drawn.physical


@lru_cache(maxsize=32)
def shown(design: LayoutDesign, side: Side) -> Shown:
    """Return what the page shows of a design's operand, or of its result.

    Args:
        design: The design.
        side: ``result`` only where the operation has one.
    """
    made = plan_of(design)
    found = drawn(made, side)
    table = explain.facts_table(made, found.layout, found.shape)
    return Shown(found, printed_forms(found.layout), digits_table(found.layout), table)


def one_number(design: LayoutDesign) -> str:
    """Return what is true of a design's result, in a few words, for the gallery.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> print(one_number(preset("layout-padded-33").design))
        1,024 elements, addresses 0 to 1054, 31 of them idle
    """
    made = plan_of(design)
    if made.result is None:
        return made.reason or ""
    facts = facts_of(made.result, made.result_shape)
    copies = f", {facts.copies} copies of each" if facts.copies > 1 else ""
    return f"{facts.size:,} elements{copies}, {facts.addresses.replace('addresses: ', '')}"
