"""The address of one element, digit by digit: coordinate, number, digits, strides, swizzle."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tileviz.layouts import ComposeLayout, TileLayout
from tileviz.layouts.addressing import unflatten
from tileviz.studies.arithmetic import equals, product, shown
from tileviz.studies.derivation import Bits, Step

Layout = TileLayout | ComposeLayout


def address_steps(
    layout: Layout, coordinate: Sequence[int], shape: Sequence[int], axis: str = "m"
) -> list[Step]:
    """Return the way from a coordinate to its address on one axis, in elements.

    Args:
        layout: The layout.
        coordinate: A coordinate inside ``shape``.
        shape: The logical shape; of as many elements as the layout.
        axis: Which axis of the address.

    Example:
        >>> from tileviz.layouts import parse_layout
        >>> padded = parse_layout("S[(4, 32):(33, 1)]")
        >>> for step in address_steps(padded, (2, 7), (4, 32)): print(step.arithmetic)
        2 · 33 + 7 · 1 = 73
    """
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    steps, digits = _digits(tile, coordinate, shape)
    terms = [
        f"{shown(digit)} · {_signed(item.stride)}"
        for digit, item in zip(digits, tile.shard, strict=True)
        if item.axis == axis
    ]
    start = tile.offset_on(axis)
    terms += [_signed(start)] if start else []
    place = start + sum(
        digit * item.stride
        for digit, item in zip(digits, tile.shard, strict=True)
        if item.axis == axis
    )
    where = "" if axis == "m" else f" on {axis}"
    text = f"Each digit times its stride{where}{', plus the offset' if start else ''}."
    steps.append(Step(text, equals(" + ".join(terms) or "0", place)))
    return steps + _swizzled(layout, place)


def _signed(value: int) -> str:
    return shown(value) if value >= 0 else f"({shown(value)})"


def _digits(
    tile: TileLayout, coordinate: Sequence[int], shape: Sequence[int]
) -> tuple[list[Step], tuple[int, ...]]:
    """Return the digits of an element, and the steps to them where the shape is another one."""
    if tuple(shape) == tuple(tile.extents):
        return [], tuple(coordinate)
    weights = [prod(shape[dim + 1 :]) for dim in range(len(shape))]
    number = sum(at * weight for at, weight in zip(coordinate, weights, strict=True))
    terms = [
        f"{shown(at)} · {shown(weight)}" for at, weight in zip(coordinate, weights, strict=True)
    ]
    digits = unflatten(number, tile.extents)
    sizes = [prod(tile.extents[at + 1 :]) for at in range(len(tile.extents))]
    split = " + ".join(f"{shown(d)} · {shown(size)}" for d, size in zip(digits, sizes, strict=True))
    where = f"({', '.join(map(shown, coordinate))})"
    return [
        Step(
            f"Coordinate {where} in the shape {product(shape)}, counted row by row.",
            equals(" + ".join(terms) or "0", number),
        ),
        Step(
            f"The same number in the digits of the shard, {product(tile.extents)}: "
            f"{', '.join(map(shown, digits)) or 'none'}.",
            equals(split or "0", number),
        ),
    ], digits


def _swizzled(layout: Layout, place: int) -> list[Step]:
    """Return the XOR of a swizzle, bit by bit."""
    if not isinstance(layout, ComposeLayout) or not layout.swizzle.swizzle_len:
        return []
    swizzle = layout.swizzle
    low = swizzle.per_element
    far = low + swizzle.atom_len
    source, target = (far, low) if swizzle.inner else (low, far)
    mask = (1 << swizzle.swizzle_len) - 1
    moved = place >> source & mask
    after = int(swizzle.apply(place))
    top = max(place.bit_length(), after.bit_length(), source + swizzle.swizzle_len)
    top = max(top, target + swizzle.swizzle_len)
    taken = tuple(range(source, source + swizzle.swizzle_len))
    changed = tuple(range(target, target + swizzle.swizzle_len))
    bits = (
        Bits("before the swizzle", place, place, 0, top, taken=taken),
        Bits("bits that move", moved, moved << target, target, changed[-1] + 1, taken=changed),
        Bits("after the XOR", after, after, 0, top, changed=changed),
    )
    return [
        Step(
            f"The swizzle takes bits {_places(taken)}...",
            equals(f"({shown(place)} >> {source}) & {mask}", moved),
        ),
        Step(
            f"...and XORs them onto bits {_places(changed)}.",
            equals(f"{shown(place)} ^ ({moved} << {target})", after),
            bits,
        ),
    ]


def _places(places: Sequence[int]) -> str:
    return str(places[0]) if len(places) == 1 else f"{places[0]} to {places[-1]}"


def bank_steps(offset: int, element_bytes: int) -> list[Step]:
    """Return the way from an offset in elements to the bank of its first byte.

    Example:
        >>> [step.arithmetic for step in bank_steps(73, 4)]
        ['73 · 4 = 292', 'floor(292 / 4) = 73', '73 mod 32 = 9']
    """
    byte = offset * element_bytes
    word = byte // 4
    high = max(word.bit_length(), 5)
    row = Bits("word", word, word, 0, high, changed=(0, 1, 2, 3, 4))
    bank = Bits("bank", word % 32, word % 32, 0, 5, changed=(0, 1, 2, 3, 4))
    return [
        Step("Bytes of an element.", equals(f"{shown(offset)} · {element_bytes}", byte)),
        Step("A word has 4 bytes.", equals(f"floor({shown(byte)} / 4)", word)),
        Step("There are 32 banks.", equals(f"{shown(word)} mod 32", word % 32), (row, bank)),
    ]
