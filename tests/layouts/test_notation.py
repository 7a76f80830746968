"""The text form: what is accepted, what is refused and where the caret points."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, Iter, Swizzle, TileLayout, format_layout, parse_layout


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("S[(4, 32):(32, 1)]", "S[(4, 32):(32, 1)]"),
        ("S[(4,32)]", "S[(4, 32):(32, 1)]"),
        ("S[4,32]", "S[(4, 32):(32, 1)]"),
        ("S[16]", "S[16:1]"),
        ("S[8:-4]", "S[8:-4]"),
        (" S [ ( 8 , 4 , ) : ( 4 @ laneid , 1 ) ] ", "S[(8, 4):(4@laneid, 1)]"),
        ("S[(8,4):(laneid,1@m)]", "S[(8, 4):(1@laneid, 1)]"),
        ("S[(8,4):((4,\"laneid\"),'m')]", "S[(8, 4):(4@laneid, 1)]"),
        ("S[8:4@Axis.laneid]", "S[8:4@laneid]"),
        ("T.S[8:4@TLane]+T.R[2:4@warpid]", "S[8:4@TLane] + R[2:4@warpid]"),
        ("T.TileLayout(T.S[8:1] + (1 @ Axis.laneid + 64))", "S[8:1] + 1@laneid + 64"),
        ("64 + S[8:1] + 1", "S[8:1] + 65"),
        ("5@warpid + R[2:4@warpid] + S[8:1]", "S[8:1] + R[2:4@warpid] + 5@warpid"),
        ("S[8:1] + -2 + (3, laneid)", "S[8:1] + 3@laneid + -2"),
        ("S[8:1] + 0", "S[8:1] + 0"),
        ("(S[8:1])", "S[8:1]"),
        ("R[4:1]", "R[4:1]"),
        ("S[()] + 3", "S[():()] + 3"),
        ("(4, 32):(1, 4)", "S[(4, 32):(1, 4)]"),
        ("128:1", "S[128:1]"),
        ("Swizzle(3,2,3) o S[8,32]", "Swizzle(3, 2, 3) o S[(8, 32):(32, 1)]"),
        ("Swizzle(0,1,1,inner=False) o S[4]", "Swizzle(0, 1, 1, inner=False) o S[4:1]"),
        ("T.Swizzle(0,1,1,true) o T.TileLayout(S[4])", "Swizzle(0, 1, 1) o S[4:1]"),
        ("Sw<3,4,3> o (8,64):(64,1)", "Swizzle(4, 3, 3) o S[(8, 64):(64, 1)]"),
        (
            "T.ComposeLayout(3, 3, 3, T.TileLayout(T.S[512:1] + 32), swizzle_inner=False)",
            "Swizzle(3, 3, 3, inner=False) o S[512:1] + 32",
        ),
    ],
)
def test_accepted(text, printed):
    layout = parse_layout(text)
    assert str(layout) == format_layout(layout) == printed
    assert parse_layout(printed) == layout


@pytest.mark.parametrize(
    ("text", "message", "fault"),
    [
        ("S[(4, 32]", 'expected ")" before "]"', "]"),
        ("S[(4, 32):(32, 1)", 'expected "]" before the end of the text', ""),
        ("", "a layout text is empty", ""),
        ("   ", "a layout text is empty", ""),
        ("S[4:1]]", '"]" closes nothing', "]"),
        ("S[4:1] S[4:1]", 'expected "+" or the end before "S"', "S[4:1]"),
        ("S[4:1]+S[8:2]", "one S[...]", "S[8:2]"),
        ("S[4:1]+R[2:4]+R[3:9]", "one R[...]", "R[3:9]"),
        ("S[(4,4):(4,)]", "2 extents and 1 strides", "(4,4):(4,)]"),
        ("S[8:(4,laneid)]", "1 extents and 2 strides", "8:(4,laneid)]"),
        ("S[8,4:4,1]", "put the extents in parentheses", "8,4:4,1]"),
        ("S[8:4@lane]", 'unknown axis "lane"; allowed: m,', "lane]"),
        ("S[8:4] + 3@S", 'unknown axis "S"', "S"),
        ("S[8@m:1]", "an extent is a plain whole number", "8@m:1]"),
        ("S[0:1]", "extents are whole numbers from 1", "0:1]"),
        ("S[(4, -8)]", "extents are whole numbers from 1", "-8)]"),
        ("S[1048577]", "at most 1048576 elements, these are 1048577", "1048577]"),
        ("S[(1,1,1,1,1,1,1,1,1)]", "at most 8 iters, these are 9", "(1,1,1,1,1,1,1,1,1)]"),
        ("S[8:1099511627777]", "numbers go up to 2**40", "1099511627777]"),
        ("S[8:1] + 1099511627776 + 1", "offsets go up to 2**40", "1"),
        ("5@warpid", "a layout needs a term S[...]", "5@warpid"),
        ("S[٣:1]", 'expected a number, an axis, S[...] or R[...] before "٣"', "٣:1]"),
        ("Q[8:1]", 'expected S or R before "Q"', "Q[8:1]"),
        ("((2,2),8):((1,2),(4))", "are not nested alike", "((2,2),8):((1,2),(4))"),
        ("(4,8):(1)", "(4,8) and (1) are not nested alike", "(4,8):(1)"),
        ("(((((((((1))))))))):1", "tuples nest at most 8 deep", "1))))))))):1"),
        ("Swizzle(3,3,3)", 'expected "o" and the layout', ""),
        ("Swizzle(3,3,2) o S[8]", "atom_len 2 is less than swizzle_len 3", "Swizzle(3,3,2) o S[8]"),
        ("Swizzle(-1,3,3) o S[8]", "not negative", "Swizzle(-1,3,3) o S[8]"),
        ("Swizzle(3,3,99) o S[8]", "at most 48 bits", "Swizzle(3,3,99) o S[8]"),
        ("Swizzle(3,3) o S[8]", 'expected "," before ")"', ") o S[8]"),
        ("Swizzle(3,3,3,inner=maybe) o S[8]", "expected True or False", "maybe) o S[8]"),
        ("Sw<3,4,3> o S[8:1@tx]", "memory only, and its tile has tx", "S[8:1@tx]"),
        ("Sw<1,1,1> o Sw<1,1,1> o S[8]", "not to another swizzle", "Sw<1,1,1> o S[8]"),
        ("S" * 4096, f'unknown axis "{"S" * 40}"; allowed', "S" * 4096),
    ],
)
def test_refused(text, message, fault):
    with pytest.raises(DesignError) as caught:
        parse_layout(text)
    error = caught.value
    assert message in error.message
    assert error.field == "layout"
    assert error.value == text
    assert text[error.position :].rstrip() == fault
    assert error.caret().endswith("^")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 4096,
        "S[" * 2048,
        "S[" + "9" * 4000 + "]",
        "1" + "0" * 4000 + "@m + S[8]",
        "S[8] + " + "(" * 2000 + "1" + ")" * 2000,
        "(" * 2000 + ":" + ")" * 2000,
        "T." * 2000,
        "Sw<1,1,1>o " * 370 + "S[8]",
        "ComposeLayout(0,0,0," * 200,
        "T.TileLayout(" * 300,
        "+" * 4096,
        "-" * 4096,
        '"' * 4095,
        "Swizzle(0,1,1," * 290,
        "\x00S[8]",
        "S[8]\u00a0",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_is_refused(text):
    with pytest.raises(DesignError):
        parse_layout(text)


def test_too_long_and_not_text():
    with pytest.raises(DesignError, match="at most 4096 characters, this one 5000") as caught:
        parse_layout("1" * 5000, field="src.layout")
    assert caught.value.field == "src.layout"
    assert len(caught.value.value) == 80
    for value in (None, 5, ["S[8]"], b"S[8]"):
        with pytest.raises(DesignError, match="a layout is text"):
            parse_layout(value)


def test_the_field_is_the_callers():
    with pytest.raises(DesignError, match=r'dst\.layout: expected "\]"') as caught:
        parse_layout("S[8", field="dst.layout")
    assert (caught.value.field, caught.value.position) == ("dst.layout", 3)


AXES = st.sampled_from(["m", "laneid", "warpid", "tx", "TLane", "TCol", "P", "F", "wid_in_wg"])
STRIDES = st.integers(-(1 << 40), 1 << 40)
ITERS = st.lists(st.builds(Iter, st.integers(1, 5), STRIDES, AXES), max_size=8)
TILES = st.builds(TileLayout, ITERS, ITERS, st.dictionaries(AXES, STRIDES, max_size=3))
MEMORY = st.lists(st.builds(Iter, st.integers(1, 5), STRIDES, st.just("m")), max_size=6)
SWIZZLES = st.builds(
    lambda m, b, gap, inner: Swizzle(m, b, b + gap, inner),
    st.integers(0, 8),
    st.integers(0, 8),
    st.integers(0, 8),
    st.booleans(),
)


@given(TILES)
def test_tiles_read_back(layout):
    if layout.replica and not layout.shard:
        layout = TileLayout([(1, 1, "m")], layout.replica, layout.offset)
    assert parse_layout(str(layout)) == layout


@given(st.builds(ComposeLayout, SWIZZLES, st.builds(TileLayout, MEMORY)))
def test_swizzled_tiles_read_back(layout):
    assert parse_layout(str(layout)) == layout


WORDS = (
    'S R [ ] ( ) : , + @ - T. TileLayout( Axis. m tx laneid 8 32 0 o Swizzle( Sw< > inner= True "'
)
PIECES = st.sampled_from([*WORDS.split(), "ComposeLayout(", " "])


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=40))
def test_any_text_parses_or_is_a_design_error(text):
    try:
        layout = parse_layout(text)
    except DesignError as error:
        assert error.field == "layout"
        assert 0 <= error.position <= len(text)
    else:
        assert parse_layout(str(layout)) == layout
