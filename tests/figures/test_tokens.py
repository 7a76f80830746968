"""The palette keeps what the design promises: readable ink, distinct classes, named states."""

from __future__ import annotations

import numpy as np
import pytest

from tileviz.figures.tokens import (
    DARK,
    LIGHT,
    PASS_LABELS,
    PRINT,
    STATES,
    THEMES,
    Theme,
    contrast,
    css_variables,
    pass_classes,
)
from tileviz.studies.statement import GLYPHS


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_cell_text_is_readable_on_every_class(theme: Theme) -> None:
    ratios = [contrast(*pair) for pair in zip(theme.inks, theme.passes, strict=True)]
    assert min(ratios) >= 4.6
    for colour in (*theme.order, *theme.lanes):
        assert contrast(theme.ink(colour), colour) >= 4.6
    assert contrast(theme.muted, theme.page) >= 4.5
    assert contrast(theme.text, theme.page) >= 7


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("index", [0, 1], ids=["light", "dark"])
def test_state_text_is_readable_on_its_ground(state: str, index: int) -> None:
    colours = STATES[state]
    assert contrast(colours.text[index], colours.ground[index]) >= 5.3


def test_every_state_of_the_engine_has_colours() -> None:
    assert set(GLYPHS) <= set(STATES)


def test_worse_is_always_further_from_the_page() -> None:
    for theme in (LIGHT, DARK, PRINT):
        ratios = [contrast(colour, theme.page) for colour in theme.passes]
        assert ratios[0] == min(ratios)
        assert ratios[-1] == max(ratios)


def test_lanes_and_order_have_eight_colours_that_the_page_does_not_swallow() -> None:
    for theme in (LIGHT, DARK):
        assert len(set(theme.order)) == len(set(theme.lanes)) == 8
        assert theme.page not in (*theme.order, *theme.lanes)
        assert min(contrast(colour, theme.page) for colour in theme.lanes) > 1.2


def test_classes_follow_their_labels() -> None:
    for passes in range(1, 33):
        label = PASS_LABELS[int(pass_classes(np.array([passes]))[0])].removesuffix(" · free")
        low, _, high = label.partition("–")
        assert int(low) <= passes <= int(high or low)


def test_css_names_every_class_and_state() -> None:
    css = css_variables()
    for name in [*STATES, *(f"pass-{index}" for index in range(6)), "order-7", "lane-7", "hot"]:
        assert f"--{name}: light-dark(" in css
