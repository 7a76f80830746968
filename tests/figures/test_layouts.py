"""Pictures of layouts show the layout's own numbers, each once, and say what they mean."""

from __future__ import annotations

import numpy as np
import pytest

from tileviz.figures.layout_views import (
    CLASSES,
    cell_text,
    cells_key,
    colouring,
    describe,
    map_size,
    most_columns,
    room_for,
)
from tileviz.figures.layouts import layout_map, thumbnail
from tileviz.figures.tokens import IDLE, LIGHT, THEMES, Theme
from tileviz.layouts import parse_layout
from tileviz.studies.layout.forms import facts_of
from tileviz.studies.layout.grid import OUTSIDE, Grid, logical_grid
from tileviz.studies.layout.physical import physical_grid
from tileviz.studies.layout.plan import plan
from tileviz.studies.registry import make_design, presets

PADDED = parse_layout("S[(4, 32):(33, 1)]")
FRAGMENT = parse_layout("S[(8, 4, 2):(4@laneid, 1@laneid, 1)]")
COLLIDING = parse_layout("S[(4, 8):(4, 1)]")
GRIDS = [
    draw(layout)
    for layout in (PADDED, FRAGMENT, COLLIDING)
    for draw in (logical_grid, physical_grid)
]


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: f"{grid.kind}-{grid.axes[0]}")
def test_each_cell_is_written_once_in_an_ink_that_reads(grid: Grid, theme: Theme) -> None:
    found = colouring(grid, "place")
    palette = getattr(theme, found.palette)
    written: dict[tuple[int, int], tuple[str, str]] = {}
    for trace in layout_map(grid, "place", theme).data:
        if trace.type == "heatmap" and trace.text is not None:
            for at in np.argwhere(np.array(trace.text) != "").tolist():
                assert tuple(at) not in written
                written[tuple(at)] = (trace.text[at[0], at[1]], trace.textfont.color)
    text = cell_text(grid)
    wanted = {
        (row, column): (text[row, column], theme.ink(palette[found.classes[row, column]]))
        for row, column in np.argwhere(grid.element >= 0).tolist()
    }
    idle = map(tuple, np.argwhere(grid.element == IDLE).tolist())
    gaps = dict.fromkeys(idle, ("–", theme.muted))
    assert written == wanted | gaps


def test_text_is_the_address_or_the_element_or_how_many_meet() -> None:
    assert cell_text(logical_grid(PADDED))[1, :3].tolist() == ["33", "34", "35"]
    assert cell_text(physical_grid(PADDED))[1, :3].tolist() == ["", "32", "33"]
    assert cell_text(logical_grid(FRAGMENT))[1, :3].tolist() == ["4·0", "4·1", "5·0"]
    assert cell_text(physical_grid(COLLIDING))[0, :6].tolist() == ["0", "1", "2", "3", "2×", "2×"]


@pytest.mark.parametrize("by", ["place", "row"])
@pytest.mark.parametrize("layout", [PADDED, FRAGMENT], ids=str)
def test_an_element_has_one_colour_in_both_pictures(layout: object, by: str) -> None:
    colours = []
    for draw in (logical_grid, physical_grid):
        grid = draw(layout)
        classes = colouring(grid, by).classes
        live = grid.element >= 0
        colours.append(dict(zip(grid.element[live].tolist(), classes[live].tolist(), strict=True)))
    assert colours[0] == colours[1]


def test_colours_are_groups_of_four_banks() -> None:
    grid = logical_grid(PADDED)
    found = colouring(grid, "place")
    assert np.array_equal(found.classes, grid.bank // 4)
    assert found.labels[1] == "4–7"
    halves = logical_grid(PADDED, element_bytes=2)
    assert np.array_equal(colouring(halves, "place").classes, halves.bank // 4)


def test_colours_are_lanes_where_lanes_hold_the_elements() -> None:
    found = colouring(physical_grid(FRAGMENT), "place")
    assert found.palette == "lanes"
    assert found.name == "laneid, mod 8"
    assert found.classes[0].tolist() == [lane % CLASSES for lane in range(32)]


def test_the_pointer_hears_who_first_then_address_and_bank() -> None:
    grid = physical_grid(COLLIDING)
    pointers = [trace for trace in layout_map(grid, "place", LIGHT).data if trace.hovertemplate]
    alone, meeting = pointers
    assert alone.hovertemplate.startswith("<b>(%{customdata[0]}, %{customdata[1]})</b>")
    assert alone.hovertemplate.index("address") < alone.hovertemplate.index("bank")
    assert _said(meeting, 0, 4) == (
        "<b>(0, 4) and (1, 0) share this address</b><br>2 elements in all<br>"
        "address 4 · byte 16<br><b>bank 4</b><extra></extra>"
    )
    assert np.isnan(np.array(meeting.z)[0, 3])
    assert np.isnan(np.array(alone.z)[0, 4])


def _said(trace: object, row: int, column: int) -> str:
    text = trace.hovertemplate
    for at, value in enumerate(trace.customdata[row][column]):
        text = text.replace(f"%{{customdata[{at}]}}", str(int(value)))
    return text


def test_the_pointer_names_lanes_copies_wide_elements_and_gaps() -> None:
    fragment = layout_map(logical_grid(FRAGMENT), "place", LIGHT).data
    pointer = next(trace for trace in fragment if trace.hovertemplate)
    assert "laneid 5 · m 1" in _said(pointer, 1, 3)
    copies = layout_map(logical_grid(parse_layout("S[4:1] + R[2:8]")), "place", LIGHT).data
    assert "the first of 2 copies" in next(t for t in copies if t.hovertemplate).hovertemplate
    wide = layout_map(logical_grid(PADDED, element_bytes=8), "place", LIGHT).data
    assert "and the next 1" in next(t for t in wide if t.hovertemplate).hovertemplate
    gaps = layout_map(physical_grid(PADDED), "place", LIGHT).data
    assert "<b>idle</b><br>address 32 · byte 128<br><b>bank 0</b>" in _said(
        [trace for trace in gaps if trace.hovertemplate][-1], 1, 0
    )


def test_marked_cells_are_outlined_over_a_halo() -> None:
    grid = logical_grid(PADDED)
    marked = np.zeros(grid.element.shape, dtype=bool)
    marked[1:3, 2:5] = True
    lines = [t for t in layout_map(grid, "place", LIGHT, marked).data if t.type == "scatter"]
    assert [trace.line.color for trace in lines[-2:]] == [LIGHT.page, LIGHT.hot]
    x = [at for at in lines[-1].x if at is not None]
    assert (round(min(x), 1), round(max(x), 1)) == (1.4, 4.6)


def test_numbers_go_where_they_would_take_seconds_or_have_no_room() -> None:
    many = logical_grid(parse_layout("S[(64, 64):(64, 1)]"), max_columns=128)
    assert not map_size(many).numbered
    assert all(trace.text is None for trace in layout_map(many, "place", LIGHT).data)
    assert cells_key(many) == "rows: dim 0, columns: dim 1"
    far = parse_layout("S[(32, 32):(1099511627776, 1)]")
    grid = logical_grid(far, max_columns=most_columns(facts_of(far)))
    assert map_size(grid).numbered
    assert map_size(grid).width < 1004


@pytest.mark.parametrize("text", ["S[16384:1]", "S[(128, 128)]", "S[(2048, 8)]", "S[1:1]"])
def test_no_picture_is_wider_than_the_page(text: str) -> None:
    layout = parse_layout(text)
    facts = facts_of(layout)
    for grid in (
        logical_grid(layout, max_columns=most_columns(facts)),
        physical_grid(layout, max_columns=128 if facts.size > 1024 else 32),
    ):
        size = map_size(grid)
        assert size.width <= 1004
        assert size.height <= 1500


def test_pictures_line_up_below_each_other() -> None:
    pair = logical_grid(PADDED), physical_grid(parse_layout("S[(4, 32):(33, 1)] + 4096"))
    room = room_for(pair, pair)
    sizes = [map_size(grid, room) for grid in pair]
    assert sizes[0].left == sizes[1].left > map_size(pair[0]).left
    assert sizes[0].cell == sizes[1].cell
    assert layout_map(pair[0], "place", LIGHT, room=room).layout.margin.l == room.left


def test_the_description_says_what_collides_and_what_is_cut() -> None:
    said = describe(logical_grid(COLLIDING), facts_of(COLLIDING))
    assert "(0, 4) and (1, 0) share the address 4." in said
    large = parse_layout("S[65536:1]")
    assert "49152 are not drawn." in describe(logical_grid(large), facts_of(large))


@pytest.mark.parametrize(
    "preset", [found for found in presets() if found.study == "layout"], ids=lambda one: one.name
)
def test_every_preset_has_a_thumbnail(preset: object) -> None:
    picture = thumbnail(plan(preset.design))
    assert 'role="img"' in picture
    assert "var(--order-" in picture or "var(--lane-" in picture


def test_a_plan_without_a_result_still_has_a_thumbnail() -> None:
    rejected = plan(make_design({"study": "layout", "op": "group", "layout": "S[8]", "shape": [3]}))
    assert "var(--order-0)" in thumbnail(rejected)


def test_nothing_is_drawn_beyond_the_last_address() -> None:
    grid = physical_grid(PADDED)
    outside = grid.element == OUTSIDE
    assert outside.any()
    for trace in layout_map(grid, "place", LIGHT).data:
        if trace.type == "heatmap":
            assert np.isnan(np.array(trace.z, dtype=float)[outside]).all()
