"""Integer opcodes against Python's integers."""

import itertools
import random

import numpy as np
import pytest

from tileviz.emulator import UnsupportedError

WIDTHS = {"u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64}


def values(width, count=12, seed=0):
    """Corner values of a width and some at random."""
    top = 1 << width
    corners = [0, 1, 2, 3, 31, 32, 33, 255, top - 1, top - 2, top // 2, top // 2 - 1, top // 2 + 1]
    source = random.Random(seed + width)
    return corners + [source.getrandbits(source.randrange(1, width + 1)) for _ in range(count)]


def columns(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def pairs(width, count=12):
    return columns(itertools.product(values(width, count), repeat=2))


def number(bits, kind):
    width = int(kind[1:])
    bits &= (1 << width) - 1
    return bits - (1 << width) if kind[0] == "s" and bits >> (width - 1) else bits


def check(apply_opcode, opcode, kinds, reference, *operands):
    """Compare with ``reference`` of Python integers, modulo the width of the result."""
    got = apply_opcode(opcode, kinds, *operands)
    mask = (1 << {"pred": 1}.get(kinds[0], int(kinds[0][1:] if kinds[0] != "pred" else 1))) - 1
    typed = [
        [number(v, kind) for v in operand]
        for kind, operand in zip(kinds[1:], operands, strict=True)
        if not isinstance(operand, str)
    ]
    want = [int(reference(*row)) & mask for row in zip(*typed, strict=True)]
    wrong = [
        (row, hex(g), hex(w))
        for row, g, w in zip(zip(*typed, strict=True), got, want, strict=True)
        if g != w
    ]
    assert not wrong, f"{opcode}: {len(wrong)} wrong, first {wrong[:3]}"


def truncated(a, b):
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "min": min,
    "max": max,
}


@pytest.mark.parametrize("kind", WIDTHS)
@pytest.mark.parametrize("name", BINARY)
def test_arithmetic(apply_opcode, name, kind):
    check(apply_opcode, f"{name}.{kind}", [kind] * 3, BINARY[name], *pairs(WIDTHS[kind]))


@pytest.mark.parametrize("kind", WIDTHS)
def test_high_and_wide_products(apply_opcode, kind):
    width = WIDTHS[kind]
    a, b = pairs(width)
    check(apply_opcode, f"mul.hi.{kind}", [kind] * 3, lambda a, b: a * b >> width, a, b)
    check(
        apply_opcode,
        f"mad.hi.{kind}",
        [kind] * 4,
        lambda a, b, c: (a * b >> width) + c,
        a,
        b,
        b[::-1],
    )
    check(apply_opcode, f"mad.lo.{kind}", [kind] * 4, lambda a, b, c: a * b + c, a, b, a[::-1])
    if width < 64:
        wide = f"{kind[0]}{2 * width}"
        check(apply_opcode, f"mul.wide.{kind}", [wide, kind, kind], lambda a, b: a * b, a, b)
        check(
            apply_opcode,
            f"mad.wide.{kind}",
            [wide, kind, kind, wide],
            lambda a, b, c: a * b + c,
            a,
            b,
            [v << width for v in a],
        )


@pytest.mark.parametrize("kind", WIDTHS)
def test_division_truncates(apply_opcode, kind):
    a, b = columns(row for row in zip(*pairs(WIDTHS[kind]), strict=True) if row[1])
    check(apply_opcode, f"div.{kind}", [kind] * 3, truncated, a, b)
    check(apply_opcode, f"rem.{kind}", [kind] * 3, lambda a, b: a - b * truncated(a, b), a, b)


def test_division_by_zero_does_not_stop_the_kernel(apply_opcode):
    assert apply_opcode("div.u32", ["u32"] * 3, [7, 0], [0, 0]) == [0xFFFFFFFF] * 2


@pytest.mark.parametrize("kind", ["s16", "s32", "s64"])
def test_signs(apply_opcode, kind):
    v = values(WIDTHS[kind], 40)
    check(apply_opcode, f"neg.{kind}", [kind] * 2, lambda a: -a, v)
    check(apply_opcode, f"abs.{kind}", [kind] * 2, abs, v)


def test_saturating_sums(apply_opcode):
    def clamp(value):
        return max(-(1 << 31), min((1 << 31) - 1, value))

    a, b = pairs(32)
    check(apply_opcode, "add.sat.s32", ["s32"] * 3, lambda a, b: clamp(a + b), a, b)
    check(apply_opcode, "sub.sat.s32", ["s32"] * 3, lambda a, b: clamp(a - b), a, b)


@pytest.mark.parametrize("kind", ["b16", "b32", "b64", "pred"])
def test_logic(apply_opcode, kind):
    width = 1 if kind == "pred" else int(kind[1:])
    a, b = pairs(width) if width > 1 else ([0, 0, 1, 1], [0, 1, 0, 1])
    for name, function in {
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
    }.items():
        got = apply_opcode(f"{name}.{kind}", [kind] * 3, a, b)
        mask = (1 << width) - 1
        assert got == [function(x & mask, y & mask) for x, y in zip(a, b, strict=True)]
    assert apply_opcode(f"not.{kind}", [kind] * 2, a) == [~x & ((1 << width) - 1) for x in a]
    if kind != "pred":
        cnot = [int(x & ((1 << width) - 1) == 0) for x in a]
        assert apply_opcode(f"cnot.{kind}", [kind] * 2, a) == cnot


@pytest.mark.parametrize("kind", ["b16", "b32", "b64", "u32", "s16", "s32", "s64", "u64", "u16"])
def test_shifts_past_the_width(apply_opcode, kind):
    width = int(kind[1:])
    amounts = [0, 1, 5, width - 1, width, width + 1, 255, 256, 1 << 31, (1 << 32) - 1]
    a, b = columns(itertools.product(values(width), amounts))
    if kind[0] == "b":
        left = [(x << min(s, 80)) & ((1 << width) - 1) for x, s in zip(a, b, strict=True)]
        assert apply_opcode(f"shl.{kind}", [kind, kind, "u32"], a, b) == left
    check(
        apply_opcode,
        f"shr.{kind}",
        [kind, kind.replace("b", "u"), "u32"],
        lambda x, s: x >> min(s, 80),
        a,
        b,
    )
    # An immediate amount goes another way.
    for amount in amounts:
        check(
            apply_opcode,
            f"shr.{kind}",
            [kind, kind.replace("b", "u"), "u32"],
            lambda x, amount=amount: x >> min(amount, 80),
            values(width),
            str(amount),
        )


@pytest.mark.parametrize("direction", ["l", "r"])
@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_funnel_shift(apply_opcode, direction, mode):
    v = values(32, 6)
    low, high, amount = columns(itertools.product(v, v[:6], [0, 1, 31, 32, 33, 64]))

    def reference(low, high, amount):
        n = amount & 31 if mode == "wrap" else min(amount, 32)
        both = high << 32 | low
        return (both << n) >> 32 if direction == "l" else both >> n

    check(apply_opcode, f"shf.{direction}.{mode}.b32", ["u32"] * 4, reference, low, high, amount)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_bit_field_extract(apply_opcode, kind):
    width = WIDTHS[kind]
    ends = [0, 1, 5, 8, width // 2, width - 1, width, 63, 64, 200, 255, 256]
    a, pos, length = columns(itertools.product(values(width, 5), ends, ends))

    def reference(a, pos, length):
        # The manual's own definition, bit by bit.
        pos, length, top = pos & 255, length & 255, width - 1
        signed = kind[0] == "s" and length > 0
        sign = a >> min(pos + length - 1, top) & 1 if signed else 0
        result = 0
        for i in range(width):
            bit = a >> (pos + i) & 1 if i < length and pos + i <= top else sign
            result |= bit << i
        return result

    check(apply_opcode, f"bfe.{kind}", [kind, kind, "u32", "u32"], reference, a, pos, length)


@pytest.mark.parametrize("kind", ["b32", "b64"])
def test_bit_field_insert(apply_opcode, kind):
    width = int(kind[1:])
    ends = [0, 1, 5, width // 2, width - 1, width, 63, 64, 200, 256]
    v = values(width, 4)
    a, b, pos, length = columns(itertools.product(v[::3], v[::4], ends, ends))

    def reference(a, b, pos, length):
        pos, length = pos & 255, length & 255
        for i in range(length):
            if pos + i < width:
                b = b & ~(1 << (pos + i)) | (a >> i & 1) << (pos + i)
        return b

    check(
        apply_opcode, f"bfi.{kind}", [kind, kind, kind, "u32", "u32"], reference, a, b, pos, length
    )


@pytest.mark.parametrize("table", [0, 0x80, 0x96, 0xCA, 0xE8, 0x1B, 0xFF])
def test_three_input_logic(apply_opcode, table):
    v = values(32, 3)
    a, b, c = columns(itertools.product(v, v[::3], v[::2]))

    def reference(a, b, c):
        return sum(
            (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i
            for i in range(32)
        )

    check(apply_opcode, "lop3.b32", ["u32"] * 5, reference, a, b, c, str(table))


def test_byte_permutation(apply_opcode):
    source = random.Random(5)
    a, b, select = ([source.getrandbits(32) for _ in range(300)] for _ in range(3))

    def reference(a, b, select):
        data = (b << 32 | a).to_bytes(8, "little")
        result = 0
        for place in range(4):
            nibble = select >> 4 * place & 15
            byte = data[nibble & 7]
            if nibble & 8:
                byte = 255 if byte & 128 else 0
            result |= byte << 8 * place
        return result

    check(apply_opcode, "prmt.b32", ["u32"] * 4, reference, a, b, select)


@pytest.mark.parametrize("width", [32, 64])
def test_bit_counts(apply_opcode, width):
    v = values(width, 60)
    kind = f"u{width}"
    check(apply_opcode, f"popc.b{width}", ["u32", kind], lambda a: bin(a).count("1"), v)
    check(apply_opcode, f"clz.b{width}", ["u32", kind], lambda a: width - a.bit_length(), v)
    check(apply_opcode, f"brev.b{width}", [kind, kind], lambda a: int(f"{a:0{width}b}"[::-1], 2), v)
    check(apply_opcode, f"bfind.u{width}", ["u32", kind], lambda a: a.bit_length() - 1, v)
    signed = f"s{width}"
    check(
        apply_opcode,
        f"bfind.s{width}",
        ["u32", signed],
        lambda a: (a if a >= 0 else ~a).bit_length() - 1,
        v,
    )
    check(
        apply_opcode,
        f"bfind.shiftamt.u{width}",
        ["u32", kind],
        lambda a: width - a.bit_length() if a else -1,
        v,
    )


@pytest.mark.parametrize("kind", ["u32", "s32", "u16", "s64"])
def test_absolute_differences(apply_opcode, kind):
    a, b = pairs(WIDTHS[kind])
    check(apply_opcode, f"sad.{kind}", [kind] * 4, lambda a, b, c: c + abs(a - b), a, b, b[::-1])


@pytest.mark.parametrize("kind", ["u32", "s32"])
@pytest.mark.parametrize("part", ["lo", "hi"])
def test_24_bit_products(apply_opcode, kind, part):
    def narrow(a):
        a &= 0xFFFFFF
        return a - (1 << 24) if kind == "s32" and a >> 23 else a

    def product(a, b):
        return narrow(a) * narrow(b) >> (16 if part == "hi" else 0)

    a, b = pairs(32)
    check(apply_opcode, f"mul24.{part}.{kind}", [kind] * 3, product, a, b)
    check(
        apply_opcode,
        f"mad24.{part}.{kind}",
        [kind] * 4,
        lambda a, b, c: product(a, b) + c,
        a,
        b,
        a[::-1],
    )


@pytest.mark.parametrize("first", ["u32", "s32"])
@pytest.mark.parametrize("second", ["u32", "s32"])
def test_dot_products(apply_opcode, first, second):
    a, b = pairs(32)
    c = a[::-1]
    result = "s32" if "s32" in (first, second) else "u32"

    def lane(value, place, size, kind):
        part = value >> size * place & ((1 << size) - 1)
        return part - (1 << size) if kind == "s32" and part >> (size - 1) else part

    def four(a, b, c):
        return c + sum(lane(a, i, 8, first) * lane(b, i, 8, second) for i in range(4))

    check(apply_opcode, f"dp4a.{first}.{second}", [result, "u32", "u32", result], four, a, b, c)
    for half, skip in (("lo", 0), ("hi", 2)):

        def two(a, b, c, skip=skip):
            return c + sum(lane(a, i, 16, first) * lane(b, i + skip, 8, second) for i in range(2))

        check(
            apply_opcode,
            f"dp2a.{half}.{first}.{second}",
            [result, "u32", "u32", result],
            two,
            a,
            b,
            c,
        )


COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@pytest.mark.parametrize("kind", WIDTHS)
@pytest.mark.parametrize("name", COMPARE)
def test_comparisons(apply_opcode, kind, name):
    a, b = pairs(WIDTHS[kind])
    check(apply_opcode, f"setp.{name}.{kind}", ["pred", kind, kind], COMPARE[name], a, b)


def test_comparisons_combined_with_a_predicate(apply_opcode):
    a, b = pairs(32)
    c = [i % 2 for i in range(len(a))]
    for name, combine in {
        "and": lambda x, y: x and y,
        "or": lambda x, y: x or y,
        "xor": lambda x, y: x != y,
    }.items():
        got = apply_opcode(f"setp.lo.{name}.u32", ["pred", "u32", "u32", "pred"], a, b, c)
        want = [int(combine(x < y, bool(z))) for x, y, z in zip(a, b, c, strict=True)]
        assert got == want, name


def test_selection(apply_opcode):
    a, b = pairs(64)
    c = [i % 3 == 0 for i in range(len(a))]
    got = apply_opcode("selp.b64", ["b64", "b64", "b64", "pred"], a, b, c)
    assert got == [x if z else y for x, y, z in zip(a, b, c, strict=True)]
    signs = [v - 5 for v in range(len(a))]
    chosen = apply_opcode("slct.b64.s32", ["b64", "b64", "b64", "s32"], a, b, signs)
    assert chosen == [x if z >= 0 else y for x, y, z in zip(a, b, signs, strict=True)]
    masks = apply_opcode("set.lt.u32.s32", ["u32", "s32", "s32"], [1, 0xFFFFFFFF], [0, 0])
    assert masks == [0, 0xFFFFFFFF]


def test_an_ignored_modifier_would_be_an_error(apply_opcode):
    with pytest.raises(UnsupportedError, match=r"unsupported PTX instruction add\.rn\.u32"):
        apply_opcode("add.rn.u32", ["u32"] * 3, [1], [2])


CARRY = """
.version 8.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {{
  .reg .b32 %r<3>; .reg .b64 %rd<4>; .reg .b{width} %a<8>, %d<8>;
  mov.u32 %r1, %tid.x;
  ld.param.u64 %rd1, [in]; mad.wide.u32 %rd1, %r1, {span}, %rd1;
  ld.param.u64 %rd2, [out]; mad.wide.u32 %rd2, %r1, {span}, %rd2;
  {loads}
  {code}
  {stores}
  ret; }}
"""


@pytest.mark.parametrize("kind", ["u32", "s32", "u64"])
def test_carries_join_words_to_long_integers(run_ptx, kind):
    width = int(kind[1:])
    size = width // 8
    code = f"""
      add.cc.{kind} %d0, %a0, %a2; addc.cc.{kind} %d1, %a1, %a3; addc.{kind} %d2, 0, 0;
      sub.cc.{kind} %d3, %a0, %a2; subc.cc.{kind} %d4, %a1, %a3; subc.{kind} %d5, 0, 0;
      mad.lo.cc.{kind} %d6, %a0, %a1, %a2; madc.hi.{kind} %d7, %a0, %a1, %a3;
    """
    rows = list(itertools.product(values(width, 0), repeat=4))
    random.Random(6).shuffle(rows)
    rows = rows[:256]
    run = run_ptx(
        CARRY.format(
            width=width,
            span=8 * size,
            loads="".join(f"ld.global.b{width} %a{i}, [%rd1+{i * size}];" for i in range(4)),
            code=code,
            stores="".join(f"st.global.b{width} [%rd2+{i * size}], %d{i};" for i in range(8)),
        ),
        block=256,
        arguments={
            "in": np.array([[*row, *row] for row in rows], f"uint{width}").reshape(-1),
            "out": ("out", f"uint{width}", 8 * 256),
        },
    )
    top, got = (1 << width) - 1, run.outputs["out"].reshape(256, 8).tolist()
    for (a0, a1, b0, b1), g in zip(rows, got, strict=True):
        total = (a1 << width | a0) + (b1 << width | b0)
        apart = (a1 << width | a0) - (b1 << width | b0)
        product = number(a0, kind) * number(a1, kind) + b0 + (b1 << width)
        want = [total, total >> width, total >> 2 * width, apart, apart >> width, -(apart < 0)]
        want += [product, product >> width]
        assert g == [w & top for w in want], (a0, a1, b0, b1)
