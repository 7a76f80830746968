"""A function body in PTX: scopes, registers, variables, labels and instructions."""

from __future__ import annotations

import re

from tileviz.emulator.errors import ParseError, UnsupportedError
from tileviz.emulator.ptx import (
    CARRY,
    WIDTH,
    Address,
    Function,
    Immediate,
    Instruction,
    Label,
    Not,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)
from tileviz.emulator.syntax import LOC, Budget, Lines, Text, immediate, split_list, variable

_LABEL = re.compile(r"([\w$%.]+)\s*:(?!:)")
_REGISTERS = re.compile(r"(%?[\w$]+)(?:<(\d+)>)?")
_GUARD = re.compile(r"@(!?)\s*(%?[\w$]+)\s+")
_OPCODE = re.compile(r"[a-z][\w.:]*")
_NAME = re.compile(r"(%?[\w$.]+)(?:\s*\+\s*(\d{1,9}))?")
_ADDRESS = re.compile(r"\[\s*([%\w$.]+)\s*(?:\+\s*(-?\w+)\s*)?\]")

_MAX_REGISTERS = 1 << 17


class _Scope:
    """The names declared between two braces, and where its instructions start."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.names: dict[str, str] = {}
        self.labels: dict[str, str] = {}


class Body:
    """Parses one function body: scopes, registers, variables, labels, instructions."""

    def __init__(self, text: Text, lines: Lines, budget: Budget, function: Function) -> None:
        self.text = text
        self.lines = lines
        self.budget = budget
        self.function = function
        self.scopes = [_Scope(0)]
        self.unique = 0
        self.calls: list[str] = []
        self.operands: dict[str, Operand] = {}  # by text, for the scope that is open

    def parse(self) -> None:
        """Parse up to and including the closing brace."""
        text = self.text
        while self.scopes:
            start = text.skip_space()
            if start >= len(text.text):
                raise ParseError(f"PTX function {self.function.name[:60]} ends early")
            character = text.text[start]
            if character in "{};":
                text.position += 1
                self.operands.clear()
                if character == "{":
                    self.scopes.append(_Scope(len(self.function.body)))
                elif character == "}":
                    self._close(self.scopes.pop())
            elif match := LOC.match(text.text, start):
                self.lines.locate(match)
                text.skip_line()
            elif match := _LABEL.match(text.text, start):
                text.position = match.end()
                self._label(match[1])
            else:
                self._statement(text.statement(), start)

    def _label(self, name: str) -> None:
        """Take a label, or the table of a ``brx.idx`` that the label names."""
        text = self.text
        start = text.skip_space()
        if text.text.startswith(".branchtargets", start):
            targets = split_list(text.statement().removeprefix(".branchtargets"))
            self.function.branch_tables[self._resolve(name)] = tuple(map(self._resolve, targets))
        elif text.text.startswith(".callprototype", start):
            text.statement()
        else:
            # A label in an inner scope (inline assembly) may repeat in another: make it unique.
            unique = self._declare(name)
            self.scopes[-1].labels[name] = unique
            self.function.body.append(Label(unique))

    def _close(self, scope: _Scope) -> None:
        """Point the branches of a closed scope at its labels, which may follow their use."""
        if not scope.labels or not self.scopes:
            return
        for item in self.function.body[scope.start :]:
            if isinstance(item, Instruction) and item.name == "bra":
                item.operands = tuple(
                    Symbol(scope.labels.get(o.name, o.name)) if isinstance(o, Symbol) else o
                    for o in item.operands
                )

    def _declare(self, name: str) -> str:
        """Return a name that is unique in the function for one declared in the current scope."""
        unique = name
        if len(self.scopes) > 1:
            self.unique += 1
            unique = f"{name}@{self.unique}"
        self.scopes[-1].names[name] = unique
        self.operands.clear()
        return unique

    def _resolve(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope.names:
                return scope.names[name]
        return name

    def _statement(self, statement: str, start: int) -> None:
        if statement.startswith(".reg"):
            self._registers(statement)
        elif statement.startswith(".pragma"):
            return
        elif statement.startswith("."):
            declared = variable(statement)
            if declared is None:
                where = self.text.where(start)
                raise ParseError(f"unknown PTX directive {statement[:60]!r} {where}")
            declared.name = self._declare(declared.name)
            if declared.space == "param":  # the argument block of a call: private to the thread
                declared.space = "local"
            self.function.variables[declared.name] = declared
        else:
            self._instruction(statement, start)

    def _registers(self, statement: str) -> None:
        match = re.match(r"\.reg\s*\.(\w+)\s+", statement)
        if match is None or match[1] not in WIDTH:
            raise UnsupportedError(f"unsupported PTX register declaration {statement[:60]!r}")
        width = WIDTH[match[1]]
        for item in split_list(statement[match.end() :]):
            name = _REGISTERS.fullmatch(item)
            if name is None or (name[2] and len(name[2]) > 6):
                raise ParseError(f"malformed PTX register declaration {statement[:60]!r}")
            if name[2] is None:
                names = [name[1]]
            else:
                names = [f"{name[1]}{number}" for number in range(int(name[2]))]
            for each in names:
                self.function.registers[self._declare(each)] = width
            if len(self.function.registers) > _MAX_REGISTERS:
                raise ParseError("too many PTX registers")

    def _instruction(self, statement: str, start: int) -> None:
        self.budget.take()
        guard: Register | Not | None = None
        if match := _GUARD.match(statement):
            register = self._predicate(match[2])
            guard = Not(register) if match[1] else register
            statement = statement[match.end() :]
        opcode = _OPCODE.match(statement)
        if opcode is None:
            raise ParseError(f"malformed PTX {statement[:60]!r} {self.text.where(start)}")
        rest = statement[opcode.end() :]
        try:
            operands = tuple(map(self._known_operand, split_list(rest)))
        except ParseError as error:
            raise ParseError(f"{error.message} {self.text.where(start)}", self.lines.line) from None
        operands = self._with_carry(opcode[0], operands)
        instruction = Instruction(
            opcode[0], operands, guard, self.lines.line, self.text.line_of(start)
        )
        self.function.body.append(instruction)
        if instruction.name == "call":
            self.calls += [operand.name for operand in operands if isinstance(operand, Symbol)]

    def _with_carry(self, opcode: str, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
        """Name the carry flag among the operands of an instruction that writes or reads it."""
        name, *modifiers = opcode.split(".")
        writes, reads = "cc" in modifiers, name in ("addc", "subc", "madc")
        if not operands or not (writes or reads):
            return operands
        self.function.registers[CARRY] = 1
        flag = Register(CARRY)
        first = Pair(operands[0], flag) if writes else operands[0]
        return (first, *operands[1:], *((flag,) if reads else ()))

    def _known_operand(self, text: str) -> Operand:
        operand = self.operands.get(text)
        if operand is None:
            operand = self.operands[text] = self._operand(text)
        return operand

    def _operand(self, text: str) -> Operand:
        first = text[:1]
        if first in ("{", "("):
            if len(text) < 2 or text[-1] not in "})" or "{" in text[1:] or "(" in text[1:]:
                raise ParseError(f"malformed PTX operand {text[:60]!r}")
            return Vector(tuple(map(self._operand, split_list(text[1:-1]))))
        if first == "[":
            return self._address(text)
        if first == "!":
            return Not(self._predicate(text[1:].strip()))
        if "|" in text:
            one, _, other = text.partition("|")
            return Pair(self._name(one.strip()), self._name(other.strip()))
        literal = immediate(text)
        return literal if literal is not None else self._name(text)

    def _predicate(self, text: str) -> Register:
        name = self._resolve(text)
        if name not in self.function.registers:
            raise ParseError(f"unknown PTX predicate {text[:60]!r}")
        return Register(name)

    def _name(self, text: str) -> Register | Symbol:
        match = _NAME.fullmatch(text)
        if match is None:
            raise ParseError(f"malformed PTX operand {text[:60]!r}")
        name = self._resolve(match[1])
        if name in self.function.registers:
            return Register(name)
        return Symbol(name, int(match[2] or 0))

    def _address(self, text: str) -> Address:
        match = _ADDRESS.fullmatch(text)
        if match is None:
            raise ParseError(f"malformed PTX address {text[:60]!r}")
        offset = immediate(match[2]) if match[2] else Immediate(0)
        base = immediate(match[1]) or self._name(match[1])
        if offset is None:
            raise ParseError(f"malformed PTX address {text[:60]!r}")
        return Address(base, offset.value)
