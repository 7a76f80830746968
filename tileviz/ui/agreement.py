"""Bringing a page's address bar, its controls and its last valid design into agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import streamlit as st

from tileviz.ui import html
from tileviz.ui.address import recall, remember
from tileviz.ui.state import Kept, Problems

_MAX_FAULTS = 3
S = TypeVar("S", bound=Kept)


class Rules(Protocol[S]):
    """How the state of a page changes; see `tileviz.ui.state.StateRules`."""

    def opened(self, state: S | None, query: Mapping[str, str]) -> S:
        """Return the state after the page was opened with an address."""

    def edited(self, state: S, form: Any) -> S:
        """Return the state after an edit."""

    def address(self, state: S) -> dict[str, str] | None:
        """Return what the address bar should say, or None to leave it."""

    def with_link(self, state: S, link: Mapping[str, str] | None) -> S:
        """Return the state with the address bar as just written."""


class Editors(Protocol):
    """The controls of a page: a module with these functions."""

    def fill(self, form: Any, *, force: bool) -> None:
        """Put a form into the controls; without ``force`` only where a control has no value."""

    def collect(self, form: Any) -> Any:
        """Return what the controls hold; fields without a control keep their value in ``form``."""

    def design_row(self) -> None:
        """Draw the controls."""


class Faulty(Protocol):
    """What a page says of its faults; see `tileviz.ui.state.PageState`."""

    @property
    def problems(self) -> Problems:
        """What is wrong with the form, or with the link it came from."""

    @property
    def from_link(self) -> bool:
        """Whether the form is still as its link gave it."""

    @property
    def stand_in(self) -> bool:
        """Whether something else is drawn, because a link held no design at all."""


def _nothing_further() -> None:
    return None


def settle(
    rules: Rules[S],
    editors: Editors,
    key: str,
    further: Callable[[], None] = _nothing_further,
) -> S:
    """Draw the controls and return the page's state, with the address bar written.

    Args:
        rules: How the page's state changes.
        editors: The page's controls.
        key: Under which the session keeps the state.
        further: Draws the controls outside the design row.
    """
    before: S | None
    before, fresh = recall(key)
    query = st.query_params.to_dict()
    current = rules.opened(before, query) if before is None or fresh else before
    # A new link refills the controls; otherwise only those are filled that have no value yet.
    editors.fill(current.form, force=before is None or current.form != before.form)
    editors.design_row()
    further()
    current = rules.edited(current, editors.collect(current.form))
    wanted = rules.address(current)
    # Writing the address may end this run, so everything is remembered before.
    current = rules.with_link(current, wanted)
    remember(key, current)
    if wanted is not None and wanted != query:
        st.query_params.from_dict(wanted)
    return current


def show_faults(current: Faulty, label: Callable[[str], str], demo: str = "The demo") -> None:
    """Name every fault, between the design row and the verdict.

    Args:
        current: The page's state.
        label: Gives a field's name on the page.
        demo: What is drawn where a link held no design at all.
    """
    note = "The last valid design stays below."
    if current.from_link:
        note = "The rest of the link is used."
    if current.stand_in:
        note = f"{demo} is shown below instead."
    # A field whose text cannot be read is also missing; once is enough.
    faults = {label(error.field): error for error in reversed(current.problems)}
    ordered = [html.Fault(name, error) for name, error in reversed(faults.items())]
    if ordered:
        more = max(len(ordered) - _MAX_FAULTS, 0)
        st.html(html.error_box(ordered[:_MAX_FAULTS], note, more))
