"""Floating-point opcodes against exact rational arithmetic, rounded once."""

import itertools
import math
import random
import struct
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from tileviz.emulator import numerics


def corners(form):
    """Bits of zeros, subnormals, the ends of the range, ones and their neighbours, and specials."""
    sign = 1 << (form.width - 1)
    one = form.bias << form.fraction
    first = 1 << form.fraction
    plain = [0, 1, 2, first - 1, first, first + 1, one - 1, one, one + 1, one + first, one + 3]
    plain += [form.infinity - 1, form.infinity, form.infinity | 1 << (form.fraction - 1)]
    return plain + [bits | sign for bits in plain[:-1]]


def random_bits(form, count, seed):
    source = random.Random(seed)
    return [source.getrandbits(form.width) for _ in range(count)]


def near(form, count, seed, spread=30):
    """Random numbers of similar size, so that sums are not lopsided."""
    source = random.Random(seed)
    low, high = form.bias - spread, form.bias + spread
    return [
        source.getrandbits(1) << (form.width - 1)
        | source.randrange(max(low, 0), min(high, form.top - 1)) << form.fraction
        | source.getrandbits(form.fraction)
        for _ in range(count)
    ]


def reference(form, function, bits, mode="rn"):
    """Return the result's bits, or None for a NaN. ``function`` works on Fractions.

    Infinities and signs of zeros come from Python's own float arithmetic, which is exact for them.
    """
    numbers = [form.decode(b) for b in bits]
    floats = [to_float(form, b) for b in bits]
    try:
        special = function(*floats)
    except (ZeroDivisionError, OverflowError):
        special = None
    if None in numbers:
        if special is None or math.isnan(special):
            return None
        sign = math.copysign(1, special) < 0
        if math.isinf(special):
            return int(sign) << (form.width - 1) | form.infinity
        return form.encode(Fraction(special), mode, int(sign))
    exact = function(*numbers)
    zero_sign = int(special is not None and math.copysign(1.0, special) < 0)
    return form.encode(exact, mode, zero_sign)


def to_float(form, bits):
    """The value as a Python float where it is special; else only its sign and size class matter."""
    sign = -1.0 if bits >> (form.width - 1) else 1.0
    if form.is_nan(bits):
        return math.nan
    magnitude = bits & ((1 << (form.width - 1)) - 1)
    if magnitude == form.infinity:
        return sign * math.inf
    if magnitude == 0:
        return sign * 0.0
    # Any finite number will do beside an infinity or a zero.
    return sign * 1.0


def compare(form, got, want, rows):
    wrong = [
        ([hex(b) for b in row], hex(g), w if w is None else hex(w))
        for row, g, w in zip(rows, got, want, strict=True)
        if not (form.is_nan(g) if w is None else g == w)
    ]
    assert not wrong, f"{len(wrong)} of {len(rows)} wrong, first {wrong[:3]}"


def check(apply_opcode, opcode, form, kind, function, rows, mode="rn"):
    got = apply_opcode(opcode, [kind] * (len(rows[0]) + 1), *map(list, zip(*rows, strict=True)))
    want = [reference(form, function, row, mode) for row in rows]
    compare(form, got, want, rows)


ARITHMETIC = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_sums_and_products(apply_opcode, float_formats, name, kind):
    form = float_formats[kind]
    rows = list(itertools.product(corners(form), repeat=2))
    rows += list(zip(random_bits(form, 300, 1), random_bits(form, 300, 2), strict=True))
    rows += list(zip(near(form, 300, 3), near(form, 300, 4), strict=True))
    check(apply_opcode, f"{name}.rn.{kind}", form, kind, ARITHMETIC[name], rows)


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_directed_rounding(apply_opcode, float_formats, name, mode):
    form = float_formats["f32"]
    rows = list(itertools.product([b for b in corners(form) if form.decode(b)], repeat=2))
    rows += list(zip(near(form, 300, 3), near(form, 300, 4), strict=True))
    # An exact zero has its own rule of sign, tested below.
    function = ARITHMETIC[name]
    rows = [r for r in rows if function(*map(form.decode, r)) != 0]
    check(apply_opcode, f"{name}.{mode}.f32", form, "f32", function, rows, mode)


def test_zero_sums_when_rounding_down(apply_opcode):
    one, minus_one, minus_zero = 0x3F800000, 0xBF800000, 0x80000000
    got = apply_opcode("add.rm.f32", ["f32"] * 3, [one, 0, minus_zero], [minus_one, 0, minus_zero])
    assert got == [minus_zero, 0, minus_zero]
    got = apply_opcode("add.rp.f32", ["f32"] * 3, [one, 0, minus_zero], [minus_one, 0, 0])
    assert got == [0, 0, 0]


def fma(a, b, c):
    return a * b + c


def ties(form, count, seed):
    """Triples whose exact sum is a tie, or misses one by less than float64 can hold."""
    source = random.Random(seed)
    rows = []
    for _ in range(count):
        fraction = form.fraction
        c = Fraction(source.randrange(1 << fraction, 2 << fraction)) * Fraction(2) ** (
            source.randrange(-20, 20) - fraction
        )
        half = Fraction(2) ** (math.frexp(float(c))[1] - 1 - fraction - 1)
        j = source.randrange(1, fraction)
        # (1 + 2^-j)(1 - 2^-j) misses 1 by 2^-2j: the sum misses a tie by very little.
        a, b = (1 + Fraction(1, 2**j)), half * (1 - Fraction(1, 2**j))
        if source.random() < 0.3:
            a, b = Fraction(1), half
        signs = [source.choice((1, -1)) for _ in range(2)]
        rows.append(tuple(form.encode(x) for x in (a * signs[0], b, c * signs[1])))
    return rows


def subnormal(form, count, seed):
    """Triples whose result is subnormal or barely normal."""
    source = random.Random(seed)
    rows = []
    for _ in range(count):
        low = 1 - form.bias - form.fraction
        first, second = source.randrange(low // 2 - 12, low // 2 + 4), source.random() + 1
        a = Fraction(second) * Fraction(2) ** first
        b = Fraction(source.random() + 1) * Fraction(2) ** (low - first + source.randrange(-3, 24))
        c = Fraction(source.getrandbits(form.fraction)) * Fraction(2) ** low
        c /= 1 << source.randrange(0, form.fraction)
        rows.append(tuple(form.encode(x * source.choice((1, -1))) for x in (a, b, c)))
    return rows


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fma_rounds_once(apply_opcode, float_formats, kind):
    form = float_formats[kind]
    some = corners(form)
    rows = list(itertools.product(some[::3], some[::2], some[::3]))
    rows += list(zip(*(random_bits(form, 400, s) for s in (1, 2, 3)), strict=True))
    rows += list(zip(*(near(form, 400, s) for s in (4, 5, 6)), strict=True))
    rows += ties(form, 800, 7) + subnormal(form, 800, 8)
    check(apply_opcode, f"fma.rn.{kind}", form, kind, fma, rows)


def test_the_naive_fma_would_fail_these(float_formats):
    """Guards the test above: double rounding is wrong on many of its triples."""
    form = float_formats["f32"]
    rows = np.array(ties(form, 800, 7), np.uint32).view(np.float32)
    a, b, c = (rows[:, i] for i in range(3))
    naive = (a.astype(np.float64) * b + c).astype(np.float32).view(np.uint32)
    want = [form.encode(fma(*(form.decode(int(x)) for x in row))) for row in rows.view(np.uint32)]
    assert np.mean(naive != np.array(want)) > 0.02


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_directed_fma(apply_opcode, float_formats, mode):
    form = float_formats["f32"]
    rows = list(zip(*(near(form, 400, s) for s in (4, 5, 6)), strict=True))
    rows += ties(form, 400, 7) + subnormal(form, 400, 8)
    rows = [r for r in rows if fma(*map(form.decode, r)) != 0]
    check(apply_opcode, f"fma.{mode}.f32", form, "f32", fma, rows, mode)


def test_fma_on_many_more_triples_against_float64(float_formats):
    """The fast path: ordinary operands, two axes, one operand for all lanes."""
    source = np.random.default_rng(3)
    a, b, c = (source.standard_normal(20_000).astype(np.float32) for _ in range(3))
    out = np.empty_like(a)
    with numerics.floating_point():
        numerics.fma(a, b, c, out)
        single = np.empty_like(a)
        numerics.fma(a[:1], b, c, single)
    form = float_formats["f32"]
    for i in range(0, 20_000, 97):
        row = (form.decode(int(x.view(np.uint32))) for x in (a[i], b[i], c[i]))
        assert int(out[i].view(np.uint32)) == form.encode(fma(*row))
    again = np.empty_like(a)
    with numerics.floating_point():
        numerics.fma(np.repeat(a[:1], 20_000), b, c, again)
    assert np.array_equal(single, again)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_division_and_roots(apply_opcode, float_formats, kind):
    form = float_formats[kind]
    finite = [b for b in corners(form) + near(form, 300, 1) if form.decode(b)]
    rows = [(a, b) for a, b in zip(finite, reversed(finite), strict=True)]
    rows += list(zip(random_bits(form, 200, 5), near(form, 200, 6), strict=True))
    rows = [r for r in rows if form.decode(r[0]) is not None and form.decode(r[1])]
    check(apply_opcode, f"div.rn.{kind}", form, kind, lambda a, b: a / b, rows)
    ones = [(b,) for b in finite]
    check(apply_opcode, f"rcp.rn.{kind}", form, kind, lambda a: 1 / a, ones)
    positive = [b for b in finite if b >> (form.width - 1) == 0]
    got = apply_opcode(f"sqrt.rn.{kind}", [kind, kind], positive)
    for bits, root in zip(positive, got, strict=True):
        # The root lies between the mid-points to its neighbours.
        value, r = form.decode(bits), form.decode(root)
        below = (r + form.decode(root - 1)) / 2
        above = (r + form.decode(root + 1)) / 2
        assert below**2 <= value <= above**2


def test_special_quotients_and_roots(apply_opcode, float_formats):
    form = float_formats["f32"]
    inf, one, minus = form.infinity, 0x3F800000, 1 << 31
    nan = inf | 1
    got = apply_opcode(
        "div.rn.f32", ["f32"] * 3, [one, one | minus, 0, inf, nan, one], [0, 0, 0, inf, one, inf]
    )
    assert got[:2] == [inf, inf | minus]
    assert [form.is_nan(g) for g in got] == [False, False, True, True, True, False]
    assert got[5] == 0
    roots = apply_opcode("sqrt.rn.f32", ["f32"] * 2, [minus, one | minus, inf])
    assert (roots[0], form.is_nan(roots[1]), roots[2]) == (minus, True, inf)


APPROXIMATE = {
    "ex2": (lambda x: 2.0**x, [-3.5, 0.0, 0.3, 7.25, -20.1], 2**-22),
    "lg2": (math.log2, [0.1, 0.5, 1.0, 3.7, 1e10], 2**-22),
    "sin": (math.sin, [0.0, 0.5, -3.0, 10.0], 2**-20),
    "cos": (math.cos, [0.0, 0.5, -3.0, 10.0], 2**-20),
    "tanh": (math.tanh, [0.0, 0.5, -3.0, 10.0], 2**-10),
    "rcp": (lambda x: 1 / x, [0.1, 0.5, -3.0, 1e10], 2**-23),
    "sqrt": (math.sqrt, [0.1, 0.5, 3.0, 1e10], 2**-22),
    "rsqrt": (lambda x: 1 / math.sqrt(x), [0.1, 0.5, 3.0, 1e10], 2**-22),
}


def single(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def unsingle(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


@pytest.mark.parametrize("name", APPROXIMATE)
def test_approximate_functions_meet_their_stated_error(apply_opcode, name):
    function, arguments, error = APPROXIMATE[name]
    bits = [single(x) for x in arguments]
    got = apply_opcode(f"{name}.approx.f32", ["f32"] * 2, bits)
    for x, g in zip(bits, got, strict=True):
        want = function(unsingle(x))
        assert abs(unsingle(g) - want) <= error * max(abs(want), 1e-3), (x, unsingle(g), want)


def test_flushing_and_saturation(apply_opcode):
    tiny, minus = 0x00000001, 1 << 31
    assert apply_opcode("add.ftz.f32", ["f32"] * 3, [tiny, tiny | minus], [0, minus]) == [0, minus]
    assert apply_opcode("mul.ftz.f32", ["f32"] * 3, [0x00800000], [single(0.5)]) == [0]
    got = apply_opcode(
        "add.sat.f32",
        ["f32"] * 3,
        [single(x) for x in (0.7, -3.0, 0.25, math.nan)],
        [single(0.5)] * 4,
    )
    assert [unsingle(g) for g in got] == [1.0, 0.0, 0.75, 0.0]


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_extremes_and_signs(apply_opcode, float_formats, kind):
    form = float_formats[kind]
    sign = 1 << (form.width - 1)
    nan = form.infinity | 1 << (form.fraction - 1)

    def key(bits):  # orders -0 below +0
        return -(bits & ~sign) - 1 if bits & sign else bits

    rows = list(itertools.product(corners(form), repeat=2))
    columns = list(map(list, zip(*rows, strict=True)))
    for name, choose in (("min", min), ("max", max)):
        got = apply_opcode(f"{name}.{kind}", [kind] * 3, *columns)
        strict = apply_opcode(f"{name}.NaN.{kind}", [kind] * 3, *columns) if kind == "f32" else got
        for (a, b), g, s in zip(rows, got, strict, strict=True):
            numbers = [x for x in (a, b) if not form.is_nan(x)]
            if not numbers:
                assert form.is_nan(g)
            else:
                assert g == choose(numbers, key=key), (hex(a), hex(b), hex(g))
            if kind == "f32" and len(numbers) < 2:
                assert form.is_nan(s)
    some = [b for b in corners(form) if not form.is_nan(b)]
    assert apply_opcode(f"neg.{kind}", [kind] * 2, some) == [b ^ sign for b in some]
    assert apply_opcode(f"abs.{kind}", [kind] * 2, some) == [b & ~sign for b in some]
    signed = apply_opcode(f"copysign.{kind}", [kind] * 3, some, some[::-1])
    assert signed == [(b & ~sign) | (a & sign) for a, b in zip(some, some[::-1], strict=True)]
    tests = {
        "finite": lambda b: form.decode(b) is not None,
        "infinite": lambda b: b & ~sign == form.infinity,
        "number": lambda b: not form.is_nan(b),
        "notanumber": form.is_nan,
        "normal": lambda b: 0 < b >> form.fraction & form.top < form.top,
        "subnormal": lambda b: b & ~sign and not b >> form.fraction & form.top,
    }
    for name, test in tests.items():
        got = apply_opcode(f"testp.{name}.{kind}", ["pred", kind], [*some, nan])
        assert got == [int(bool(test(b))) for b in [*some, nan]], name


ORDERED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@pytest.mark.parametrize("name", [*ORDERED, *(f"{n}u" for n in ORDERED), "num", "nan"])
@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_comparisons_know_nan(apply_opcode, float_formats, name, kind):
    form = float_formats[kind]
    rows = list(itertools.product(corners(form), repeat=2))
    got = apply_opcode(
        f"setp.{name}.{kind}", ["pred", kind, kind], *map(list, zip(*rows, strict=True))
    )

    def value(bits):
        number = form.decode(bits)
        if number is not None:
            return number
        return -math.inf if bits >> (form.width - 1) else math.inf

    for (a, b), g in zip(rows, got, strict=True):
        unordered = form.is_nan(a) or form.is_nan(b)
        if name in ("num", "nan"):
            want = unordered == (name == "nan")
        elif unordered:
            want = name.endswith("u")
        else:
            want = ORDERED[name.removesuffix("u")](value(a), value(b))
        assert g == int(want), (hex(a), hex(b))


def fused_kernel(rows, guard=""):
    """PTX of independent multiply-adds, one a row; every thread computes all of them."""
    loads, sums, stores = [], [], []
    for i in range(len(rows)):
        loads += [f"ld.global.f32 %{v}{i}, [%rd1+{12 * i + 4 * j}];" for j, v in enumerate("abc")]
        sums.append(f"fma.rn.f32 %d{i}, %a{i}, %b{i}, %c{i};")
        stores.append(f"st.global.f32 [%rd3+{4 * i}], %d{i};")
    n = len(rows)
    newline = "\n"
    return f"""
    .version 8.8
    .target sm_80
    .address_size 64
    .visible .entry k(.param .u64 in, .param .u64 out) {{
      .reg .f32 %a<{n}>, %b<{n}>, %c<{n}>, %d<{n}>; .reg .b64 %rd<4>; .reg .b32 %r<3>;
      .reg .pred %p;
      mov.u32 %r1, %tid.x;
      ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
      mad.wide.u32 %rd3, %r1, {4 * n}, %rd2;
      {guard}
      {newline.join(loads)}
      {newline.join(sums)}
      {newline.join(stores)}
      END: ret; }}
    """


@pytest.mark.parametrize("guard", ["", "and.b32 %r2, %r1, 1; setp.eq.u32 %p, %r2, 1; @%p bra END;"])
def test_multiply_adds_that_run_together_are_exact(run_ptx, float_formats, guard):
    form = float_formats["f32"]
    plain = list(zip(*(near(form, 20, s) for s in (1, 2, 3)), strict=True))
    for rows in (plain, ties(form, 20, 9), subnormal(form, 20, 10), plain[:3] + ties(form, 9, 1)):
        run = run_ptx(
            fused_kernel(rows, guard),
            block=64,
            arguments={
                "in": np.array(rows, np.uint32).reshape(-1),
                "out": ("out", "uint32", 64 * len(rows)),
            },
        )
        want = [form.encode(fma(*(form.decode(b) for b in row))) for row in rows]
        got = run.outputs["out"].reshape(64, -1)
        assert (got[::2] == want).all()
        assert (got[1::2] == (0xFFFFFFFF if guard else want)).all()


def test_a_run_of_multiply_adds_ends_where_one_feeds_another():
    from tileviz.emulator.fusion import runs
    from tileviz.emulator.ptx import Instruction, Register

    def make(*names):
        return Instruction("fma.rn.f32", tuple(map(Register, names)), None, None, 1)

    body = [make("d", "a", "b", "c"), make("e", "a", "b", "c"), make("f", "d", "b", "c")]
    body += [make("f", "a", "b", "c"), Instruction("ret", (), None, None, 1)]
    lengths = [len(run) for run in runs(body, SimpleNamespace(known={}))]
    assert lengths == [2, 1, 1, 1]
