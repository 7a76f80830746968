"""The form speaks the language of links, and loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.export.links import from_query, to_query
from tileviz.studies.permute.design import PermuteDesign
from tileviz.studies.registry import make_design, presets
from tileviz.ui.permute.form import FIELDS, PermuteForm, label

PRESETS = [preset for preset in presets() if preset.study == "permute"]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_survives_the_form(preset: object) -> None:
    design = preset.design
    read, errors = PermuteForm.of(design).read()
    assert errors == ()
    assert to_query(read) == {
        key: value.replace(", ", ",") if key not in ("src", "dst") else value
        for key, value in to_query(design).items()
    }


@st.composite
def _designs(draw: st.DrawFn) -> PermuteDesign:
    rows, columns = draw(st.sampled_from([(4, 32), (8, 16), (2, 64)]))
    stages = draw(st.sampled_from([1, 2]))
    side = {"layout": f"S[({rows}, {columns}):({columns}, 1)]"}
    other = {"layout": f"S[({rows}, {columns}):(1, {rows})]"}
    if draw(st.booleans()):
        side["shape"] = [rows, columns]
        side["region"] = [[0, rows // stages], [0, columns]]
    document = {
        "study": "permute",
        "src": side,
        "dst": other,
        "dtype": draw(st.sampled_from(["float32", "bfloat16", "float32x4"])),
        "space": draw(st.sampled_from(["shared", "global"])),
        "scope": draw(st.sampled_from(["warp", "cta"])),
        "in_place": draw(st.booleans()),
        "block": draw(st.sampled_from([[32, 1, 1], [64, 2, 1]])),
    }
    if stages > 1:
        document["stages"] = {"count": stages, "dim": 0}
    design = make_design(document)
    assert isinstance(design, PermuteDesign)
    return design


@given(_designs())
def test_any_design_survives_the_form(design: PermuteDesign) -> None:
    read, errors = PermuteForm.of(design).read()
    assert errors == ()
    assert read == design


@given(st.dictionaries(st.sampled_from([*FIELDS, "v", "colour"]), st.text(max_size=40)))
def test_any_link_gives_a_form_that_keeps_its_text(query: dict[str, str]) -> None:
    form = PermuteForm.from_query(query)
    for side in ("src", "dst"):
        assert getattr(form, side).replace(" ", "") == query.get(side, "").replace(" ", "")
    assert form.space in ("shared", "global")
    assert 1 <= form.stages <= 4096
    form.read()  # Reports; never raises.


def test_a_field_that_was_not_touched_is_not_in_the_link() -> None:
    query = PermuteForm(src="S[32:1]", dst="S[32:1]").query()
    assert set(query) == {"src", "dst"}


def test_a_stage_dimension_alone_is_kept() -> None:
    assert PermuteForm(src="a", dst="b", stage_dim=2).query()["stages"] == "1@2"


@pytest.mark.parametrize(
    "changes",
    [
        {"src": "S[(4, 32"},
        {"dst": ""},
        {"dtype": "float99"},
        {"stages": 3},
        {"src_shape": "4, x"},
        {"src_region": "0:1"},
        {"dst_region": "0:9, 0:32"},
        {"src_dtype": "<b>"},
        {"block": "31"},
        {"stage_dim": 5, "stages": 2},
    ],
    ids=str,
)
def test_every_fault_has_a_name_on_the_page(changes: dict[str, object]) -> None:
    base = {"src": "S[(4, 32):(32, 1)]", "dst": "S[(4, 32):(1, 4)]"}
    design, errors = PermuteForm(**{**base, **changes}).read()
    assert design is None
    assert errors
    assert not label(errors[0].field).startswith("Link key")


def test_the_names_of_links_are_known_to_the_page() -> None:
    design = make_design(
        {
            "study": "permute",
            "src": {"layout": "S[32:1]", "shape": [32], "region": [[0, 32]], "dtype": "int8"},
            "dst": {"layout": "S[32:1]", "shape": [32], "region": [[0, 32]], "dtype": "int8"},
            "dtype": "int8",
            "stages": {"count": 1, "dim": 0},
            "space": "global",
            "scope": "cta",
            "in_place": True,
            "block": [64, 1, 1],
        }
    )
    query = to_query(design)
    assert from_query("permute", query)[1] == ()
    for key in set(query) - {"v"}:
        assert not label(key).startswith("Link key"), key
