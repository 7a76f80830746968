"""The index expressions of a product: printed into its text, and evaluated for its prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.expr import Expr, Var
from tileviz.studies.schedule.tiling import Tiling

Values: TypeAlias = "dict[str, int | NDArray[np.int64]]"


@dataclass(frozen=True)
class Indices:
    """Positions in elements of what they index.

    Attributes:
        a_load: Of A, from row and K element; likewise ``b_load``, of B, from K element and column.
        a_store: Into the staged A, from row, K element and element of a vector.
        b_store: Into the staged B.
        a_read: From the staged A, by thread and row; likewise ``b_read``, by thread and column.
        c_row: Row inside the tile of a thread's i-th row.
        c_column: Column inside the tile of a thread's j-th column.
        c_store: Into C.
    """

    a_load: Expr
    b_load: Expr
    a_store: Expr
    b_store: Expr
    a_read: Expr
    b_read: Expr
    c_row: Expr
    c_column: Expr
    c_store: Expr

    @classmethod
    def of(cls, tiling: Tiling) -> Indices:
        """Return the indices of a tiling."""
        k, q, r, s, e, i, j = map(Var, ("k", "q", "r", "s", "e", "i", "j"))
        tx, ty, row, column = map(Var, ("tx", "ty", "row", "task.column"))
        pitch_a, pitch_b = Var("PITCH_A"), Var("PITCH_B")
        down, across = Var("TY"), Var("TX")
        deep = q if tiling.va == 1 else q + e
        wide = s if tiling.vb == 1 else s + e
        by_four = i // 4 * (down * 4) + ty * 4 + i % 4
        wide_four = j // 4 * (across * 4) + tx * 4 + j % 4
        if tiling.wc == 4:
            wide_four = j * across + tx * 4
        return cls(
            a_load=row * Var("K") + k + q,
            b_load=row * Var("N") + column + s,
            a_store=deep * pitch_a + r,
            b_store=q * pitch_b + wide,
            a_read=q * pitch_a + i * down + (ty * 4 if tiling.wm == 4 else ty),
            b_read=q * pitch_b + j * across + (tx * 4 if tiling.wn == 4 else tx),
            c_row=by_four if tiling.wm == 4 else i * down + ty,
            c_column=wide_four if tiling.wn == 4 else j * across + tx,
            c_store=row * Var("N") + column + s,
        )

    def texts(self) -> dict[str, str]:
        """Return every index as CUDA."""
        return {name: str(index) for name, index in vars(self).items()}


def constants(tiling: Tiling, problem: tuple[int, int, int]) -> Values:
    """Return the named constants that the indices use."""
    return {
        "K": problem[2],
        "N": problem[1],
        "TX": tiling.tx,
        "TY": tiling.ty,
        "PITCH_A": tiling.pitch_a,
        "PITCH_B": tiling.pitch_b,
    }
