"""What a study's page remembers between reruns, and how links and edits change it.

Nothing here draws: the rules of "the last good picture stays" and "nothing typed is lost" are plain
functions over a frozen record, the same for every page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from tileviz.errors import DesignError
from tileviz.export.links import from_query, short_query
from tileviz.studies.design import Design
from tileviz.studies.registry import Preset, preset, presets

Problems = tuple[DesignError, ...]
D = TypeVar("D", bound=Design)


class Form(Protocol):
    """The text of a page's fields, exactly as typed."""

    def query(self) -> dict[str, str]:
        """Return the form as the keys of a link."""

    def read(self) -> tuple[Any, Problems]:
        """Return the design that the form describes, or None and what is wrong."""


F = TypeVar("F", bound=Form)


class Kept(Protocol):
    """What any page remembers at least."""

    @property
    def form(self) -> Any:
        """Everything as typed."""

    @property
    def link(self) -> Mapping[str, str] | None:
        """The address bar as last seen or written."""


@dataclass(frozen=True)
class PageState(Generic[F, D]):
    """One session's page.

    Attributes:
        form: Everything as typed.
        design: The last valid design; what is drawn.
        problems: What is wrong with the form, or with the link it came from.
        link: The address bar as last seen or written.
        from_link: Whether ``form`` is still as its link gave it.
        stand_in: Whether ``design`` is the demo, because a link held no design at all.
    """

    form: F
    design: D
    problems: Problems = ()
    link: Mapping[str, str] | None = None
    from_link: bool = False
    stand_in: bool = False


def _no_fault(design: Any) -> DesignError | None:
    return None


def _as_told(problems: Problems) -> Problems:
    return problems


@dataclass(frozen=True)
class StateRules(Generic[F, D]):
    """How the state of one study's page changes.

    Attributes:
        study: The study's name.
        model: Its design class.
        of: Makes the form that shows a design.
        from_query: Makes the form that shows a link, faults included.
        demo: Name of the preset that the page opens with; the first by default.
        check: What planning finds wrong with a valid design, or None.
        told: Puts the problems of a link in the page's words.
        canonical: Whether a link without a fault is shown in the design's own words.
    """

    study: str
    model: type[D]
    of: Callable[[D], F]
    from_query: Callable[[Mapping[str, str]], F]
    demo: str = ""
    check: Callable[[D], DesignError | None] = _no_fault
    told: Callable[[Problems], Problems] = _as_told
    canonical: bool = False

    def presets(self) -> tuple[Preset, ...]:
        """Return the presets of this page."""
        return tuple(found for found in presets() if found.study == self.study)

    def preset_design(self, of: Preset) -> D:
        """Return a preset's design."""
        design = of.design
        assert isinstance(design, self.model)
        return design

    def preset_form(self, of: Preset) -> F:
        """Return the form that shows a preset."""
        return self.of(self.preset_design(of))

    def matching_preset(self, form: F) -> Preset | None:
        """Return the preset that a form shows, or None."""
        shown = _compact(form.query())
        for found in self.presets():
            if _compact(self.preset_form(found).query()) == shown:
                return found
        return None

    def first(self) -> PageState[F, D]:
        """Return the state of a page opened without a link."""
        design = self.preset_design(preset(self.demo) or self.presets()[0])
        return PageState(self.of(design), design, link={})

    def opened(self, state: PageState[F, D] | None, query: Mapping[str, str]) -> PageState[F, D]:
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
            return replace(state, link={}) if state is not None else self.first()
        read, problems = from_query(self.study, given)
        problems = self.told(problems)
        form = self.from_query(given)
        design = read if isinstance(read, self.model) else None
        if design is not None and (fault := self.check(design)) is not None:
            problems, design = (*problems, fault), None
        if design is not None:
            if self.canonical and not problems:
                # A link may use another name for the same: the controls know only one.
                form = self.of(design)
            return PageState(form, design, problems, given, from_link=True)
        before = state or self.first()
        stand_in = state is None
        return PageState(form, before.design, problems, given, from_link=True, stand_in=stand_in)

    def edited(self, state: PageState[F, D], form: F) -> PageState[F, D]:
        """Return the state after an edit; a fault leaves the drawn design alone."""
        if form == state.form:
            return state
        read, problems = form.read()
        design = read if isinstance(read, self.model) else None
        if design is not None and (fault := self.check(design)) is not None:
            problems, design = (fault,), None
        if design is None:
            return replace(state, form=form, problems=problems, from_link=False)
        return PageState(form, design, link=state.link)

    def address(self, state: PageState[F, D]) -> dict[str, str] | None:
        """Return what the address bar should say, or None to leave it.

        While something is wrong the address stays as it is, so that a reload loses nothing.
        """
        if state.problems:
            return None
        return short_query(state.design)

    def with_link(self, state: PageState[F, D], link: Mapping[str, str] | None) -> PageState[F, D]:
        """Return the state with the address bar as just written; None leaves it as last seen."""
        return state if link is None else replace(state, link=link)


def _compact(query: Mapping[str, str]) -> dict[str, str]:
    """Return a query without the spaces that people put between numbers."""
    return {key: value.replace(" ", "") for key, value in query.items()}
