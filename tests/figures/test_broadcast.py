"""One warp of a block as cells: classes, texts, hover, words, thumbnail."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from tileviz.figures import broadcast as figure
from tileviz.figures.tokens import DARK, IDLE, LIGHT
from tileviz.studies.broadcast.picture import NOTHING, Picture, picture
from tileviz.studies.broadcast.plan import BroadcastPlan, plan
from tileviz.studies.registry import make_design, presets

PRESETS = [preset for preset in presets() if preset.study == "broadcast"]


def _plan(out: list[int], operands: list[list[int]]) -> BroadcastPlan:
    return plan(make_design({"study": "broadcast", "out": out, "operands": operands}))


@pytest.fixture(scope="module")
def seed() -> BroadcastPlan:
    return _plan([64, 56, 56, 192], [[1, 1, 1, 192]])


def _texts(drawn: dict[str, object]) -> np.ndarray:
    maps = [trace for trace in drawn["data"] if trace["type"] == "heatmap" and "text" in trace]
    text = np.array(maps[0]["text"])
    for trace in maps[1:]:
        more = np.array(trace["text"])
        text = np.where(text == "", more, text)
    return text


def _spec(shown: Picture, warp: int = 0) -> dict[str, object]:
    return json.loads(figure.warp_map(shown, warp, LIGHT).to_json())


def test_before_loads_again_what_after_keeps(seed: BroadcastPlan) -> None:
    before, after = picture(seed, "before"), picture(seed, "cinn")
    # 256 threads step over 192 channels: a quarter of the first step wraps, but within the step.
    assert [set(row.tolist()) for row in figure.states(before)] == [{2}, {4}, {4}, {4}]
    assert [set(row.tolist()) for row in figure.states(after)] == [{2}, {0}, {0}, {0}]


def test_a_cell_says_the_operand_s_element(seed: BroadcastPlan) -> None:
    text = _texts(_spec(picture(seed, "before"), warp=1))
    thread = 32 + np.arange(32)
    wanted = (np.arange(4)[:, None] * 256 + thread) % 192
    assert (text == wanted.astype(str)).all()


def test_the_hover_names_thread_step_outputs_and_values(seed: BroadcastPlan) -> None:
    drawn = figure.warp_map(picture(seed, "ours"), 0, LIGHT)
    target = drawn.data[-1]
    places = zip(target.x.tolist(), target.y.tolist(), strict=True)
    hover = dict(zip(places, target.customdata, strict=True))
    stride = seed.ours.stride
    assert hover[3, 1].tolist() == [3, 1, stride + 12, stride + 15, 12, 15, 0, 0]
    assert hover[3, 0].tolist() == [3, 0, 12, 15, 12, 15, 1, 0]
    assert "b[%{customdata[4]}]" in target.hovertemplate


def test_four_steps_stand_for_all(seed: BroadcastPlan) -> None:
    ours = picture(seed, "ours")
    assert ours.steps == 15
    assert figure.warp_states(ours, 0).shape == (figure.STEPS, figure.LANES)
    assert _spec(ours)["layout"]["yaxis"]["ticktext"] == ["k0", "k1", "k2", "k3"]


def test_elements_that_are_not_there_are_idle() -> None:
    small = picture(_plan([3, 33], [[33]]), "before")
    classes = figure.states(small)
    assert int((classes != IDLE).sum()) == 99
    assert (classes[small.element == NOTHING] == IDLE).all()
    last = figure.warp_states(small, figure.warps(small) - 1)
    assert (last[:, 3:] == IDLE).all()
    drawn = figure.warp_map(small, figure.warps(small) - 1, LIGHT)
    assert len(drawn.data[-1].x) == 3  # Idle cells answer no pointer.


def test_numbers_too_long_for_a_cell_are_left_to_the_hover() -> None:
    big = _plan([4, 1 << 20], [[1, 1 << 20]])
    first, last = (picture(big, "before", 0, block) for block in (0, 1023))
    assert (_texts(_spec(first)) != "").all()
    drawn = _spec(last)
    assert all(
        (np.array(trace["text"]) == "").all()
        for trace in drawn["data"]
        if trace["type"] == "heatmap" and "text" in trace
    )


def test_frames_are_named_only_where_few_load_again() -> None:
    declined = next(preset for preset in PRESETS if preset.name == "broadcast-declined")
    before = picture(plan(declined.design), "before")
    framed = {warp: figure.few_again(before, warp) for warp in range(figure.warps(before))}
    for warp, few in framed.items():
        again = int((figure.warp_states(before, warp) == figure.CLASSES[2]).sum())
        assert few == (0 < again < figure.STEPS * figure.LANES / 4)
    assert set(framed.values()) == {True, False}


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_counts_and_description_agree_with_the_block(preset: object) -> None:
    for version in ("before", "ours"):
        shown = picture(plan(preset.design), version)
        words = figure.counts(shown)
        assert words.startswith(f"{shown.loads_per_thread} load")
        again = int((figure.states(shown) == figure.CLASSES[2]).sum())
        assert (f"{again:,} of" in words) == (again > 0)
        parts = re.findall(r"(\d+) (in a register|loaded again|loaded)", figure.describe(shown, 0))
        cells = figure.warp_states(shown, 0)
        assert sum(int(count) for count, _ in parts) == int((cells != IDLE).sum())


def test_both_themes_use_their_own_colours(seed: BroadcastPlan) -> None:
    before = picture(seed, "before")
    for theme in (LIGHT, DARK):
        drawn = json.dumps(json.loads(figure.warp_map(before, 0, theme).to_json())["data"])
        assert theme.passes[4] in drawn


def test_the_thumbnail_shows_rows_alike_where_one_load_is_enough(seed: BroadcastPlan) -> None:
    html = figure.thumbnail(picture(seed, "before"), picture(seed, "cinn"))
    before, after = html.split('<i class="gap"></i>')
    bars = [re.findall(r"linear-gradient\([^\"]*\)", part) for part in (before, after)]
    assert len(bars[0]) == len(bars[1]) == 4
    assert len(set(bars[0])) > 1
    assert len(set(bars[1])) == 1
