"""What the memory makes of one warp instruction: which lane each bank serves, pass by pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from tileviz.figures.access_views import lanes_to_banks, lanes_to_sectors
from tileviz.figures.banks import lane_classes
from tileviz.figures.cells import Cells, cell_map
from tileviz.figures.thumbnail import thumbnail_html
from tileviz.figures.tokens import IDLE, Theme, pass_classes
from tileviz.memory import BANK_BYTES, BANKS, LANES, LINE_BYTES, SECTOR_BYTES
from tileviz.studies.access.shown import Instruction

Ints = NDArray[np.int64]
_BLOCK = 8
_THUMB_ROWS = 16


@dataclass(frozen=True, eq=False)
class Served:
    """Which lane each bank serves, pass by pass.

    Attributes:
        lane: The first lane served, -1 for an idle bank, int64 ``[wavefront, bank]``.
        shared: Whether more lanes are served by the same word, likewise.
        group: The group of lanes of each wavefront, int64 ``[wavefront]``.
        asked: Words asked of each bank, int64 ``[group, bank]``.
    """

    lane: Ints
    shared: NDArray[np.bool_]
    group: Ints
    asked: Ints


def served(shown: Instruction) -> Served:
    """Return which lane each bank serves in each wavefront, first come, first served.

    How hardware orders lanes within a group is not known; how many wavefronts it takes, is.

    Example:
        >>> from tileviz.studies.access.shown import instruction, sweeps
        >>> from tileviz.studies.registry import preset
        >>> design = preset("banks-transpose-32x32").design
        >>> found = served(instruction(design, sweeps(design)[0], 0))
        >>> found.lane.shape, found.lane[:3, 0].tolist(), found.asked[0, :2].tolist()
        ((32, 32), [0, 1, 2], [32, 0])
    """
    width = 16 if "matrix" in shown.accesses.op else shown.accesses.bytes
    groups = LANES // shown.group_size
    each = np.arange(max(width // BANK_BYTES, 1))
    lane = np.repeat(np.flatnonzero(shown.active), len(each))
    word = (shown.accesses.addresses[0, shown.active, None] // BANK_BYTES + each).ravel()
    merges = not shown.accesses.op.startswith(("ldgsts", "atom"))
    what = word if merges else np.arange(len(word))
    slot = lane // shown.group_size * BANKS + word % BANKS
    # One request for each distinct word of a group; the first lane stands for it.
    pairs = np.stack([slot, what])
    _, first, many = np.unique(pairs, axis=1, return_index=True, return_counts=True)
    order = np.lexsort((lane[first], slot[first]))
    first, many = first[order], many[order]
    slots = slot[first]
    asked = np.bincount(slots, minlength=groups * BANKS).reshape(groups, BANKS)
    turn = np.arange(len(slots)) - np.searchsorted(slots, slots)
    high = asked.max(axis=1)
    start = np.concatenate([[0], np.cumsum(high)])
    rows = start[slots // BANKS] + turn
    table = np.full((int(start[-1]), BANKS), -1, dtype=np.int64)
    table[rows, slots % BANKS] = lane[first]
    several = np.zeros(table.shape, dtype=bool)
    several[rows, slots % BANKS] = many > 1
    return Served(table, several, np.repeat(np.arange(groups), high), asked)


def bank_strip(shown: Instruction, theme: Theme) -> go.Figure:
    """Return banks across, a row for each group of lanes: words asked of each bank."""
    found = served(shown)
    active = found.asked.any(axis=1)
    asked = found.asked[active]
    groups = np.flatnonzero(active)
    fields = np.stack(
        [
            np.broadcast_to(np.arange(BANKS), asked.shape),
            np.broadcast_to(groups[:, None], asked.shape),
            asked,
        ],
        axis=2,
    )
    size = shown.group_size
    hover = "<b>bank %{customdata[0]}, group %{customdata[1]}</b><br>"
    hover += f"words asked by its {size} lanes: %{{customdata[2]}}"
    labels = tuple("all" if size == LANES else f"g{group}" for group in groups.tolist())
    return _strip(pass_classes(asked), asked.astype(str), labels, fields, hover, theme, ())


def lane_strip(shown: Instruction, theme: Theme) -> go.Figure:
    """Return lanes across, the bank of each, a thick line between groups."""
    view = lanes_to_banks(shown.accesses)
    size = shown.group_size
    borders = tuple(range(size, LANES, size))
    hover = view.hover.replace(", register %{customdata[1]}", "")
    return _strip(view.classes, view.text, ("lane",), view.fields, hover, theme, borders)


def wavefront_map(shown: Instruction, theme: Theme) -> go.Figure:
    """Return banks across, a row for each wavefront: the lane that each bank serves."""
    found = served(shown)
    asked = np.where(found.lane >= 0, found.asked[found.group], 0)
    text = np.where(found.shared, np.char.add(found.lane.astype(str), "+"), found.lane.astype(str))
    rows = np.arange(len(found.group))[:, None]
    fields = np.stack(
        [
            np.broadcast_to(np.arange(BANKS), asked.shape),
            np.broadcast_to(rows + 1, asked.shape),
            np.maximum(found.lane, 0),
            asked,
        ],
        axis=2,
    )
    hover = "<b>lane %{customdata[2]}</b>, wavefront %{customdata[1]}<br>"
    hover += "<b>bank %{customdata[0]}</b>, which needs %{customdata[3]} passes"
    labels = tuple(str(row + 1) for row in range(len(found.group)))
    return _strip(pass_classes(asked), text, labels, fields, hover, theme, ())


def line_map(shown: Instruction, theme: Theme) -> go.Figure:
    """Return the lines that move, a row each: a cell a word, the lane in it, idle sectors blank.

    Example:
        >>> from tileviz.figures.tokens import LIGHT
        >>> from tileviz.studies.access.shown import instruction, sweeps
        >>> from tileviz.studies.design import validated
        >>> from tileviz.studies.access.design import AccessDesign
        >>> design = validated(AccessDesign, {"space": "global", "addresses": [0, 4, 256]})
        >>> line_map(instruction(design, sweeps(design)[0], 0), LIGHT).layout.height
        69
    """
    accesses = shown.accesses
    each = np.arange(max(accesses.bytes // BANK_BYTES, 1))
    lane = np.repeat(np.flatnonzero(shown.active), len(each))
    word = (accesses.addresses[0, shown.active, None] // BANK_BYTES + each).ravel()
    wide = LINE_BYTES // BANK_BYTES
    lines, row = np.unique(word // wide, return_inverse=True)
    shape = (len(lines), wide)
    cell = row.reshape(-1) * wide + word % wide
    lowest = np.full(len(lines) * wide, LANES)
    np.minimum.at(lowest, cell, lane)
    users = np.bincount(cell, minlength=lowest.size).reshape(shape)
    first = lowest.reshape(shape)
    per_lane = lanes_to_sectors(accesses).classes[0]
    per_sector = np.full((len(lines), LINE_BYTES // SECTOR_BYTES), IDLE, dtype=np.int8)
    per_sector[row.reshape(-1), word % wide * BANK_BYTES // SECTOR_BYTES] = per_lane[lane]
    classes = np.repeat(per_sector, SECTOR_BYTES // BANK_BYTES, axis=1)
    one = np.where(first < LANES, first.astype(str), "")
    text = np.where(users > 1, np.char.add(one, "+"), one)
    byte = lines[:, None] * LINE_BYTES + np.arange(wide) * BANK_BYTES
    fields = np.stack([byte, byte // SECTOR_BYTES, users], axis=2)
    hover = "byte %{customdata[0]} · <b>sector %{customdata[1]}</b><br>"
    hover += "lanes that use this word: %{customdata[2]}"
    labels = tuple(f"L{at}" for at in range(len(lines)))
    return _strip(classes, text, labels, fields, hover, theme)


def _strip(
    classes: NDArray[np.int8],
    text: NDArray[np.str_],
    labels: tuple[str, ...],
    fields: Ints,
    hover: str,
    theme: Theme,
    borders: tuple[int, ...] = tuple(range(_BLOCK, LANES, _BLOCK)),
) -> go.Figure:
    return cell_map(Cells(classes, text, labels, fields, hover, borders), theme)


def thumbnail(before: Instruction, after: Instruction | None = None) -> str:
    """Return small strips, as HTML: wavefronts before, and after where there is another.

    Example:
        >>> from tileviz.studies.access.shown import instruction, sweeps
        >>> from tileviz.studies.registry import preset
        >>> design = preset("banks-padding-33").design
        >>> thumbnail(instruction(design, sweeps(design)[0], 0))[:28]
        '<div class="thumb" role="img'
    """
    parts = [_small(before)]
    alt = _said(before)
    if after is not None:
        parts.append(_small(after))
        alt = f"{alt} above, {_said(after)} below"
    return thumbnail_html(parts, alt)


def _small(shown: Instruction) -> NDArray[np.int8]:
    if shown.verdict.banks is None:
        return lane_classes(shown)[None]
    found = served(shown)
    asked = np.where(found.lane >= 0, found.asked[found.group], 0)
    return pass_classes(asked)[:_THUMB_ROWS]


def _said(shown: Instruction) -> str:
    unit = "sector" if shown.verdict.banks is None else "wavefront"
    return f"{shown.verdict.cost} {unit}{'s' * (shown.verdict.cost != 1)}"
