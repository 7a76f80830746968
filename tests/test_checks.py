"""Budgets of every study: predicted, compiled and measured, and what is no budget."""

from __future__ import annotations

from typing import Any

import pytest

import tileviz as tv
from tileviz import api
from tileviz.checking import Budget, check, read_budgets
from tileviz.checking.budgets import MEASURES, names_of
from tileviz.emulator.limits import Limits
from tileviz.errors import DesignError
from tileviz.studies.registry import STUDIES, preset, presets

ROW = "S[(32, 32):(32, 1)]"
TRANSPOSE = """
extern "C" __global__ void turn(const float* x, float* y) {
    __shared__ float tile[32][PITCH];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    y[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""


def design(name: str) -> Any:
    found = preset(name)
    assert found is not None
    return found.design


def own(source: str, **changes: Any) -> Any:
    fields: dict[str, Any] = {
        "study": "kernel",
        "source": source,
        "entry": "turn",
        "block": [32, 32],
        "buffers": [{"name": "x", "shape": [1024]}, {"name": "y", "shape": [1024], "role": "out"}],
    }
    return api.design({**fields, **changes})


def values(found: Any) -> dict[str, Any]:
    return {verdict.name: verdict.value for verdict in found.budgets}


@pytest.mark.parametrize(("pitch", "excess", "passed"), [(32, 31, False), (33, 0, True)])
def test_an_access_is_held_to_the_excess_of_its_plan(pitch: int, excess: int, passed: bool) -> None:
    of = api.design(study="access", layout=f"S[(32, 32):({pitch}, 1)]", pattern="column")
    found = check(of, {"max_excess": 0, "n_way": 1, "wavefronts": 1})
    assert values(found)["excess"] == api.plan(of).to_json()["excess"] == excess
    assert found.passed is passed
    assert {verdict.source for verdict in found.budgets} == {"predicted"}


def test_the_excess_of_global_memory_is_in_sectors() -> None:
    of = api.design(study="access", space="global", bytes=4, addresses=list(range(0, 4096, 128)))
    found = check(of, {"excess": 3, "sectors": 32})
    assert values(found) == {"excess": 28, "sectors": 32}
    assert found.budgets[0].unit == "sectors above the ideal" and not found.passed


def test_a_limit_is_kept_when_it_is_met() -> None:
    of = api.design(study="access", layout=ROW, pattern="column")
    assert check(of, {"excess": 31}).passed
    assert not check(of, {"excess": 30.5}).passed


def test_a_permute_is_predicted_and_run_alike() -> None:
    of = design("permute-demo")
    budgets = {"excess": 0, "wavefronts": 100, "sectors": 100}
    predicted, measured = check(of, budgets), check(of, budgets, run=True, on="emulator")
    assert predicted.passed and measured.passed
    assert values(measured) == {**values(predicted), "problems": 0}
    assert [verdict.source for verdict in measured.budgets] == ["measured"] * 4


def test_loads_per_thread_are_those_of_the_plan() -> None:
    of = design("broadcast-192")
    assert values(check(of, {"loads_per_thread": 1})) == {"loads_per_thread": 1}
    assert not check(of, {"loads_per_thread": 0}).passed


def test_a_schedule_has_a_least_hit_rate() -> None:
    of = design("schedule-zn-3")
    rate = api.plan(of).to_json()["metrics"]["l2_hit_rate"]
    assert check(of, {"min_hit_rate": rate, "max_balance": 1.2}).passed
    below = check(of, {"min_hit_rate": rate + 0.001})
    assert not below.passed and "at least" in below.budgets[0].sentence


@pytest.mark.parametrize("name", ["permute-demo", "broadcast-192", "banks-padding-33"])
def test_registers_are_the_compilers(name: str) -> None:
    found = check(design(name), {"registers": 0, "spills": 0, "shared_bytes": 1 << 17})
    registers, spills, shared = found.budgets
    assert registers.value and 8 <= registers.value <= 255 and not registers.passed
    assert spills.passed and shared.passed
    assert (registers.source, registers.scope) == ("compiled", "for sm_80")


def test_an_own_kernel_is_run_when_a_budget_needs_it() -> None:
    worst = check(own(TRANSPOSE.replace("PITCH", "32")), {"excess": 0, "line_excess": 0})
    total, line = worst.budgets[:2]
    assert total.value == line.value == 32 * 31 and total.source == "measured"
    assert [(at.line, at.excess) for at in total.lines] == [(6, 992)]
    assert "tile[threadIdx.x][threadIdx.y]" in total.lines[0].text
    fixed = check(own(TRANSPOSE.replace("PITCH", "33")), {"excess": 0, "line_excess": 0})
    assert fixed.passed and values(fixed) == {"excess": 0, "line_excess": 0, "problems": 0}


def test_an_own_kernel_is_only_compiled_for_its_registers() -> None:
    found = check(own(TRANSPOSE.replace("PITCH", "33")), {"registers": 64})
    assert found.passed and [verdict.name for verdict in found.budgets] == ["registers"]


def test_a_race_fails_a_check_whose_counts_are_fine() -> None:
    racy = TRANSPOSE.replace("PITCH", "33").replace("__syncthreads();", "")
    found = check(own(racy), {"excess": 0})
    counted, problems = found.budgets
    assert counted.passed and not problems.passed and not found.passed
    assert "race" in problems.note and problems.value and problems.value >= 1


def test_a_kernel_that_does_not_compile_keeps_no_budget() -> None:
    found = check(own("extern C"), {"excess": 1000, "registers": 1000})
    excess, registers, problems = found.budgets
    assert excess.value is None and not excess.passed
    assert excess.note.startswith("it did not run: ")
    assert registers.value is None and registers.note
    assert problems.value and problems.note


def test_a_design_without_a_kernel_keeps_no_budget() -> None:
    overlapping = api.design(study="permute", src={"layout": "S[32:1]"}, dst={"layout": "S[32:0]"})
    found = check(overlapping, {"excess": 0, "registers": 99})
    assert not found.passed and [verdict.value for verdict in found.budgets] == [None, None]
    assert all(verdict.note for verdict in found.budgets)


@pytest.mark.parametrize("study", [name for name in STUDIES if name != "layout"])
def test_every_budget_that_a_study_has_can_be_checked(study: str) -> None:
    of = next(found.design for found in presets() if found.study == study)
    names = names_of(of)
    found = check(of, {name: 0 if MEASURES[name].sense == "min" else 1e12 for name in names})
    assert found.passed, [verdict.sentence for verdict in found.budgets if not verdict.passed]
    assert {verdict.name for verdict in found.budgets} - {"problems"} == set(names)


def test_a_budget_of_another_study_names_those_it_has() -> None:
    with pytest.raises(DesignError) as error:
        check(design("broadcast-192"), {"max-excess": 0})
    assert error.value.field == "max-excess"
    assert "it has max-loads-per-thread, max-sectors" in error.value.message
    with pytest.raises(DesignError, match="nothing of it can be limited"):
        check(design("layout-slice"), {"max-excess": 0})
    in_global = api.design(study="access", space="global", bytes=4, addresses=[0])
    with pytest.raises(DesignError, match="in global memory has no such budget"):
        check(in_global, {"wavefronts": 1})


def test_budgets_of_a_study_come_before_those_of_all() -> None:
    given = {"max-excess": 0, "access": {"max-excess": 40}, "broadcast": {"max-registers": 9}}
    of = api.design(study="access", layout=ROW, pattern="column")
    found = check(of, given)
    assert found.passed and [(v.name, v.limit) for v in found.budgets] == [("excess", 40)]
    backwards = dict(reversed(given.items()))
    assert check(of, backwards).to_json() == found.to_json()
    with pytest.raises(DesignError, match="none is given for a permute design"):
        check(design("permute-demo"), {"access": {"max-excess": 40}})


def test_a_shared_budget_is_for_the_designs_that_have_it() -> None:
    given = {"max-excess": 99, "max-registers": 200, "schedule": {"min-hit-rate": 0}}
    shared = read_budgets(given, strict=False)
    assert [v.name for v in check(design("broadcast-192"), shared).budgets] == ["registers"]
    access = api.design(study="access", layout=ROW, pattern="column")
    assert {v.name for v in check(access, shared).budgets} == {"excess", "registers"}
    with pytest.raises(DesignError, match="a broadcast design has no such budget"):
        check(design("broadcast-192"), read_budgets(given))
    with pytest.raises(DesignError, match="none is given for a broadcast design; it has max-load"):
        check(design("broadcast-192"), read_budgets({"max-excess": 99}, strict=False))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"schedule": {"max-n-way": 1}}, "max-n-way"),
        ({"layout": {"max-excess": 1}}, "max-excess"),
        ({"max-speed": 1}, "max-speed"),
        ({"min-excess": 1}, "min-excess"),
        ({"max-hit-rate": 1}, "max-hit-rate"),
        ({"max-excess": -1}, "max-excess"),
        ({"max-excess": float("nan")}, "max-excess"),
        ({"max-excess": True}, "max-excess"),
        ({"max-excess": "0"}, "max-excess"),
        ({"max-excess": 10**400}, "max-excess"),
        ({"max-excess": 1, "excess": 2}, "max-excess"),
        ({"permute": {"max-excess": 1, "max_excess": 1}}, "max-excess"),
        ({"min-hit-rate": 2}, "min-hit-rate"),
        ({"permute": 3}, "permute"),
        ({"permute": {"permute": {}}}, "permute"),
        ([1], "budgets"),
        ({"x" * 99: 1}, "x" * 40 + "..."),
    ],
)
def test_what_is_no_budget_is_one_line(given: Any, field: str) -> None:
    with pytest.raises(DesignError) as error:
        read_budgets(given)
    assert error.value.field == field and "\n" not in str(error.value)


def test_names_may_be_written_in_three_ways() -> None:
    forms = ({"max-line-excess": 1}, {"max_line_excess": 1}, {"line_excess": 1})
    assert [read_budgets(form) for form in forms] == [(Budget("line_excess", 1),)] * 3


def test_an_architecture_is_checked() -> None:
    with pytest.raises(DesignError, match="sm_80"):
        check(design("permute-demo"), {"registers": 1}, arch="sm_80; rm -rf /")


def test_python_has_the_same_call() -> None:
    assert tv.check(design("permute-demo"), {"max_excess": 0}).passed


def test_what_was_not_counted_keeps_no_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileviz.runners.emulator.RUN_LIMITS", Limits(trace_bytes=100))
    found = check(design("banks-transpose-32x32"), {"wavefronts": 10**9}, run=True, on="emulator")
    (counted,) = [verdict for verdict in found.budgets if verdict.name == "wavefronts"]
    assert counted.value is None and not found.passed
    assert "no block was counted" in counted.note
