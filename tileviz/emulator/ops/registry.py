"""How operations are declared and turned into steps.

Two kinds exist. An *element-wise* operation is a function of arrays, the same for every lane: most
of PTX. Any other operation (memory, warp collectives, barriers) builds its own step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tileviz.emulator.binder import DTYPE, Binder
from tileviz.emulator.errors import UnsupportedError
from tileviz.emulator.flow import guard_of
from tileviz.emulator.lanes import Lanes
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ptx import WIDTH, Instruction, Not, Operand, Symbol, flatten
from tileviz.emulator.state import Step

Array = Any  # a NumPy array; its own types say too little to be worth their noise


@dataclass(frozen=True)
class Elementwise:
    """An operation on each lane by itself.

    Attributes:
        function: Called with one array per source, then one per result to be written. A source may
            have one element that stands for all lanes. A result may share memory with a source, so
            every source is read before any result is written.
        sources: PTX types of the sources.
        results: PTX types of the results.
    """

    function: Callable[..., Any]
    sources: tuple[str, ...]
    results: tuple[str, ...]


Factory = Callable[[Opcode], Elementwise]
StepFactory = Callable[[Opcode, Instruction, Binder], "Step | None"]

_elementwise: dict[str, Factory] = {}
_steps: dict[str, StepFactory] = {}


def elementwise(*names: str) -> Callable[[Factory], Factory]:
    """Register a factory of element-wise operations under opcode names."""

    def register(factory: Factory) -> Factory:
        _elementwise.update(dict.fromkeys(names, factory))
        return factory

    return register


def operation(*names: str) -> Callable[[StepFactory], StepFactory]:
    """Register a factory of steps under opcode names."""

    def register(factory: StepFactory) -> StepFactory:
        _steps.update(dict.fromkeys(names, factory))
        return factory

    return register


def build(instruction: Instruction, binder: Binder) -> Step | None:
    """Return the step of an instruction, or None where nothing remains to be done at run time.

    Raises:
        UnsupportedError: The opcode, one of its parts or an operand is not implemented.
    """
    code = Opcode(instruction)
    try:
        if code.name in _elementwise:
            operation = _elementwise[code.name](code)
            code.finish()
            step = _bind(operation, instruction, binder)
        elif code.name in _steps:
            step = _steps[code.name](code, instruction, binder)
            code.finish()
        else:
            raise code.unsupported()
    except (IndexError, ValueError) as error:  # operands are missing, or there are too many
        raise code.unsupported("other operands expected") from error
    return step if step is None else _guarded(step, instruction, binder)


def _guarded(step: Step, instruction: Instruction, binder: Binder) -> Step:
    guard = guard_of(instruction)
    if guard is None:
        return step
    register, negated = guard
    row = binder.source(register, "pred")
    state = binder.state

    def run(lanes: Lanes) -> None:
        if not isinstance(row, np.ndarray):
            if bool(row) != negated:
                step(lanes)
            return
        mask = row if lanes.exact is None else row[lanes.exact]
        if negated:
            mask = ~mask
        if mask.all():
            step(lanes)
            return
        some = lanes.among(mask, state.live_count)
        if some is not None:
            step(some)

    return run


def _bind(operation: Elementwise, instruction: Instruction, binder: Binder) -> Step | None:
    targets = flatten(instruction.operands[:1])
    given = flatten(instruction.operands[1:])
    if len(targets) != len(operation.results) or len(given) != len(operation.sources):
        raise Opcode(instruction).unsupported("other operands expected")
    sources: list[tuple[Array, bool, bool]] = []  # array, has one element a lane, negated
    for operand, kind in zip(given, operation.sources, strict=True):
        negated = isinstance(operand, Not)
        value = binder.source(operand.register if isinstance(operand, Not) else operand, kind)
        if isinstance(value, np.ndarray):
            sources.append((value, True, negated))
        else:
            single = np.array([value])
            sources.append((~single if negated else single, False, False))
    function = operation.function
    if not any(varies for _, varies, _ in sources):
        return _constant(
            operation, [array for array, _, _ in sources], targets, instruction, binder
        )
    if function is copy and not isinstance(given[0], Not):
        row = sources[0][0]
        known = isinstance(given[0], Symbol) or getattr(given[0], "name", "") in binder.known
        if known and binder.settle(targets[0], instruction, row):
            return None
    outs = [
        _Out(binder, target, kind) for target, kind in zip(targets, operation.results, strict=True)
    ]
    return _step(function, sources, outs, binder.state.geometry.lanes)


def _constant(
    operation: Elementwise,
    sources: list[Array],
    targets: list[Operand],
    instruction: Instruction,
    binder: Binder,
) -> Step | None:
    """Evaluate once; what is left to do is at most to fill the rows."""
    values = [np.empty(1, DTYPE[kind]) for kind in operation.results]
    with np.errstate(all="ignore"):
        operation.function(*sources, *values)
    fills: list[tuple[_Out, Array]] = []
    for target, value, kind in zip(targets, values, operation.results, strict=True):
        if not binder.settle(target, instruction, value[0]):
            fills.append((_Out(binder, target, kind), value))
    if not fills:
        return None

    def fill(lanes: Lanes) -> None:
        for out, value in fills:
            out.row[slice(None) if lanes.loose is None else lanes.loose] = value

    return fill


class _Out:
    """Where one result goes: a row of its own width, or a wider one that it is extended into."""

    def __init__(self, binder: Binder, target: Operand, kind: str) -> None:
        self.dtype = DTYPE[kind]
        self.direct = True
        if isinstance(target, Symbol) and target.name == "_":
            self.row: Array = np.empty(binder.state.geometry.lanes, self.dtype)
            return
        width = binder.width(target)
        if width != WIDTH[kind]:
            if kind[0] not in "bus":
                raise UnsupportedError(f"a .{kind} result in a {width}-bit register")
            self.direct = False
            kind = f"{'s' if kind[0] == 's' else 'u'}{width}"
        row = binder.destination(target, kind)
        assert row is not None
        self.row = row


def _step(
    function: Callable[..., Any],
    sources: list[tuple[Array, bool, bool]],
    outs: list[_Out],
    total: int,
) -> Step:
    rows = [out.row for out in outs]
    whole = (*(array for array, _, _ in sources), *rows)
    plain = all(out.direct for out in outs) and not any(negated for _, _, negated in sources)

    def arguments(pick: Any) -> list[Array]:
        chosen = []
        for array, varies, negated in sources:
            if varies and pick is not None:
                array = array[pick]
            chosen.append(~array if negated else array)
        return chosen

    def run(lanes: Lanes) -> None:
        pick = lanes.loose
        if plain:
            if pick is None:
                function(*whole)
                return
            if isinstance(pick, slice):
                function(*arguments(pick), *(row[pick] for row in rows))
                return
        count = _count(pick, total)
        results = [np.empty(count, out.dtype) for out in outs]
        function(*arguments(pick), *results)
        for row, result in zip(rows, results, strict=True):
            row[slice(None) if pick is None else pick] = result

    return run


def _count(pick: Any, total: int) -> int:
    if pick is None:
        return total
    return pick.stop - pick.start if isinstance(pick, slice) else len(pick)


def copy(source: Array, out: Array) -> None:
    """Copy a source to a result."""
    np.copyto(out, source)


def bits(kind: str) -> str:
    """Return the untyped kind of the same width.

    Example:
        >>> bits("s32"), bits("pred")
        ('b32', 'pred')
    """
    return "pred" if kind == "pred" else f"b{WIDTH[kind]}"
