"""What the Broadcast page remembers between reruns, and how links and edits change it.

Nothing here draws: the rules of "the last good picture stays" and "nothing typed is lost" are plain
functions over a frozen record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tileviz.errors import DesignError
from tileviz.export.links import from_query, to_query
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.registry import Preset, presets
from tileviz.ui.broadcast.form import BroadcastForm


@dataclass(frozen=True)
class PageState:
    """One session's Broadcast page.

    Attributes:
        form: Everything as typed.
        design: The last valid design; what is drawn.
        problems: What is wrong with the form, or with the link it came from.
        link: The address bar as last seen or written.
        from_link: Whether ``form`` is still as its link gave it.
        stand_in: Whether ``design`` is the first preset, because a link held no design at all.
    """

    form: BroadcastForm
    design: BroadcastDesign
    problems: tuple[DesignError, ...] = ()
    link: Mapping[str, str] | None = None
    from_link: bool = False
    stand_in: bool = False


def broadcast_presets() -> tuple[Preset, ...]:
    """Return the presets of this page."""
    return tuple(preset for preset in presets() if preset.study == "broadcast")


def preset_form(preset: Preset) -> BroadcastForm:
    """Return the form that shows a preset."""
    design = preset.design
    assert isinstance(design, BroadcastDesign)
    return BroadcastForm.of(design)


def matching_preset(form: BroadcastForm) -> Preset | None:
    """Return the preset that a form shows, or None."""
    shown = _compact(form.query())
    for preset in broadcast_presets():
        if _compact(preset_form(preset).query()) == shown:
            return preset
    return None


def _compact(query: Mapping[str, str]) -> dict[str, str]:
    """Return a query without the spaces that people put between numbers."""
    return {key: value.replace(" ", "") for key, value in query.items()}


def opened(state: PageState | None, query: Mapping[str, str]) -> PageState:
    """Return the state after the page was opened, or its address changed.

    Args:
        state: What was there, None in a new session.
        query: The address bar's keys.
    """
    given = dict(query)
    if state is not None and given == state.link:
        return state
    if not given:
        # Opened from the list of pages: what was there before is still there.
        return replace(state, link={}) if state is not None else _first()
    design, problems = from_query("broadcast", given)
    form = BroadcastForm.from_query(given)
    if isinstance(design, BroadcastDesign):
        if not problems:
            # A link may use another name for the same: the controls know only one.
            form = BroadcastForm.of(design)
        return PageState(form, design, problems, given, from_link=True)
    before = state or _first()
    return PageState(form, before.design, problems, given, from_link=True, stand_in=state is None)


def _first() -> PageState:
    design = broadcast_presets()[0].design
    assert isinstance(design, BroadcastDesign)
    return PageState(BroadcastForm.of(design), design, link={})


def edited(state: PageState, form: BroadcastForm) -> PageState:
    """Return the state after a person changed the form; a fault leaves the drawn design alone."""
    if form == state.form:
        return state
    design, problems = form.read()
    if design is None:
        return replace(state, form=form, problems=problems, from_link=False)
    return PageState(form, design, link=state.link)


def address(state: PageState) -> dict[str, str] | None:
    """Return what the address bar should say, or None to leave it.

    While something is wrong the address stays as it is, so that a reload loses nothing.
    """
    if state.problems:
        return None
    return to_query(state.design)


def with_link(state: PageState, link: Mapping[str, str] | None) -> PageState:
    """Return the state with the address bar as just written; None leaves it as last seen."""
    return state if link is None else replace(state, link=link)
