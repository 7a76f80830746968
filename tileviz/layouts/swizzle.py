"""XOR swizzles of memory addresses, alone and applied after a TileLayout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tileviz.layouts.addressing import IntArray, as_indices
from tileviz.layouts.axes import LayoutError
from tileviz.layouts.tile_layout import TileLayout

# All address bits that a swizzle touches, so that the outer form's left shift stays in int64.
MAX_SWIZZLE_BITS = 48


@dataclass(frozen=True)
class Swizzle:
    """An XOR swizzle of element addresses, in the reference's letters.

    With ``x = m >> per_element``: the inner form is ``x ^= (x >> atom_len) & mask``, the outer form
    ``x ^= (x & mask) << atom_len``, where ``mask = 2**swizzle_len - 1``; the low ``per_element``
    bits of ``m`` stay. CuTe's ``Swizzle<B, M, S>`` is the inner form: ``Swizzle.cute(B, M, S)``.

    Attributes:
        per_element: M, log2 of the elements that move together.
        swizzle_len: B, the number of XORed bits.
        atom_len: S, the distance between the two bit fields; at least ``swizzle_len``.
        inner: Which form.

    Raises:
        LayoutError: A letter is negative, S < B, or the letters sum to more than 48.

    Example:
        >>> Swizzle(0, 2, 2).apply([3, 4, 5])
        array([3, 5, 4])
        >>> print(Swizzle.cute(3, 4, 3), Swizzle(0, 1, 1, inner=False))
        Swizzle(4, 3, 3) Swizzle(0, 1, 1, inner=False)
    """

    per_element: int
    swizzle_len: int
    atom_len: int
    inner: bool = True

    def __post_init__(self) -> None:
        letters = (self.per_element, self.swizzle_len, self.atom_len)
        if min(letters) < 0:
            raise LayoutError(f"the letters of a swizzle are not negative: {letters}")
        if self.atom_len < self.swizzle_len:
            raise LayoutError(
                f"atom_len {self.atom_len} is less than swizzle_len {self.swizzle_len}: "
                "the two bit fields of a swizzle must not overlap"
            )
        if sum(letters) > MAX_SWIZZLE_BITS:
            raise LayoutError(f"a swizzle touches at most {MAX_SWIZZLE_BITS} bits: {letters}")

    @classmethod
    def cute(cls, b: int, m: int, s: int) -> Swizzle:
        """Return CuTe's ``Swizzle<b, m, s>``.

        Example:
            >>> Swizzle.cute(3, 4, 3) == Swizzle(per_element=4, swizzle_len=3, atom_len=3)
            True
        """
        return cls(m, b, s)

    @property
    def size(self) -> int:
        """The period: ``2 ** (per_element + swizzle_len + atom_len)`` elements."""
        return 1 << (self.per_element + self.swizzle_len + self.atom_len)

    def apply(self, addresses: ArrayLike) -> IntArray:
        """Return the swizzled ``addresses`` (int64, same shape; in elements).

        Example:
            >>> Swizzle(3, 3, 3).apply([0, 64, 72, 128])
            array([  0,  72,  64, 144])
        """
        address = as_indices(addresses)
        mask = (1 << self.swizzle_len) - 1
        if self.inner:
            moved = (address >> self.atom_len) & (mask << self.per_element)
        else:
            moved = (address & (mask << self.per_element)) << self.atom_len
        return np.asarray(address ^ moved, dtype=np.int64)

    def __str__(self) -> str:
        letters = f"{self.per_element}, {self.swizzle_len}, {self.atom_len}"
        return f"Swizzle({letters})" if self.inner else f"Swizzle({letters}, inner=False)"


@dataclass(frozen=True)
class ComposeLayout:
    """A swizzle applied to the memory address of a tile, after the tile's offset.

    Attributes:
        swizzle: The swizzle.
        tile: The layout whose addresses are swizzled; it is applied on ``m`` only.

    Example:
        >>> layout = ComposeLayout(Swizzle(3, 3, 3), TileLayout([(8, 64, "m"), (64, 1, "m")]))
        >>> print(layout, layout.apply((1, [0, 8]))["m"])
        Swizzle(3, 3, 3) o S[(8, 64):(64, 1)] [72 64]
    """

    swizzle: Swizzle
    tile: TileLayout

    @property
    def extents(self) -> tuple[int, ...]:
        """The shard's extents: the default logical shape."""
        return self.tile.extents

    @property
    def axes(self) -> tuple[str, ...]:
        """The keys of ``apply``."""
        return ("m",)

    @property
    def size(self) -> int:
        """Number of logical elements."""
        return self.tile.size

    @property
    def replicas(self) -> int:
        """Number of copies of each element."""
        return self.tile.replicas

    @property
    def is_bare(self) -> bool:
        """Whether the tile is the identity: the layout stands for the swizzle alone."""
        return self.tile.is_trivial

    def span(self) -> int:
        """Return the span of the tile, in elements, as the reference does.

        The swizzle may reach beyond it where the span is not a whole number of periods;
        ``address_range`` has the true bounds.
        """
        return self.tile.span()

    def address_range(self, axis: str = "m") -> tuple[int, int]:
        """Return the lowest and the highest address, replicas included, in elements.

        Raises:
            LayoutError: The layout has no elements, maps to other axes than ``m``, or has more than
                4,194,304 addresses.

        Example:
            >>> ComposeLayout(Swizzle(0, 2, 2), TileLayout([(5, 1, "m")])).address_range()
            (0, 5)
        """
        if axis != "m":
            return (0, 0)
        if self.size == 0:
            raise LayoutError(f"{self} has no elements")
        addresses = self.apply_all(np.arange(self.size))["m"]
        return int(addresses.min()), int(addresses.max())

    def _memory(self, addresses: dict[str, IntArray]) -> IntArray:
        if set(addresses) != {"m"}:
            found = ", ".join(addresses) or "no axis"
            raise LayoutError(f"a swizzle applies to memory only; {self.tile} maps to {found}")
        return self.swizzle.apply(addresses["m"])

    def apply(
        self, coordinates: ArrayLike | tuple[ArrayLike, ...], shape: Sequence[int] | None = None
    ) -> dict[str, IntArray]:
        """Return the address of each coordinate: ``TileLayout.apply``, then the swizzle.

        Raises:
            LayoutError: The tile maps to other axes than ``m``, or as for ``TileLayout.apply``.
        """
        return {"m": self._memory(self.tile.apply(coordinates, shape))}

    def table(self) -> dict[str, IntArray]:
        """Return the address of every element in row-major order.

        Raises:
            LayoutError: The tile maps to other axes than ``m``.

        Example:
            >>> ComposeLayout(Swizzle(0, 1, 1), TileLayout([(4, 1, "m")])).table()["m"]
            array([0, 1, 3, 2])
        """
        return {"m": self._memory(self.tile.table())}

    def apply_all(
        self, coordinates: ArrayLike | tuple[ArrayLike, ...], shape: Sequence[int] | None = None
    ) -> dict[str, IntArray]:
        """Return every address of each coordinate: like ``apply`` with a last axis of replicas.

        Raises:
            LayoutError: As for ``apply`` and ``TileLayout.apply_all``.
        """
        return {"m": self._memory(self.tile.apply_all(coordinates, shape))}

    def to_json(self) -> dict[str, object]:
        """Return the layout as the ``result`` of the ``layout`` study.

        Example:
            >>> ComposeLayout(Swizzle(0, 1, 1), TileLayout([(4, 1, "m")])).to_json()["swizzle"]
            [0, 1, 1, True]
        """
        swizzle = self.swizzle
        letters = [swizzle.per_element, swizzle.swizzle_len, swizzle.atom_len, swizzle.inner]
        return {"swizzle": letters, "tile": self.tile.to_json(), "text": str(self)}

    def __str__(self) -> str:
        return f"{self.swizzle} o {self.tile}"
