"""CUTLASS SM100: the launch grid swizzled by any factor, what does not divide left in place."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Grid, Ints, Tasks, in_batches
from tileviz.studies.schedule.policies._cutlass import (
    ClusterParameters,
    Raster,
    check_cluster,
    picked_raster,
    whole_clusters,
)
from tileviz.studies.schedule.policies.base import Device, Policy
from tileviz.studies.schedule.strips import count

MAX_GRID_Y = 65535


def layout(grid: Grid, parameters: ClusterParameters) -> tuple[int, int, Raster]:
    """Return the clusters of the launch grid along x and y, and the raster."""
    cm, cn = parameters.cluster
    rows, columns = whole_clusters(grid, parameters.cluster)
    down, across = rows // cm, columns // cn
    raster = picked_raster(down, across, parameters.raster_option)
    if raster == "AlongN" and down * cn <= MAX_GRID_Y:
        return across, down, raster
    return down, across, "AlongM"


def swizzled(a: Ints, b: Ints, wide: int, high: int, size: int) -> tuple[Ints, Ints]:
    """Return the cluster computed in launch slot (a, b); residual slots keep their place."""
    if size <= 1:
        return a, b
    inner_a, inner_b = wide - wide % size, high - high % size
    inside = (a < inner_a) & (b < inner_b)
    new_a = a // size + (inner_a // size) * (b % size)
    new_b = a % size + (b // size) * size
    return np.where(inside, new_a, a), np.where(inside, new_b, b)


def launched(grid: Grid, workers: int, parameters: ClusterParameters) -> int:
    """Return the number of tasks."""
    rows, columns = whole_clusters(grid, parameters.cluster)
    return rows * columns * grid.batch


def tasks(grid: Grid, workers: int, parameters: ClusterParameters) -> Tasks:
    """Return the launched blocks, x fastest; a cluster lies along M on x whatever the raster."""
    wide, high, raster = layout(grid, parameters)
    cm, cn = parameters.cluster
    across = wide * cm
    block = count(across * high * cn)
    y = block // across
    x = block - y * across
    a, b = swizzled(x // cm, y // cn, wide, high, parameters.max_swizzle)
    down, right = (b, a) if raster == "AlongN" else (a, b)
    facts = (("raster", raster), ("launch grid", f"{across} x {high * cn}"))
    return in_batches(grid, down * cm + x % cm, right * cn + y % cn, facts)


def device(grid: Grid, workers: int, parameters: ClusterParameters) -> Device:
    """Return the swizzle of the launch slot as device code."""
    wide, high, raster = layout(grid, parameters)
    cm, cn = parameters.cluster
    values = {
        "wide": wide,
        "high": high,
        "cm": cm,
        "cn": cn,
        "size": parameters.max_swizzle,
        "along_n": raster == "AlongN",
    }
    return Device("schedule_sm100.cuh.jinja", values)


POLICY = Policy(
    name="cutlass_sm100",
    title="CUTLASS SM100",
    system="CUTLASS",
    rule="The part of the launch grid that max_swizzle divides is swizzled; the rest stays.",
    parameters=ClusterParameters,
    tasks=tasks,
    launched=launched,
    check=check_cluster,
    device=device,
)
