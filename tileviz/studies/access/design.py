"""The access design: one warp instruction, by its addresses or by a layout and a pattern."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tileviz.dtypes import dtype as dtype_of
from tileviz.errors import DesignError
from tileviz.layouts import parse_layout
from tileviz.memory import LANES
from tileviz.studies.design import Design

Op = Literal[
    "ld",
    "st",
    "ldgsts.ca",
    "ldgsts.cg",
    "ldmatrix.x1",
    "ldmatrix.x2",
    "ldmatrix.x4",
    "stmatrix.x1",
    "stmatrix.x2",
    "stmatrix.x4",
    "atom",
]
Coordinates = tuple[tuple[int, ...] | None, ...]
Pattern = Literal["row", "column", "ldmatrix"] | Coordinates

MAX_ADDRESS = 1 << 40
MAX_TILE_BYTES = 1 << 20
MAX_PHASES = 8


def width_of(op: str, given: int | None, dtype: str) -> int:
    """Return bytes per lane: as given, else 16 for matrix rows, else one element.

    Example:
        >>> width_of("ld", None, "float16"), width_of("ldmatrix.x4", None, "float16")
        (2, 16)
    """
    if given is not None:
        return given
    return 16 if "matrix" in op else dtype_of(dtype).bytes


def _check_operation(op: str, given: int | None, width: int, space: str) -> None:
    """Refuse an operation that no hardware has."""
    matrix = "matrix" in op
    if matrix and space == "global":
        raise DesignError("space", f"{op} reads shared memory only", space)
    if matrix and given not in (None, 16):
        raise DesignError("bytes", f"must be 16, one row of a matrix, for {op}", given)
    if not matrix and given is not None and given not in (1, 2, 4, 8, 16):
        raise DesignError("bytes", "must be 1, 2, 4, 8 or 16", given)
    if op.startswith("ldgsts") and width not in (4, 8, 16):
        raise DesignError("bytes", "must be 4, 8 or 16 for an asynchronous copy", width)
    if width not in (1, 2, 4, 8, 16):
        raise DesignError("bytes", "must be 1, 2, 4, 8 or 16", width)


def _check_pattern(pattern: Pattern) -> None:
    if not isinstance(pattern, str) and not 1 <= len(pattern) <= LANES:
        raise DesignError("pattern", f"needs 1 to {LANES} coordinates", len(pattern))


class Also(BaseModel):
    """A further access that the same layout must serve.

    Attributes:
        op: What it does.
        bytes: Bytes per lane; None for one element (16 for matrix rows).
        pattern: As for the design itself.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    op: Op = "ld"
    bytes: int | None = None
    pattern: Pattern


class AccessDesign(Design):
    """One warp instruction, and perhaps others that share its layout.

    Attributes:
        space: Where it goes.
        op: What it does.
        bytes: Bytes per lane: 1, 2, 4, 8 or 16 (ldmatrix and stmatrix: 16 per row address).
        addresses: Up to 32 byte addresses; None is an inactive lane, as are lanes not listed.
        layout: Instead of addresses: where elements of ``dtype`` live...
        pattern: ...and which of them each lane wants: ``row`` (lane after lane along a row),
            ``column`` (down a column), ``ldmatrix`` (row addresses of 8x8 matrices of 16-byte
            rows), or a coordinate per lane.
        also: Further accesses to the same layout, for a search to serve together.
    """

    study: Literal["access"] = "access"
    space: Literal["shared", "global"] = "shared"
    op: Op = "ld"
    bytes: int | None = None
    addresses: tuple[int | None, ...] | None = None
    layout: str | None = None
    dtype: str = "float32"
    pattern: Pattern | None = None
    also: tuple[Also, ...] = Field(default=(), max_length=MAX_PHASES - 1)

    @field_validator("dtype")
    @classmethod
    def _dtype_name(cls, name: str) -> str:
        try:
            if dtype_of(name).bytes:
                return name
        except DesignError as error:
            raise DesignError("", error.message, name) from None
        raise DesignError("", "needs a dtype of whole bytes", name)

    @field_validator("layout")
    @classmethod
    def _layout_text(cls, text: str | None) -> str | None:
        if text is not None:
            try:
                parse_layout(text)
            except DesignError as error:
                raise DesignError("", error.message, text, position=error.position) from None
        return text

    @model_validator(mode="after")
    def _one_form(self) -> AccessDesign:
        _check_operation(self.op, self.bytes, self.width, self.space)
        if (self.addresses is None) == (self.layout is None):
            raise DesignError("addresses", "give either addresses, or layout and pattern", None)
        if self.addresses is not None:
            self._check_addresses(self.addresses)
        elif self.pattern is None:
            raise DesignError("pattern", "needs row, column, ldmatrix or a coordinate a lane", None)
        else:
            _check_pattern(self.pattern)
            self._check_tile()
        self._check_also()
        return self

    def _check_addresses(self, addresses: tuple[int | None, ...]) -> None:
        if not 1 <= len(addresses) <= LANES:
            raise DesignError("addresses", f"needs 1 to {LANES} addresses", len(addresses))
        for lane, address in enumerate(addresses):
            if address is None:
                continue
            if not 0 <= address < MAX_ADDRESS:
                raise DesignError(f"addresses.{lane}", f"must be 0 to {MAX_ADDRESS - 1}", address)
            if address % self.width:
                raise DesignError(
                    f"addresses.{lane}", f"must be a multiple of {self.width} bytes", address
                )

    def _check_tile(self) -> None:
        size = parse_layout(self.layout or "").size * dtype_of(self.dtype).bytes
        if self.space == "shared" and size > MAX_TILE_BYTES:
            raise DesignError("layout", f"a tile has at most {MAX_TILE_BYTES} bytes", size)

    def _check_also(self) -> None:
        if self.also and self.layout is None:
            raise DesignError("also", "needs a layout that all accesses share", None)
        for number, other in enumerate(self.also):
            width = width_of(other.op, other.bytes, self.dtype)
            try:
                _check_operation(other.op, other.bytes, width, self.space)
                _check_pattern(other.pattern)
            except DesignError as error:
                raise error.within(f"also.{number}") from None

    @property
    def width(self) -> int:
        """Bytes per lane: as given, else 16 for matrix rows, else one element."""
        return width_of(self.op, self.bytes, self.dtype)
