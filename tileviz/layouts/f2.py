"""Linear algebra over F2, the field of bits: vectors are whole numbers, addition is XOR.

A map from addresses to banks that XORs bits is linear here, so that whether lanes conflict is a
question about subspaces, answered exactly and without listing elements. A matrix is the tuple of
its columns: ``columns[i]`` is the image of bit ``i``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tileviz.layouts.addressing import IntArray

Columns = tuple[int, ...]


class Span:
    """A subspace, grown vector by vector.

    Example:
        >>> span = Span([0b011, 0b101])
        >>> span.dimension, 0b110 in span, 0b001 in span
        (2, True, False)
    """

    def __init__(self, vectors: Iterable[int] = ()) -> None:
        self._by_top: dict[int, int] = {}
        for vector in vectors:
            self.add(vector)

    @property
    def dimension(self) -> int:
        """Number of independent vectors."""
        return len(self._by_top)

    def reduce(self, vector: int) -> int:
        """Return what is left of ``vector`` modulo the subspace; 0 if it lies in it."""
        while vector:
            known = self._by_top.get(vector.bit_length())
            if known is None:
                return vector
            vector ^= known
        return 0

    def add(self, vector: int) -> bool:
        """Add a vector; return whether the subspace grew."""
        rest = self.reduce(vector)
        if rest:
            self._by_top[rest.bit_length()] = rest
        return bool(rest)

    def extended(self, vector: int) -> Span | None:
        """Return the subspace with one vector more, or None if it lies in it already."""
        rest = self.reduce(vector)
        if not rest:
            return None
        grown = Span()
        grown._by_top = {**self._by_top, rest.bit_length(): rest}
        return grown

    def __contains__(self, vector: int) -> bool:
        return not self.reduce(vector)


def apply_columns(columns: Sequence[int], vector: int) -> int:
    """Return the image of ``vector``.

    Example:
        >>> apply_columns((1, 2, 1), 0b111)
        2
    """
    image = 0
    for bit, column in enumerate(columns):
        if vector >> bit & 1:
            image ^= column
    return image


def image_table(columns: Sequence[int]) -> IntArray:
    """Return the image of every vector in order, int64 ``[2 ** len(columns)]``.

    Example:
        >>> image_table((1, 2, 1)).tolist()
        [0, 1, 2, 3, 1, 0, 3, 2]
    """
    table: IntArray = np.zeros(1, dtype=np.int64)
    for column in columns:
        table = np.concatenate([table, table ^ column])
    return table


def sum_table(weights: Sequence[int]) -> IntArray:
    """Return the sum of weights of every vector's bits in order, int64 ``[2 ** len(weights)]``.

    Example:
        >>> sum_table((1, 33)).tolist()
        [0, 1, 33, 34]
    """
    table: IntArray = np.zeros(1, dtype=np.int64)
    for weight in weights:
        table = np.concatenate([table, table + weight])
    return table


def is_power_of_two(value: int) -> bool:
    """Return whether ``value`` is 1, 2, 4 and so on.

    Example:
        >>> [value for value in range(-1, 9) if is_power_of_two(value)]
        [1, 2, 4, 8]
    """
    return value > 0 and value & (value - 1) == 0


def linear_columns(table: IntArray) -> Columns | None:
    """Return the columns of the linear map that ``table`` lists, or None where it is not linear.

    Args:
        table: The image of every vector in order; its length decides the number of bits.

    Example:
        >>> linear_columns(np.array([0, 1, 2, 3])), linear_columns(np.array([0, 1, 2, 4]))
        ((1, 2), None)
    """
    size = len(table)
    if not is_power_of_two(size) or table[0]:
        return None
    columns = tuple(table[1 << np.arange(size.bit_length() - 1)].tolist())
    return columns if np.array_equal(image_table(columns), table) else None


def kernel_basis(columns: Sequence[int]) -> Columns:
    """Return independent vectors that span everything the map sends to 0.

    Example:
        >>> kernel_basis((1, 2, 3))
        (7,)
    """
    pivots: dict[int, tuple[int, int]] = {}
    kernel = []
    for bit, column in enumerate(columns):
        image, source = column, 1 << bit
        while image:
            pivot = pivots.get(image.bit_length())
            if pivot is None:
                pivots[image.bit_length()] = image, source
                break
            image, source = image ^ pivot[0], source ^ pivot[1]
        else:
            kernel.append(source)
    return tuple(kernel)


def rank(columns: Iterable[int]) -> int:
    """Return the dimension of the map's image.

    Example:
        >>> rank((1, 2, 3))
        2
    """
    return Span(columns).dimension


def completed(vectors: Sequence[int], bits: int) -> tuple[int, ...]:
    """Return the unit vectors, highest first, that complete independent ``vectors`` to a basis.

    Example:
        >>> completed((0b001, 0b110), 3)
        (4,)
    """
    span = Span(vectors)
    return tuple(1 << bit for bit in reversed(range(bits)) if span.add(1 << bit))
