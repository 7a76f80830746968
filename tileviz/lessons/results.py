"""What the engine says of a design, by name: where the answers of a lesson lie."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tileviz.errors import DesignError
from tileviz.layouts import LayoutError, parse_layout
from tileviz.studies.access.cell import cell
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.plan import memory_layout
from tileviz.studies.access.search import search
from tileviz.studies.design import Design
from tileviz.studies.errors import NotRunnable
from tileviz.studies.layout.forms import facts_of
from tileviz.studies.registry import study_of

_LISTED = 24
# A lesson's kernels take well under a second; one that somebody typed may never end.
MAX_SECONDS = 30


class _TooLongError(Exception):
    """A run takes so long that nobody would wait for it."""


@lru_cache(maxsize=128)
def plan_of(design: Design) -> Any:
    """Return the plan of a design.

    Raises:
        DesignError: The design cannot be planned.
    """
    return study_of(design).plan(design)


@lru_cache(maxsize=128)
def _plan_json(design: Design) -> Mapping[str, Any]:
    document: Mapping[str, Any] = plan_of(design).to_json()
    return document


@lru_cache(maxsize=32)
def run_of(design: Design) -> Mapping[str, Any]:
    """Return the run of a design in the emulator, as JSON.

    Raises:
        DesignError: The design has no kernel, there is no compiler here, or the run takes so long
            that nobody would wait for it.
    """
    from tileviz.runners import run_kernel

    study = study_of(design)
    if not study.runnable:
        raise DesignError("run", f"a {design.study} design generates no CUDA")
    last = time.monotonic() + MAX_SECONDS

    def within_limit() -> None:
        if time.monotonic() > last:
            raise _TooLongError

    try:
        kernel = study.kernel(plan_of(study.emulated(design)))
        done = run_kernel(kernel, on="emulator", study=design.study, on_wait=within_limit)
    except NotRunnable as error:
        raise DesignError("run", str(error)) from None
    except _TooLongError:
        raise DesignError("run", f"was stopped after {MAX_SECONDS} seconds") from None
    return done.to_json()


@lru_cache(maxsize=32)
def _search_json(design: Design) -> Mapping[str, Any]:
    if not isinstance(design, AccessDesign):
        raise DesignError("search", "takes an access design", design.study)
    return search(design).to_json()


@lru_cache(maxsize=128)
def _layout_json(design: Design) -> Mapping[str, Any]:
    text = getattr(design, "layout", None)
    if not isinstance(text, str):
        raise DesignError("layout", f"this {design.study} design has none of its own")
    try:
        facts = facts_of(parse_layout(text))
    except LayoutError as error:
        raise DesignError("layout", str(error), text) from None
    reach = {axis: (low, high) for axis, low, high in facts.reach}
    low, high = reach.get("m", (0, 0))
    return {
        "elements": facts.size,
        "one_to_one": facts.checked and facts.collision is None,
        "low": low,
        "high": high,
        "span": high - low + 1,
        "idle": facts.idle,
    }


@dataclass(frozen=True)
class Cells:
    """Every element of an access design's layout, each on its way to its bank."""

    design: Design

    def at(self, index: object) -> Mapping[str, int]:
        """Return one element's offset, place after the swizzle, byte, word and bank.

        Raises:
            DesignError: The design has no layout, or the element lies outside it.

        Example:
            >>> from tileviz.studies.registry import preset
            >>> Cells(preset("banks-padding-33").design).at((2, 7))["bank"]
            9
        """
        design = self.design
        if not isinstance(design, AccessDesign) or design.layout is None:
            raise DesignError("cell", "takes an access design with a layout", design.study)
        point = index if isinstance(index, tuple) else (index,)
        extents = memory_layout(design).extents
        inside = len(point) == len(extents) and all(
            isinstance(at, int) and 0 <= at < extent
            for at, extent in zip(point, extents, strict=True)
        )
        if not inside:
            raise DesignError("cell", f"needs a coordinate inside {extents}", str(index)[:60])
        found = cell(design, point)
        return {
            "offset": found.offset,
            "place": found.place,
            "byte": found.byte,
            "word": found.byte // 4,
            "bank": found.bank,
        }


@dataclass(frozen=True)
class Result:
    """Everything that is known of one design, worked out when first asked for.

    Attributes:
        name: What the lesson calls the design.
        design: The design.
    """

    name: str
    design: Design

    def part(self, name: str) -> Any:
        """Return a part of the result.

        Args:
            name: ``run`` (the emulator's run object), ``search`` (of an access design), ``layout``
                (elements, span, idle, one_to_one of the design's own layout), ``cell`` (elements
                by coordinate), ``design`` (the document), ``verdict`` (the sentence), or a field
                of the plan's JSON.

        Raises:
            DesignError: There is no such part.

        Example:
            >>> from tileviz.studies.registry import preset
            >>> Result("column", preset("banks-transpose-32x32").design).part("wavefronts")
            32
        """
        try:
            return self._part(name)
        except DesignError as error:
            raise error.within(self.name) from None

    def _part(self, name: str) -> Any:
        if name == "run":
            return run_of(self.design)
        if name == "search":
            return _search_json(self.design)
        if name == "layout":
            return _layout_json(self.design)
        if name == "cell":
            return Cells(self.design)
        if name == "design":
            return self.design.document()
        if name == "verdict":
            return study_of(self.design).explain.verdict(plan_of(self.design)).sentence
        return member(_plan_json(self.design), name)


def member(value: object, name: str | int) -> Any:
    """Return a member of a JSON value, or say what there is instead.

    Raises:
        DesignError: There is no such member.

    Example:
        >>> member({"read": 4}, "reed")
        Traceback (most recent call last):
        ...
        tileviz.errors.DesignError: reed: not in the result; it has read
    """
    if isinstance(value, Mapping) and isinstance(name, str):
        if name in value:
            return value[name]
        raise DesignError(name, f"not in the result; it has {', '.join(list(value)[:_LISTED])}")
    if isinstance(value, Sequence) and not isinstance(value, str):
        if isinstance(name, int) and -len(value) <= name < len(value):
            return value[name]
        raise DesignError(str(name), f"not in the result; it has [0] to [{len(value) - 1}]")
    raise DesignError(str(name), f"not in the result; there is only {value!r}")
