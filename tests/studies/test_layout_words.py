"""Layouts written out, what is said about them, and the check of every result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tileviz import api
from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, Swizzle, TileLayout, parse_layout
from tileviz.studies.layout.check import keeps_promise
from tileviz.studies.layout.design import LayoutDesign, uses
from tileviz.studies.layout.explain import facts_table, tables, verdict
from tileviz.studies.layout.forms import digits_table, facts_of, printed_forms, tvm_form
from tileviz.studies.layout.plan import LayoutPlan, plan

CASES = json.loads((Path(__file__).parents[1] / "oracle/data/tvm_layouts.json").read_text())[
    "cases"
]
PRINTED = [
    (case.get("layout", case.get("result")), case["str"])
    for case in CASES
    if case.get("str") and case.get("layout", case.get("result"))
]
OPERATIONS = [
    case
    for case in CASES
    if case["kind"] in ("canonicalize", "group", "slice", "tile", "direct_sum")
    and case.get("result")
]

CARRY = "S[(3, 2, 4):(100, 7, 1)]"


def _layout(document: Mapping[str, Any]) -> TileLayout | ComposeLayout:
    if "swizzle" in document:
        *letters, inner = document["swizzle"]
        tile = _layout(document["tile"])
        assert isinstance(tile, TileLayout)
        return ComposeLayout(Swizzle(*letters, inner=bool(inner)), tile)
    shard = [tuple(item) for item in document.get("shard", [])]
    replica = [tuple(item) for item in document.get("replica", [])]
    return TileLayout(shard, replica, document.get("offset", {}))


def _plan(**fields: Any) -> LayoutPlan:
    made = api.plan(api.design(study="layout", **fields))
    assert isinstance(made, LayoutPlan)
    return made


def test_the_tvm_form_is_what_tvm_prints() -> None:
    assert len(PRINTED) > 50
    for document, text in PRINTED:
        assert sorted(_terms(tvm_form(_layout(document)))) == sorted(_terms(text)), text


def _terms(text: str) -> list[str]:
    """Return the parts of a printed layout; the reference keeps no order among offsets."""
    return text.replace("(", " ").replace(")", " ").replace("+", " ").split()


@pytest.mark.parametrize(
    "text",
    [
        "S[(4, 32):(33, 1)]",
        "S[(8, 4, 2):(4@laneid, 1@laneid, 1)] + R[2:4@warpid] + 5@warpid",
        "S[4:1] + 3@laneid + 64",
        "R[4:1]",
        "Swizzle(2, 3, 3) o S[(8, 32):(32, 1)]",
        "Swizzle(0, 1, 1, inner=False) o S[16:1] + 8",
    ],
)
def test_every_printed_form_reads_back(text: str) -> None:
    layout = parse_layout(text)
    for name, form in printed_forms(layout):
        assert parse_layout(form) == layout, name


def test_cute_has_no_word_for_threads_copies_offsets_and_outer_swizzles() -> None:
    for text in (
        "S[8:4@laneid]",
        "S[4:1] + R[2:4]",
        "S[4:1] + 64",
        "Swizzle(0, 1, 1, inner=False) o S[16:1]",
    ):
        assert [name for name, _ in printed_forms(parse_layout(text))] == ["short", "TVM"]
    assert dict(printed_forms(parse_layout("S[(2, 4):(1, 2)]")))["CuTe"] == "(2,4):(1,2)"


def test_the_terminal_shows_what_the_page_shows() -> None:
    made = _plan(op="span", layout="S[(4, 32):(33, 1)]")
    shown = {table.title: dict(row[:2] for row in table.rows) for table in tables(made)}
    assert shown["printed forms"]["TVM"] == "T.TileLayout(T.S[(4, 32):(33, 1)])"
    assert shown["facts"]["one-to-one"] == "yes"
    assert shown["span"] == {"m": "131"}
    refused = _plan(op="group", layout="S[32:1]", shape=[5])
    assert [table.title for table in tables(refused)] == ["printed forms", "digits", "facts"]


def test_the_table_of_digits_has_every_part() -> None:
    layout = parse_layout("S[(8, 4):(4@laneid, 1)] + R[2:4@warpid] + 5@warpid")
    assert digits_table(layout).rows == (
        ("shard", "8", "4", "laneid"),
        ("shard", "4", "1", "m"),
        ("replica", "2", "4", "warpid"),
        ("offset", "", "5", "warpid"),
    )


@pytest.mark.parametrize(
    ("text", "addresses", "one_to_one"),
    [
        ("S[(4, 32):(33, 1)]", "addresses 0 to 130, 3 of them idle", "yes"),
        ("S[1:1] + 7", "addresses 7", "yes"),
        ("S[(4, 8):(4, 1)]", "addresses 0 to 19", "no: (0, 4) and (1, 0) share the address 4"),
        ("S[8:4@laneid] + R[2:1@laneid]", "addresses: laneid 0 to 29, 14 of them idle", "yes"),
        ("S[(8, 2):(4@laneid, 1)]", "addresses: laneid 0 to 28, m 0 to 1", "yes"),
        ("Swizzle(0, 2, 2) o S[5:1]", "addresses 0 to 5, 1 of them idle", "yes"),
        ("S[4:1] + R[1048576:1]", "addresses 0 to 1048578", "yes"),
        ("Swizzle(0, 2, 2) o S[8:1] + R[1048576:1]", "too many addresses to list", "yes"),
    ],
)
def test_facts(text: str, addresses: str, one_to_one: str) -> None:
    facts = facts_of(parse_layout(text))
    assert (facts.addresses, facts.one_to_one) == (addresses, one_to_one)


def test_a_layout_too_large_to_look_at_is_not_called_one_to_one() -> None:
    made = _plan(
        op="tile",
        layout="S[1048576:1]",
        outer="S[1048576:1]",
        outer_shape=[1 << 20],
        inner_shape=[1 << 20],
    )
    assert made.result is not None and made.result.size == 1 << 40
    facts = facts_of(made.result)
    assert facts.one_to_one == "not checked, too many elements"
    assert keeps_promise(made.design, made.result) is None
    assert verdict(made).sentence == "Tile gives S[1099511627776:1]."


def _design_of(case: dict[str, Any]) -> LayoutDesign | None:
    """Return the design of a reference case, None where a design cannot say it."""
    fields = {
        "op": case["kind"],
        "layout": str(_layout(case.get("layout", case.get("inner")))),
        "cuda_target": bool(case.get("cuda_target", 0)),
    }
    for name in ("shape", "region", "outer_shape", "inner_shape"):
        if name in case:
            fields[name] = case[name]
    if "outer" in case:
        fields["outer"] = str(_layout(case["outer"]))
    try:
        design = api.design(study="layout", **fields)
    except DesignError:
        return None
    assert isinstance(design, LayoutDesign)
    return design


def test_what_the_reference_gives_is_what_the_operation_promises() -> None:
    answers = []
    for case in OPERATIONS:
        design = _design_of(case)
        if design is not None:
            answers.append((design, keeps_promise(design, _layout(case["result"]))))
    assert len(answers) > 100
    # The carry through several digits: the reference answers, and its answer is not the region.
    broken = [design for design, held in answers if held is False]
    assert [(design.layout, design.region) for design in broken] == [(CARRY, ((7, 9),))]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"op": "canonicalize", "layout": "S[(4, 32):(32, 1)]"}, "S[128:2]"),
        ({"op": "group", "layout": "S[(4, 8):(8, 1)]", "shape": [32]}, "S[(8, 4):(1, 8)]"),
        (
            {"op": "slice", "layout": "S[16:1]", "shape": [16], "region": [[4, 8]]},
            "S[4:1] + 5",
        ),
        (
            {
                "op": "tile",
                "layout": "S[(2, 2):(1, 2)]",
                "outer": "S[(2, 2):(2, 1)]",
                "outer_shape": [2, 2],
                "inner_shape": [2, 2],
            },
            "S[16:1]",
        ),
    ],
    ids=lambda value: value["op"] if isinstance(value, dict) else "",
)
def test_the_check_notices_a_wrong_result(fields: dict[str, Any], wrong: str) -> None:
    made = _plan(**fields)
    assert made.result is not None
    assert keeps_promise(made.design, made.result) is True
    assert keeps_promise(made.design, parse_layout(wrong)) is False


@pytest.mark.parametrize(
    ("fields", "state", "sentence"),
    [
        ({"layout": "S[(4, 32):(32, 1)]"}, "ok", "One-to-one: 128 elements."),
        (
            {"layout": "S[(4, 8):(4, 1)]"},
            "attention",
            "Not one-to-one: (0, 4) and (1, 0) share the address 4.",
        ),
        ({"op": "span", "layout": "S[(4, 32):(33, 1)]"}, "ok", "The span is 131 on m."),
        ({"op": "canonicalize", "layout": "S[(4, 32)]"}, "ok", "Canonicalize gives S[128:1]."),
        (
            {"op": "canonicalize", "layout": "S[(4, 8):(4, 1)]"},
            "attention",
            "Canonicalize gives S[(4, 8):(4, 1)].",
        ),
        ({"op": "group", "layout": "S[32:1]", "shape": [5]}, "reject", "Group gives nothing."),
        ({"layout": "S[32:1]", "shape": [5]}, "reject", "Apply gives nothing."),
    ],
)
def test_verdicts(fields: dict[str, Any], state: str, sentence: str) -> None:
    said = verdict(_plan(**fields))
    assert (said.state, said.sentence) == (state, sentence)
    assert said.facts == "" or said.facts.endswith(".")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("S[(4, 32):(32, 1)]", "2 digits became 1; every element keeps its address."),
        ("S[(4, 32):(33, 1)]", "It was canonical already; every element keeps its address."),
        ("S[(4, 2):(1@warpid, 1@m)] + R[2:8@laneid]", "As many digits as before; every"),
    ],
)
def test_what_canonicalize_changed(text: str, said: str) -> None:
    made = _plan(op="canonicalize", layout=text, cuda_target=True)
    assert verdict(made).facts.startswith(said)


def test_a_slice_that_is_not_the_region_is_said_so() -> None:
    said = verdict(_plan(op="slice", layout=CARRY, shape=[24], region=[[7, 9]]))
    assert said.state == "attention"
    assert "which is not this region" in said.sentence


@pytest.mark.parametrize(
    ("fields", "operand", "result"),
    [
        ({"layout": "S[(4, 32)]", "shape": [8, 16]}, (8, 16), (8, 16)),
        ({"op": "canonicalize", "layout": "S[(4, 32)]"}, (4, 32), (4, 32)),
        ({"op": "group", "layout": "S[(4, 32)]", "shape": [8, 16]}, (4, 32), (8, 16)),
        (
            {"op": "slice", "layout": "S[128:1]", "shape": [4, 32], "region": [[1, 3], [0, 8]]},
            (4, 32),
            (2, 8),
        ),
        (
            {
                "op": "tile",
                "layout": "S[16:1]",
                "outer": "S[(2, 1)]",
                "outer_shape": [2, 1],
                "inner_shape": [4, 4],
            },
            (4, 4),
            (8, 4),
        ),
        ({"op": "span", "layout": "R[4:1]"}, (1,), (1,)),
    ],
    ids=lambda value: value.get("op", "apply") if isinstance(value, dict) else "",
)
def test_shapes_that_layouts_are_seen_in(
    fields: dict[str, Any], operand: tuple[int, ...], result: tuple[int, ...]
) -> None:
    made = _plan(**fields)
    assert (made.operand_shape, made.result_shape) == (operand, result)
    facts_table(made, made.operand, made.operand_shape)


def test_a_slice_knows_its_elements() -> None:
    made = _plan(op="slice", layout="S[32:1]", shape=[4, 8], region=[[1, 3], [2, 4]])
    assert made.region_elements is not None
    assert np.flatnonzero(made.region_elements).tolist() == [10, 11, 18, 19]
    assert _plan(layout="S[32:1]").region_elements is None


def test_the_element_decides_bytes_and_nothing_else() -> None:
    wide = _plan(layout="S[(4, 32)]", dtype="float64")
    assert ("span", "128, 1024 bytes") in facts_table(wide, wide.operand, (4, 32)).rows
    assert wide.to_json() == _plan(layout="S[(4, 32)]").to_json()
    for name in ("float99", "float4_e2m1fn", "x"):
        with pytest.raises(DesignError) as caught:
            api.design(study="layout", layout="S[4]", dtype=name)
        assert caught.value.field == "dtype"


def test_every_field_of_an_operation_is_a_field_of_the_design() -> None:
    for op in ("apply", "canonicalize", "group", "slice", "tile", "direct_sum", "span"):
        assert set(uses(op)) <= set(LayoutDesign.model_fields)
    assert plan(_plan(layout="S[4]").design).result is not None
