"""From virtual registers to rows: liveness, then a linear scan that reuses rows.

PTX has one register per value, far more than fit in a cache when each is a row of thousands of
lanes. Two registers may share a row when no lane needs both at once. Lanes at different places do
not disturb each other, since a row has one element per lane.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tileviz.emulator.flow import BasicBlock
from tileviz.emulator.ptx import Address, Instruction, Not, Operand, Pair, Register, Vector

# Instructions whose first operand is not a destination.
_CONTROL = {"bra", "brx", "ret", "exit", "trap", "membar", "fence", "nanosleep", "pmevent"}
_MEMORY = {"st", "red", "cp", "stmatrix", "prefetch", "prefetchu", "discard", "applypriority"}
_NO_DESTINATION = _CONTROL | _MEMORY


@dataclass(frozen=True, eq=False)
class Allocation:
    """Where each register lives.

    Attributes:
        rows: Row of each register in the array of its width.
        counts: Number of rows by width in bits (1 for predicates).
        definitions: How often each register is assigned in the text.
    """

    rows: dict[str, int]
    counts: dict[int, int]
    definitions: Counter[str]

    @property
    def bytes(self) -> int:
        """Bytes of all rows, per lane."""
        return sum(count * max(1, width // 8) for width, count in self.counts.items())


def roles(instruction: Instruction) -> tuple[list[str], list[str]]:
    """Return the names of the registers an instruction writes and reads.

    Example:
        >>> from tileviz.emulator.ptx import Immediate, Instruction, Register
        >>> roles(Instruction("add.s32", (Register("a"), Register("b"), Immediate(1)), None, 1, 1))
        (['a'], ['b'])
    """
    writes: list[str] = []
    reads: list[str] = []
    if instruction.guard is not None:
        reads.extend(_names(instruction.guard))
    operands = instruction.operands
    if operands and _has_destination(instruction):
        writes.extend(_names(operands[0]))
        operands = operands[1:]
    for operand in operands:
        reads.extend(_names(operand))
    return writes, reads


def _has_destination(instruction: Instruction) -> bool:
    if instruction.name in ("bar", "barrier"):
        return ".red." in instruction.opcode
    return instruction.name not in _NO_DESTINATION


def _names(operand: Operand) -> Iterator[str]:
    if isinstance(operand, Register):
        yield operand.name
    elif isinstance(operand, Address):
        yield from _names(operand.base)
    elif isinstance(operand, Vector):
        for item in operand.items:
            yield from _names(item)
    elif isinstance(operand, Not):
        yield operand.register.name
    elif isinstance(operand, Pair):
        yield from _names(operand.first)
        yield from _names(operand.second)


def allocate(blocks: list[BasicBlock], widths: dict[str, int]) -> Allocation:
    """Assign a row to every register that the blocks mention.

    A destination may share the row of a source that is read there for the last time: every
    operation reads all of its sources before it writes.
    """
    code = [
        [roles(instruction) for instruction in _all(block)] for block in blocks
    ]  # per block, per instruction: (writes, reads)
    definitions: Counter[str] = Counter()
    for block in code:
        for writes, _ in block:
            definitions.update(writes)
    first, last = _intervals(blocks, code)
    hints = {
        write: reads[-1]
        for block in code
        for writes, reads in block
        for write in writes[:1]
        if reads and widths.get(reads[-1]) == widths.get(write)
    }
    rows: dict[str, int] = {}
    pools = {width: _Pool() for width in set(widths.values())}
    active: list[tuple[int, str]] = []
    for register in sorted(first, key=lambda name: first[name]):
        while active and active[0][0] < first[register]:
            _, done = heapq.heappop(active)
            pools[widths[done]].give(rows[done])
        # The last source of a multiply-add is its accumulator: keep its row if it ends here.
        hint = hints.get(register, "")
        ends_here = hint in rows and last[hint] + 1 == first[register]
        rows[register] = pools[widths[register]].take(rows[hint] if ends_here else None)
        heapq.heappush(active, (last[register], register))
    counts = {width: pool.size for width, pool in pools.items() if pool.size}
    return Allocation(rows, counts, definitions)


class _Pool:
    """The rows of one width."""

    def __init__(self) -> None:
        self.size = 0
        self._free: set[int] = set()
        self._heap: list[int] = []  # of free rows, and some that have been taken since

    def give(self, row: int) -> None:
        """Take a row back."""
        self._free.add(row)
        heapq.heappush(self._heap, row)

    def take(self, wanted: int | None) -> int:
        """Return ``wanted`` if it is free, else the lowest free row, else a new one."""
        if wanted is not None and wanted in self._free:
            self._free.remove(wanted)
            return wanted
        while self._heap:
            row = heapq.heappop(self._heap)
            if row in self._free:
                self._free.remove(row)
                return row
        self.size += 1
        return self.size - 1


def _all(block: BasicBlock) -> Iterator[Instruction]:
    yield from block.body
    if block.last is not None:
        yield block.last


def _intervals(
    blocks: list[BasicBlock], code: list[list[tuple[list[str], list[str]]]]
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the first and last position at which each register holds a value.

    Reads take even positions and writes the odd ones that follow, so that the interval of a last
    read ends just before that of a value written by the same instruction.
    """
    live_in, live_out, names = _liveness(blocks, code)
    first: dict[str, int] = {}
    last: dict[str, int] = {}

    def touch(name: str, position: int) -> None:
        first.setdefault(name, position)
        last[name] = position

    position = 0
    for number, block in enumerate(code):
        for name in _members(live_in[number], names):
            touch(name, position)
        for writes, reads in block:
            position += 2
            for name in reads:
                touch(name, position)
            for name in writes:
                touch(name, position + 1)
        position += 2
        for name in _members(live_out[number], names):
            touch(name, position)
    return first, last


def _members(bits: int, names: list[str]) -> Iterator[str]:
    while bits:
        low = bits & -bits
        yield names[low.bit_length() - 1]
        bits ^= low


def _liveness(
    blocks: list[BasicBlock], code: list[list[tuple[list[str], list[str]]]]
) -> tuple[list[int], list[int], list[str]]:
    """Return the registers live into and out of each block, as bit sets over the names returned."""
    numbers: dict[str, int] = {}
    uses, defs = [], []
    for block, pairs in zip(blocks, code, strict=True):
        used = defined = 0
        for instruction, (writes, reads) in zip(_all(block), pairs, strict=True):
            for name in reads:
                bit = 1 << numbers.setdefault(name, len(numbers))
                used |= bit & ~defined
            for name in writes:
                bit = 1 << numbers.setdefault(name, len(numbers))
                if instruction.guard is None:
                    defined |= bit
                else:  # lanes whose guard is false keep the old value
                    used |= bit & ~defined
        uses.append(used)
        defs.append(defined)
    live_in = list(uses)
    live_out = [0] * len(blocks)
    changed = True
    while changed:
        changed = False
        for number in range(len(blocks) - 1, -1, -1):
            out = 0
            for target in blocks[number].targets:
                out |= live_in[target]
            live_out[number] = out
            into = uses[number] | (out & ~defs[number])
            if into != live_in[number]:
                live_in[number] = into
                changed = True
    return live_in, live_out, list(numbers)
