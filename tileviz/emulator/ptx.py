"""The parsed form of a PTX module: plain types, no behaviour of instructions.

The names are those of the PTX manual. Nothing here knows NumPy or how an instruction executes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Union

# Width in bits of every fundamental and packed type.
WIDTH: dict[str, int] = {
    "pred": 1,
    **{f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)},
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
    "f16x2": 32,
    "bf16x2": 32,
    "tf32": 32,
    "b128": 128,
}


# The carry flag of extended-precision arithmetic, which PTX leaves implicit.
CARRY = "%cc"


@dataclass(frozen=True)
class Register:
    """A virtual register, named as in the text (``%r1``) or made unique by its scope."""

    name: str


@dataclass(frozen=True)
class Immediate:
    """A literal: an integer, or the bits of a float with ``kind`` f32 or f64."""

    value: int
    kind: str = "int"


@dataclass(frozen=True)
class Symbol:
    """A name that is no register: a variable, a label, a function or a special register."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Not:
    """A negated predicate operand, ``!%p1``."""

    register: Register


@dataclass(frozen=True)
class Address:
    """``[base + offset]``; the offset is in bytes."""

    base: Register | Symbol | Immediate
    offset: int = 0


@dataclass(frozen=True)
class Vector:
    """``{a, b, c, d}``."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Pair:
    """``a|b``: two destinations of one instruction."""

    first: Operand
    second: Operand


Operand = Union[Register, Immediate, Symbol, Not, Address, Vector, Pair]  # noqa: UP007 (runs on 3.10)


@dataclass(eq=False)
class Instruction:
    """One PTX instruction.

    Attributes:
        opcode: The dotted opcode as written, ``ld.global.v4.f32``.
        operands: In the order of the text; a call's are its raw pieces.
        guard: Predicate of ``@%p`` or ``@!%p``, or None.
        line: 1-based line in the kernel's source, or None where unknown.
        ptx_line: 1-based line in the PTX text.
        index: Position in its function.
        name: The first part of the opcode.
        modifiers: The dotted parts after it.
    """

    opcode: str
    operands: tuple[Operand, ...]
    guard: Register | Not | None
    line: int | None
    ptx_line: int
    index: int = -1
    name: str = field(init=False)
    modifiers: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.name, *self.modifiers = self.opcode.split(".")


@dataclass(frozen=True)
class Label:
    """A branch target."""

    name: str


@dataclass
class Variable:
    """A variable in a state space.

    Attributes:
        name: Mangled name.
        space: ``shared``, ``local``, ``global`` or ``const``.
        size: In bytes; 0 for an unsized (dynamic shared) array.
        align: In bytes.
        initial: Initial content, shorter than ``size`` where the rest is zero.
        references: Byte offset to the symbol whose address the initialiser names there.
    """

    name: str
    space: str
    size: int
    align: int
    initial: bytes = b""
    references: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Parameter:
    """A formal parameter: element type, alignment, size and offset in the parameter space."""

    name: str
    type: str
    align: int
    size: int
    offset: int


@dataclass
class Function:
    """A kernel (``entry``) or a device function.

    Attributes:
        registers: Width in bits of every register, 1 for predicates.
        body: Instructions and labels in textual order.
        branch_tables: Targets of ``brx.idx``, by the table's label.
        max_threads: Product of ``.maxntid`` or ``.reqntid``, or None.
    """

    name: str
    entry: bool
    parameters: list[Parameter] = field(default_factory=list)
    returns: list[Parameter] = field(default_factory=list)
    registers: dict[str, int] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    body: list[Instruction | Label] = field(default_factory=list)
    branch_tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    max_threads: int | None = None

    def instructions(self) -> Iterator[Instruction]:
        """Yield the instructions in textual order."""
        return (item for item in self.body if isinstance(item, Instruction))


@dataclass
class Module:
    """A PTX module: functions and module-scope variables by name.

    Attributes:
        target: As in the ``.target`` directive.
        kernels: Names of all kernels, parsed or not.
        functions: The functions that have been parsed.
        variables: Variables of module scope.
    """

    target: str = ""
    kernels: list[str] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)


def flatten(operands: tuple[Operand, ...]) -> list[Operand]:
    """Return operands with vectors and pairs replaced by their items.

    Example:
        >>> flatten((Pair(Register("a"), Symbol("_")), Immediate(1)))
        [Register(name='a'), Symbol(name='_', offset=0), Immediate(value=1, kind='int')]
    """
    flat: list[Operand] = []
    for operand in operands:
        if isinstance(operand, Vector):
            flat.extend(operand.items)
        elif isinstance(operand, Pair):
            flat.extend((operand.first, operand.second))
        else:
            flat.append(operand)
    return flat
