"""Counting memory instructions in machine code."""

from __future__ import annotations

import pytest

from tileviz.cuda.nvrtc import compile_cubin
from tileviz.cuda.sass import count_accesses, disassemble, disassembler

SOURCE = """extern "C" __global__ void copy(const float4* x, float4* y) {
    __shared__ float4 tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[31 - threadIdx.x];
}
"""

LISTING = """
//## File "kernel.cu", line 3
        /*0010*/                   LDG.E.128.CONSTANT R4, [R2.64] ;
        /*0020*/              @!P0 LDG.E.U8 R4, [R2.64] ;
        /*0030*/                   STS.64 [R0], R4 ;
//## File "kernel.cu", line 9
        /*0040*/                   LDSM.16.M88.4 R8, [R12] ;
        /*0050*/                   LDGSTS.E.BYPASS.128 [R1], [R2.64] ;
        /*0060*/                   ATOMS.ADD R1, [R2], R3 ;
        /*0070*/                   RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R2.64], R5 ;
        /*0080*/                   FADD R1, R2, R3 ;
"""


def test_every_kind_is_counted_at_its_line() -> None:
    found = {(a.line, a.space, a.op, a.bytes): a.count for a in count_accesses(LISTING)}
    assert found == {
        (3, "global", "ld", 16): 1,
        (3, "global", "ld", 1): 1,
        (3, "shared", "st", 8): 1,
        (9, "shared", "ldmatrix", 16): 1,
        (9, "shared", "ldgsts", 16): 1,
        (9, "shared", "atom", 4): 1,
        (9, "global", "atom", 4): 1,
    }


def test_without_machine_code_there_is_no_listing() -> None:
    assert disassemble(b"") is None
    assert count_accesses("") == ()


def test_real_machine_code() -> None:
    if disassembler() is None:
        pytest.skip("the disassembler is not installed")
    cubin = compile_cubin(SOURCE, options=["--generate-line-info"])
    listing = disassemble(cubin.image)
    assert listing is not None
    found = {(a.line, a.space, a.op, a.bytes): a.count for a in count_accesses(listing)}
    assert found == {
        (3, "global", "ld", 16): 1,
        (3, "shared", "st", 16): 1,
        (5, "shared", "ld", 16): 1,
        (5, "global", "st", 16): 1,
    }
