"""Generated products, really executed: every policy verified, predictions equal to counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileviz.runners import Run, run_kernel
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import make_design, preset, presets
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.kernel import kernel
from tileviz.studies.schedule.plan import SchedulePlan, plan
from tileviz.studies.schedule.policies import NAMES
from tileviz.studies.schedule.proof import emulated, proof_kernel

SIZES = {"problem": [69, 57, 37], "tile": [16, 16, 8], "workers": 7}
PARAMETERS: dict[str, dict[str, Any]] = {
    "catlass": {"offset": 3, "direction": 1, "batch": 2},
    "catlass_splitk": {"splitk": 3, "offset": 2, "batch": 2},
    "catlass_single_core_splitk": {"offset": 3},
    "catlass_tail_splitk": {"offset": 2, "direction": 1},
    "catlass_streamk": {"offset": 2},
    "catlass_l1_full_load": {"offset": 2},
    "catlass_grouped_aswt": {"group_m": [20, 0, 13, 36]},
    "cutlass2": {"log_tile": 2},
    "cutlass3": {"cluster": [2, 1], "max_swizzle": 4, "batch": 2},
    "cutlass_sm100": {"cluster": [2, 1], "max_swizzle": 3},
    "triton_grouped": {"group_m": 3},
    "deepgemm": {"multicast": 2},
    "tilelang_panel": {"panel": 3, "axis": "column"},
    "xcd_remap": {"xcds": 3, "chunk": 2},
    "custom": {"order": [[m, n] for n in (2, 0, 3, 1) for m in (4, 1, 0, 2, 3)]},
}
IMAGE = {"batch_ho_wo_cout_cin1": [2, 9, 7, 40, 1], "tile_ho_wo_cout": [3, 4, 16], "offset": 2}
DTYPES = ("float32", "float16", "bfloat16")


def planned(policy: str, **fields: Any) -> SchedulePlan:
    if policy == "catlass_conv2d":
        base: dict[str, Any] = {**IMAGE, "workers": 7}
    else:
        base = {**SIZES, **PARAMETERS.get(policy, {})}
    made = make_design({"study": "schedule", "policy": policy, **base, **fields})
    assert isinstance(made, ScheduleDesign)
    return plan(made)


def differences(run: Run) -> list[str]:
    """Accesses of the matrices whose measured totals differ from the predicted ones."""
    return [
        f"line {row['line']} {row['op']}.{row['space']}: {row['predicted']} != {row['measured']}"
        for row in run.to_json()["accesses"]
        if row["predicted"] != row["measured"] and row["buffer"] in ("a", "b", "c", "as", "bs")
    ]


@pytest.mark.parametrize("policy", NAMES)
def test_every_policy_multiplies(policy: str) -> None:
    dtype = DTYPES[NAMES.index(policy) % len(DTYPES)]
    made = planned(policy, dtype=dtype)
    whole = run_kernel(kernel(made), on="emulator")
    assert whole.verified, (whole.problems, whole.mismatch)
    assert policy == "catlass_conv2d" or differences(whole) == []
    persistent = run_kernel(kernel(made, persistent=True), on="emulator", trace=False)
    assert persistent.verified, (persistent.problems, persistent.mismatch)


@pytest.mark.parametrize("policy", NAMES)
def test_the_device_function_walks_the_same_order(policy: str) -> None:
    run = run_kernel(proof_kernel(planned(policy)), on="emulator", trace=False)
    assert run.verified, (run.problems, run.mismatch)


def test_a_wrong_device_function_is_found() -> None:
    proof = proof_kernel(planned("catlass", batch=1))
    wrong = replace(proof, source=proof.source.replace("strip % 2u == 1u", "strip % 2u == 0u"))
    assert wrong.source != proof.source
    assert run_kernel(wrong, on="emulator", trace=False).verified is False


@pytest.mark.parametrize(
    ("problem", "tile", "dtype"),
    [
        ([128, 192, 64], [64, 128, 32], "float16"),
        ([100, 300, 56], [64, 128, 32], "float32"),
        ([128, 128, 32], [128, 128, 32], "bfloat16"),
        ([50, 70, 20], [10, 20, 4], "float32"),
        ([33, 9, 5], [4, 4, 4], "float16"),
        ([100, 102, 16], [100, 34, 16], "float32"),
        ([1, 1, 1], [1, 1, 1], "float16"),
    ],
)
def test_widths_and_tails(problem: list[int], tile: list[int], dtype: str) -> None:
    made = planned("catlass", problem=problem, tile=tile, dtype=dtype, batch=1)
    run = run_kernel(kernel(made), on="emulator")
    assert run.verified, (run.problems, run.mismatch)
    assert differences(run) == []


@pytest.mark.parametrize(
    ("policy", "fields"),
    [
        ("catlass_single_core_splitk", {"problem": [22, 34, 64], "tile": [3, 3, 3]}),
        ("row_major", {"problem": [300, 280, 20], "tile": [8, 8, 8]}),
        ("catlass_streamk", {"problem": [300, 280, 20], "tile": [8, 8, 8], "workers": 9}),
        ("catlass", {"problem": [700, 700, 100], "tile": [64, 64, 32]}),
        ("triton_grouped", {"problem": [301, 283, 21], "tile": [8, 8, 8], "batch": 2}),
    ],
)
def test_a_large_grid_is_predicted_as_far_as_it_was_traced(
    policy: str, fields: dict[str, Any]
) -> None:
    made = kernel(planned(policy, **fields, dtype="float32"))
    run = run_kernel(made, on="emulator")
    assert run.verified, (run.problems, run.mismatch)
    assert made.predict is not None
    assert differences(run) == []


def test_aligned_products_load_and_store_16_bytes() -> None:
    made = planned("catlass", problem=[64, 128, 32], tile=[64, 64, 32], dtype="float16", batch=1)
    rows = run_kernel(kernel(made), on="emulator").to_json()["accesses"]
    assert {row["bytes"] for row in rows if row["space"] == "global"} == {16}
    assert {row["bytes"] for row in rows if row["op"] == "ld" and row["space"] == "shared"} == {16}


def test_a_missing_barrier_is_a_race() -> None:
    made = kernel(planned("row_major"))
    racy = replace(made, source=made.source.replace("__syncthreads();", "", 1))
    run = run_kernel(racy, on="emulator")
    assert not run.verified
    assert {problem.kind for problem in run.problems} & {"race", "uninitialised"}


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_random_products(data: st.DataObject) -> None:
    policies = [name for name in NAMES if name not in ("custom", "catlass_conv2d")]
    policy = data.draw(st.sampled_from(policies))
    fields: dict[str, Any] = {
        "problem": [data.draw(st.integers(1, 70)) for _ in range(3)],
        "tile": [data.draw(st.sampled_from([3, 8, 16, 24])) for _ in range(3)],
        "workers": data.draw(st.integers(1, 9)),
        "dtype": data.draw(st.sampled_from(DTYPES)),
    }
    if policy == "catlass_grouped_aswt":
        fields["group_m"] = [fields["problem"][0]]
    if policy == "catlass_splitk":
        fields["splitk"] = 1
    made = planned(policy, **fields)
    run = run_kernel(kernel(made), on="emulator")
    assert run.verified, (run.problems, run.mismatch)
    assert differences(run) == []


@pytest.mark.parametrize("found", [p for p in presets() if p.study == "schedule"], ids=str)
def test_presets_prove_their_grid(found: Any) -> None:
    """The product on the same grid of small tiles, and the real grid by the device function."""
    small = emulated(found.design)
    assert small.grid.tiles == found.design.grid.tiles
    run = run_kernel(kernel(plan(small)), on="emulator", trace=False)
    assert run.verified, (run.problems, run.mismatch)
    proof = run_kernel(proof_kernel(plan(found.design)), on="emulator", trace=False)
    assert proof.verified


def test_emulated_keeps_the_grid() -> None:
    for policy in NAMES:
        if policy in ("custom", "catlass_conv2d"):
            continue
        groups = {"group_m": [1000, 1400]} if "grouped_aswt" in policy else {}
        fields = {"problem": [2400, 6000, 16384], "tile": [128, 256, 64], "batch": 1, **groups}
        big = planned(policy, **fields).design
        small = emulated(big)
        assert (small.grid.rows, small.grid.columns) == (19, 24) or "grouped" in policy
        assert plan(small).metrics.coverage.exact
    with pytest.raises(NotRunnable, match="a product of at most"):
        emulated(planned("row_major", problem=[1 << 20, 1 << 20, 64], tile=[512, 512]).design)


def test_the_largest_grid_is_proven() -> None:
    made = planned("catlass", problem=[2048, 2048, 8], tile=[1, 1], batch=1)
    assert len(made.schedule) == 1 << 22
    assert run_kernel(proof_kernel(made), on="emulator", trace=False).verified


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"dtype": "float64"}, "float32, float16, bfloat16, not float64"),
        ({"tile": [512, 512], "problem": [512, 512, 8]}, "does not fit a block's registers"),
        ({"policy": "custom", "order": [[0, 0]]}, r"tile \[0, 1\] is missed"),
        ({"policy": "hilbert", "problem": [4096, 4096, 8], "tile": [16, 16]}, "kept in a table"),
    ],
)
def test_what_cannot_run_says_why(fields: dict[str, Any], reason: str) -> None:
    policy = fields.pop("policy", "row_major")
    with pytest.raises(NotRunnable, match=reason):
        kernel(planned(policy, **fields))


def test_persistent_blocks_are_workers() -> None:
    made = planned("triton_grouped")
    assert kernel(made).grid == (20, 1, 1)
    assert kernel(made, persistent=True).grid == (7, 1, 1)


def test_the_ragged_preset_is_the_picture() -> None:
    found = preset("schedule-ragged")
    assert found is not None
    source = kernel(plan(found.design.model_copy(update={"problem": (300, 700, 64)}))).source
    assert "constexpr unsigned OFFSET = 3u;  // tile columns a strip" in source
    assert "if (strip % 2u == 1u) m = ROWS - 1u - m;" in source
    assert "@{" not in source and "{{" not in source
