"""PTX text: both dialects, scopes, lines, and text that is broken or hostile."""

import random
import re
from pathlib import Path

import numpy as np
import pytest

from tileviz.cuda.kernel import Buffer, Scalar
from tileviz.emulator import (
    EmulatorError,
    Limits,
    ParseError,
    TooLargeError,
    UnsupportedError,
    emulate,
)
from tileviz.emulator.parser import parse
from tileviz.emulator.ptx import (
    Address,
    Immediate,
    Label,
    Not,
    Pair,
    Register,
    Symbol,
    Vector,
)
from tileviz.emulator.syntax import immediate

HEADER = ".version 8.8\n.target sm_80\n.address_size 64\n"


def body(text, name="k"):
    return parse(HEADER + ".visible .entry k() {\n" + text + "\n}").functions[name].body


def test_operands_of_every_form():
    (instruction,) = body(
        ".reg .b32 %r<9>; .reg .pred %p<3>; .reg .b64 %d;"
        "@!%p1 op.x {%r1, _, %r2}, [%d+-8], [tile+4], -3, 0f3F800000, %p1|%p2, !%p2, %tid.x, 0x1F;"
    )
    assert instruction.opcode == "op.x"
    assert instruction.guard == Not(Register("%p1"))
    assert instruction.operands == (
        Vector((Register("%r1"), Symbol("_"), Register("%r2"))),
        Address(Register("%d"), -8),
        Address(Symbol("tile"), 4),
        Immediate(-3),
        Immediate(0x3F800000, "f32"),
        Pair(Register("%p1"), Register("%p2")),
        Not(Register("%p2")),
        Symbol("%tid.x"),
        Immediate(31),
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("017", 15),
        ("0x7fU", 127),
        ("-0X10", -16),
        ("0b101", 5),
        ("18446744073709551615U", 2**64 - 1),
        ("1.5", 0x3FF8000000000000),
        ("0d3FF0000000000000", 0x3FF0000000000000),
        ("%r1", None),
        ("abc", None),
    ],
)
def test_literals(text, value):
    literal = immediate(text)
    assert (literal and literal.value) == value


def test_scopes_keep_names_apart():
    items = body(
        ".reg .b32 t, u;\n"
        "{ .reg .b32 t; mov.b32 t, 1; bra DONE; mov.b32 u, 3; DONE: }\n"
        "{ .reg .b32 t; mov.b32 t, 2; DONE: bra DONE; }\n"
        "mov.b32 t, 4;"
    )
    written = [i.operands[0] for i in items if getattr(i, "name", "") == "mov"]
    assert len(set(written)) == 4
    labels = [i.name for i in items if isinstance(i, Label)]
    targets = [i.operands[0].name for i in items if getattr(i, "name", "") == "bra"]
    assert targets == labels
    assert len(set(labels)) == 2


def test_lines_follow_inlining_to_the_own_file():
    items = body(
        ".loc 2 5 1\n op1 ;\n"
        ".loc 3 90 1, function_name $L, inlined_at 2 7 3\n op2;\n"
        ".loc 4 11 1, function_name $L, inlined_at 3 90 1\n op3;\n"
        ".loc 2 8 1, function_name $L, inlined_at 2 6 1\n op4;\n"
        ".loc 2 0 0\n op5;"
    )
    assert [i.line for i in items] == [5, 7, 7, 8, 8]


def test_parameters_of_both_dialects():
    text = HEADER + (
        ".visible .entry k(.param .u64 .ptr .align 16 a, .param .u64 .ptr .global .align 4 b,"
        ".param .align 8 .b8 c[12], .param .u8 d, .param .f64 e)\n.maxntid 32, 2, 1\n{ ret; }"
    )
    function = parse(text).functions["k"]
    assert [(p.name, p.offset, p.size) for p in function.parameters] == [
        ("a", 0, 8),
        ("b", 8, 8),
        ("c", 16, 12),
        ("d", 28, 1),
        ("e", 32, 8),
    ]
    assert function.max_threads == 64


def test_only_what_a_kernel_needs_is_parsed():
    text = HEADER + (
        ".func f() { ret; } .func g() { call f; ret; } .visible .entry k() { call g; ret; }"
        ".visible .entry other() { !!! broken !!!; }"
    )
    module = parse(text, entry="k")
    assert sorted(module.functions) == ["f", "g", "k"]
    assert module.kernels == ["k", "other"]
    with pytest.raises(ParseError):
        parse(text)


def test_variables_and_initialisers():
    text = HEADER + (
        ".global .align 4 .b8 table[8] = {1, 2, 0xff};\n"
        ".const .f32 one = 0f3F800000;\n"
        ".extern .shared .align 16 .b8 dynamic[];\n"
        ".global .align 8 .u64 pointers[2] = {table, generic(one)};\n"
        ".visible .global .v4 .f32 wide;\n"
    )
    variables = parse(text).variables
    assert variables["table"].initial == b"\x01\x02\xff"
    assert variables["one"].initial == np.float32(1).tobytes()
    assert variables["dynamic"].size == 0
    assert variables["pointers"].references == {0: "table", 8: "one"}
    assert variables["wide"].size == 16


def test_comments_and_debug_sections_are_skipped():
    items = body("// a; b\n/* c; { */ ret; // }")
    assert [i.opcode for i in items] == ["ret"]
    parse(HEADER + '.file 1 "/a//b.cu"\n.section .debug_str { .b8 1,2; }\n.pragma "x";')


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("nonsense", ParseError),
        (".visible .entry k() { ret", ParseError),
        (".visible .entry k() { ret;", ParseError),
        (".visible .entry k()", ParseError),
        (".visible .entry k(.param .bits x) { }", UnsupportedError),
        (".visible .entry k() { .reg .b256 %r; }", UnsupportedError),
        (".visible .entry k() { .reg .b32 %r<99999999>; }", ParseError),
        (".visible .entry k() { .reg .b32 %r<200000>; }", ParseError),
        (".visible .entry k() { ld [[x]]; }", ParseError),
        (".visible .entry k() { add {a, {b}}; }", ParseError),
        (".visible .entry k() { ???; }", ParseError),
        (".global .b8 huge[999999999];", ParseError),
        (".global .b8 huge[9999999999999999];", ParseError),
        (".global .b8 x[1] = {1, 2};", ParseError),
        (".global .b8 x[1] = {y};", UnsupportedError),
        (".visible .entry k() { mov.u32 x, " + "9" * 5000 + "; }", ParseError),
    ],
)
def test_broken_text_is_one_clear_error(text, error):
    with pytest.raises(error) as caught:
        parse(HEADER + text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000,
        ".reg .b32 " + "%a, " * 100_000 + ";",
        "mov.u32 " + "{" * 50_000 + ";",
        "@" * 200_000,
        ".loc " * 50_000,
        "a:" * 50_000,
        " " * 500_000,
        "/*" * 200_000,
        "op " + "," * 200_000 + ";",
        ".global " + ".align 4 " * 30_000,
    ],
)
def test_hostile_text_is_refused_and_does_not_hang(text):
    """A pattern that were not linear would never finish these."""
    inside = HEADER + ".visible .entry k() {" + text + "}"
    for whole in (HEADER + text, inside):
        try:
            module = parse(whole)
        except EmulatorError as error:
            assert len(str(error)) < 200
        else:
            assert all(function.name == "k" for function in module.functions.values())


def test_the_number_of_instructions_is_limited():
    text = HEADER + ".visible .entry k() {" + "ret;" * 11 + "}"
    assert len(list(parse(text, max_instructions=11).functions["k"].instructions())) == 11
    with pytest.raises(TooLargeError, match="more than 10 PTX instructions"):
        parse(text, max_instructions=10)


@pytest.mark.parametrize("arch", ["compute_75", "compute_80", "compute_90", "compute_121"])
def test_inline_assembly_with_scopes_runs(run_cuda, arch):
    source = """
extern "C" __global__ void k(int* x) {
    int i = threadIdx.x, r;
    asm("{ .reg .pred p; .reg .b32 t; setp.eq.s32 p, %1, 3; @p bra YES; mov.b32 t, 9; bra END;"
        " YES: mov.b32 t, 7; END: add.s32 %0, t, 1; }" : "=r"(r) : "r"(x[i]));
    asm("{ .reg .b32 t; mul.lo.s32 t, %0, 2; mov.b32 %0, t; }" : "+r"(r));
    x[i] = r;
}
"""
    run = run_cuda(source, arch=arch, arguments={"x": np.arange(32, dtype=np.int32)})
    assert run.outputs["x"].tolist() == [16 if i == 3 else 20 for i in range(32)]


def test_mutilated_kernels_give_a_result_or_a_clear_error(compile_cuda):
    """Whatever inline assembly may hold, nothing but an `EmulatorError` leaves the emulator."""
    source = (Path(__file__).parent / "corpus" / "reduce_warp.cu").read_text()
    token = re.compile(r"\s+|[%\w.$]+|.")
    tokens = token.findall(compile_cuda(source))
    start = tokens.index("{")
    words = [t for t in tokens if not t.isspace()]
    pick = random.Random(5)
    outcomes = set()
    for _ in range(300):
        text = list(tokens)
        for _ in range(pick.choice((1, 1, 2))):
            place = pick.randrange(start, len(text))
            text[place] = pick.choice((pick.choice(words), pick.choice(words), ""))
        try:
            run = emulate(
                "".join(text),
                source=source,
                entry="k",
                grid=(2, 1, 1),
                block=(64, 1, 1),
                parameters=(
                    Buffer("x", "int32", (64,), "inout"),
                    Buffer("s", "int32", (1,), "inout"),
                    Scalar("n", "int32", 64),
                ),
                arrays={"x": np.arange(64, dtype=np.int32), "s": np.zeros(1, np.int32)},
                limits=Limits(thread_instructions=100_000),
            )
        except EmulatorError as error:
            outcomes.add(type(error).__name__)
        else:
            outcomes.update(p.kind for p in run.problems)
    assert {"ParseError", "UnsupportedError", "out_of_bounds"} <= outcomes
