"""Recommendations, words, views and links of schedules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileviz.export.links import from_query, page_url, to_query
from tileviz.studies.registry import make_design, preset, presets
from tileviz.studies.schedule import recommend, views
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.explain import tables, verdict
from tileviz.studies.schedule.plan import SchedulePlan, plan


def planned(name: str) -> SchedulePlan:
    found = preset(name)
    assert found is not None
    return plan(found.design)


def design(**fields: Any) -> ScheduleDesign:
    made = make_design({"study": "schedule", "policy": "row_major", **fields})
    assert isinstance(made, ScheduleDesign)
    return made


def test_offset_3_is_not_best() -> None:
    found = recommend.recommended(planned("schedule-offset-1").design)
    assert found.rule.candidate.label == "catlass Nz 3"
    assert found.best.candidate.label == "catlass Nz 1"
    assert found.best.hit_rate == pytest.approx(0.953125)
    assert found.rule.hit_rate == pytest.approx(0.90568, abs=1e-5)
    assert found.gain == pytest.approx(0.047445, abs=1e-5)
    assert "catlass Nz 1 beats the rule of thumb, catlass Nz 3" in found.sentence


def test_balance_decides_where_everything_fits() -> None:
    found = recommend.recommended(planned("schedule-unbalanced").design)
    assert found.fits
    assert found.best.balance < found.rule.balance
    assert "fit in L2" in found.sentence and "better balanced" in found.sentence


def test_measured_pair_of_catlass_is_explained_by_balance(measurements: dict[str, Any]) -> None:
    row = measurements["measured"][2]
    faster, slower = planned("schedule-balanced"), planned("schedule-unbalanced")
    assert row["time_b"] < row["time_a"]
    assert faster.metrics.balance < slower.metrics.balance
    assert max(np.bincount(slower.schedule.worker, slower.schedule.heights)) == 288
    assert max(np.bincount(faster.schedule.worker, faster.schedule.heights)) == 256


def test_nothing_matters_is_said() -> None:
    assert verdict(planned("schedule-fits")).sentence.startswith("Order cannot change what is read")
    assert recommend.recommended(planned("schedule-fits").design).fits


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(st.integers(8, 200), st.integers(8, 200), st.integers(8, 64)),
    st.integers(1, 12),
    st.integers(64, 20_000),
)
def test_pruning_never_loses_the_pick(
    problem: tuple[int, int, int], workers: int, l2_bytes: int
) -> None:
    of = design(problem=list(problem), tile=[8, 8, 8], workers=workers, l2_bytes=l2_bytes)
    candidates = [*recommend.offsets_and_directions(of, (1, 2, 3, 5)), *recommend.other_policies()]
    whole = [step.outcome for step in recommend.sweep(of, candidates, prune=False)]
    pruned = [step.outcome for step in recommend.sweep(of, candidates)]
    assert recommend.recommend(of, whole).best == recommend.recommend(of, pruned).best
    for full, short in zip(whole, pruned, strict=True):
        assert short.miss_bytes is not None and full.miss_bytes is not None
        assert short.miss_bytes <= full.miss_bytes
        assert short.pruned or short == full


def test_pruning_prunes() -> None:
    of = design(problem=[8192, 8192, 8192], tile=[128, 128, 64])
    candidates = [recommend.catlass(8, "zn"), recommend.Candidate("row_major", (), "row-major")]
    steps = list(recommend.sweep(of, candidates))
    assert [step.outcome.pruned for step in steps] == [False, True]
    assert [(step.done, step.total) for step in steps] == [(1, 2), (2, 2)]


def test_a_sweep_can_be_cancelled() -> None:
    of = planned("schedule-ragged").design
    steps = recommend.sweep(of, recommend.offsets_and_directions(of))
    assert next(steps).done == 1
    steps.close()
    assert list(steps) == []


def test_offsets_beyond_the_grid_are_one() -> None:
    of = design(problem=[3, 2, 1], tile=[1, 1])
    labels = [c.label for c in recommend.offsets_and_directions(of)]
    assert labels == ["catlass Zn 1", "catlass Zn 2", "catlass Zn 3", "catlass Nz 1",
                      "catlass Nz 2"]  # fmt: skip


@pytest.mark.parametrize("found", [p for p in presets() if p.study == "schedule"], ids=str)
def test_presets_open_from_their_links(found: Any) -> None:
    again, errors = from_query("schedule", to_query(found.design))
    assert not errors
    assert again == found.design
    assert verdict(plan(found.design)).sentence
    assert tables(plan(found.design))[0].rows


@pytest.mark.parametrize(
    "fields",
    [
        {"policy": "custom", "order": [[0, 0], [1, 1], [0, 1], [1, 0]]},
        {"policy": "cutlass3", "cluster": [2, 1], "max_swizzle": 4, "raster_option": "AlongM"},
        {"policy": "cutlass2", "log_tile": 2},
        {"policy": "cutlass2", "N": 4},
        {"policy": "deepgemm", "multicast": 2, "multicast_on_a": True},
        {"policy": "catlass_grouped_aswt", "group_m": [2]},
        {"policy": "catlass_grouped_aswt", "group_m": [1, 1], "tail_split_allowed": False},
        {"policy": "triton_grouped", "group_m": 3},
        {"policy": "xcd_remap", "xcds": 4, "chunk": 2},
        {"policy": "tilelang_panel", "panel": 2, "axis": "column", "batch": 2, "dtype": "float32"},
        {"policy": "catlass_conv2d", "batch_ho_wo_cout_cin1": [1, 2, 1, 2, 1],
         "tile_ho_wo_cout": [1, 1, 1], "problem": [2, 2, 16]},
    ],
)  # fmt: skip
def test_links_carry_every_parameter(fields: dict[str, Any]) -> None:
    of = design(**{"problem": [2, 2, 8], "tile": [1, 1], **fields})
    again, errors = from_query("schedule", to_query(of))
    assert not errors
    assert again == of
    assert page_url(of).startswith("/Block_schedule?v=1&problem=")


def test_a_bad_key_is_reported_and_the_rest_used() -> None:
    query = {"problem": "8,8,8", "tile": "2,2", "policy": "catlass", "offset": "0",
             "direction": "up", "group_m": "3", "colour": "red"}  # fmt: skip
    made, errors = from_query("schedule", query)
    assert made == design(problem=[8, 8, 8], tile=[2, 2], policy="catlass")
    assert sorted(error.field for error in errors) == ["colour", "direction", "group_m", "offset"]


def test_uncovered_tiles_lead_the_verdict() -> None:
    of = design(problem=[2, 2, 1], tile=[1, 1], policy="custom", order=[[0, 0], [1, 1], [1, 1]])
    said = verdict(plan(of))
    assert said.state == "error"
    assert "2 missed, the first [0, 1]" in said.sentence
    assert "1 repeated, the first [1, 1]" in said.sentence


def test_views() -> None:
    made = planned("schedule-ragged")
    numbers = views.order_map(made)
    assert numbers[:2, :6].tolist() == [[0, 1, 2, 111, 112, 113], [3, 4, 5, 108, 109, 110]]
    wave = views.wave_view(made, 7)
    assert (wave.tasks[0], wave.tasks[-1], wave.footprint_bytes) == (168, 191, 76 << 20)
    assert wave.rows.tolist() == list(range(12, 19))
    assert wave.columns.tolist() == list(range(6, 12))
    assert views.tails(made) == (96, 112)
    lines = views.strips(made)
    assert lines is not None and lines.axis == "columns" and lines.starts[:3] == (0, 3, 6)
    assert views.worker_map(made)[0, 0] == 0
    sizes, rates = views.l2_curve(made)
    assert len(sizes) == len(rates)
    assert rates == sorted(rates)
    with pytest.raises(ValueError, match="no wave 19 of 19"):
        views.wave_view(made, 19)


def test_json_of_a_plan() -> None:
    of = design(problem=[300, 500, 1000], tile=[128, 256, 256], policy="catlass_splitk", splitk=2,
                offset=3, batch=2, workers=5)  # fmt: skip
    document = plan(of).to_json()
    assert document["tiles"] == [3, 2]
    assert document["count"] == len(document["order"]) == len(document["shapes"]) == 24
    assert document["order"][6] == [0, 0, 0, 2]
    assert document["order"][12] == [1, 0, 0, 0]
    assert len(document["per_core"]) == 5
    assert sorted(task for tasks in document["per_core"] for task in tasks) == list(range(24))
    assert document["metrics"]["coverage"]["exact"] is True
    plain = plan(design(problem=[2, 1, 1], tile=[1, 1], workers=3)).to_json()
    assert plain["order"] == [[0, 0], [1, 0]]
    assert plain["per_core"] == [[0], [1], []]


def test_nothing_is_called_good_that_was_not_compared() -> None:
    large = plan(design(problem=[12800, 12800, 1024], tile=[128, 128]))
    said = verdict(large)
    assert said.state == "attention"
    assert said.sentence.endswith("%; other settings not tried yet.")
    assert "as good as" not in said.sentence
    small = verdict(planned("schedule-ragged"))
    assert "Tried: offsets 1 to 16." in small.facts


def test_a_best_at_the_edge_is_told_where_the_sweep_ends_there() -> None:
    of = design(problem=[16384, 16384, 256], tile=[128, 128], workers=768, l2_bytes=1 << 22)
    found = recommend.recommended(of)
    assert of.grid.tiles > recommend.QUICK_TASKS and found.offsets == tuple(range(1, 17))
    assert found.edge == 16
    edge = "best at the edge of the offsets tried, 1 to 16"
    assert found.at_the_edge == edge and found.sentence.endswith(f"; {edge}.")
    best = plan(found.best.candidate.design(of))
    said = verdict(best, found)
    assert said.state == "attention" and said.sentence.endswith(f"setting tried; {edge}.")
    assert verdict(plan(of), found).sentence.endswith(f"%, {edge}.")


def test_a_small_grid_is_swept_until_the_best_is_inside() -> None:
    of = design(problem=[8192, 8192, 2048], tile=[128, 128], workers=768, l2_bytes=1 << 24)
    found = recommend.recommended(of)
    assert found.offsets == (*range(1, 17), 32, 64)
    assert found.best.candidate.label == "catlass Zn 32" and found.edge is None
    # Where offset 16 is a whole side, there is nothing beyond.
    flat = design(problem=[2048, 8192, 2048], tile=[128, 128], workers=768, l2_bytes=1 << 24)
    assert recommend.recommended(flat).edge is None
