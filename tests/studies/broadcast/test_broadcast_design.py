"""Broadcast designs: bad input gets one clear line that names field, value and what is allowed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.errors import DesignError
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.link import SHAPES
from tileviz.studies.broadcast.plan import plan
from tileviz.studies.design import validated

GOOD: dict[str, Any] = {"operands": [[1, 1, 1, 192]], "out": [64, 56, 56, 192]}


def design(**fields: Any) -> BroadcastDesign:
    return validated(BroadcastDesign, {**GOOD, **fields})


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"operands": [[5]]}, "operands.0", "b does not broadcast on axis 3: extent 5, must be 1"),
        ({"operands": [[3, 1, 1]]}, "operands.0", "axis 1: extent 3, must be 1 or 56"),
        ({"operands": [[1], [64, 9, 1, 1]]}, "operands.1", "b1 does not broadcast on axis 1"),
        ({"operands": [[1, 1, 1, 1, 192]]}, "operands.0", "rank 5, the output only 4"),
        ({"operands": [[-1]]}, "operands.0", r"axis 3: extent dynamic \(-1\), must be 1 or 192"),
        ({"operands": []}, "operands", "at least 1 item"),
        ({"operands": [[1]] * 9}, "operands", "at most 8 items"),
        ({"operands": [192]}, "operands.0", "valid tuple"),
        ({"operands": [[0]]}, "operands.0", "axis 0 has extent 0; allowed: 1 or more"),
        ({"operands": [[1] * 9]}, "operands.0", "rank 9; at most 8"),
        ({"out": []}, "out", "needs 1 to 8 extents"),
        ({"out": [1] * 9}, "out", "rank 9; at most 8"),
        ({"out": [4, 0, 192]}, "out", "axis 1 has extent 0; allowed: 1 or more, or -1"),
        ({"out": [4, -2, 192]}, "out", "axis 1 has extent -2"),
        ({"out": [1 << 33, 192]}, "out", r"at most 1099511627776 \(2\^40\)"),
        ({"out": [10**40, 192]}, "out", r"2\^40"),
        ({"out": ["x"]}, "out.0", "valid integer"),
        ({"dtype": "float33"}, "dtype", "unknown dtype; allowed: int8"),
        ({"dtype": "float32x4"}, "dtype", "unknown dtype"),
        ({"dtype": "uint128"}, "dtype", "unknown dtype"),
        ({"expression": "divide"}, "expression", "unknown expression; allowed: add, batchnorm"),
        ({"expression": "batchnorm", "operands": [[1], [1]]}, "operands", "takes 4 shapes"),
        ({"sm_count": 0}, "sm_count", "greater than or equal to 1"),
        ({"threads": 4}, "threads", "unknown field"),
    ],
)
def test_bad_fields_are_named(fields: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(DesignError, match=message) as caught:
        design(**fields)
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


def test_one_shape_is_repeated_and_names_follow_the_expression() -> None:
    found = design(expression="batchnorm")
    assert found.shapes == ((1, 1, 1, 192),) * 4
    assert found.names == ("mean", "var", "scale", "bias")
    assert design(expression="relu").expression == "relu(x*a+b)"


def test_the_largest_size_is_accepted() -> None:
    assert plan(design(out=[1 << 32, 256], operands=[[256]])).ours is not None


def test_documents_come_back() -> None:
    found = design(operands=[[], [192]], dtype="bfloat16")
    assert validated(BroadcastDesign, found.document()) == found
    assert SHAPES.read(SHAPES.write([[], [1, 192]])) == [[], [1, 192]]
    with pytest.raises(DesignError, match="extents such as"):
        SHAPES.read("1,-,2")


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12)),
        lambda inner: st.lists(inner, max_size=4),
        max_leaves=8,
    ),
    st.sampled_from(["operands", "out", "dtype", "sm_count", "expression"]),
)
def test_any_value_is_a_design_or_a_design_error(value: Any, field: str) -> None:
    try:
        found = design(**{field: value})
    except DesignError as error:
        assert error.field
        json.dumps(error.to_json())
    else:
        json.dumps(plan(found).to_json())
