"""Pictures of one instruction, against plain references that walk lane by lane."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.figures.bank_strips import (
    bank_strip,
    lane_strip,
    line_map,
    served,
    thumbnail,
    wavefront_map,
)
from tileviz.figures.banks import MAP_WIDTH, describe_tile, tile_classes, tile_map
from tileviz.figures.tokens import DARK, IDLE, LIGHT, PRINT, THEMES, pass_classes
from tileviz.memory import bank_load
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.shown import Instruction, instruction, sweeps
from tileviz.studies.access.window import window
from tileviz.studies.design import validated
from tileviz.studies.registry import Preset, preset, presets

PRESETS = [found for found in presets() if found.study == "access"]


def first(design: AccessDesign, access: int = 0) -> Instruction:
    sweep = sweeps(design)[access]
    return instruction(design, sweep, sweep.start)


def of(name: str) -> tuple[AccessDesign, Instruction]:
    design = preset(name).design
    return design, first(design)


@st.composite
def _addressed(draw: st.DrawFn, space: str) -> Instruction:
    op = draw(st.sampled_from(["ld", "st", "atom", "ldgsts.ca"] if space == "shared" else ["ld"]))
    width = draw(st.sampled_from([1, 2, 4, 8, 16] if op in ("ld", "st") else [4, 8]))
    units = draw(st.lists(st.none() | st.integers(0, 200), min_size=1, max_size=32))
    addresses = [None if unit is None else unit * width for unit in units]
    design = {"space": space, "op": op, "bytes": width, "addresses": addresses}
    return first(validated(AccessDesign, design))


@given(_addressed("shared"))
def test_every_word_is_served_once_in_as_many_passes_as_are_counted(shown: Instruction) -> None:
    found = served(shown)
    assert len(found.lane) == shown.verdict.wavefronts
    wanted: dict[tuple[int, int], list[object]] = defaultdict(list)
    merges = shown.accesses.op in ("ld", "st")
    for lane in np.flatnonzero(shown.active).tolist():
        for byte in range(0, max(shown.accesses.bytes, 4), 4):
            word = (int(shown.accesses.addresses[0, lane]) + byte) // 4
            slot = wanted[lane // shown.group_size, word % 32]
            request = word if merges else (lane, byte)
            if request not in slot:
                slot.append(request)
    for group in range(32 // shown.group_size):
        for bank in range(32):
            count = len(wanted[group, bank])
            assert found.asked[group, bank] == count
            rows = found.group == group
            assert int((found.lane[rows, bank] >= 0).sum()) == count


@given(_addressed("global"))
def test_lines_show_every_word_that_moves(shown: Instruction) -> None:
    if not shown.active.any():
        return
    figure = line_map(shown, LIGHT)
    drawn = sum(
        int(np.isfinite(np.array(trace.z, dtype=float)).sum())
        for trace in figure.data
        if trace.type == "heatmap" and trace.colorscale[0][1] != LIGHT.idle
    )
    assert drawn == 8 * shown.verdict.sectors
    assert len(figure.layout.yaxis.ticktext) == shown.verdict.lines


def test_a_column_is_framed_and_coloured_by_its_passes() -> None:
    design, shown = of("banks-transpose-32x32")
    part = window(design, shown)
    classes = tile_classes(part, shown)
    assert (classes[:, 0] == pass_classes(np.array([32]))[0]).all()
    assert (classes[:, 1:] == IDLE).all()
    figure = tile_map(part, shown, LIGHT, (9, 5))
    colours = [trace.line.color for trace in figure.data if trace.type == "scatter"]
    assert LIGHT.hot in colours
    assert colours.count(LIGHT.strong) == 2
    assert figure.layout.width == MAP_WIDTH


def test_every_cell_of_the_tile_answers_to_the_pointer() -> None:
    design, shown = of("banks-ldmatrix-64x64")
    part = window(design, shown)
    marks = tile_map(part, shown, DARK).data[-1]
    assert len(marks.x) == 1024
    said = dict(zip(zip(marks.y, marks.x, strict=True), marks.hovertemplate, strict=True))
    assert said[0, 0].startswith("<b>lane 0</b>")
    assert "passes this bank needs: 8" in said[0, 0]
    assert said[20, 20].startswith("row")


def test_lanes_that_share_a_cell_are_counted() -> None:
    design = validated(AccessDesign, {"layout": "S[8,8]", "pattern": [[0, 0]] * 4})
    shown = first(design)
    marks = tile_map(window(design, shown), shown, LIGHT).data[-1]
    assert marks.hovertemplate[0].startswith("<b>lane 0 and 3 more</b>")


def test_numbers_are_banks() -> None:
    design, shown = of("banks-padding-33")
    figure = tile_map(window(design, shown), shown, PRINT)
    texts = {}
    for trace in figure.data:
        if trace.type == "heatmap":
            for (row, column), text in np.ndenumerate(trace.text):
                if text:
                    assert (row, column) not in texts
                    texts[row, column] = int(text)
    assert texts == {(r, c): (33 * r + c) % 32 for r in range(32) for c in range(32)}


def test_a_wavefront_map_has_a_row_for_each() -> None:
    _, shown = of("banks-lds128-column")
    figure = wavefront_map(shown, LIGHT)
    assert len(figure.layout.yaxis.ticktext) == 32
    strip = bank_strip(shown, LIGHT)
    assert list(strip.layout.yaxis.ticktext) == ["g0", "g1", "g2", "g3"]


def test_lanes_of_a_group_are_parted() -> None:
    _, shown = of("banks-fp64-column")
    figure = lane_strip(shown, LIGHT)
    halo = next(trace for trace in figure.data if trace.type == "scatter")
    assert list(halo.x[:2]) == [15.5, 15.5]
    assert bank_load(shown.accesses).max() == 16


@pytest.mark.parametrize("found", PRESETS, ids=lambda one: one.name)
@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda one: one.name)
def test_every_preset_is_drawn(found: Preset, theme: object) -> None:
    design = found.design
    for access in range(len(sweeps(design))):
        shown = first(design, access)
        part = window(design, shown)
        figure = tile_map(part, shown, theme)
        assert figure.layout.width <= MAP_WIDTH
        assert f"{part.element.shape[0]} rows" in describe_tile(part, shown)
        assert part.outside == 0
    assert 'role="img"' in thumbnail(first(design))


def test_a_thumbnail_has_both_states() -> None:
    _, before = of("banks-transpose-32x32")
    _, after = of("banks-padding-33")
    said = thumbnail(before, after)
    assert "32 wavefronts above, 1 wavefront below" in said
    assert "var(--pass-5)" in said and "var(--pass-0)" in said
