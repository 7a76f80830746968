"""The access design: one warp instruction, by its addresses or by a layout and a pattern."""

from __future__ import annotations

from typing import Literal

from pydantic import field_validator, model_validator

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

MAX_ADDRESS = 1 << 40


class AccessDesign(Design):
    """One warp instruction.

    Attributes:
        space: Where it goes.
        op: What it does.
        bytes: Bytes per lane: 1, 2, 4, 8 or 16 (ldmatrix and stmatrix: 16 per row address).
        addresses: Up to 32 byte addresses; None is an inactive lane, as are lanes not listed.
        layout: Instead of addresses: where elements of ``dtype`` live...
        pattern: ...and which of them each lane wants: ``row`` (lane after lane along a row),
            ``column`` (down a column), ``ldmatrix`` (row addresses of 8x8 matrices of 16-byte
            rows), or a coordinate per lane.
    """

    study: Literal["access"] = "access"
    space: Literal["shared", "global"] = "shared"
    op: Op = "ld"
    bytes: int | None = None
    addresses: tuple[int | None, ...] | None = None
    layout: str | None = None
    dtype: str = "float32"
    pattern: Literal["row", "column", "ldmatrix"] | Coordinates | None = None

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
        matrix = "matrix" in self.op
        if matrix and self.space == "global":
            raise DesignError("space", f"{self.op} reads shared memory only", self.space)
        if matrix and self.bytes not in (None, 16):
            raise DesignError(
                "bytes", f"must be 16, one row of a matrix, for {self.op}", self.bytes
            )
        if not matrix and self.bytes is not None and self.bytes not in (1, 2, 4, 8, 16):
            raise DesignError("bytes", "must be 1, 2, 4, 8 or 16", self.bytes)
        if self.op.startswith("ldgsts") and self.width not in (4, 8, 16):
            raise DesignError("bytes", "must be 4, 8 or 16 for an asynchronous copy", self.width)
        if (self.addresses is None) == (self.layout is None):
            raise DesignError("addresses", "give either addresses, or layout and pattern", None)
        if self.addresses is not None:
            self._check_addresses(self.addresses)
        elif self.pattern is None:
            raise DesignError("pattern", "needs row, column, ldmatrix or a coordinate a lane", None)
        elif not isinstance(self.pattern, str) and not 1 <= len(self.pattern) <= LANES:
            raise DesignError("pattern", f"needs 1 to {LANES} coordinates", len(self.pattern))
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

    @property
    def width(self) -> int:
        """Bytes per lane: as given, else 16 for matrix rows, else one element."""
        if self.bytes is not None:
            return self.bytes
        return 16 if "matrix" in self.op else dtype_of(self.dtype).bytes
