"""What a broadcast kernel must compute, in NumPy, a cache's worth of elements at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.expr import Var
from tileviz.cuda.kernel import Array, Reference
from tileviz.studies.broadcast.axes import Merged, digits, position
from tileviz.studies.broadcast.design import BroadcastDesign, Shape, aligned
from tileviz.studies.broadcast.portion import Portion
from tileviz.studies.broadcast.values import ValueType

# Some float64 temporaries of this many elements fit into a core's own cache.
_CHUNK = 1 << 15

Slab = tuple[int | slice, ...]


def reference(design: BroadcastDesign, part: Portion, values: ValueType) -> Reference:
    """Return the expression in NumPy, over flat arrays by name.

    The whole of a design is broadcast by NumPy itself, which knows nothing of our indices; its
    beginning alone has no shape, and is gathered by index.

    Args:
        design: A static design.
        part: How much of it.
        values: How its elements are computed with.
    """
    if part.complete:
        return lambda inputs: {"y": _broadcast(design, values, inputs)}
    return lambda inputs: {"y": _gathered(design, part.elements, values, inputs)}


def _broadcast(
    design: BroadcastDesign, values: ValueType, inputs: Mapping[str, Array]
) -> NDArray[Any]:
    x = inputs["x"].reshape(design.out)
    y = np.empty(design.out, x.dtype)
    shapes = [aligned(shape, len(design.out)) for shape in design.shapes]
    operands = [
        values.widened(inputs[name]).reshape(shape)
        for name, shape in zip(design.names, shapes, strict=True)
    ]
    with np.errstate(all="ignore"):
        for slab in slabs(design.out, _CHUNK):
            read = [operand[_seen(slab, operand.shape)] for operand in operands]
            y[slab] = values.rounded(design.formula.compute(values.widened(x[slab]), read))
    return y.reshape(-1)


def slabs(shape: Shape, most: int) -> Iterator[Slab]:
    """Yield index tuples that cover an array once, each of at most ``most`` elements.

    Example:
        >>> list(slabs((2, 5, 10), 60))
        [(slice(0, 1, None),), (slice(1, 2, None),)]
        >>> list(slabs((2, 5), 30))
        [()]
    """
    axis, inner = len(shape), 1
    while axis and inner * shape[axis - 1] <= most:
        axis -= 1
        inner *= shape[axis]
    if not axis:
        yield ()
        return
    extent, step = shape[axis - 1], most // inner
    for outer in np.ndindex(*shape[: axis - 1]):
        for start in range(0, extent, step):
            yield (*outer, slice(start, min(start + step, extent)))


def _seen(slab: Slab, shape: Shape) -> Slab:
    """Return which part of an operand a slab of the output needs."""
    everything: dict[type, int | slice] = {int: 0, slice: slice(None)}
    return tuple(
        everything[type(at)] if extent == 1 else at for at, extent in zip(slab, shape, strict=False)
    )


def _gathered(
    design: BroadcastDesign, elements: int, values: ValueType, inputs: Mapping[str, Array]
) -> NDArray[Any]:
    merged = [Merged.of(design.out, (shape,)) for shape in design.shapes]
    places = [position(Var("i"), digits(m.extents, m.masks[0])) for m in merged]
    target = np.empty(elements, inputs["x"].dtype)
    given = [values.widened(inputs[name]) for name in design.names]
    for start in range(0, elements, _CHUNK):
        index = np.arange(start, min(start + _CHUNK, elements), dtype=np.int64)
        x = values.widened(inputs["x"][start : start + len(index)])
        read: list[Any] = [
            operand[np.asarray(place.evaluate({"i": index}))]
            for operand, place in zip(given, places, strict=True)
        ]
        with np.errstate(all="ignore"):
            result = design.formula.compute(x, read)
        target[start : start + len(index)] = values.rounded(result)
    return target
