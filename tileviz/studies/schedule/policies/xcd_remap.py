"""XCD remap: launch numbers dealt out so that every chiplet works on neighbouring tiles."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from tileviz.studies.schedule.grid import Grid, Ints, Tasks, in_batches
from tileviz.studies.schedule.policies.base import Device, Parameters, Policy, Whole
from tileviz.studies.schedule.strips import count


class XcdParameters(Parameters):
    """Chiplets, and the ids of a chunk; no chunk means one contiguous range a chiplet."""

    xcds: Whole = Field(default=8, ge=1, le=1 << 16)
    chunk: Whole | None = Field(default=None, ge=1, le=1 << 22)


def remapped(ids: Ints, total: int, xcds: int, chunk: int | None) -> Ints:
    """Return the tile number of every launch number; chiplet ``id mod xcds`` runs it.

    Example:
        >>> import numpy as np
        >>> remapped(np.arange(10), 10, 4, None).tolist()
        [0, 3, 6, 8, 1, 4, 7, 9, 2, 5]
        >>> remapped(np.arange(10), 10, 2, 2).tolist()
        [0, 2, 1, 3, 4, 6, 5, 7, 8, 9]
    """
    if chunk is None:
        turn = ids // xcds
        x = ids - turn * xcds
        part, rest = divmod(total, xcds)
        ranged: Ints = x * part + np.minimum(x, rest) + turn
        return ranged
    size = xcds * chunk
    group = ids // size
    inside = ids - group * size
    turn = inside // xcds
    new = group * size + (inside - turn * xcds) * chunk + turn
    return np.where(ids < total // size * size, new, ids)


def tasks(grid: Grid, workers: int, parameters: XcdParameters) -> Tasks:
    """Return the tasks: row-major over the remapped numbers."""
    new = remapped(count(grid.tiles), grid.tiles, parameters.xcds, parameters.chunk)
    m = new // grid.columns
    return in_batches(grid, m, new - m * grid.columns)


def device(grid: Grid, workers: int, parameters: XcdParameters) -> Device:
    """Return the remap as device code."""
    values = {
        "xcds": parameters.xcds,
        "chunk": parameters.chunk or 0,
        "part": divmod(grid.tiles, parameters.xcds),
        "whole": grid.tiles
        // (parameters.xcds * (parameters.chunk or 1))
        * parameters.xcds
        * (parameters.chunk or 1),
    }
    return Device("schedule_xcd.cuh.jinja", values)


POLICY = Policy(
    name="xcd_remap",
    title="XCD remap",
    system="AMD",
    rule="Launch numbers are dealt out so that every chiplet gets one range of row-major tiles.",
    parameters=XcdParameters,
    tasks=tasks,
    device=device,
)
