"""The schedule design: a product, its tiles, and the policy that orders them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import Field, field_validator, model_validator

from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.studies.design import Design, shown, validated
from tileviz.studies.schedule.grid import Grid
from tileviz.studies.schedule.policies import NAMES, policy
from tileviz.studies.schedule.policies.base import UINT32, Parameters, Policy, Whole

MAX_TILES = 1 << 22
MAX_WORKERS = 1 << 16
MAX_BYTES = 1 << 58
MAX_L2 = 1 << 50

DEFAULT_TILE_K = 32

_OWN = ("study", "problem", "tile", "policy", "batch", "workers", "l2_bytes", "dtype")


class ScheduleDesign(Design):
    """The order in which the tiles of C[M, N] = A[M, K] B[K, N] are computed.

    A document is flat: the policy's own parameters stand beside the other fields.

    Example:
        >>> design = validated(ScheduleDesign, {"problem": [300, 500, 64], "tile": [128, 256],
        ...                                     "policy": "catlass", "offset": 3, "direction": 1})
        >>> design.grid.tiles, design.document()["direction"], design.parameters.offset
        (6, 'nz', 3)
    """

    study: Literal["schedule"] = "schedule"
    problem: tuple[Whole, Whole, Whole]
    tile: tuple[Whole, Whole, Whole]
    policy: str
    batch: Whole = Field(default=1, ge=1, le=MAX_TILES)
    workers: Whole = Field(default=108, ge=1, le=MAX_WORKERS)
    l2_bytes: Whole = Field(default=41943040, ge=1, le=MAX_L2)
    dtype: str = "float16"
    parameters: Parameters = Field(exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, document: Any) -> Any:
        """Set the policy's parameters apart from the fields that every schedule has."""
        if not isinstance(document, Mapping):
            return document
        chosen = _policy(document.get("policy"))
        given = dict(document)
        if chosen.complete is not None:
            given = chosen.complete(given)
        own = {key: value for key, value in given.items() if key in _OWN}
        rest = {key: value for key, value in given.items() if key not in _OWN}
        for key in rest:
            if key not in chosen.parameters.model_fields:
                raise DesignError(str(key)[:40], _unknown(chosen), shown(rest[key]))
        # Parameters are validated like a design, with the same readable errors.
        return {**own, "parameters": validated(cast(type[Design], chosen.parameters), rest)}

    @field_validator("tile", mode="before")
    @classmethod
    def _three(cls, value: Any) -> Any:
        if isinstance(value, (list, tuple)) and len(value) == 2:
            return [*value, DEFAULT_TILE_K]
        return value

    @field_validator("problem", "tile")
    @classmethod
    def _sizes(cls, value: tuple[int, int, int]) -> tuple[int, int, int]:
        if min(value) < 1 or max(value) > UINT32:
            raise DesignError("", f"every size must be between 1 and {UINT32}", list(value))
        return value

    @field_validator("dtype")
    @classmethod
    def _dtype_name(cls, name: str) -> str:
        try:
            return dtype_of(name).name
        except DesignError as error:
            raise DesignError("", error.message, name) from None

    @model_validator(mode="after")
    def _within_limits(self) -> ScheduleDesign:
        grid, chosen = self.grid, self.chosen
        if self.batch > 1 and not chosen.batches:
            raise DesignError("batch", f"{self.policy} has no batches; 1 is allowed", self.batch)
        _check_tiles(grid.tiles * grid.batch, [grid.rows, grid.columns], "tiles")
        if chosen.check is not None:
            chosen.check(grid, self.workers, self.parameters)
        count = grid.tiles * grid.batch
        if chosen.launched is not None:
            count = chosen.launched(grid, self.workers, self.parameters)
            _check_tiles(count, count, f"tasks of {self.policy}")
        self._check_bytes(grid, count)
        return self

    def _check_bytes(self, grid: Grid, count: int) -> None:
        """Refuse operands whose traffic could not be counted in 64 bits."""
        wide = sum(grid.tile[:2]) * (grid.problem[2] + grid.tile[2]) * self.bits // 8
        if wide * (count + 1) > MAX_BYTES:
            message = f"its tiles read {wide * count} bytes in all; at most {MAX_BYTES}"
            raise DesignError("problem", message, list(self.problem))

    @property
    def grid(self) -> Grid:
        """The grid of tiles."""
        return Grid(self.problem, self.tile, self.batch)

    @property
    def chosen(self) -> Policy:
        """The policy."""
        return policy(self.policy)

    @property
    def bits(self) -> int:
        """Bits of an element of A and B."""
        return dtype_of(self.dtype).bits

    def document(self) -> dict[str, Any]:
        """Return the design as a flat JSON document, defaults left out."""
        own = self.model_dump(mode="json", exclude_defaults=True, exclude={"parameters"})
        rest = self.parameters.model_dump(mode="json", exclude_defaults=True)
        return {"study": self.study, **own, **rest}

    def whole_document(self) -> dict[str, Any]:
        """Return the design as a flat JSON document with every default written out.

        Example:
            >>> design = validated(ScheduleDesign, {"problem": [9, 9, 9], "tile": [1, 1, 1],
            ...                                     "policy": "catlass"})
            >>> design.whole_document()["direction"]
            'zn'
        """
        own = self.model_dump(mode="json", exclude={"parameters"})
        return {**own, **self.parameters.model_dump(mode="json")}

    def with_policy(self, name: str, **parameters: Any) -> ScheduleDesign:
        """Return the same product under another policy.

        Raises:
            DesignError: The policy does not take the parameters, or this grid.
        """
        own = self.model_dump(mode="json", exclude={"parameters", "policy"})
        return validated(ScheduleDesign, {**own, "policy": name, **parameters})


def _policy(name: Any) -> Policy:
    if name is None:
        raise DesignError("policy", "this field is required", None)
    if not isinstance(name, str) or name not in NAMES:
        raise DesignError("policy", f"must be one of {', '.join(NAMES)}", shown(name))
    return policy(name)


def _unknown(chosen: Policy) -> str:
    names = ", ".join(chosen.parameters.model_fields)
    takes = f"its parameters are {names}" if names else "it takes no parameters"
    return f"not a field of {chosen.name}; {takes}"


def _check_tiles(count: int, value: object, what: str) -> None:
    if count > MAX_TILES:
        raise DesignError("problem", f"{count} {what}; at most {MAX_TILES}", value)
