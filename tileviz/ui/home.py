"""The Home page: purpose, machine, and presets with pictures drawn by the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

import streamlit as st

from tileviz.export.links import to_query
from tileviz.figures.bank_strips import thumbnail as access_thumbnail
from tileviz.figures.broadcast import thumbnail as broadcast_thumbnail
from tileviz.figures.layouts import thumbnail as layout_thumbnail
from tileviz.figures.permute import thumbnail
from tileviz.figures.schedule import thumbnail as order_thumbnail
from tileviz.figures.source_map import thumbnail as source_thumbnail
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.kernel.design import KernelDesign
from tileviz.studies.kernel.explain import launch
from tileviz.studies.kernel.plan import plan as plan_kernel
from tileviz.studies.layout.design import LayoutDesign
from tileviz.studies.permute import explain
from tileviz.studies.permute.design import PermuteDesign
from tileviz.studies.permute.plan import Schedule
from tileviz.studies.registry import Preset, presets
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.ui import frame, html, machine
from tileviz.ui.access.cached import instruction_of, sweeps_of
from tileviz.ui.access.cached import one_number as access_number
from tileviz.ui.broadcast.cached import one_number as broadcast_number
from tileviz.ui.broadcast.cached import picture_of as broadcast_picture
from tileviz.ui.layouts.cached import one_number as layout_number
from tileviz.ui.layouts.cached import plan_of as layout_plan
from tileviz.ui.permute.cached import plan_of
from tileviz.ui.schedule.cached import plan_of as schedule_plan
from tileviz.ui.schedule.tables import one_number as schedule_number
from tileviz.words import counted

_IN_A_ROW = 4
_BEGINNINGS = {
    "pages/9_Lessons.py": "New to banks and wavefronts: start with a lesson",
    "pages/6_Kernel_lab.py": "A kernel of your own: open the Kernel lab",
    "pages/7_Compare.py": "Two designs: compare them",
}
_PURPOSE = (
    "Design how a tile lies in memory and how a warp moves it. One engine plans it, predicts its "
    "wavefronts and sectors, writes the CUDA, runs that very text in an emulator, and shows the "
    "prediction beside the count."
)


def page() -> None:
    """Draw the page."""
    frame.begin("tileviz")
    st.html(
        html.title("tileviz", "see what the memory system will do, then run the very same CUDA")
    )
    st.html(f'<p class="tv-lead">{html.text(_PURPOSE)}</p>')
    st.html(html.cards(machine.machine_cards()))
    _begin()
    with st.container(key="gallery"):
        for entry in frame.PAGES:
            _study(entry)
    _pages(
        "Review and learn", [entry for entry in frame.PAGES if entry.purpose and not entry.study]
    )


def _begin() -> None:
    """Say where people begin who have no design yet."""
    with st.container(key="home_begin", horizontal=True, vertical_alignment="center", gap="small"):
        for script, words in _BEGINNINGS.items():
            entry = next(known for known in frame.PAGES if known.script == script)
            st.page_link(script, label=words, icon=entry.icon)


def _study(entry: frame.Page) -> None:
    """Draw a study's presets: a row of them, and the rest behind a click."""
    known = [preset for preset in presets() if preset.study == entry.study]
    if not known or entry.study not in _SUMMARIES:
        return
    st.html(html.section(entry.title, entry.purpose))
    _cards(known[:_IN_A_ROW])
    rest = known[_IN_A_ROW:]
    if rest:
        with st.expander(f"{counted(len(rest), 'more preset')} of {entry.title}"):
            _cards(rest)


def _cards(known: Sequence[Preset]) -> None:
    for start in range(0, len(known), _IN_A_ROW):
        row = known[start : start + _IN_A_ROW]
        columns = st.columns(_IN_A_ROW, gap="small")
        for column, preset in zip_longest(columns, row):
            if preset is not None:
                with column:
                    _preset_card(preset)


def _pages(title: str, entries: Sequence[frame.Page]) -> None:
    st.html(html.section(title))
    for entry in entries:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.page_link(entry.script, label=entry.title, icon=entry.icon)
            st.html(f'<p class="tv-note">{html.text(entry.purpose)}</p>', width="stretch")


@dataclass(frozen=True)
class Summary:
    """A preset's picture and the one true number below it."""

    picture: str
    number: str


def _preset_card(preset: Preset) -> None:
    summary, query = _drawn(preset.name)
    page = frame.page_of(preset.study)
    with st.container(border=True, height="stretch"):
        st.html(summary.picture)
        if page is not None:
            st.page_link(page.script, label=html.literal(preset.title), query_params=query)
        st.html(f'<p class="tv-note">{html.text(summary.number)}</p>')


@lru_cache(maxsize=64)
def _drawn(name: str) -> tuple[Summary, dict[str, str]]:
    preset = next(found for found in presets() if found.name == name)
    return _SUMMARIES[preset.study](preset), to_query(preset.design)


def _permute_summary(preset: Preset) -> Summary:
    design = preset.design
    assert isinstance(design, PermuteDesign)
    plan = plan_of(design)
    if plan.chosen is None:
        picture = f'<div class="tv-thumb-empty">{html.glyph("reject")}</div>'
        return Summary(picture, explain.cards(plan)[0].outcome)
    plain = plan.schedules[0]
    number = f"{plan.chosen.label}: {_cost(plan.chosen)} {explain.unit(plan)}"
    before = "" if plan.chosen is plain else f", {plain.label}: {_cost(plain)}"
    return Summary(thumbnail(plan), number + before)


def _cost(schedule: Schedule) -> str:
    return f"{schedule.read.cost} + {schedule.write.cost}"


def _schedule_summary(preset: Preset) -> Summary:
    design = preset.design
    assert isinstance(design, ScheduleDesign)
    return Summary(order_thumbnail(schedule_plan(design)), schedule_number(design))


def _layout_summary(preset: Preset) -> Summary:
    design = preset.design
    assert isinstance(design, LayoutDesign)
    return Summary(layout_thumbnail(layout_plan(design)), layout_number(design))


def _broadcast_summary(preset: Preset) -> Summary:
    design = preset.design
    assert isinstance(design, BroadcastDesign)
    before, after = (broadcast_picture(design, version, 0, 0) for version in ("before", "ours"))
    return Summary(broadcast_thumbnail(before, after), broadcast_number(design))


def _access_summary(preset: Preset) -> Summary:
    design = preset.design
    assert isinstance(design, AccessDesign)
    shown = instruction_of(design, 0, sweeps_of(design)[0].start)
    return Summary(access_thumbnail(shown), access_number(design))


def _kernel_summary(preset: Preset) -> Summary:
    design = preset.design
    assert isinstance(design, KernelDesign)
    # Nothing is known of an own kernel before it runs; its text and launch are.
    return Summary(source_thumbnail(design.source), launch(plan_kernel(design)))


# What Home shows of each study; a further study is one line here.
_SUMMARIES: dict[str, Callable[[Preset], Summary]] = {
    "permute": _permute_summary,
    "schedule": _schedule_summary,
    "access": _access_summary,
    "layout": _layout_summary,
    "broadcast": _broadcast_summary,
    "kernel": _kernel_summary,
}
