"""A design's main pictures and tables, wherever several pages show any study's designs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from tileviz.figures.overview import Legend, Picture
from tileviz.studies.registry import study_of
from tileviz.studies.statement import TextTable
from tileviz.ui import html
from tileviz.ui.charts import chart_config


def draw_pictures(pictures: Sequence[Picture], key: str) -> None:
    """Draw pictures below each other, each with its title and legend.

    Args:
        pictures: From `tileviz.figures.overview.pictures`.
        key: Prefix of the charts' keys, unique on the page.
    """
    for number, picture in enumerate(pictures):
        st.html(html.panel(picture.name, picture.note))
        if picture.legend is not None:
            st.html(legend(picture.legend))
        st.plotly_chart(
            picture.figure,
            width="stretch" if picture.width is None else picture.width,
            theme=None,
            key=f"{key}.{number}",
            config=chart_config(key.replace(".", "-")),
            alt=picture.alt,
        )


def legend(of: Legend) -> str:
    """Return a legend as HTML.

    Example:
        >>> legend(Legend("Passes", (("#DAE1EA", "1"),))).count("<i ")
        1
    """
    items = "".join(
        f'<span><i style="background:{colour}"></i>{html.text(label)}</span>'
        for colour, label in of.entries
    )
    return f'<div class="tv-legend"><strong>{html.text(of.name)}</strong>{items}</div>'


def draw_tables(plan: Any) -> None:
    """Draw the tables with which a plan explains itself, as the terminal shows them."""
    for described in study_of(plan.design).explain.tables(plan):
        st.html(html.panel(described.title.capitalize()))
        st.html(text_table(described))


def text_table(of: TextTable) -> str:
    """Return a table as HTML.

    Example:
        >>> "<td>&lt;b&gt;</td>" in text_table(TextTable("t", ("a",), (("<b>",),)))
        True
    """
    rows = [tuple(map(html.text, row)) for row in of.rows]
    return f'<div class="tv-scroll">{html.table(of.columns, rows, label=of.title)}</div>'
