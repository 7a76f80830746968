"""The NumPy reference against exact arithmetic, and its two ways against each other."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.expressions import fused
from tileviz.studies.broadcast.portion import Portion
from tileviz.studies.broadcast.reference import reference, slabs
from tileviz.studies.broadcast.values import ValueType
from tileviz.studies.design import validated

bits = st.integers(0, (1 << 32) - 1)
# Few mantissa bits make exact sums, ties between two float32, and zeros.
short = st.builds(
    lambda sign, power, top: sign << 31 | power << 23 | top << 20,
    *[st.integers(0, 1), st.integers(100, 150), st.integers(0, 7)],
)
tiny = st.integers(0, 1 << 25)


def float32(pattern):
    return np.array([pattern], np.uint32).view(np.float32)


def rounded(exact):
    """Return a fraction as float32, ties to even."""
    if exact == 0:
        return 0.0
    power = max(math.floor(math.log2(abs(exact))) - 1, -126) - 23
    while abs(exact) >= Fraction(2) ** (power + 24):
        power += 1
    step = Fraction(2) ** power
    whole = exact / step
    nearest = round(whole)  # Python's own rounding of fractions is to even
    value = nearest * step
    return math.copysign(math.inf, value) if abs(value) >= Fraction(2) ** 128 else float(value)


@given(*[st.one_of(bits, short, tiny)] * 3)
def test_a_fused_sum_is_rounded_once(a, b, c):
    given_values = [float32(pattern) for pattern in (a, b, c)]
    values = [float(value[0]) for value in given_values]
    got = fused(*given_values)
    if not all(map(math.isfinite, values)):
        return
    exact = Fraction(values[0]) * Fraction(values[1]) + Fraction(values[2])
    assert got.dtype == np.float32 and float(got[0]) == rounded(exact)


@pytest.mark.parametrize(("below", "last"), [(2.0**-60, 2.0**-23), (-(2.0**-60), 0.0), (0.0, 0.0)])
def test_ties_are_broken_by_what_lies_below_them(below, last):
    # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 lies halfway between two float32.
    x = np.array([1 + 2**-12], np.float32)
    assert float(fused(x, x, np.array([below], np.float32))[0]) == 1 + 2.0**-11 + last


def test_operands_of_other_shapes_are_broadcast_where_a_sum_is_doubtful():
    x = np.array([[1 + 2**-12, 1.0]], np.float32)
    scale = np.array([[1 + 2**-12], [2.0]], np.float32)
    shift = np.float32(2.0**-60).reshape(1, 1)
    found = fused(x, scale, shift)
    assert found.shape == (2, 2) and float(found[0, 0]) == 1 + 2.0**-11 + 2.0**-23


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 40))
def test_slabs_cover_every_element_once(shape, most):
    seen = np.zeros(shape, np.int64)
    for slab in slabs(tuple(shape), most):
        assert seen[slab].size <= most
        seen[slab] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize("expression", ["add", "batchnorm", "relu(x*a+b)"])
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    ("operands", "out"),
    [
        ([[1, 7, 1, 33]], [40, 7, 5, 33]),
        ([[64, 1, 1]], [3, 64, 100, 9]),
        ([[1]], [70_001]),
        ([[50_000, 1]], [50_000, 2]),
    ],
)
def test_numpys_broadcasting_and_our_indices_agree(expression, kind, operands, out):
    document = {"operands": operands, "out": out, "expression": expression, "dtype": kind}
    design = validated(BroadcastDesign, document)
    values, n = ValueType.of(kind), design.elements
    random = np.random.default_rng(1)
    inputs = {
        name: values.rounded(random.random(math.prod(shape) if shape else 1).astype(values.array))
        for name, shape in zip(("x", *design.names), (design.out, *design.shapes), strict=True)
    }
    whole, beginning = Portion(n, n, (1, 1)), Portion(n, n + 1, (1, 1))
    wanted = reference(design, whole, values)(inputs)["y"]
    gathered = reference(design, beginning, values)(inputs)["y"]
    assert wanted.dtype == gathered.dtype and wanted.tobytes() == gathered.tobytes()
