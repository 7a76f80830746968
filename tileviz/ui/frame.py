"""The frame of every page: settings, style, the list of pages, the runner in two lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import streamlit as st

from tileviz.figures.tokens import LIGHT, THEMES, Theme, css_variables
from tileviz.ui import html, inputs
from tileviz.ui.address import visit


@dataclass(frozen=True)
class Page:
    """A page of the application.

    Attributes:
        script: Its file, from the folder of ``app.py``.
        title: Its name in the list.
        icon: A material icon.
        group: The heading it stands under, "" for none.
        study: The study whose designs it opens, "" for none.
        purpose: One sentence for Home.
    """

    script: str
    title: str
    icon: str
    group: str = ""
    study: str = ""
    purpose: str = ""


# Adding a page is one entry here and one file in pages/.
PAGES: tuple[Page, ...] = (
    Page("app.py", "Home", ":material/home:"),
    Page(
        "pages/1_Permute_layout.py",
        "Permute layout",
        ":material/swap_horiz:",
        group="Studies",
        study="permute",
        purpose="One warp moves a tile from one layout to another: the reference's decision, what "
        "hardware makes of it, the CUDA, and a run.",
    ),
    Page(
        "pages/2_Block_schedule.py",
        "Block schedule",
        ":material/grid_on:",
        group="Studies",
        study="schedule",
        purpose="The order in which output tiles are computed: what each wave reads, the L2 hit "
        "rate, the balance, and every offset and direction compared.",
    ),
    Page(
        "pages/3_Broadcast.py",
        "Broadcast",
        ":material/call_split:",
        group="Studies",
        study="broadcast",
        purpose="A small tensor meets a large one: CINN's decision step by step, how often each "
        "thread loads a value, three kernels, and a run.",
    ),
    Page(
        "pages/4_Banks_and_swizzles.py",
        "Banks and swizzles",
        ":material/view_column:",
        group="Studies",
        study="access",
        purpose="Any layout and any access: which lanes meet in which bank, bit by bit, the "
        "smallest swizzle or padding that helps with its proof, the CUDA, and a run.",
    ),
    Page(
        "pages/5_Layouts.py",
        "Layouts",
        ":material/dataset:",
        group="Studies",
        study="layout",
        purpose="Any layout: the address of every element, the element at every address, what "
        "an operation makes of it, and its printed forms.",
    ),
    Page(
        "pages/6_Kernel_lab.py",
        "Kernel lab",
        ":material/science:",
        group="Studies",
        study="kernel",
        purpose="Your own CUDA: wavefronts, sectors, races and faults of every line, each access "
        "lane by lane and over time, in the emulator.",
    ),
    Page(
        "pages/7_Compare.py",
        "Compare",
        ":material/compare_arrows:",
        group="Review",
        purpose="Two designs of one study side by side: which is better and by how much, what "
        "differs, pictures on one scale, the CUDA of both, one run, and one link.",
    ),
    Page(
        "pages/8_Runs.py",
        "Runs",
        ":material/history:",
        group="Review",
        purpose="What was run in this installation and what was recorded on a GPU: found again, "
        "named, opened, compared and downloaded.",
    ),
    Page(
        "pages/9_Lessons.py",
        "Lessons",
        ":material/school:",
        group="Learn",
        purpose="Short guided lessons: predict a number, see the engine's, and how it comes about.",
    ),
)


def page_of(study: str) -> Page | None:
    """Return the page that opens designs of a study, or None."""
    return next((page for page in PAGES if page.study == study), None)


@lru_cache(maxsize=1)
def _style() -> str:
    form = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    return f"<style>{css_variables()}{form}</style>"


def _popover_scheme() -> str:
    """Return the style that tells popovers the theme: they stand outside the app's own element."""
    return f'<style>[data-testid="stPopoverBody"] {{ color-scheme: {theme().name}; }}</style>'


# Four cells, two of them in one bank.
_FAVICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    f'<path fill="{LIGHT.passes[3]}" d="M1 1h6v6H1zM9 9h6v6H9z"/>'
    f'<path fill="{LIGHT.hot}" d="M9 1h6v6H9zM1 9h6v6H1z"/></svg>'
)


def begin(title: str) -> None:
    """Set the page up and draw its sidebar; call it first."""
    visit(title)
    inputs.sync()
    st.set_page_config(
        page_title=title if title == "tileviz" else f"{title} · tileviz",
        page_icon=_FAVICON,
        layout="wide",
        initial_sidebar_state=220,
    )
    st.html(_style() + _popover_scheme())
    with st.sidebar:
        _page_list()
        st.html(runner_lines())


def _page_list() -> None:
    group = ""
    for page in PAGES:
        if page.group != group:
            group = page.group
            st.html(f'<div class="tv-nav-group">{html.text(group)}</div>')
        st.page_link(page.script, label=page.title, icon=page.icon, width="stretch")


def runner_lines() -> str:
    """Return the runner of this machine in two lines of HTML."""
    from tileviz.ui.machine import runner_summary

    name, note = runner_summary()
    return (
        f'<div class="tv-runner"><strong>{html.text(name)}</strong>'
        f"<span>{html.text(note)}</span></div>"
    )


def theme() -> Theme:
    """Return the colours for figures: the browser's theme, light where it is unknown."""
    kind = st.context.theme.type
    return THEMES.get(kind or "light", LIGHT)
