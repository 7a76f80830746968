"""The table of dimensions writes back into the text, and only what it may."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.layouts import parse_layout
from tileviz.ui.permute.editors import with_dimensions


@pytest.mark.parametrize(
    ("text", "changes", "wanted"),
    [
        ("S[(4,32):(32,1)]", {1: {"stride": 2}}, "S[(4, 32):(32, 2)]"),
        ("Sw<3,4,3> o S[8,64]", {0: {"extent": 16.0}}, "Swizzle(4, 3, 3) o S[(16, 64):(64, 1)]"),
        ("S[4:1@laneid] + R[2:1@warpid]", {0: {"extent": 8}}, "S[8:1@laneid] + R[2:1@warpid]"),
        ("S[4:1]", {0: {"extent": -3, "stride": "x"}, 7: {"extent": 2}}, "S[1:1]"),
    ],
)
def test_only_the_edited_number_changes(
    text: str, changes: dict[int, dict[str, object]], wanted: str
) -> None:
    assert with_dimensions(text, changes) == wanted


_VALUES = st.one_of(
    st.none(),
    st.integers(-10, 64),
    st.floats(-64, 64),
    st.sampled_from([float("nan"), float("inf")]),
    st.text(max_size=3),
)


@given(
    st.dictionaries(
        st.integers(0, 3), st.dictionaries(st.sampled_from(["extent", "stride"]), _VALUES)
    )
)
def test_whatever_a_table_sends_the_text_stays_a_layout(
    changes: dict[int, dict[str, object]],
) -> None:
    parse_layout(with_dimensions("S[(4, 32):(32, 1)]", changes))
