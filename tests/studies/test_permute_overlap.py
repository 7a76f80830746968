"""Stages of a pipeline that overwrite each other are told everywhere, and never called correct."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tileviz import api
from tileviz.checking import check
from tileviz.checking.junit import Checked, junit
from tileviz.cli import app
from tileviz.comparing import compare
from tileviz.runners.words import run_statement
from tileviz.studies.permute import explain
from tileviz.studies.permute.geometry import geometry
from tileviz.studies.permute.overlap import stage_overlap
from tileviz.studies.permute.plan import plan
from tileviz.studies.registry import preset

OVER = "S[(2, 1, 4, 32):(128, 128, 33, 1)]"
SAID = "stage 1 writes (1, 0, 0, 0) over (0, 0, 3, 29) of stage 0, at address 128."


def demo(destination: str = OVER, **fields: Any) -> Any:
    document = preset("permute-demo").design.document()
    return api.design({**document, "dst": {"layout": destination}, **fields})


def test_the_verdict_and_the_results_name_both_elements_and_the_address() -> None:
    planned = api.plan(demo())
    said = explain.verdict(planned)
    assert said.state == "attention" and said.sentence == f"Stages overlap: {SAID}"
    assert said.facts.startswith("3 of 256 elements are overwritten before the end. A stage by")
    assert "conflict-free, read 4 wavefronts (ideal 4)" in said.facts
    assert planned.to_json()["overlap"] == {
        "kind": "write", "stages": [0, 1], "first": [0, 0, 3, 29], "second": [1, 0, 0, 0],
        "address": 128, "count": 3, "total": 256,
    }  # fmt: skip
    table = explain.tables(planned)[0]
    assert table.title == "stages overlap"
    assert table.rows[0] == ("stage 0 writes", "(0, 0, 3, 29)", "128")
    # What the reference decides is another matter.
    assert planned.reference.outcome == "ok"


def test_a_stage_stride_of_zero_loses_the_whole_first_stage() -> None:
    found = api.plan(demo("S[(2, 1, 4, 32):(0, 128, 33, 1)]")).overlap
    assert found.second == (1, 0, 0, 0) and found.count == 128
    assert api.plan(demo("S[(2, 1, 4, 32):(132, 128, 33, 1)]")).overlap is None
    assert api.plan(preset("permute-demo").design).to_json()["overlap"] is None


def test_the_run_says_so_too() -> None:
    _, done = api.run(demo(), on="emulator")
    said = run_statement(done)
    assert "Stages overlap: stage 1 writes" in api.kernel(demo()).source
    assert done.verified and said.state == "attention"
    assert said.sentence == "Output equals the reference, 259 of 259 elements."
    assert SAID in said.facts and SAID in str(done.to_json()["caution"])
    _, clean = api.run(preset("permute-demo").design, on="emulator")
    assert run_statement(clean).state == "ok" and clean.to_json()["caution"] == ""


def test_in_place_a_stage_may_read_too_late() -> None:
    late = demo(
        "S[(2, 4, 32):(-128, 1, 4)] + 128",
        src={"layout": "S[(2, 4, 32):(128, 32, 1)]"},
        in_place=True,
    )
    said = explain.verdict(api.plan(late))
    assert said.sentence == (
        "Stages overlap: stage 1 reads (1, 0, 0) after stage 0 wrote (0, 0, 0) there, at "
        "address 128."
    )
    assert said.facts.startswith("128 of 256 elements are overwritten before being read.")


def test_check_notes_it_and_compare_decides_by_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = check(demo(), {"max_excess": 0})
    assert found.passed and SAID in found.to_json()["notes"][0]
    assert SAID in junit([Checked("demo", found)])
    text = json.dumps(demo().document())
    printed = CliRunner().invoke(app, ["check", text, "--max-excess", "0"])
    assert printed.exit_code == 0 and SAID in printed.stdout
    as_json = CliRunner().invoke(app, ["check", text, "--max-excess", "0", "--json"])
    assert SAID in json.loads(as_json.stdout)["notes"][0]["note"]
    both = compare(demo(), preset("permute-demo").design)
    assert both.better == "right" and "elements lost" in both.statement.sentence


@settings(max_examples=60)
@given(
    strides=st.tuples(*[st.integers(-9, 40)] * 3),
    dim=st.integers(0, 2),
    in_place=st.booleans(),
)
def test_it_is_found_exactly_where_a_replay_of_the_stages_loses_elements(
    strides: tuple[int, int, int], dim: int, in_place: bool
) -> None:
    design = api.design(
        study="permute",
        src={"layout": "S[(4, 2, 8):(16, 8, 1)]"},
        dst={"layout": f"S[(4, 2, 8):({strides[0]}, {strides[1]}, {strides[2]})] + 90"},
        stages={"dim": dim, "count": 2},
        in_place=in_place,
    )
    planned = plan(design)
    if planned.ours is None:
        return
    placed = geometry(design, 4)
    buffer = np.arange(max(placed.src.span, placed.dst.span))
    source = buffer.copy()
    target = source if in_place else np.zeros_like(buffer)
    for read, write in zip(placed.src.positions, placed.dst.positions, strict=True):
        target[write] = source[read]
    lost = not np.array_equal(target[placed.dst.positions], buffer[placed.src.positions])
    assert (stage_overlap(design) is not None) == lost
    assert planned.overlap == stage_overlap(design)


def test_the_hardware_card_claims_only_what_both_rules_were_measured_on() -> None:
    planned = api.plan(preset("permute-demo").design)
    card = explain.cards(planned)[1]
    assert "sm_110" in card.evidence and "80" not in card.evidence
    source = planned.to_json()["hardware"]["source"]
    assert "sm_110" in source and "80" not in source
