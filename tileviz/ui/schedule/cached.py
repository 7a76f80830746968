"""The engine's answers that the page asks for again and again, shared by all sessions.

Designs are frozen and hashable, so they are the keys; nothing that is kept ever changes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import plotly.graph_objects as go

from tileviz.figures.schedule import order_figure
from tileviz.figures.tokens import THEMES
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.plan import SchedulePlan, plan


@lru_cache(maxsize=16)
def plan_of(design: ScheduleDesign) -> SchedulePlan:
    """Return the plan of a design; its figures are computed once."""
    return plan(design)


@lru_cache(maxsize=16)
def map_of(
    design: ScheduleDesign, wave: int, theme: str, batch: int, task: int | None
) -> go.Figure:
    """Return the order map of a design, by the name of its theme."""
    return order_figure(plan_of(design), wave, THEMES[theme], batch, task)


def policy_of(design: ScheduleDesign) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """Return the policy of a design and its parameters, as candidates of a sweep name them."""
    chosen = design.parameters.model_dump(mode="json")
    return design.policy, tuple(chosen.items())
