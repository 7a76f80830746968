"""The Broadcast page's panels below the verdict: axes, loads, decision, one block, bandwidth."""

from __future__ import annotations

import streamlit as st

from tileviz.figures import broadcast as figure
from tileviz.figures.tokens import PRINT
from tileviz.studies.broadcast import explain
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.plan import BroadcastPlan
from tileviz.studies.broadcast.portion import Version
from tileviz.ui import frame, html, inputs
from tileviz.ui.broadcast.axes import axes
from tileviz.ui.broadcast.blocks import block_title, state_legend, where
from tileviz.ui.broadcast.cached import blocks_of, picture_of, versions_of
from tileviz.ui.broadcast.decision import finder, finder_table, no_finder, path
from tileviz.ui.broadcast.loads import loads, proof
from tileviz.ui.charts import chart_config

_OPERAND, _BLOCK, _WARP = "broadcast.operand", "broadcast.block", "broadcast.warp"
_GREY, _PLACE_OF = "broadcast.grey", "broadcast.place_of"


def decision(plan: BroadcastPlan) -> None:
    """Draw axes and loads beside the decision path and the block-size finder."""
    left, right = st.columns([1.25, 1], gap="medium")
    with left:
        st.html(html.panel("Axes", "of the output, as the operands see them"))
        st.html(axes(plan))
        st.html(html.panel("Loads of one broadcast value", "each thread, from global memory"))
        st.html(loads(plan))
        if plan.proof is not None:
            st.html(proof(plan.proof))
    with right:
        st.html(html.panel("Decision path", "CINN's own order; the first stop wins"))
        st.html(path(plan))
        _finder(plan)


def _finder(plan: BroadcastPlan) -> None:
    found = explain.block_sizes(plan) if plan.cinn.branch == "nhwc" else ()
    if not found:
        st.html(html.panel("Block size"))
        st.html(no_finder(plan))
        return
    note = (
        f"every multiple of 32, for C = {plan.design.out[-1]:,}; below it the share of lanes used"
    )
    st.html(html.panel("Block size K", note))
    st.html(finder(found))
    with st.expander("All candidates as a table"):
        st.html(finder_table(found))


@st.fragment
def pictures(plan: BroadcastPlan) -> None:
    """Draw one warp of a block before and after, cell by cell."""
    design = plan.design
    st.html(html.section("One block, thread by thread", "which loads a block repeats"))
    shown = {version: blocks_of(design, version) for version in versions_of(design)}
    sizes: dict[Version, tuple[int, int]] = {
        version: size for version, size in shown.items() if not isinstance(size, str)
    }
    if not sizes:
        st.html(html.empty("Nothing to draw.", html.sentence(str(shown["ours"]))))
        return
    operand, block, warp = _place(design, sizes)
    theme = PRINT if st.session_state.get(_GREY) else frame.theme()
    drawn = {
        version: picture_of(design, version, operand, min(block, size[0] - 1))
        for version, size in sizes.items()
    }
    warps = {version: min(warp, figure.warps(found) - 1) for version, found in drawn.items()}
    parts = [figure.warp_states(found, warps[version]) for version, found in drawn.items()]
    framed = any(figure.few_again(found, warps[version]) for version, found in drawn.items())
    st.html(state_legend(design.names[operand], parts, theme, framed=framed))
    for version, size in shown.items():
        if isinstance(size, str):
            st.html(block_title(plan, version, "", ""))
            st.html(html.empty("Not drawn.", html.sentence(size)))
            continue
        found = drawn[version]
        st.html(block_title(plan, version, figure.counts(found), where(found, warps[version])))
        st.plotly_chart(
            figure.warp_map(found, warps[version], theme),
            width="stretch",
            theme=None,
            key=f"broadcast.map.{version}",
            config=chart_config("broadcast"),
            alt=figure.describe(found, warps[version]),
        )


def _place(design: BroadcastDesign, sizes: dict[Version, tuple[int, int]]) -> tuple[int, int, int]:
    """Draw the choice of operand, block and warp; a new design starts at the first."""
    if st.session_state.get(_PLACE_OF) != design:
        st.session_state[_OPERAND] = _first_operand(design)
        st.session_state[_BLOCK] = st.session_state[_WARP] = 0
        st.session_state[_PLACE_OF] = design
    most = max(size[0] for size in sizes.values()) - 1
    last = -(-max(size[1] for size in sizes.values()) // figure.LANES) - 1
    with st.container(key="block_controls"):
        columns = st.columns([1, 1, 1, 1.2, 3], gap="small", vertical_alignment="bottom")
    with columns[0]:
        operand = inputs.selectbox(
            "Operand",
            range(len(design.names)),
            key=_OPERAND,
            format_func=lambda at: design.names[at],
            disabled=len(design.names) == 1,
        )
    with columns[1]:
        block = inputs.number_input("Block", 0, max(most, 1), step=1, key=_BLOCK, disabled=not most)
    with columns[2]:
        warp = inputs.number_input("Warp", 0, max(last, 1), step=1, key=_WARP, disabled=not last)
    with columns[3]:
        inputs.toggle("Greys, for print", key=_GREY)
    return int(operand or 0), block or 0, warp or 0


def _first_operand(design: BroadcastDesign) -> int:
    """Return the first operand that is broadcast, or the first at all."""
    wanted = (at for at, access in enumerate(design.accesses) if access == "broadcast")
    return next(wanted, 0)
