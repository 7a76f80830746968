"""Up to four orders of the same tiles side by side, as small maps with their numbers."""

from __future__ import annotations

import streamlit as st

from tileviz.errors import DesignError
from tileviz.figures.small_maps import small_map
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.plan import SchedulePlan
from tileviz.studies.schedule.recommend import (
    Candidate,
    Recommendation,
    offsets_and_directions,
    other_policies,
    rule_of_thumb,
)
from tileviz.ui import html, inputs
from tileviz.ui.charts import chart_config
from tileviz.ui.schedule import tables, timings
from tileviz.ui.schedule.cached import plan_of
from tileviz.ui.schedule.panels import chart_theme

_COMPARE, _COMPARE_WAS = "schedule.compare", "schedule.compare_was"
_MOST = 4
# Above this many tiles an order takes seconds to follow: fewer are compared unasked.
_HEAVY = 1 << 18


def section(plan: SchedulePlan, found: Recommendation | None) -> None:
    """Draw up to four orders of the same tiles as small maps."""
    st.html(html.section("Side by side", "same tiles, same colours; early is dark, late is bright"))
    known = _candidates(plan)
    _defaults(plan, found, known)
    chosen = inputs.multiselect(
        "Orders",
        list(known),
        key=_COMPARE,
        max_selections=_MOST,
        label_visibility="collapsed",
        placeholder="Choose up to four orders",
    )
    plans = {label: _planned(known[label], plan.design) for label in chosen}
    columns = st.columns(_MOST, gap="medium")
    for column, label in zip(columns, chosen, strict=False):
        with column:
            _small(known[label], plans[label], plan)
    timings.control([other.design for other in plans.values() if isinstance(other, SchedulePlan)])


def _planned(candidate: Candidate, design: ScheduleDesign) -> SchedulePlan | DesignError:
    """Return the plan of a candidate on a design's product, or why it does not take it."""
    try:
        return plan_of(candidate.design(design))
    except DesignError as error:
        return error


def _candidates(plan: SchedulePlan) -> dict[str, Candidate]:
    every = [*other_policies(), *offsets_and_directions(plan.design), rule_of_thumb(plan.design)]
    return {candidate.label: candidate for candidate in every}


def _defaults(
    plan: SchedulePlan, found: Recommendation | None, known: dict[str, Candidate]
) -> None:
    """Choose what is compared, as long as nobody chose otherwise."""
    wanted = ["row-major", rule_of_thumb(plan.design).label]
    if found is not None:
        wanted.append(found.best.candidate.label)
    wanted += ["Triton GROUP_M 8", "CUTLASS 3.x AlongM 8", "Hilbert"]
    most = _MOST if plan.design.grid.tiles * plan.design.batch <= _HEAVY else 2
    default = list(dict.fromkeys(name for name in wanted if name in known))[:most]
    now = st.session_state.get(_COMPARE)
    if now is None or now == st.session_state.get(_COMPARE_WAS):
        st.session_state[_COMPARE] = default
        st.session_state[_COMPARE_WAS] = default
    else:
        st.session_state[_COMPARE] = [name for name in now if name in known]


def _small(candidate: Candidate, other: SchedulePlan | DesignError, shown: SchedulePlan) -> None:
    """Draw one order with its numbers."""
    if isinstance(other, DesignError):
        st.html(html.empty(f"{candidate.label}.", html.sentence(str(other))))
        return
    time = timings.timings().medians.get(other.design)
    measured = None if time is None else timings.words(time)
    # What row-major costs is known already, as what the shown order is compared with.
    metrics = shown.baseline if other.design.policy == "row_major" else other.metrics
    plain = not candidate.label.startswith("catlass")
    name = candidate.label[:1].upper() + candidate.label[1:] if plain else candidate.label
    st.html(tables.small_title(name, metrics, measured))
    st.plotly_chart(
        small_map(other, chart_theme()),
        width="stretch",
        theme=None,
        key=f"schedule.small.{candidate.label}",
        config=chart_config("order"),
        alt=f"{name}: the order of the tiles, first dark, last bright.",
    )
