"""The Broadcast page's CUDA: one version, or two with their differences marked; and the run."""

from __future__ import annotations

import streamlit as st

from tileviz.export.differences import line_marks
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.plan import BroadcastPlan
from tileviz.studies.broadcast.portion import VERSIONS, Version
from tileviz.ui import html, inputs
from tileviz.ui.broadcast import words
from tileviz.ui.broadcast.cached import Code, code_of, kernel_of, standalone_of
from tileviz.ui.broadcast.marks import changed, tint
from tileviz.ui.run_panel import run_panel

_VERSION, _BESIDE, _OF = "broadcast.version", "broadcast.beside", "broadcast.version_of"
_ALONE = "alone"
_NAMES: dict[str, str] = {
    "before": "Before",
    "cinn": "CINN",
    "ours": "Ours",
    _ALONE: "Nothing",
}
_MAX_LINES, _TALL_PIXELS = 70, 900


@st.fragment
def section(plan: BroadcastPlan) -> None:
    """Draw the CUDA of the chosen version beside another one, and the run below."""
    design = plan.design
    with st.container(key="code_head", horizontal=True, vertical_alignment="center", gap="small"):
        st.html(html.section("Generated CUDA", "of the whole design"), width="stretch")
        corner = st.container(width="content")
    version, beside = _switches(plan)
    code = code_of(design, version)
    with corner:
        if code.source:
            _download(design, version)
    if beside is None:
        left, right = st.columns([1.35, 1], gap="medium")
        with left:
            _text(code, "one")
        with right:
            st.html(html.panel("What this version does", words.version_name(plan, version)))
            st.html(words.about(plan, version))
    else:
        _two(plan, version, beside)
    _run(design, version, code)


def _switches(plan: BroadcastPlan) -> tuple[Version, Version | None]:
    """Draw the choice of version, and of what stands beside it."""
    # Where the tactic declines, its kernel is the general one: ours is beside that then.
    if st.session_state.get(_OF) != plan.design:
        st.session_state[_VERSION] = "ours"
        st.session_state.setdefault(_BESIDE, "cinn" if plan.cinn.applies else "before")
        st.session_state[_OF] = plan.design
    with st.container(horizontal=True, gap="medium"):
        picked: Version | None = inputs.segmented_control(
            "Version",
            list(VERSIONS),
            key=_VERSION,
            format_func=lambda name: _NAMES[name],
            required=True,
        )
        beside = inputs.segmented_control(
            "Differences from",
            [*VERSIONS, _ALONE],
            key=_BESIDE,
            format_func=lambda name: _NAMES[name],
            required=True,
        )
    version: Version = picked or "ours"
    other = next((name for name in VERSIONS if name == beside), None)
    return version, None if other == version else other


def _two(plan: BroadcastPlan, version: Version, beside: Version) -> None:
    """Draw two texts side by side, the lines that only one has tinted."""
    texts = {name: code_of(plan.design, name) for name in (beside, version)}
    marks = line_marks(texts[beside].source, texts[version].source)
    st.html(tint({"was": marks.left, "is": marks.right}))
    columns = st.columns(2, gap="medium")
    for column, name, side in zip(columns, (beside, version), ("was", "is"), strict=True):
        with column:
            st.html(html.panel(words.version_name(plan, name), words.short_launch(plan, name)))
            _text(texts[name], side)
    count = len(marks.left) + len(marks.right)
    said = "The two texts are the same." if not count else changed(marks.left, marks.right)
    if "cinn" in (version, beside) and not plan.cinn.applies:
        said += " CINN's tactic declines, so its kernel is the general one."
    st.html(f'<p class="tv-note">{html.text(said)}</p>')


def _text(code: Code, side: str) -> None:
    if not code.source:
        st.html(html.empty("No CUDA.", html.sentence(code.reason)))
        return
    tall = code.source.count("\n") > _MAX_LINES
    with st.container(key=f"broadcast_code_{side}"):
        st.code(
            code.source,
            language="cpp",
            line_numbers=True,
            height=_TALL_PIXELS if tall else "content",
        )


def _download(design: BroadcastDesign, version: Version) -> None:
    st.download_button(
        f"Download {_NAMES[version]} .cu",
        # Made when it is asked for: its predicted accesses can take seconds.
        lambda: standalone_of(design, version),
        file_name=f"broadcast_{version}.cu",
        mime="text/plain",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        help="A program of its own: this kernel, a main that launches it, and a check of "
        "every element. Compile it with nvcc.",
    )


def _run(design: BroadcastDesign, version: Version, code: Code) -> None:
    st.html(
        html.section(
            f"Run: {_NAMES[version]}", "checks the output, then counts sectors of every access"
        )
    )
    if not code.source:
        st.html(html.empty("Nothing to run.", "There is no CUDA for this version."))
        return
    if code.note:
        same = "its own count of vectors aside, " if version == "ours" else ""
        note = f"Here it {code.note}; {same}the text is the one above."
        st.html(f'<p class="tv-note">{html.text(note)}</p>')
    subject = (design, version)
    run_panel("broadcast", subject, lambda: kernel_of(*subject), design, _NAMES[version])
