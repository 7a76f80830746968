"""The index of every access of a schedule, as the expressions that are printed and evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.expr import Const, Expr, Lookup, Value, Var, bit_field
from tileviz.layouts.f2 import image_table, sum_table
from tileviz.memory import LANES
from tileviz.studies.bit_fields import Hex, xor_fields
from tileviz.studies.errors import NotRunnable
from tileviz.studies.permute.geometry import Geometry, Side
from tileviz.studies.permute.lane_space import LaneSpace
from tileviz.studies.permute.schedule import OwnSchedule, Schedule, XorSchedule
from tileviz.studies.permute.word_blocks import Selector

LANE, REGISTER, STAGE = "lane", "r", "s"
_LANE_BITS = LANES.bit_length() - 1
_BITS = 1 << np.arange(40)
_ENTRY_BYTES = {"unsigned char": 1, "unsigned short": 2, "int": 4}
# Entries of a printed table in one line.
_ENTRIES = 16


@dataclass(frozen=True)
class Table:
    """A table of constants.

    One entry a lane lies in global memory: 32 lanes read neighbouring entries at once, where the
    constant cache would serve one address after the other. One entry a stage, the same for all
    lanes, is what the constant cache is for.

    Attributes:
        lookup: Name, entries and index.
        type: CUDA type of an entry: the narrowest that holds all.
        per_lane: Whether lanes read different entries.
    """

    lookup: Lookup
    type: str
    per_lane: bool = False

    @property
    def memory(self) -> str:
        """The CUDA memory space and alignment of the table."""
        return "__device__ const __align__(32)" if self.per_lane else "__constant__"

    @property
    def bytes(self) -> int:
        """Bytes per entry."""
        return _ENTRY_BYTES[self.type]

    @property
    def rows(self) -> list[str]:
        """The entries as text, some to a line."""
        values = [str(value) for value in self.lookup.values]
        return [", ".join(values[at : at + _ENTRIES]) for at in range(0, len(values), _ENTRIES)]


@dataclass(frozen=True)
class Indexing:
    """How a schedule's accesses are written.

    Attributes:
        read: Index in items (elements, or words of smaller ones) of the read phase.
        write: Likewise for the write phase.
        step: A variable that the read needs first: its name and value, or None.
        write_step: Likewise for the write.
        selectors: Byte selectors of the word written, where lanes permute bytes: names and values.
        guard: Condition of a lane to take part, "" where all do.
        tables: Tables that the indices use.
        none: The entry of a table that marks an inactive lane, or None.
    """

    read: Expr
    write: Expr
    step: tuple[str, Expr] | None = None
    write_step: tuple[str, Expr] | None = None
    guard: str = ""
    tables: tuple[Table, ...] = ()
    none: int | None = None
    selectors: tuple[tuple[str, Expr], ...] = ()

    def evaluate(self, write: bool, registers: int, stages: int) -> NDArray[np.int64]:
        """Return the index of every instruction and lane, int64 ``[stage * register, lane]``."""
        index, step = (self.write, self.write_step) if write else (self.read, self.step)
        values: dict[str, Value] = {
            LANE: np.arange(LANES, dtype=np.int64),
            REGISTER: np.arange(registers, dtype=np.int64)[:, None],
            STAGE: np.arange(stages, dtype=np.int64)[:, None, None],
        }
        if step is not None:
            values[step[0]] = step[1].evaluate(values)
        where = np.asarray(index.evaluate(values), dtype=np.int64)
        return np.broadcast_to(where, (stages, registers, LANES)).reshape(-1, LANES)


def indexing_of(schedule: Schedule, geometry: Geometry, stages: int) -> Indexing:
    """Return the expressions of a schedule.

    Args:
        schedule: A schedule of the plan.
        geometry: Where the elements of every stage lie.
        stages: Number of stages.

    Raises:
        NotRunnable: A stage has another form than the first.
    """
    writer = _Writer(schedule, geometry, stages)
    if isinstance(schedule, XorSchedule):
        return writer.xor(schedule)
    if schedule.space is not None:
        return writer.formula(schedule, schedule.space)
    return writer.table()


@dataclass
class _Writer:
    """Builds the expressions of one schedule."""

    schedule: Schedule
    geometry: Geometry
    stages: int
    tables: list[Table] = field(default_factory=list)

    @property
    def unit(self) -> int:
        """Elements in one item."""
        phase = self.schedule.read
        return phase.bytes // phase.element_bytes

    @property
    def register(self) -> Expr:
        """The register variable; 0 where there is only one."""
        count = self.schedule.registers
        return Var(REGISTER, count) if count > 1 else Const(0)

    # -- the three kinds -------------------------------------------------------------------------

    def xor(self, schedule: XorSchedule) -> Indexing:
        """Write an XOR schedule: row ``j`` of 32 elements, one a lane."""
        volume = self.geometry.src.positions.shape[1]
        if volume & (volume - 1) or volume < LANES:
            return self.plain(volume)
        lane, r = Var(LANE, LANES), Var(REGISTER, schedule.registers)
        row = r ^ ((lane >> schedule.shift) & schedule.mask)
        name = "j" if schedule.k else REGISTER
        items = np.arange(volume)
        variables = (lane, Var(name, schedule.registers))
        read, write = self.sides(items, variables)
        step = ("j", row) if schedule.k else None
        return Indexing(read, write, step, step, tables=tuple(self.tables))

    def plain(self, volume: int) -> Indexing:
        """Write the plain order of a volume that is no power of two."""
        index = self.register * LANES + Var(LANE, LANES)
        ends = []
        for name, side in (("SRC", self.geometry.src), ("DST", self.geometry.dst)):
            places = self.relative(side)
            step = int(places[1]) if len(places) > 1 else 0
            if not np.array_equal(places, step * np.arange(len(places))):
                return self.table()
            ends.append(self.based(index * step, side, name))
        guard = f"{index} < {volume}" if volume % LANES else ""
        return Indexing(ends[0], ends[1], guard=guard, tables=tuple(self.tables))

    def formula(self, schedule: OwnSchedule, space: LaneSpace) -> Indexing:
        """Write a formula: the item's bits are XORs of bits of lane and register."""
        step, variables = self.item(space)
        items = schedule.items
        sides = self.geometry.src, self.geometry.dst
        read = self.linear(sides[0], "SRC", items, variables)
        if schedule.blocks is None:
            write = self.linear(sides[1], "DST", items, variables)
            return Indexing(read, write, step, step, tables=tuple(self.tables))
        write_step, variables = self.item(schedule.blocks.writes)
        write = self.linear(sides[1], "DST", items, variables)
        names = ("pick", "join")
        selectors = tuple(
            (name, self.selector(part))
            for name, part in zip(names, schedule.blocks.selectors, strict=False)
        )
        return Indexing(
            read, write, step, write_step, tables=tuple(self.tables), selectors=selectors
        )

    def item(self, space: LaneSpace) -> tuple[tuple[str, Expr] | None, tuple[Var, ...]]:
        """Return the variable that holds the item's bits: its step, and what to split bits over."""
        lane = Var(LANE, LANES)
        bits = len(space.lanes) + len(space.registers)
        low = LANES - 1
        lows = tuple(vector & low for vector in space.lanes)
        high = tuple(1 << bit for bit in range(_LANE_BITS, bits))
        if lows == (1, 2, 4, 8, 16) and space.registers == high:
            row = self.register ^ xor_fields(lane, [vector >> _LANE_BITS for vector in space.lanes])
            step = None if isinstance(row, (Var, Const)) else ("j", row)
            return step, (lane, Var("j" if step else REGISTER, 1 << (bits - _LANE_BITS)))
        item = xor_fields(self.register, space.registers) ^ xor_fields(lane, space.lanes)
        # Of a word, only the first element is named: bits inside it are 0.
        bits = max(vector.bit_length() for vector in (*space.lanes, *space.registers))
        return ("e", item), (Var("e", 1 << bits),)

    def selector(self, selector: Selector) -> Expr:
        """Return a byte selector in terms of lane and register."""
        total: Expr = Hex(selector.base)
        sides = ((Var(LANE, LANES), selector.lanes), (self.register, selector.registers))
        for variable, masks in sides:
            for mask in sorted({mask for mask in masks if mask}):
                bits = [bit for bit, own in enumerate(masks) if own == mask]
                part: Expr = Const(0)
                for bit in bits:
                    part = part ^ bit_field(variable, bit, 1)
                total = total ^ (part * Hex(mask))
        return total

    def table(self) -> Indexing:
        """Write a table: one entry per register and lane on each side."""
        schedule = self.schedule
        active = schedule.read.active
        index = self.register * LANES + Var(LANE, LANES)
        sides = (("SRC", self.geometry.src), ("DST", self.geometry.dst))
        found = []
        for name, side in sides:
            places = self.relative(side)[schedule.elements] // self.unit
            low = int(places.min() if active is None else places[active].min())
            found.append((name, side, places - low, low))
        top = max(int(np.max(part[2], where=_all(active), initial=0)) for part in found)
        count = len(schedule.elements.ravel()) if active is None else int(active.sum())
        leading = active is None or bool(active.ravel()[:count].all())
        kind, none = _entry_type(top, not leading)
        ends: list[Expr] = []
        for name, side, entries, low in found:
            marked = entries if active is None else np.where(active, entries, none or 0)
            lookup = Lookup(f"{name}_AT", tuple(marked.ravel().tolist()), index)
            self.tables.append(Table(lookup, kind, per_lane=True))
            ends.append(self.based(lookup, side, name, low))
        guard = ""
        if active is not None:
            guard = f"{index} < {count}" if leading else f"{self.tables[0].lookup} != NONE"
        return Indexing(ends[0], ends[1], guard=guard, tables=tuple(self.tables), none=none)

    # -- sides -----------------------------------------------------------------------------------

    def sides(self, items: NDArray[np.int64], variables: Sequence[Var]) -> tuple[Expr, Expr]:
        """Return both indices in terms of variables that hold the item's bits, low ones first."""
        found = [
            self.linear(side, name, items, variables)
            for name, side in (("SRC", self.geometry.src), ("DST", self.geometry.dst))
        ]
        return found[0], found[1]

    def linear(
        self, side: Side, name: str, items: NDArray[np.int64], variables: Sequence[Var]
    ) -> Expr:
        """Return the index on one side: a sum of strided bit fields, or an XOR of them."""
        bits = len(items).bit_length() - 1
        first = side.positions[:, items]
        weights = (first[0, _BITS[:bits]] - first[0, 0]).tolist()
        if np.array_equal(sum_table(weights), first[0] - first[0, 0]):
            self.relative(side)
            parts = [weight // self.unit for weight in weights]
            return self.based(_sum_of_fields(variables, parts), side, name)
        columns = (first[0, _BITS[:bits]] ^ first[0, 0]).tolist()
        flips = first ^ first[:, :1]
        if not np.array_equal(image_table(columns), flips[0]) or (flips != flips[0]).any():
            raise NotRunnable("a stage has another form than stage 0 in a swizzled layout")
        parts = [column // self.unit for column in columns]
        index: Expr = Const(0)
        for variable, own in _split(variables, parts):
            index = index ^ xor_fields(variable, own)
        bases: tuple[int, ...] = tuple((first[:, 0] // self.unit).tolist())
        if len(bases) == 1:
            return index ^ bases[0]
        base = self.lookup(f"{name}_STAGE", bases)
        return base ^ index

    def relative(self, side: Side) -> NDArray[np.int64]:
        """Return every element's position from the stage's first, the same in all stages."""
        places = side.positions - side.positions[:, :1]
        for stage in np.flatnonzero((places != places[0]).any(axis=1))[:1].tolist():
            raise NotRunnable(f"stage {stage} has another form than stage 0 in these layouts")
        return np.asarray(places[0], dtype=np.int64)

    def based(self, index: Expr, side: Side, name: str, low: int = 0) -> Expr:
        """Add the stage's base to an index within the stage."""
        bases = [base // self.unit + low for base in side.bases]
        step = side.step
        if step is None:
            return self.lookup(f"{name}_STAGE", tuple(bases)) + index
        return Var(STAGE, self.stages) * (step // self.unit) + index + bases[0]

    def lookup(self, name: str, values: tuple[int, ...]) -> Expr:
        """Return an entry of a new table, indexed by the stage."""
        found = Lookup(name, values, Var(STAGE, self.stages))
        self.tables.append(Table(found, "int"))
        return found


def _all(active: NDArray[np.bool_] | None) -> NDArray[np.bool_] | bool:
    return True if active is None else active


def _entry_type(top: int, marked: bool) -> tuple[str, int | None]:
    """Return the narrowest unsigned type of a table, and the entry that means "no lane"."""
    for kind, most in (("unsigned char", 0xFF), ("unsigned short", 0xFFFF)):
        if top < most or (top == most and not marked):
            return kind, most if marked else None
    return "int", -1 if marked else None


def _split(variables: Sequence[Var], parts: Sequence[int]) -> Iterator[tuple[Var, list[int]]]:
    """Give each variable its share of what belongs to the item's bits, low ones first."""
    start = 0
    for variable in variables:
        count = (variable.limit or 1).bit_length() - 1
        yield variable, list(parts[start : start + count])
        start += count


def _sum_of_fields(variables: Sequence[Var], weights: Sequence[int]) -> Expr:
    """Return the sum of weights of the item's bits, as strided bit fields."""
    terms: list[tuple[Expr, int]] = []
    for variable, own in reversed(list(_split(variables, weights))):
        terms += _fields(variable, own)
    total: Expr = Const(0)
    # Largest stride first, as people write a pitch before a column.
    for part, weight in sorted(terms, key=lambda term: -abs(term[1])):
        total = total + part * weight
    return total


def _fields(variable: Var, weights: Sequence[int]) -> list[tuple[Expr, int]]:
    """Return fields of bits and their weights; bits of doubling weight share a field."""
    fields = []
    start = 0
    for end in range(1, len(weights) + 1):
        if end < len(weights) and weights[end] == 2 * weights[end - 1]:
            continue
        fields.append((bit_field(variable, start, end - start), weights[start]))
        start = end
    return fields
