"""The permute design: which tile moves from which layout to which, and where."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, TileLayout, parse_layout
from tileviz.studies.design import MAX_ELEMENTS, MAX_RANK, Design

Layout = TileLayout | ComposeLayout
Region = tuple[tuple[int, int | None], ...]

parsed = lru_cache(maxsize=4096)(parse_layout)


class Tile(BaseModel):
    """One side of the move: a layout, the buffer shape over it, and the region that moves.

    Attributes:
        layout: Layout text.
        shape: Buffer shape; None means the shard's extents.
        region: ``[begin, end)`` per dimension; None means the whole shape (divided by the stage
            count along the staged dimension). An end of None is an extent unknown until run time.
        dtype: Element type; None means the design's.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: str
    shape: tuple[int, ...] | None = None
    region: Region | None = None
    dtype: str | None = None

    @field_validator("layout")
    @classmethod
    def _layout_text(cls, text: str) -> str:
        try:
            parsed(text)
        except DesignError as error:
            raise DesignError("", error.message, text, position=error.position) from None
        return text

    @field_validator("dtype")
    @classmethod
    def _dtype_name(cls, name: str | None) -> str | None:
        return None if name is None else _known_dtype(name)

    @model_validator(mode="after")
    def _within_limits(self) -> Tile:
        shape = self.extents
        if not shape or len(shape) > MAX_RANK:
            raise DesignError("shape", f"needs 1 to {MAX_RANK} dimensions", list(shape))
        if min(shape) < 1 or math.prod(shape) > MAX_ELEMENTS:
            limit = f"extents must be 1 or more, {MAX_ELEMENTS} elements at most in all"
            raise DesignError("shape", limit, list(shape))
        if self.region is not None:
            _check_region(self.region, shape)
        return self

    @property
    def parsed(self) -> Layout:
        """The layout as an object."""
        return parsed(self.layout)

    @property
    def extents(self) -> tuple[int, ...]:
        """The buffer shape."""
        if self.shape is not None:
            return self.shape
        return _shard_extents(self.layout)


@lru_cache(maxsize=4096)
def _shard_extents(text: str) -> tuple[int, ...]:
    layout = parsed(text)
    return layout.extents or (1,)


class Stages(BaseModel):
    """A pipeline: the region's begin on ``dim`` advances by its extent, ``count`` times."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dim: int = Field(default=0, ge=0, lt=MAX_RANK)
    count: int = Field(ge=1, le=4096)


class PermuteDesign(Design):
    """One warp moves a tile from one layout to another.

    Example:
        >>> from tileviz.studies.design import validated
        >>> design = validated(PermuteDesign, {
        ...     "src": {"layout": "S[(2, 4, 32):(128, 32, 1)]"},
        ...     "dst": {"layout": "S[(2, 4, 32):(128, 1, 4)]"},
        ...     "stages": {"count": 2}})
        >>> design.region("src", stage=1)
        ((1, 2), (0, 4), (0, 32))
    """

    study: Literal["permute"] = "permute"
    src: Tile
    dst: Tile
    dtype: str = "float32"
    scope: Literal["thread", "warp", "warpgroup", "cta", "cluster"] = "warp"
    block: tuple[int, int, int] = (32, 1, 1)
    stages: Stages | None = None
    space: Literal["shared", "global"] = "shared"
    in_place: bool = False

    @field_validator("dtype")
    @classmethod
    def _dtype_name(cls, name: str) -> str:
        return _known_dtype(name)

    @field_validator("block", mode="before")
    @classmethod
    def _three(cls, value: Any) -> Any:
        return [*value, 1, 1][:3] if isinstance(value, (list, tuple)) and len(value) < 3 else value

    @field_validator("block")
    @classmethod
    def _launchable(cls, block: tuple[int, int, int]) -> tuple[int, int, int]:
        if min(block) < 1 or block[0] % 32 or math.prod(block) > 1024:
            allowed = "x must be a multiple of 32, y and z 1 or more, 1024 threads at most"
            raise DesignError("", allowed, list(block))
        return block

    @model_validator(mode="after")
    def _stages_fit(self) -> PermuteDesign:
        for side in ("src", "dst"):
            self._check_stages(side)
        return self

    def _check_stages(self, side: Literal["src", "dst"]) -> None:
        if self.stages is None:
            return
        dim, count = self.stages.dim, self.stages.count
        tile: Tile = getattr(self, side)
        if dim >= len(tile.extents):
            rank = len(tile.extents)
            raise DesignError("stages.dim", f"{side} has dimensions 0 to {rank - 1}", dim)
        extent = tile.extents[dim]
        if tile.region is None:
            if extent % count:
                allowed = f"must divide extent {extent} of {side} dimension {dim}"
                raise DesignError("stages.count", allowed, count)
            return
        begin, end = tile.region[dim]
        if end is not None and begin + count * (end - begin) > extent:
            fits = (extent - begin) // max(end - begin, 1)
            message = f"at most {fits} stages of {end - begin} fit {side} dimension {dim}"
            raise DesignError("stages.count", message, count)

    @property
    def stage_count(self) -> int:
        """Number of pipeline stages, 1 without a pipeline."""
        return 1 if self.stages is None else self.stages.count

    def region(self, side: Literal["src", "dst"], stage: int = 0) -> Region:
        """Return the region that moves in ``stage``: ``(begin, end)`` per dimension."""
        tile: Tile = getattr(self, side)
        region = tile.region or tuple((0, extent) for extent in tile.extents)
        if self.stages is None:
            return region
        dim = self.stages.dim
        begin, end = region[dim]
        if end is None:
            return region
        extent = (end - begin) // self.stages.count if tile.region is None else end - begin
        begin += stage * extent
        return (*region[:dim], (begin, begin + extent), *region[dim + 1 :])

    def tile_dtype(self, side: Literal["src", "dst"]) -> str:
        """Return the element type of one side."""
        tile: Tile = getattr(self, side)
        return tile.dtype or self.dtype


def _known_dtype(name: str) -> str:
    try:
        return dtype_of(name).name
    except DesignError as error:
        raise DesignError("", error.message, name) from None


def _check_region(region: Region, shape: tuple[int, ...]) -> None:
    if len(region) != len(shape):
        message = f"needs one [begin, end) for each of {len(shape)} dimensions"
        raise DesignError("region", message, len(region))
    for dim, ((begin, end), extent) in enumerate(zip(region, shape, strict=True)):
        last = begin if end is None else end
        if not 0 <= begin <= last <= extent:
            allowed = f"0 <= begin <= end <= {extent} is allowed"
            raise DesignError(f"region.{dim}", allowed, [begin, end])
