"""A lesson's prose, pictures and fields to play with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from tileviz.errors import DesignError
from tileviz.export.links import short_query
from tileviz.figures.overview import Picture, pictures
from tileviz.lessons import Edit, Figure, Lesson, Prose, with_typed
from tileviz.lessons.expressions import filled
from tileviz.lessons.model import Bits, Reference
from tileviz.lessons.reasons import reason
from tileviz.lessons.results import plan_of
from tileviz.studies.access.cell import cell, formula
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.design import Design
from tileviz.studies.registry import study_of
from tileviz.ui import frame, html, inputs
from tileviz.ui.access import tables as access_tables
from tileviz.ui.lessons import tables
from tileviz.ui.overview import draw_pictures


def prose(lesson: Lesson, part: Prose) -> None:
    """Draw Markdown text, its numbers worked out; HTML in it is shown as text."""
    st.markdown(filled(part.text, lesson.names))


def figure(lesson: Lesson, part: Figure, key: str) -> None:
    """Draw the pictures of designs under one caption."""
    shown(lesson.designs, part.shown, key)
    st.html(tables.caption(part.caption))


def shown(designs: Mapping[str, Design], refs: Sequence[Reference], key: str) -> None:
    """Draw the pictures that some references name, with one scale for all of one study.

    Args:
        designs: Designs by name.
        refs: Which of them, and which of their pictures.
        key: Prefix of the charts' keys, unique on the page.
    """
    names = tuple(dict.fromkeys(ref.name for ref in refs))
    drawn = dict(
        zip(names, pictures([plan_of(designs[name]) for name in names], frame.theme()), strict=True)
    )
    for number, ref in enumerate(refs):
        every = drawn[ref.name]
        chosen = every if ref.picture is None else every[ref.picture - 1 : ref.picture]
        named = [_named(picture, ref.name) if len(names) > 1 else picture for picture in chosen]
        draw_pictures(named, f"{key}.{number}")


def _named(picture: Picture, name: str) -> Picture:
    """Return a picture that says whose it is."""
    return replace(picture, name=f"{title_of(name)}: {picture.name[:1].lower()}{picture.name[1:]}")


def title_of(name: str) -> str:
    """Return a design's name for people.

    Example:
        >>> title_of("every_second")
        'Every second'
    """
    return name.replace("_", " ").capitalize()


def bits(lesson: Lesson, part: Bits) -> None:
    """Draw one element's way to its bank."""
    design = lesson.designs[part.name]
    if not isinstance(design, AccessDesign):
        raise DesignError(part.name, "bits are drawn of an access design", design.study)
    found = cell(design, part.coordinate)
    at = ", ".join(map(str, part.coordinate))
    st.html(html.panel("One element, bit by bit", f"({at}) of {design.layout}"))
    st.html(access_tables.bits(found.steps))
    st.html(access_tables.bits_legend(found.steps, found.unit))
    moved = f", stored at {found.place}" if found.place != found.offset else ""
    where = f"Element {formula(design, found)}{moved}; byte {found.byte}, bank {found.bank}."
    st.html(tables.caption(f"{part.caption} {where}".strip()))


def edit(lesson: Lesson, part: Edit, key: str) -> None:
    """Draw a field to play with: what is typed is planned and drawn, a fault is pointed at."""
    asked = part.edit
    st.markdown(filled(asked.say, lesson.names))
    label = asked.label or asked.field
    typed = typed_field(label, asked.template, asked.start, key)
    made, fault = st.session_state.get(f"{key}.made"), None
    try:
        made = with_typed(lesson.designs, asked, typed)
        st.session_state[f"{key}.made"] = made
    except DesignError as error:
        fault = error
        note = "The last valid one stays below." if made is not None else ""
        st.html(html.error_box([html.Fault(label, error)], note))
    if made is None:
        return
    said = study_of(made).explain.verdict(plan_of(made))
    st.html(html.verdict(said.state, said.sentence))
    if fault is None:
        st.html(tables.caption(reason(made).removeprefix(said.sentence).strip()))
    shown({"made": made}, [Reference("made", asked.show)], f"{key}.shown")
    full_page(made, key)


def typed_field(label: str, template: str, start: str, key: str, *, in_form: bool = False) -> str:
    """Draw a field for a design's text, what stands around it above; return what is typed."""
    before, _, after = template.partition("{}")
    if "\n" in template:
        st.code(f"{before}/* {label} */{after}", language="cpp", line_numbers=True)
    said = html.literal(label)
    if (before or after) and "\n" not in template and "`" not in template:
        said += f": the ? in `{before}?{after}`"
    return inputs.text_input(said, key=key, value=start, max_chars=400, in_form=in_form)


def full_page(design: Design, key: str, name: str = "") -> None:
    """Draw the link to the page that shows everything of a design, with its name if given."""
    page = frame.page_of(design.study)
    if page is None:
        return
    with st.container(key=f"{key}.link"):
        st.page_link(
            page.script,
            label=f"Open {html.literal(name)} in {page.title}" if name else f"Open in {page.title}",
            icon=":material/open_in_full:",
            query_params=short_query(design),
        )
