"""Layouts that hardware prescribes: tensor memory, its register fragments, MMA operands.

Tensor memory (TMEM) has 128 lanes (``TLane``), 32 a warp of a warpgroup, and 32-bit columns
(``TCol``). Sources: PTX ISA, "tcgen05 data path layout organization" and "tcgen05.ld shapes".
"""

from __future__ import annotations

from collections.abc import Sequence

from tileviz.dtypes import dtype as dtype_of
from tileviz.layouts.algebra import canonicalize
from tileviz.layouts.axes import LayoutError
from tileviz.layouts.swizzle import ComposeLayout, Swizzle
from tileviz.layouts.tile_layout import Iter, TileLayout, row_major
from tileviz.layouts.tiling import tile_to

# Data path -> its rows in one block of the pair, and into how many lane slabs its columns fold.
_DATAPATHS = {"A": (128, 1), "B": (64, 2), "C": (64, 1), "D": (128, 1), "E": (64, 2), "F": (64, 1)}
_DATAPATHS["G"] = (32, 4)

# tcgen05.ld shape -> 32-bit columns one repetition covers, and its largest repetition.
_ATOMS = {"32x32b": (1, 128), "16x64b": (2, 128), "16x128b": (4, 64), "16x256b": (8, 32)}

# Rows of 16 in a warp, outermost first, and columns, both in 32-bit registers ("m") and lanes;
# 0 stands for the number of repetitions.
_ATOM_ROWS = {
    "16x64b": ((2, 1, "laneid"), (8, 4, "laneid")),
    "16x128b": ((2, 1, "m"), (8, 4, "laneid")),
    "16x256b": ((2, 2, "m"), (8, 4, "laneid")),
}
_ATOM_COLUMNS = {
    "16x64b": ((0, 1, "m"), (2, 2, "laneid")),
    "16x128b": ((0, 2, "m"), (4, 1, "laneid")),
    "16x256b": ((0, 4, "m"), (4, 1, "laneid"), (2, 1, "m")),
}


def tmem_datapath(datapath: str, rows: int, columns: int, sub_slab: int = 0) -> TileLayout:
    """Return where ``tcgen05.mma`` leaves its (rows, columns) accumulator in tensor memory.

    Args:
        datapath: A (M=256 over a pair), B (128, pair, dense), C (128, pair, sparse), D (128),
            E (64, .ws), F (64) or G (32, .ws); rows are those in one block of the pair.
        rows: 128 for A and D, 32 for G, 64 for the others.
        columns: Accumulator columns; B and E fold them in 2 halves, G in 4 quarters.
        sub_slab: For C and F: which 16 of each warp's 32 lanes.

    Raises:
        LayoutError: The data path does not exist, or does not take that shape or slab.

    Example:
        >>> print(tmem_datapath("F", 64, 8))
        S[(4, 16, 8):(32@TLane, 1@TLane, 1@TCol)]
    """
    if datapath not in _DATAPATHS:
        raise LayoutError(f"unknown data path {datapath!r}; allowed: {', '.join(_DATAPATHS)}")
    expected, folds = _DATAPATHS[datapath]
    if rows != expected:
        raise LayoutError(f"data path {datapath} has {expected} rows, not {rows}")
    if columns < 1 or columns % folds:
        raise LayoutError(f"data path {datapath} takes columns in {folds}s, not {columns}")
    scattered = datapath in ("C", "F")
    if sub_slab not in ((0, 1) if scattered else (0,)):
        raise LayoutError(f"data path {datapath} has no sub-slab {sub_slab}")
    if scattered:
        shard = [Iter(4, 32, "TLane"), Iter(16, 1, "TLane")]
        offset = {"TLane": 16} if sub_slab else {}
        return TileLayout([*shard, Iter(columns, 1, "TCol")], offset=offset)
    shard = [Iter(rows, 1, "TLane")]
    if folds > 1:
        shard.append(Iter(folds, rows, "TLane"))
    return TileLayout([*shard, Iter(columns // folds, 1, "TCol")])


def tcgen05_atom(shape: str, rows: int, columns: int, dtype: str) -> TileLayout:
    """Return the register fragment of a warpgroup that ``tcgen05.ld`` or ``.st`` moves.

    Args:
        shape: 32x32b, 16x64b, 16x128b or 16x256b.
        rows: 128; or 64, of which 32x32b makes the readback image of data path B (32-bit only).
        columns: Elements a row: the columns of one repetition times 1, 2, 4, ...
        dtype: An element type of 32 or 16 bits; two of 16 share a register.

    Returns:
        The (rows, columns) layout on the threads of the warpgroup and their registers, the latter
        in elements.

    Raises:
        LayoutError: The instruction does not exist in that size.
        DesignError: The element type is unknown.

    Example:
        >>> print(tcgen05_atom("16x64b", 64, 8, "float32"))
        S[(4, 2, 8, 4, 2):(1@wid_in_wg, 1@laneid, 4@laneid, 1, 2@laneid)]
    """
    if shape not in _ATOMS:
        raise LayoutError(f"unknown tcgen05 shape {shape!r}; allowed: {', '.join(_ATOMS)}")
    bits = dtype_of(dtype).bits
    if bits not in (16, 32):
        raise LayoutError(f"tcgen05 fragments hold 16- or 32-bit elements; {dtype} has {bits}")
    if rows not in (64, 128):
        raise LayoutError(f"tcgen05 fragments have 64 or 128 rows, not {rows}")
    folded = shape == "32x32b" and rows == 64
    if folded and bits != 32:
        raise LayoutError(f"32x32b with 64 rows takes 32-bit elements; {dtype} has {bits}")
    packed = 32 // bits
    width, most = _ATOMS[shape]
    width *= 2 if folded else packed
    repetitions = columns // width
    if columns < 1 or columns % width or repetitions & (repetitions - 1) or repetitions > most:
        raise LayoutError(
            f"{shape} takes {width} columns of {dtype} times 1, 2, 4 up to {most}, not {columns}"
        )
    if folded:
        threads = [Iter(64, 1, "tid_in_wg"), Iter(2, 64, "tid_in_wg")]
        return TileLayout([*threads, Iter(repetitions, 1, "m")])
    if shape == "32x32b":
        return TileLayout([Iter(rows, 1, "tid_in_wg"), Iter(columns, 1, "m")])
    return _warp_atom(shape, rows, repetitions, packed)


def _warp_atom(shape: str, rows: int, repetitions: int, packed: int) -> TileLayout:
    """Return a 16-row atom: warps, (the second 16 lanes), rows, columns, packed elements."""
    parts: list[tuple[int, int, str]] = [*_ATOM_ROWS[shape], *_ATOM_COLUMNS[shape]]
    parts = [(extent or repetitions, stride, axis) for extent, stride, axis in parts]
    if rows == 128:
        # The other 16 lanes of each warp come with a second instruction, in the next registers.
        registers = 1
        for extent, _, axis in parts:
            registers *= extent if axis == "m" else 1
        parts.insert(0, (2, registers, "m"))
    shard = [Iter(4, 1, "wid_in_wg")]
    shard += [
        Iter(e, stride * packed if axis == "m" else stride, axis) for e, stride, axis in parts
    ]
    if packed > 1:
        shard.append(Iter(packed, 1, "m"))
    return TileLayout(shard)


def wg_local(columns: int, rows: int = 128) -> TileLayout:
    """Return the register tile of a warpgroup in which each thread holds one row.

    Example:
        >>> print(wg_local(16))
        S[(128, 16):(1@tid_in_wg, 1)]
    """
    return TileLayout([Iter(rows, 1, "tid_in_wg"), Iter(columns, 1, "m")])


def mma_swizzle(dtype: str, mode: int) -> Swizzle:
    """Return the swizzle of MMA operands in shared memory.

    Args:
        dtype: The element type; 16-byte units stay together.
        mode: 1 for 32-byte rows, 2 for 64, 3 for 128.

    Example:
        >>> print(mma_swizzle("float16", 3))
        Swizzle(3, 3, 3)
    """
    if mode not in (1, 2, 3):
        raise LayoutError(f"swizzle modes are 1 (32 B), 2 (64 B) and 3 (128 B), not {mode}")
    return Swizzle(_unit(dtype).bit_length() - 1, mode, 3)


def _unit(dtype: str) -> int:
    """Return the elements in 16 bytes, the unit that MMA operands move in."""
    bits = dtype_of(dtype).bits
    if 128 % bits:
        raise LayoutError(f"MMA operands are cut into 16 bytes, which {dtype} does not divide")
    return 128 // bits


def mma_shared(dtype: str, mode: int, shape: Sequence[int]) -> TileLayout | ComposeLayout:
    """Return the shared-memory layout of an MMA operand, its last dimension contiguous.

    Args:
        dtype: The element type.
        mode: 0 for no swizzle (16-byte columns one after the other), else as for ``mma_swizzle``.
        shape: At least two dimensions; the last two are cut into 8 x (32, 64 or 128 byte) atoms.

    Raises:
        LayoutError: The shape is not whole atoms, or there is no such mode.
        DesignError: The element type is unknown.

    Example:
        >>> print(mma_shared("float16", 3, (16, 128)), mma_shared("float32", 0, (8, 8)), sep=", ")
        Swizzle(3, 3, 3) o S[(16, 2, 64):(64, 1024, 1)], S[(8, 2, 4):(4, 32, 1)]
    """
    if len(shape) < 2 or min(shape) < 1:
        raise LayoutError(f"an MMA operand has at least two dimensions, not the shape {shape}")
    unit = _unit(dtype)
    *leading, rows, columns = shape
    if mode == 0:
        if columns % unit:
            return canonicalize(row_major(shape))
        shard = [Iter(rows, unit, "m"), Iter(columns // unit, rows * unit, "m"), Iter(unit, 1, "m")]
        stride = rows * columns
        for extent in reversed(leading):
            shard.insert(0, Iter(extent, stride, "m"))
            stride *= extent
        return canonicalize(TileLayout(shard))
    swizzle = mma_swizzle(dtype, mode)
    bare = ComposeLayout(swizzle, TileLayout([Iter(swizzle.size, 1, "m")]))
    atom = [*(1 for _ in leading), 8, unit << mode]
    column = [*atom[:-2], rows, atom[-1]]
    return canonicalize(tile_to(tile_to(bare, column, atom), shape, column))
