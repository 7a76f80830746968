"""Sweeps: one design with some fields varied, and the figures of every combination."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

from tileviz.errors import DesignError
from tileviz.studies.design import shown
from tileviz.studies.registry import make_design, study_of

MAX_COMBINATIONS = 4096
MAX_VALUES = 4096

Value: TypeAlias = "int | float | str | bool | None"
Row: TypeAlias = "dict[str, Value]"

_RANGE = re.compile(r"(-?\d{1,18})\.\.(-?\d{1,18})(?:\.\.(\d{1,18}))?", re.ASCII)


@dataclass(frozen=True)
class Over:
    """One varied field.

    Attributes:
        field: Its name, dotted where nested (``tile.0``).
        values: The values it takes.
    """

    field: str
    values: tuple[Value, ...]


def parse_over(text: str) -> Over:
    """Read ``field=values``: numbers and words by commas, and ranges ``1..16`` or ``0..64..8``.

    Raises:
        DesignError: The text has another form, or too many values.

    Example:
        >>> parse_over("offset=1..4,8")
        Over(field='offset', values=(1, 2, 3, 4, 8))
        >>> parse_over("direction=zn,nz").values
        ('zn', 'nz')
    """
    field, equals, listed = text.partition("=")
    if not equals or not field.strip() or not listed.strip():
        raise DesignError("over", "field=values is expected, such as offset=1..16", shown(text))
    values: list[Value] = []
    for part in listed.split(","):
        values += _values(part.strip(), text)
        if len(values) > MAX_VALUES:
            raise DesignError("over", f"at most {MAX_VALUES} values of a field", shown(text))
    return Over(field.strip(), tuple(values))


def _values(part: str, text: str) -> Iterable[Value]:
    match = _RANGE.fullmatch(part)
    if match is None:
        if ".." in part or not part:
            raise DesignError("over", "a range is 1..16, or 0..64..8 with a step", shown(text))
        return [_scalar(part)]
    first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
    if step < 1 or last < first or (last - first) // step >= MAX_VALUES:
        allowed = f"a range rises by a step of 1 or more, over at most {MAX_VALUES} values"
        raise DesignError("over", allowed, shown(text))
    return range(first, last + 1, step)


def _scalar(text: str) -> Value:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    finite = not isinstance(value, float) or math.isfinite(value)
    return value if finite and not isinstance(value, (list, dict)) else text


def count(overs: Sequence[Over]) -> int:
    """Return the number of combinations.

    Raises:
        DesignError: There are too many, none, or a field is varied twice.
    """
    fields = [over.field for over in overs]
    if not fields or len(set(fields)) < len(fields):
        raise DesignError("over", "name each field to vary once", ", ".join(fields) or None)
    total = math.prod(len(over.values) for over in overs)
    if total > MAX_COMBINATIONS:
        raise DesignError("over", f"{total} combinations; at most {MAX_COMBINATIONS}", total)
    return total


def sweep(
    document: Mapping[str, Any], overs: Sequence[Over], metrics: Sequence[str] = ()
) -> Iterator[Row]:
    """Plan every combination, the last field fastest; stop asking for more to cancel.

    Args:
        document: A design document.
        overs: The fields to vary.
        metrics: Figures wanted, by name (``l2_hit_rate``) or path (``metrics.balance``); none for
            all that the study's plan calls its figures.

    Yields:
        One row a combination: the varied fields, then the figures; or ``error``, what is wrong
        with this combination.

    Raises:
        DesignError: A figure is unknown, or there are too many combinations.

    Example:
        >>> design = {"study": "schedule", "problem": [160, 6144, 2048], "tile": [128, 256],
        ...           "policy": "catlass", "direction": "nz", "workers": 20}
        >>> for row in sweep(design, [parse_over("offset=3,4")], ["balance"]):
        ...     print(row["offset"], round(row["balance"], 3))
        3 1.5
        4 1.333
    """
    count(overs)
    for values in itertools.product(*(over.values for over in overs)):
        row: Row = {over.field: value for over, value in zip(overs, values, strict=True)}
        try:
            plan = _planned(document, overs, values)
        except DesignError as error:
            if error.field == "over":
                raise
            yield {**row, "error": str(error)}
            continue
        yield {**row, **_figures(plan, metrics)}


def columns(rows: Sequence[Row]) -> list[str]:
    """Return every name of some rows, in the order in which they first stand.

    Example:
        >>> columns([{"offset": 1, "error": "no"}, {"offset": 2, "balance": 1.5}])
        ['offset', 'error', 'balance']
    """
    return list(dict.fromkeys(name for row in rows for name in row))


def csv_text(rows: Sequence[Row]) -> str:
    """Return the rows of a sweep as CSV, their names first.

    Example:
        >>> csv_text([{"offset": 1, "balance": 1.5}, {"offset": 2, "balance": None}])
        'offset,balance\\n1,1.5\\n2,\\n'
    """
    target = io.StringIO(newline="")
    writer = csv.DictWriter(target, columns(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return target.getvalue()


def _planned(document: Mapping[str, Any], overs: Sequence[Over], values: Sequence[Value]) -> Any:
    changed = deepcopy(dict(document))
    for over, value in zip(overs, values, strict=True):
        _place(changed, over.field, value)
    design = make_design(changed)
    return study_of(design).plan(design)


def _place(document: dict[str, Any], field: str, value: Value) -> None:
    """Set a field, dotted where nested; a number names a place in a list."""
    *parents, last = field.split(".")
    inside: Any = document
    for name in parents:
        inside = _entry(inside, name, field)
    if isinstance(inside, list):
        inside[_position(inside, last, field)] = value
    elif isinstance(inside, dict):
        inside[last] = value
    else:
        raise DesignError("over", "no such field in the design", field)


def _entry(inside: Any, name: str, field: str) -> Any:
    if isinstance(inside, list):
        return inside[_position(inside, name, field)]
    if isinstance(inside, dict):
        return inside.setdefault(name, {})
    raise DesignError("over", "no such field in the design", field)


def _position(inside: list[Any], name: str, field: str) -> int:
    if not (name.isascii() and name.isdigit()) or int(name) >= len(inside):
        raise DesignError("over", f"places 0 to {len(inside) - 1} exist", field)
    return int(name)


def _figures(plan: Any, metrics: Sequence[str]) -> Row:
    """Return the wanted figures of a plan."""
    known: Row = dict(plan.scalars()) if hasattr(plan, "scalars") else {}
    if not metrics:
        if known:
            return known
        raise DesignError("metric", "name the figures wanted", None)
    missing = [name for name in metrics if name not in known]
    if missing:
        leaves = dict(_leaves(plan.to_json(), ""))
        for name in missing:
            known[name] = _found(name, leaves)
    return {name: known[name] for name in metrics}


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Value]]:
    """Yield every figure of a result that is not in a list, with its dotted path."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else str(name))
    elif not isinstance(value, (list, tuple)):
        yield path, value


def _found(name: str, leaves: Mapping[str, Value]) -> Value:
    paths = [path for path in leaves if path == name or path.endswith(f".{name}")]
    exact = [path for path in paths if path == name]
    chosen = exact or paths
    if len(chosen) != 1:
        what = "no such figure" if not chosen else f"several: {', '.join(chosen)}"
        known = ", ".join(list(leaves)[:24])
        message = what if chosen else f"{what}; there are {known}"
        raise DesignError("metric", message, shown(name))
    return leaves[chosen[0]]
