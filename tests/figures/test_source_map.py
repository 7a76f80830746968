"""The small picture of a text: a bar a line, shared memory in another colour, any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tileviz.figures.source_map import thumbnail
from tileviz.studies.registry import presets

PRESETS = [preset for preset in presets() if preset.study == "kernel"]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_shared_memory_has_its_colour(preset: object) -> None:
    picture = thumbnail(preset.design.source)
    assert ("var(--lane-0)" in picture) == ("__shared__" in preset.design.source)
    assert "var(--lane-1)" in picture


def test_lines_are_bars_and_comments_none() -> None:
    picture = thumbnail(
        "// nothing\n/* of\nthis */ __shared__ int a[4];\n    int b = a[1];\n int c;"
    )
    assert 'aria-label="CUDA text of 3 lines, 1 shared array"' in picture
    assert picture.count("var(--lane-0)") == 2 and picture.count("var(--lane-1)") == 1


@given(some.text(max_size=300))
def test_any_text_is_drawn_and_none_becomes_html(source: str) -> None:
    assert "<script" not in thumbnail(f"<script>{source}")
