import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.cuda.kernel import Buffer, Kernel, Scalar
from tileviz.dtypes import NAMES, dtype
from tileviz.errors import DesignError
from tileviz.runners.inputs import make_arrays
from tileviz.runners.launch import MAX_BUFFER_BYTES, check_launch

ALL = [*NAMES, "float32x4", "bfloat16x2", "uint8x16"]


def kernel(*parameters, grid=(1, 1, 1), block=(32, 1, 1), shared_bytes=0, entry="k"):
    return Kernel("", entry, grid, block, parameters, shared_bytes)


def both(name, shape=(5, 3)):
    return kernel(Buffer("x", name, shape, "in"), Buffer("y", name, shape, "out"))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("pattern", ["random", "index", "adversarial"])
def test_arrays_have_the_carrier_and_size_and_repeat(name, pattern):
    kind = dtype(name)
    first, again = (make_arrays(both(name), seed=3, pattern=pattern) for _ in range(2))
    for array in first.values():
        assert array.dtype == kind.numpy and array.shape == (15 * kind.lanes,)
    assert first["x"].tobytes() == again["x"].tobytes()
    assert set(first["y"].tobytes()) == {0xFF}


@pytest.mark.parametrize("name", ALL)
def test_random_inputs_differ_by_seed_and_are_no_nan(name):
    one, two = (make_arrays(both(name, (64,)), seed=seed)["x"] for seed in (1, 2))
    assert one.tobytes() != two.tobytes()
    if one.dtype.kind == "f":
        assert np.isfinite(one).all()
    if name.startswith("bfloat16"):
        assert ((one & 0x7F80) != 0x7F80).all()
    if name == "float8_e4m3fn":
        assert ((one & 0x7F) != 0x7F).all()
    if name == "bool":
        assert set(one.tolist()) <= {0, 1}


def test_two_inputs_of_one_kernel_differ():
    pair = kernel(Buffer("a", "uint32", (9,), "in"), Buffer("b", "uint32", (9,), "inout"))
    arrays = make_arrays(pair)
    assert arrays["a"].tolist() != arrays["b"].tolist()


@pytest.mark.parametrize("name", ["float16", "float32", "bfloat16", "int32", "uint64"])
def test_index_values_tell_where_an_element_came_from(name):
    array = make_arrays(both(name, (200,)), pattern="index")["x"]
    assert len(np.unique(array)) == 200


def test_index_values_of_wide_elements_sit_in_the_low_lane():
    array = make_arrays(both("uint128", (3,)), pattern="index")["x"]
    assert array.tolist() == [0, 0, 1, 0, 2, 0]


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_adversarial_floats_hold_every_special_value(name):
    array = make_arrays(both(name, (100,)), pattern="adversarial")["x"]
    assert np.isnan(array).any() and np.isposinf(array).any() and np.isneginf(array).any()
    assert (np.signbit(array) & (array == 0)).any()
    assert ((array != 0) & (abs(array) < np.finfo(array.dtype.name).tiny)).any()


def test_given_inputs_are_used_and_checked():
    x = np.arange(15, dtype=np.float32).reshape(5, 3)
    arrays = make_arrays(both("float32"), given={"x": x})
    assert arrays["x"].tolist() == list(range(15))
    arrays["x"][0] = 9
    assert x[0, 0] == 0
    for given_arrays, message in (
        ({"x": x[:4]}, "15 elements, not 12"),
        ({"x": x.astype(np.float64)}, "needs float32"),
        ({"y": x}, "no such input"),
        ({"z": x}, "no such input"),
    ):
        with pytest.raises(DesignError, match=message):
            make_arrays(both("float32"), given=given_arrays)


X = Buffer("x", "float32", (8,), "in")


HALF = MAX_BUFFER_BYTES // 2


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (kernel(Buffer("x", "float32", (5 << 30,), "in")), "buffers"),  # 20 GB
        (kernel(Buffer("x", "uint8", (1 << 40, 1 << 40), "in")), "buffers"),  # over 64 bits
        (kernel(*[Buffer(f"b{i}", "uint8", (HALF,), "out") for i in "123"]), "buffers"),
        (kernel(Buffer("x", "float32", (-1,), "in")), "buffers"),
        (kernel(X, X), "buffers"),
        (kernel(Buffer("x y", "float32", (1,), "in")), "buffers"),
        (kernel(Buffer("x", "float32", (1,), "both")), "buffers"),
        (kernel(Buffer("x", "real", (1,), "in")), "dtype"),
        (kernel(*[Scalar(f"s{i}", "int32", 1) for i in range(65)]), "buffers"),
        (kernel(Scalar("n", "int32", 1 << 31)), "scalars"),
        (kernel(Scalar("n", "uint8", -1)), "scalars"),
        (kernel(Scalar("n", "int32", 1.5)), "scalars"),
        (kernel(Scalar("n", "float32x4", 1.5)), "scalars"),
        (kernel(grid=(0, 1, 1)), "grid"),
        (kernel(grid=(1, 65536, 1)), "grid"),
        (kernel(grid=(1, 1)), "grid"),
        (kernel(block=(1, 1, 65)), "block"),
        (kernel(block=(33, 32, 1)), "block"),
        (kernel(shared_bytes=1 << 20), "shared_bytes"),
        (kernel(shared_bytes=-1), "shared_bytes"),
        (kernel(entry="k(int)"), "entry"),
    ],
)
def test_what_no_device_launches_is_refused_before_anything_is_allocated(bad, field):
    with pytest.raises(DesignError) as caught:
        make_arrays(bad)
    assert caught.value.field == field and "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", [-1, 1 << 63])
def test_a_seed_out_of_range_is_refused(seed):
    with pytest.raises(DesignError, match="seed"):
        make_arrays(both("float32"), seed=seed)


@given(st.integers(0, 255), st.floats(width=32, allow_nan=False))
def test_a_good_launch_passes(count, value):
    check_launch(kernel(X, Scalar("n", "uint8", count), Scalar("a", "float32", value)))


@pytest.mark.parametrize("pattern", ["random", "index", "adversarial"])
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_a_variance_is_positive_whatever_the_pattern(kind: str, pattern: str) -> None:
    buffer = Buffer("var", kind, (64,), "in", positive=True)
    kernel = Kernel("", "k", (1, 1, 1), (32, 1, 1), (buffer,))
    made = make_arrays(kernel, pattern=pattern)["var"]
    if kind == "bfloat16":
        made = (made.astype(np.uint32) << 16).view(np.float32)
    if pattern != "adversarial" or kind != "bfloat16":  # its patterns include NaN and infinity
        assert (made > 0).all()
