"""Block order and register rows, on random control flow."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tileviz.emulator.flow import BasicBlock, _weak_topological_order
from tileviz.emulator.ptx import Instruction, Register
from tileviz.emulator.registers import allocate, roles

graphs = st.integers(1, 12).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(0, n - 1), max_size=2, unique=True), min_size=n, max_size=n
    )
)


def reachable(successors, start, without=frozenset()):
    seen, work = set(), [start]
    while work:
        node = work.pop()
        if node not in seen and node not in without:
            seen.add(node)
            work.extend(successors[node])
    return seen


@settings(max_examples=300, deadline=None)
@given(successors=graphs)
def test_order_is_weakly_topological(successors):
    order = _weak_topological_order(successors)
    place = {node: i for i, node in enumerate(order)}
    assert order[0] == 0
    assert sorted(order) == sorted(reachable(successors, 0))
    for node in order:
        for target in successors[node]:
            # An edge that goes back closes a loop.
            if place[target] <= place[node]:
                assert node in reachable(successors, target)
    # Every loop is contiguous: what lies between its first and last block belongs to it or to a
    # loop around it.
    for node in order:
        loop = {n for n in reachable(successors, node) if node in reachable(successors, n)}
        span = order[min(place[n] for n in loop) : max(place[n] for n in loop) + 1]
        assert set(span) == loop


def test_nested_loops_come_before_their_exits():
    # 0 -> 1 (outer) -> 2 (inner, self loop) -> 3 (outer latch) -> 1 or 4
    successors = [[1], [2], [3, 2], [4, 1], []]
    assert _weak_topological_order(successors) == [0, 1, 2, 3, 4]
    # The exit of the outer loop is named first, and still comes last.
    assert _weak_topological_order([[1], [4, 2], [1], [], [3]]) == [0, 1, 2, 4, 3]


_register = st.integers(0, 5).map(lambda n: f"r{n}")
_instruction = st.tuples(_register, st.lists(_register, max_size=2), st.booleans())
programs = graphs.flatmap(
    lambda g: st.tuples(
        st.just(g),
        st.lists(st.lists(_instruction, max_size=4), min_size=len(g), max_size=len(g)),
    )
)


def build(successors, code):
    blocks = []
    for targets, instructions in zip(successors, code, strict=True):
        block = BasicBlock(targets=list(targets), ending="branch" if targets else "exit")
        for target, sources, guarded in instructions:
            operands = tuple(map(Register, (target, *sources)))
            guard = Register("p") if guarded else None
            block.body.append(Instruction("op", operands, guard, None, 1))
        blocks.append(block)
    return blocks


@settings(max_examples=300, deadline=None)
@given(program=programs, path=st.lists(st.integers(0, 1), max_size=25))
def test_rows_hold_what_registers_would(program, path):
    """Walk a random path, once with registers and once with rows: every read agrees."""
    successors, code = program
    blocks = build(successors, code)
    widths = {f"r{i}": 32 for i in range(6)} | {"p": 1}
    rows = allocate(blocks, widths).rows
    registers, memory = {}, {}
    step, node = 0, 0
    for choice in [*path, 0]:
        for instruction in blocks[node].body:
            step += 1
            writes, reads = roles(instruction)
            for name in reads:
                if name in registers:  # a value that was never written may be anything
                    assert memory[widths[name], rows[name]] == registers[name], name
            # A guarded write happens for some lanes only: here, on every other step.
            if instruction.guard is None or step % 2:
                for name in writes:
                    registers[name] = memory[widths[name], rows[name]] = step
        if not successors[node]:
            break
        node = successors[node][choice % len(successors[node])]
