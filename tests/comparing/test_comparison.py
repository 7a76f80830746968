"""Two designs compared: the verdict, every input, and numbers that are the plan's own."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import tileviz as tv
from tileviz.comparing import compare
from tileviz.comparing.comparison import Comparison
from tileviz.comparing.inputs import Field
from tileviz.comparing.measures import Row
from tileviz.comparing.registry import NUMBERS
from tileviz.errors import DesignError
from tileviz.studies.registry import STUDIES, Preset, make_design, preset, presets

RAGGED = {
    "study": "schedule",
    "problem": [2400, 6000, 16384],
    "tile": [128, 256, 256],
    "workers": 24,
    "l2_bytes": 100663296,
}
BROADCAST = {"study": "broadcast", "dtype": "float16", "expression": "relu(x*a+b)"}


def design_of(name: str) -> Any:
    found = preset(name)
    assert found is not None
    return found.design


def made(left: dict[str, Any], right: dict[str, Any], **texts: str) -> Comparison:
    return compare(make_design(left), make_design(right), **texts)


def row(found: Comparison, key: str) -> Row:
    return next(row for row in found.rows if row.measure.key == key)


def field(found: Comparison, name: str) -> Field:
    return next(field for field in found.fields if field.name == name)


def test_padding_wins_by_its_wavefronts() -> None:
    found = compare(design_of("banks-transpose-32x32"), design_of("banks-padding-33"))
    assert found.better == "right"
    assert found.statement.sentence == "Right is better: 1 wavefront against 32, 31 fewer (−97%)."
    assert (row(found, "cost").left, row(found, "cost").right) == (32, 1)
    assert row(found, "cost").difference == "−31"
    assert row(found, "also.st 4 B row").same
    assert [one.name for one in found.fields if not one.same] == ["layout"]


def test_the_same_pair_the_other_way_round_is_the_other_side() -> None:
    found = compare(design_of("banks-padding-33"), design_of("banks-transpose-32x32"))
    assert found.better == "left"
    assert found.statement.sentence.startswith("Left is better: 1 wavefront against 32")
    assert row(found, "cost").difference == "+31"


def test_an_order_wins_by_its_hit_rate() -> None:
    found = made(
        {**RAGGED, "policy": "catlass", "offset": 3, "direction": "zn"},
        {**RAGGED, "policy": "row_major"},
    )
    sentence = "Left is better: L2 hit rate 80.1% against 31.9%, 48.2 points higher."
    assert found.statement.sentence == sentence
    assert row(found, "l2_hit_rate").difference == "−48.2 points"
    assert field(found, "offset").texts == ("3", "–")
    assert field(found, "direction").texts == ("zn", "–")


def test_within_half_a_point_is_no_difference() -> None:
    near = {"study": "schedule", "problem": [4096] * 3, "tile": [128, 256, 256], "workers": 20}
    near["l2_bytes"] = 50331648
    found = made(
        {**near, "policy": "catlass", "offset": 3, "direction": "zn"},
        {**near, "policy": "catlass", "offset": 3, "direction": "nz"},
    )
    left, right = row(found, "l2_hit_rate").left, row(found, "l2_hit_rate").right
    assert left != right
    assert found.better == "equal"


def test_each_may_be_better_at_something() -> None:
    tile = {"study": "access", "layout": "S[(64, 64):(64, 1)]", "bytes": 4, "pattern": "column"}
    other = [{"op": "st", "bytes": 16, "pattern": "row"}]
    plain = {**tile, "also": other}
    spread = {**plain, "layout": "S[(64, 64):(1, 64)]"}
    with pytest.raises(DesignError, match=r"right\."):
        made(plain, spread)  # A row of 16 bytes is not together there.
    found = made({**plain, "also": [{"op": "st", "pattern": "row"}]}, {
        **spread, "also": [{"op": "st", "pattern": "row"}]})  # fmt: skip
    assert found.better == "each"
    assert found.statement.state == "attention"
    assert found.statement.sentence.startswith("Each is better at something. Left: 1 wavefront")
    assert "; Right: 1 wavefront against 32" in found.statement.sentence


def test_what_the_tactic_takes_is_better() -> None:
    found = made(
        {**BROADCAST, "operands": [[1, 1, 1, 33]], "out": [32, 28, 28, 33]},
        {**BROADCAST, "operands": [[1, 1, 1, 64]], "out": [32, 28, 28, 64]},
        left_name="C = 33",
    )
    assert found.statement.sentence == (
        "Right is better: it is taken by CINN's tactic, C = 33 is declined."
    )
    assert "Not the same work: elements 827,904 and 1,605,632." in found.statement.facts
    assert "loads of a value 4 against 1" in found.statement.facts


def test_equal_is_said_to_be_equal() -> None:
    found = compare(design_of("permute-demo"), design_of("permute-in-place"))
    assert found.better == "equal"
    assert found.statement.sentence == "Equal: 8 wavefronts each."
    differing = [one.name for one in found.fields if not one.same]
    assert differing == ["src.layout", "dst.layout", "in_place"]
    same = compare(design_of("permute-demo"), design_of("permute-demo"))
    assert same.statement.sentence == "Equal: both sides are the same design."


def test_two_without_a_schedule_are_equal_in_that() -> None:
    wide = {"study": "permute", "src": {"layout": "S[(32,1024):(1024,1)]"}}
    found = made({**wide, "dst": {"layout": "S[(32,1024):(1,32)]"}},
                 {**wide, "dst": {"layout": "S[(32,1024):(1,33)]"}})  # fmt: skip
    assert found.statement.sentence == "Equal: neither has a schedule."


def test_other_work_is_compared_by_what_is_relative() -> None:
    found = compare(design_of("banks-padding-33"), design_of("banks-ldmatrix-64x64"))
    assert found.statement.sentence == "Left is better: 1 times the ideal against 8 (−88%)."
    assert row(found, "cost").better is None
    assert "Not the same work: op ld and ldmatrix.x4" in found.statement.facts


def test_orders_of_two_products_do_not_compare() -> None:
    found = compare(design_of("schedule-triton"), design_of("schedule-ragged"))
    assert found.better == "open"
    assert found.statement.state == "attention"
    assert "the products differ" in found.statement.sentence
    assert all(one.better is None or one.measure.key == "padding" for one in found.rows
               if one.measure.decides)  # fmt: skip


def test_layouts_count_the_elements_that_lie_elsewhere() -> None:
    rows, columns = design_of("layout-row-major"), design_of("layout-column-major")
    moved = compare(rows, columns)
    assert moved.statement.sentence == (
        "Neither is better: 126 of 128 elements have another address."
    )
    fused = make_design({"study": "layout", "layout": "S[128:1]"})
    assert compare(rows, fused).statement.sentence == (
        "Equal: all 128 elements have the same address."
    )
    shared = make_design({"study": "layout", "layout": "S[(4, 32):(31, 1)]"})
    assert compare(shared, rows).statement.sentence == (
        "Right is better: it is one-to-one, left is not."
    )


def test_what_has_no_result_loses() -> None:
    group = {"study": "layout", "op": "group", "layout": "S[(4,32):(1,4)]"}
    found = made({**group, "shape": [3, 16]}, {**group, "shape": [4, 32]})
    assert found.statement.sentence.startswith("Right is better: it gives a layout")


def test_studies_do_not_mix() -> None:
    with pytest.raises(DesignError) as caught:
        compare(design_of("permute-demo"), design_of("schedule-zn-1"))
    assert str(caught.value) == (
        "right: designs of one study compare; left is of permute, right of schedule"
    )


@pytest.mark.parametrize("name", ["left_name", "right_name", "note"])
def test_long_texts_are_refused(name: str) -> None:
    demo = design_of("permute-demo")
    with pytest.raises(DesignError, match=f"{name}: at most"):
        compare(demo, demo, **{name: "x" * 2001})


def test_names_stand_in_the_verdict_and_two_alike_are_told_apart() -> None:
    pair = design_of("banks-transpose-32x32"), design_of("banks-padding-33")
    named = compare(*pair, left_name="plain", right_name="padded")
    assert named.statement.sentence.startswith("“padded” is better")
    alike = compare(*pair, left_name="x", right_name="x ")
    assert alike.names == ("x (left)", "x (right)")


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_has_numbers_and_every_pair_of_its_presets_a_verdict(study: str) -> None:
    assert study in NUMBERS
    known = [found for found in presets() if found.study == study]
    for left, right in pairwise(known):
        _check(left, right)


def _check(left: Preset, right: Preset) -> None:
    found = compare(left.design, right.design)
    assert found.statement.sentence.endswith(".")
    for one in found.rows:
        # Whatever is judged better is so in its direction, and by more than nothing.
        if one.better is not None:
            values = {"left": float(one.left), "right": float(one.right)}  # type: ignore[arg-type]
            best = (min if one.measure.better == "lower" else max)(values.values())
            assert values[one.better] == best
            assert len(set(values.values())) == 2


# Where each number stands in the results; what is not there is counted by the plan itself.
_PATHS = {
    "access": {"cost": "wavefronts", "ideal": "ideal", "excess": "excess", "n_way": "n_way"},
    "permute": {"read": "ours.read.wavefronts", "write": "ours.write.wavefronts",
                "lower_bound": "ours.lower_bound", "kind": "ours.kind"},
    "schedule": {name: f"metrics.{name}" for name in (
        "l2_hit_rate", "miss_bytes", "balance", "waves", "padding", "mean_wave_footprint_bytes",
        "operand_bytes")} | {"count": "count"},
    "broadcast": {"broadcast_loads_per_thread": "plan.broadcast_loads_per_thread",
                  "vector": "plan.vector", "steps": "plan.steps", "kind": "plan.kind",
                  "applies": "cinn.applies", "loads_before": "cinn.loads_before",
                  "loads_after": "cinn.loads_after", "K": "cinn.K",
                  "launchable": "cinn.launchable"},
    "kernel": {"threads": "threads"},
}  # fmt: skip


@pytest.mark.parametrize("study", _PATHS)
def test_numbers_are_those_of_the_results(study: str) -> None:
    for known in (found for found in presets() if found.study == study):
        document = tv.plan(known.design).to_json()
        found = compare(known.design, known.design)
        for key, path in _PATHS[study].items():
            wanted: Any = document
            for part in path.split("."):
                wanted = None if wanted is None else wanted.get(part)
            shown = next((one.left for one in found.rows if one.measure.key == key), None)
            assert shown == wanted, (known.name, key)


def test_defaults_are_filled_in_and_said_to_be_defaults() -> None:
    found = compare(design_of("banks-transpose-32x32"), design_of("banks-lds128-row"))
    space = field(found, "space")
    assert (space.left, space.left_default, space.same) == ("shared", True, True)
    width = field(found, "bytes")
    assert width.texts == ("–", "16")
    assert not width.right_default
    assert field(found, "also.0.op").right is None


def test_long_values_are_cut_where_they_differ() -> None:
    long = Field("pattern", "a" * 300 + "b" + "c" * 90, "a" * 300 + "d" + "c" * 90)
    left, right = long.texts
    assert left != right
    assert left.startswith("…a")
    assert "(391 characters)" not in left[:40]
    assert len(left) < 140
    text = Field("source", "int x;\nint y;", "int x;\nint z;")
    assert text.texts == ("2 lines of text", "2 lines of text")
    assert not text.same


def test_true_is_not_one() -> None:
    assert not Field("in_place", True, 1).same


def test_python_has_the_same_door() -> None:
    found = tv.compare(design_of("banks-transpose-32x32"), design_of("banks-padding-33"))
    assert found.to_json()["better"] == "right"
    assert found.to_json()["numbers"][0] == {
        "name": "cost",
        "label": "ld 4 B column, wavefronts",
        "unit": "wavefronts",
        "left": 32,
        "right": 1,
        "difference": -31,
        "same": False,
        "better": "right",
        "decides": True,
    }
