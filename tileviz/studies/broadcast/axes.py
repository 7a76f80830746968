"""Axes of an output as its operands see them: preserved or broadcast, in groups, merged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tileviz.cuda.expr import Const, Expr
from tileviz.studies.broadcast.design import BroadcastDesign, Shape, aligned, size_of

Group = Literal["high", "low", "preserved"]


def broadcast_axes(shape: Shape, out: Shape) -> tuple[int, ...]:
    """Return the axes on which an operand is broadcast: extent 1 there, and not in the output.

    Example:
        >>> broadcast_axes((64, 1, 1), (8, 64, 16, 16))
        (0, 2, 3)
    """
    pairs = enumerate(zip(aligned(shape, len(out)), out, strict=True))
    return tuple(axis for axis, (extent, whole) in pairs if extent == 1 != whole)


@dataclass(frozen=True)
class AxisGroups:
    """The axes that all broadcasting operands share, as the reference groups them.

    Attributes:
        out: The output's shape.
        broadcast: Axes on which every broadcasting operand is broadcast.
        preserved: The other axes.
        low: The last run of consecutive broadcast axes.
        high: The broadcast axes before that run.
    """

    out: Shape
    broadcast: tuple[int, ...]
    preserved: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    @classmethod
    def of(cls, design: BroadcastDesign) -> AxisGroups:
        """Return the groups of a design's output.

        Example:
            >>> from tileviz.studies.design import validated
            >>> nchw = validated(BroadcastDesign, {
            ...     "operands": [[1, 64, 1, 1]], "out": [8, 64, 16, 16]})
            >>> groups = AxisGroups.of(nchw)
            >>> groups.high, groups.preserved, groups.low
            ((0,), (1,), (2, 3))
        """
        out = design.out
        sets = [set(broadcast_axes(shape, out)) for shape in design.shapes]
        shared = [axes for axes in sets if axes]
        common = tuple(sorted(set.intersection(*shared))) if shared else ()
        start = len(common)
        while start and (start == len(common) or common[start] - common[start - 1] == 1):
            start -= 1
        return cls(
            out,
            common,
            tuple(axis for axis in range(len(out)) if axis not in common),
            common[start:],
            common[:start],
        )

    @property
    def last_is_broadcast(self) -> bool:
        """Whether the last axis is broadcast: the NCHW branch."""
        return bool(self.broadcast) and self.broadcast[-1] == len(self.out) - 1

    def group(self, axis: int) -> Group:
        """Return the group of an axis."""
        if axis in self.low:
            return "low"
        return "high" if axis in self.high else "preserved"

    def size(self, axes: tuple[int, ...]) -> int:
        """Return the product of the extents of some axes, -1 where one is dynamic."""
        return size_of(tuple(self.out[axis] for axis in axes))


@dataclass(frozen=True)
class Axis:
    """One output axis, as drawn in the classification strip.

    Attributes:
        position: 0-based, from the left.
        extent: Its extent, -1 where dynamic.
        group: ``high`` and ``low`` are broadcast by all broadcasting operands.
        varies: Per operand, whether the operand varies along this axis.
    """

    position: int
    extent: int
    group: Group
    varies: tuple[bool, ...]


def classify(design: BroadcastDesign) -> tuple[Axis, ...]:
    """Return every axis of the output with its group and the operands that vary along it."""
    groups = AxisGroups.of(design)
    sets = [broadcast_axes(shape, design.out) for shape in design.shapes]
    return tuple(
        Axis(axis, extent, groups.group(axis), tuple(axis not in axes for axes in sets))
        for axis, extent in enumerate(design.out)
    )


@dataclass(frozen=True)
class Merged:
    """An output without unit axes, neighbours with the same operands merged.

    Attributes:
        extents: Extents, outermost first; ``(1,)`` for a single element.
        masks: Per operand, whether it varies along each of them.
    """

    extents: tuple[int, ...]
    masks: tuple[tuple[bool, ...], ...]

    @classmethod
    def of(cls, out: Shape, shapes: tuple[Shape, ...]) -> Merged:
        """Merge the axes of ``out`` for operands of some shapes.

        Example:
            >>> Merged.of((8, 64, 16, 16), ((1, 64, 1, 1),))
            Merged(extents=(8, 64, 256), masks=((False, True, False),))
        """
        lined = [aligned(shape, len(out)) for shape in shapes]
        extents: list[int] = []
        columns: list[tuple[bool, ...]] = []
        for axis, extent in enumerate(out):
            if extent == 1:
                continue
            column = tuple(shape[axis] != 1 for shape in lined)
            if columns and columns[-1] == column:
                extents[-1] *= extent
            else:
                extents.append(extent)
                columns.append(column)
        if not extents:
            return cls((1,), ((False,),) * len(shapes))
        return cls(tuple(extents), tuple(zip(*columns, strict=True)))

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.extents)

    @property
    def broadcasting(self) -> tuple[int, ...]:
        """The operands that are broadcast along some axis."""
        return tuple(k for k, mask in enumerate(self.masks) if not all(mask))

    @property
    def inner(self) -> int:
        """The innermost extent."""
        return self.extents[-1]

    def run(self, operand: int) -> int:
        """Return how many neighbouring elements an operand sees as one innermost row.

        The product of the innermost extents along which it varies throughout, or not at all.
        """
        return math.prod(self.extents[self._run_start(operand) :])

    def rows(self, operand: int) -> tuple[Digit, ...]:
        """Return the digits of a row number (see `run`) that an operand's index is made of."""
        start, mask = self._run_start(operand), self.masks[operand]
        weight = self.run(operand) if mask[-1] else 1
        parts = digits(self.extents[:start], mask[:start])
        return tuple(Digit(part.divisor, part.modulus, part.weight * weight) for part in parts)

    def _run_start(self, operand: int) -> int:
        mask = self.masks[operand]
        start = len(mask) - 1
        while start and mask[start - 1] == mask[-1]:
            start -= 1
        return start

    @property
    def period(self) -> int:
        """After how many elements every broadcast operand repeats.

        The product of the extents from the outermost axis on which one of them varies.
        """
        varying = [
            axis
            for axis in range(len(self.extents))
            if any(self.masks[k][axis] for k in self.broadcasting)
        ]
        return math.prod(self.extents[varying[0] :]) if varying else 1


@dataclass(frozen=True)
class Digit:
    """A digit of a flat index: ``index / divisor % modulus * weight``.

    Attributes:
        divisor: Elements that the digit stays the same for.
        modulus: Its extent; None for the outermost, which needs no modulus.
        weight: What it counts for in the operand's own index.
    """

    divisor: int
    modulus: int | None
    weight: int


def digits(extents: tuple[int, ...], mask: tuple[bool, ...]) -> tuple[Digit, ...]:
    """Return the digits of a flat row-major index that an operand is read by, outermost first.

    Args:
        extents: Extents, outermost first.
        mask: Whether the operand varies along each.

    Example:
        >>> digits((8, 64, 256), (False, True, False))
        (Digit(divisor=256, modulus=64, weight=1),)
        >>> digits((8, 64), (True, True))
        (Digit(divisor=1, modulus=None, weight=1),)
    """
    found: list[Digit] = []
    divisor, weight, end = 1, 1, len(extents)
    while end:
        start = end
        while start and mask[start - 1] == mask[end - 1]:
            start -= 1
        extent = math.prod(extents[start:end])
        if mask[end - 1]:
            found.append(Digit(divisor, extent if start else None, weight))
            weight *= extent
        divisor *= extent
        end = start
    return tuple(reversed(found))


def position(index: Expr, parts: tuple[Digit, ...]) -> Expr:
    """Return an operand's index as an expression of the flat index.

    Example:
        >>> from tileviz.cuda.expr import Var
        >>> print(position(Var("i"), digits((8, 64, 256), (False, True, False))))
        i / 256 % 64
    """
    total: Expr = Const(0)
    for part in parts:
        digit = index // part.divisor
        if part.modulus is not None:
            digit = digit % part.modulus
        total = total + digit * part.weight
    return total


def loop_invariant(parts: tuple[Digit, ...], threads: int, serial: int) -> bool:
    """Return whether an operand's index is the same in all serial steps, by arithmetic.

    A digit stays when it repeats after one step (its period divides T), or when a block's range
    never crosses into its next value (its divisor is a multiple of T * s).

    Example:
        >>> [loop_invariant((Digit(1, c, 1),), 256, 4) for c in (64, 192, 256)]
        [True, False, True]
    """
    if serial == 1:
        return True
    return all(
        (part.modulus is not None and threads % (part.divisor * part.modulus) == 0)
        or part.divisor % (threads * serial) == 0
        for part in parts
    )
