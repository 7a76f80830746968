"""Integer index expressions that print as CUDA C++ and evaluate in NumPy.

A prediction is only worth something if it comes from the text that runs. So a kernel's index is
built once, as an expression: ``str(index)`` goes into the CUDA source and ``index.evaluate(...)``
gives the addresses that are judged.

Values are non-negative where ``/``, ``%``, ``>>`` and ``&`` are used, so C++ and NumPy agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Value: TypeAlias = "int | NDArray[np.int64]"
Operand: TypeAlias = "Expr | int"

# Higher binds tighter, as in C++.
_PRECEDENCE = {"*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, "&": 8, "^": 7}
_EVALUATE: dict[str, Callable[[Value, Value], Value]] = {
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "^": lambda a, b: a ^ b,
}
# No value of a kernel has more bits; a larger shift would only build a huge integer here.
_MAX_SHIFT = 63
_BITWISE = {"<<", ">>", "&", "^"}


@dataclass(frozen=True)
class Expr:
    """An integer expression; made by operators on variables and integers.

    Example:
        >>> lane, r = Var("lane", 32), Var("r", 4)
        >>> j = r ^ ((lane >> 3) & 3)
        >>> print(j * 32 + lane)
        (r ^ (lane >> 3)) * 32 + lane
        >>> (j * 32 + lane).evaluate({"lane": 9, "r": 2})
        105
    """

    def evaluate(self, values: Mapping[str, Value]) -> Value:
        """Return the value for given variables (integers or broadcastable int64 arrays)."""
        raise NotImplementedError

    @property
    def limit(self) -> int | None:
        """One more than the largest value, or None where unknown."""
        return None

    def __add__(self, other: Operand) -> Expr:
        return _binary("+", self, _expr(other))

    def __radd__(self, other: int) -> Expr:
        return _binary("+", Const(other), self)

    def __sub__(self, other: Operand) -> Expr:
        return _binary("-", self, _expr(other))

    def __mul__(self, other: Operand) -> Expr:
        return _binary("*", self, _expr(other))

    def __rmul__(self, other: int) -> Expr:
        return _binary("*", self, Const(other))

    def __floordiv__(self, other: Operand) -> Expr:
        return _binary("/", self, _expr(other))

    def __mod__(self, other: Operand) -> Expr:
        return _binary("%", self, _expr(other))

    def __lshift__(self, other: Operand) -> Expr:
        return _binary("<<", self, _expr(other))

    def __rshift__(self, other: Operand) -> Expr:
        return _binary(">>", self, _expr(other))

    def __and__(self, other: Operand) -> Expr:
        return _binary("&", self, _expr(other))

    def __xor__(self, other: Operand) -> Expr:
        return _binary("^", self, _expr(other))


@dataclass(frozen=True)
class Const(Expr):
    """An integer constant."""

    value: int

    def evaluate(self, values: Mapping[str, Value]) -> Value:
        """Return the constant."""
        return self.value

    @property
    def limit(self) -> int | None:
        """One more than the value."""
        return self.value + 1 if self.value >= 0 else None

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Var(Expr):
    """A variable of the kernel, in the range ``0 <= name < extent`` (None: unknown)."""

    name: str
    extent: int | None = None

    def evaluate(self, values: Mapping[str, Value]) -> Value:
        """Return the variable's value."""
        return values[self.name]

    @property
    def limit(self) -> int | None:
        """The extent."""
        return self.extent

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Binary(Expr):
    """Two operands joined by a C++ operator."""

    op: str
    left: Expr
    right: Expr

    def evaluate(self, values: Mapping[str, Value]) -> Value:
        """Return the operator applied to both operands' values."""
        return _EVALUATE[self.op](self.left.evaluate(values), self.right.evaluate(values))

    @property
    def limit(self) -> int | None:
        """A bound derived from the operands' bounds."""
        return _limit(self.op, self.left.limit, self.right.limit, self.right)

    def __str__(self) -> str:
        return f"{self._side(self.left, False)} {self.op} {self._side(self.right, True)}"

    def _side(self, side: Expr, right: bool) -> str:
        if not isinstance(side, Binary):
            # A negative constant reads as a subtraction only behind a plus.
            return f"({side})" if str(side).startswith("-") else str(side)
        mine, theirs = _PRECEDENCE[self.op], _PRECEDENCE[side.op]
        regroups = right and theirs == mine and not (side.op == self.op and side.op in "+^&")
        needed = theirs < mine or regroups
        # Mixed bit and arithmetic operators are legal without parentheses, and misread by people.
        unclear = side.op != self.op and bool({self.op, side.op} & _BITWISE)
        return f"({side})" if needed or unclear else str(side)


def _expr(value: Operand) -> Expr:
    return value if isinstance(value, Expr) else Const(value)


def _limit(op: str, left: int | None, right: int | None, operand: Expr) -> int | None:
    if op == "&" and isinstance(operand, Const):
        return operand.value + 1 if left is None else min(left, operand.value + 1)
    if op == "%" and isinstance(operand, Const):
        return operand.value if left is None else min(left, operand.value)
    if left is None or right is None:
        return None
    if op == "^":
        return 1 << max((left - 1).bit_length(), (right - 1).bit_length())
    if op in ("+", "*"):
        return _both(op, left - 1, right - 1) + 1
    if isinstance(operand, Const) and op == "<<" and operand.value > _MAX_SHIFT:
        return None
    if isinstance(operand, Const) and op in (">>", "/", "<<"):
        return _both(op, left - 1, operand.value) + 1
    return None


def _both(op: str, left: int, right: int) -> int:
    value = _EVALUATE[op](left, right)
    assert isinstance(value, int)
    return value


def _binary(op: str, left: Expr, right: Expr) -> Expr:
    """Join two operands, leaving out what cannot change the value."""
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(_both(op, left.value, right.value))
    if isinstance(right, Const):
        value, limit = right.value, left.limit
        if value == 0:
            return Const(0) if op in ("*", "&") else left
        if value == 1 and op in ("*", "/"):
            return left
        whole = op == "&" and (value & (value + 1)) == 0
        if limit is not None and ((whole and limit <= value + 1) or (op == "%" and limit <= value)):
            return left
        vanishes = op == "/" and limit is not None and limit <= value
        if vanishes or (op == ">>" and limit is not None and (limit - 1) >> value == 0):
            return Const(0)
        if op == "+" and value < 0:
            return Binary("-", left, Const(-value))
    if isinstance(left, Const) and left.value == 0:
        return right if op in ("+", "^") else Const(0) if op != "-" else Binary(op, left, right)
    return Binary(op, left, right)


def bit_field(variable: Expr, start: int, width: int) -> Expr:
    """Return ``width`` bits of ``variable`` from bit ``start`` on, as a number.

    Example:
        >>> print(bit_field(Var("lane", 32), 3, 1), "|", bit_field(Var("lane", 32), 3, 2))
        (lane >> 3) & 1 | lane >> 3
    """
    return (variable >> start) & ((1 << width) - 1)


@dataclass(frozen=True)
class Lookup(Expr):
    """An entry of a constant table, ``name[index]``.

    Example:
        >>> print(Lookup("BASE", (0, 1, 100), Var("s", 3)))
        BASE[s]
    """

    name: str
    values: tuple[int, ...]
    index: Expr

    def evaluate(self, values: Mapping[str, Value]) -> Value:
        """Return the table's entries at the index."""
        entries: NDArray[np.int64] = np.asarray(self.values, dtype=np.int64)
        return entries[self.index.evaluate(values)]

    @property
    def limit(self) -> int | None:
        """One more than the largest entry."""
        return max(self.values) + 1 if min(self.values) >= 0 else None

    def __str__(self) -> str:
        return f"{self.name}[{self.index}]"
