"""Answers of a search, in every notation that can say them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tileviz.cuda.expr import Const, Expr, Var
from tileviz.layouts import ComposeLayout, Swizzle
from tileviz.layouts.f2 import Span, is_power_of_two
from tileviz.memory import BANK_BYTES
from tileviz.studies.access.demands import BANK_BITS
from tileviz.studies.access.tile import Tile
from tileviz.studies.bit_fields import xor_fields

Columns = tuple[int, ...]
_WORD_BITS = BANK_BYTES.bit_length() - 1
# Entries of a table that are printed.
_LISTED = 4096


@dataclass(frozen=True)
class Cost:
    """What one phase pays over the whole tile.

    Attributes:
        access: The phase in a few words.
        instructions: Warp instructions.
        wavefronts: Shared-memory wavefronts.
        ideal: The fewest that these instructions could take.
    """

    access: str
    instructions: int
    wavefronts: int
    ideal: int

    def to_json(self) -> dict[str, Any]:
        """Return the cost as an object."""
        return {
            "access": self.access,
            "instructions": self.instructions,
            "wavefronts": self.wavefronts,
            "ideal": self.ideal,
        }


@dataclass(frozen=True)
class Candidate:
    """One way to arrange the tile.

    Attributes:
        kind: ``plain``, ``swizzle`` (XORs of address bits), ``padding`` or ``table``.
        costs: What every phase pays, by the rules of the banks.
        bytes: Bytes that the tile takes.
        extra_bytes: Those beyond the tile's own.
        layout: The layout as text that the layout field takes, where it can be said so.
        cute: CuTe's ``Swizzle<B,M,S>``, where it has that form.
        tvm: TVM's (per_element, swizzle_len, atom_len), likewise.
        note: Why a notation cannot say it, "" where all can.
        terms: Every XOR as byte-address bits: ``bit 4 ^= bit 7``.
        matrix: Bank bits by word-address bits, 0 and 1; empty for padding.
        index: A CUDA function from coordinates to the element's index.
    """

    kind: Literal["plain", "swizzle", "padding", "table"]
    costs: tuple[Cost, ...]
    bytes: int
    extra_bytes: int
    layout: str | None
    cute: str | None = None
    tvm: tuple[int, int, int] | None = None
    note: str = ""
    terms: tuple[str, ...] = ()
    matrix: tuple[tuple[int, ...], ...] = ()
    index: str = ""

    @property
    def wavefronts(self) -> int:
        """Wavefronts of all phases over the whole tile."""
        return sum(cost.wavefronts for cost in self.costs)

    @property
    def free(self) -> bool:
        """Whether no phase has a conflict."""
        return all(cost.wavefronts == cost.ideal for cost in self.costs)

    @property
    def title(self) -> str:
        """The candidate in a few words."""
        if self.kind == "plain":
            return "no swizzle, no padding"
        if self.kind == "padding":
            return f"padding, {self.extra_bytes} bytes more"
        if self.kind == "table":
            return "a table"
        return self.cute or f"XOR of {len(self.terms)} bits"

    def to_json(self) -> dict[str, Any]:
        """Return one element of ``candidates``."""
        return {
            "kind": self.kind,
            "title": self.title,
            "free": self.free,
            "layout": self.layout,
            "cute": self.cute,
            "tvm": None if self.tvm is None else list(self.tvm),
            "note": self.note,
            "xor_terms": len(self.terms),
            "terms": list(self.terms),
            "matrix": [list(row) for row in self.matrix],
            "index": self.index,
            "bytes": self.bytes,
            "extra_bytes": self.extra_bytes,
            "wavefronts": self.wavefronts,
            "phases": [cost.to_json() for cost in self.costs],
        }


# -- notations ---------------------------------------------------------------------------------


def cute_columns(bits: int, m: int, b: int, s: int) -> Columns:
    """Return the bank of every word bit under CuTe's swizzle of word addresses.

    Example:
        >>> cute_columns(8, 2, 3, 3)
        (1, 2, 4, 8, 16, 4, 8, 16)
    """
    columns = [1 << bit if bit < BANK_BITS else 0 for bit in range(bits)]
    for bit in range(m, min(m + b, BANK_BITS)):
        if bit + s < bits:
            columns[bit + s] ^= 1 << bit
    return tuple(columns)


def as_swizzle(columns: Columns, element_bytes: int) -> Swizzle | str:
    """Return the one swizzle that a map of banks is, or the reason why it is none.

    Example:
        >>> as_swizzle((1, 2, 4, 8, 16, 4, 8, 16), 2)
        Swizzle(per_element=3, swizzle_len=3, atom_len=3, inner=True)
        >>> as_swizzle((1, 2, 4, 8, 16, 1, 4), 4)
        'bits are XORed over distances 4, 5; a Swizzle<B,M,S> has one'
    """
    if columns[:BANK_BITS] != tuple(1 << bit for bit in range(min(BANK_BITS, len(columns)))):
        return "it moves the bits of a 128-byte line; a Swizzle<B,M,S> leaves them in place"
    pairs = sorted(
        (target, bit)
        for bit, column in enumerate(columns)
        if bit >= BANK_BITS
        for target in range(BANK_BITS)
        if column >> target & 1
    )
    if not pairs:
        return "nothing is XORed"
    targets = [target for target, _ in pairs]
    distances = {bit - target for target, bit in pairs}
    if len(distances) > 1:
        shown = ", ".join(map(str, sorted(distances)))
        return f"bits are XORed over distances {shown}; a Swizzle<B,M,S> has one"
    if targets != list(range(targets[0], targets[0] + len(targets))):
        shown = ", ".join(map(str, targets))
        return f"bits {shown} are XORed; a Swizzle<B,M,S> takes neighbouring bits"
    (distance,) = distances
    if distance < len(targets):
        return f"{len(targets)} bits over a distance of {distance} overlap"
    # From bits of words to bits of elements.
    moved = targets[0] + _WORD_BITS - (element_bytes.bit_length() - 1)
    if moved < 0:
        return "an element spans the bits that are XORed"
    return Swizzle(moved, len(targets), distance)


def swizzle_terms(columns: Columns) -> tuple[str, ...]:
    """Return every XOR in byte-address bits.

    Example:
        >>> swizzle_terms((1, 2, 4, 8, 16, 4))
        ('bit 4 ^= bit 7',)
    """
    return tuple(
        f"bit {target + _WORD_BITS} ^= bit {bit + _WORD_BITS}"
        for bit, column in enumerate(columns)
        for target in range(BANK_BITS)
        if column >> target & 1 and bit != target
    )


def matrix_of(columns: Columns) -> tuple[tuple[int, ...], ...]:
    """Return bank bits (rows) by word-address bits (columns).

    Example:
        >>> matrix_of((1, 2, 3))[:2]
        ((1, 0, 1), (0, 1, 1))
    """
    return tuple(tuple(column >> row & 1 for column in columns) for row in range(BANK_BITS))


def address_columns(columns: Columns) -> Columns:
    """Return the word address of every word bit: a one-to-one map with these banks.

    The low bits are the bank; above them come, in order, bits that make the map one-to-one.

    Example:
        >>> address_columns((1, 2, 4, 8, 16, 4))
        (1, 2, 4, 8, 16, 36)
        >>> address_columns((1, 2, 4, 8, 0, 16))
        (1, 2, 4, 8, 32, 16)
    """
    if columns[:BANK_BITS] == tuple(1 << bit for bit in range(min(BANK_BITS, len(columns)))):
        return tuple(
            column if bit < BANK_BITS else column | 1 << bit for bit, column in enumerate(columns)
        )
    span = Span()
    place, found = BANK_BITS, []
    for column in columns:
        if span.add(column):
            found.append(column)
        else:
            found.append(column | 1 << place)
            place += 1
    return tuple(found)


def swizzled_layout(tile: Tile, columns: Columns) -> tuple[str | None, Swizzle | None, str]:
    """Return layout text, swizzle and, where there is none, the reason."""
    swizzle = as_swizzle(columns, tile.element_bytes)
    if isinstance(swizzle, str):
        return None, None, f"No Swizzle<B,M,S>: {swizzle}."
    if not tile.by_dimension:
        # The swizzle's source bits are those of the split address, not of the real one.
        note = "its bits are those of a row number; rows here are no power of two apart"
        return None, None, f"No Swizzle<B,M,S>: {note}."
    return str(ComposeLayout(swizzle, tile.layout)), swizzle, ""


# -- the index function -------------------------------------------------------------------------


def index_function(tile: Tile, columns: Columns | None, strides: Sequence[int]) -> str:
    """Return a CUDA function from coordinates to the index of an element.

    Args:
        tile: The tile.
        columns: Bank of every word bit, or None for no swizzle.
        strides: Element strides of the arrangement.
    """
    names = _names(len(tile.extents))
    variables = [Var(name, extent) for name, extent in zip(names, tile.extents, strict=True)]
    offset: Expr = Const(0)
    order = sorted(range(len(strides)), key=lambda dim: -strides[dim])
    for dim in order:
        offset = offset + variables[dim] * strides[dim]
    parameters = ", ".join(f"int {name}" for name in names)
    head = f"__device__ int element_index({parameters}) {{"
    if columns is None:
        return f"{head}\n    return {offset};\n}}\n"
    inner = order[-1]
    if _xors_the_row_only(tile, columns, inner):
        rest: Expr = Const(0)
        for dim in order[:-1]:
            rest = rest + variables[dim] * strides[dim]
        flips: Expr = variables[inner]
        for dim in range(len(strides)):
            own = _element_columns(tile, columns, dim)
            if any(own):
                flips = flips ^ xor_fields(variables[dim], own)
        return f"{head}\n    return {rest + flips};\n}}\n"
    shift = _WORD_BITS - (tile.element_bytes.bit_length() - 1)
    low = max(shift, 0)
    addresses = address_columns(columns)
    whole = [1 << bit for bit in range(low)]
    whole += [
        (address << shift if shift >= 0 else address >> -shift)
        for bit, address in enumerate(addresses)
        if bit + shift >= 0
    ]
    total = Var("offset", 1 << len(whole))
    keeps = all(value & 1 << bit for bit, value in enumerate(whole))
    moved = [value ^ (1 << bit) for bit, value in enumerate(whole)] if keeps else whole
    value = (total ^ xor_fields(total, moved)) if keeps else xor_fields(total, whole)
    return f"{head}\n    const int offset = {offset};\n    return {value};\n}}\n"


def table_function(tile: Tile, units: Sequence[int], unit: int) -> str:
    """Return a CUDA function that looks the place of an element's unit up in a table.

    Args:
        tile: The tile.
        units: Where every unit goes, in units.
        unit: Bytes of a unit.
    """
    names = _names(len(tile.extents))
    variables = [Var(name, extent) for name, extent in zip(names, tile.extents, strict=True)]
    offset: Expr = Const(0)
    for variable, stride in zip(variables, tile.strides, strict=True):
        offset = offset + variable * stride
    per_unit = max(unit // tile.element_bytes, 1)
    kind = "unsigned short" if max(units) < 1 << 16 else "int"
    parameters = ", ".join(f"int {name}" for name in names)
    listed = ", ".join(map(str, units[:_LISTED]))
    if len(units) > _LISTED:
        listed += f", /* and {len(units) - _LISTED} more */"
    inside = f"{offset}" if per_unit == 1 else f"({offset}) / {per_unit}"
    rest = "" if per_unit == 1 else f" * {per_unit} + ({offset}) % {per_unit}"
    return (
        f"__constant__ {kind} PLACE[{len(units)}] = {{{listed}}};\n"
        f"__device__ int element_index({parameters}) {{\n    return PLACE[{inside}]{rest};\n}}\n"
    )


def _names(rank: int) -> tuple[str, ...]:
    return {1: ("i",), 2: ("row", "column")}.get(rank, tuple(f"i{dim}" for dim in range(rank)))


def _xors_the_row_only(tile: Tile, columns: Columns, inner: int) -> bool:
    """Return whether all XORs end in bits of the innermost coordinate."""
    if columns[:BANK_BITS] != tuple(1 << bit for bit in range(min(BANK_BITS, len(columns)))):
        return False
    if not all(is_power_of_two(pitch) for pitch in tile.pitches):
        return False
    flipped = 0
    for bit, column in enumerate(columns):
        if bit >= BANK_BITS:
            flipped |= column
    reach = tile.extents[inner] * tile.element_bytes // BANK_BYTES
    # Blocks of the XORed bits must tile the row.
    return reach % (1 << flipped.bit_length()) == 0


def _element_columns(tile: Tile, columns: Columns, dim: int) -> list[int]:
    """Return what each bit of a coordinate flips in the innermost coordinate, in elements."""
    shift = _WORD_BITS - (tile.element_bytes.bit_length() - 1)
    first = tile.pitches[dim].bit_length() - 1 - shift
    found = []
    for bit in range((tile.extents[dim] - 1).bit_length()):
        place = first + bit
        column = columns[place] if BANK_BITS <= place < len(columns) else 0
        found.append(column << shift if shift >= 0 else column >> -shift)
    return found
