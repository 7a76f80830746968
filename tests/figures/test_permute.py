"""Pictures of permute plans show the plan's own numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tileviz.figures.permute import (
    ViewName,
    clicked_cell,
    describe,
    phase_map,
    phase_of,
    phase_view,
    thumbnail,
)
from tileviz.figures.tokens import LIGHT
from tileviz.studies.permute.plan import PermutePlan, plan
from tileviz.studies.registry import make_design, presets

PRESETS = [preset for preset in presets() if preset.study == "permute"]


def _plan(src: str, dst: str, **fields: object) -> PermutePlan:
    document = {"study": "permute", "src": {"layout": src}, "dst": {"layout": dst}, **fields}
    return plan(make_design(document))


DEMO = _plan("S[(4, 32):(32, 1)]", "S[(4, 32):(1, 4)]")
GLOBAL = _plan("S[(4, 32):(32, 1)]", "S[(4, 32):(1, 4)]", space="global")
DOUBLES = _plan("S[(4, 32):(32, 1)]", "S[(4, 32):(1, 4)]", dtype="float64")


def test_cells_are_the_banks_of_the_plan() -> None:
    figure = phase_map(DEMO, DEMO.chosen, "write", "lanes", LIGHT)
    banks = DEMO.chosen.write.offsets % 32
    assert np.array_equal(np.array(figure.data[0].text).astype(int), banks)


def test_thick_lines_stand_where_the_xor_changes() -> None:
    def edges(k: int) -> set[float]:
        figure = phase_map(DEMO, DEMO.schedules[k], "read", "lanes", LIGHT)
        lines = [t for t in figure.data if t.type == "scatter" and t.mode == "lines"]
        return {x for trace in lines for x in trace.x if x is not None} - {-0.5, 31.5}

    assert edges(0) == set()
    assert edges(1) == {15.5}
    assert edges(2) == {7.5, 15.5, 23.5}


def test_hover_names_the_element_of_each_cell() -> None:
    targets = phase_map(DEMO, DEMO.chosen, "write", "lanes", LIGHT).data[-1]
    row, lane = 2, 9
    fields = targets.customdata[row * 32 + lane].tolist()
    # Lane, register, byte, bank, passes, offset, then the element's coordinate.
    assert fields == [9, 2, 39 * 4, 7, 1, 39, 3, 9]
    assert targets.hovertemplate.startswith("<b>lane %{customdata[0]}, register %{customdata[1]}")


@pytest.mark.parametrize("planned", [DEMO, GLOBAL, DOUBLES], ids=["demo", "global", "float64"])
@pytest.mark.parametrize("view", ["lanes", "targets"])
def test_a_click_finds_the_lane_that_is_drawn(planned: PermutePlan, view: ViewName) -> None:
    schedule = planned.schedules[0]
    shown = phase_view(planned, schedule, "write", view)
    rows, columns = shown.lane.shape
    for row in range(rows):
        for column in range(columns):
            found = clicked_cell(shown, row, column)
            assert (found is None) == (shown.text[row, column] == "")
            if found and view == "lanes":
                assert found == (column, row)
    assert clicked_cell(shown, rows, 0) is None
    assert clicked_cell(shown, 0, -1) is None


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_every_preset_has_a_thumbnail(preset: object) -> None:
    picture = thumbnail(plan(preset.design))
    assert 'role="img"' in picture
    assert "var(--" in picture


def test_the_description_says_the_cost_in_the_unit_of_the_space() -> None:
    assert "16 wavefronts, ideal 4; at most 4 passes" in describe(
        DEMO, DEMO.schedules[0], "write", "lanes"
    )
    text = describe(GLOBAL, GLOBAL.schedules[0], "write", "lanes")
    assert f"{phase_of(GLOBAL.schedules[0], 'write').cost} sectors" in text
    assert "passes" not in text
