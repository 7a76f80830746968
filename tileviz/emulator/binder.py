"""Binds the operands of instructions to rows, scalars and addresses.

A register that is assigned once, from values known before the run, needs no row and no instruction:
it is *known*, as a NumPy scalar, or as a row that the batch itself keeps, such as ``%tid.x``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from tileviz.emulator.errors import UnsupportedError
from tileviz.emulator.lanes import Lanes
from tileviz.emulator.memory import aligned
from tileviz.emulator.ptx import (
    WIDTH,
    Address,
    Immediate,
    Instruction,
    Not,
    Operand,
    Register,
    Symbol,
    Vector,
)
from tileviz.emulator.registers import Allocation
from tileviz.emulator.state import State

Row = NDArray[Any]
Value = Union[Row, np.generic]  # noqa: UP007 (an alias evaluated on Python 3.10)
Addresses = NDArray[np.int64]

# The NumPy type that carries each PTX type; packed and 16-bit brain types travel as bits.
DTYPE: dict[str, np.dtype[Any]] = {
    "pred": np.dtype(np.bool_),
    **{f"b{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(np.uint16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f16x2": np.dtype(np.uint32),
    "bf16x2": np.dtype(np.uint32),
    "tf32": np.dtype(np.uint32),
}
_ROW_TYPE = {1: np.dtype(np.bool_), **{w: np.dtype(f"uint{w}") for w in (16, 32, 64)}}


class Binder:
    """Rows of all registers of a batch, and the meaning of every operand."""

    def __init__(
        self,
        state: State,
        widths: dict[str, int],
        allocation: Allocation,
        symbols: dict[str, tuple[str, int]],
        specials: Callable[[str], Value | None],
    ) -> None:
        self.state = state
        self.widths = widths
        self.allocation = allocation
        self.symbols = symbols
        self.known: dict[str, Value] = {}
        self._specials = specials
        lanes = state.geometry.lanes
        self._rows = {
            width: aligned(count * lanes, _ROW_TYPE[width]).reshape(count, lanes)
            for width, count in allocation.counts.items()
            if width in _ROW_TYPE
        }

    # -- registers ---------------------------------------------------------------------------------

    def row(self, name: str, kind: str) -> Row:
        """Return the row of a register, seen as ``kind``; a narrower kind is its low part.

        The row may be written; a known register must not be asked for.
        """
        width = self.widths[name]
        if kind not in DTYPE:
            raise UnsupportedError(f"a predicate used as a {WIDTH.get(kind, 1)}-bit register")
        if width not in self._rows:
            raise UnsupportedError(f"unsupported PTX register width .b{width}")
        row: Row = _viewed(self._rows[width][self.allocation.rows[name]], kind, width)
        return row

    def rows(self, width: int) -> Row:
        """Return all rows of a width, ``[row, lane]``."""
        return self._rows[width]

    def settle(self, register: Operand, instruction: Instruction, value: Value) -> bool:
        """Make a register known if this instruction alone defines it; tell whether it is."""
        if (
            not isinstance(register, Register)
            or instruction.guard is not None
            or self.allocation.definitions[register.name] != 1
        ):
            return False
        width = self.widths[register.name]
        bits = DTYPE["pred"] if width == 1 else np.dtype(f"uint{width}")
        if value.dtype.itemsize != bits.itemsize:
            return False
        self.known[register.name] = value.view(bits)
        return True

    def destination(self, operand: Operand, kind: str) -> Row | None:
        """Return the row an instruction writes as ``kind``, or None for the sink ``_``."""
        if isinstance(operand, Register):
            return self.row(operand.name, kind)
        if isinstance(operand, Symbol) and operand.name == "_":
            return None
        raise UnsupportedError(f"unsupported PTX destination {operand}")

    def width(self, operand: Operand) -> int:
        """Return the width of a register operand in bits."""
        if not isinstance(operand, Register):
            raise UnsupportedError(f"unsupported PTX operand {operand}")
        return self.widths[operand.name]

    # -- sources -----------------------------------------------------------------------------------

    def source(self, operand: Operand, kind: str) -> Value:
        """Return a source operand as a row or scalar of the type ``kind``."""
        if isinstance(operand, Register):
            value = self.known.get(operand.name)
            if value is None:
                return self.row(operand.name, kind)
            known: Value = _viewed(value, kind, self.widths[operand.name])
            return known
        if isinstance(operand, Immediate):
            constant: Value = literal(operand, kind)
            return constant
        if isinstance(operand, Symbol):
            return self._symbol(operand, kind)
        raise UnsupportedError(f"unsupported PTX operand {operand}")

    def predicate(self, operand: Operand) -> tuple[Value, bool]:
        """Return a predicate source and whether it is negated."""
        if isinstance(operand, Not):
            return self.source(operand.register, "pred"), True
        return self.source(operand, "pred"), False

    def vector(self, operand: Operand, count: int) -> tuple[Operand, ...]:
        """Return the ``count`` items of a vector operand; a lone operand is a vector of one."""
        items = operand.items if isinstance(operand, Vector) else (operand,)
        if len(items) != count:
            raise UnsupportedError(f"expected a vector of {count}, got {len(items)}")
        return items

    def _symbol(self, symbol: Symbol, kind: str) -> Value:
        special = self._specials(symbol.name)
        if special is not None:
            same = special.dtype.itemsize * 8 == WIDTH[kind]
            value: Value = special.view(DTYPE[kind]) if same else special.astype(DTYPE[kind])
            return value
        if symbol.name in self.symbols:
            address = self.symbols[symbol.name][1] + symbol.offset
            pointer: Value = literal(Immediate(address), kind)
            return pointer
        raise UnsupportedError(f"unknown PTX name {symbol.name[:60]}")

    # -- addresses ---------------------------------------------------------------------------------

    def space_of(self, address: Address) -> str | None:
        """Return the space of the variable an address names directly, or None."""
        if isinstance(address.base, Symbol) and address.base.name in self.symbols:
            return self.symbols[address.base.name][0]
        return None

    def constant_address(self, address: Address) -> int | None:
        """Return an address that is the same for all lanes and known before the run, or None."""
        base = address.base
        if isinstance(base, Immediate):
            return base.value + address.offset
        if isinstance(base, Symbol):
            return int(self.source(base, "u64")) + address.offset
        value = self.known.get(base.name)
        if isinstance(value, np.generic):
            return int(value) + address.offset
        return None

    def addresses(self, operand: Operand) -> Callable[[Lanes], Addresses]:
        """Return a function from lanes to their addresses, int64, always a fresh array."""
        if not isinstance(operand, Address):
            raise UnsupportedError(f"unsupported PTX address {operand}")
        constant = self.constant_address(operand)
        if constant is not None:
            value = np.array(constant & (1 << 64) - 1, np.uint64).view(np.int64)
            return lambda lanes: np.full(lanes.count, value)
        assert isinstance(operand.base, Register)
        offset = operand.offset
        if self.widths[operand.base.name] == 32:
            narrow: Any = self.source(operand.base, "u32")
            wrapped = np.uint32(offset & 0xFFFFFFFF)

            def of_narrow(lanes: Lanes) -> Addresses:
                row = narrow if lanes.exact is None else narrow[lanes.exact]
                # 32-bit address arithmetic wraps.
                return np.asarray(row + wrapped, dtype=np.int64)

            return of_narrow
        wide: Any = self.source(operand.base, "s64")
        step = np.int64(offset)

        def of_wide(lanes: Lanes) -> Addresses:
            row = wide if lanes.exact is None else wide[lanes.exact]
            return np.asarray(np.add(row, step))

        return of_wide


def literal(value: Immediate, kind: str) -> Any:
    """Return a literal as a NumPy scalar of ``kind``.

    Example:
        >>> literal(Immediate(-1), "u32"), literal(Immediate(0x3F800000, "f32"), "f32")
        (np.uint32(4294967295), np.float32(1.0))
    """
    dtype = DTYPE[kind]
    width = WIDTH[kind]
    bits = value.value
    if kind == "pred":
        return np.bool_(bits != 0)
    if kind in ("f32", "f64", "f16"):
        number = _float(value, kind)
        return dtype.type(number) if not isinstance(number, np.generic) else number
    if value.kind == "f64" and width == 32:
        raise UnsupportedError("a 64-bit float literal for a 32-bit operand")
    return np.array(bits & (1 << width) - 1, f"uint{width}").view(dtype)[()]


def _float(value: Immediate, kind: str) -> Any:
    if value.kind == "int":
        return float(value.value)
    if value.kind == kind:
        return np.array(value.value, f"uint{WIDTH[kind]}").view(DTYPE[kind])[()]
    if value.kind == "f64":
        return float(np.array(value.value, np.uint64).view(np.float64)[()])
    return float(np.array(value.value, np.uint32).view(np.float32)[()])


def _viewed(value: Any, kind: str, width: int) -> Any:
    """Return a row or scalar of ``width`` bits seen as ``kind``, its low part where narrower."""
    wanted = WIDTH[kind]
    dtype = DTYPE[kind]
    if wanted == width:
        return value.view(dtype)
    if wanted > width or 1 in (wanted, width):
        raise UnsupportedError(f"a {width}-bit register used as .{kind}")
    if isinstance(value, np.ndarray):
        return value.view(dtype)[:: width // wanted]
    return np.array(int(value) & (1 << wanted) - 1, f"uint{wanted}").view(dtype)[()]
