"""Every element of every output against the reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.kernel import Array, Buffer, Kernel
from tileviz.dtypes import dtype

Number = int | float | list[int] | list[float]

_CHUNK = 1 << 18


@dataclass(frozen=True)
class Mismatch:
    """The first element that differs.

    Attributes:
        buffer: Name of the output.
        index: Its coordinate in the buffer's shape.
        want: The reference's value; a list for vector elements.
        got: The kernel's value.
        count: Number of elements that differ, over all outputs.
    """

    buffer: str
    index: tuple[int, ...]
    want: Number
    got: Number
    count: int

    def to_json(self) -> dict[str, object]:
        """Return it as in the ``run`` object, plus the buffer and the count."""
        return {
            "index": list(self.index),
            "want": _plain(self.want),
            "got": _plain(self.got),
            "buffer": self.buffer,
            "count": self.count,
        }


@dataclass(frozen=True)
class Verification:
    """Whether the outputs are right: ``verified`` is None where there is no reference."""

    verified: bool | None
    mismatch: Mismatch | None = None


def expected_outputs(kernel: Kernel, inputs: Mapping[str, Array]) -> Mapping[str, Array] | None:
    """Return what ``kernel.reference`` makes of the inputs, or None where there is no reference.

    Args:
        kernel: With its reference.
        inputs: Flat contents before the run, of at least every ``in`` and ``inout`` buffer; the
            reference gets copies.
    """
    if kernel.reference is None:
        return None
    return kernel.reference(
        {b.name: inputs[b.name].copy() for b in kernel.buffers if b.role != "out"}
    )


def verify(
    kernel: Kernel, inputs: Mapping[str, Array], outputs: Mapping[str, Array]
) -> Verification:
    """Compare every element of every output with ``kernel.reference``; see `compare_outputs`.

    Args:
        kernel: With its reference and tolerance.
        inputs: Flat contents before the run, of at least every ``in`` and ``inout`` buffer.
        outputs: Flat contents after the run.

    Raises:
        ValueError: The reference gives an array of another size or dtype: an error of ours.
    """
    return compare_outputs(kernel, expected_outputs(kernel, inputs), outputs)


def compare_outputs(
    kernel: Kernel, expected: Mapping[str, Array] | None, outputs: Mapping[str, Array]
) -> Verification:
    """Compare every element of every output with what is expected.

    With tolerance 0 the bits must agree, but that any NaN equals any NaN. Otherwise floating
    elements may differ by the tolerance, relative to the wanted value or to the root mean square
    of the wanted array, whichever is larger (sums that cancel have no digits of their own).

    Args:
        kernel: With its tolerance.
        expected: Of `expected_outputs`; None where nothing is known.
        outputs: Flat contents after the run.

    Raises:
        ValueError: What is expected is of another size or dtype: an error of ours.
    """
    if expected is None:
        return Verification(None)
    first: Mismatch | None = None
    count = 0
    for buffer in kernel.buffers:
        if buffer.role == "in":
            continue
        want = _carried(buffer, expected[buffer.name])
        got = _carried(buffer, outputs[buffer.name])
        wrong = differing(buffer, want, got, kernel.tolerance)
        count += int(wrong.sum())
        if first is None and wrong.any():
            first = _mismatch(buffer, want, got, int(wrong.argmax()))
    if first is None:
        return Verification(True)
    return Verification(False, Mismatch(first.buffer, first.index, first.want, first.got, count))


def differing(buffer: Buffer, want: Array, got: Array, tolerance: float) -> NDArray[np.bool_]:
    """Return which elements of the buffer differ, bool of shape ``[element]``."""
    kind = dtype(buffer.dtype)
    bits = f"u{kind.numpy.itemsize}"
    wrong = np.empty(want.size, np.bool_)
    size = lru_cache(maxsize=1)(lambda: _size(buffer, want))
    for start in range(0, want.size, _CHUNK):
        here = slice(start, start + _CHUNK)
        np.not_equal(want[here].view(bits), got[here].view(bits), out=wrong[here])
        # Only what differs in its bits is looked at as numbers: mostly nothing, or little.
        at = np.flatnonzero(wrong[here]) + start
        if at.size:
            wrong[at] = ~_excused(buffer, want[at], got[at], tolerance, size)
    return np.asarray(wrong.reshape(-1, kind.lanes).any(axis=1))


def _excused(
    buffer: Buffer, want: Array, got: Array, tolerance: float, size: Callable[[], float]
) -> NDArray[np.bool_]:
    """Return which elements are right though their bits differ."""
    wanted, given = as_floats(buffer, want), as_floats(buffer, got)
    if wanted is None or given is None:
        return np.zeros(want.size, np.bool_)
    excused = np.isnan(wanted) & np.isnan(given)
    if tolerance > 0:
        excused |= _close(wanted, given, tolerance, size)
    return np.asarray(excused)


def as_floats(buffer: Buffer, flat: Array) -> NDArray[np.float64] | None:
    """Return the values of a floating buffer as float64, or None for other types."""
    kind = dtype(buffer.dtype)
    if kind.name.startswith("bfloat16"):
        return (flat.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return flat.astype(np.float64) if kind.numpy.kind == "f" else None


def _close(
    want: NDArray[np.float64],
    got: NDArray[np.float64],
    tolerance: float,
    size: Callable[[], float],
) -> NDArray[np.bool_]:
    """Return which elements are close, relative to their value or to the array's own size."""
    with np.errstate(invalid="ignore"):
        error = np.abs(want - got)
        close = (want == got) | (np.isfinite(want) & (error <= tolerance * np.abs(want)))
        if not close.all():
            close |= np.isfinite(want) & (error <= tolerance * size())
    return np.asarray(close)


def _size(buffer: Buffer, flat: Array) -> float:
    """Return the root mean square of an array, its infinities and NaN counted as 0."""
    total = 0.0
    for start in range(0, flat.size, _CHUNK):
        values = as_floats(buffer, flat[start : start + _CHUNK])
        assert values is not None
        finite = np.where(np.isfinite(values), values, 0.0)
        total += float(np.dot(finite, finite))
    return math.sqrt(total / flat.size) if flat.size else 0.0


def _carried(buffer: Buffer, array: Array) -> Array:
    kind = dtype(buffer.dtype)
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype != kind.numpy or flat.size != buffer.count * kind.lanes:
        raise ValueError(
            f"{buffer.name}: {flat.size} x {flat.dtype} is not {buffer.count} x {buffer.dtype}"
        )
    return flat


def _mismatch(buffer: Buffer, want: Array, got: Array, element: int) -> Mismatch:
    index = np.unravel_index(element, buffer.shape or (1,))
    coordinate = tuple(int(extent) for extent in index) if buffer.shape else ()
    return Mismatch(
        buffer.name, coordinate, _value(buffer, want, element), _value(buffer, got, element), 1
    )


def _value(buffer: Buffer, flat: Array, element: int) -> Number:
    lanes = dtype(buffer.dtype).lanes
    part = flat[element * lanes : (element + 1) * lanes]
    floats = as_floats(buffer, part)
    values: list[int] | list[float] = part.tolist() if floats is None else floats.tolist()
    return values[0] if lanes == 1 else values


def _plain(value: Number) -> object:
    """Return what JSON can hold: infinities and NaN as text."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if np.isfinite(value) else str(value)
