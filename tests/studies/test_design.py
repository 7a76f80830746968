"""Designs: bad input gets one clear line that names field, value and what is allowed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.errors import DesignError
from tileviz.studies.registry import make_design, presets

GOOD = {
    "study": "permute",
    "src": {"layout": "S[(4, 32):(32, 1)]"},
    "dst": {"layout": "S[(4, 32):(1, 4)]"},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    document = json.loads(json.dumps(GOOD))
    place = document
    *outer, last = path.split(".")
    for name in outer:
        place = place.setdefault(name, {})
    place[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    [
        ("study", "weave", "study", "must be one of"),
        ("src", None, "src", "valid dictionary"),
        ("src.layout", "S[(4, 32]", "src.layout", "expected"),
        ("src.layout", 7, "src.layout", "valid string"),
        ("src.layout", "S[" + "2," * 3000 + "2]", "src.layout", "4096|4,096|8"),
        ("src.layout", "S[(2000, 2000)]", "src.layout", "1048576|1,048,576"),
        ("src.shape", [], "src.shape", "1 to 8 dimensions"),
        ("src.shape", [1] * 9, "src.shape", "1 to 8 dimensions"),
        ("src.shape", [-4, 32], "src.shape", "extents must be 1 or more"),
        ("src.shape", [1 << 21], "src.shape", "1048576 elements"),
        ("src.region", [[0, 4]], "src.region", "each of 2 dimensions"),
        ("src.region", [[0, 5], [0, 32]], "src.region.0", "0 <= begin <= end <= 4"),
        ("src.region", [[3, 1], [0, 32]], "src.region.0", "0 <= begin <= end <= 4"),
        ("dtype", "float33", "dtype", "unknown dtype"),
        ("src.dtype", "x", "src.dtype", "unknown dtype"),
        ("scope", "grid", "scope", "'thread', 'warp'"),
        ("block", [33, 1, 1], "block", "multiple of 32"),
        ("block", [2048], "block", "1024 threads"),
        ("stages", {"count": 3}, "stages.count", "must divide extent 4"),
        ("stages", {"count": 0}, "stages.count", "greater than or equal to 1"),
        ("stages", {"count": 2, "dim": 2}, "stages.dim", "dimensions 0 to 1"),
        ("space", "tensor", "space", "'shared' or 'global'"),
        ("in_place", "perhaps", "in_place", "boolean"),
        ("in_place", "yes", "in_place", "true or false"),
        ("in_place", 1, "in_place", "true or false"),
        ("block", ["64", 1, 1], "block.0", "a whole number, without quotes"),
        ("stages", {"count": "2"}, "stages.count", "a whole number, without quotes"),
        ("stages", {"count": True}, "stages.count", "a whole number"),
        ("colour", "red", "colour", "unknown field"),
    ],
)
def test_bad_permute_field_is_named(path: str, value: Any, field: str, message: str) -> None:
    with pytest.raises(DesignError, match=message) as caught:
        make_design(changed(path, value))
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"study": "access", "bytes": 3, "addresses": [0]}, "bytes"),
        ({"study": "access", "bytes": 4, "addresses": [0] * 33}, "addresses"),
        ({"study": "access", "bytes": 4, "addresses": [2]}, "addresses.0"),
        ({"study": "access", "bytes": 4, "addresses": [-4]}, "addresses.0"),
        ({"study": "access", "bytes": 4}, "addresses"),
        ({"study": "access", "layout": "S[4:1]"}, "pattern"),
        ({"study": "access", "op": "ldmatrix.x4", "space": "global", "addresses": [0]}, "space"),
        ({"study": "access", "op": "ldgsts.ca", "bytes": 2, "addresses": [0]}, "bytes"),
        ({"study": "layout", "op": "fold", "layout": "S[4:1]"}, "op"),
        ({"study": "layout", "op": "group", "layout": "S[4:1]"}, "shape"),
        ({"study": "layout", "op": "slice", "layout": "S[4:1]", "shape": [4]}, "region"),
        ({"study": "layout", "layout": "S[4:1@nowhere]"}, "layout"),
        ({"study": "access", "bytes": 4, "addresses": [0, "4"]}, "addresses.1"),
        ({"study": "access", "bytes": True, "addresses": [0]}, "bytes"),
        ({"study": "broadcast", "operands": [["8"]], "out": [8]}, "operands.0.0"),
        ([], ""),
    ],
)
def test_other_designs_name_their_fault(document: Any, field: str) -> None:
    with pytest.raises(DesignError) as caught:
        make_design(document)
    assert caught.value.field == field


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12)),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
        max_leaves=6,
    ),
    st.sampled_from(["src", "src.layout", "dst.region", "dst.shape", "block", "stages", "dtype"]),
)
def test_any_value_is_a_design_or_a_design_error(value: Any, path: str) -> None:
    try:
        make_design(changed(path, value))
    except DesignError as error:
        assert error.field
        json.dumps(error.to_json())


def test_caret_stands_under_the_fault() -> None:
    with pytest.raises(DesignError) as caught:
        make_design(changed("src.layout", "S[(4, 32):(32, 1]"))
    text, caret = caught.value.caret().splitlines()
    assert text[caret.index("^")] == "]"


def test_presets_are_designs_and_survive_their_document() -> None:
    names = [found.name for found in presets()]
    assert len(names) == len(set(names)) >= 5
    for found in presets():
        assert make_design(found.design.document()) == found.design
