"""f16, bf16 and packed pairs against exact rational arithmetic."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest


def corners(form):
    sign = 1 << (form.width - 1)
    one = form.bias << form.fraction
    first = 1 << form.fraction
    plain = [0, 1, 2, first - 1, first, one - 1, one, one + 1, one + first, form.infinity - 1]
    return [bits | s for bits in plain for s in (0, sign)]


def sample(form, count, seed):
    source = random.Random(seed)
    found = []
    while len(found) < count:
        bits = source.getrandbits(form.width)
        if form.decode(bits) is not None:
            found.append(bits)
    return found


FUNCTIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma.rn": lambda a, b, c: a * b + c,
}


def expected(form, function, row):
    exact = function(*(form.decode(b) for b in row))
    if exact:
        return form.encode(exact)
    # The sign of a zero follows IEEE rules, which Python's floats know.
    floats = []
    for b in row:
        negative = b >> (form.width - 1)
        magnitude = 0.0 if form.decode(b) == 0 else float(abs(form.decode(b)))
        floats.append(-magnitude if negative else magnitude)
    return form.encode(exact, zero_sign=int(math.copysign(1, function(*floats)) < 0))


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_halves_and_pairs_round_once(apply_opcode, float_formats, name, kind):
    form = float_formats[kind]
    function = FUNCTIONS[name]
    count = function.__code__.co_argcount
    some = corners(form)
    rows = list(itertools.product(some, some[::3], some[::4]))[:1500]
    rows = [row[:count] for row in rows]
    rows += list(zip(*(sample(form, 1500, s) for s in range(count)), strict=True))
    want = [expected(form, function, row) for row in rows]
    columns = list(map(list, zip(*rows, strict=True)))
    got = apply_opcode(f"{name}.{kind}", [kind] * (count + 1), *columns)
    wrong = [
        (list(map(hex, row)), hex(g), hex(w))
        for row, g, w in zip(rows, got, want, strict=True)
        if g != w
    ]
    assert not wrong, f"{len(wrong)} wrong, first {wrong[:3]}"
    # The same numbers as pairs, each with another one in its high half.
    shift = 7
    pairs = [[a | b << 16 for a, b in zip(c, c[shift:] + c[:shift], strict=True)] for c in columns]
    packed = apply_opcode(f"{name}.{kind}x2", [f"{kind}x2"] * (count + 1), *pairs)
    turned = want[shift:] + want[:shift]
    assert packed == [a | b << 16 for a, b in zip(want, turned, strict=True)]


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_specials(apply_opcode, float_formats, kind):
    form = float_formats[kind]
    inf, sign = form.infinity, 0x8000
    one = form.bias << form.fraction
    got = apply_opcode(
        f"fma.rn.{kind}",
        [kind] * 4,
        [inf, inf, 0, one],
        [one, one, inf, one],
        [0, inf | sign, 0, inf],
    )
    assert got[0] == inf
    assert form.is_nan(got[1])
    assert form.is_nan(got[2])
    assert got[3] == inf
    biggest = inf - 1
    assert apply_opcode(f"add.{kind}", [kind] * 3, [biggest], [biggest]) == [inf]


@pytest.mark.parametrize("kind", ["f16x2", "bf16x2"])
def test_pairs_of_signs_and_extremes(apply_opcode, float_formats, kind):
    one, two = (0x3C00, 0x4000) if kind == "f16x2" else (0x3F80, 0x4000)
    pair = one | (two | 0x8000) << 16
    assert apply_opcode(f"neg.{kind}", [kind] * 2, [pair]) == [pair ^ 0x80008000]
    assert apply_opcode(f"abs.{kind}", [kind] * 2, [pair]) == [one | two << 16]
    other = two | one << 16
    low = apply_opcode(f"min.{kind}", [kind] * 3, [pair], [other])
    high = apply_opcode(f"max.{kind}", [kind] * 3, [pair], [other])
    assert (low, high) == ([pair], [other])


def test_flags(apply_opcode):
    tiny, one, minus = 0x0001, 0x3C00, 0x8000
    assert apply_opcode("add.ftz.f16", ["f16"] * 3, [tiny], [0]) == [0]
    assert apply_opcode("add.sat.f16", ["f16"] * 3, [one, one | minus], [one, 0]) == [one, 0]
    assert apply_opcode("fma.rn.relu.f16", ["f16"] * 4, [one], [one | minus], [0]) == [0]


def test_approximate_functions(apply_opcode, float_formats):
    form = float_formats["f16"]
    x = [form.encode(value) for value in map(Fraction, (0, 1, -2, 3))]
    assert apply_opcode("ex2.approx.f16", ["f16"] * 2, x) == [
        form.encode(Fraction(2) ** e) for e in (0, 1, -2, 3)
    ]
    zero = apply_opcode("tanh.approx.f16", ["f16"] * 2, [0, 0x7C00, 0xFC00])
    assert zero == [0, 0x3C00, 0xBC00]


def test_comparisons_give_masks_or_ones(apply_opcode):
    one, two, nan = 0x3C00, 0x4000, 0x7E00
    a, b = [one, two, nan, one], [one, one, one, two]
    assert apply_opcode("set.eq.f16.f16", ["f16"] * 3, a, b) == [one, 0, 0, 0]
    assert apply_opcode("set.leu.u32.f16", ["u32", "f16", "f16"], a, b) == [
        0xFFFFFFFF,
        0,
        0xFFFFFFFF,
        0xFFFFFFFF,
    ]
    pairs = [x | y << 16 for x, y in zip(a, b, strict=True)]
    others = [one | one << 16] * 4
    got = apply_opcode("set.gt.f16x2.f16x2", ["f16x2"] * 3, pairs, others)
    assert got == [0, one, 0, one << 16]
    masks = apply_opcode("set.ne.u32.f16x2", ["u32", "f16x2", "f16x2"], pairs, others)
    assert masks == [0, 0xFFFF, 0, 0xFFFF0000]


def test_pairs_compare_into_two_predicates(run_cuda):
    source = """
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half2* a, const __half2* b, int* out) {
    int i = threadIdx.x;
    out[i] = __hbge2(a[i], b[i]) + 2 * __hblt2(a[i], b[i]);
}
"""
    x, y = (np.random.default_rng(s).integers(0, 3, (32, 2)).astype(np.float16) for s in (1, 2))
    run = run_cuda(
        source,
        arguments={"a": x.reshape(-1), "b": y.reshape(-1), "out": ("out", "int32", 32)},
    )
    want = (x >= y).all(axis=1) + 2 * (x < y).all(axis=1)
    assert run.outputs["out"].tolist() == want.tolist()
