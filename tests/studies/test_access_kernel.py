"""Micro-kernels of one access: verified, and their measured cost is the predicted one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileviz import api
from tileviz.export.snippets import standalone_cu
from tileviz.memory import judge
from tileviz.runners import run_kernel
from tileviz.studies.access.clock import ACCESSES, clock_kernel
from tileviz.studies.access.kernel import kernel
from tileviz.studies.access.lane_index import lane_index
from tileviz.studies.access.plan import AccessPlan, plan
from tileviz.studies.access.search import search
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import make_design, presets

PRESETS = [preset for preset in presets() if preset.study == "access"]
WIDTHS = {"ld": (1, 2, 4, 8, 16), "st": (1, 2, 4, 8, 16), "atom": (4, 8), "ldgsts.ca": (4, 8, 16)}


def planned(**fields: Any) -> AccessPlan:
    return plan(make_design({"study": "access", **fields}))


def measured(decided: AccessPlan) -> dict[str, int | None]:
    """Run the micro-kernel; return what its one access cost."""
    generated = kernel(decided)
    run = run_kernel(generated, on="emulator")
    assert run.verified, run.to_json()["problems"]
    document = run.to_json()
    for row in document["accesses"]:
        assert row["predicted"] == row["measured"], row
    op, space = decided.design.op, decided.design.space
    (line,) = {
        access.line
        for access in generated.predicted
        if (access.op, access.space) == (op, space) and access.text not in ("", "tile[i]")
    }
    rows = [
        row
        for row in document["accesses"]
        if (row["op"], row["space"], row["line"]) == (op, space, line) and row["executions"] == 1
    ]
    return rows[-1]["measured"]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_presets_cost_what_is_predicted_and_are_searched(preset: Any) -> None:
    decided = plan(preset.design)
    cost = measured(decided)
    assert cost["wavefronts"] == decided.verdict.wavefronts
    assert cost["ideal"] == decided.verdict.ideal
    assert search(preset.design).proof


@pytest.mark.parametrize("op", WIDTHS)
@pytest.mark.parametrize("seed", range(2))
def test_any_addresses_cost_what_is_predicted(op: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    for width in WIDTHS[op]:
        # Two lanes that copy to one place would race.
        units = random.permutation(90)[:32] if "ldgsts" in op else random.integers(0, 90, 32)
        addresses: list[int | None] = (256 + width * units).tolist()
        if seed:
            addresses[5] = addresses[17] = None
        decided = planned(op=op, bytes=width, addresses=addresses)
        assert measured(decided)["wavefronts"] == decided.verdict.wavefronts


@pytest.mark.parametrize("op", ["ld", "st"])
def test_global_accesses_cost_sectors(op: str) -> None:
    decided = planned(space="global", op=op, bytes=4, addresses=[4096 + 12 * i for i in range(20)])
    assert measured(decided)["sectors"] == decided.verdict.sectors == 8


@pytest.mark.parametrize("count", ["x1", "x2", "x4"])
def test_ldmatrix_gives_each_lane_its_words(count: str) -> None:
    fields = {"dtype": "float16", "pattern": "ldmatrix", "op": f"ldmatrix.{count}"}
    decided = planned(layout="Swizzle(3, 3, 3) o S[(64, 64):(64, 1)]", **fields)
    assert measured(decided)["wavefronts"] == decided.verdict.wavefronts == int(count[1])


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"op": "stmatrix.x4", "addresses": [16 * i for i in range(32)]}, "sm_90"),
        ({"op": "atom", "bytes": 2, "addresses": [0]}, "4 or 8 bytes"),
        ({"op": "ldgsts.cg", "bytes": 4, "addresses": [0]}, "copies 16 bytes"),
        ({"op": "ldmatrix.x2", "addresses": [0] * 9}, "each of its 16 lanes"),
        (
            {"op": "ldgsts.ca", "bytes": 4, "addresses": [0, 4, 0]},
            "lanes 0 and 2 copy to one place",
        ),
        ({"addresses": [None]}, "no lane takes part"),
        ({"bytes": 4, "addresses": [0, 1 << 20]}, "bytes of shared memory"),
        ({"space": "global", "bytes": 4, "addresses": [0, 1 << 30]}, "bytes of global memory"),
        ({"space": "global", "op": "ldgsts.ca", "bytes": 4, "addresses": [0]}, "writes shared"),
    ],
)
def test_what_has_no_kernel_says_why(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(NotRunnable, match=reason):
        kernel(planned(**fields))


def test_text_is_short_where_the_pattern_is() -> None:
    column = api.kernel(make_design(PRESETS[1].document))
    assert "dst[lane] = tile[lane * 33];" in column.source
    assert "AT[" not in column.source
    assert column.source in standalone_cu(column)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 500)), min_size=32, max_size=32))
def test_an_index_is_what_lanes_want(units: list[int | None]) -> None:
    active = np.array([unit is not None for unit in units])
    wanted = np.array([unit or 0 for unit in units])
    if not active.any():
        return
    found = lane_index(wanted, active)
    assert found.evaluate()[active].tolist() == wanted[active].tolist()
    assert bool(found.guard) == (not active.all())


@pytest.mark.parametrize("base", [0, 5])
def test_regular_lanes_need_no_table(base: int) -> None:
    lane = np.arange(32)
    everyone = np.ones(32, dtype=bool)
    for units in (lane * 3, lane // 8 * 100 + lane % 8, lane ^ (lane >> 2), lane * 0):
        assert not lane_index(units + base, everyone).table
    assert lane_index(lane * lane, everyone).table


@pytest.mark.parametrize(
    "fields",
    [
        {"bytes": 4, "addresses": [128 * lane for lane in range(32)]},
        {"bytes": 2, "op": "st", "addresses": [2 * lane for lane in range(32)]},
        {"bytes": 16, "addresses": [16 * (lane * lane % 40) for lane in range(32)]},
        {"op": "ldmatrix.x4", "dtype": "float16", "layout": "S[64, 64]", "pattern": "ldmatrix"},
    ],
)
def test_clock_kernels_make_256_accesses_of_each_kind(fields: dict[str, Any]) -> None:
    decided = planned(**fields)
    run = run_kernel(clock_kernel(decided), on="emulator").to_json()
    assert not run["problems"]
    (row,) = [row for row in run["accesses"] if row["executions"] > 1000]
    # Two passes of eight repeats, of this pattern and of one without conflict.
    assert (row["op"], row["executions"]) == (decided.design.op, 2 * 8 * 2 * ACCESSES)
    per_pass = decided.verdict.wavefronts + max(decided.accesses.bytes // 4, 1)
    assert row["measured"]["wavefronts"] == 2 * 8 * ACCESSES * per_pass


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"space": "global", "bytes": 4, "addresses": [0]}, "shared memory only"),
        ({"bytes": 4, "addresses": [0, 4]}, "all 32 lanes"),
        ({"op": "atom", "bytes": 4, "addresses": [4 * i for i in range(32)]}, "not atom"),
        ({"bytes": 4, "addresses": [8192 * i for i in range(32)]}, "bytes of shared memory"),
    ],
)
def test_what_cannot_be_timed_says_why(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(NotRunnable, match=reason):
        clock_kernel(planned(**fields))


@pytest.mark.parametrize("found", PRESETS, ids=lambda found: found.name)
def test_the_kernel_says_which_access_was_asked_about(found: Any) -> None:
    decided = plan(found.design)
    made = kernel(decided)
    assert made.subject is not None
    assert any(one is made.subject for one in made.predicted)
    assert judge(made.subject).cost == decided.verdict.cost
    assert made.subject.text in made.line(made.subject.line or 0)
