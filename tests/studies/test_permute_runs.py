"""Generated kernels, really executed: verified, counted, and equal to their prediction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tileviz import api
from tileviz.runners import Run, run_kernel
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import make_design, presets

CONSTANT = ("SRC_AT", "DST_AT", "SRC_STAGE", "DST_STAGE")
RUNNABLE = [preset for preset in presets() if preset.study == "permute"]


def differences(run: Run) -> list[str]:
    """Accesses whose measured totals differ from the predicted ones; constant tables aside."""
    return [
        f"line {row['line']} {row['op']}.{row['space']}: {row['predicted']} != {row['measured']}"
        for row in run.to_json()["accesses"]
        if row["predicted"] != row["measured"] and row["buffer"] not in CONSTANT
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
    kernel = api.kernel(in_place)
    assert run_kernel(kernel, on="emulator").verified
    before, sync, after = kernel.source.rpartition("    __syncwarp();\n    #pragma unroll\n")
    assert sync
    racy = replace(kernel, source=before + "    #pragma unroll\n" + after)
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
    from tileviz.studies.permute.kernel import kernel

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
