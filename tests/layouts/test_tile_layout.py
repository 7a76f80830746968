"""Construction, refusals and limits."""

import numpy as np
import pytest

from tileviz.errors import DesignError
from tileviz.layouts import (
    ComposeLayout,
    Iter,
    LayoutError,
    Swizzle,
    TileLayout,
    axis,
    broadcast,
    canonicalize,
    direct_sum,
    group,
    group_many,
    identity,
    injectivity_collision,
    is_tile_inner,
    is_tile_outer,
    mma_shared,
    mma_swizzle,
    pack,
    region_addresses,
    row_major,
    scope_of,
    slice_layout,
    storage,
    tcgen05_atom,
    tile,
    tile_to,
    tmem_datapath,
    unpack,
)


def test_layouts_are_values():
    layout = TileLayout([[4, np.int64(1), "m"]], [(2, 4, "m")], {"m": 0, "laneid": 3})
    same = TileLayout((Iter(4, 1, "m"),), (Iter(2, 4, "m"),), [("laneid", 3), ("m", 0)])
    assert layout == same
    assert hash(layout) == hash(same)
    assert layout.offset == (("laneid", 3), ("m", 0))
    assert layout != TileLayout([(4, 1, "m")], [(2, 4, "m")], {"laneid": 3})
    assert repr(layout) == "TileLayout(S[4:1] + R[2:4] + 3@laneid + 0)"
    assert {ComposeLayout(Swizzle(1, 1, 1), layout): 1}[ComposeLayout(Swizzle(1, 1, 1), same)] == 1
    with pytest.raises(AttributeError):
        layout.shard = ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([(4, 1, "lane")],), 'unknown axis "lane"; allowed: m, P, F'),
        (([(4, 1.5, "m")],), "whole numbers"),
        (([(4, 1)],), r"each shard iter is \(extent, stride, axis\)"),
        (([(-1, 1, "m")],), "shard extents are not negative"),
        (([(4, 1, "m")], [(2, "x", "m")]), "each replica iter"),
        (([(4, 1, "m")], (), {"S": 1}), 'unknown axis "S"'),
        (([(4, 1, "m")], (), {"m": 0.5}), "offsets are whole numbers"),
    ],
)
def test_construction_refuses(arguments, message):
    with pytest.raises(DesignError, match=message):
        TileLayout(*arguments)


def test_unknown_axes_list_the_allowed_ones():
    with pytest.raises(DesignError, match=r"allowed: m, .*laneid.*cbz") as caught:
        axis("threadIdx.x", field="src.layout")
    assert caught.value.field == "src.layout"
    with pytest.raises(DesignError, match="unknown axis"):
        axis(None)
    with pytest.raises(DesignError, match="unknown axis"):
        broadcast(identity((4,)), 2, axis="lanes")


LAYOUT = TileLayout([(4, 1, "m"), (32, 4, "m")])
WARP = TileLayout([(8, 4, "laneid"), (4, 1, "laneid"), (2, 1, "m")])
BARE = ComposeLayout(Swizzle(3, 3, 3), identity((512,)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LAYOUT.apply((1, 2, 3)), r"3 coordinates do not fit the shape \(4, 32\)"),
        (lambda: LAYOUT.apply([0.5]), "whole numbers"),
        (lambda: LAYOUT.apply(np.array([1 << 63], dtype=np.uint64)), "at most 64 bits"),
        (lambda: LAYOUT.apply([True]), "whole numbers"),
        (lambda: TileLayout([(4, 1 << 61, "m")]).apply(3), "beyond 62 bits"),
        (lambda: TileLayout([(4, 1 << 61, "m")]).table(), "beyond 62 bits"),
        (lambda: LAYOUT.apply(1 << 62), "beyond 62 bits"),
        (lambda: TileLayout([(2, 1, "m"), (0, 1, "m")]).apply(1), "extent of 0"),
        (lambda: TileLayout([(0, 1, "m")]).address_range(), "no elements"),
        (
            lambda: TileLayout([(4096, 1, "m")], [(4096, 1, "m")]).apply_all(np.arange(4096)),
            "16777216 addresses",
        ),
        (lambda: ComposeLayout(Swizzle(1, 1, 1), WARP).table(), "maps to laneid, m"),
        (lambda: ComposeLayout(Swizzle(1, 1, 1), TileLayout()).apply(0), "no axis"),
        (lambda: ComposeLayout(Swizzle(1, 1, 1), TileLayout([(0, 1, "m")])).address_range(), "no"),
        (lambda: Swizzle(1, -1, 1), "not negative"),
        (lambda: Swizzle(40, 5, 5), "at most 48 bits"),
        (lambda: group(LAYOUT, (0, 128)), "cannot be grouped"),
        (lambda: group(TileLayout([(0, 1, "m")]), (4,)), "cannot be grouped"),
        (lambda: group(LAYOUT, (4, 16)), "cannot be grouped"),
        (lambda: group_many(LAYOUT, []), "at least one shape"),
        (lambda: group_many(LAYOUT, [()]), "at least one shape"),
        (lambda: group_many(LAYOUT, [(0, 128)]), "an extent of 0"),
        (lambda: group_many(LAYOUT, [(64,)]), "differ in size"),
        (lambda: slice_layout(LAYOUT, (4, 32), [(0, 4)]), "1 dimensions and the shape 2"),
        (lambda: slice_layout(LAYOUT, (4, 16), [(0, 4), (0, 16)]), "cannot be grouped"),
        (lambda: region_addresses(LAYOUT, (4, 32), [(0, 4)]), "1 dimensions and the shape 2"),
        (lambda: region_addresses(LAYOUT, (4, 32), [(0, 4), (0, 33)]), r"within \[0, 32\)"),
        (lambda: region_addresses(LAYOUT, (4, 16), [(0, 4), (0, 16)]), "64 elements and"),
        (lambda: injectivity_collision(LAYOUT, (4, 16)), "64 elements and the layout 128"),
        (lambda: tile(LAYOUT, LAYOUT, (128,), (4, 32)), "differ in rank"),
        (lambda: direct_sum(LAYOUT, LAYOUT, (4, 32), (32, 8)), "cannot be grouped"),
        (lambda: tile_to(LAYOUT, (8, 32), (0, 32)), "no elements"),
        (lambda: tile_to(LAYOUT, (2, 32), (4, 32)), "cannot be grouped"),
        (lambda: is_tile_inner(LAYOUT, LAYOUT, (4, 32), (3, 32)), "does not divide"),
        (lambda: is_tile_outer(LAYOUT, LAYOUT, (4, 32), (0, 32)), "does not divide"),
        (lambda: pack(WARP, 3), "3 does not divide"),
        (lambda: pack(LAYOUT, 2), "not 2 contiguous elements"),
        (lambda: pack(TileLayout(), 2), "not 2 contiguous elements"),
        (lambda: pack(BARE, 16), "moves fewer than 16"),
        (lambda: unpack(LAYOUT, 0), "at least 1"),
        (lambda: tmem_datapath("H", 64, 8), "unknown data path 'H'"),
        (lambda: tmem_datapath("D", 128, 8, 1), "no sub-slab 1"),
        (lambda: tmem_datapath("F", 64, 8, 2), "no sub-slab 2"),
        (lambda: tmem_datapath("G", 32, 6), "columns in 4s"),
        (lambda: tcgen05_atom("8x8b", 64, 8, "float32"), "unknown tcgen05 shape"),
        (lambda: tcgen05_atom("16x64b", 32, 8, "float32"), "64 or 128 rows"),
        (lambda: tcgen05_atom("16x64b", 64, 8, "float64"), "16- or 32-bit"),
        (lambda: tcgen05_atom("16x256b", 64, 512, "float32"), "up to 32"),
        (lambda: tcgen05_atom("16x64b", 64, 24, "float32"), "not 24"),
        (lambda: tcgen05_atom("16x64b", 64, 0, "float32"), "not 0"),
        (lambda: mma_swizzle("float16", 0), "not 0"),
        (lambda: mma_shared("float16", 4, (8, 64)), "not 4"),
        (lambda: mma_shared("float16", 3, (64,)), "at least two dimensions"),
        (lambda: mma_shared("float16", 3, (4, 64)), "cannot be grouped"),
        (lambda: mma_shared("float64x4", 0, (8, 64)), "16 bytes"),
    ],
)
def test_operations_refuse(call, message):
    with pytest.raises(LayoutError, match=message):
        call()


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (["tx", "laneid"], "threads are numbered both in a cta and in a warp"),
        (["wgid", "laneid"], "do not form one chain"),
        (["wgid", "warpid"], "do not form one chain"),
        (["bx", "laneid", "warpid"], "do not form one chain"),
    ],
)
def test_thread_axes_must_fit_together(axes, message):
    layout = TileLayout([(2, 1, name) for name in axes])
    for cuda_target in (False, True):
        with pytest.raises(LayoutError, match=message):
            canonicalize(layout, cuda_target)
    with pytest.raises(LayoutError, match=message):
        scope_of(layout)


def test_wgid_and_wid_in_wg_fuse_as_the_reference_does():
    layout = TileLayout([(2, 1, "wgid"), (4, 1, "wid_in_wg")])
    fused = canonicalize(layout, cuda_target=True)
    assert str(fused) == "S[(2, 4):(4@wgid, 1@warpid)]"
    with pytest.raises(LayoutError, match="do not form one chain"):
        canonicalize(fused, cuda_target=True)


def test_offsets_that_fuse_add_up():
    layout = TileLayout([(32, 1, "laneid")], (), {"laneid": 1, "warpid": 2})
    assert canonicalize(layout, cuda_target=True).offset == (("tx", 65),)


def test_no_tile_where_there_is_none():
    tiled = row_major((8, 8))
    assert is_tile_inner(BARE, tiled, (8, 8), (2, 2)) is None
    assert is_tile_inner(BARE, ComposeLayout(Swizzle(1, 1, 1), tiled), (8, 8), (2, 2)) is None
    assert is_tile_outer(BARE, tiled, (8, 8), (4, 4)) is None
    assert is_tile_inner(TileLayout([(2, 1, "m"), (2, 2, "m")]), tiled, (8, 8), (2, 2)) is None
    assert is_tile_outer(TileLayout([(4, 1, "TCol"), (4, 4, "m")]), tiled, (8, 8), (4, 4)) is None
    lanes = TileLayout([(32, 1, "laneid")])
    block = TileLayout([(64, 1, "tx")])
    assert is_tile_inner(block, lanes, (32,), (32,)) is None
    assert is_tile_outer(lanes, block, (64,), (32,)) is None
    # 12 is not a multiple of the inner span 8, so no whole step of tiles gives it.
    gap = TileLayout([(4, 12, "m"), (8, 1, "m")])
    assert is_tile_inner(identity((8,)), gap, (32,), (8,)) is None


def test_is_tile_outer_of_a_swizzled_layout():
    tiled = tile(BARE, row_major((2, 2)), (2, 2), (8, 64))
    found = is_tile_outer(row_major((2, 2)), tiled, (16, 128), (2, 2))
    assert found == ComposeLayout(BARE.swizzle, found.tile)
    assert tile(found, row_major((2, 2)), (2, 2), (8, 64)) == tiled
    assert is_tile_inner(BARE, tiled, (16, 128), (8, 64)) == row_major((2, 2))


def test_storage_keeps_the_memory_part():
    layout = TileLayout(
        [(8, 4, "laneid"), (2, 1, "m")], [(2, 4, "warpid"), (2, 9, "m")], {"warpid": 1, "m": 3}
    )
    assert str(storage(layout)) == "S[2:1] + R[2:9] + 3"
    assert str(storage(TileLayout([(8, 4, "laneid")], (), {"m": 3}))) == "S[():()] + 3"


def test_ranges_and_sizes():
    padded = ComposeLayout(Swizzle(3, 3, 3), TileLayout([(5, 72, "m"), (64, 1, "m")]))
    assert padded.span() == 352
    assert padded.address_range() == (0, int(padded.table()["m"].max()))
    assert padded.address_range("tx") == (0, 0)
    assert padded.axes == ("m",)
    assert padded.size == 320
    assert padded.replicas == 1
    assert LAYOUT.apply(np.zeros((0, 3), dtype=np.int64))["m"].shape == (0, 3)
    assert LAYOUT.apply([])["m"].shape == (0,)
    assert region_addresses(TileLayout(), (), []) == {}
    assert WARP.apply_all(5)["laneid"].tolist() == [2]
