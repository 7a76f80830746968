"""The accesses of warp instructions: predicted and measured alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Space = Literal["shared", "global"]

LANES = 32


@dataclass(frozen=True, eq=False)
class Accesses:
    """Executed warp instructions of one kind: one source line, space, operation and width.

    A prediction made from a plan's index expressions and a measurement made by the emulator are
    this same type, so that the same rules judge both.

    Attributes:
        addresses: Byte addresses, int64, shape ``[instruction, lane]`` with 32 lanes. Shared
            addresses count from the start of the block's shared memory. The value of an inactive
            lane has no meaning.
        active: Which lanes take part, bool, same shape.
        space: ``"shared"`` or ``"global"``.
        op: ``ld``, ``st``, ``ldgsts.ca``, ``ldgsts.cg``, ``ldmatrix.x1/.x2/.x4``,
            ``stmatrix.x1/.x2/.x4`` or ``atom``.
        bytes: Bytes per lane: 1, 2, 4, 8 or 16 (per row address for ldmatrix and stmatrix: 16).
        line: 1-based line in the kernel's source, or None where unknown.
        text: The source text of the access, for people.
        buffer: Name of the buffer or array accessed, "" where unknown.
        warps: Which warp of the launch executed each instruction, int64 ``[instruction]``: the
            block's linear number times the warps of a block, plus the warp in it. None where
            unknown, as in a prediction.

    Example:
        >>> import numpy as np
        >>> row = Accesses.of(4 * np.arange(32), space="shared", op="ld", bytes=4, line=14)
        >>> row.addresses.shape, row.executions
        ((1, 32), 1)
    """

    addresses: NDArray[np.int64]
    active: NDArray[np.bool_]
    space: Space
    op: str
    bytes: int
    line: int | None = None
    text: str = ""
    buffer: str = ""
    warps: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        addresses: NDArray[np.integer],
        *,
        space: Space,
        op: str,
        bytes: int,
        active: NDArray[np.bool_] | None = None,
        line: int | None = None,
        text: str = "",
        buffer: str = "",
    ) -> Accesses:
        """Make accesses from addresses of shape ``[lane]`` or ``[instruction, lane]``."""
        grid = np.atleast_2d(np.asarray(addresses, dtype=np.int64))
        mask = np.ones(grid.shape, dtype=bool) if active is None else np.atleast_2d(active)
        if grid.shape[1] != LANES or mask.shape != grid.shape:
            raise ValueError(f"accesses need shape [instruction, {LANES}], got {grid.shape}")
        return cls(grid, mask, space, op, bytes, line, text, buffer)

    @property
    def executions(self) -> int:
        """Number of warp instructions executed."""
        return int(self.addresses.shape[0])

    def at(self, line: int | None, text: str) -> Accesses:
        """Return the same accesses, attributed to a source line."""
        return replace(self, line=line, text=text)
