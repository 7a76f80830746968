"""The schedule form speaks the language of links, and loses nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.export.links import from_query, to_query
from tileviz.studies.registry import make_design, presets
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.link import KEYS
from tileviz.studies.schedule.policies import NAMES
from tileviz.ui.schedule.form import ScheduleForm, label, own_fields, own_texts

PRESETS = [preset for preset in presets() if preset.study == "schedule"]
BASE = {"study": "schedule", "problem": [300, 500, 64], "tile": [128, 256, 32]}
# A setting of every policy's own parameters, other than their defaults.
SETTINGS: dict[str, dict[str, Any]] = {
    "catlass": {"offset": 3, "direction": "nz"},
    "catlass_splitk": {"offset": 2, "direction": "nz", "splitk": 2},
    "catlass_aswt": {"tail_split_allowed": False},
    "catlass_grouped_aswt": {"group_m": [100, 200], "tail_split_allowed": False},
    "catlass_conv2d": {
        "batch_ho_wo_cout_cin1": [1, 16, 16, 64, 2],
        "tile_ho_wo_cout": [4, 4, 32],
        "problem": [256, 64, 32],
        "tile": [16, 32, 32],
    },
    "cutlass2": {"log_tile": 2},
    "cutlass3": {"cluster": [2, 1], "max_swizzle": 4, "raster_option": "AlongM"},
    "triton_grouped": {"group_m": 4},
    "deepgemm": {"multicast": 2, "multicast_on_a": True},
    "tilelang_panel": {"panel": 2, "axis": "column"},
    "xcd_remap": {"xcds": 4, "chunk": 2},
    "custom": {"order": [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]},
}


def _design(policy: str, **fields: Any) -> ScheduleDesign:
    design = make_design({**BASE, "policy": policy, **SETTINGS.get(policy, {}), **fields})
    assert isinstance(design, ScheduleDesign)
    return design


@pytest.mark.parametrize("policy", NAMES)
def test_every_policy_survives_the_form(policy: str) -> None:
    design = _design(policy, workers=7, l2_bytes=524289, dtype="float32")
    read, errors = ScheduleForm.of(design).read()
    assert errors == ()
    assert read == design


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_survives_the_form(preset: Any) -> None:
    read, errors = ScheduleForm.of(preset.design).read()
    assert errors == ()
    assert to_query(read) == to_query(preset.design)


@given(
    st.integers(1, 40),
    st.sampled_from(["zn", "nz"]),
    st.integers(1, 5),
    st.integers(1, 1 << 16),
    st.integers(1, 1 << 50),
)
def test_any_design_survives_the_form(
    offset: int, direction: str, batch: int, workers: int, l2_bytes: int
) -> None:
    design = make_design(
        {
            **BASE,
            "policy": "catlass",
            "offset": offset,
            "direction": direction,
            "batch": batch,
            "workers": workers,
            "l2_bytes": l2_bytes,
        }
    )
    read, errors = ScheduleForm.of(design).read()
    assert errors == ()
    assert read == design


@given(st.dictionaries(st.sampled_from([*KEYS, "v", "colour"]), st.text(max_size=30)))
def test_any_link_gives_a_form(query: dict[str, str]) -> None:
    form = ScheduleForm.from_query(query)
    assert form.policy in NAMES
    assert [name for name, _ in form.own] == [field.name for field in own_fields(form.policy)]
    form.read()  # Reports; never raises.


def test_the_defaults_are_not_in_the_link() -> None:
    form = ScheduleForm("64, 64, 8", "8, 8, 8", own=own_texts("catlass", {}))
    assert form.query() == {"problem": "64, 64, 8", "tile": "8, 8, 8", "policy": "catlass"}


def test_the_defaults_of_the_form_are_those_of_the_design() -> None:
    read, errors = ScheduleForm("64, 64, 8", "8, 8, 8", own=own_texts("catlass", {})).read()
    assert errors == ()
    assert read == make_design(
        {"study": "schedule", "problem": [64, 64, 8], "tile": [8, 8, 8], "policy": "catlass"}
    )


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"problem": "64, 64"}, "Problem"),
        ({"problem": "64, 0, 8"}, "Problem"),
        ({"problem": "64, many, 8"}, "Problem"),
        ({"problem": "9999999, 9999999, 8"}, "Problem"),
        ({"tile": "-8, 8, 8"}, "Tile"),
        ({"batch": "0"}, "Batch"),
        ({"workers": "0"}, "Workers"),
        ({"l2": "much"}, "L2 cache"),
        ({"l2": "1e9"}, "L2 cache"),
        ({"l2": "0"}, "L2 cache"),
        ({"l2": "99999999999999999"}, "L2 cache"),
        ({"dtype": "float99"}, "dtype"),
        ({"own": (("offset", "0"), ("direction", "zn"))}, "Offset"),
        ({"own": (("offset", "4294967296"), ("direction", "zn"))}, "Offset"),
        ({"own": (("offset", "<b>"), ("direction", "zn"))}, "Offset"),
    ],
    ids=str,
)
def test_every_fault_has_its_name_on_the_page(changes: dict[str, Any], name: str) -> None:
    form = ScheduleForm(**{"problem": "64, 64, 8", "tile": "8, 8, 8", **changes})
    design, errors = form.read()
    assert design is None
    assert label(errors[0].field) == name


def test_every_key_of_links_has_a_name_on_the_page() -> None:
    for key in KEYS:
        assert not label(key).startswith("Link key"), key


def test_a_direction_may_be_a_number() -> None:
    design, errors = from_query(
        "schedule", {"problem": "4,4,1", "tile": "1,1", "policy": "catlass", "direction": "1"}
    )
    assert errors == ()
    assert dict(ScheduleForm.of(design).own)["direction"] == "nz"
