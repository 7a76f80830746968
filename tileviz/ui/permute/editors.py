"""The design row and the fields behind it; all of them write one form."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from tileviz.dtypes import NAMES
from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, TileLayout, parse_layout
from tileviz.studies.design import MAX_RANK
from tileviz.ui import inputs
from tileviz.ui.controls import Controls, choose_preset
from tileviz.ui.permute.form import FIELDS, MAX_STAGES, SCOPES, SPACES, PermuteForm
from tileviz.ui.permute.state import RULES

_DTYPES = (*NAMES, "float32x2", "float32x4")


_CONTROLS = Controls("permute", RULES, PermuteForm, FIELDS)
key, fill, collect = _CONTROLS.key, _CONTROLS.fill, _CONTROLS.collect
_load_preset = _CONTROLS.load_preset


def design_row() -> None:
    """Draw preset, source, destination, dtype and stages in one row."""
    with st.container(key="design_row"):
        columns = st.columns([2.13, 2.82, 2.82, 1.15, 0.75], gap="xsmall")
    with columns[0]:
        choose_preset(RULES.presets(), key("preset"), _load_preset)
    with columns[1]:
        inputs.text_input("Source layout", key=key("src"), autocomplete="off")
    with columns[2]:
        inputs.text_input("Destination layout", key=key("dst"), autocomplete="off")
    with columns[3]:
        current = st.session_state[key("dtype")]
        names = _DTYPES if current in _DTYPES else (*_DTYPES, current)
        inputs.selectbox("dtype", names, key=key("dtype"), accept_new_options=True)
    with columns[4]:
        inputs.number_input("Stages", 1, MAX_STAGES, step=1, key=key("stages"))


def more_fields(*, with_tables: bool) -> None:
    """Draw shape, region and launch, which most designs leave alone.

    Args:
        with_tables: Whether to draw the tables of dimensions too. They load some 70 MB of
            libraries, so they wait until somebody looks.
    """
    with st.container(key="more_fields"):
        sides = st.columns(2, gap="medium")
        for column, side, name in zip(
            sides, ("src", "dst"), ("Source", "Destination"), strict=True
        ):
            with column:
                if with_tables:
                    _dimensions(side, name)
                inputs.text_input(
                    f"{name} shape", key=key(f"{side}_shape"), placeholder="the layout's extents"
                )
                inputs.text_input(
                    f"{name} region",
                    key=key(f"{side}_region"),
                    placeholder="whole, such as 0:4, 0:32",
                )
                inputs.text_input(
                    f"{name} dtype", key=key(f"{side}_dtype"), placeholder="the design's"
                )
        launch = st.columns([1, 1, 1, 1], gap="small", vertical_alignment="bottom")
        with launch[0]:
            inputs.selectbox("Memory", SPACES, key=key("space"))
        with launch[1]:
            inputs.selectbox("Scope", SCOPES, key=key("scope"))
        with launch[2]:
            inputs.text_input("Block", key=key("block"))
        with launch[3]:
            inputs.number_input("Stage dimension", 0, MAX_RANK - 1, step=1, key=key("stage_dim"))
        inputs.toggle("In place: source and destination share one buffer", key=key("in_place"))


def _dimensions(side: str, name: str) -> None:
    """Draw a layout's extents and strides as a table that writes back into the text."""
    text = st.session_state[key(side)]
    try:
        layout = parse_layout(text)
    except DesignError:
        st.caption(f"{name} dimensions appear once the layout can be read.")
        return
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    rows = [
        {"extent": item.extent, "stride": item.stride, "axis": item.axis} for item in tile.shard
    ]
    st.data_editor(
        rows,
        key=f"{key(side)}.dims.{text}",
        on_change=_rewrite,
        args=(side, f"{key(side)}.dims.{text}"),
        width="stretch",
        hide_index=True,
        column_config={
            "extent": st.column_config.NumberColumn(
                f"{name} extent", min_value=1, step=1, required=True
            ),
            "stride": st.column_config.NumberColumn("stride", step=1, required=True),
            "axis": st.column_config.TextColumn("axis", disabled=True),
        },
    )


def _rewrite(side: str, table: str) -> None:
    """Write an edited table of dimensions back into the layout text."""
    inputs.sync()
    changes = st.session_state[table]["edited_rows"]
    st.session_state[key(side)] = with_dimensions(st.session_state[key(side)], changes)


def with_dimensions(text: str, changes: Mapping[int, Mapping[str, object]]) -> str:
    """Return a layout's text with some extents and strides replaced.

    Args:
        text: Valid layout text.
        changes: New ``extent`` and ``stride`` by dimension; what is not a number is left alone.

    Example:
        >>> with_dimensions("S[(4, 32):(32, 1)] + 5", {0: {"extent": 8}, 1: {"stride": None}})
        'S[(8, 32):(32, 1)] + 5'
    """
    layout = parse_layout(text)
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    shard = []
    for index, item in enumerate(tile.shard):
        changed = changes.get(index, {})
        extent = _whole(changed.get("extent"), item.extent)
        stride = _whole(changed.get("stride"), item.stride)
        shard.append(item._replace(extent=max(extent, 1), stride=stride))
    edited = TileLayout(shard, tile.replica, dict(tile.offset))
    if isinstance(layout, ComposeLayout):
        return str(ComposeLayout(layout.swizzle, edited))
    return str(edited)


def _whole(value: object, otherwise: int) -> int:
    """Return a table's number; tables send whole numbers as floats at times."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else otherwise
