"""What the Banks page remembers between reruns, and how links and edits change it.

Nothing here draws: the rules of "the last good picture stays" and "nothing typed is lost" are plain
functions over a frozen record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tileviz.errors import DesignError
from tileviz.export.links import from_query, to_query
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.registry import Preset, presets
from tileviz.ui.access.cached import checked
from tileviz.ui.access.form import AccessForm, told


@dataclass(frozen=True)
class PageState:
    """One session's Banks page.

    Attributes:
        form: Everything as typed.
        design: The last valid design; what is drawn.
        problems: What is wrong with the form, or with the link it came from.
        link: The address bar as last seen or written.
        from_link: Whether ``form`` is still as its link gave it.
        stand_in: Whether ``design`` is the first preset, because a link held no design at all.
    """

    form: AccessForm
    design: AccessDesign
    problems: tuple[DesignError, ...] = ()
    link: Mapping[str, str] | None = None
    from_link: bool = False
    stand_in: bool = False


def access_presets() -> tuple[Preset, ...]:
    """Return the presets of this page."""
    return tuple(preset for preset in presets() if preset.study == "access")


def preset_design(preset: Preset) -> AccessDesign:
    """Return a preset's design."""
    design = preset.design
    assert isinstance(design, AccessDesign)
    return design


def matching_preset(form: AccessForm) -> Preset | None:
    """Return the preset that a form shows, or None."""
    shown = _compact(form.query())
    for preset in access_presets():
        if _compact(AccessForm.of(preset_design(preset)).query()) == shown:
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
    design, problems = from_query("access", given)
    problems = told(problems)
    form = AccessForm.from_query(given)
    valid = design if isinstance(design, AccessDesign) else None
    if valid is not None and (fault := checked(valid)) is not None:
        problems, valid = (*problems, fault), None
    if valid is not None:
        return PageState(form, valid, problems, given, from_link=True)
    before = state or _first()
    return PageState(form, before.design, problems, given, from_link=True, stand_in=state is None)


def _first() -> PageState:
    design = preset_design(access_presets()[0])
    return PageState(AccessForm.of(design), design, link={})


def edited(state: PageState, form: AccessForm) -> PageState:
    """Return the state after a person changed the form; a fault leaves the drawn design alone."""
    if form == state.form:
        return state
    design, problems = form.read()
    if design is not None and (fault := checked(design)) is not None:
        design, problems = None, (fault,)
    if design is None:
        return replace(state, form=form, problems=problems, from_link=False)
    return PageState(form, design, link=state.link)


def address(state: PageState) -> dict[str, str] | None:
    """Return what the address bar should say, or None to leave it.

    While something is wrong the address stays as it is, so that a reload loses nothing.
    """
    if state.problems:
        return None
    # Spaces behind commas double in length in an address, and mean nothing.
    return {key: value.replace(", ", ",") for key, value in to_query(state.design).items()}


def with_link(state: PageState, link: Mapping[str, str] | None) -> PageState:
    """Return the state with the address bar as just written; None leaves it as last seen."""
    return state if link is None else replace(state, link=link)
