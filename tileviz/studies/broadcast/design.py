"""The broadcast design: which shapes are read into which output, by which expression."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from tileviz.dtypes import NAMES
from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.studies.broadcast.expressions import EXPRESSIONS, Expression
from tileviz.studies.design import MAX_RANK, Design, shown

MAX_BROADCAST_ELEMENTS = 1 << 40
MAX_OPERANDS = 8
MAX_SMS = 1024
DYNAMIC = -1

Shape = tuple[int, ...]
Access = Literal["broadcast", "elementwise", "transpose", "reduce"]

# Whole elements of 1, 2, 4 or 8 bytes: what a 16-byte access holds 16, 8, 4 or 2 of.
DTYPES = tuple(
    name for name in NAMES if dtype_of(name).lanes == 1 and dtype_of(name).bits in (8, 16, 32, 64)
)
_ALIASES = {"relu": "relu(x*a+b)"}


class BroadcastDesign(Design):
    """An elementwise expression of ``x`` (of the output's shape) and smaller operands.

    Attributes:
        operands: Shapes of the tensors besides x, in the expression's order, right-aligned to
            ``out``; one shape is repeated for all.
        out: The output's shape. An extent of -1 is known only at run time: the reference decides
            all the same, and its grids become text.
        dtype: Element type of every tensor.
        sm_count: Multiprocessors of the device planned for.
        expression: What is computed.

    Example:
        >>> from tileviz.studies.design import validated
        >>> design = validated(BroadcastDesign, {
        ...     "operands": [[192]], "out": [64, 56, 56, 192], "expression": "batchnorm"})
        >>> design.names, design.elements
        (('mean', 'var', 'scale', 'bias'), 38535168)
    """

    study: Literal["broadcast"] = "broadcast"
    operands: Annotated[tuple[Shape, ...], Field(min_length=1, max_length=MAX_OPERANDS)]
    out: Shape
    dtype: str = "float32"
    sm_count: Annotated[int, Field(ge=1, le=MAX_SMS)] = 80
    expression: str = "add"

    @field_validator("dtype")
    @classmethod
    def _dtype_name(cls, name: str) -> str:
        if name not in DTYPES:
            raise DesignError("", f"unknown dtype; allowed: {', '.join(DTYPES)}", shown(name))
        return name

    @field_validator("expression")
    @classmethod
    def _expression_name(cls, name: str) -> str:
        name = _ALIASES.get(name, name)
        if name not in EXPRESSIONS:
            allowed = ", ".join(EXPRESSIONS)
            raise DesignError("", f"unknown expression; allowed: {allowed}", shown(name))
        return name

    @field_validator("out")
    @classmethod
    def _out_shape(cls, shape: Shape) -> Shape:
        if not shape:
            raise DesignError("", f"needs 1 to {MAX_RANK} extents", [])
        _check_shape(shape)
        return shape

    @field_validator("operands")
    @classmethod
    def _operand_shapes(cls, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        for position, shape in enumerate(shapes):
            try:
                _check_shape(shape)
            except DesignError as error:
                raise error.within(str(position)) from None
        return shapes

    @model_validator(mode="after")
    def _fits_together(self) -> BroadcastDesign:
        wanted = self.formula.operands
        if wanted and len(self.operands) not in (1, len(wanted)):
            message = f"{self.expression} takes {len(wanted)} shapes ({', '.join(wanted)}), or one"
            raise DesignError("operands", f"{message} for all", len(self.operands))
        for position, shape in enumerate(self.operands):
            self._check_access(position, shape)
        return self

    def _check_access(self, position: int, shape: Shape) -> None:
        field, name = f"operands.{position}", self.names[position]
        if len(shape) > len(self.out):
            message = f"{name} has rank {len(shape)}, the output only {len(self.out)}"
            raise DesignError(field, message, list(shape))
        axis = clash(shape, self.out)
        if axis is None or access_of(shape, self.out) is not None:
            return
        got, want = aligned(shape, len(self.out))[axis], self.out[axis]
        allowed = "must be 1" if want == 1 else f"must be 1 or {_extent(want)}"
        message = f"{name} does not broadcast on axis {axis}: extent {_extent(got)}, {allowed}"
        raise DesignError(field, message, list(shape))

    # -- what follows from the fields --------------------------------------------------------------

    @property
    def formula(self) -> Expression:
        """The expression."""
        return EXPRESSIONS[self.expression]

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shape of every operand besides x, one for each name."""
        return self.operands * len(self.names) if len(self.operands) == 1 else self.operands

    @property
    def names(self) -> tuple[str, ...]:
        """The operands' names in the expression's order."""
        return self.formula.names(len(self.operands))

    @property
    def dynamic(self) -> bool:
        """Whether an extent is known only at run time."""
        return DYNAMIC in self.out

    @property
    def elements(self) -> int:
        """Elements of the output; -1 where an extent is dynamic."""
        return size_of(self.out)

    @property
    def accesses(self) -> tuple[Access, ...]:
        """How each operand is read."""
        found = (access_of(shape, self.out) for shape in self.shapes)
        return tuple(access for access in found if access is not None)


def size_of(extents: tuple[int, ...]) -> int:
    """Return the product of extents, or -1 where one is dynamic.

    Example:
        >>> size_of((4, 8)), size_of((4, -1)), size_of(())
        (32, -1, 1)
    """
    return DYNAMIC if DYNAMIC in extents else math.prod(extents)


def aligned(shape: Shape, rank: int) -> Shape:
    """Return a shape right-aligned to ``rank`` extents, 1 where there is none."""
    return (1,) * (rank - len(shape)) + shape


def clash(shape: Shape, out: Shape) -> int | None:
    """Return the last axis of the output on which ``shape`` does not broadcast, or None."""
    pairs = zip(aligned(shape, len(out)), out, strict=True)
    wrong = [axis for axis, (got, want) in enumerate(pairs) if got not in (1, want)]
    return wrong[-1] if wrong else None


def access_of(shape: Shape, out: Shape) -> Access | None:
    """Return how a tensor of ``shape`` is read for an output of shape ``out``, None if not at all.

    A permutation of the output's extents is read transposed; one that the output reduces has the
    output's extents but where that is 1.

    Example:
        >>> [access_of(shape, (8, 16)) for shape in [(16,), (8, 16), (16, 8), (5, 16)]]
        ['broadcast', 'elementwise', 'transpose', None]
        >>> access_of((8, 64), (1, 64))
        'reduce'
    """
    if clash(shape, out) is None:
        return "elementwise" if aligned(shape, len(out)) == out else "broadcast"
    if len(shape) != len(out):
        return None
    if sorted(shape) == sorted(out):
        return "transpose"
    summed = all(want in (1, got) for got, want in zip(shape, out, strict=True))
    return "reduce" if summed else None


def _check_shape(shape: Shape) -> None:
    if len(shape) > MAX_RANK:
        raise DesignError("", f"has rank {len(shape)}; at most {MAX_RANK} is allowed", len(shape))
    for axis, extent in enumerate(shape):
        if extent < 1 and extent != DYNAMIC:
            message = f"axis {axis} has extent {extent}; allowed: 1 or more, or -1 for dynamic"
            raise DesignError("", message, list(shape))
    known = math.prod(extent for extent in shape if extent != DYNAMIC)
    if known > MAX_BROADCAST_ELEMENTS:
        message = f"has {known} elements; at most {MAX_BROADCAST_ELEMENTS} (2^40) are allowed"
        raise DesignError("", message, [shown(extent) for extent in shape])


def _extent(extent: int) -> str:
    return "dynamic (-1)" if extent == DYNAMIC else str(extent)
