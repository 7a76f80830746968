"""One menu on every study's page: everything that a design can be taken away as."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from urllib.parse import urlsplit

import streamlit as st

from tileviz import api
from tileviz.errors import DesignError
from tileviz.export.links import MAX_LINK, page_url
from tileviz.export.report import MAX_NOTE, MAX_TITLE
from tileviz.export.script import pycuda_script
from tileviz.export.snippets import standalone_cu
from tileviz.reviewing import report_of
from tileviz.studies.design import Design
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import study_of
from tileviz.ui import html, inputs, machine, sent

_SHORT_LINK, _LINK_PIXELS = 300, 120
_LOCAL = ("localhost", "127.0.0.1", "::1")


def take_away(page: str, design: Design) -> None:
    """Draw the button that opens the menu; nothing in it is made before it is opened.

    Args:
        page: The page, for keys.
        design: What the page shows.
    """
    _menu(page, design)


@st.fragment
def _menu(page: str, design: Design) -> None:
    opened = st.popover(
        "Export",
        icon=":material/ios_share:",
        type="tertiary",
        key=f"{page}.export",
        on_change="rerun",
        width="content",
    )
    if not opened.open:
        return
    with opened, st.container(key=f"export_{page}", width="stretch", gap="small"):
        _files(page, design)
        _link(design)
        sent.offer(f"{page}.export.send", design.document())
        _report(page, design)


@dataclass(frozen=True)
class _Runs:
    """The kernel of a design, by name, or why there is none."""

    entry: str
    reason: str = ""


@lru_cache(maxsize=64)
def _runs(design: Design) -> _Runs:
    if not study_of(design).runnable:
        return _Runs("", "this study generates none")
    try:
        return _Runs(api.program(design).entry)
    except DesignError as error:
        return _Runs("", error.message)
    except NotRunnable as error:
        return _Runs("", str(error))


def _files(page: str, design: Design) -> None:
    """Offer the two programs, each of which checks itself, and the document."""
    found = _runs(design)
    if not found.entry:
        st.html(f'<p class="tv-note">No CUDA: {html.text(html.sentence(found.reason))}</p>')
    with st.container(horizontal=True, gap="small"):
        if found.entry:
            _download(
                "CUDA program",
                lambda: standalone_cu(api.program(design)),
                f"{found.entry}.cu",
                "text/plain",
                f"{page}.export.cu",
                f"One file: kernel, main, and a check of the output. nvcc {found.entry}.cu",
            )
            _download(
                "PyCUDA script",
                lambda: pycuda_script(api.program(design)),
                f"{found.entry}.py",
                "text/x-python",
                f"{page}.export.py",
                "One file: the same in Python, checked against NumPy.",
            )
        _download(
            "Design, JSON",
            json.dumps(design.document(), indent=2, ensure_ascii=False) + "\n",
            f"{design.study}.json",
            "application/json",
            f"{page}.export.json",
            f"For the command line: tileviz plan {design.study}.json",
        )


def _download(
    label: str, data: str | Callable[[], str], name: str, mime: str, key: str, about: str
) -> None:
    # A function as data is called when the button is pressed, never on a rerun.
    st.download_button(
        label,
        data,
        file_name=name,
        mime=mime,
        key=key,
        icon=":material/download:",
        width="stretch",
        on_click="ignore",
        help=about,
    )


def _link(design: Design) -> None:
    st.html(html.panel("Link", "complete: it opens this very design"))
    link = page_url(design)
    if len(link) > MAX_LINK:
        note = (
            f"This design is too long for a link ({len(link):,} characters, at most {MAX_LINK:,} "
            "are read). Hand on its JSON instead."
        )
        st.html(f'<p class="tv-note">{html.text(note)}</p>')
        return
    # The text of a kernel fills many lines; the button copies all of them.
    height: int | Literal["content"] = _LINK_PIXELS if len(link) > _SHORT_LINK else "content"
    st.code(_server() + link, language=None, wrap_lines=True, height=height)


def _server() -> str:
    """Return the address of this server, "" where it is not known."""
    parts = urlsplit(st.context.url or "")
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


@dataclass(frozen=True)
class _Asked:
    """A report that was asked for: of which design, with which words, run or not."""

    design: Design
    title: str
    note: str
    run: bool

    @property
    def holds(self) -> str:
        """What the report is made of, in words: the fields may have been changed since."""
        title = f"title “{self.title}”" if self.title else "no title"
        run = "run first" if self.run else "not run"
        return f"Holds: {title}, {'your note' if self.note else 'no note'}, {run}."

    def text(self, address: str) -> str:
        """Return the report."""
        return report_of(
            self.design, title=self.title, note=self.note, run=self.run, address=address
        )


def _report(page: str, design: Design) -> None:
    """Offer the report: figures, CUDA and numbers in one file that opens offline."""
    st.html(html.panel("Report", "one HTML file that opens offline"))
    can_run = bool(_runs(design).entry) and machine.emulates()
    wanted: _Asked | None = st.session_state.get(f"{page}.export.asked")
    if wanted is not None and wanted.design != design:
        wanted = None
    if wanted is not None:
        # The fields are gone while the menu is closed; a report must not outlive what it holds.
        for field in ("title", "note", "run"):
            st.session_state.setdefault(f"{page}.export.{field}", getattr(wanted, field))
    # A form: what is typed there must not be lost to a click that comes before its rerun.
    with st.form(f"{page}.export.report", border=False):
        title = inputs.text_input(
            "Title", key=f"{page}.export.title", max_chars=MAX_TITLE, in_form=True
        )
        note = inputs.text_area(
            "Note", key=f"{page}.export.note", max_chars=MAX_NOTE, height=68, in_form=True
        )
        row = st.container(horizontal=True, gap="small", vertical_alignment="center")
        with row:
            run = inputs.toggle(
                "Run it in the emulator first",
                key=f"{page}.export.run",
                in_form=True,
                disabled=not can_run,
                help="The report then shows what was measured beside what was predicted.",
            )
        with row:
            asked = inputs.submit_button(
                "Make report", icon=":material/description:", width="stretch"
            )
        if asked:
            wanted = _Asked(design, title, note, run and can_run)
            st.session_state[f"{page}.export.asked"] = wanted
    if wanted is None:
        return
    made = wanted
    st.html(f'<p class="tv-note">{html.text(made.holds)}</p>')
    parts = urlsplit(_server())
    address = "" if parts.hostname in _LOCAL else _server()
    _download(
        "HTML report",
        lambda: made.text(address),
        f"tileviz-{design.study}.html",
        "text/html",
        f"{page}.export.html",
        "Verdict, pictures that still answer, numbers, CUDA, environment and date.",
    )
