"""The Runs page's parts: the list, and one run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from tileviz import api
from tileviz.errors import DesignError
from tileviz.export.links import MAX_LINK, page_url, short_query
from tileviz.runners.store_entry import MAX_NAME, MAX_NOTE, KeptRun
from tileviz.runners.store_file import StoreUnavailable
from tileviz.runners.store_listing import History, Listing
from tileviz.studies.design import Design
from tileviz.studies.registry import make_design
from tileviz.ui import frame, html, inputs, sent
from tileviz.ui.explain import numbers_button
from tileviz.ui.run_table import RunView, run_table
from tileviz.ui.runs import editors, tables
from tileviz.ui.runs.state import PER_PAGE, Asked

_MAX_DOWNLOAD = 64 << 20
_TALL, _TALL_PIXELS = 18, 320
_FAULT = "runs.fault"
# What a run object that was tampered with, or that another version wrote, may raise when shown.
_SENSELESS = (KeyError, TypeError, ValueError, AttributeError)


def run_list(history: History, found: Listing, asked: Asked) -> None:
    """Draw a page of runs, the way to the next, and what can be done with many."""
    with st.container(key="runs_row_head", horizontal=True, vertical_alignment="center"):
        inputs.checkbox(
            "All of this page",
            key="runs.all",
            label_visibility="collapsed",
            on_change=_pick_all,
            args=(found.rows,),
        )
        st.html('<span class="tv-when">when, UTC</span>', width="content")
        st.html(tables.heads(), width="stretch")
    for run in found.rows:
        _row(run, asked)
    picked = [
        run.id for run in found.rows if run.id is not None and st.session_state.get(_pick_key(run))
    ]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _pages(found, asked)
        if picked:
            _delete(history, picked, asked)
        st.download_button(
            "Download all found",
            lambda: download(history, asked),
            file_name="tileviz-runs.jsonl",
            mime="application/jsonl",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
            help="JSON lines: one run a line, with its design and all that was measured.",
        )


def _row(run: KeptRun, asked: Asked) -> None:
    chosen = "chosen_" if run.key == asked.run else ""
    place = "".join(char if char.isalnum() else "_" for char in run.key)
    with st.container(
        key=f"runs_row_{chosen}{place}", horizontal=True, vertical_alignment="center"
    ):
        inputs.checkbox(
            f"Choose the run of {tables.when(run)}",
            key=_pick_key(run),
            label_visibility="collapsed",
            disabled=run.id is None,
        )
        inputs.button(
            tables.when(run),
            key=f"runs.open.{run.key}",
            type="tertiary",
            width=141,
            on_click=editors.show,
            args=(replace(asked, run=run.key),),
        )
        st.html(tables.row(run), width="stretch")


def _pick_key(run: KeptRun) -> str:
    return f"runs.pick.{run.key}"


def _pick_all(rows: Sequence[KeptRun]) -> None:
    for run in rows:
        if run.id is not None:
            st.session_state[_pick_key(run)] = st.session_state["runs.all"]


def _pages(found: Listing, asked: Asked) -> None:
    first = (asked.page - 1) * PER_PAGE + 1
    last = first + len(found.rows) - 1
    st.html(f'<p class="tv-note">{first} to {last} of {found.total}</p>', width="content")
    for label, icon, page, off in (
        ("Newer", ":material/chevron_left:", asked.page - 1, asked.page <= 1),
        ("Older", ":material/chevron_right:", asked.page + 1, last >= found.total),
    ):
        inputs.button(
            label,
            icon=icon,
            icon_position="left" if label == "Newer" else "right",
            key=f"runs.{label}",
            type="tertiary",
            disabled=off,
            on_click=editors.show,
            args=(replace(asked, page=page),),
        )


def _delete(history: History, picked: Sequence[int], asked: Asked) -> None:
    many = f"{len(picked)} run{'s' * (len(picked) != 1)}"
    with st.popover(f"Delete {many}", icon=":material/delete:", type="tertiary"):
        st.html(f'<p class="tv-body">This cannot be undone: {many} will be gone for good.</p>')
        inputs.button(
            f"Delete {many} for good",
            type="primary",
            key="runs.delete",
            on_click=_deleted,
            args=(history, tuple(picked), asked),
        )


def _deleted(history: History, picked: Sequence[int], asked: Asked) -> None:
    try:
        history.store.delete(picked)
    except StoreUnavailable as error:
        st.session_state[_FAULT] = f"Nothing was deleted: {error}"
        return
    st.session_state["runs.all"] = False
    if asked.run in map(str, picked):
        editors.show(replace(asked, run=""))


def download(history: History, asked: Asked) -> bytes:
    """Return everything found as JSON lines, up to a size; its last line says what is missing."""
    parts, total = [], 0
    for line in history.lines(asked.wanted):
        part = line.encode(errors="replace")
        total += len(part)
        if total > _MAX_DOWNLOAD:
            message = "cut here; python -m tileviz runs --export FILE.jsonl writes everything"
            parts.append(json.dumps(DesignError("download", message).to_json()).encode() + b"\n")
            break
        parts.append(part)
    return b"".join(parts)


def fault() -> None:
    """Say once what could not be done."""
    said = st.session_state.pop(_FAULT, "")
    if said:
        st.html(html.verdict("error", html.sentence(said)))


def one_run(history: History, asked: Asked) -> None:
    """Draw the chosen run: its result, its design, and what to do with them."""
    if not asked.run:
        st.html(
            html.empty(
                "No run chosen.", "Click the time of a run for its result, its design and its note."
            )
        )
        return
    try:
        run = history.get(asked.run)
    except StoreUnavailable as error:
        st.html(html.verdict("error", "This run cannot be read.", html.sentence(str(error))))
        return
    if run is None:
        missing = DesignError(
            "run", "there is no such run here; it may have been deleted", asked.run
        )
        st.html(html.error_box([html.Fault("Run", missing)]))
        return
    st.html(html.section(run.name or f"Run of {tables.when(run)}", run.recorded))
    said = run.outcome
    st.html(html.verdict(said.state, said.sentence, said.facts))
    design = _actions(run)
    _result(run)
    if design is not None:
        # Of the plan: a kept run holds counts, not the addresses they were made of.
        numbers_button("runs", partial(api.explain, design), "Explain a number of its plan")
    left, right = st.columns([1.35, 1], gap="medium")
    with left:
        st.html(html.panel("Design", "as a document"))
        _design(run)
    with right:
        st.html(html.panel("About this run"))
        st.html(tables.facts(run))
        if run.id is not None:
            _words(history, run, run.id)


def _result(run: KeptRun) -> None:
    try:
        table = run_table(RunView.of_json(run.run or {}), _no_gpu(run))
    except _SENSELESS:
        st.html(html.empty("Not shown.", "This version cannot read what was kept of the result."))
        return
    st.html(table)


def _no_gpu(run: KeptRun) -> tuple[str, str]:
    return ("not on a GPU", "no timing") if run.runner != "gpu" else ("", "")


def _actions(run: KeptRun) -> Design | None:
    """Draw the ways to go on from a run: its page, Compare, a file; return its design.

    There is none where this version cannot open it.
    """
    design = None
    text = json.dumps(run.design, indent=2, ensure_ascii=False)
    page = frame.page_of(run.study)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        try:
            design = make_design(run.design)
        except DesignError as error:
            said = f"This version cannot open the design: {error}."
            st.html(f'<p class="tv-note">{html.text(said)}</p>', width="content")
        else:
            if page is not None and len(page_url(design)) <= MAX_LINK:
                query = short_query(design)
                label = f"Open in {page.title}"
                st.page_link(page.script, label=label, icon=page.icon, query_params=query)
            elif page is not None:
                note = "Too long for a link: download the design, and open the file."
                st.html(f'<p class="tv-note">{note}</p>', width="content")
            sent.offer("runs.send", run.design)
        st.download_button(
            "Download design",
            text + "\n",
            file_name=f"{run.study}-{_file(run)}.json",
            mime="application/json",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
        )
    return design


def _file(run: KeptRun) -> str:
    return "".join(char if char.isalnum() else "-" for char in run.key).strip("-")


def _design(run: KeptRun) -> None:
    design = dict(run.design)
    source = design.pop("source", "")
    if isinstance(source, str) and source:
        _code(source, "cpp")
    _code(json.dumps(design, indent=2, ensure_ascii=False), "json")


def _code(text: str, language: str) -> None:
    tall = text.count("\n") > _TALL
    st.code(text, language=language, height=_TALL_PIXELS if tall else "content")


def _words(history: History, run: KeptRun, number: int) -> None:
    """Draw the name and note that a person gives a run."""
    known, words = f"runs.words_known.{number}", (run.name, run.note)
    if st.session_state.get(known) != words:
        # Named somewhere else, or here: the fields show what is kept.
        st.session_state[f"runs.name.{number}"], st.session_state[f"runs.note.{number}"] = words
        st.session_state[known] = words
    with st.form(f"runs.words.{number}", border=False):
        inputs.text_input("Name", key=f"runs.name.{number}", max_chars=MAX_NAME, in_form=True)
        inputs.text_area(
            "Note",
            key=f"runs.note.{number}",
            max_chars=MAX_NOTE,
            height=90,
            in_form=True,
        )
        inputs.submit_button(
            "Save", icon=":material/save:", on_click=_saved, args=(history, number)
        )


def _saved(history: History, number: int) -> None:
    name, note = (st.session_state[f"runs.{field}.{number}"] for field in ("name", "note"))
    try:
        history.store.annotate(number, name, note)
    except StoreUnavailable as error:
        st.session_state[_FAULT] = f"The name was not saved: {error}"
