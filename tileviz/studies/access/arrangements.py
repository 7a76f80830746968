"""Arrangements of a tile, each judged by the rules of the banks on the addresses it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tileviz.layouts import TileLayout
from tileviz.memory import BANK_BYTES, BANKS, Accesses, group_lanes, shared_wavefronts
from tileviz.studies.access.candidates import (
    Candidate,
    Columns,
    Cost,
    address_columns,
    cute_columns,
    index_function,
    matrix_of,
    swizzle_terms,
    swizzled_layout,
    table_function,
)
from tileviz.studies.access.demands import BANK_BITS, banks_of
from tileviz.studies.access.phases import Phase
from tileviz.studies.access.tile import Swept, Tile
from tileviz.studies.permute.colouring import colour_edges

_LINE_BYTES = BANKS * BANK_BYTES


def costs_of(accesses: Sequence[tuple[Phase, Accesses]]) -> tuple[Cost, ...]:
    """Return what each phase pays for its accesses, by the rules of the banks."""
    found = []
    for phase, part in accesses:
        judged = shared_wavefronts(part)
        found.append(
            Cost(phase.name, part.executions, int(judged.wavefronts.sum()), int(judged.ideal.sum()))
        )
    return tuple(found)


def plain(tile: Tile, swept: Sequence[Swept]) -> Candidate:
    """Return the tile as it is, without swizzle or padding."""
    costs = costs_of([(part.phase, part.plain) for part in swept])
    index = index_function(tile, None, tile.strides)
    return Candidate("plain", costs, tile.bytes, 0, str(tile.layout), index=index)


def swizzled(tile: Tile, swept: Sequence[Swept], columns: Columns) -> Candidate:
    """Return the candidate of a map, judged on the addresses it gives."""
    keeps_lines = columns[:BANK_BITS] == cute_columns(len(columns), 0, 0, 0)[:BANK_BITS]
    moved = []
    for part in swept:
        inside = part.plain.addresses % BANK_BYTES
        if keeps_lines:
            # Only the place within a 128-byte line changes.
            words = part.plain.addresses // BANK_BYTES
            split = part.split.addresses // BANK_BYTES
            words = words ^ banks_of(columns, split) ^ (split % BANKS)
        else:
            words = banks_of(address_columns(columns), part.plain.addresses // BANK_BYTES)
        moved.append((part.phase, replace(part.plain, addresses=words * BANK_BYTES + inside)))
    layout, swizzle, note = swizzled_layout(tile, columns)
    terms = swizzle_terms(columns)
    whole = -(-tile.bytes // _LINE_BYTES) * _LINE_BYTES if terms else tile.bytes
    if not keeps_lines:
        whole = BANK_BYTES << len(columns)
    letters = (
        None if swizzle is None else (swizzle.per_element, swizzle.swizzle_len, swizzle.atom_len)
    )
    return Candidate(
        "swizzle",
        costs_of(moved),
        whole,
        whole - tile.bytes,
        layout,
        None if letters is None else f"Swizzle<{letters[1]},{letters[0]},{letters[2]}>",
        letters,
        note,
        terms,
        matrix_of(columns),
        index_function(tile, columns, tile.strides),
    )


# -- padding -------------------------------------------------------------------------------------


def padding(tile: Tile, swept: Sequence[Swept]) -> list[Candidate]:
    """Return the smallest free padding of each padded dimension, else the best of all.

    Only the pitch modulo 128 bytes matters, in steps of the widest vector: all are tried.
    """
    step = max(max(part.phase.bytes for part in swept), BANK_BYTES) // tile.element_bytes
    step = max(step, 1)
    order = sorted(range(len(tile.strides)), key=lambda dim: tile.strides[dim])
    order = [dim for dim in order if tile.extents[dim] > 1]
    found = []
    for position in range(1, len(order)):
        tried = []
        for pad in range(step, _LINE_BYTES // tile.element_bytes + step, step):
            strides = _padded(tile, order, position, pad)
            if strides[order[position]] % step:
                continue
            tried.append(_with_strides(tile, swept, strides, order))
            if tried[-1].free:
                break
        if tried:
            found.append(min(tried, key=lambda c: (c.wavefronts, c.extra_bytes)))
    return found


def _padded(tile: Tile, order: Sequence[int], position: int, pad: int) -> tuple[int, ...]:
    """Return strides with ``pad`` elements added before one dimension, in order of stride."""
    strides, reach = [0] * len(tile.strides), 1
    for place, dim in enumerate(order):
        if place == position:
            reach += pad
        strides[dim] = reach
        reach *= tile.extents[dim]
    return tuple(strides)


def _with_strides(
    tile: Tile, swept: Sequence[Swept], strides: tuple[int, ...], order: Sequence[int]
) -> Candidate:
    costs = []
    for part in swept:
        # Shifted copies of an instruction pay the same, so one of each kind is judged.
        addresses = tile.offsets(part.coordinates[:, part.kinds], strides) * tile.element_bytes
        one = replace(part.plain, addresses=addresses, active=part.plain.active[part.kinds])
        judged = shared_wavefronts(one)
        costs.append(
            Cost(
                part.phase.name,
                part.plain.executions,
                int((judged.wavefronts * part.copies).sum()),
                int((judged.ideal * part.copies).sum()),
            )
        )
    last = order[-1]
    whole = strides[last] * tile.extents[last] * tile.element_bytes
    shard = [(e, s, "m") for e, s in zip(tile.extents, strides, strict=True)]
    return Candidate(
        "padding",
        tuple(costs),
        whole,
        whole - tile.bytes,
        str(TileLayout(shard)),
        note="No Swizzle<B,M,S>: padding moves rows.",
        index=index_function(tile, None, strides),
    )


# -- tables ----------------------------------------------------------------------------------------


def coloured(tile: Tile, swept: Sequence[Swept]) -> Candidate | None:
    """Return an arrangement by table that frees two accesses, whatever their patterns.

    Every unit (a word, or an 8- or 16-byte vector) is an edge between the group of lanes that
    wants it in one access and that in the other. A colour is a place in a 128-byte line: as no
    group has more units than there are places, edge colouring always finds one (Koenig). None
    unless there are two accesses of one width, each of which takes every unit once.
    """
    if len(swept) != 2 or swept[0].phase.words != swept[1].phase.words:
        return None
    unit = max(swept[0].phase.bytes, BANK_BYTES)
    units = -(-tile.bytes // unit)
    ends = [_group_of_unit(part, unit, units) for part in swept]
    if ends[0] is None or ends[1] is None:
        return None
    places = _LINE_BYTES // unit
    place = colour_edges(ends[0], ends[1], places)
    order = np.lexsort((np.arange(units), place))
    line = np.empty(units, dtype=np.int64)
    line[order] = np.arange(units) - np.searchsorted(place[order], place[order])
    where = line * places + place
    moved = []
    for part in swept:
        addresses = part.plain.addresses
        there = where[np.where(part.plain.active, addresses // unit, 0)] * unit + addresses % unit
        moved.append((part.phase, replace(part.plain, addresses=there)))
    whole = (int(line.max()) + 1) * _LINE_BYTES
    return Candidate(
        "table",
        costs_of(moved),
        whole,
        whole - tile.bytes,
        None,
        note="No Swizzle<B,M,S>: not linear over bits.",
        index=table_function(tile, where.tolist(), unit),
    )


def _group_of_unit(
    part: Swept, unit: int, units: int
) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """Return the group of lanes that wants each unit, or None where one is not wanted once."""
    size = group_lanes(part.phase.op, part.phase.bytes)
    active = part.plain.active
    wanted = part.plain.addresses // unit
    group = np.broadcast_to(np.arange(active.size).reshape(active.shape) // size, active.shape)
    # Lanes of one group that want the same word are served together.
    pairs = np.unique(np.stack([wanted[active], group[active]]), axis=1)
    if not np.array_equal(pairs[0], np.arange(units)):
        return None
    _, names = np.unique(pairs[1], return_inverse=True)
    return np.asarray(names.reshape(-1), dtype=np.int64)
