"""Device function calls, expanded at their call sites.

The machine executes one flat function. A call becomes the callee's body with its registers,
labels and variables renamed; parameters and results travel through the caller's ``.param``
variables, which are ordinary local memory. Recursion cannot be expressed so, and is refused.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tileviz.emulator.errors import LaunchError, TooLargeError, UnsupportedError
from tileviz.emulator.ptx import (
    Address,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Not,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)

_REFUSED = {
    "vprintf": "printf is not available in the emulator",
    "malloc": "device-side malloc is not available in the emulator",
    "free": "device-side free is not available in the emulator",
    "__assertfail": "assert is not available in the emulator; compile with NDEBUG defined",
}


def flatten(module: Module, entry: str, *, max_instructions: int) -> Function:
    """Return the kernel ``entry`` with every call expanded.

    Raises:
        LaunchError: The module has no such kernel.
        UnsupportedError: A call is recursive, indirect, or to a function that is not emulated.
        TooLargeError: The expansion has more than ``max_instructions`` instructions.
    """
    function = module.functions.get(entry)
    if function is None or not function.entry:
        kernels = ", ".join(module.kernels) or "none"
        # A C++ compiler spells the types of the parameters into every other name.
        spelt = any(re.match(rf"_Z\d+{entry}(?!\d)", name) for name in module.kernels)
        hint = f'; declare {entry} extern "C"' if spelt else ""
        raise LaunchError(f"the module has no kernel {entry!r}; it has: {kernels}{hint}")
    flat = _Expansion(module, function, max_instructions).result
    for index, instruction in enumerate(flat.instructions()):
        instruction.index = index
    return flat


class _Expansion:
    def __init__(self, module: Module, entry: Function, max_instructions: int) -> None:
        self.module = module
        self.count = 0
        self.max_instructions = max_instructions
        self.remaining = max_instructions
        self.result = replace(
            entry,
            registers=dict(entry.registers),
            variables=dict(entry.variables),
            branch_tables=dict(entry.branch_tables),
            body=[],
        )
        self._copy(entry, _Renaming({}), (entry.name,), None)

    def _copy(
        self, function: Function, names: _Renaming, stack: tuple[str, ...], leave: str | None
    ) -> None:
        """Append a body; its ``ret`` becomes a branch to ``leave`` where that is given."""
        body = self.result.body
        for item in function.body:
            if isinstance(item, Label):
                body.append(Label(names.of(item.name)))
                continue
            self.remaining -= 1
            if self.remaining < 0:
                raise TooLargeError(
                    f"the kernel has more than {self.max_instructions:,} PTX instructions "
                    "once its calls are expanded"
                )
            copy = names.instruction(item)
            if item.name == "call":
                self._call(copy, stack)
            elif item.name == "ret" and leave is not None:
                body.append(replace(copy, opcode="bra.uni", operands=(Symbol(leave),)))
            else:
                body.append(copy)

    def _call(self, call: Instruction, stack: tuple[str, ...]) -> None:
        callee, returns, arguments = self._signature(call, stack)
        self.count += 1
        suffix = f"#{self.count}"
        actual: dict[str, str] = {}
        formal = [p.name for p in (*callee.returns, *callee.parameters)]
        given = [*returns.items, *arguments.items]
        if len(formal) != len(given):
            raise UnsupportedError(f"call of {callee.name[:60]} with other arguments", call.line)
        for name, value in zip(formal, given, strict=True):
            if not isinstance(value, Symbol):
                raise UnsupportedError("call with arguments in registers", call.line)
            actual[name] = value.name
        names = _Renaming.of_call(callee, suffix, actual)
        for register, width in callee.registers.items():
            self.result.registers[names.of(register)] = width
        for variable in callee.variables.values():
            renamed = names.of(variable.name)
            self.result.variables[renamed] = replace(variable, name=renamed)
        for table, targets in callee.branch_tables.items():
            self.result.branch_tables[names.of(table)] = tuple(map(names.of, targets))
        leave = f"$leave{suffix}"
        if call.guard is not None:
            skip = call.guard.register if isinstance(call.guard, Not) else Not(call.guard)
            self.result.body.append(
                replace(call, opcode="bra", operands=(Symbol(leave),), guard=skip)
            )
        self._copy(callee, names, (*stack, callee.name), leave)
        self.result.body.append(Label(leave))

    def _signature(
        self, call: Instruction, stack: tuple[str, ...]
    ) -> tuple[Function, Vector, Vector]:
        parts = list(call.operands)
        returns = parts.pop(0) if parts and isinstance(parts[0], Vector) else Vector(())
        target = parts.pop(0) if parts else None
        arguments = parts.pop(0) if parts and isinstance(parts[0], Vector) else Vector(())
        if not isinstance(target, Symbol) or parts:
            raise UnsupportedError("indirect calls are not emulated", call.line)
        if target.name in _REFUSED:
            raise UnsupportedError(_REFUSED[target.name], call.line)
        if target.name in stack:
            raise UnsupportedError(f"recursive call of {target.name[:60]}", call.line)
        callee = self.module.functions.get(target.name)
        if callee is None:
            raise UnsupportedError(f"call of unknown function {target.name[:60]}", call.line)
        assert isinstance(returns, Vector)
        assert isinstance(arguments, Vector)
        return callee, returns, arguments


class _Renaming:
    """The names of one expansion; a name that is not local to the callee stays as it is."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    @classmethod
    def of_call(cls, callee: Function, suffix: str, actual: dict[str, str]) -> _Renaming:
        """Parameters take the caller's names, all else that is local gets a suffix."""
        labels = (item.name for item in callee.body if isinstance(item, Label))
        local = (*callee.registers, *callee.variables, *callee.branch_tables, *labels)
        return cls({name: f"{name}{suffix}" for name in local} | actual)

    def of(self, name: str) -> str:
        """Return the expanded name of a register, label, variable or parameter."""
        return self.names.get(name, name)

    def instruction(self, instruction: Instruction) -> Instruction:
        """Rename every local name in an instruction."""
        if not self.names:
            return instruction
        return replace(
            instruction,
            operands=tuple(map(self.operand, instruction.operands)),
            guard=instruction.guard and self.guard(instruction.guard),
        )

    def guard(self, guard: Register | Not) -> Register | Not:
        """Rename a guard predicate."""
        if isinstance(guard, Not):
            return Not(Register(self.of(guard.register.name)))
        return Register(self.of(guard.name))

    def operand(self, operand: Operand) -> Operand:
        """Rename every local name in an operand."""
        if isinstance(operand, Register | Not):
            return self.guard(operand)
        if isinstance(operand, Symbol):
            return Symbol(self.of(operand.name), operand.offset)
        if isinstance(operand, Address):
            base = operand.base
            if not isinstance(base, Immediate):
                base = replace(base, name=self.of(base.name))
            return Address(base, operand.offset)
        if isinstance(operand, Vector):
            return Vector(tuple(map(self.operand, operand.items)))
        if isinstance(operand, Pair):
            return Pair(self.operand(operand.first), self.operand(operand.second))
        return operand
