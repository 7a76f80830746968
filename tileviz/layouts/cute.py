"""CuTe layouts: nested shapes with nested strides, first mode fastest.

A layout is a map from a coordinate to an index. A coordinate may be nested as the shape is, flat
over the top-level modes, or one number that runs through the shape with the first mode fastest
(colexicographic). This differs from ``TileLayout``, whose last dimension is fastest; what both
share is the list of (extent, stride) digits. The algebra is in ``cute_algebra``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tileviz.errors import DesignError
from tileviz.layouts.addressing import IntArray
from tileviz.layouts.axes import LayoutError
from tileviz.layouts.swizzle import Swizzle
from tileviz.layouts.tokens import Tokens

IntTuple: TypeAlias = "int | tuple[IntTuple, ...]"
Digit: TypeAlias = tuple[int, int]

MAX_DEPTH = 8
MAX_LEAVES = 32
MAX_ELEMENTS = 1 << 20


def flatten(nested: IntTuple) -> tuple[int, ...]:
    """Return the numbers of a nested tuple in order.

    Example:
        >>> flatten(((2, (3,)), 4)), flatten(7)
        ((2, 3, 4), (7,))
    """
    return (nested,) if isinstance(nested, int) else tuple(_leaves(nested))


def _leaves(nested: tuple[IntTuple, ...]) -> Iterator[int]:
    for part in nested:
        if isinstance(part, int):
            yield part
        else:
            yield from _leaves(part)


def product(nested: IntTuple) -> int:
    """Return the product of all numbers of a nested tuple.

    Example:
        >>> product(((2, 3), 4))
        24
    """
    total = 1
    for leaf in flatten(nested):
        total *= leaf
    return total


def congruent(a: IntTuple, b: IntTuple) -> bool:
    """Return whether two nested tuples are nested alike.

    Example:
        >>> congruent(((2, 3), 4), ((1, 8), 2)), congruent((2, 3), ((1,), 2))
        (True, False)
    """
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int)
    return len(a) == len(b) and all(congruent(x, y) for x, y in zip(a, b, strict=True))


def show(nested: IntTuple) -> str:
    """Return the text of a nested tuple.

    Example:
        >>> show(((2, 3), (4,))), show(5)
        ('((2,3),(4))', '5')
    """
    if isinstance(nested, int):
        return str(nested)
    return f"({','.join(map(show, nested))})"


def compact(shape: IntTuple, start: int = 1) -> IntTuple:
    """Return strides without gaps, first mode fastest.

    Example:
        >>> compact(((2, 3), 4))
        ((1, 2), 6)
    """
    if isinstance(shape, int):
        return start
    strides = []
    for part in shape:
        strides.append(compact(part, start))
        start *= product(part)
    return tuple(strides)


@dataclass(frozen=True, init=False)
class CuteLayout:
    """A CuTe layout, ``shape:stride``.

    Args:
        shape: Nested extents, each at least 1.
        stride: Nested strides, nested as the shape is; None for compact ones, first mode fastest.

    Raises:
        LayoutError: Shape and stride are not nested alike, or an extent is below 1.

    Example:
        >>> layout = CuteLayout(((2, 4), 8), ((1, 16), 2))
        >>> print(layout, layout.size, layout.cosize)
        ((2,4),8):((1,16),2) 64 64
        >>> layout((3, 1)), layout(((1, 1), 1)), layout(11)
        (19, 19, 19)
    """

    shape: IntTuple
    stride: IntTuple

    def __init__(self, shape: IntTuple, stride: IntTuple | None = None) -> None:
        if any(extent < 1 for extent in flatten(shape)):
            raise LayoutError(f"extents are whole numbers from 1, not {show(shape)}")
        steps = compact(shape) if stride is None else stride
        if not congruent(shape, steps):
            raise LayoutError(f"{show(shape)} and {show(steps)} are not nested alike")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "stride", steps)

    @classmethod
    def of_digits(cls, digits: Iterable[Digit]) -> CuteLayout:
        """Return the layout of (extent, stride) digits: one mode each, no tuple around a lone one.

        Example:
            >>> print(CuteLayout.of_digits([(2, 1), (4, 8)]), CuteLayout.of_digits([]))
            (2,4):(1,8) 1:0
        """
        found = list(digits) or [(1, 0)]
        if len(found) == 1:
            return cls(*found[0])
        return cls(tuple(extent for extent, _ in found), tuple(stride for _, stride in found))

    @classmethod
    def of_modes(cls, modes: Sequence[CuteLayout]) -> CuteLayout:
        """Return the layout with the given layouts as its modes."""
        return cls(tuple(mode.shape for mode in modes), tuple(mode.stride for mode in modes))

    @property
    def modes(self) -> tuple[CuteLayout, ...]:
        """The top-level modes; a layout of one number is its own only mode."""
        if isinstance(self.shape, int) or isinstance(self.stride, int):
            return (self,)
        return tuple(map(CuteLayout, self.shape, self.stride))

    @property
    def digits(self) -> tuple[Digit, ...]:
        """(extent, stride) of every number of the shape, fastest first."""
        return tuple(zip(flatten(self.shape), flatten(self.stride), strict=True))

    @property
    def rank(self) -> int:
        """Number of top-level modes."""
        return 1 if isinstance(self.shape, int) else len(self.shape)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return product(self.shape)

    @property
    def cosize(self) -> int:
        """One more than the largest index, for strides from 0."""
        return 1 + sum((extent - 1) * abs(stride) for extent, stride in self.digits)

    def __getitem__(self, mode: int) -> CuteLayout:
        return self.modes[mode]

    def __call__(self, *coordinate: IntTuple) -> int:
        """Return the index at a coordinate: nested, flat over the modes, or one number."""
        given = coordinate[0] if len(coordinate) == 1 else coordinate
        return _index(given, self.shape, self.stride)

    def table(self) -> IntArray:
        """Return the index of every coordinate in order, first mode fastest.

        Example:
            >>> CuteLayout((2, 3), (3, 1)).table()
            array([0, 3, 1, 4, 2, 5])
        """
        table: IntArray = np.zeros(1, dtype=np.int64)
        for extent, stride in self.digits:
            steps = np.arange(extent, dtype=np.int64) * stride
            table = (steps[:, None] + table).reshape(-1)
        return table

    def __str__(self) -> str:
        return f"{show(self.shape)}:{show(self.stride)}"


def _index(coordinate: IntTuple, shape: IntTuple, stride: IntTuple) -> int:
    if isinstance(shape, int) or isinstance(stride, int):
        if not isinstance(coordinate, int):
            raise LayoutError(f"the coordinate {show(coordinate)} is nested deeper than its mode")
        assert isinstance(stride, int)
        return coordinate * stride
    if isinstance(coordinate, int):
        total = 0
        for number, (extent, step) in enumerate(zip(shape, stride, strict=True)):
            # As everywhere, the slowest digit takes no modulo.
            last = number == len(shape) - 1
            digit = coordinate if last else coordinate % product(extent)
            total += _index(digit, extent, step)
            coordinate //= product(extent)
        return total
    if len(coordinate) != len(shape):
        raise LayoutError(f"the coordinate {show(coordinate)} does not fit {show(shape)}")
    return sum(map(_index, coordinate, shape, stride))


@dataclass(frozen=True)
class SwizzledCute:
    """A swizzle applied to the index of a CuTe layout, ``Sw<B,M,S> o shape:stride``.

    Example:
        >>> layout = SwizzledCute(Swizzle(0, 2, 2), CuteLayout((4, 4), (4, 1)))
        >>> print(layout, layout.table()[:4])
        Sw<2,0,2> o (4,4):(4,1) [ 0  5 10 15]
    """

    swizzle: Swizzle
    layout: CuteLayout

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.layout.size

    def __call__(self, *coordinate: IntTuple) -> int:
        """Return the swizzled index at a coordinate."""
        return int(self.swizzle.apply(self.layout(*coordinate)))

    def table(self) -> IntArray:
        """Return the index of every coordinate in order, first mode fastest."""
        return self.swizzle.apply(self.layout.table())

    def __str__(self) -> str:
        return f"{show_swizzle(self.swizzle)} o {self.layout}"


def show_swizzle(swizzle: Swizzle) -> str:
    """Return a swizzle in CuTe's letters; a negative S is the outer form.

    Example:
        >>> show_swizzle(Swizzle(4, 3, 3)), show_swizzle(Swizzle(4, 3, 3, inner=False))
        ('Sw<3,4,3>', 'Sw<3,4,-3>')
    """
    distance = swizzle.atom_len if swizzle.inner else -swizzle.atom_len
    return f"Sw<{swizzle.swizzle_len},{swizzle.per_element},{distance}>"


def cute_swizzle(b: int, m: int, s: int) -> Swizzle:
    """Return CuTe's ``Swizzle<b,m,s>``, whose s may be negative.

    Raises:
        LayoutError: A letter is negative but s, or the magnitude of s is below b.

    Example:
        >>> cute_swizzle(3, 4, -3) == Swizzle(4, 3, 3, inner=False)
        True
    """
    return Swizzle(m, b, abs(s), inner=s >= 0)


def parse_cute(text: str, field: str = "layout") -> CuteLayout | SwizzledCute:
    """Return the CuTe layout that a text describes, nested as written.

    Args:
        text: ``shape:stride``, a shape alone (compact, first mode fastest), or either after
            ``Sw<B,M,S> o``. At most 32 numbers, nested at most 8 deep, 1,048,576 elements.
        field: The field that an error names.

    Raises:
        DesignError: The text is malformed or over a limit; ``position`` points at the fault.

    Example:
        >>> print(parse_cute("((2, 4), 8):((1, 16), 2)"), parse_cute("Sw<2,0,3> o (8,8)"))
        ((2,4),8):((1,16),2) Sw<2,0,3> o (8,8):(1,8)
        >>> parse_cute("((2,4),8):(1,2)")
        Traceback (most recent call last):
        tileviz.errors.DesignError: layout: ((2,4),8) and (1,2) are not nested alike
    """
    if not isinstance(text, str) or len(text) > 4096:
        raise DesignError(field, "a CuTe layout is text such as ((2,4),8):((1,16),2)", None)
    tokens = Tokens(text)
    try:
        layout = _whole(tokens)
    except DesignError as error:
        raise DesignError(field, error.message, text, position=error.position) from None
    return layout


def _whole(tokens: Tokens) -> CuteLayout | SwizzledCute:
    swizzle = None
    if tokens.take_name("Sw", "Swizzle"):
        start = tokens.at
        tokens.expect("<")
        letters = [tokens.integer()]
        for _ in range(2):
            tokens.expect(",")
            letters.append(tokens.integer())
        tokens.expect(">")
        try:
            swizzle = cute_swizzle(*letters)
        except LayoutError as error:
            raise tokens.error(str(error), start) from None
        if not tokens.take_name("o"):
            raise tokens.expected('"o" and the layout that is swizzled')
    layout = cute_of(tokens)
    if tokens.kinds[tokens.at] != "end":
        raise tokens.expected("the end")
    return layout if swizzle is None else SwizzledCute(swizzle, layout)


def cute_of(tokens: Tokens) -> CuteLayout:
    """Parse ``shape:stride`` or a shape from tokens."""
    start = tokens.at
    shape = nested_of(tokens)
    stride = nested_of(tokens) if tokens.take(":") else compact(shape)
    if len(flatten(shape)) > MAX_LEAVES:
        raise tokens.error(f"at most {MAX_LEAVES} numbers in a shape", start)
    try:
        layout = CuteLayout(shape, stride)
    except LayoutError as error:
        raise tokens.error(str(error), start) from None
    if layout.size > MAX_ELEMENTS:
        raise tokens.error(f"at most {MAX_ELEMENTS} elements, these are {layout.size}", start)
    return layout


def nested_of(tokens: Tokens, depth: int = 0) -> IntTuple:
    """Parse a number or a tuple of such."""
    if not tokens.take("("):
        return tokens.integer()
    if depth == MAX_DEPTH:
        raise tokens.error(f"tuples nest at most {MAX_DEPTH} deep")
    parts = [nested_of(tokens, depth + 1)]
    while tokens.take(","):
        if tokens.kinds[tokens.at] == ")":
            break
        parts.append(nested_of(tokens, depth + 1))
    tokens.expect(")")
    return tuple(parts)
