"""CATLASS 2-D convolution: rows are tiles of the output image, columns tiles of its channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from tileviz.errors import DesignError
from tileviz.studies.schedule.grid import Grid, Tasks
from tileviz.studies.schedule.policies.base import Device, Policy, StripParameters, check_offset
from tileviz.studies.schedule.strips import count, strips

C0 = 16

_IMAGE, _TILE = "batch_ho_wo_cout_cin1", "tile_ho_wo_cout"


class Conv2dParameters(StripParameters):
    """Strips over an image of ``ho`` x ``wo`` pixels; without them, M rows of one pixel."""

    batch_ho_wo_cout_cin1: tuple[int, int, int, int, int] | None = None
    tile_ho_wo_cout: tuple[int, int, int] | None = None


def _numbers(value: Any, length: int) -> list[int] | None:
    if isinstance(value, (list, tuple)) and len(value) == length:
        return list(value) if all(type(item) is int for item in value) else None
    return None


def complete(document: dict[str, Any]) -> dict[str, Any]:
    """Fill in batch, problem and tile from the image, its tile and its blocks of 16 channels."""
    image, tile = _numbers(document.get(_IMAGE), 5), _numbers(document.get(_TILE), 3)
    if image is None or tile is None:
        return document
    batch, height, width, channels, blocks = image
    found = dict(document)
    found.setdefault("problem", [height * width, channels, blocks * C0])
    found.setdefault("tile", [tile[0] * tile[1], tile[2]])
    found.setdefault("batch", batch)
    return found


def _image(grid: Grid, parameters: Conv2dParameters) -> tuple[int, int, int, int, int]:
    """Return height and width of image and tile, and the channels of a tile."""
    image, tile = parameters.batch_ho_wo_cout_cin1, parameters.tile_ho_wo_cout
    if image is None or tile is None:
        return grid.problem[0], 1, grid.tile[0], 1, grid.tile[1]
    return image[1], image[2], *tile


def check(grid: Grid, workers: int, parameters: Conv2dParameters) -> None:
    """Refuse an image that is not the problem, and half of the two."""
    image, tile = parameters.batch_ho_wo_cout_cin1, parameters.tile_ho_wo_cout
    if (image is None) != (tile is None):
        field = _IMAGE if image is None else _TILE
        raise DesignError(field, f"needed where {_TILE if image is None else _IMAGE} is", None)
    for field, value in ((_IMAGE, image), (_TILE, tile)):
        if value is not None and min(value) < 1:
            raise DesignError(field, "must be 1 or more each", list(value))
    if image is not None and tile is not None:
        wanted = {
            "problem": ([image[1] * image[2], image[3]], list(grid.problem[:2])),
            "tile": ([tile[0] * tile[1], tile[2]], list(grid.tile[:2])),
            "batch": (image[0], grid.batch),
        }
        for field, (want, got) in wanted.items():
            if want != got:
                raise DesignError(field, f"the image makes it {want}", got)
    check_offset(_pixels(grid, parameters), parameters.offset, parameters.direction)


def _pixels(grid: Grid, parameters: Conv2dParameters) -> Grid:
    """Return a grid with one row a tile of the image."""
    height, width, tile_h, tile_w, tile_c = _image(grid, parameters)
    rows = -(-height // tile_h) * -(-width // tile_w)
    return Grid((rows, -(-grid.problem[1] // tile_c), 1), (1, 1, 1), grid.batch)


def launched(grid: Grid, workers: int, parameters: Conv2dParameters) -> int:
    """Return the number of tasks."""
    return _pixels(grid, parameters).tiles * grid.batch


def tasks(grid: Grid, workers: int, parameters: Conv2dParameters) -> Tasks:
    """Return the tasks; tile row ``m`` is tile ``m div loops_w, m mod loops_w`` of the image."""
    height, width, tile_h, tile_w, tile_c = _image(grid, parameters)
    pixels = _pixels(grid, parameters)
    index = count(pixels.tiles)
    if parameters.direction == "zn":
        m, n = strips(index, pixels.rows, pixels.columns, parameters.offset, snake=True)
    else:
        n, m = strips(index, pixels.columns, pixels.rows, parameters.offset, snake=True)
    m, n = np.tile(m, grid.batch), np.tile(n, grid.batch)
    across = -(-width // tile_w)
    h, w = m // across, m % across
    rows = np.minimum(tile_h, height - h * tile_h) * np.minimum(tile_w, width - w * tile_w)
    columns = np.minimum(tile_c, grid.problem[1] - n * tile_c)
    batch = np.repeat(np.arange(grid.batch, dtype=np.int64), pixels.tiles)
    return Tasks(
        m,
        n,
        batch if grid.batch > 1 else None,
        extent=(rows, columns),
        tiles=(pixels.rows, pixels.columns),
        facts=(("image tiles", f"{-(-height // tile_h)} x {across}"),),
    )


def device(grid: Grid, workers: int, parameters: Conv2dParameters) -> Device:
    """Return strips over the tiles of the image."""
    height, width, tile_h, tile_w, _ = _image(grid, parameters)
    image = {
        "height": height,
        "width": width,
        "tile_h": tile_h,
        "tile_w": tile_w,
        "across": -(-width // tile_w),
    }
    values = {
        "offset": parameters.offset,
        "direction": parameters.direction,
        "snake": True,
        "image": image,
    }
    return Device("schedule_strips.cuh.jinja", values)


POLICY = Policy(
    name="catlass_conv2d",
    title="CATLASS conv2d",
    system="CATLASS",
    rule="CATLASS strips whose rows are tiles of the image and whose columns are channels.",
    parameters=Conv2dParameters,
    tasks=tasks,
    device=device,
    check=check,
    launched=launched,
    complete=complete,
)
