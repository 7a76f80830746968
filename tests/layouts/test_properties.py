"""Random layouts against slow plain-Python references."""

import itertools
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tileviz.layouts import (
    ComposeLayout,
    Iter,
    LayoutError,
    Swizzle,
    TileLayout,
    canonicalize,
    direct_sum,
    group,
    group_many,
    identity,
    injectivity_collision,
    is_tile_inner,
    is_tile_outer,
    pack,
    region_addresses,
    row_major,
    slice_layout,
    tile,
    unpack,
)

AXES = st.sampled_from(["m", "m", "m", "TLane", "TCol"])
SMALL = st.integers(-40, 40)
EXTENTS = st.integers(1, 6)
HUGE = st.integers(-(1 << 40), 1 << 40)


def iters(extents=EXTENTS, strides=SMALL, axes=AXES, most=4):
    return st.lists(st.builds(Iter, extents, strides, axes), min_size=1, max_size=most)


def tiles(strides=SMALL, axes=AXES):
    offset = st.dictionaries(axes, strides, max_size=2)
    return st.builds(TileLayout, iters(strides=strides, axes=axes), st.just(()), offset)


SWIZZLES = st.builds(
    lambda m, b, gap, inner: Swizzle(m, b, b + gap, inner),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 2),
    st.booleans(),
)


def slow_digits(flat, extents):
    """Return the digits of ``flat``, the outermost without modulo."""
    digits = []
    for extent in reversed(extents[1:]):
        digits.insert(0, flat % extent)
        flat //= extent
    return [flat, *digits] if extents else []


def slow_apply(layout, flat):
    """Return axis -> address of one index."""
    address = {item.axis: 0 for item in layout.shard} | dict(layout.offset)
    for digit, item in zip(slow_digits(flat, layout.extents), layout.shard, strict=True):
        address[item.axis] += digit * item.stride
    return address


def slow_swizzle(swizzle, address):
    """Return one swizzled address, bit by bit."""
    result = address
    for bit in range(swizzle.swizzle_len):
        low, high = swizzle.per_element + bit, swizzle.per_element + swizzle.atom_len + bit
        source, target = (high, low) if swizzle.inner else (low, high)
        if address >> source & 1:
            result ^= 1 << target
    return result


def slow_table(layout):
    """Return the address of every element, as comparable tuples."""
    return [tuple(sorted(slow_apply(layout, flat).items())) for flat in range(layout.size)]


def without_zeros(table):
    """Return a slow table in which an axis that stays at 0 is as good as none."""
    return [tuple(pair for pair in address if pair[1]) for address in table]


def factors(size):
    return [extent for extent in range(1, size + 1) if size % extent == 0]


@st.composite
def shapes(draw, size, most=3):
    """Draw a shape of ``size`` elements."""
    shape = []
    while size > 1 and len(shape) < most - 1:
        shape.append(draw(st.sampled_from(factors(size))))
        size //= shape[-1]
    return (*shape, size)


@st.composite
def shaped_tiles(draw, strides=SMALL, axes=AXES, most=3):
    """Draw a shape and a layout that it groups: each dimension is a run of iters."""
    runs = draw(st.lists(iters(st.integers(1, 4), strides, axes, 3), min_size=1, max_size=most))
    shape = tuple(prod(item.extent for item in run) for run in runs)
    assume(prod(shape) <= 1024)
    offset = draw(st.dictionaries(axes, strides, max_size=2))
    return shape, TileLayout(itertools.chain(*runs), (), offset)


@given(tiles(SMALL) | tiles(HUGE), st.lists(st.integers(-5000, 5000), min_size=1, max_size=20))
def test_apply(layout, indices):
    found = layout.apply(indices)
    for place, flat in enumerate(indices):
        assert {axis: int(values[place]) for axis, values in found.items()} == slow_apply(
            layout, flat
        )


@given(tiles(), st.lists(HUGE, min_size=1, max_size=5))
def test_apply_to_indices_far_out_of_range(layout, indices):
    found = layout.apply(indices)
    for place, flat in enumerate(indices):
        assert {axis: int(values[place]) for axis, values in found.items()} == slow_apply(
            layout, flat
        )


@given(tiles(SMALL) | tiles(HUGE), st.data())
def test_tables_and_coordinates(layout, data):
    shape = data.draw(shapes(layout.size))
    grid = tuple(np.indices(shape).reshape(len(shape), -1))
    table, applied = layout.table(), layout.apply(grid, shape)
    for flat in range(layout.size):
        expected = slow_apply(layout, flat)
        assert {axis: int(values[flat]) for axis, values in table.items()} == expected
        assert {axis: int(values[flat]) for axis, values in applied.items()} == expected


def test_apply_in_blocks():
    layout = TileLayout([(3, 7, "m"), (5, 1 << 33, "TCol"), (7, -2, "m"), (998, 3, "m")])
    indices = np.arange(layout.size)[::-1].reshape(2, -1)
    table, found = layout.table(), layout.apply(indices)
    for axis in ("m", "TCol"):
        np.testing.assert_array_equal(found[axis], table[axis][indices])
    for flat in (0, 32767, 32768, 65535, 65536, layout.size - 1):
        assert {axis: int(values[flat]) for axis, values in table.items()} == slow_apply(
            layout, flat
        )


@given(SWIZZLES, st.lists(st.integers(-(1 << 50), 1 << 50), max_size=20))
def test_swizzle(swizzle, addresses):
    expected = [slow_swizzle(swizzle, address) for address in addresses]
    assert swizzle.apply(addresses).tolist() == expected


@given(SWIZZLES)
def test_a_swizzle_permutes_its_period(swizzle):
    assert sorted(swizzle.apply(np.arange(swizzle.size)).tolist()) == list(range(swizzle.size))


@given(SWIZZLES, tiles(axes=st.just("m")))
def test_compose(swizzle, inner):
    layout = ComposeLayout(swizzle, inner)
    expected = [slow_swizzle(swizzle, slow_apply(inner, flat)["m"]) for flat in range(inner.size)]
    assert layout.table()["m"].tolist() == expected
    assert layout.apply(np.arange(inner.size))["m"].tolist() == expected
    assert layout.address_range() == (min(expected), max(expected))


@given(iters(most=3), iters(most=2), st.dictionaries(AXES, SMALL, max_size=2))
def test_replicas(shard, replica, offset):
    layout = TileLayout(shard, replica, offset)
    found = layout.apply_all(np.arange(layout.size))
    for flat in range(layout.size):
        expected = []
        for digits in itertools.product(*(range(item.extent) for item in replica)):
            address = {item.axis: 0 for item in replica} | slow_apply(layout, flat)
            for digit, item in zip(digits, replica, strict=True):
                address[item.axis] += digit * item.stride
            expected.append(address)
        for axis, values in found.items():
            assert values[flat].tolist() == [address[axis] for address in expected]
    for axis, values in found.items():
        assert layout.address_range(axis) == (values.min(), values.max())


@given(tiles())
def test_canonicalize_keeps_every_address(layout):
    canonical = canonicalize(layout)
    assert canonicalize(canonical) == canonical
    assert len(canonical.shard) <= len(layout.shard)
    for flat in range(layout.size):
        expected = slow_apply(layout, flat)
        found = slow_apply(canonical, flat)
        for axis in expected.keys() | found.keys():
            assert found.get(axis, 0) == expected.get(axis, 0)


# Axes that number threads or warps of one block, and how many threads one step of each is.
IN_BLOCK = {"laneid": 1, "warpid": 32, "tx": 1, "m": 0}
IN_WARPGROUPS = {"laneid": 1, "wid_in_wg": 32, "wgid": 128, "tid_in_wg": 1, "tx": 1, "m": 0}


@given(st.sampled_from([IN_BLOCK, IN_WARPGROUPS]), st.data())
def test_thread_fusion_keeps_the_thread(threads, data):
    names = st.sampled_from([name for name in threads if name not in ("tx", "tid_in_wg")])
    layout = TileLayout(
        data.draw(iters(strides=st.integers(0, 8), axes=names)),
        (),
        data.draw(st.dictionaries(names, st.integers(0, 8), max_size=3)),
    )
    try:
        fused = canonicalize(layout, cuda_target=True)
    except LayoutError:
        assume(False)
    # The reference scales wgid without renaming it where only warps are numbered.
    assume(not {"warpid", "wgid"} <= {item.axis for item in fused.shard})
    assume(not (fused.axes != layout.axes and "wgid" in fused.axes))
    for flat in range(layout.size):
        before, after = slow_apply(layout, flat), slow_apply(fused, flat)
        assume(set(after) <= set(threads))
        assert sum(threads[axis] * value for axis, value in before.items()) == sum(
            threads[axis] * value for axis, value in after.items()
        )
        assert before.get("m", 0) == after.get("m", 0)


@given(shaped_tiles())
def test_group(shaped):
    shape, layout = shaped
    grouped, separators = group(layout, shape)
    assert without_zeros(slow_table(grouped)) == without_zeros(slow_table(layout))
    for extent, start, end in zip(shape, separators, separators[1:], strict=False):
        assert prod(grouped.extents[start:end]) == extent


@given(tiles(), st.data())
def test_group_by_any_shape(layout, data):
    shape = data.draw(shapes(layout.size))
    try:
        grouped, separators = group(layout, shape)
    except LayoutError:
        return
    assert without_zeros(slow_table(grouped)) == without_zeros(slow_table(layout))
    assert separators[-1] == len(grouped.shard)


@given(tiles(), st.data())
def test_group_many(layout, data):
    wanted = data.draw(st.lists(shapes(layout.size), min_size=1, max_size=3))
    try:
        grouped, all_separators = group_many(layout, wanted)
    except LayoutError:
        return
    assert without_zeros(slow_table(grouped)) == without_zeros(slow_table(layout))
    for shape, separators in zip(wanted, all_separators, strict=True):
        for extent, start, end in zip(shape, separators, separators[1:], strict=False):
            assert prod(grouped.extents[start:end]) == extent


@st.composite
def regions(draw, shape):
    """Draw a non-empty range of every dimension."""
    region = []
    for extent in shape:
        begin = draw(st.integers(0, extent - 1))
        region.append((begin, draw(st.integers(begin + 1, extent))))
    return region


@given(shaped_tiles(), st.data())
def test_slice_is_the_shifted_layout(shaped, data):
    shape, layout = shaped
    region = data.draw(regions(shape))
    sliced = slice_layout(layout, shape, region)
    expected = region_addresses(layout, shape, region)
    for place in itertools.product(*(range(end - begin) for begin, end in region)):
        flat = 0
        for at, (begin, _), extent in zip(place, region, shape, strict=True):
            flat = flat * extent + begin + at
        found = {axis: int(values[place]) for axis, values in expected.items()}
        assert found == slow_apply(layout, flat)
    if sliced is None or has_double_carry(layout, shape, region):
        return
    counts = tuple(end - begin for begin, end in region)
    assert sliced.size == prod(counts)
    table = sliced.table()
    for axis, values in expected.items():
        np.testing.assert_array_equal(table.get(axis, 0), values.reshape(-1))


def has_double_carry(layout, shape, region):
    """Return whether a region may carry through two digits, where the reference slips."""
    grouped, separators = group(canonicalize(layout), shape)
    for dim, (begin, _) in enumerate(region):
        run = TileLayout(grouped.shard[separators[dim] : separators[dim + 1]])
        extents = canonicalize(run).extents
        digits = slow_digits(begin, extents)
        middle = zip(digits[1:-1], extents[1:-1], strict=True)
        if any(digit == extent - 1 for digit, extent in middle):
            return True
    return False


def test_the_blind_spot_of_slice():
    layout = TileLayout([(2, 100, "m"), (2, 10, "m"), (4, 1, "m")])
    sliced = slice_layout(layout, (16,), [(6, 10)])
    assert sliced.table()["m"].tolist() == [12, 13, 20, 21]
    assert region_addresses(layout, (16,), [(6, 10)])["m"].tolist() == [12, 13, 100, 101]


@given(shaped_tiles(most=2), st.data(), st.booleans())
def test_tile_and_direct_sum(shaped, data, scale):
    inner_shape, inner = shaped
    outer_shape = tuple(data.draw(st.integers(1, 3)) for _ in inner_shape)
    items = [Iter(extent, data.draw(SMALL), data.draw(AXES)) for extent in outer_shape]
    outer = TileLayout(items, (), data.draw(st.dictionaries(AXES, SMALL, max_size=2)))
    operation = tile if scale else direct_sum
    tiled = operation(inner, outer, outer_shape, inner_shape)
    on_axis = {item.axis for item in canonicalize(inner).shard}
    span = {axis: canonicalize(inner).span(axis) if scale else 1 for axis in on_axis}
    shape = tuple(o * i for o, i in zip(outer_shape, inner_shape, strict=True))
    found = {
        axis: values.reshape(shape) for axis, values in tiled.apply(np.arange(tiled.size)).items()
    }
    for place in itertools.product(*(range(extent) for extent in shape)):
        outside, inside = [], []
        for at, extent in zip(place, inner_shape, strict=True):
            outside.append(at // extent)
            inside.append(at % extent)
        expected = dict.fromkeys((*inner.axes, *outer.axes), 0)
        for axis, value in slow_apply(inner, flatten(inside, inner_shape)).items():
            expected[axis] += value
        for digit, item in zip(outside, items, strict=True):
            expected[item.axis] += digit * item.stride * span.get(item.axis, 1)
        for axis, value in outer.offset:
            expected[axis] += value
        for axis, value in expected.items():
            assert (int(found[axis][place]) if axis in found else 0) == value


def flatten(coordinate, shape):
    flat = 0
    for at, extent in zip(coordinate, shape, strict=True):
        flat = flat * extent + at
    return flat


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
def test_tiles_of_compact_layouts_come_apart(inner_shape, data):
    outer_shape = [data.draw(st.integers(1, 4)) for _ in inner_shape]
    inner, outer = row_major(inner_shape), row_major(outer_shape)
    tiled = tile(inner, outer, outer_shape, inner_shape)
    tiled_shape = [o * i for o, i in zip(outer_shape, inner_shape, strict=True)]
    assert is_tile_inner(inner, tiled, tiled_shape, inner_shape) is not None
    for found in (
        is_tile_inner(inner, tiled, tiled_shape, inner_shape),
        is_tile_inner(
            ComposeLayout(Swizzle(0, 1, 1), inner),
            ComposeLayout(Swizzle(0, 1, 1), tiled),
            tiled_shape,
            inner_shape,
        ),
    ):
        assert tile(inner, found, outer_shape, inner_shape) == tiled
    found = is_tile_outer(outer, tiled, tiled_shape, outer_shape)
    assert tile(found, outer, outer_shape, inner_shape) == tiled


@given(shaped_tiles(most=2), st.data())
def test_what_is_tile_outer_finds_does_tile(shaped, data):
    shape, tiled = shaped
    outer_shape = tuple(data.draw(st.sampled_from(factors(extent))) for extent in shape)
    inner_shape = tuple(e // o for e, o in zip(shape, outer_shape, strict=True))
    outer = TileLayout([(extent, data.draw(SMALL), "m") for extent in outer_shape])
    try:
        found = is_tile_outer(outer, tiled, shape, outer_shape)
    except LayoutError:
        return
    if found is not None:
        assert tile(found, outer, outer_shape, inner_shape) == canonicalize(tiled)


@given(tiles(axes=st.just("m")), st.sampled_from([1, 2, 4, 8]), SWIZZLES)
def test_unpack_and_pack(layout, count, swizzle):
    unpacked = unpack(layout, count)
    offset = layout.offset_on("m")
    for flat in range(layout.size):
        for part in range(count):
            whole = slow_apply(layout, flat)["m"] - offset
            assert slow_apply(unpacked, flat * count + part)["m"] == whole * count + part + offset
    packed = pack(unpacked, count)
    assert packed == TileLayout([*layout.shard, Iter(1, 1, "m")], (), layout.offset)
    compose = ComposeLayout(swizzle, TileLayout(layout.shard))
    again = unpack(compose, count).table()["m"].reshape(-1, count)
    assert (again // count == compose.table()["m"][:, None]).all()
    assert pack(unpack(compose, count), count).swizzle == swizzle


@given(tiles(st.integers(-6, 6)) | tiles(HUGE), st.data())
def test_collisions(layout, data):
    shape = data.draw(shapes(layout.size))
    seen = {}
    expected = None
    for flat, address in enumerate(slow_table(layout)):
        if address in seen:
            expected = (seen[address], flat, address)
            break
        seen[address] = flat
    found = injectivity_collision(layout, shape)
    assert (found is None) == (expected is None)
    if found is not None:
        first, second, address = expected
        assert (flatten(found.first, shape), flatten(found.second, shape)) == (first, second)
        assert dict(found.address) == dict(address)


@given(SWIZZLES, tiles(st.integers(-6, 6), st.just("m")))
def test_a_swizzle_moves_collisions_along(swizzle, inner):
    plain = injectivity_collision(inner)
    moved = injectivity_collision(ComposeLayout(swizzle, inner))
    if plain is None:
        assert moved is None
    else:
        assert (moved.first, moved.second) == (plain.first, plain.second)
        assert moved.address == (("m", slow_swizzle(swizzle, plain.address[0][1])),)


def test_collisions_at_addresses_far_apart():
    far = 1 << 40
    layout = TileLayout(
        [(2, far, "m"), (2, far, "TCol"), (2, far, "TLane"), (2, far, "P"), (3, 0, "F")]
    )
    found = injectivity_collision(layout)
    assert (found.first, found.second) == ((0, 0, 0, 0, 0), (0, 0, 0, 0, 1))
    assert injectivity_collision(TileLayout(layout.shard[:4])) is None
    late = TileLayout([(3, far, "m"), (2, 2 * far, "m"), (2, far, "TCol")])
    found = injectivity_collision(late)
    assert (found.first, found.second) == ((0, 1, 0), (2, 0, 0))
    assert str(found) == f"(0, 1, 0) and (2, 0, 0) share the address {2 * far} + 0@TCol"


def test_identity_and_bare_swizzles():
    bare = ComposeLayout(Swizzle(3, 3, 3), identity((512,)))
    assert bare.is_bare
    sliced = slice_layout(bare, (16, 64), [(8, 16), (0, 64)])
    assert sliced.table()["m"].tolist() == bare.swizzle.apply(np.arange(512, 1024)).tolist()
    assert slice_layout(bare, (4, 4, 4), [(0, 3), (0, 3), (0, 3)]) is not None
    assert identity(()) == TileLayout()


@pytest.mark.parametrize("count", [0, -1, 3])
def test_packing_under_a_swizzle_takes_powers_of_two(count):
    bare = ComposeLayout(Swizzle(2, 1, 1), identity((24,)))
    for operation in (pack, unpack):
        with pytest.raises(LayoutError, match="powers of two"):
            operation(bare, count)
