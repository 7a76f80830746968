"""TileLayout: where an element lives, as a sum of strided digits on named axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index as whole
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tileviz.errors import DesignError
from tileviz.layouts.addressing import IntArray, as_indices, digit_sums, digit_table, flatten
from tileviz.layouts.axes import AXES, LayoutError, unknown_axis

# Replica sets are listed in full only up to this many addresses.
_MAX_LISTED = 1 << 22


class Iter(NamedTuple):
    """One digit of a layout: its extent, its stride (in elements) and the axis it moves along.

    Example:
        >>> Iter(8, 4, "laneid")
        Iter(extent=8, stride=4, axis='laneid')
    """

    extent: int
    stride: int
    axis: str


def _iters(items: Iterable[tuple[int, int, str]], part: str) -> tuple[Iter, ...]:
    """Return ``items`` as checked Iters."""
    checked = []
    for item in items:
        try:
            extent, stride, axis = item
            extent, stride = whole(extent), whole(stride)
        except (TypeError, ValueError):
            raise DesignError(
                "layout", f"each {part} iter is (extent, stride, axis) with whole numbers", item
            ) from None
        if axis not in AXES:
            raise DesignError("layout", unknown_axis(axis), axis)
        if extent < 0:
            raise DesignError("layout", f"{part} extents are not negative", extent)
        checked.append(item if type(item) is Iter else Iter(extent, stride, axis))
    return tuple(checked)


@dataclass(frozen=True, init=False, repr=False)
class TileLayout:
    """A map from logical coordinates to addresses: shard + replica + offset.

    The coordinate is flattened row-major and split into digits over the shard, innermost digit
    first; the address on an axis is the sum of digit times stride, plus the offset. The replica
    says where else the same element lives.

    Args:
        shard: Outermost first: (extent, stride, axis).
        replica: Likewise; an unordered set of copies.
        offset: Per axis, in elements. Zero entries are kept, as in the reference.

    Attributes:
        shard: Tuple of ``Iter``.
        replica: Tuple of ``Iter``.
        offset: Pairs (axis, value), sorted by axis.

    Raises:
        DesignError: An axis does not exist, a number is not whole, or an extent is negative.

    Example:
        >>> layout = TileLayout([(4, 33, "m"), (32, 1, "m")])
        >>> print(layout, layout.size, layout.span())
        S[(4, 32):(33, 1)] 128 131
        >>> layout.apply((1, [0, 5]))["m"]
        array([33, 38])
    """

    shard: tuple[Iter, ...]
    replica: tuple[Iter, ...]
    offset: tuple[tuple[str, int], ...]

    def __init__(
        self,
        shard: Iterable[tuple[int, int, str]] = (),
        replica: Iterable[tuple[int, int, str]] = (),
        offset: Mapping[str, int] | Iterable[tuple[str, int]] = (),
    ) -> None:
        pairs = offset.items() if isinstance(offset, Mapping) else tuple(offset)
        entries = {}
        for name, value in pairs:
            if name not in AXES:
                raise DesignError("layout", unknown_axis(name), name)
            try:
                entries[name] = whole(value)
            except TypeError:
                raise DesignError("layout", "offsets are whole numbers", value) from None
        object.__setattr__(self, "shard", _iters(shard, "shard"))
        object.__setattr__(self, "replica", _iters(replica, "replica") if replica else ())
        object.__setattr__(self, "offset", tuple(sorted(entries.items())))

    @classmethod
    def derived(
        cls,
        shard: Iterable[Iter],
        replica: tuple[Iter, ...] = (),
        offset: tuple[tuple[str, int], ...] = (),
    ) -> TileLayout:
        """Make a layout from parts of checked layouts, without checking them again.

        The algebra makes some twenty layouts for one decision; checking was a third of its time.

        Args:
            shard: Iters, outermost first.
            replica: Iters.
            offset: Pairs (axis, value), sorted by axis.

        Example:
            >>> print(TileLayout.derived([Iter(4, 1, "m")]))
            S[4:1]
        """
        layout = cls.__new__(cls)
        layout.__dict__.update(shard=tuple(shard), replica=replica, offset=offset)
        return layout

    @property
    def extents(self) -> tuple[int, ...]:
        """The shard's extents: the default logical shape."""
        return tuple(item.extent for item in self.shard)

    @property
    def strides(self) -> tuple[int, ...]:
        """The shard's strides, in elements."""
        return tuple(item.stride for item in self.shard)

    @property
    def axes(self) -> tuple[str, ...]:
        """Every axis of shard and offset, in order of appearance: the keys of ``apply``."""
        seen = dict.fromkeys(item.axis for item in self.shard)
        seen.update((name, None) for name, _ in self.offset)
        return tuple(seen)

    @property
    def size(self) -> int:
        """Number of logical elements: the product of the shard's extents."""
        size = 1
        for item in self.shard:
            size *= item.extent
        return size

    @property
    def replicas(self) -> int:
        """Number of copies of each element."""
        count = 1
        for item in self.replica:
            count *= item.extent
        return count

    @property
    def has_thread_axis(self) -> bool:
        """Whether the shard moves along a thread axis."""
        return any(AXES[item.axis].thread for item in self.shard)

    @property
    def is_trivial(self) -> bool:
        """Whether this is the identity: at most one memory iter of stride 1 and nothing else."""
        if len(self.shard) > 1 or self.replica or self.offset:
            return False
        return all(item.stride == 1 and not AXES[item.axis].thread for item in self.shard)

    def size_axis(self, axis: str) -> int:
        """Return the product of the shard extents on ``axis``.

        Example:
            >>> TileLayout([(8, 4, "laneid"), (2, 1, "m")]).size_axis("laneid")
            8
        """
        size = 1
        for item in self.shard:
            if item.axis == axis:
                size *= item.extent
        return size

    def offset_on(self, axis: str) -> int:
        """Return the offset on ``axis``, 0 where there is none.

        Example:
            >>> TileLayout([(4, 1, "m")], offset={"m": 3}).offset_on("m")
            3
        """
        return dict(self.offset).get(axis, 0)

    def span(self, axis: str | None = None) -> int:
        """Return ``1 + sum((extent - 1) * stride) + offset`` over shard and replica, in elements.

        Args:
            axis: One axis; None takes all memory axes together, as the reference does (which mixes
                them: (4, 8):(1@TLane, 1@TCol) gives 11).

        Example:
            >>> TileLayout([(8, 4, "laneid"), (2, 1, "m")], offset={"laneid": 1}).span("laneid")
            30
        """
        span = 1
        for item in (*self.shard, *self.replica):
            if item.axis == axis or (axis is None and not AXES[item.axis].thread):
                span += (item.extent - 1) * item.stride
        for name, value in self.offset:
            if name == axis or (axis is None and not AXES[name].thread):
                span += value
        return span

    def address_range(self, axis: str = "m") -> tuple[int, int]:
        """Return the lowest and the highest address on ``axis``, replicas included.

        Raises:
            LayoutError: The layout has no elements.

        Example:
            >>> TileLayout([(4, -1, "m"), (8, 4, "m")], offset={"m": 3}).address_range()
            (0, 31)
        """
        low = high = self.offset_on(axis)
        for item in (*self.shard, *self.replica):
            if item.extent == 0:
                raise LayoutError(f"{self} has no elements")
            if item.axis == axis:
                reach = (item.extent - 1) * item.stride
                low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high

    def _digits(self) -> list[tuple[int, list[int]]]:
        """Return extent and stride on each of ``axes`` per shard iter."""
        axes = self.axes
        return [
            (item.extent, [item.stride if item.axis == name else 0 for name in axes])
            for item in self.shard
        ]

    def apply(
        self, coordinates: ArrayLike | tuple[ArrayLike, ...], shape: Sequence[int] | None = None
    ) -> dict[str, IntArray]:
        """Return the address of each coordinate, per axis; replicas are not listed.

        The outermost digit takes no modulo, so indices out of range and negative ones pass through.

        Args:
            coordinates: A tuple: one array (or number) a dimension, broadcast against each other.
                Anything else: row-major flat indices, of any shape.
            shape: The logical shape of a coordinate tuple; None takes the shard's extents.

        Returns:
            int64 arrays of the coordinates' shape, in elements.

        Raises:
            LayoutError: The number of coordinates does not fit, or an address leaves 62 bits.

        Example:
            >>> TileLayout([(4, 1, "m"), (32, 4, "m")]).apply([0, 1, 32])["m"]
            array([0, 4, 1])
        """
        if isinstance(coordinates, tuple):
            shape = self.extents if shape is None else shape
            flat = flatten(coordinates, shape)
        else:
            flat = as_indices(coordinates)
        axes = self.axes
        bases = [self.offset_on(name) for name in axes]
        return dict(zip(axes, digit_sums(self._digits(), bases, flat), strict=True))

    def table(self) -> dict[str, IntArray]:
        """Return the address of every element in row-major order, per axis.

        Returns:
            int64 arrays of length ``size``, in elements.

        Example:
            >>> TileLayout([(2, 1, "m"), (3, 2, "m")]).table()["m"]
            array([0, 2, 4, 1, 3, 5])
        """
        return {
            name: digit_table(
                [(item.extent, item.stride if item.axis == name else 0) for item in self.shard],
                self.offset_on(name),
            )
            for name in self.axes
        }

    def apply_all(
        self, coordinates: ArrayLike | tuple[ArrayLike, ...], shape: Sequence[int] | None = None
    ) -> dict[str, IntArray]:
        """Return every address of each coordinate: like ``apply`` with a last axis of replicas.

        Raises:
            LayoutError: More than 4,194,304 addresses in all, or as for ``apply``.

        Example:
            >>> layout = TileLayout([(8, 4, "laneid")], replica=[(4, 1, "laneid")])
            >>> layout.apply_all([0, 1])["laneid"]
            array([[0, 1, 2, 3],
                   [4, 5, 6, 7]])
        """
        first = self.apply(coordinates, shape)
        count = max((array.size for array in first.values()), default=1) * self.replicas
        if count > _MAX_LISTED:
            raise LayoutError(f"{count} addresses; at most {_MAX_LISTED} can be listed")
        names = dict.fromkeys((*first, *(item.axis for item in self.replica)))
        template = next(iter(first.values()), np.zeros((), dtype=np.int64))
        result = {}
        for name in names:
            digits = [
                (item.extent, item.stride if item.axis == name else 0) for item in self.replica
            ]
            start = first.get(name, np.zeros_like(template))
            result[name] = np.asarray(start[..., None] + digit_table(digits, 0), dtype=np.int64)
        return result

    def to_json(self) -> dict[str, object]:
        """Return the layout as the ``result`` of the ``layout`` study.

        Example:
            >>> TileLayout([(4, 1, "m")]).to_json()
            {'shard': [[4, 1, 'm']], 'replica': [], 'offset': {}, 'text': 'S[4:1]'}
        """
        return {
            "shard": [list(item) for item in self.shard],
            "replica": [list(item) for item in self.replica],
            "offset": dict(self.offset),
            "text": str(self),
        }

    def __str__(self) -> str:
        terms = []
        if self.shard or not self.replica:
            terms.append(f"S[{_pair(self.shard)}]")
        if self.replica:
            terms.append(f"R[{_pair(self.replica)}]")
        terms.extend(_on_axis(value, name) for name, value in self.offset)
        return " + ".join(terms)

    def __repr__(self) -> str:
        return f"TileLayout({self})"


def _on_axis(value: int, axis: str) -> str:
    return str(value) if axis == "m" else f"{value}@{axis}"


def _pair(items: tuple[Iter, ...]) -> str:
    extents = ", ".join(str(item.extent) for item in items)
    strides = ", ".join(_on_axis(item.stride, item.axis) for item in items)
    return f"{extents}:{strides}" if len(items) == 1 else f"({extents}):({strides})"


def row_major(shape: Sequence[int]) -> TileLayout:
    """Return the compact row-major layout of ``shape`` in memory.

    Example:
        >>> print(row_major((8, 4, 2)))
        S[(8, 4, 2):(8, 2, 1)]
    """
    items: list[Iter] = []
    stride = 1
    for extent in reversed(shape):
        items.append(Iter(extent, stride, "m"))
        stride *= extent
    return TileLayout(reversed(items))


def identity(shape: Sequence[int]) -> TileLayout:
    """Return the one-iter identity over all elements of ``shape`` (no iter for no dimension).

    Example:
        >>> print(identity((8, 64)))
        S[512:1]
    """
    if not shape:
        return TileLayout()
    size = 1
    for extent in shape:
        size *= extent
    return TileLayout([Iter(size, 1, "m")])
