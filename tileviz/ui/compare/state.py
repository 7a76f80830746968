"""What the Compare page remembers between reruns, and how links, edits and arrivals change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tileviz.comparing.pairs import MAX_PAIR_LINK, Pair, pair_link
from tileviz.errors import DesignError
from tileviz.export.links import VERSION
from tileviz.studies.registry import make_design
from tileviz.ui.compare.form import CompareForm, link_faults, side_text
from tileviz.ui.state import Problems


@dataclass(frozen=True)
class CompareState:
    """One session's page.

    Attributes:
        form: Everything as typed.
        pair: What is drawn: the last valid design of each side.
        problems: What is wrong with the form, or with the link it came from.
        link: The address bar as last seen or written.
        from_link: Whether ``form`` is still as its link gave it.
        stand_in: Never: where a link held no design, nothing is drawn in its place.
    """

    form: CompareForm = field(default_factory=CompareForm)
    pair: Pair = field(default_factory=Pair)
    problems: Problems = ()
    link: Mapping[str, str] | None = None
    from_link: bool = False
    stand_in: bool = False


class CompareRules:
    """How the page's state changes."""

    def opened(self, state: CompareState | None, query: Mapping[str, str]) -> CompareState:
        """Return the state after the page was opened with an address.

        Args:
            state: What was there, None in a new session.
            query: The address bar's keys.
        """
        given = dict(query)
        if state is not None and given == state.link:
            return state
        if not given:
            # Opened from the list of pages: what was there before is still there.
            return replace(state, link={}) if state is not None else CompareState(link={})
        form = CompareForm.from_query(given)
        pair, faults = form.pair()
        problems = (*link_faults(given), *faults)
        return CompareState(form, pair, problems, given, from_link=True)

    def edited(self, state: CompareState, form: CompareForm) -> CompareState:
        """Return the state after an edit; a fault on one side leaves what both sides draw."""
        if form == state.form:
            return state
        pair, problems = form.pair()
        # Only a side that was emptied has nothing to draw.
        kept: dict[str, Any] = {
            side: getattr(state.pair, side)
            for side in ("left", "right")
            if getattr(pair, side) is None and getattr(form, side).strip()
        }
        return CompareState(form, replace(pair, **kept), problems, state.link)

    def address(self, state: CompareState) -> dict[str, str] | None:
        """Return what the address bar should say, or None to leave it.

        While something is wrong the address stays as it is, so that a reload loses nothing. A pair
        too long for a link leaves only its version.
        """
        if state.problems:
            return None
        if state.pair == Pair():
            return {}
        return {"v": VERSION} if too_long(state.pair) else state.pair.query()

    def with_link(self, state: CompareState, link: Mapping[str, str] | None) -> CompareState:
        """Return the state with the address bar as just written; None leaves it as last seen."""
        return state if link is None else replace(state, link=link)


RULES = CompareRules()


def too_long(pair: Pair) -> int:
    """Return the length of a pair's link where it is too long to share, else 0."""
    length = len(pair_link(pair.query()))
    return length if length > MAX_PAIR_LINK else 0


def arrived(form: CompareForm, documents: Sequence[Any]) -> CompareForm:
    """Return the form with designs that were sent here in its empty sides.

    Args:
        form: What is there.
        documents: Design documents, the newest last.
    """
    for document in documents:
        text = sent_text(document)
        if not text or text in (form.left, form.right):
            continue
        if not form.left.strip():
            form = replace(form, left=text)
        elif not form.right.strip():
            form = replace(form, right=text)
    return form


def sent_text(document: Any) -> str:
    """Return a sent document as the text of a side; "" for one that is no design."""
    try:
        return side_text(make_design(document))
    except DesignError:
        return ""
