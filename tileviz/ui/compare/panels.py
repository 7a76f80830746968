"""The Compare page below its controls: verdict, inputs, numbers, pictures, CUDA, runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from tileviz.comparing.code import NO_CUDA
from tileviz.comparing.comparison import Comparison
from tileviz.comparing.pairs import Pair, pair_file
from tileviz.comparing.report import Runs, report_of
from tileviz.comparing.running import Both
from tileviz.export.links import MAX_LINK, page_url, to_query
from tileviz.figures.overview import Picture
from tileviz.studies.derivation import Numbers
from tileviz.studies.design import Design
from tileviz.studies.registry import study_of
from tileviz.ui import explain, frame, html, inputs
from tileviz.ui.compare import editors, tables
from tileviz.ui.compare.cached import cuda_difference, cuda_of, pictures_of, verdict_of
from tileviz.ui.compare.fitting import fitted
from tileviz.ui.compare.starts import starts
from tileviz.ui.compare.state import too_long
from tileviz.ui.overview import draw_pictures, draw_tables

# Two of them fit beside each other into a window of 1280 pixels.
_BESIDE = 488
_SIDES = ("left", "right")
_SIZE, _SIZES = "compare.pictures", ("Side by side", "Full size")


def empty() -> None:
    """Say what the page is for, and offer pairs to begin with."""
    st.html(
        html.empty(
            "Nothing to compare yet.",
            "Paste two links above, choose presets, open files, or press “Send to compare” on any "
            "page. The two designs then stand side by side: which is better and by how much, every "
            "input and number that differs, the pictures on one scale, and the CUDA line by line. "
            "One link holds both.",
        )
    )
    st.html(html.panel("Or start with a pair"))
    columns = st.columns(3, gap="small")
    for number, (column, start) in enumerate(zip(columns, starts(), strict=True)):
        with column, st.container(border=True, height="stretch"):
            inputs.button(
                start.title,
                key=f"compare.start.{number}",
                icon=":material/compare_arrows:",
                width="stretch",
                on_click=editors.start_with,
                args=(start.pair,),
            )
            st.html(f'<p class="tv-note">{html.text(start.note)}</p>')


def share(pair: Pair, comparison: Comparison | None, runs: Runs) -> None:
    """Draw the one link, the file and the report of both.

    Args:
        pair: What the page shows.
        comparison: The comparison, None where there is none.
        runs: What was measured on this page.
    """
    length = too_long(pair)
    if length:
        note = (
            f"This comparison is too long for a link ({length:,} characters). Hand on the file "
            "instead: it opens here under “Open”."
        )
        st.html(f'<p class="tv-note">{html.text(note)}</p>')
    else:
        st.html('<p class="tv-note">The address bar holds both designs, names and note:</p>')
        st.code(_base() + pair.link(), language=None, wrap_lines=True)
    st.download_button(
        "Comparison file",
        pair_file(pair),
        file_name="comparison.json",
        mime="application/json",
        icon=":material/download:",
        width="stretch",
        on_click="ignore",
        help="Both designs, their names and the note; it can be opened again here.",
    )
    if comparison is not None:
        st.download_button(
            "Report of both",
            # Made when it is asked for: figures and plotting code are megabytes.
            lambda: report_of(comparison, runs),
            file_name="comparison.html",
            mime="text/html",
            icon=":material/description:",
            width="stretch",
            on_click="ignore",
            help="One HTML file that opens offline: verdict, inputs, figures, CUDA, and what was "
            "measured here.",
        )


def _base() -> str:
    """Return the address that the app is served at, "" where it is unknown."""
    return str(st.context.url or "").rpartition("/")[0]


def alone(pair: Pair) -> None:
    """Show the sides that there are, where there are not two of one study."""
    known = [
        (side, design)
        for side, design in (("left", pair.left), ("right", pair.right))
        if design is not None
    ]
    if len(known) == 2:
        titles = [_page_title(design) for _, design in known]
        said = f"Not comparable: left is of {titles[0]}, right is of {titles[1]}."
        st.html(html.verdict("reject", said, "Designs of one study compare."))
    elif known:
        other = "right" if known[0][0] == "left" else "left"
        st.html(html.empty(f"The {other} side is empty.", "Paste a link, or choose a design."))
    parts = [(_name(pair, side), design) for side, design in known]
    if parts:
        st.html(tables.sides([(name, verdict_of(design)) for name, design in parts]))
        page_links(parts)
        columns = st.columns(len(parts), gap="medium")
        for number, (column, (_, design)) in enumerate(zip(columns, parts, strict=True)):
            with column:
                shown = pictures_of((design,), frame.theme())[0]
                draw_pictures(shown, f"compare.alone.{number}")


def _name(pair: Pair, side: str) -> str:
    name: str = getattr(pair, f"{side}_name").strip()
    return name or side.capitalize()


def _page_title(design: Design) -> str:
    page = frame.page_of(design.study)
    return design.study if page is None else page.title


def page_links(parts: Sequence[tuple[str, Design]]) -> None:
    """Draw a link from each design to its own page."""
    with st.container(key="compare_links"):
        columns = st.columns(len(parts), gap="small")
    for column, (name, design) in zip(columns, parts, strict=True):
        page = frame.page_of(design.study)
        # What does not fit into a link would arrive there in pieces.
        if page is None or len(page_url(design)) > MAX_LINK:
            continue
        with column:
            st.page_link(
                page.script,
                label=f"Open {html.literal(_inside(name))} in {page.title}",
                icon=page.icon,
                query_params=to_query(design),
            )


def _inside(name: str) -> str:
    return name.lower() if name in ("Left", "Right") else name


def verdict(found: Comparison, both: Both | None) -> None:
    """Draw which side is better; where the plans leave that open, the runs say it."""
    said = found.statement
    if found.better == "open" and both is not None and both.rows(found):
        said = both.statement(found)
    st.html(html.verdict(said.state, said.sentence, said.facts))
    if found.note.strip():
        st.html(tables.note(found.note.strip()))


def body(found: Comparison) -> None:
    """Draw a comparison below its verdict."""
    parts = list(zip(found.names, (found.left, found.right), strict=True))
    st.html(tables.sides([(name, side.statement) for name, side in parts]))
    page_links([(name, side.design) for name, side in parts])
    left, right = st.columns([1, 1.12], gap="medium")
    with left:
        st.html(html.panel("Inputs", _count_of_differences(found)))
        st.html(tables.inputs(found))
    with right:
        st.html(html.panel("Numbers", "predicted, from the plans"))
        st.html(tables.numbers(found.rows, found.names, "Predicted numbers"))
    _explanations(found)
    _pictures(found)
    _tables(found)
    _cuda(found)


@st.fragment
def _explanations(found: Comparison) -> None:
    """Draw a button for each side that unfolds any of its numbers."""
    names = [_inside(name) for name in found.names]
    with st.container(horizontal=True, gap="medium"):
        opened = [
            explain.switch(f"compare.{side}", f"Explain a number of {html.literal(name)}")
            for side, name in zip(_SIDES, names, strict=True)
        ]
    for side, shown, plan in zip(_SIDES, opened, (found.left.plan, found.right.plan), strict=True):
        if shown:
            explain.panel(f"compare.{side}", partial(_numbers_of, plan))


def _numbers_of(plan: Any) -> Numbers:
    numbers: Numbers = study_of(plan.design).derive.numbers(plan)
    return numbers


def _count_of_differences(found: Comparison) -> str:
    count = sum(not field.same for field in found.fields)
    return f"{count} of {len(found.fields)} differ, defaults included"


def _pictures(found: Comparison) -> None:
    drawn = pictures_of((found.left.design, found.right.design), frame.theme())
    if not any(drawn):
        return
    with st.container(key="compare_head", horizontal=True, vertical_alignment="center"):
        st.html(html.section("Pictures", "both on the same scales and colours"), width="stretch")
        st.session_state.setdefault(_SIZE, _SIZES[0])
        size = inputs.segmented_control(
            "Size of the pictures",
            _SIZES,
            key=_SIZE,
            required=True,
            label_visibility="collapsed",
        )
    rows = _rows(drawn[0], drawn[1])
    if size == _SIZES[1]:
        _full_size(found.names, rows)
    else:
        _beside(found.names, rows)


_Row = tuple[Picture | None, Picture | None]


def _rows(left: Sequence[Picture], right: Sequence[Picture]) -> list[_Row]:
    """Return the pictures of both, those of one name beside each other."""
    others = {picture.name: picture for picture in right}
    rows: list[_Row] = [(picture, others.pop(picture.name, None)) for picture in left]
    for at, picture in enumerate(right):
        if picture.name in others:
            rows.insert(at, (None, picture))
    return rows


def _beside(names: tuple[str, str], rows: Sequence[_Row]) -> None:
    """Draw like beside like, as narrow as half a window allows."""
    for column, name in zip(st.columns(2, gap="small"), names, strict=True):
        with column:
            st.html(_side_head(name))
    for at, row in enumerate(rows):
        for number, (column, picture) in enumerate(
            zip(st.columns(2, gap="small"), row, strict=True)
        ):
            with column:
                if picture is not None:
                    draw_pictures([fitted(picture, _BESIDE)], f"compare.{number}.{at}")
                else:
                    other = row[1 - number]
                    st.html(html.panel("" if other is None else other.name, "not of this design"))


def _full_size(names: tuple[str, str], rows: Sequence[_Row]) -> None:
    """Draw like next to like, beside each other only where a window is wide enough."""
    for at, row in enumerate(rows):
        widths = [picture.width for picture in row if picture is not None]
        wide = max((width for width in widths if width is not None), default=None)
        with st.container(horizontal=wide is not None, gap="medium"):
            for number, (name, picture) in enumerate(zip(names, row, strict=True)):
                if picture is not None:
                    with st.container(width="stretch" if wide is None else wide):
                        st.html(_side_head(name))
                        draw_pictures([picture], f"compare.full.{number}.{at}")


def _side_head(name: str) -> str:
    return f'<p class="tv-side-head">{html.text(name)}</p>'


def _tables(found: Comparison) -> None:
    with st.expander("Tables of both plans"):
        for column, name, side in zip(
            st.columns(2, gap="medium"), found.names, (found.left, found.right), strict=True
        ):
            with column:
                st.html(_side_head(name))
                draw_tables(side.plan)


def _cuda(found: Comparison) -> None:
    designs = found.left.design, found.right.design
    codes = [cuda_of(design) for design in designs]
    if not any(code.source or code.reason != NO_CUDA for code in codes):
        return
    st.html(html.section("CUDA", "the texts that run, line by line"))
    if all(code.source for code in codes):
        difference = cuda_difference(*designs)
        st.html(f'<p class="tv-note">{html.text(difference.said)}</p>')
        st.html(tables.code(difference, found.names))
        return
    columns = st.columns(2, gap="medium")
    for column, name, code in zip(columns, found.names, codes, strict=True):
        with column:
            st.html(html.panel(name))
            if code.source:
                st.code(code.source, language="cpp", line_numbers=True)
            else:
                st.html(html.empty("No CUDA.", html.sentence(code.reason)))
