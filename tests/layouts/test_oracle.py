"""Every case of the reference's real layout objects."""

import json
from pathlib import Path

import numpy as np
import pytest

from tileviz.errors import DesignError
from tileviz.layouts import (
    AXES,
    ComposeLayout,
    LayoutError,
    Swizzle,
    TileLayout,
    broadcast,
    canonicalize,
    direct_sum,
    group,
    group_many,
    is_tile_inner,
    is_tile_outer,
    mma_shared,
    pack,
    parse_layout,
    slice_layout,
    storage,
    tcgen05_atom,
    tile,
    tmem_datapath,
    unpack,
    wg_local,
)

DATA = json.loads((Path(__file__).parents[1] / "oracle/data/tvm_layouts.json").read_text())


def cases(*kinds):
    """Return the cases of ``kinds`` as parameters with readable ids."""
    return [
        pytest.param(case, id=f"{index}-{case['kind']}")
        for index, case in enumerate(DATA["cases"] + DATA["swizzle"])
        if case["kind"] in kinds
    ]


def build(encoded):
    """Return the layout that the oracle encodes."""
    if "swizzle" in encoded:
        *letters, inner = encoded["swizzle"]
        return ComposeLayout(Swizzle(*letters, inner=bool(inner)), build(encoded["tile"]))
    return TileLayout(encoded["shard"], encoded.get("replica", ()), encoded.get("offset", {}))


def encode(layout):
    """Return the oracle's encoding of a layout (replicas are listed sorted there)."""
    if layout is None:
        return None
    if isinstance(layout, ComposeLayout):
        swizzle = layout.swizzle
        letters = [swizzle.per_element, swizzle.swizzle_len, swizzle.atom_len, int(swizzle.inner)]
        return {"swizzle": letters, "tile": encode(layout.tile)}
    encoded = {"shard": [list(item) for item in layout.shard]}
    if layout.replica:
        encoded["replica"] = sorted(list(item) for item in layout.replica)
    if layout.offset:
        encoded["offset"] = dict(layout.offset)
    return encoded


def check(case, operation, *arguments, **options):
    """Check an operation's result, or that it raises where the reference did."""
    if case.get("error"):
        with pytest.raises(LayoutError):
            operation(*arguments, **options)
        return
    assert encode(operation(*arguments, **options)) == case["result"]


@pytest.mark.parametrize("case", cases("apply"))
def test_apply(case):
    layout = build(case["layout"])
    expected = {axis: np.array(values) for axis, values in case["table"].items()}
    shape = case.get("shape", layout.extents)
    grid = tuple(np.indices(shape).reshape(len(shape), -1))
    for table in (
        layout.table(),
        layout.apply(np.arange(layout.size)),
        layout.apply(grid, shape),
        layout.apply(tuple(np.ix_(*map(np.arange, shape))), shape),
    ):
        assert set(table) == set(expected)
        for axis, values in expected.items():
            np.testing.assert_array_equal(table[axis].reshape(-1), values)


@pytest.mark.parametrize("case", cases("apply"))
def test_size_span_and_text(case):
    layout = build(case["layout"])
    assert layout.size == case["size"]
    assert layout.span() == case["span"]
    for axis, size in case.get("size_axis", {}).items():
        assert layout.size_axis(axis) == size
    for axis, span in case.get("span_axis", {}).items():
        assert layout.span(axis) == span
    assert parse_layout(case["str"]) == layout


@pytest.mark.parametrize("case", cases("swizzle"))
def test_swizzle(case):
    *letters, inner = case["args"]
    swizzle = Swizzle(*letters, inner=bool(inner))
    assert swizzle.size == case["size"]
    table = case["table"]
    np.testing.assert_array_equal(swizzle.apply(np.arange(len(table))), table)
    assert parse_layout(case["str"]).swizzle == swizzle


@pytest.mark.parametrize("case", cases("compose_linear0"))
def test_compose_with_replica_lists_no_replica(case):
    layout = build(case["layout"])
    assert {name: int(value) for name, value in layout.apply(3).items()} == case["value"]


@pytest.mark.parametrize("case", cases("compose_wellformed"))
def test_compose_wellformed(case):
    if case["ok"]:
        assert Swizzle(*case["args"]).size >= 1
    else:
        with pytest.raises(LayoutError):
            Swizzle(*case["args"])


@pytest.mark.parametrize("case", cases("canonicalize"))
def test_canonicalize(case):
    layout = build(case["layout"])
    check(case, canonicalize, layout, cuda_target=bool(case["cuda_target"]))
    if "trivial" in case:
        assert canonicalize(layout).is_trivial == bool(case["trivial"])


@pytest.mark.parametrize("case", cases("group"))
def test_group(case):
    check(case, lambda: group(build(case["layout"]), case["shape"])[0])
    if "seps" in case:
        assert list(group(build(case["layout"]), case["shape"])[1]) == case["seps"]


@pytest.mark.parametrize("case", cases("group_many"))
def test_group_many(case):
    check(case, lambda: group_many(build(case["layout"]), case["shapes"])[0])
    if "seps" in case:
        separators = group_many(build(case["layout"]), case["shapes"])[1]
        assert [list(each) for each in separators] == case["seps"]


@pytest.mark.parametrize("case", cases("slice"))
def test_slice(case):
    check(case, slice_layout, build(case["layout"]), case["shape"], case["region"])


@pytest.mark.parametrize("case", cases("tile", "direct_sum"))
def test_tile_and_direct_sum(case):
    operation = tile if case["kind"] == "tile" else direct_sum
    layouts = build(case["inner"]), build(case["outer"])
    check(case, operation, *layouts, case["outer_shape"], case["inner_shape"])


@pytest.mark.parametrize("case", cases("is_tile_inner", "is_tile_outer"))
def test_is_tile(case):
    part = case["kind"].removeprefix("is_tile_")
    operation = is_tile_inner if part == "inner" else is_tile_outer
    layouts = build(case[part]), build(case["tiled"])
    check(case, operation, *layouts, case["tiled_shape"], case[f"{part}_shape"])


@pytest.mark.parametrize("case", cases("pack", "unpack", "storage", "broadcast"))
def test_change_of_element(case):
    operations = {"pack": pack, "unpack": unpack, "storage": storage, "broadcast": broadcast}
    arguments = [case[name] for name in ("n", "pos") if name in case]
    check(case, operations[case["kind"]], build(case["layout"]), *arguments)


@pytest.mark.parametrize("case", cases("tmem_datapath", "tcgen05_atom", "wg_local", "mma_shared"))
def test_prescribed_layouts(case):
    operations = {
        "tmem_datapath": tmem_datapath,
        "tcgen05_atom": tcgen05_atom,
        "wg_local": wg_local,
        "mma_shared": mma_shared,
    }
    check(case, operations[case["kind"]], *case["args"])


def test_every_kind_is_tested():
    source = Path(__file__).read_text()
    for kind in {case["kind"] for case in DATA["cases"]}:
        assert f'"{kind}"' in source


@pytest.mark.parametrize("case", cases("axis"))
def test_axis(case):
    entry = AXES[case["name"]]
    assert (entry.thread, entry.scope, entry.subscope) == (
        bool(case["thread"]),
        case["scope"],
        case["subscope"],
    )


# Where the reference drops part of the text, ours refuses; these are its own results.
DROPS = {
    "S[4:1]+S[8:2]": "one S[...]",
    "S[4:1]+R[2:4]+R[3:9]": "one R[...]",
    "S[(4,4):(4,)]": "2 extents and 1 strides",
}


@pytest.mark.parametrize("case", cases("parse"))
def test_parse(case):
    if case["spec"] in DROPS:
        with pytest.raises(DesignError, match=DROPS[case["spec"]].replace("[", r"\[")):
            parse_layout(case["spec"])
        return
    layout = parse_layout(case["spec"])
    assert encode(layout) == case["result"]
    assert parse_layout(case["str"]) == layout == parse_layout(str(layout))
