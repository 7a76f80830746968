"""Static counts against the compiler."""

from __future__ import annotations

import pytest

from tileviz.cuda.sass import disassembler
from tileviz.emulator.emulation import StaticAccess
from tileviz.runners.counts import CountRow, _difference, compiler_counts


@pytest.mark.parametrize(
    ("ptx", "sass", "note"),
    [
        (((4, 4),), ((4, 4),), ""),
        (((4, 4),), None, ""),
        (((4, 4),), ((16, 1),), "merged"),
        (((16, 1),), ((4, 4),), "split"),
        (((4, 1),), ((4, 4),), "unrolled"),
        (((4, 4),), ((4, 2),), "eliminated"),
        (((4, 4),), (), "eliminated"),
        ((), ((4, 1),), "added"),
    ],
)
def test_differences_are_labelled(ptx: object, sass: object, note: str) -> None:
    assert _difference(ptx, sass) == note  # type: ignore[arg-type]


def test_counts_of_a_kernel_stand_side_by_side() -> None:
    source = 'extern "C" __global__ void k(float* x) {\n    x[threadIdx.x] = 1.0f;\n}\n'
    (row,) = compiler_counts(source, "k", [StaticAccess(2, "global", "st", 4, 1)])
    after = None if disassembler() is None else ((4, 1),)
    assert row == CountRow(2, "global", "st", ((4, 1),), after, "")
