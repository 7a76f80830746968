import ctypes
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.cuda import library, nvrtc
from tileviz.cuda.kernel import Buffer, Scalar
from tileviz.runners.gpu.arguments import misfit, pack, parameter_sizes, value_of
from tileviz.runners.gpu.device import Pointer, Value

needs_nvrtc = pytest.mark.skipif(library.find() is None, reason="no NVRTC on this machine")

C_TYPES = {
    "int8": ctypes.c_int8,
    "uint8": ctypes.c_uint8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}
VALUES = st.sampled_from(sorted(C_TYPES)).flatmap(
    lambda name: st.integers(0, 100).map(lambda value: Value(name, value))
)
POINTERS = st.integers(0, 2**48).map(lambda address: Pointer(address, 8))


@given(st.lists(VALUES | POINTERS, max_size=12))
def test_the_block_is_laid_out_as_a_c_compiler_does(arguments):
    fields = [
        (f"f{i}", ctypes.c_uint64 if isinstance(a, Pointer) else C_TYPES[a.dtype])
        for i, a in enumerate(arguments)
    ]
    layout = type("Block", (ctypes.Structure,), {"_fields_": fields})
    values = [a.address if isinstance(a, Pointer) else a.value for a in arguments]
    want = bytes(layout(*values))
    assert want.startswith(pack(arguments))
    assert set(want[len(pack(arguments)) :]) <= {0}


def test_scalars_travel_in_the_carrier_of_their_type():
    assert pack([value_of(Scalar("h", "float16", 1.5))]) == struct.pack("<e", 1.5)
    assert pack([value_of(Scalar("b", "bool", 1))]) == b"\x01"


SOURCE = """
struct Triple { int a, b, c; };
extern "C" __global__ void other(float* x) {}
extern "C" __global__ void k(const float* __restrict__ x, unsigned char n, Triple p, double d,
                             float* y) { y[0] = x[0] + n + p.a + d; }
extern "C" __global__ void none() {}
"""


@needs_nvrtc
def test_sizes_are_read_from_what_nvrtc_writes():
    ptx = nvrtc.compile_ptx(SOURCE).ptx
    assert parameter_sizes(ptx, "k") == [8, 1, 12, 8, 8]
    assert parameter_sizes(ptx, "other") == [8]
    assert parameter_sizes(ptx, "none") == []
    assert parameter_sizes(ptx, "absent") is None


@needs_nvrtc
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ([Buffer("x", "float32", (1,), "in"), Scalar("n", "int32", 1)], None),
        ([Buffer("x", "float32", (1,), "in")], "takes 2 parameters, 1 given"),
        ([Buffer("x", "float32", (1,), "in")] * 2, "x is a buffer, but the kernel takes 4 bytes"),
        ([Scalar("x", "int32", 1), Scalar("n", "int32", 1)], "x is int32"),
    ],
)
def test_what_does_not_fit_is_said_before_the_launch(parameters, words):
    ptx = nvrtc.compile_ptx('extern "C" __global__ void k(float* x, int n) { x[n] = 1; }').ptx
    found = misfit(ptx, "k", parameters)
    assert found is None if words is None else words in found
    assert "no kernel named j" in misfit(ptx, "j", parameters)
