"""What all designs share: strict fields, limits, and errors a person can act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tileviz.errors import DesignError

MAX_ELEMENTS = 1 << 20
MAX_RANK = 8
MAX_TEXT = 4096

_SHOWN = 120
_KINDS = {bool: "true or false", int: "a whole number", float: "a number"}


class Design(BaseModel):
    """Base of every design: frozen, hashable, and closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False)

    study: str

    def document(self) -> dict[str, Any]:
        """Return the design as a JSON document, defaults left out."""
        fields = self.model_dump(mode="json", exclude_defaults=True)
        return {"study": self.study, **fields}

    def whole_document(self) -> dict[str, Any]:
        """Return the design as a JSON document with every default written out."""
        return self.model_dump(mode="json")


D = TypeVar("D", bound=Design)


def validated(model: type[D], fields: Mapping[str, Any]) -> D:
    """Return a design of class ``model`` made from ``fields``.

    Raises:
        DesignError: The first fault found, naming field, value and what is allowed.
    """
    try:
        made = model.model_validate(dict(fields))
    except ValidationError as error:
        raise _readable(error) from None
    _check_types(fields, made, "")
    return made


def _check_types(given: Any, read: Any, field: str) -> None:
    """Refuse text that reads as a number, and numbers that read as true or false.

    Pydantic would take them; then the same document could mean another design elsewhere.
    """
    if isinstance(read, BaseModel) and isinstance(given, Mapping):
        for name, value in given.items():
            _check_types(value, getattr(read, name, None), f"{field}.{name}".lstrip("."))
    elif isinstance(read, tuple) and isinstance(given, (list, tuple)):
        for at, (one, got) in enumerate(zip(given, read, strict=False)):
            _check_types(one, got, f"{field}.{at}")
    elif isinstance(read, bool) != isinstance(given, bool) and type(read) in _KINDS:
        raise DesignError(field, f"must be {_KINDS[type(read)]}", shown(given))
    elif isinstance(read, (int, float)) and isinstance(given, str):
        raise DesignError(field, f"must be {_KINDS[type(read)]}, without quotes", shown(given))


def shown(value: object) -> object:
    """Return ``value`` as given, or its beginning where it is too long to repeat."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _readable(error: ValidationError) -> DesignError:
    first = error.errors(include_url=False)[0]
    # Pydantic adds the branch of a union to the path; people know only fields and positions.
    path = [str(part) for part in first["loc"] if not _is_branch(part)]
    field = ".".join(path)
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, DesignError):
        inner = cause.within(field) if field else cause
        value = inner.value if inner.position is not None else shown(inner.value)
        return DesignError(inner.field, inner.message, value, position=inner.position)
    if first["type"] == "extra_forbidden":
        return DesignError(field, "unknown field", shown(first["input"]))
    if first["type"] == "missing":
        return DesignError(field, "this field is required", None)
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return DesignError(field, message, shown(first["input"]))


def _is_branch(part: int | str) -> bool:
    return isinstance(part, str) and any(mark in part for mark in "[(-")
