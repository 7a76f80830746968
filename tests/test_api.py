"""One call each: the same numbers for pages, shell and scripts."""

from __future__ import annotations

import pytest

import tileviz as tv
from tileviz.studies.registry import STUDIES, preset, presets


def test_a_large_schedule_runs_as_the_same_grid_of_small_tiles() -> None:
    preset = next(found for found in presets() if found.name == "schedule-ragged")
    plan, run = tv.run(preset.design, on="emulator")
    assert plan.design == preset.design
    assert run.verified
    assert "too large for the emulator" in run.note
    assert '"tile": [8, 8, 8]' in run.note


def test_a_small_design_runs_as_it_is() -> None:
    _, run = tv.run(tv.design(study="access", bytes=4, addresses=[0, 128, None, 4]), on="emulator")
    assert run.verified
    assert run.note == ""


def test_a_run_of_the_beginning_alone_says_so() -> None:
    large = tv.design(study="broadcast", operands=[[192]], out=[256, 64, 64, 192])
    _, run = tv.run(large, on="emulator")
    count = run.outputs["y"].count
    assert run.verified and count < 201_326_592
    assert run.part.startswith(f"runs the first {count:,} of 201,326,592 elements")


def test_a_study_without_cuda_says_so() -> None:
    with pytest.raises(tv.DesignError, match="generates no CUDA"):
        tv.run(tv.design(study="layout", layout="S[4:1]"))


def test_every_study_has_presets() -> None:
    assert {preset.study for preset in presets()} == set(STUDIES)


def test_importing_names_lazily() -> None:
    assert set(dir(tv)) >= {
        "bandwidth",
        "design",
        "plan",
        "kernel",
        "run",
        "parse_layout",
        "TileLayout",
    }
    with pytest.raises(AttributeError, match="no attribute 'weave'"):
        tv.weave  # noqa: B018


def test_a_program_takes_the_whole_of_what_a_run_takes_a_part() -> None:
    published = preset("broadcast-published-256x64x64x192")
    assert published is not None
    assert "a sample" in tv.kernel(published.design).source
    whole = tv.program(published.design)
    assert "a sample" not in whole.source
    assert whole.buffers[0].count == 256 * 64 * 64 * 192
