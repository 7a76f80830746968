"""The titles and the legend of blocks that are drawn thread by thread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tileviz.figures.broadcast import CLASSES, LANES, STATES, STEPS
from tileviz.figures.tokens import IDLE, Theme
from tileviz.studies.broadcast.picture import Picture
from tileviz.studies.broadcast.plan import BroadcastPlan
from tileviz.studies.broadcast.portion import Version
from tileviz.ui import html
from tileviz.ui.broadcast import words


def block_title(plan: BroadcastPlan, version: Version, counts: str, where: str) -> str:
    """Return the title above one block."""
    return html.phase_title(words.version_name(plan, version), counts, None, where)


def where(picture: Picture, warp: int) -> str:
    """Return which part of which block is drawn."""
    x, y = picture.block
    block = f"block {x:,}" if not y else f"block ({x:,}, {y:,})"
    shown = min(len(picture.element), STEPS)
    steps = f"{picture.steps} step{'s' * (picture.steps != 1)}"
    if shown < picture.steps:
        steps = f"first {shown} of {picture.steps:,} steps"
    wide = "" if picture.width == 1 else f", first of {picture.width} values"
    return f"{block}, warp {warp}, {steps}{wide}"


def state_legend(
    operand: str, classes: Sequence[NDArray[np.int8]], theme: Theme, *, framed: bool
) -> str:
    """Return what colours of the blocks mean; only what occurs."""
    occur = set().union(*(set(part.ravel().tolist()) for part in classes))
    items = "".join(
        f'<span><i style="background:{theme.passes[found]}"></i>{name}</span>'
        for found, name in zip(CLASSES, STATES, strict=True)
        if found in occur
    )
    if IDLE in occur:
        items += f'<span><i style="background:{theme.idle}"></i>no element</span>'
    if framed:
        items += (
            f'<span><i style="box-shadow:inset 0 0 0 2px {theme.strong}"></i>'
            "framed where few load again</span>"
        )
    note = f"columns: lanes 0–{LANES - 1}, rows: a thread's steps, cells: element of {operand}"
    return (
        f'<div class="tv-legend tv-map-legend"><strong>The value is</strong>{items}'
        f'<span class="tv-right">{html.text(note)}</span></div>'
    )
