"""Charts beside the order map show the model's own numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.figures.schedule_charts import (
    RATES,
    Curve,
    Sweep,
    l2_figure,
    rate_classes,
    shares_figure,
    sweep_figure,
)
from tileviz.figures.small_maps import small_map
from tileviz.figures.tokens import DARK, IDLE, LIGHT, contrast
from tileviz.studies.registry import make_design, preset
from tileviz.studies.schedule import recommend
from tileviz.studies.schedule.plan import plan

DESIGN = preset("schedule-ragged").design
STEPS = recommend.sweep(DESIGN, recommend.offsets_and_directions(DESIGN), prune=False)
OUTCOMES = [step.outcome for step in STEPS]
STRIP = Sweep.of(OUTCOMES)


def test_the_strip_holds_every_outcome_in_its_place() -> None:
    assert STRIP.offsets == tuple(range(1, 17))
    for outcome in OUTCOMES:
        settings = dict(outcome.candidate.parameters)
        row, column = STRIP.cell(settings["offset"], settings["direction"])
        assert STRIP.rates[row, column] == outcome.hit_rate
        assert STRIP.at(row, column) == (settings["offset"], settings["direction"])


def test_places_outside_the_strip_are_nothing() -> None:
    assert STRIP.at(2, 0) is None
    assert STRIP.at(0, -1) is None
    assert STRIP.cell(17, "zn") is None
    assert STRIP.cell(1, "up") is None


def test_settings_that_repeat_an_order_are_left_open() -> None:
    low = make_design({**DESIGN.document(), "problem": [256, 6000, 64]})
    steps = recommend.sweep(low, recommend.offsets_and_directions(low), prune=False)
    strip = Sweep.of([step.outcome for step in steps])
    assert not np.isnan(strip.rates[0, :2]).any()
    assert np.isnan(strip.rates[0, 2:]).all()
    assert strip.at(0, 5) is None
    texts = [np.array(trace.text) for trace in sweep_figure(strip, None, None, LIGHT).data
             if trace.type == "heatmap"]  # fmt: skip
    assert all((text[0, 2:] == "").all() for text in texts)


def test_each_cell_of_the_strip_says_its_rate_once() -> None:
    figure = sweep_figure(STRIP, (0, 11), (1, 2), DARK)
    written: dict[tuple[int, int], str] = {}
    for trace in figure.data:
        if trace.type == "heatmap":
            for row, column in np.argwhere(np.array(trace.text) != "").tolist():
                assert (row, column) not in written
                written[row, column] = trace.text[row][column]
    assert written == {
        (row, column): f"{100 * STRIP.rates[row, column]:.0f}"
        for row in range(2)
        for column in range(16)
    }


def test_the_best_is_framed_and_the_shown_one_ringed() -> None:
    figure = sweep_figure(STRIP, (0, 11), (1, 2), LIGHT)
    hot = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "lines"
           and trace.line.color == LIGHT.hot]  # fmt: skip
    assert {*hot[0].x} == {10.5, 11.5}
    assert {*hot[0].y} == {-0.5, 0.5}
    rings = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "markers"
             and trace.marker.symbol == "circle-open"]  # fmt: skip
    assert {(trace.x, trace.y) for trace in rings} == {((2,), (1,))}


def test_a_bound_is_not_passed_off_as_a_rate() -> None:
    pruned = recommend.Outcome(recommend.catlass(1, "zn"), 0.4, 1, 1.0, 1.0, 0.0, pruned=True)
    strip = Sweep.of([*OUTCOMES[1:], pruned])
    figure = sweep_figure(strip, None, None, LIGHT)
    texts = {trace.text[0][0] for trace in figure.data if trace.type == "heatmap"}
    assert texts == {"", "≤40"}
    assert any("at most" in text for text in figure.data[-1].text)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_classes_follow_the_points_below_the_best(rates: list[float]) -> None:
    found = rate_classes(np.array(rates))
    for rate, got in zip(rates, found.tolist(), strict=True):
        below = round(100 * (max(rates) - rate), 6)
        wanted = sum(below >= end for end in (0.5, 2, 5, 10, 20))
        assert got == wanted


def test_nothing_tried_has_no_class() -> None:
    assert rate_classes(np.array([np.nan, np.nan])).tolist() == [IDLE, IDLE]


@pytest.mark.parametrize("colour", RATES)
def test_rates_can_be_read_on_their_ground(colour: str) -> None:
    assert contrast(colour, LIGHT.ink(colour)) >= 4.5


def test_lines_that_end_together_share_a_label() -> None:
    def labels(*ends: float) -> list[str]:
        curves = [Curve(f"c{number}", (0.1, end)) for number, end in enumerate(ends)]
        return [
            note.text for note in l2_figure([1 << 20, 2 << 20], curves, 1, LIGHT).layout.annotations
        ]

    assert labels(0.9, 0.3) == ["c1", "c0"]
    assert labels(0.90, 0.88) == ["c0<br>c1"]


def test_the_curve_marks_the_design_and_labels_it() -> None:
    sizes = [16 << 20, 32 << 20, 96 << 20]
    figure = l2_figure(sizes, [Curve("Zn 3", (0.2, 0.5, 0.9))], 32 << 20, LIGHT)
    assert figure.data[0].x == (16.0, 32.0, 96.0)
    assert figure.data[-1].x == (32.0, 32.0)
    assert 32.0 in figure.layout.xaxis.tickvals


def test_shares_are_parts_of_the_mean_and_few_worst_are_marked() -> None:
    figure = shares_figure(np.array([10.0, 10, 10, 10, 20, 0]), LIGHT)
    assert figure.data[0].y.tolist() == [100, 100, 100, 100, 200, 0]
    assert list(figure.data[0].marker.color).count(LIGHT.hot) == 1
    even = shares_figure(np.ones(6), LIGHT)
    assert LIGHT.hot not in list(even.data[0].marker.color)
    assert shares_figure(np.zeros(4), LIGHT).data[0].y.tolist() == [0, 0, 0, 0]


def test_more_workers_than_pixels_keep_their_largest() -> None:
    shares = np.ones(10_000)
    shares[7777] = 5.0
    bars = shares_figure(shares, LIGHT).data[0]
    assert len(bars.y) <= 512
    assert max(bars.y) == pytest.approx(500, rel=0.01)


def _small(fields: dict[str, Any]) -> Any:
    return small_map(plan(make_design({"study": "schedule", "tile": [1, 1], **fields})), LIGHT)


def test_a_small_map_walks_the_order() -> None:
    figure = _small({"problem": [3, 2, 1], "policy": "catlass", "offset": 2})
    wanted = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (2, 0)]
    for trace in figure.data[1:]:
        assert list(zip(trace.y, trace.x, strict=True)) == wanted
    assert figure.data[0].z.shape == (3, 2)


def test_a_large_small_map_has_no_way() -> None:
    figure = _small({"problem": [300, 300, 1], "policy": "row_major"})
    assert len(figure.data) == 1
    assert max(figure.data[0].z.shape) <= 128
