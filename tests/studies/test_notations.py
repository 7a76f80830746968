"""One layout in every notation: the same map wherever there is a text."""

from __future__ import annotations

import itertools

import pytest

from tileviz.errors import DesignError
from tileviz.layouts import parse_layout
from tileviz.layouts.cute import parse_cute
from tileviz.studies.notations import (
    from_matrix,
    index_expression,
    matrix_expression,
    notations,
    parse_matrix,
)

TEXTS = [
    "S[(4, 8):(8, 1)]",
    "S[(4, 8):(1, 4)]",
    "S[(2, 3, 4):(20, 4, 1)]",
    "S[(4, 8):(8, 1)] + 64",
    "Swizzle(0, 2, 3) o S[(8, 8):(8, 1)]",
    "Sw<2,1,-3> o S[64]",
    "((2,4),8):((1,16),2)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_every_notation_is_the_same_map(text: str) -> None:
    layout = parse_layout(text)
    said = notations(text)
    assert parse_layout(said.tvm.text).table()["m"].tolist() == layout.table()["m"].tolist()
    extents = (8, 8) if text.startswith("((2,4)") else layout.extents
    expression = index_expression(layout, extents)
    assert said.index.text == str(expression)
    for coordinate in itertools.product(*map(range, extents)):
        values = {f"i{dim}": value for dim, value in enumerate(coordinate)}
        wanted = int(layout.apply(coordinate, extents)["m"])
        assert expression.evaluate(values) == wanted
        if said.cute.text is not None:
            assert parse_cute(said.cute.text)(*coordinate) == wanted
    if said.matrix.text is not None:
        columns = parse_matrix(said.matrix.text)
        index = matrix_expression(columns)
        table = [int(index.evaluate({"i": i})) for i in range(layout.size)]
        assert table == layout.table()["m"].tolist()


def test_what_has_no_text_has_a_reason() -> None:
    said = notations("S[(2, 3):(3, 1)] + 5")
    assert said.cute.text is None and "add that to the pointer" in said.cute.reason
    assert said.matrix.text is None and "no power of two" in said.matrix.reason
    assert said.index.text == "i0 * 3 + i1 + 5"
    threads = notations("S[(4, 8):(1@laneid, 1)]")
    assert "maps to laneid" in threads.index.reason
    assert "maps to laneid" in threads.cute.reason
    assert threads.matrix.reason.endswith("another axis than memory.")


def test_a_shape_must_fit() -> None:
    with pytest.raises(DesignError, match="has 30 elements and the layout 32"):
        notations("S[(4, 8):(8, 1)]", (5, 6))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1 to 20 element bits"),
        ("10\n1", "a row is 2 digits"),
        ("12\n01", "a row is 2 digits"),
        ("11\n11", "cannot be expressed: two columns"),
    ],
)
def test_bad_matrices_are_refused(text: str, message: str) -> None:
    with pytest.raises(DesignError) as caught:
        from_matrix(text)
    assert message in caught.value.message
