"""``cvt`` against exact arithmetic: every pair of types, every rounding."""

import math
import random
from fractions import Fraction

import pytest

from tileviz.emulator import UnsupportedError

INTEGERS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
WHOLE = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


def limits(kind):
    width = int(kind[1:])
    return (
        (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    )


def integers(kind, seed=0):
    low, high = limits(kind)
    source = random.Random(seed)
    some = [0, 1, 2, 3, high, high - 1, high // 2, high // 2 + 1, low, low + 1]
    width = int(kind[1:])
    return some + [
        source.choice((1, -1 if low else 1)) * source.getrandbits(source.randrange(1, width))
        for _ in range(150)
    ]


def signed(bits, kind):
    width = int(kind[1:])
    bits &= (1 << width) - 1
    return bits - (1 << width) if kind[0] == "s" and bits >> (width - 1) else bits


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_between_integers(apply_opcode, source, target):
    numbers = integers(source)
    # The register may be wider than the type: rubbish above it must not matter.
    wide = {"8": 16}.get(source[1:], int(source[1:]))
    register = f"u{wide}"
    bits = [
        n & ((1 << int(source[1:])) - 1) | (0xA500 if source[1:] == "8" else 0) for n in numbers
    ]
    width = max(16, int(target[1:]))
    got = apply_opcode(f"cvt.{target}.{source}", [f"u{width}", register], bits)
    want = [signed(n, target) & ((1 << width) - 1) for n in numbers]
    assert got == want
    low, high = limits(target)
    clamped = apply_opcode(f"cvt.sat.{target}.{source}", [f"u{width}", register], bits)
    assert clamped == [max(low, min(high, n)) & ((1 << width) - 1) for n in numbers]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("source", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_integers_to_floats(apply_opcode, float_formats, source, target, mode):
    if target == "f64" and mode != "rn" and source[1:] == "64":
        with pytest.raises(UnsupportedError, match="directed rounding to f64"):
            apply_opcode(f"cvt.{mode}.{target}.{source}", [target, source], [1])
        return
    form = float_formats[target]
    numbers = integers(source)
    # Neighbours of ties.
    for exponent in range(form.fraction + 1, int(source[1:]) - 2):
        tie = (1 << exponent) + (1 << (exponent - form.fraction - 1))
        numbers += [tie - 1, tie, tie + 1]
    numbers = [n for n in numbers if limits(source)[0] <= n <= limits(source)[1]]
    got = apply_opcode(f"cvt.{mode}.{target}.{source}", [target, source], numbers)
    want = [form.encode(Fraction(n), mode) for n in numbers]
    wrong = [(n, hex(g), hex(w)) for n, g, w in zip(numbers, got, want, strict=True) if g != w]
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("mode", WHOLE)
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"])
def test_floats_to_integers_clamp(apply_opcode, float_formats, source, target, mode):
    form = float_formats[source]
    pick = random.Random(1)
    bits = [pick.getrandbits(form.width) for _ in range(100)]
    for value in (
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        127.5,
        255.5,
        256,
        65535.5,
        2**31,
        2**32,
        2**63,
        2**64,
    ):
        bits += [form.encode(Fraction(value)), form.encode(-Fraction(value))]
        bits += [b + 1 for b in bits[-2:]]
    bits += [0, 1 << (form.width - 1), form.infinity, form.infinity | 1 << (form.width - 1)]
    low, high = limits(target)
    width = max(16, int(target[1:]))

    def expected(b):
        if form.is_nan(b):
            return 1 << 63 if target[1:] == "64" else 0
        number = form.decode(b)
        if number is None:
            whole = low if b >> (form.width - 1) else high
        else:
            whole = max(low, min(high, WHOLE[mode](number)))
        return whole & ((1 << width) - 1)

    got = apply_opcode(f"cvt.{mode}.{target}.{source}", [f"u{width}", source], bits)
    wrong = [(hex(b), g, expected(b)) for b, g in zip(bits, got, strict=True) if g != expected(b)]
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(
    ("source", "target"),
    [("f64", "f32"), ("f64", "f16"), ("f32", "f16"), ("f32", "bf16"), ("f64", "bf16")],
)
def test_narrowing_floats(apply_opcode, float_formats, source, target, mode):
    wide, form = float_formats[source], float_formats[target]
    pick = random.Random(2)
    bits = [pick.getrandbits(wide.width) for _ in range(300)]
    extra = wide.fraction - form.fraction
    for exponent in range(1 - form.bias - form.fraction - 2, form.bias + 2, 3):
        if not 0 < exponent + wide.bias < wide.top:
            continue
        # Around ties, in the normal and the subnormal range.
        base = (exponent + wide.bias) << wide.fraction | pick.getrandbits(form.fraction) << extra
        for low in (0, 1, 1 << (extra - 1), (1 << (extra - 1)) - 1, (1 << (extra - 1)) + 1):
            bits += [base | low, base | low | 1 << (wide.width - 1)]
    got = apply_opcode(f"cvt.{mode}.{target}.{source}", [target, source], bits)
    for b, g in zip(bits, got, strict=True):
        number = wide.decode(b)
        if wide.is_nan(b):
            assert form.is_nan(g)
        elif number is None:
            assert g == (b >> (wide.width - 1)) << (form.width - 1) | form.infinity
        else:
            want = form.encode(number, mode, b >> (wide.width - 1))
            assert g == want, (hex(b), hex(g), hex(want))


@pytest.mark.parametrize(
    ("source", "target"), [("f16", "f32"), ("f32", "f64"), ("bf16", "f32"), ("f16", "f64")]
)
def test_widening_floats_is_exact(apply_opcode, float_formats, source, target):
    narrow, form = float_formats[source], float_formats[target]
    pick = random.Random(3)
    bits = [
        b
        for b in (pick.getrandbits(narrow.width) for _ in range(500))
        if narrow.decode(b) is not None
    ]
    got = apply_opcode(f"cvt.{target}.{source}", [target, source], bits)
    assert got == [form.encode(narrow.decode(b), zero_sign=b >> (narrow.width - 1)) for b in bits]


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("mode", WHOLE)
def test_rounding_to_whole_numbers(apply_opcode, float_formats, kind, mode):
    form = float_formats[kind]
    values = [0.5, 1.5, 2.5, -0.5, -1.5, 3.25, -7.75, 1e20, 0.0]
    bits = [form.encode(Fraction(v)) for v in values]
    got = apply_opcode(f"cvt.{mode}.{kind}.{kind}", [kind, kind], bits)
    want = [form.encode(Fraction(WHOLE[mode](Fraction(v))), zero_sign=int(v < 0)) for v in values]
    assert got == want


@pytest.mark.parametrize("target", ["f16x2", "bf16x2"])
def test_packing_two_floats(apply_opcode, float_formats, target):
    wide, form = float_formats["f32"], float_formats[target.removesuffix("x2")]
    pick = random.Random(4)
    a, b = ([wide.encode(Fraction(pick.gauss(0, 10))) for _ in range(200)] for _ in range(2))
    for mode in ("rn", "rz"):
        got = apply_opcode(f"cvt.{mode}.{target}.f32", ["u32", "f32", "f32"], a, b)
        high, low = ([form.encode(wide.decode(x), mode) for x in side] for side in (a, b))
        assert got == [up << 16 | down for up, down in zip(high, low, strict=True)]


def test_flags(apply_opcode, float_formats):
    form = float_formats["f32"]
    bits = [form.encode(Fraction(v)) for v in (-1.0, 0.25, 2.0)] + [form.infinity | 1]
    got = apply_opcode("cvt.sat.f32.f32", ["f32", "f32"], bits)
    assert got == [0, bits[1], form.encode(Fraction(1)), 0]
    assert apply_opcode("cvt.rna.tf32.f32", ["u32", "f32"], [0x3F801000, 0x3F800FFF]) == [
        0x3F802000,
        0x3F800000,
    ]
