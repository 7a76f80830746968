"""One call each: the same numbers for pages, shell and scripts."""

from __future__ import annotations

from typing import Any

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


DOCUMENT = {"study": "access", "layout": "S[(32, 32):(32, 1)]", "pattern": "column"}


def test_every_call_takes_a_document_as_it_takes_a_design() -> None:
    assert tv.plan(DOCUMENT).to_json() == tv.plan(tv.design(DOCUMENT)).to_json()
    assert tv.explain(DOCUMENT).find("wavefronts")
    assert tv.kernel(DOCUMENT).source == tv.program(DOCUMENT).source
    planned, run = tv.run(DOCUMENT, on="emulator")
    assert planned.design == tv.design(DOCUMENT) and run.verified
    assert not tv.check(DOCUMENT, {"max_excess": 0}).passed
    assert tv.compare(DOCUMENT, {**DOCUMENT, "layout": "S[(32, 32):(33, 1)]"}).better == "right"
    with pytest.raises(tv.DesignError, match="has no bandwidth table"):
        tv.bandwidth(DOCUMENT)


@pytest.mark.parametrize("given", ["permute-demo", None, 3, [DOCUMENT]])
def test_what_is_no_design_is_one_clear_line(given: Any) -> None:
    calls: list[Any] = [tv.plan, tv.explain, tv.kernel, tv.program, tv.run, tv.bandwidth]
    calls += [lambda of: tv.check(of, {"max_excess": 0}), lambda of: tv.compare(of, of)]
    for call in calls:
        with pytest.raises(tv.DesignError, match="a design or its document") as error:
            call(given)
        assert "design" in error.value.field and "\n" not in str(error.value)
    with pytest.raises(tv.DesignError, match=r"right\.study"):
        tv.compare(DOCUMENT, {"study": "weave"})


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
