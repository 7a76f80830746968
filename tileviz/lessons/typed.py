"""A design with one field as somebody typed it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from tileviz.errors import DesignError
from tileviz.layouts import LayoutError, injectivity_collision, parse_layout
from tileviz.lessons.model import EditPart, TypedAsk
from tileviz.lessons.results import plan_of
from tileviz.studies.design import Design, shown
from tileviz.studies.registry import make_design

MAX_TYPED = 400


def with_typed(designs: Mapping[str, Design], part: TypedAsk | EditPart, typed: str) -> Design:
    """Return the design of a part with its field as typed, planned once so that it can be shown.

    Args:
        designs: The lesson's designs.
        part: Which design, which field, and the text around what is typed.
        typed: What was typed.

    Raises:
        DesignError: It is no design; names what was typed, with the place of the fault.
    """
    if len(typed) > MAX_TYPED:
        raise DesignError("", f"at most {MAX_TYPED} characters are read", shown(typed))
    text = part.template.replace("{}", typed.strip())
    document = deepcopy(designs[part.design].document())
    *path, last = part.field.split(".")
    place: Any = document
    for name in path:
        place = place.setdefault(name, {}) if isinstance(place, dict) else None
    if not isinstance(place, dict):
        raise DesignError(part.field, "is no field of this design")
    place[last] = _as_before(place.get(last), text, typed)
    try:
        made = make_design(document)
        plan_of(made)
    except DesignError as error:
        raise DesignError("", error.message, error.value, position=error.position) from None
    return made


def _as_before(before: object, text: str, typed: str) -> object:
    """Return the text as a whole number where the field held one."""
    if not isinstance(before, int) or isinstance(before, bool):
        return text
    try:
        return int(text)
    except ValueError:
        raise DesignError("", "a whole number is expected", shown(typed)) from None


def same_elements(start: Design, made: Design) -> None:
    """Refuse a typed layout that holds other elements than the one it replaces.

    Fewer elements, or two in one place, would reach most goals without solving anything.

    Raises:
        DesignError: The shapes differ, or two elements share an address.
    """
    for path in ("layout", "src.layout", "dst.layout"):
        before, after = _text(start, path), _text(made, path)
        if before is None or after is None or before == after:
            continue
        wanted, found = parse_layout(before), parse_layout(after)
        if wanted.extents != found.extents:
            message = f"must still have the extents {wanted.extents}, has {found.extents}"
            raise DesignError("", message, after)
        try:
            collision = injectivity_collision(found)
        except LayoutError as error:
            raise DesignError("", str(error), after) from None
        if collision is not None:
            raise DesignError("", f"must keep every element apart: {collision}", after)


def _text(design: Design, path: str) -> str | None:
    value: Any = design
    for name in path.split("."):
        value = getattr(value, name, None)
    return value if isinstance(value, str) else None
