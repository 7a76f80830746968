import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.cuda.kernel import Buffer, Kernel
from tileviz.runners import verify as verify_module
from tileviz.runners.verify import verify


def kernel(want, dtype="float32", shape=None, tolerance=0.0, role="out"):
    want = np.asarray(want)
    y = Buffer("y", dtype, shape or want.shape, role)
    return Kernel(
        "", "k", (1, 1, 1), (32, 1, 1), (y,), reference=lambda _: {"y": want}, tolerance=tolerance
    )


def f32(*values):
    return np.array(values, np.float32)


def test_equal_bits_are_verified():
    want = f32(1, -0.0, math.inf)
    assert verify(kernel(want), {}, {"y": want.copy()}).verified is True


@given(st.integers(0, 59), st.integers(1, 2**32 - 1))
def test_any_single_changed_element_is_found(position, flip):
    want = np.arange(60, dtype=np.uint32)
    got = want.copy()
    got[position] ^= np.uint32(flip)
    result = verify(kernel(want, "uint32", (3, 4, 5)), {}, {"y": got})
    assert result.verified is False
    assert result.mismatch.index == (position // 20, position // 5 % 4, position % 5)
    assert result.mismatch.want == position and result.mismatch.got == position ^ flip
    assert (result.mismatch.buffer, result.mismatch.count) == ("y", 1)


def test_signed_zeros_differ_and_nans_do_not():
    assert not verify(kernel(f32(0.0)), {}, {"y": f32(-0.0)}).verified
    other_nan = np.array([0xFFC00001], np.uint32).view(np.float32)
    assert verify(kernel(f32(math.nan)), {}, {"y": other_nan}).verified
    assert not verify(kernel(f32(math.nan)), {}, {"y": f32(1)}).verified
    assert not verify(kernel(f32(1)), {}, {"y": f32(math.nan)}).verified


def test_poison_never_passes():
    for dtype, carrier in (("float32", "<f4"), ("bfloat16", "<u2"), ("int8", "i1")):
        want = np.zeros(4, carrier)
        poison = np.full(4 * want.itemsize, 0xFF, np.uint8).view(carrier)
        result = verify(kernel(want, dtype), {}, {"y": poison})
        assert result.verified is False and result.mismatch.count == 4


def test_tolerance_is_relative_to_the_value_or_the_size_of_the_array():
    want = f32(100, 1, 0)
    close = f32(100.05, 1.01, 0.05)
    assert verify(kernel(want, tolerance=1e-3), {}, {"y": close}).verified
    assert not verify(kernel(want, tolerance=1e-4), {}, {"y": close}).verified
    assert not verify(kernel(want), {}, {"y": close}).verified
    far = f32(100, 1, 0.1)
    assert verify(kernel(want, tolerance=1e-3), {}, {"y": far}).mismatch.index == (2,)


def test_tolerance_never_excuses_infinities_or_integers():
    wide = kernel(f32(math.inf, 1), tolerance=0.5)
    assert verify(wide, {}, {"y": f32(math.inf, 1)}).verified
    assert not verify(wide, {}, {"y": f32(-math.inf, 1)}).verified
    assert not verify(wide, {}, {"y": f32(math.inf, math.inf)}).verified
    whole = kernel(np.array([100], np.int32), "int32", tolerance=0.5)
    assert not verify(whole, {}, {"y": np.array([101], np.int32)}).verified


def test_vector_elements_have_one_coordinate():
    want = np.arange(16, dtype=np.float32)
    got = want.copy()
    got[9] = -1
    result = verify(kernel(want, "float32x4", (2, 2)), {}, {"y": got})
    assert result.mismatch.index == (1, 0)
    assert result.mismatch.want == [8, 9, 10, 11] and result.mismatch.got == [8, -1, 10, 11]


def test_bfloat16_is_shown_as_its_value():
    result = verify(
        kernel(np.array([0x3F80], np.uint16), "bfloat16"), {}, {"y": np.array([0xFFFF], np.uint16)}
    )
    assert result.mismatch.want == 1.0 and math.isnan(result.mismatch.got)
    assert json.loads(json.dumps(result.mismatch.to_json(), allow_nan=False))["got"] == "nan"


def test_the_reference_sees_inputs_and_cannot_change_them():
    def reference(arrays):
        arrays["x"] += 1
        return {"x": arrays["x"]}

    x = Buffer("x", "int32", (3,), "inout")
    both = Kernel("", "k", (1, 1, 1), (1, 1, 1), (x,), reference=reference)
    before = np.arange(3, dtype=np.int32)
    assert verify(both, {"x": before}, {"x": before + 1}).verified
    assert before.tolist() == [0, 1, 2]


def test_without_a_reference_nothing_is_claimed():
    bare = Kernel("", "k", (1, 1, 1), (1, 1, 1), (Buffer("y", "int32", (3,), "out"),))
    assert verify(bare, {}, {"y": np.zeros(3, np.int32)}).verified is None


@pytest.mark.parametrize("want", [np.zeros(4, np.float32), np.zeros(3, np.float64)])
def test_a_reference_of_the_wrong_size_or_type_is_our_own_error(want):
    with pytest.raises(ValueError, match="is not 3 x float32"):
        verify(kernel(want, shape=(3,)), {}, {"y": np.zeros(3, np.float32)})


def test_empty_outputs_are_right():
    assert verify(kernel(np.zeros(0, np.float32), shape=(0,)), {}, {"y": f32()}).verified


def test_differences_far_apart_are_each_judged_by_the_whole_array(monkeypatch):
    monkeypatch.setattr(verify_module, "_CHUNK", 16)
    want = np.ones(1000, np.float32)
    got = want.copy()
    want[[3, 500, 999]] = 0.0
    got[[3, 500]] = 0.0009, 0.002  # the array's size is close to 1
    got[999] = 0.0
    found = verify(kernel(want, tolerance=1e-3), {}, {"y": got})
    assert found.mismatch.index == (500,) and found.mismatch.count == 1
    assert verify(kernel(want), {}, {"y": got}).mismatch.count == 2
