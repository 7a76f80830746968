"""Generated kernels, really executed: verified, counted, and equal to their prediction."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tileviz import api
from tileviz.runners import Run, run_kernel
from tileviz.studies.errors import NotRunnable
from tileviz.studies.permute.kernel import kernel
from tileviz.studies.registry import make_design, presets

ORACLE = Path(__file__).parents[1] / "oracle" / "data" / "tvm_permute_layout.json"
RUNNABLE = [preset for preset in presets() if preset.study == "permute"]


def differences(run: Run) -> list[str]:
    """Accesses whose measured totals differ from the predicted ones."""
    return [
        f"line {row['line']} {row['op']}.{row['space']}: {row['predicted']} != {row['measured']}"
        for row in run.to_json()["accesses"]
        if row["predicted"] != row["measured"]
    ]


@pytest.mark.parametrize("preset", RUNNABLE, ids=lambda preset: preset.name)
def test_presets_run_verified_and_as_predicted(preset: Any) -> None:
    _, run = api.run(preset.design, on="emulator")
    assert run.verified, run.to_json()["problems"]
    assert differences(run) == []
    assert run.to_json()["traced_blocks"] == "all"


def test_demo_wavefronts_equal_ideal() -> None:
    _, run = api.run(presets()[0].design, on="emulator")
    shared = [row for row in run.to_json()["accesses"] if row["space"] == "shared"]
    phases = [row for row in shared if row["executions"] == 8]
    assert len(phases) == 4
    for row in phases:
        assert row["measured"]["wavefronts"] == row["measured"]["ideal"] == 8


def test_the_race_check_fires_when_the_sync_is_taken_out() -> None:
    in_place = make_design(
        {
            "study": "permute",
            "src": {"layout": "S[(4, 32):(32, 1)]"},
            "dst": {"layout": "S[(4, 32):(1, 4)]"},
            "in_place": True,
        }
    )
    generated = api.kernel(in_place)
    assert run_kernel(generated, on="emulator").verified
    before, sync, after = generated.source.rpartition("    __syncwarp();\n    #pragma unroll\n")
    assert sync
    racy = replace(generated, source=before + "    #pragma unroll\n" + after)
    run = run_kernel(racy, on="emulator")
    assert not run.verified
    problem = run.to_json()["problems"][0]
    assert problem["kind"] == "race"
    assert "tile[lane * 4 + j] = reg[r];" in racy.line(problem["line"])


def test_the_compilers_merge_is_labelled() -> None:
    """k = 0 of the 4x32 transpose writes 4 neighbouring floats a lane: one 16-byte store."""
    plan = api.plan(
        make_design(
            {
                "study": "permute",
                "src": {"layout": "S[(4, 32):(32, 1)]"},
                "dst": {"layout": "S[(4, 32):(1, 4)]"},
            }
        )
    )
    run = run_kernel(kernel(plan, 0), on="emulator")
    assert run.verified
    (row,) = [
        row
        for row in run.to_json()["accesses"]
        if row["bytes"] == 16 and row["op"] == "st" and row["space"] == "shared"
    ]
    assert "merged" in row["note"]


@st.composite
def designs(draw: st.DrawFn) -> dict[str, Any]:
    bits = draw(st.integers(5, 8))
    first = draw(st.integers(0, bits))
    shape = [draw(st.sampled_from([1, 2, 3])), 1 << first, 1 << (bits - first)]

    def layout() -> str:
        strides, reach = [0, 0, 0], 1
        for dim in draw(st.permutations([0, 1, 2])):
            strides[dim] = reach + draw(st.sampled_from([0, 0, 1]))
            reach = strides[dim] * shape[dim]
        text = f"S[({','.join(map(str, shape))}):({','.join(map(str, strides))})]"
        return text + draw(st.sampled_from(["", " + 7"]))

    return {
        "study": "permute",
        "src": {"layout": layout()},
        "dst": {"layout": layout()},
        "stages": {"count": shape[0]},
        "dtype": draw(st.sampled_from(["int8", "bfloat16", "float32", "int64", "uint128"])),
        "space": draw(st.sampled_from(["shared", "global"])),
        "in_place": draw(st.booleans()),
        "block": draw(st.sampled_from([[32], [32], [64]])),
    }


@settings(max_examples=25, deadline=None)
@given(designs())
def test_random_designs_run_verified(document: dict[str, Any]) -> None:
    try:
        _, run = api.run(make_design(document), on="emulator")
    except NotRunnable:
        assume(False)
    assert run.verified, run.to_json()["problems"]


DECLINED = [
    case
    for case in json.loads(ORACLE.read_text())["cases"]
    if case["outcome"] == "fail" and max(case["extent"]) < 4096
]


def ours_of(document: dict[str, Any]) -> None:
    """Run our schedule: verified, and at the bound that the plan claims."""
    planned = api.plan(make_design({"study": "permute", **document}))
    ours = planned.ours
    assert ours is not None
    try:
        generated = kernel(planned, "ours")
    except NotRunnable as reason:
        assert "bytes of shared memory" in str(reason)
        return
    run = run_kernel(generated, on="emulator")
    assert run.verified, run.to_json()["problems"]
    lines = {
        access.op: access.line
        for access in generated.predicted
        if "reg" in generated.line(access.line) and not access.buffer.endswith("_AT")
    }
    for op, phase in (("ld", ours.schedule.read), ("st", ours.schedule.write)):
        rows = [
            row
            for row in run.to_json()["accesses"]
            if (row["line"], row["op"], row["space"]) == (lines[op], op, "shared")
        ]
        measured = sum(row["measured"]["wavefronts"] for row in rows)
        merged = any("merged" in row["note"] for row in rows)
        assert measured == phase.cost or (merged and measured < phase.cost), rows


@pytest.mark.parametrize("case", DECLINED[::24], ids=range(len(DECLINED[::24])))
def test_declined_cases_run_at_their_bound(case: dict[str, Any]) -> None:
    shard = ",".join(map(str, case["extent"]))
    sides = {
        side: {"layout": f"S[({shard}):({','.join(map(str, case[f'{side}_strides']))})]"}
        for side in ("src", "dst")
    }
    dtype = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "uint128"}
    ours_of({**sides, "dtype": dtype[case["dtype_bytes"]]})


@st.composite
def odd_moves(draw: st.DrawFn) -> dict[str, Any]:
    extents = [draw(st.integers(1, 12)), draw(st.integers(1, 12))]
    sides = {}
    for side in ("src", "dst"):
        strides, reach = [0, 0], 1
        for dim in draw(st.permutations([0, 1])):
            strides[dim] = reach + draw(st.sampled_from([0, 0, 1, 3]))
            reach = strides[dim] * extents[dim]
        sides[side] = {"layout": f"S[({extents[0]},{extents[1]}):({strides[0]},{strides[1]})]"}
    return {**sides, "dtype": draw(st.sampled_from(["float32", "int64", "float32x4"]))}


@settings(max_examples=12, deadline=None)
@given(odd_moves())
def test_odd_shapes_run_at_their_bound(document: dict[str, Any]) -> None:
    ours_of(document)


@pytest.mark.parametrize("dtype", ["float16", "int8"])
@pytest.mark.parametrize("in_place", [False, True])
def test_bytes_are_permuted_in_registers(dtype: str, in_place: bool) -> None:
    ours_of(
        {
            "src": {"layout": "S[(32, 16):(16, 1)]"},
            "dst": {"layout": "S[(32, 16):(1, 32)]"},
            "dtype": dtype,
            "in_place": in_place,
        }
    )


def test_a_swizzled_destination_runs() -> None:
    ours_of(
        {
            "src": {"layout": "S[(32, 32):(32, 1)]"},
            "dst": {"layout": "Sw<3,2,3> o S[(32, 32):(1, 32)]"},
        }
    )
