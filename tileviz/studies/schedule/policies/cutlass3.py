"""CUTLASS 3.x persistent scheduler: clusters, rasters, and groups of a power of two."""

from __future__ import annotations

import numpy as np

from tileviz.studies.schedule.grid import Grid, Tasks
from tileviz.studies.schedule.policies._cutlass import (
    ClusterParameters,
    Raster,
    check_cluster,
    picked_raster,
    resident_blocks,
    whole_clusters,
)
from tileviz.studies.schedule.policies.base import Device, Direction, Policy
from tileviz.studies.schedule.strips import count, rounded_up


def log_swizzle(rows: int, columns: int, most: int) -> int:
    """Return the log of the group size.

    Example:
        >>> log_swizzle(6, 9, 8), log_swizzle(5, 9, 8), log_swizzle(6, 9, 2)
        (3, 2, 1)
    """
    for log, least in ((3, 6), (2, 3), (1, 2)):
        if most >= 1 << log and min(rows, columns) >= least:
            return log
    return 0


def layout(grid: Grid, parameters: ClusterParameters) -> tuple[int, int, int, Raster]:
    """Return padded rows and columns, the log of the group, and the raster."""
    cluster = parameters.cluster
    rows, columns = whole_clusters(grid, cluster)
    log = log_swizzle(rows, columns, parameters.max_swizzle)
    rows, columns = rounded_up(rows, cluster[0] << log), rounded_up(columns, cluster[1] << log)
    return rows, columns, log, picked_raster(rows, columns, parameters.raster_option)


def launch(grid: Grid, workers: int, parameters: ClusterParameters) -> tuple[int, int]:
    """Return the launch grid, x and y."""
    rows, columns, _, raster = layout(grid, parameters)
    cluster = parameters.cluster
    blocks, held = rows * columns * grid.batch, resident_blocks(workers, cluster)
    if raster == "AlongN":
        return cluster[0], max(min(held // cluster[0], blocks // cluster[0]), 1)
    return max(min(held // cluster[1], blocks // cluster[1]), 1), cluster[1]


def launched(grid: Grid, workers: int, parameters: ClusterParameters) -> int:
    """Return the number of tasks."""
    rows, columns, _, _ = layout(grid, parameters)
    return rows * columns * grid.batch


def tasks(grid: Grid, workers: int, parameters: ClusterParameters) -> Tasks:
    """Return the tasks: batch, cluster, minor then major axis inside a cluster."""
    rows, columns, log, raster = layout(grid, parameters)
    minor_size, major_size = parameters.cluster
    majors = columns // major_size
    if raster == "AlongM":
        major_size, minor_size = parameters.cluster
        majors = rows // major_size
    index = count(rows * columns)
    inside, minor_in = index // minor_size, index % minor_size
    cluster, major_in = inside // major_size, inside % major_size
    rest = cluster >> log
    group = rest // majors
    minor = ((group << log) + (cluster & ((1 << log) - 1))) * minor_size + minor_in
    major = (rest - group * majors) * major_size + major_in
    m, n = (minor, major) if raster == "AlongN" else (major, minor)
    x, y = launch(grid, workers, parameters)
    batch = np.repeat(np.arange(grid.batch, dtype=np.int64), len(index))
    facts = (
        ("log_swizzle", str(log)),
        ("raster", raster),
        ("padded tiles", f"{rows} x {columns}"),
        ("launch grid", f"{x} x {y}"),
    )
    return Tasks(
        np.tile(m, grid.batch),
        np.tile(n, grid.batch),
        batch if grid.batch > 1 else None,
        turns=min(x * y, workers),
        facts=facts,
    )


def device(grid: Grid, workers: int, parameters: ClusterParameters) -> Device:
    """Return the reference's divisions as device code."""
    rows, columns, log, raster = layout(grid, parameters)
    minor, major = parameters.cluster if raster == "AlongN" else parameters.cluster[::-1]
    majors = (columns if raster == "AlongN" else rows) // major
    values = {
        "log": log,
        "minor": minor,
        "major": major,
        "majors": majors,
        "along_n": raster == "AlongN",
    }
    return Device("schedule_cluster.cuh.jinja", values)


def strip_starts(
    grid: Grid, workers: int, parameters: ClusterParameters
) -> tuple[Direction, range]:
    """Return where each group of clusters begins."""
    _, _, log, raster = layout(grid, parameters)
    if raster == "AlongN":
        return "zn", range(0, grid.rows, parameters.cluster[0] << log)
    return "nz", range(0, grid.columns, parameters.cluster[1] << log)


POLICY = Policy(
    name="cutlass3",
    title="CUTLASS 3.x",
    system="CUTLASS",
    rule="Groups of 2^log clusters on the minor axis; tiles padded to whole groups count as work.",
    parameters=ClusterParameters,
    tasks=tasks,
    strips=strip_starts,
    launched=launched,
    check=check_cluster,
    device=device,
)
