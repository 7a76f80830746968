"""Every number of a layout plan, unfolded: extents and strides, spans, any element's address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from math import prod

import numpy as np

from tileviz.layouts import ComposeLayout, Iter, TileLayout
from tileviz.layouts.addressing import unflatten
from tileviz.memory import BANK_BYTES, BANKS
from tileviz.studies.address_steps import address_steps, bank_steps
from tileviz.studies.arithmetic import equals, product, shown
from tileviz.studies.derivation import Derivation, Family, Numbers, Parameter, Step
from tileviz.studies.layout.check import Addresses, promised
from tileviz.studies.layout.forms import Facts, facts_of
from tileviz.studies.layout.grid import Layout
from tileviz.studies.layout.plan import LayoutPlan

__all__ = ["numbers"]

Steps = Sequence[Step]
_TITLES = {"operand": "Operand", "result": "Result"}


def numbers(plan: LayoutPlan) -> Numbers:
    """Return every number of a plan.

    Example:
        >>> from tileviz import api
        >>> found = numbers(api.plan(api.design(study="layout", layout="S[(4, 32):(33, 1)]")))
        >>> found.find("operand.idle").steps[-1].arithmetic
        '130 − 0 + 1 − 128 = 3'
        >>> found.find("table.m.40").steps[-1].arithmetic
        '1 · 33 + 8 · 1 = 41'
    """
    sides = [_Side(plan, "operand", plan.operand, plan.operand_shape)]
    if plan.result is not None and plan.makes_another:
        sides.append(_Side(plan, "result", plan.result, plan.result_shape))
    listed = [one for side in sides for one in (*side.facts(), *side.parts())]
    if plan.result is not None and not plan.makes_another:
        # The result is the layout as it was given.
        listed += _Side(plan, "result", plan.result, plan.result_shape, own=False).parts()
    listed += [*_separators(plan), *_values(plan)]
    families = [family for side in sides for family in side.families()]
    return Numbers(tuple(listed), (*families, *_tables(plan)))


@dataclass(frozen=True)
class _Side:
    """One layout of a plan: the operand, or the result of the operation.

    Attributes:
        plan: The plan.
        name: ``operand`` or ``result``.
        layout: The layout.
        shape: The logical shape that it is seen in.
        own: Whether it is a layout of its own, and not the operand once more.
    """

    plan: LayoutPlan
    name: str
    layout: Layout
    shape: tuple[int, ...]
    own: bool = True

    @property
    def group(self) -> str:
        """The part of the page."""
        return _TITLES[self.name]

    @property
    def tile(self) -> TileLayout:
        """The layout without its swizzle."""
        return self.layout.tile if isinstance(self.layout, ComposeLayout) else self.layout

    @cached_property
    def wanted(self) -> Addresses | None:
        """Where the operation promises every element of a plain result; None for as written."""
        if self.name == "operand" or isinstance(self.layout, ComposeLayout) or not self.own:
            return None
        return promised(self.plan.design, self.layout.size)

    def made(
        self, name: str, label: str, value: int, unit: str, work: Callable[[], Steps]
    ) -> Derivation:
        """Return a derivation of this side."""
        own = label if self.own else f"{label}, as the operand's"
        return Derivation(f"{self.name}.{name}", self.group, own, value, unit, work)

    # -- digits ------------------------------------------------------------------------------------

    def parts(self) -> list[Derivation]:
        """Return swizzle letters, extents, strides and offsets."""
        base, found = "", []
        if isinstance(self.layout, ComposeLayout):
            swizzle, base = self.layout.swizzle, "tile."
            letters = (swizzle.per_element, swizzle.swizzle_len, swizzle.atom_len)
            meanings = (
                "low bits that stay: 1 << per_element elements move together",
                "bits that are XORed",
                "distance of the two bit fields",
            )
            names = ("per_element", "swizzle_len", "atom_len")
            for at, (letter, said, text) in enumerate(zip(letters, names, meanings, strict=True)):
                work = partial(_given, f"{text}; as written", letter)
                found.append(self.made(f"swizzle.{at}", f"swizzle, {said}", letter, "", work))
        for at, item in enumerate(self.tile.shard):
            who = f"digit {at}"
            prefix = f"{base}shard.{at}"
            extent, stride = partial(self._extent, at), partial(self._stride, at, item)
            found += [
                self.made(f"{prefix}.0", f"{who}, extent", item.extent, "", extent),
                self.made(f"{prefix}.1", f"{who}, stride on {item.axis}", item.stride, "", stride),
            ]
        for at, item in enumerate(self.tile.replica):
            text = "A replica keeps copies; the operation leaves them as they are written"
            for place, (word, value) in enumerate(
                (("extent", item.extent), ("stride", item.stride))
            ):
                work = partial(_given, text, value)
                label = f"replica {at}, {word}"
                found.append(self.made(f"{base}replica.{at}.{place}", label, value, "", work))
        for axis, value in self.tile.offset:
            work = partial(self._offset, axis, value)
            found.append(self.made(f"{base}offset.{axis}", f"offset on {axis}", value, "", work))
        return found

    def _extent(self, at: int) -> Steps:
        extents = list(self.tile.extents)
        value = extents.pop(at)
        if self.wanted is None or not prod(extents):
            return _given("As written", value)
        size = self.layout.size
        whole = f"{shown(size)} / ({product(extents)})" if extents else shown(size)
        return [
            Step(
                f"The result has {product(self.shape)} elements.", equals(product(self.shape), size)
            ),
            Step("Its digits multiply to that; divided by the others.", equals(whole, value)),
        ]

    def _stride(self, at: int, item: Iter) -> Steps:
        wanted = self.wanted
        if wanted is None or item.axis not in wanted:
            return _given("As written", item.stride)
        if item.extent == 1:
            return _given(
                "A digit of extent 1 is always 0, so its stride moves nothing", item.stride
            )
        weight = prod(self.tile.extents[at + 1 :])
        places = wanted[item.axis]
        first, next_ = int(places[0]), int(places[weight])
        if next_ - first != item.stride:
            return _given("By the reference's rules, which are not this region's here", item.stride)
        text = (
            f"One step of this digit goes from element 0 to element {weight:,}. The operation puts "
            f"these at {shown(first)} and {shown(next_)}."
        )
        return [Step(text, equals(f"{shown(next_)} − {_signed(first)}", item.stride))]

    def _offset(self, axis: str, value: int) -> Steps:
        wanted, plan = self.wanted, self.plan
        if wanted is None or axis not in wanted or int(wanted[axis][0]) != value:
            return _given("As written", value)
        text = "Where the operation puts the first element."
        region = plan.design.region
        if plan.design.op == "slice" and region is not None and not plan.design.cuda_target:
            at = tuple(begin for begin, _ in region)
            way = address_steps(plan.operand, at, plan.design.shape or (), axis)
            return [Step(f"{text} It is the region's first, {at}, in the operand."), *way]
        return [Step(text, shown(value))]

    # -- facts -------------------------------------------------------------------------------------

    def facts(self) -> list[Derivation]:
        """Return elements, copies, span, lowest and highest address, and idle addresses."""
        facts, found = facts_of(self.layout, self.shape), []
        size = equals(product(self.shape), facts.size)
        found.append(
            self.made("elements", "elements", facts.size, "", lambda: [Step("Of the shape.", size)])
        )
        copies = equals(product(item.extent for item in self.tile.replica), facts.copies)
        found.append(
            self.made(
                "copies",
                "copies of each element",
                facts.copies,
                "",
                lambda: [Step("Extents of the replicas.", copies)],
            )
        )
        width = self.plan.design.element_bytes
        for axis, span in facts.span:
            work = partial(_span_steps, self.tile, axis)
            found.append(self.made(f"span.{axis}", f"span on {axis}", span, "elements", work))
            if axis == "m":
                in_bytes = Step(
                    "Elements times bytes.", equals(f"{shown(span)} · {width}", span * width)
                )
                label = "span in bytes"
                found.append(
                    self.made("bytes", label, span * width, "bytes", partial(list, [in_bytes]))
                )
        for axis, low, high in facts.reach:
            for word, value in (("lowest", low), ("highest", high)):
                work = partial(self._reach, axis, word)
                label = f"{word} address on {axis}"
                found.append(self.made(f"{word}.{axis}", label, value, "", work))
        if facts.idle is not None:
            found.append(self._idle(facts))
        return found

    def _reach(self, axis: str, word: str) -> Steps:
        """Find the end of an axis: by signs of the strides, or by listing, where bits are moved."""
        if isinstance(self.layout, ComposeLayout):
            places = self.layout.table()["m"]
            at = int(places.argmin() if word == "lowest" else places.argmax())
            where = unflatten(at, self.shape)
            text = f"All {places.size:,} addresses listed; the {word} is that of element {where}."
            return [Step(text), *address_steps(self.layout, where, self.shape)]
        terms, total = [shown(self.tile.offset_on(axis))], self.tile.offset_on(axis)
        for item in (*self.tile.shard, *self.tile.replica):
            if item.axis == axis and (item.stride < 0) == (word == "lowest"):
                terms.append(f"{item.extent - 1:,} · {_signed(item.stride)}")
                total += (item.extent - 1) * item.stride
        sign = "negative" if word == "lowest" else "positive"
        text = f"The offset, and the last place of every digit with a {sign} stride."
        return [Step(text, equals(" + ".join(terms), total))]

    def _idle(self, facts: Facts) -> Derivation:
        (axis, low, high), idle = facts.reach[0], facts.idle or 0
        distinct = high - low + 1 - idle

        def steps() -> Steps:
            every = self.layout.apply_all(np.arange(self.layout.size))
            seen = int(np.unique(every.get(axis, np.zeros(1))).size)
            text = (
                f"Addresses from the lowest to the highest, less the {seen:,} that hold something."
            )
            form = f"{shown(high)} − {_signed(low)} + 1 − {shown(seen)}"
            return [Step(text, equals(form, high - low + 1 - seen))]

        assert distinct >= 0
        return self.made("idle", "idle addresses", idle, "", steps)

    # -- single elements ---------------------------------------------------------------------------

    def families(self) -> list[Family]:
        """Return the address, and the bank in memory, of any element."""
        if not self.layout.size or len(self.shape) > 12:
            return []
        parameters = tuple(
            Parameter(f"dim_{dim}", range(extent), min(1, extent - 1))
            for dim, extent in enumerate(self.shape)
        )
        holes = ".".join(f"{{{one.name}}}" for one in parameters)
        found = []
        axes = self.tile.axes or ("m",)
        for axis in axes:
            label = f"address of one element on {axis}"
            template = f"{self.name}.address.{axis}.{holes}"
            make = partial(self._address, axis)
            found.append(Family(template, self.group, label, parameters, make))
        if axes == ("m",):
            template = f"{self.name}.bank.{holes}"
            found.append(
                Family(template, self.group, "bank of one element", parameters, self._bank)
            )
        return found

    def _place(self, axis: str, at: Sequence[int]) -> int:
        places = self.layout.apply(tuple(at), self.shape)
        return int(places.get(axis, np.zeros((), dtype=np.int64)))

    def _address(self, axis: str, *at: int) -> Derivation:
        name = ".".join([f"address.{axis}", *map(str, at)])
        label = f"address of ({', '.join(map(str, at))}) on {axis}"
        work = partial(address_steps, self.layout, at, self.shape, axis)
        return self.made(name, label, self._place(axis, at), "elements", work)

    def _bank(self, *at: int) -> Derivation:
        name = ".".join(["bank", *map(str, at)])
        label = f"bank of ({', '.join(map(str, at))})"
        width, place = self.plan.design.element_bytes, self._place("m", at)

        def steps() -> Steps:
            return [*address_steps(self.layout, at, self.shape), *bank_steps(place, width)]

        return self.made(name, label, place * width // BANK_BYTES % BANKS, "", steps)


def _signed(value: int) -> str:
    return shown(value) if value >= 0 else f"({shown(value)})"


def _given(text: str, value: int) -> Steps:
    return [Step(f"{text[:1].upper()}{text[1:]}.", shown(value))]


def _span_steps(tile: TileLayout, axis: str) -> Steps:
    """Unfold the span as the reference counts it."""
    items = [item for item in (*tile.shard, *tile.replica) if item.axis == axis]
    terms = ["1", *(f"{item.extent - 1:,} · {_signed(item.stride)}" for item in items)]
    start = tile.offset_on(axis)
    terms += [_signed(start)] if start else []
    value = 1 + sum((item.extent - 1) * item.stride for item in items) + start
    text = "One, the last place of every digit, and the offset: as the reference counts it."
    return [Step(text, equals(" + ".join(terms), value))]


def _separators(plan: LayoutPlan) -> list[Derivation]:
    """Return where each dimension's digits begin."""
    found = []
    separators = plan.separators or ()
    for at, value in enumerate(separators):
        counts = [b - a for a, b in pairwise(separators[: at + 1])]
        said = "Digits of the dimensions before."
        line = equals(" + ".join(map(str, counts)) or "0", value)
        label = f"first digit of dimension {at}"
        if at == len(separators) - 1:
            label = "digits in all"
        work = partial(list[Step], [Step(said, line)])
        found.append(Derivation(f"separators.{at}", "Result", label, value, "", work))
    return found


def _values(plan: LayoutPlan) -> list[Derivation]:
    """Return the spans that were asked for."""
    layout = plan.operand
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    return [
        Derivation(
            f"value.{axis}",
            "Result",
            f"the span asked for, on {axis}",
            value,
            "elements",
            partial(_span_steps, tile, axis),
        )
        for axis, value in (plan.value or {}).items()
    ]


def _tables(plan: LayoutPlan) -> list[Family]:
    """Return the addresses of all elements, counted row by row."""
    found = []
    shape = plan.operand_shape
    for axis, places in (plan.table or {}).items():
        if not places.size:
            continue

        def make(element: int, axis: str = axis) -> Derivation:
            assert plan.table is not None
            value = int(plan.table[axis][element])
            label = f"address of element {element} on {axis}"
            work = partial(_element_steps, plan.operand, element, shape, axis)
            return Derivation(f"table.{axis}.{element}", "Result", label, value, "elements", work)

        element = Parameter("element", range(places.size), min(33, places.size - 1))
        label = f"address of one element on {axis}, by number"
        found.append(Family(f"table.{axis}.{{element}}", "Result", label, (element,), make))
    return found


def _element_steps(layout: Layout, element: int, shape: tuple[int, ...], axis: str) -> Steps:
    at = unflatten(element, shape)
    weights = [prod(shape[dim + 1 :]) for dim in range(len(shape))]
    terms = [f"{shown(i)} · {shown(weight)}" for i, weight in zip(at, weights, strict=True)]
    text = (
        f"Element {element:,} of {' × '.join(map(str, shape))} is at ({', '.join(map(str, at))})."
    )
    return [Step(text, equals(" + ".join(terms), element)), *address_steps(layout, at, shape, axis)]
