"""One layout in every notation: TVM, CuTe, bit matrix, index expression; or the reason why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileviz.cuda.expr import Const, Expr, Var
from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, LayoutError, TileLayout, parse_layout
from tileviz.layouts.cute import CuteLayout, SwizzledCute, parse_cute
from tileviz.layouts.cute_conversions import cute_of_tile, layout_of_matrix, matrix_of, tile_of_cute
from tileviz.layouts.f2 import Columns
from tileviz.studies.bit_fields import xor_fields

_MAX_MATRIX_ELEMENTS = 1 << 20


@dataclass(frozen=True)
class Said:
    """A notation's text, or why it has none.

    Attributes:
        text: The layout in this notation; None where it cannot be expressed.
        reason: Why not, as a sentence; "" where it can.
    """

    text: str | None
    reason: str = ""


@dataclass(frozen=True)
class Notations:
    """A layout in every notation.

    Attributes:
        tvm: As TVM writes it, ``S[(4, 32):(32, 1)]``.
        cute: As CuTe writes it, ``(4,32):(32,1)``.
        matrix: Rows of the bit matrix: address bits by element bits, both lowest first.
        index: The address as a CUDA expression over ``i0``, ``i1``...
    """

    tvm: Said
    cute: Said
    matrix: Said
    index: Said


def notations(text: str, shape: Sequence[int] | None = None) -> Notations:
    """Return a layout in every notation.

    Args:
        text: A layout in any of them but the last two.
        shape: Logical shape that coordinates are given in; None takes the digits' extents, or the
            modes' sizes of a nested CuTe layout.

    Raises:
        DesignError: The text is not a layout, or the shape does not fit it.

    Example:
        >>> said = notations("Sw<1,0,2> o (4,4):(4,1)")
        >>> said.tvm.text, said.cute.text
        ('Swizzle(0, 1, 2) o S[(4, 4):(4, 1)]', 'Sw<1,0,2> o (4,4):(4,1)')
        >>> said.index.text
        '(i0 * 4 + i1) ^ (((i0 * 4 + i1) >> 2) & 1)'
        >>> notations("S[(4, 33):(33, 1)]").matrix.reason
        'No bit matrix for S[(4, 33):(33, 1)]: 132 elements, no power of two.'
    """
    layout = parse_layout(text)
    if shape is None:
        shape = _modes(text) or layout.extents
    if _size(shape) != layout.size:
        message = f"has {_size(shape)} elements and the layout {layout.size}"
        raise DesignError("shape", message, list(shape))
    return Notations(
        Said(str(layout)),
        _said(lambda: str(cute_of_tile(layout, shape))),
        _said(lambda: _matrix_text(layout)),
        _said(lambda: str(index_expression(layout, shape))),
    )


def _size(shape: Sequence[int]) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


def _modes(text: str) -> tuple[int, ...] | None:
    """Return the sizes of the modes of a text that is a CuTe layout, else None."""
    try:
        return tile_of_cute(parse_cute(text)).shape
    except DesignError:
        return None


def _said(write: object) -> Said:
    assert callable(write)
    try:
        return Said(write())
    except LayoutError as error:
        reason = str(error)
        return Said(None, f"{reason[:1].upper()}{reason[1:]}.")


def _matrix_text(layout: TileLayout | ComposeLayout) -> str:
    columns = matrix_of(layout)
    rows = max(column.bit_length() for column in (*columns, 1))
    return "\n".join("".join(str(column >> row & 1) for column in columns) for row in range(rows))


def parse_matrix(text: str) -> Columns:
    """Return the columns of a bit matrix written as rows of 0 and 1, address bit 0 first.

    Raises:
        DesignError: A row has another length than the first, or other characters.

    Example:
        >>> parse_matrix("101\\n011")
        (1, 2, 3)
    """
    rows = [row.replace(" ", "") for row in text.strip().splitlines()]
    width = len(rows[0]) if rows else 0
    if not 1 <= width <= 20 or len(rows) > 40:
        raise DesignError("matrix", "1 to 20 element bits by up to 40 address bits", None)
    for number, row in enumerate(rows):
        if len(row) != width or set(row) - {"0", "1"}:
            raise DesignError(f"matrix.{number}", f"a row is {width} digits 0 or 1", row[:40])
    return tuple(
        sum(1 << place for place, row in enumerate(rows) if row[bit] == "1") for bit in range(width)
    )


def from_matrix(text: str) -> CuteLayout | SwizzledCute:
    """Return the CuTe layout with the bit matrix that a text gives.

    Raises:
        DesignError: The text is no matrix, or no layout with at most one swizzle has it.

    Example:
        >>> print(from_matrix("1010\\n0101\\n0010\\n0001"))
        Sw<2,0,2> o 16:1
    """
    columns = parse_matrix(text)
    try:
        return layout_of_matrix(columns)
    except LayoutError as error:
        raise DesignError("matrix", f"cannot be expressed: {error}", None) from None


def index_expression(
    layout: TileLayout | ComposeLayout, shape: Sequence[int] | None = None
) -> Expr:
    """Return the memory address of a coordinate ``i0, i1...`` as an expression.

    Raises:
        LayoutError: The layout maps to threads, or the shape does not cut its digits.

    Example:
        >>> print(index_expression(parse_layout("S[(2, 4, 8):(64, 1, 4)]"), (8, 8)))
        i0 / 4 * 64 + i0 % 4 + i1 * 4
    """
    extents = layout.extents if shape is None else tuple(shape)
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    threads = [name for name in tile.axes if name != "m"]
    if threads:
        raise LayoutError(f"no index for {layout}: it maps to {threads[0]}")
    from tileviz.layouts import group

    grouped, separators = group(tile, extents)
    total: Expr = Const(0)
    for dim, extent in enumerate(extents):
        rest: Expr = Var(f"i{dim}", extent)
        inner = extent
        for item in grouped.shard[separators[dim] : separators[dim + 1]]:
            inner //= item.extent
            digit = rest // inner if inner > 1 else rest
            total = total + (digit % item.extent) * item.stride
    total = total + tile.offset_on("m")
    if not isinstance(layout, ComposeLayout):
        return total
    swizzle = layout.swizzle
    mask = ((1 << swizzle.swizzle_len) - 1) << swizzle.per_element
    if swizzle.inner:
        return total ^ ((total >> swizzle.atom_len) & mask)
    return total ^ ((total & mask) << swizzle.atom_len)


def matrix_expression(columns: Sequence[int], name: str = "i") -> Expr:
    """Return the address of an element number under a bit matrix.

    Example:
        >>> print(matrix_expression((1, 2, 5, 10)))
        i ^ (i >> 2)
    """
    return xor_fields(Var(name, 1 << len(columns)), tuple(columns))
