"""Every established decision, launch and load count of the real ``TileBroadcastTactic``."""

from __future__ import annotations

from typing import Any

import pytest

from tileviz.studies.broadcast.blocksize import block_size
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.plan import BroadcastPlan, plan
from tileviz.studies.design import validated


def planned(case: dict[str, Any]) -> BroadcastPlan:
    return plan(validated(BroadcastDesign, {"operands": case["operands"], "out": case["out"]}))


def established(case: dict[str, Any]) -> bool:
    return bool(case["established"])


# Fields of a case and the field of our answer that must agree with each.
SAME = {
    "kind": "kind",
    "K": "K",
    "block": "block",
    "grid": "grid",
    "coarsening": "coarsening",
    "guard": "guard",
    "launchable": "launchable",
    "loads_after": "loads_after",
    "broadcast": "broadcast",
    "preserved": "preserved",
    "branch": "branch",
    "reject": "reason",
}


@pytest.mark.oracle("cinn_tile_broadcast", section="cases", keep=established)
def test_cases(case: dict[str, Any]) -> None:
    found = planned(case)
    answer = found.to_json()["cinn"]
    assert answer["applies"] is case["applies"]
    for theirs, ours in SAME.items():
        if theirs in case:
            assert answer[ours] == case[theirs], theirs
    if case.get("branch") == "nchw":
        assert (answer["high"], answer["low"]) == (case["high"], case["low"])
    if "loops" in case:
        assert answer["loops"] == case["loops"]
    if "lane_use" in case:
        assert answer["lane_use"] == pytest.approx(case["lane_use"], abs=1e-4)
    if case.get("loads_before") is not None:
        assert answer["loads_before"] == case["loads_before"]
    if "general_v100" in case:
        before, general = found.before, case["general_v100"]
        assert before is not None
        assert (before.threads, before.serial, before.grid) == (
            general["block"],
            general["coarsening"],
            general["grid"],
        )


@pytest.mark.oracle("cinn_tile_broadcast", section="cases", keep=established)
def test_exactly_one_step_decides(case: dict[str, Any]) -> None:
    decision = planned(case).cinn
    outcomes = [step.outcome for step in decision.steps]
    at = outcomes.index("decides")
    assert set(outcomes[:at]) <= {"pass"}
    assert set(outcomes[at + 1 :]) <= {"skipped"}
    assert decision.decided_by.token == (case.get("reject") or "kind")


def test_better_plans(oracle_document: Any) -> None:
    rows = oracle_document("cinn_tile_broadcast")["better_plan"]["rows"]
    for row in rows:
        found = planned({"operands": [row["operand"]], "out": row["out"]}).ours
        assert found is not None
        assert list(found.merged.extents) == row["groups"]
        masks = ["".join("BP"[varies]) for varies in found.merged.masks[0]]
        assert masks == row["masks"]
        assert (found.kind, found.vector, found.grid) == (row["kind"], row["vector"], row["grid"])
        assert (found.period, found.tail, found.steps) == (
            row["period"],
            row["tail"],
            row["iters"],
        )


def test_block_size_matches_a_literal_reading_of_the_rule() -> None:
    for warps in range(1, 1101):
        if warps > 1024:
            want = None
        elif warps <= 3:
            want = 32 * max(4, 2 * warps)
        elif bin(warps).count("1") == 1:
            want = 256
        elif warps <= 32:
            want = 32 * warps
        else:
            found = [d for d in range(4, 33) if warps % d == 0]
            want = 32 * max(found) if found else None
        assert block_size(32 * warps) == want, warps
