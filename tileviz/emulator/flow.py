"""Control flow: basic blocks in an order that makes diverged threads meet again early."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tileviz.emulator.errors import ParseError, UnsupportedError
from tileviz.emulator.ptx import Function, Instruction, Label, Not, Register, Symbol

Ending = Literal["fall", "branch", "table", "exit", "trap"]

_MAX_BLOCKS = 10_000

# Instructions at which lanes must meet: they start a basic block, so lanes can be parked there.
_BARRIERS = {"bar", "barrier"}
_WARP_WIDE = {"shfl", "vote", "match", "redux", "mma", "ldmatrix", "stmatrix", "movmatrix"}
_MEETING = _BARRIERS | _WARP_WIDE
_REREAD = {"volatile", "relaxed", "acquire"}


@dataclass(eq=False)
class BasicBlock:
    """Straight-line code.

    Attributes:
        body: Its instructions, without the final branch.
        last: The instruction that ends it, or None where it falls through.
        ending: How it ends.
        targets: Successors by position in the program: taken first, then fall-through. An exit
            under a guard has the fall-through alone; a branch table has its entries.
        meeting: Its first instruction, where that one needs several lanes to arrive.
        polls: Whether it may be waiting for another thread: it has an atomic or a volatile load.
    """

    body: list[Instruction] = field(default_factory=list)
    last: Instruction | None = None
    ending: Ending = "fall"
    targets: list[int] = field(default_factory=list)
    meeting: Instruction | None = None
    polls: bool = False

    @property
    def size(self) -> int:
        """Instructions executed by a thread that goes through the block."""
        return len(self.body) + (self.last is not None)

    @property
    def place(self) -> Instruction | None:
        """The instruction to name when something is said about the block."""
        return self.meeting or self.last or (self.body[0] if self.body else None)


def basic_blocks(function: Function) -> list[BasicBlock]:
    """Return the reachable blocks of a flat function, in scheduling order; the first is the entry.

    The order is a weak topological one: every edge goes forward except those that close a loop, and
    a loop's blocks are contiguous, its exits after them. Running the lowest block first then lets
    lanes that left a loop early wait for the others.

    Raises:
        ParseError: A branch target is missing, or there are too many blocks.
        UnsupportedError: The function ends in an unsupported control instruction.
    """
    blocks = _split(function)
    order = _weak_topological_order([block.targets for block in blocks])
    position = {block: place for place, block in enumerate(order)}
    for number in order:
        blocks[number].targets = [position[target] for target in blocks[number].targets]
    return [blocks[number] for number in order]


def _split(function: Function) -> list[BasicBlock]:
    blocks = [BasicBlock()]
    labels: dict[str, int] = {}
    for item in function.body:
        current = blocks[-1]
        if isinstance(item, Label):
            if current.body:
                blocks.append(BasicBlock())
            labels[item.name] = len(blocks) - 1
        elif item.name in ("bra", "ret", "exit", "brx", "trap"):
            current.last = item
            blocks.append(BasicBlock())
        elif item.name == "call":
            raise UnsupportedError("unsupported PTX call", item.line)
        else:
            if item.name in _MEETING:
                if current.body:
                    blocks.append(current := BasicBlock())
                current.meeting = item
            current.body.append(item)
            current.polls |= _polls(item)
    if len(blocks) > _MAX_BLOCKS:
        raise ParseError(f"the kernel has more than {_MAX_BLOCKS:,} basic blocks")
    for number, block in enumerate(blocks):
        _link(function, block, number + 1 if number + 1 < len(blocks) else None, labels)
    return blocks


def _polls(instruction: Instruction) -> bool:
    if instruction.name == "ld":
        return not _REREAD.isdisjoint(instruction.modifiers)
    return instruction.name in ("atom", "nanosleep")


def _link(
    function: Function, block: BasicBlock, following: int | None, labels: dict[str, int]
) -> None:
    """Set how a block ends and where it leads."""
    last = block.last
    if last is None:
        # Running off the end of a function is a return.
        block.ending = "exit" if following is None else "fall"
        block.targets = [] if following is None else [following]
        return
    fall = [] if last.guard is None or following is None else [following]
    if last.name == "bra":
        block.ending = "branch"
        block.targets = [_target(last, last.operands[-1:], labels), *fall]
    elif last.name == "brx":
        if last.guard is not None or len(last.operands) != 2:
            raise UnsupportedError(f"unsupported PTX instruction {last.opcode[:80]}", last.line)
        table = last.operands[1]
        names = function.branch_tables.get(table.name) if isinstance(table, Symbol) else None
        if not names:
            raise ParseError("brx.idx without a branch table", last.line)
        block.ending = "table"
        block.targets = [_target(last, (Symbol(name),), labels) for name in names]
    else:
        block.ending = "trap" if last.name == "trap" else "exit"
        block.targets = fall


def _target(last: Instruction, operands: tuple[object, ...], labels: dict[str, int]) -> int:
    label = operands[0] if operands else None
    if not isinstance(label, Symbol) or label.name not in labels:
        raise ParseError(f"{last.opcode} to an unknown label", last.line)
    return labels[label.name]


def _weak_topological_order(successors: list[list[int]]) -> list[int]:
    """Return the nodes reachable from 0, components contiguous and each after its predecessors.

    Strongly connected components are sorted; each loop is then ordered again without the edges to
    its header (F. Bourdoncle, "Efficient chaotic iteration strategies with widenings", 1993).
    """
    order: list[int] = []
    # Work items: a node to emit, or a (nodes, entry) region still to be ordered.
    work: list[int | tuple[set[int] | None, int]] = [(None, 0)]
    while work:
        item = work.pop()
        if isinstance(item, int):
            order.append(item)
            continue
        region, entry = item
        # Tarjan yields components last to first: pushing them in that order pops the first one.
        for component in _components(successors, region, entry):
            header = component[-1]
            if len(component) > 1:
                inner = set(component) - {header}
                starts = [s for s in successors[header] if s in inner]
                # Every node of the loop is reachable from its header inside the component.
                work.append((inner, -1 - header) if len(starts) > 1 else (inner, starts[0]))
            work.append(header)
    return order


def _components(
    successors: list[list[int]], region: set[int] | None, entry: int
) -> list[list[int]]:
    """Return the strongly connected components reachable in ``region``, sinks first.

    In each, the node reached first comes last. A negative entry stands for all successors of
    ``-1 - entry``.
    """
    roots = successors[-1 - entry] if entry < 0 else [entry]
    found: list[list[int]] = []
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in roots:
        if root in number or (region is not None and root not in region):
            continue
        path = [(root, iter(successors[root]))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while path:
            node, rest = path[-1]
            for following in rest:
                if region is not None and following not in region:
                    continue
                if following not in number:
                    number[following] = low[following] = len(number)
                    stack.append(following)
                    on_stack.add(following)
                    path.append((following, iter(successors[following])))
                    break
                if following in on_stack:
                    low[node] = min(low[node], number[following])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == number[node]:
                    cut = len(stack) - 1
                    while stack[cut] != node:
                        cut -= 1
                    component = stack[cut:]
                    del stack[cut:]
                    on_stack.difference_update(component)
                    found.append(component[::-1])
    return found


def guard_of(instruction: Instruction) -> tuple[Register, bool] | None:
    """Return the guard's register and whether it is negated, or None.

    Example:
        >>> from tileviz.emulator.ptx import Instruction, Not, Register
        >>> guard_of(Instruction("ret", (), Not(Register("%p1")), None, 1))
        (Register(name='%p1'), True)
    """
    guard = instruction.guard
    if guard is None:
        return None
    if isinstance(guard, Not):
        return guard.register, True
    return guard, False
