"""What CUTLASS 3.x and SM100 share: clusters, raster options, launch sizes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tileviz.errors import DesignError
from tileviz.studies.schedule.grid import Grid
from tileviz.studies.schedule.policies.base import Parameters, Whole
from tileviz.studies.schedule.strips import rounded_up

Raster = Literal["AlongM", "AlongN"]
RasterOption = Literal["Heuristic", "AlongM", "AlongN"]

MAX_CLUSTER = 32
_SMS_A_GPC = 18


class ClusterParameters(Parameters):
    """Cluster in tiles along M and N, widest swizzle, and along which axis rasters run."""

    cluster: tuple[Whole, Whole] = (1, 1)
    max_swizzle: Whole = Field(default=1, ge=0, le=1 << 16)
    raster_option: RasterOption = "Heuristic"


def check_cluster(grid: Grid, workers: int, parameters: ClusterParameters) -> None:
    """Refuse clusters that hardware does not have."""
    wide, high = parameters.cluster
    if min(wide, high) < 1 or wide * high > MAX_CLUSTER:
        message = f"two extents of 1 or more, {MAX_CLUSTER} blocks at most in all"
        raise DesignError("cluster", message, [wide, high])


def whole_clusters(grid: Grid, cluster: tuple[int, int]) -> tuple[int, int]:
    """Return the tiles along M and N, rounded up to the cluster."""
    return rounded_up(grid.rows, cluster[0]), rounded_up(grid.columns, cluster[1])


def picked_raster(rows: int, columns: int, option: RasterOption) -> Raster:
    """Return the axis along which neighbours run: M where the grid is wider than high.

    Example:
        >>> picked_raster(3, 4, "Heuristic"), picked_raster(4, 4, "Heuristic")
        ('AlongM', 'AlongN')
    """
    if option == "Heuristic":
        return "AlongM" if columns > rows else "AlongN"
    return option


def resident_blocks(sms: int, cluster: tuple[int, int]) -> int:
    """Return how many blocks CUTLASS 3.x thinks an SM90 device of ``sms`` SMs can hold.

    Example:
        >>> resident_blocks(132, (1, 1)), resident_blocks(132, (4, 1))
        (132, 116)
    """
    size = cluster[0] * cluster[1]
    if size == 1:
        return sms
    whole_gpcs = max(1, sms // _SMS_A_GPC)
    rest = sms % _SMS_A_GPC if sms >= _SMS_A_GPC else 0
    held = whole_gpcs * (_SMS_A_GPC - _SMS_A_GPC % size) + rest - rest % size
    return min(sms, held)
