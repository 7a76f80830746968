"""What a person typed in the Kernel lab, as text, and the design it stands for.

Every field is kept exactly as typed, faults and all, so that nothing is lost while it is mended.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, get_args

from tileviz.dtypes import NAMES
from tileviz.errors import DesignError
from tileviz.export.links import to_query
from tileviz.studies.design import shown, validated
from tileviz.studies.kernel.arguments import extents, scalar_value
from tileviz.studies.kernel.design import (
    MAX_BUFFER_ELEMENTS,
    MAX_PARAMETERS,
    MAX_SOURCE,
    KernelDesign,
    ScalarDesign,
)
from tileviz.studies.kernel.signature import Signature

ROLES = ("in", "out", "inout", "scalar")
BUFFER_DTYPES = (*NAMES, "float32x2", "float32x4")
SCALAR_DTYPES: tuple[str, ...] = get_args(ScalarDesign.model_fields["dtype"].annotation)

LABELS = {
    "source": "Source",
    "entry": "Entry",
    "grid": "Grid",
    "block": "Block",
    "shared": "Shared bytes",
    "shared_bytes": "Shared bytes",
    "order": "Parameter order",
    "parameters": "Parameters",
    "buffers": "Buffers",
    "scalars": "Scalars",
}
_ONE = {"parameters": "Parameter", "buffers": "Buffer", "scalars": "Scalar"}
_COLUMNS = {"size": "shape or value", "shape": "shape", "value": "value"}
_MAX_DIGITS = 12
_FLAGS = ("int8", "uint8")
_NO_EXTENTS = (*_FLAGS, "float32", "float64")


@dataclass(frozen=True)
class ParameterForm:
    """One parameter as typed: a buffer, or a scalar where its role says so."""

    name: str = ""
    dtype: str = "float32"
    size: str = ""
    role: str = "in"


@dataclass(frozen=True)
class LabForm:
    """Every field of the page as it was typed."""

    source: str = ""
    entry: str = ""
    grid: str = "1"
    block: str = "32"
    shared: str = "0"
    parameters: tuple[ParameterForm, ...] = ()

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> LabForm:
        """Return the form that shows a link, faults and all.

        Example:
            >>> form = LabForm.from_query({"buffers": "x::8x4:out", "scalars": "n::5", "grid": "2"})
            >>> [(p.name, p.dtype, p.size, p.role) for p in form.parameters]
            [('x', 'float32', '8x4', 'out'), ('n', 'int32', '5', 'scalar')]
        """
        rows = [_buffer(part) for part in _records(query.get("buffers", ""))]
        rows += [_scalar(part) for part in _records(query.get("scalars", ""))]
        order = query.get("order", "").split(",")
        places = {name: place for place, name in reversed(list(enumerate(order)))}
        rows.sort(key=lambda row: places.get(row.name, len(places)))
        return cls(
            source=query.get("source", ""),
            entry=query.get("entry", ""),
            grid=_short(query.get("grid", "1")),
            block=_short(query.get("block", "32")),
            shared=query.get("shared_bytes", "0"),
            parameters=tuple(rows[:MAX_PARAMETERS]),
        )

    @classmethod
    def of(cls, design: KernelDesign) -> LabForm:
        """Return the form that shows a design."""
        return cls.from_query(to_query(design))

    def query(self) -> dict[str, str]:
        """Return the form as the keys of a link, faults and all."""
        rows = [f"{p.name}:{p.dtype}:{p.size}:{p.role}" for p in self.parameters]
        return {
            "entry": self.entry.strip(),
            "grid": _short(self.grid),
            "block": _short(self.block),
            "shared_bytes": self.shared.strip(),
            "parameters": ";".join(rows),
            "source": self.source,
        }

    def read(self) -> tuple[KernelDesign | None, tuple[DesignError, ...]]:
        """Return the design that was typed, or None and what is wrong."""
        errors: list[DesignError] = []
        fields: dict[str, Any] = {"source": self.source, "entry": self.entry.strip()}
        if len(self.source) > MAX_SOURCE:
            message = f"at most {MAX_SOURCE:,} characters; this text has {len(self.source):,}"
            errors.append(DesignError("source", message))
        for field in ("grid", "block"):
            try:
                fields[field] = extents(field, getattr(self, field).strip())
            except DesignError as error:
                errors.append(error)
        fields["shared_bytes"] = _whole("shared", self.shared, errors)
        fields |= self._parameters(errors)
        if errors:
            return None, tuple(errors)
        try:
            return validated(KernelDesign, fields), ()
        except DesignError as error:
            return None, (self._placed(error),)

    def _parameters(self, errors: list[DesignError]) -> dict[str, Any]:
        """Return buffers, scalars and their order as fields of the design."""
        buffers: list[dict[str, Any]] = []
        scalars: list[dict[str, Any]] = []
        for place, row in enumerate(self.parameters):
            common = {"name": row.name.strip(), "dtype": row.dtype.strip()}
            try:
                if row.role == "scalar":
                    value = scalar_value(common["dtype"], row.size.strip())
                    scalars.append({**common, "value": value})
                else:
                    shape = _shape(row.size)
                    buffers.append({**common, "shape": shape, "role": row.role})
            except DesignError as error:
                errors.append(error.within(f"parameters.{place}.size"))
        typed = [row.name.strip() for row in self.parameters]
        usual = [entry["name"] for entry in [*buffers, *scalars]]
        order = {} if typed == usual else {"order": typed}
        return {"buffers": buffers, "scalars": scalars, **order}

    def _placed(self, error: DesignError) -> DesignError:
        """Return a fault of the design as one of the form's own rows."""
        kind, _, rest = error.field.partition(".")
        number, _, column = rest.partition(".")
        rows = [
            place
            for place, row in enumerate(self.parameters)
            if (row.role == "scalar") == (kind == "scalars")
        ]
        if kind not in ("buffers", "scalars") or not number.isdigit() or int(number) >= len(rows):
            return error
        field = f"parameters.{rows[int(number)]}"
        field += f".{column.partition('.')[0]}" if column else ""
        return DesignError(field, error.message, error.value, position=error.position)

    def with_signature(self, signature: Signature) -> LabForm:
        """Return the form with the parameters that a kernel declares.

        What was typed for a parameter of the same name and kind stays. A new buffer starts with one
        element for each thread of the launch; new whole numbers are extents of the shortest buffer,
        so that the first run stays inside it.

        Example:
            >>> from tileviz.studies.kernel.signature import signatures
            >>> text = 'extern "C" __global__ void k(float* y, int rows, int cols) { y[0] = 1; }'
            >>> filled = LabForm(text, grid="8", block="128").with_signature(signatures(text)[0])
            >>> [row.size for row in filled.parameters]
            ['1024', '32', '32']
        """
        before = {(row.name, row.role == "scalar"): row for row in self.parameters}
        rows = []
        for declared in signature.parameters:
            old = before.get((declared.name, declared.role == "scalar"))
            size = old.size if old else "" if declared.role == "scalar" else str(self._threads())
            dtype = declared.dtype or (old.dtype if old else "")
            rows.append(ParameterForm(declared.name, dtype, size, declared.role))
        extent = str(_extent(rows, self._threads()))
        filled = [row if row.size else replace(row, size=_start(row, extent)) for row in rows]
        return replace(self, entry=signature.name, parameters=tuple(filled))

    def _threads(self) -> int:
        total = 1
        for text in (self.grid, self.block):
            try:
                for extent in extents("", text.strip()):
                    total *= max(extent, 1)
            except DesignError:
                continue
        return min(total, 1 << 20)


def _start(row: ParameterForm, extent: str) -> str:
    """Return what a new scalar starts with; a number of one byte is a flag more than an extent."""
    if row.dtype in ("float32", "float64"):
        return "1.0"
    return "1" if row.dtype in _FLAGS else extent


def _extent(rows: Sequence[ParameterForm], threads: int) -> int:
    """Return what new whole numbers start with: as many extents as fit the shortest buffer."""
    left = min((_elements(row.size) for row in rows if row.role != "scalar"), default=threads)
    # A larger one is refused anyway, and what is typed may be too large for a float.
    left = min(left, MAX_BUFFER_ELEMENTS)
    whole = [row for row in rows if row.role == "scalar" and row.dtype not in _NO_EXTENTS]
    for row in whole:
        typed = row.size.strip()[:_MAX_DIGITS]
        left //= max(int(typed), 1) if typed.isascii() and typed.isdigit() else 1
    new = sum(not row.size for row in whole)
    return _root(max(left, 1), new) if new else 1


def _root(value: int, degree: int) -> int:
    """Return the largest whole number whose power is at most ``value``.

    Example:
        >>> _root(1024, 1), _root(1024, 2), _root(1000, 3), _root(1 << 20, 5)
        (1024, 32, 10, 16)
    """
    # Typed, because a power of whole numbers may be of any kind.
    guess: int = round(value ** (1 / degree))
    power: int = guess**degree
    return guess if power <= value else guess - 1


def _elements(size: str) -> int:
    try:
        return prod(_shape(size))
    except DesignError:
        return 1


def _records(text: str) -> list[list[str]]:
    return [part.split(":") for part in text.split(";")] if text else []


def _buffer(parts: list[str]) -> ParameterForm:
    name, dtype, size, role = [*parts, "", "", ""][:4]
    return ParameterForm(name, dtype or "float32", size, role if role in ROLES[:3] else "in")


def _scalar(parts: list[str]) -> ParameterForm:
    name, dtype, value = [*parts, "", ""][:3]
    return ParameterForm(name, dtype or "int32", value, "scalar")


def _short(text: str) -> str:
    """Return extents without the ones at their end.

    Example:
        >>> _short("4, 1, 1"), _short("1,1,2"), _short("1")
        ('4', '1,1,2', '1')
    """
    return re.sub(r"(,1)+$", "", text.replace(" ", ""))


def _shape(text: str) -> list[int]:
    parts = re.split(r"[x×,*]", text.strip().strip("()[]").replace(" ", ""))
    if not all(p.isascii() and p.isdigit() and len(p) <= _MAX_DIGITS for p in parts):
        raise DesignError("", "extents such as 1024 or 64x32 are expected", shown(text))
    return [int(part) for part in parts]


def _whole(field: str, text: str, errors: list[DesignError]) -> int:
    try:
        return int(scalar_value("int32", text.strip() or "0"))
    except DesignError as error:
        errors.append(error.within(field))
        return 0


def label(field: str) -> str:
    """Return what the page calls a field of the form, of the design, or a key of a link.

    Example:
        >>> label("parameters.1.size"), label("buffers.0.dtype"), label("grid"), label("colour")
        ('Parameter 2, shape or value', 'Buffer 1, dtype', 'Grid', 'Link key “colour”')
    """
    name, _, rest = field.partition(".")
    number, _, column = rest.partition(".")
    if name in _ONE and number.isdigit():
        word = column.partition(".")[0]
        what = f", {_COLUMNS.get(word, word)}" if word else ""
        return f"{_ONE[name]} {int(number) + 1}{what}"
    if name in LABELS:
        return LABELS[name]
    return f"Link key “{field}”" if field else ""
