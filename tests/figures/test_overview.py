"""Every preset's main pictures, alone and in pairs that share their scales."""

from __future__ import annotations

import pytest

from tileviz import api
from tileviz.figures.overview import pictures
from tileviz.figures.tokens import DARK, LIGHT
from tileviz.studies.registry import Preset, preset, presets

DRAWN = [found for found in presets() if found.study != "kernel"]


@pytest.mark.parametrize("found", DRAWN, ids=lambda found: found.name)
def test_every_preset_has_pictures_with_words(found: Preset) -> None:
    plan = api.plan(found.design)
    (drawn,) = pictures([plan], LIGHT)
    for picture in drawn:
        assert picture.alt.strip()
        assert picture.name and picture.note
        assert len(picture.figure.data)
    if found.study == "permute" and plan.chosen is None:
        assert drawn == ()
    else:
        assert drawn


def test_schedules_share_the_scales_of_their_charts() -> None:
    plans = [api.plan(preset(name).design) for name in ("schedule-ragged", "schedule-zn-3")]
    first, second = pictures(plans, LIGHT)
    for left, right in zip(first, second, strict=True):
        assert left.name == right.name
        assert left.figure.layout.yaxis.range == right.figure.layout.yaxis.range


def test_a_lone_schedule_has_its_own_scale() -> None:
    plans = [api.plan(preset(name).design) for name in ("schedule-ragged", "schedule-zn-3")]
    alone = [pictures([plan], LIGHT)[0][0].figure.layout.yaxis.range for plan in plans]
    assert alone[0] != alone[1]


def test_the_theme_decides_the_colours() -> None:
    plan = api.plan(preset("banks-transpose-32x32").design)
    light, dark = (pictures([plan], theme)[0][0].legend for theme in (LIGHT, DARK))
    assert light is not None and dark is not None
    assert light.name == dark.name
    assert light.entries != dark.entries


def test_a_users_own_kernel_has_none() -> None:
    own = api.design(study="kernel", source="", entry="k")
    assert pictures([api.plan(own)], LIGHT) == ((),)


def test_no_plans_no_pictures() -> None:
    assert pictures([], LIGHT) == ()
