"""Links: complete, readable, and safe to open."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.errors import DesignError
from tileviz.export.links import from_query, page_url, parse_link, to_query
from tileviz.studies.registry import make_design, presets

SIDES = {"src": "S[(4, 32):(32, 1)]", "dst": "S[(4, 32):(1, 4)]"}

DOCUMENTS = [
    {
        "study": "permute",
        "src": {"layout": SIDES["src"], "shape": [4, 32], "region": [[0, 2], [0, 32]]},
        "dst": {"layout": SIDES["dst"], "dtype": "uint8"},
        "stages": {"count": 2, "dim": 0},
        "block": [64, 1, 1],
        "scope": "cta",
        "space": "global",
        "in_place": True,
        "dtype": "float16",
    },
    {
        "study": "permute",
        "src": {"layout": "S[4:1]", "region": [[0, None]]},
        "dst": {"layout": "S[4:1]"},
    },
    {"study": "access", "bytes": 8, "op": "st", "addresses": [0, None, 16]},
    {"study": "access", "layout": "S[(32, 32)]", "pattern": "column"},
    {"study": "access", "layout": "S[(32, 32)]", "pattern": [[0, 1], None, [3, 4]]},
    {"study": "layout", "op": "slice", "layout": "S[8:1]", "shape": [8], "region": [[2, 4]]},
    {
        "study": "layout",
        "op": "tile",
        "layout": "S[4:1]",
        "outer": "S[2:1]",
        "outer_shape": [2],
        "inner_shape": [4],
    },
]


@pytest.mark.parametrize("document", DOCUMENTS + [dict(p.document) for p in presets()])
def test_a_link_carries_the_whole_design(document: dict[str, object]) -> None:
    design = make_design(document)
    again, errors = from_query(design.study, to_query(design))
    assert not errors
    assert again == design
    parsed = parse_link("http://localhost:8501" + page_url(design))
    assert parsed.model_dump(exclude={"layout", "src", "dst", "outer"}) == (
        design.model_dump(exclude={"layout", "src", "dst", "outer"})
    )
    assert to_query(parsed).keys() == to_query(design).keys()


def test_defaults_are_left_out() -> None:
    design = make_design({"study": "permute", **{k: {"layout": v} for k, v in SIDES.items()}})
    assert set(to_query(design)) == {"v", "src", "dst"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dtype", "float33"),
        ("stages", "many"),
        ("stages", "3"),
        ("block", "1,2"),
        ("in_place", "yes"),
        ("space", "moon"),
        ("src_region", "0:1"),
        ("src_region", "0-1"),
        ("src_shape", "4,x"),
        ("<script>", "alert(1)"),
        ("v", "99"),
        ("block", "9" * 5000),
        ("dtype", "x" * 9000),
    ],
)
def test_a_bad_value_is_reported_and_the_rest_used(key: str, value: str) -> None:
    design, errors = from_query("permute", {**SIDES, key: value})
    assert design is not None
    assert design == from_query("permute", SIDES)[0]
    assert len(errors) == 1
    assert len(str(errors[0])) < 500


def test_too_little_left_is_no_design() -> None:
    design, errors = from_query("permute", {"src": "S[", "dst": SIDES["dst"]})
    assert design is None
    assert [error.field for error in errors] == ["src.layout"]
    assert errors[0].position == 2


@given(
    st.dictionaries(st.sampled_from([*SIDES, "stages", "block", "src_region", "v", "x"]), st.text())
)
def test_any_query_is_read_or_reported(query: dict[str, str]) -> None:
    design, errors = from_query("permute", query)
    assert design is not None or errors


@pytest.mark.parametrize(
    "link", ["http://h/Nowhere?src=1", "http://[", "/Permute_layout?src=S[4:1]", "?" * 9000]
)
def test_a_broken_link_is_one_line(link: str) -> None:
    with pytest.raises(DesignError):
        parse_link(link)


def test_every_fault_of_a_link_is_reported_even_without_a_layout() -> None:
    design, errors = from_query("permute", {"dst": SIDES["dst"], "dtype": "float33", "x": "1"})
    assert design is None
    assert sorted(error.field for error in errors) == ["dtype", "src", "x"]


def test_a_swizzled_layout_survives_its_link() -> None:
    design = make_design(
        {"study": "layout", "op": "apply", "layout": "Swizzle(3, 3, 3) o S[(8, 64):(64, 1)]"}
    )
    again = parse_link(page_url(design))
    assert again.model_dump()["layout"].replace(" ", "") == "Swizzle(3,3,3)oS[(8,64):(64,1)]"
