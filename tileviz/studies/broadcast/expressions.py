"""The elementwise expressions: in CUDA, in C++ for the host, and bit for bit in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[Any]
Compute = Callable[[Values, Sequence[Values]], Values]

EPSILON = 1e-5

# The bits of a float64 that a float32 lacks, and their value halfway between two float32.
_BELOW_FLOAT32 = np.int64((1 << 29) - 1)
_TIE = np.int64(1 << 28)
_SMALLEST_NORMAL = np.float32(2.0**-126)


@dataclass(frozen=True)
class Expression:
    """An expression of x and some operands.

    Attributes:
        name: Its name in a design.
        text: The formula for people.
        operands: The operands' names; empty where any number is taken (``b``, or ``b0, b1...``).
        cuda: The formula in CUDA over values of the compute type: ``{fma}`` and ``{rsqrt}`` stand
            for functions, ``{chain}`` for the operands in a row.
        compute: The same in NumPy: x and the operands, broadcastable, in the compute type.
        floating: Whether it needs a floating type.
        exact: Whether NumPy gives the same bits as a GPU.
        clamped: Whether negative results become 0.
    """

    name: str
    text: str
    operands: tuple[str, ...]
    cuda: str
    compute: Compute
    floating: bool = False
    exact: bool = True
    clamped: bool = False

    def names(self, count: int) -> tuple[str, ...]:
        """Return the operands' names for ``count`` given shapes.

        Example:
            >>> EXPRESSIONS["add"].names(1), EXPRESSIONS["add"].names(2)
            (('b',), ('b0', 'b1'))
        """
        if self.operands:
            return self.operands
        return ("b",) if count == 1 else tuple(f"b{position}" for position in range(count))

    def formula(self, count: int) -> str:
        """Return the formula for people, with ``count`` operands.

        Example:
            >>> EXPRESSIONS["mul"].formula(2)
            'y = x * b0 * b1'
        """
        sign = " * " if self.name == "mul" else " + "
        return self.text.format(chain=sign.join(self.names(count)))


def fused(a: Values, b: Values, c: Values) -> Values:
    """Return ``a * b + c``, rounded once for float32, wrapped for integers.

    The product of two float32 is exact in float64. Rounding the float64 sum once more is wrong
    only where that is a tie between two float32, or where float32 is denormal: those sums are
    rounded to odd first, so that the final rounding is the only one that counts. A float64 sum is
    rounded twice.

    Example:
        >>> x = np.float32(1 + 2**-23)
        >>> fused(np.array([x]), np.array([x]), np.array([-1], np.float32)).tolist()
        [2.384185791015625e-07]
    """
    if a.dtype != np.float32:
        return np.asarray(a * b + c)
    with np.errstate(all="ignore"):
        total = np.asarray(np.multiply(a, b, dtype=np.float64) + c)
        found = np.asarray(total.astype(np.float32))
        doubtful = (total.view(np.int64) & _BELOW_FLOAT32) == _TIE
        doubtful |= np.abs(found) < _SMALLEST_NORMAL
        if doubtful.any():
            a, b, c = (np.broadcast_to(part, total.shape)[doubtful] for part in (a, b, c))
            found[doubtful] = _rounded_once(a, b, c)
    return found


def _rounded_once(a: Values, b: Values, c: Values) -> Values:
    """Return ``a * b + c`` of float32, the float64 sum rounded to odd on its way to float32."""
    product, addend = a.astype(np.float64) * b, c.astype(np.float64)
    total = product + addend
    virtual = total - product
    error = (product - (total - virtual)) + (addend - virtual)
    inexact = np.isfinite(total) & (error != 0)
    bits = total.view(np.int64)
    # An even last bit means that the exact sum is not representable here: move to odd, towards
    # the side on which it lies.
    outward = (error > 0) == (total > 0)
    odd = np.where(outward, bits | 1, bits - 1)
    fixed = np.where(inexact & (bits & 1 == 0), odd, bits).view(np.float64)
    return np.asarray(fixed.astype(np.float32))


def _add(x: Values, operands: Sequence[Values]) -> Values:
    for operand in operands:
        x = np.add(x, operand)
    return x


def _mul(x: Values, operands: Sequence[Values]) -> Values:
    for operand in operands:
        x = np.multiply(x, operand)
    return x


def _scale_shift(x: Values, operands: Sequence[Values]) -> Values:
    scale, shift = operands
    return fused(x, scale, shift)


def _relu(x: Values, operands: Sequence[Values]) -> Values:
    a, b = operands
    linear = fused(x, a, b)
    return np.where(np.greater(linear, 0), linear, linear.dtype.type(0))


def _batchnorm(x: Values, operands: Sequence[Values]) -> Values:
    """Return the kernel's own steps, but with an exactly rounded reciprocal square root."""
    mean, var, scale, bias = operands
    with np.errstate(all="ignore"):
        shifted = var + var.dtype.type(EPSILON)
        inverse = (1 / np.sqrt(shifted.astype(np.float64))).astype(var.dtype)
        return fused((x - mean) * inverse, scale, bias)


EXPRESSIONS: dict[str, Expression] = {
    expression.name: expression
    for expression in (
        Expression("add", "y = x + {chain}", (), "x + {chain}", _add),
        Expression(
            "batchnorm",
            "y = (x - mean) * rsqrt(var + eps) * scale + bias",
            ("mean", "var", "scale", "bias"),
            "{fma}((x - mean) * {rsqrt}(var + EPSILON), scale, bias)",
            _batchnorm,
            floating=True,
            exact=False,
        ),
        Expression(
            "scale_shift",
            "y = x * scale + shift",
            ("scale", "shift"),
            "{fma}(x, scale, shift)",
            _scale_shift,
        ),
        Expression("mul", "y = x * {chain}", (), "x * {chain}", _mul),
        Expression(
            "relu(x*a+b)",
            "y = relu(x * a + b)",
            ("a", "b"),
            "{fma}(x, a, b)",
            _relu,
            floating=True,
            clamped=True,
        ),
    )
}
