"""Every decision and address of the real TVM ``permute_layout``, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, Swizzle, TileLayout
from tileviz.studies.design import validated
from tileviz.studies.permute.design import PermuteDesign
from tileviz.studies.permute.plan import PermutePlan, plan

DTYPES = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "uint128"}


def text_of(document: dict[str, Any]) -> str:
    if "swizzle" in document:
        m, b, s, inner = document["swizzle"]
        tile = TileLayout(map(tuple, document["tile"]["shard"]))
        return str(ComposeLayout(Swizzle(m, b, s, bool(inner)), tile))
    return str(
        TileLayout(
            map(tuple, document["shard"]),
            map(tuple, document.get("replica", ())),
            document.get("offset", {}),
        )
    )


def tile_of(side: dict[str, Any]) -> dict[str, Any]:
    region = [
        [begin, None if extent is None else begin + extent]
        for begin, extent in zip(side["start"], side["extent"], strict=True)
    ]
    return {
        "layout": text_of(side["layout"]),
        "shape": side["shape"],
        "region": region,
        "dtype": side["dtype"],
    }


def plain(case: dict[str, Any]) -> PermutePlan:
    """Plan a case given by extents and strides."""
    sides = {
        side: {
            "layout": text_of(
                {"shard": [[e, s, "m"] for e, s in zip(case["extent"], strides, strict=True)]}
            )
        }
        for side, strides in (("src", case["src_strides"]), ("dst", case["dst_strides"]))
    }
    fields = {**sides, "dtype": DTYPES[case["dtype_bytes"]]}
    return plan(validated(PermuteDesign, fields))


def check_outcome(planned: PermutePlan, case: dict[str, Any]) -> None:
    reference = planned.reference
    wanted = case["outcome"]
    found = reference.outcome if reference.reason is None else f"reject_{reference.reason}"
    assert found == wanted
    if wanted in ("ok", "fail"):
        assert (reference.k, reference.shift, reference.mask, reference.registers) == (
            case["k"],
            case["shift"],
            case["mask"],
            case["P"],
        )
        assert [list(map(int, pair)) for pair in reference.free] == case["free"]


@pytest.mark.oracle("tvm_permute_layout", section="cases")
def test_cases(case: dict[str, Any]) -> None:
    planned = plain(case)
    check_outcome(planned, case)
    if "it" in case:
        aligned = planned.reference.alignment
        assert aligned is not None
        found = [aligned.extents, aligned.src_strides, aligned.dst_strides]
        assert [list(part) for part in found] == case["it"]


@pytest.mark.oracle("tvm_permute_layout", section="pipeline")
def test_pipeline(case: dict[str, Any]) -> None:
    context = case.get("ctx", {})
    block = [32, 1, 1]
    for axis in context.get("lp", ["threadIdx.x"])[1:]:
        block["xyz".index(axis[-1])] = 2
    fields = {
        "src": tile_of(case["src"]),
        "dst": tile_of(case["dst"]),
        "block": block,
        "scope": "warp" if context.get("is_warp", True) else "cta",
    }
    if case["outcome"] == "exception":
        with pytest.raises(DesignError, match="elements, the layout"):
            plan(validated(PermuteDesign, fields))
        return
    planned = plan(validated(PermuteDesign, fields))
    check_outcome(planned, case)
    if "it_extent" in case:
        aligned = planned.reference.alignment
        assert aligned is not None
        assert list(aligned.extents) == case["it_extent"]
        assert list(aligned.src_strides) == case["it_src"]
        assert list(aligned.dst_strides) == case["it_dst"]


@pytest.mark.oracle("tvm_permute_layout", section="codegen")
def test_codegen_addresses(case: dict[str, Any]) -> None:
    planned = plain(case)
    assert planned.reference.k == case["k"]
    accepted = planned.to_json()["reference"]
    assert accepted["src_addr"] == case["src_addr"]
    assert accepted["dst_addr"] == case["dst_addr"]
