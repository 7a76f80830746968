"""CuTe layouts and their algebra, against the definitions on small domains."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, Swizzle, TileLayout, parse_layout
from tileviz.layouts.axes import LayoutError
from tileviz.layouts.cute import (
    CuteLayout,
    SwizzledCute,
    compact,
    congruent,
    flatten,
    parse_cute,
)
from tileviz.layouts.cute_algebra import (
    blocked_product,
    coalesce,
    complement,
    composition,
    filter_zeros,
    is_injective,
    logical_divide,
    logical_product,
    raked_product,
    right_inverse,
    thread_value_layout,
    zipped_divide,
)
from tileviz.layouts.cute_conversions import (
    cute_of_tile,
    layout_of_matrix,
    matrix_of,
    tile_of_cute,
    tile_of_thread_values,
)
from tileviz.layouts.f2 import image_table

extents = st.sampled_from([1, 2, 2, 3, 4, 4, 6, 8])
shapes = st.recursive(
    extents, lambda inner: st.tuples(inner, inner) | st.tuples(inner), max_leaves=4
)


def nest(leaves: list[int], like):
    """Nest numbers as a shape is."""
    source = iter(leaves)

    def build(part):
        return next(source) if isinstance(part, int) else tuple(build(inner) for inner in part)

    return build(like)


@st.composite
def layouts(draw: st.DrawFn, injective: bool = False) -> CuteLayout:
    shape = draw(shapes)
    leaves = flatten(shape)
    if not injective and draw(st.booleans()):
        strides = [draw(st.sampled_from([0, 1, 2, 3, 4, 8, 12])) for _ in leaves]
        return CuteLayout(shape, nest(strides, shape))
    strides, reach = [0] * len(leaves), 1
    for place in draw(st.permutations(range(len(leaves)))):
        strides[place] = reach
        reach *= leaves[place] * draw(st.sampled_from([1, 1, 2]))
    return CuteLayout(shape, nest(strides, shape))


def image(layout: CuteLayout | SwizzledCute) -> list[int]:
    return [layout(coordinate) for coordinate in range(layout.size)]


@given(layouts())
def test_table_and_call_agree(layout: CuteLayout) -> None:
    assert layout.table().tolist() == image(layout)
    assert layout.cosize == max(image(layout)) + 1
    assert str(parse_cute(str(layout))) == str(layout)
    shape = [range(mode.size) for mode in layout.modes]
    for flat, reverse in enumerate(itertools.product(*reversed(shape))):
        assert layout(*reversed(reverse)) == layout(flat)


def test_nested_coordinates() -> None:
    layout = CuteLayout(((2, 4), 8), ((1, 16), 2))
    assert layout(((1, 3), 5)) == 1 + 48 + 10 == layout((7, 5))
    with pytest.raises(LayoutError, match="does not fit"):
        layout((1, 2, 3))
    with pytest.raises(LayoutError, match="nested deeper"):
        layout(((1, (0, 0)), 5))


@given(layouts())
def test_coalesced_is_the_same_map(layout: CuteLayout) -> None:
    flat = coalesce(layout)
    assert image(flat) == image(layout)
    digits = flat.digits
    for (extent, stride), (_, following) in itertools.pairwise(digits):
        assert following != extent * stride


@given(layouts(), layouts())
def test_composition_is_one_after_the_other(outer: CuteLayout, inner: CuteLayout) -> None:
    assume(outer.size <= 512 and inner.cosize <= outer.size)
    try:
        made = composition(outer, inner)
    except LayoutError:
        assume(False)
    assert image(made) == [outer(index) for index in image(inner)]
    assert made.size == inner.size
    assert [mode.size for mode in made.modes] == [mode.size for mode in inner.modes] or (
        inner.rank == 1
    )


def test_composition_that_falls_between_digits_is_refused() -> None:
    with pytest.raises(LayoutError, match="ends inside a digit"):
        composition(CuteLayout((4, 6), (1, 8)), CuteLayout(6, 1))
    with pytest.raises(LayoutError, match="steps between"):
        composition(CuteLayout((6, 4), (1, 8)), CuteLayout(4, 4))


@given(layouts(injective=True), st.integers(1, 4))
def test_complement_visits_the_rest_once(layout: CuteLayout, factor: int) -> None:
    assume(layout.size <= 256)
    try:
        rest = complement(layout, layout.cosize * factor)
    except LayoutError:
        assume(False)
    both = sorted(a + b for a in image(layout) for b in image(rest))
    assert len(set(both)) == len(both)
    assert both[-1] + 1 >= layout.cosize * factor
    filled = layout.size * rest.size
    assert both == list(range(filled)) or len(both) == filled
    strides = [stride for _, stride in rest.digits]
    assert strides == sorted(strides)


@given(layouts(), layouts(injective=True))
def test_divide_keeps_every_element(layout: CuteLayout, tiler: CuteLayout) -> None:
    assume(layout.size <= 512 and tiler.cosize <= layout.size)
    try:
        divided = logical_divide(layout, tiler)
    except LayoutError:
        assume(False)
    assert image(divided[0]) == [layout(index) for index in image(tiler)]
    if divided.size == layout.size:
        assert sorted(image(divided)) == sorted(image(layout))


@given(st.tuples(extents, extents), st.tuples(extents, extents))
def test_zipped_divide_by_shape(tiles: tuple[int, int], counts: tuple[int, int]) -> None:
    shape = tuple(a * b for a, b in zip(tiles, counts, strict=True))
    layout = CuteLayout(shape, (shape[1], 1))
    divided = zipped_divide(layout, tiles)
    assert (divided[0].shape, divided[1].shape) == (tiles, counts)
    for i, j, p, q in itertools.product(*map(range, (*tiles, *counts))):
        assert divided(((i, j), (p, q))) == layout(p * tiles[0] + i, q * tiles[1] + j)


@given(layouts(injective=True), layouts(injective=True))
def test_product_repeats_the_layout(layout: CuteLayout, tiler: CuteLayout) -> None:
    assume(layout.size * tiler.size <= 512)
    try:
        made = logical_product(layout, tiler)
    except LayoutError:
        assume(False)
    assert image(made[0]) == image(layout)
    assert is_injective(made)


def test_blocked_and_raked_products() -> None:
    block, grid = CuteLayout((2, 3)), CuteLayout((2, 2))
    blocked, raked = blocked_product(block, grid), raked_product(block, grid)
    for i, j, p, q in itertools.product(range(2), range(3), range(2), range(2)):
        wanted = block(i, j) + 6 * grid(p, q)
        assert blocked(i + 2 * p, j + 3 * q) == wanted
        assert raked(p + 2 * i, q + 2 * j) == wanted


@given(layouts())
def test_right_inverse_finds_every_index(layout: CuteLayout) -> None:
    inverse = right_inverse(layout)
    assert [layout(inverse(index)) for index in range(inverse.size)] == list(range(inverse.size))


@given(layouts())
def test_filter_keeps_what_moves(layout: CuteLayout) -> None:
    assert sorted(set(image(filter_zeros(layout)))) == sorted(set(image(layout)))


def test_thread_values_number_a_tile() -> None:
    threads, values = CuteLayout((4, 8), (8, 1)), CuteLayout((2, 2), (2, 1))
    tile, pairs = thread_value_layout(threads, values)
    assert sorted(image(pairs)) == list(range(128))
    for thread in range(32):
        for value in range(4):
            assert tile(pairs(thread, value)) == thread + 32 * value
    with pytest.raises(LayoutError, match="once each"):
        thread_value_layout(CuteLayout(4, 0), CuteLayout(2, 1))


def test_thread_values_as_a_tile_layout() -> None:
    """The C fragment of mma.m16n8: rows l / 4 and + 8, columns 2 * (l % 4) and + 1."""
    pairs = parse_cute("((4,8),(2,2)):((32,1),(16,8))")
    layout = tile_of_thread_values(pairs, (16, 8))
    for row, column in itertools.product(range(16), range(8)):
        place = layout.apply((row, column), (16, 8))
        lane, register = int(place["laneid"]), int(place["m"])
        assert pairs(lane, register) == row + 16 * column
        assert lane == row % 8 * 4 + column // 2
    with pytest.raises(LayoutError, match="once each"):
        tile_of_thread_values(CuteLayout((4, 2), (0, 1)), (4, 2))
    with pytest.raises(LayoutError, match="pairs and"):
        tile_of_thread_values(pairs, (8, 8))


# -- conversions ---------------------------------------------------------------------------------


@given(layouts())
def test_to_a_tile_layout_and_back(layout: CuteLayout) -> None:
    tiled = tile_of_cute(layout)
    for coordinate in itertools.product(*map(range, tiled.shape)):
        assert int(tiled.layout.apply(coordinate, tiled.shape).get("m", 0)) == layout(*coordinate)
    back = cute_of_tile(tiled.layout, tiled.shape)
    assert image(back) == image(layout)


def test_nested_text_is_read_as_a_tile_layout() -> None:
    layout = parse_layout("((2, 4), 8):((1, 16), 2)")
    cute = parse_cute("((2, 4), 8):((1, 16), 2)")
    for row, column in itertools.product(range(8), range(8)):
        assert int(layout.apply((row, column), (8, 8))["m"]) == cute(row, column)


def test_a_negative_distance_is_the_outer_form() -> None:
    layout = parse_cute("Sw<2,1,-3> o (8,8)")
    assert isinstance(layout, SwizzledCute)
    assert layout.swizzle == Swizzle(1, 2, 3, inner=False)
    assert parse_layout("Sw<2,1,-3> o S[64]").swizzle == layout.swizzle
    assert str(layout) == "Sw<2,1,-3> o (8,8):(1,8)"
    assert layout(3) == int(layout.swizzle.apply(3))


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (TileLayout([(4, 1, "laneid"), (8, 1, "m")]), "it maps to laneid"),
        (TileLayout([(8, 1, "m")], [(2, 8, "m")]), "it keeps 2 copies"),
        (TileLayout([(8, 1, "m")], offset={"m": 5}), "offset 5; add that to the pointer"),
    ],
)
def test_what_cute_cannot_say(layout: TileLayout, reason: str) -> None:
    with pytest.raises(LayoutError, match=reason):
        cute_of_tile(layout)


def test_matrices_of_layouts() -> None:
    assert matrix_of(TileLayout([(4, 1, "m"), (8, 4, "m")])) == (4, 8, 16, 1, 2)
    swizzled = ComposeLayout(Swizzle(0, 2, 2), TileLayout([(16, 1, "m")]))
    assert matrix_of(swizzled) == (1, 2, 5, 10)
    for layout, reason in (
        (TileLayout([(6, 1, "m")]), "no power of two"),
        (TileLayout([(4, 3, "m")]), "not linear over bits"),
        (TileLayout([(4, 1, "m")], offset={"m": 1}), "element 0 lies at 1"),
        (TileLayout([(4, 1, "laneid")]), "another axis"),
    ):
        with pytest.raises(LayoutError, match=reason):
            matrix_of(layout)


@settings(max_examples=200)
@given(st.permutations(range(6)), st.integers(0, 2), st.integers(0, 3), st.integers(1, 5))
def test_matrices_give_their_layout_back(order: list[int], b: int, m: int, s: int) -> None:
    columns = [1 << bit for bit in order]
    if b and s >= b and m + b + s <= 6:
        swizzle = Swizzle(m, b, s)
        columns = [int(swizzle.apply(column)) for column in columns]
    layout = layout_of_matrix(columns)
    assert layout.table().tolist() == image_table(columns).tolist()


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ((1, 0, 2), "column of the matrix is 0"),
        ((1, 2, 3), "one highest bit"),
        ((1, 2, 5, 9), "distances 2, 3, not one"),
        ((1, 2, 4, 9, 16, 36), "not neighbours"),
    ],
)
def test_matrices_without_a_layout_say_why(columns: tuple[int, ...], reason: str) -> None:
    with pytest.raises(LayoutError, match=reason):
        layout_of_matrix(columns)


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a whole number"),
        ("(2,4):(1)", "are not nested alike"),
        ("(2,0):(1,2)", "extents are whole numbers from 1"),
        ("(2,4", 'expected ")"'),
        ("(" * 9 + "1" + ")" * 9, "nest at most 8 deep"),
        ("(1048577)", "at most 1048576 elements"),
        ("(" + ",".join("1" * 33) + ")", "at most 32 numbers"),
        ("Sw<3,4,2> o (8,8)", "less than swizzle_len"),
        ("Sw<3,4,3> (8,8)", 'expected "o"'),
        ("(8,8):(1,8) x", "expected the end"),
        ("2" * 5000, "a CuTe layout is text"),
    ],
)
def test_bad_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(DesignError) as caught:
        parse_cute(text)
    assert message in caught.value.message


def test_shapes() -> None:
    assert compact(((2, 3), (4,))) == ((1, 2), (6,))
    assert not congruent((2, (3,)), (2, 3))
    with pytest.raises(LayoutError, match="extents"):
        CuteLayout((2, -1))
