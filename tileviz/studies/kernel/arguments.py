"""Buffers and scalars as short text: ``x:float32:1024:in`` and ``n:int32:1024``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tileviz.errors import DesignError
from tileviz.studies.design import shown

_BUFFER = "name:dtype:extents:role is expected, such as x:float32:1024:in or y:int8:64x32:out"
_MAX_DIGITS = 80
_SCALAR = "name:dtype:value is expected, such as n:int32:1024"


def buffer_fields(text: str) -> dict[str, Any]:
    """Return the fields of a buffer.

    Raises:
        DesignError: The text has another form.

    Example:
        >>> buffer_fields("x:float32:64x32:in")
        {'name': 'x', 'dtype': 'float32', 'shape': [64, 32], 'role': 'in'}
    """
    parts = text.split(":")
    if len(parts) != 4:
        raise DesignError("buffer", _BUFFER, shown(text))
    name, dtype, extents, role = parts
    sizes = extents.split("x")
    if not all(map(_is_extent, sizes)):
        raise DesignError("buffer", _BUFFER, shown(text))
    return {"name": name, "dtype": dtype, "shape": [int(size) for size in sizes], "role": role}


def _is_extent(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 12


def scalar_fields(text: str) -> dict[str, Any]:
    """Return the fields of a scalar.

    Raises:
        DesignError: The text has another form.

    Example:
        >>> scalar_fields("n:int32:0x10")
        {'name': 'n', 'dtype': 'int32', 'value': 16}
        >>> scalar_fields("a:float32:0.5")["value"]
        0.5
    """
    name, _, rest = text.partition(":")
    dtype, _, value = rest.partition(":")
    try:
        number = scalar_value(dtype, value)
    except DesignError:
        raise DesignError("scalar", _SCALAR, shown(text)) from None
    return {"name": name, "dtype": dtype, "value": number}


def scalar_value(dtype: str, text: str) -> int | float:
    """Return the value of a scalar from its text: whole numbers in any base, or a decimal.

    Raises:
        DesignError: It is no finite number of that kind; names no field.

    Example:
        >>> scalar_value("int32", "0x10"), scalar_value("float32", "1e-3")
        (16, 0.001)
    """
    floating = dtype.startswith("float")
    try:
        if len(text) > _MAX_DIGITS or not text.isascii():
            raise ValueError
        number = float(text) if floating else int(text, 0)
        if not math.isfinite(number):
            raise ValueError
    except (ValueError, OverflowError):
        kind = "a number such as 0.5" if floating else "a whole number such as 1024 or 0x400"
        raise DesignError("", f"{kind} is expected", shown(text)) from None
    return number


def extents(field: str, text: str) -> list[int]:
    """Return up to three extents of ``4,2`` or ``4x2``.

    Raises:
        DesignError: The text has another form; names ``field``.
    """
    parts = text.replace("x", ",").replace("×", ",").replace(" ", "").split(",")
    if len(parts) > 3 or not all(_is_extent(part) for part in parts):
        raise DesignError(field, "up to three whole numbers are expected, such as 4,2", shown(text))
    return [int(part) for part in parts]


def in_order(arguments: Sequence[str]) -> list[str]:
    """Return the parameter names in the order in which a command line gives them.

    Example:
        >>> in_order(["k.cu", "--buffer", "x:float32:8:in", "--scalar=n:int32:8"])
        ['x', 'n']
    """
    names = []
    for position, argument in enumerate(arguments):
        option, _, value = argument.partition("=")
        if option in ("--buffer", "--scalar"):
            text = value or (arguments[position + 1] if position + 1 < len(arguments) else "")
            names.append(text.partition(":")[0])
    return names
