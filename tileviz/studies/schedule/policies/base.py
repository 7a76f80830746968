"""What a policy is: its name, its parameters, and the order it makes of a grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tileviz.errors import DesignError
from tileviz.studies.schedule.grid import Grid, Tasks

UINT32 = (1 << 32) - 1

Direction = Literal["zn", "nz"]
DIRECTIONS: tuple[Direction, Direction] = ("zn", "nz")


class Parameters(BaseModel):
    """Base of the parameters of a policy: frozen, and closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def read_direction(value: Any) -> Direction:
    """Return the direction of strips: ``"zn"`` (0, strips of rows) or ``"nz"`` (1, of columns).

    Raises:
        DesignError: The value is none of those.

    Example:
        >>> read_direction(1), read_direction("Zn")
        ('nz', 'zn')
    """
    if not isinstance(value, bool):
        if isinstance(value, int) and value in (0, 1):
            return DIRECTIONS[value]
        if isinstance(value, str) and value.lower() in (*DIRECTIONS, "0", "1"):
            return DIRECTIONS[int(value) if value.isdigit() else DIRECTIONS.index(value.lower())]
    raise DesignError("", "must be 0 or zn (strips of rows), or 1 or nz (strips of columns)", value)


def _whole(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int):
        raise DesignError("", "a whole number is expected", value)
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
DirectionField = Annotated[Direction, BeforeValidator(read_direction)]


class StripParameters(Parameters):
    """Parameters of CATLASS strips: their width in tiles, and whether they are rows or columns."""

    offset: Whole = Field(default=1, ge=1, le=UINT32)
    direction: DirectionField = "zn"


@dataclass(frozen=True)
class Device:
    """The order as a CUDA device function: a template and its values.

    Attributes:
        template: A file of ``cuda/templates``.
        values: What fills it in.
    """

    template: str
    values: Mapping[str, object]


@dataclass(frozen=True)
class Policy:
    """One way of ordering tiles.

    Attributes:
        name: What ``policy`` says in a design document.
        title: A few words for people.
        system: Whose it is.
        rule: One sentence: how the order goes.
        parameters: Class of its parameters.
        tasks: Makes the tasks of a grid, a number of workers and the parameters.
        check: Refuses parameters that do not fit the grid, with a ``DesignError``.
        device: The order as a device function; None where tasks come from a table.
        launched: Number of tasks, where it is not one a tile.
        strips: Direction of the strips, and where each begins; None where it has none.
        batches: Whether the reference has batches.
        splits_k: Whether tasks cover parts of K.
        complete: Fills in ``problem`` and ``tile`` from the parameters of a document.
    """

    name: str
    title: str
    system: str
    rule: str
    parameters: type[Parameters]
    tasks: Callable[[Grid, int, Any], Tasks]
    check: Callable[[Grid, int, Any], None] | None = None
    device: Callable[[Grid, int, Any], Device] | None = None
    launched: Callable[[Grid, int, Any], int] | None = None
    strips: Callable[[Grid, int, Any], tuple[Direction, range]] | None = None
    batches: bool = True
    splits_k: bool = False
    complete: Callable[[dict[str, Any]], dict[str, Any]] | None = None


def check_offset(grid: Grid, offset: int, direction: Direction) -> None:
    """Refuse an offset with which the reference's 32-bit arithmetic goes wrong.

    Raises:
        DesignError: Names the offset and the limit below which none wraps.

    Example:
        >>> check_offset(Grid((3, 2, 1), (1, 1, 1)), 4294967293, "zn")
        >>> check_offset(Grid((3, 2, 1), (1, 1, 1)), 4294967294, "zn")
        Traceback (most recent call last):
        tileviz.errors.DesignError: offset: wraps in 32 bits; every offset up to 2147483647 is safe
    """
    along, across = (grid.rows, grid.columns) if direction == "zn" else (grid.columns, grid.rows)
    step = offset * across
    wrapped = step & UINT32
    # A wrapped step still gives strip 0 for every task as long as it exceeds them all.
    if along + offset - 1 > UINT32 or (step != wrapped and wrapped < grid.tiles):
        limit = min(UINT32 - along + 1, UINT32 // across)
        message = f"wraps in 32 bits; every offset up to {limit} is safe"
        raise DesignError("offset", message, offset)


def check_strips(grid: Grid, workers: int, parameters: StripParameters) -> None:
    """Refuse an offset beyond the reference's 32-bit arithmetic."""
    check_offset(grid, parameters.offset, parameters.direction)


def strip_starts(grid: Grid, workers: int, parameters: StripParameters) -> tuple[Direction, range]:
    """Return the direction of CATLASS strips, and where each begins."""
    along = grid.rows if parameters.direction == "zn" else grid.columns
    return parameters.direction, range(0, along, parameters.offset)
