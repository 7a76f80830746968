"""Any number unfolded: one element of every page, and of every run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from tileviz.errors import DesignError
from tileviz.studies.derivation import Bits, Derivation, Family, Numbers, Parameter
from tileviz.studies.statement import Statement
from tileviz.ui import html, inputs
from tileviz.ui.access import tables


@st.fragment
def verdict_row(page: str, said: Statement, numbers: Callable[[], Numbers]) -> None:
    """Draw a page's verdict, and beside it the button that unfolds any of its numbers.

    Nothing is made until it is opened; what is chosen there reruns nothing else.

    Args:
        page: The page, for keys.
        said: The verdict.
        numbers: Makes the page's numbers.
    """
    row = st.container(
        key=f"verdict_{page}", horizontal=True, vertical_alignment="center", gap="small"
    )
    with row:
        st.html(html.verdict(said.state, said.sentence, said.facts), width="stretch")
        opened = switch(page)
    if opened:
        _panel(page, numbers())


@st.fragment
def numbers_button(page: str, numbers: Callable[[], Numbers], label: str) -> None:
    """Draw a button that opens some numbers, one of them unfolded to its arithmetic.

    Args:
        page: What they belong to, for keys.
        numbers: Makes the numbers, when they are asked for.
        label: What the button says.
    """
    if switch(page, label):
        _panel(page, numbers())


@st.fragment
def panel(page: str, numbers: Callable[[], Numbers]) -> None:
    """Draw some numbers below a row that has their ``switch``, one of them unfolded.

    Args:
        page: What they belong to, for keys.
        numbers: Makes the numbers.
    """
    _panel(page, numbers())


def switch(page: str, label: str = "Explain a number") -> bool:
    """Draw the button that opens and closes numbers; return whether they are open.

    Args:
        page: What they belong to, for keys.
        label: What the button says.
    """
    key = f"{page}.explain.open"
    opened = bool(st.session_state.get(key))
    inputs.button(
        "Close" if opened else label,
        icon=":material/close:" if opened else ":material/calculate:",
        type="tertiary",
        key=f"{page}.explain.button",
        help=None if opened else "Any number of this page, unfolded to its arithmetic",
        on_click=_flip,
        args=(key,),
    )
    return opened


def _flip(key: str) -> None:
    st.session_state[key] = not st.session_state.get(key)


def _panel(page: str, found: Numbers) -> None:
    """Draw the choice of a number beside the way to it."""
    every: dict[str, Derivation | Family] = {one.name: one for one in found}
    every |= {family.template: family for family in found.families}
    if not every:
        st.html(html.empty("No numbers.", "There is nothing to unfold here."))
        return
    with st.container(key=f"explain_{page}"):
        left, right = st.columns([1, 1.55], gap="medium")
    with left:
        one = _chosen(page, every, found.opening)
        if one is not None:
            st.html(summary(one))
    if one is not None:
        with right:
            st.html(steps(one))


def _chosen(page: str, every: dict[str, Derivation | Family], opening: str) -> Derivation | None:
    """Draw the list of numbers, and the indices of a family; return what is chosen."""
    key = f"{page}.explain.name"
    if st.session_state.get(key) not in every:
        st.session_state[key] = opening
    name = inputs.selectbox(
        "Number, type to search",
        list(every),
        key=key,
        format_func=lambda name: option(every[name]),
    )
    chosen = every[name or opening]
    if isinstance(chosen, Derivation):
        return chosen
    try:
        return _at(page, chosen)
    except DesignError as error:
        st.html(html.error_box([html.Fault("", error)]))
        return None


def option(one: Derivation | Family) -> str:
    """Return a number as an entry of the list: the part of the page, then the number.

    Example:
        >>> from tileviz import api
        >>> from tileviz.studies.registry import preset
        >>> option(api.explain(preset("permute-declined").design).find("ours.lower_bound"))
        'Ours · lower bound = 4 passes'
    """
    words = f"{one.label}: choose which" if isinstance(one, Family) else one.title
    return f"{one.group} · {words}"


def _at(page: str, family: Family) -> Derivation:
    """Draw the indices of a family; return the number they name."""
    chosen = {}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for parameter in family.parameters:
            key = f"{page}.explain.{family.template}.{parameter.name}"
            chosen[parameter.name] = _index(parameter, key)
    return family.at(chosen)


def _index(parameter: Parameter, key: str) -> int | str:
    """Draw one index; return what is chosen."""
    name = parameter.name.replace("_", " ").capitalize()
    choices, first = parameter.choices, parameter.first
    if not isinstance(choices, range):
        if st.session_state.get(key) not in choices:
            # Of another design, or cleared.
            st.session_state[key] = parameter.default
        return str(inputs.selectbox(name, choices, key=key))
    low, high = choices[0] + first, choices[-1] + first
    if st.session_state.get(key) not in range(low, high + 1):
        st.session_state[key] = int(parameter.default) + first
    if len(choices) == 1:
        return choices[0]
    value = inputs.number_input(f"{name}, {low} to {high}", low, high, step=1, key=key)
    return (low if value is None else value) - first


# -- as HTML -----------------------------------------------------------------------------------


def summary(one: Derivation) -> str:
    """Return a number with its value, the rule behind it, and its name."""
    rule = ""
    if one.rule is not None:
        rule = (
            f'<p class="tv-rule"><strong>Rule</strong> {html.text(one.rule.text)} '
            f"<em>{html.text(one.rule.standing)}</em></p>"
        )
    # A long way ends below the fold: its last line stands here, too.
    last = _line(one.steps[-1].arithmetic) if len(one.steps) > 1 else ""
    return (
        f'<div class="tv-number"><p><span>{html.text(one.label)}</span>'
        f"<strong>{html.text(one.amount)}</strong></p>{last}{rule}"
        f'<p class="tv-note">In results and the shell: <code>{html.text(one.name)}</code></p></div>'
    )


def steps(one: Derivation) -> str:
    """Return the way to a number: steps with their arithmetic, and bits where they matter.

    Example:
        >>> from tileviz import api
        >>> from tileviz.studies.registry import preset
        >>> found = api.explain(preset("permute-declined").design)
        >>> "<code>4 + 4 + 4 + 4 = 16</code>" in steps(found.find("schedules.0.write.wavefronts"))
        True
    """
    items = "".join(
        f"<li><span>{html.text(step.text)}</span>{_line(step.arithmetic)}{_bits(step.bits)}</li>"
        for step in one.steps
    )
    name = html.text(f"The way to {one.label}")
    return f'<ol class="tv-steps" aria-label="{name}" tabindex="0">{items}</ol>'


def _line(arithmetic: str) -> str:
    return f"<code>{html.text(arithmetic)}</code>" if arithmetic else ""


def _bits(rows: Sequence[Bits]) -> str:
    return tables.bits(rows) if rows else ""
