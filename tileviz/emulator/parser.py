"""PTX text to a `Module`, with a source line on every instruction.

The parser accepts what NVVM 7 (compute_50 to compute_90) and NVVM 20 (compute_100 and up) print,
and inline assembly. Only structure is read here: whether an opcode is implemented is for the
operations to say. The text may be hostile (inline assembly reaches it unchecked), so every pattern
is linear.
"""

from __future__ import annotations

import bisect
import re
import struct
from collections.abc import Iterator

from tileviz.emulator.errors import ParseError, TooLargeError, UnsupportedError
from tileviz.emulator.ptx import (
    WIDTH,
    Address,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Not,
    Operand,
    Pair,
    Parameter,
    Register,
    Symbol,
    Variable,
    Vector,
)

_COMMENT = re.compile(r'("[^"\n]*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_BRACE = re.compile(r"[{}]")
_SPACE = re.compile(r"\s*")
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:[^\n]*?inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_LABEL = re.compile(r"([\w$%.]+)\s*:(?!:)")
_FUNCTION = re.compile(
    r"(?:\.(?:visible|weak|extern)\s+)*\.(entry|func)\s*(?:\.noreturn\s*)?"
    r"(?:\(([^)]*)\)\s*)?([\w$]+)\s*(?:\(([^)]*)\))?([^{;]*)"
)
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+"
    r"(?:\.ptr\s*(?:\.(?:global|shared|local|const)\s*)?(?:\.align\s+\d+\s+)?)?([\w$]+)"
    r"(?:\[(\d+)\])?\s*"
)
_VARIABLE = re.compile(
    r"(?:\.(?:visible|weak|extern|common)\s+)*\.(shared|local|global|const|param)\s+"
    r"(?:\.align\s+(\d+)\s+)?(?:\.v([24])\s+)?\.(\w+)\s+([\w$%]+)\s*((?:\[\d*\]\s*)*)(?:=(.*))?",
    re.DOTALL,
)
_MAX_THREADS = re.compile(r"\.(?:maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_REGISTERS = re.compile(r"(%?[\w$]+)(?:<(\d+)>)?")
_GUARD = re.compile(r"@(!?)\s*(%?[\w$]+)\s+")
_OPCODE = re.compile(r"[a-z][\w.:]*")
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?")
_FLOAT_BITS = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")
_DECIMAL = re.compile(r"-?\d+\.\d*(?:[eE][+-]?\d+)?")
_NAME = re.compile(r"(%?[\w$.]+)(?:\s*\+\s*(\d{1,9}))?")
_ADDRESS = re.compile(r"\[\s*([%\w$.]+)\s*(?:\+\s*(-?\w+)\s*)?\]")

_MAX_REGISTERS = 1 << 17
_MAX_VARIABLE_BYTES = 1 << 26


def parse(text: str, *, entry: str | None = None, max_instructions: int = 200_000) -> Module:
    """Parse PTX text.

    Args:
        text: A whole PTX module.
        entry: Parse this kernel and what it calls; all functions if None.
        max_instructions: Most instructions accepted, over all functions parsed.

    Raises:
        ParseError: The text is malformed.
        TooLargeError: There are too many instructions.
        UnsupportedError: A construct is valid PTX but outside what is emulated.

    Example:
        >>> module = parse('''.version 8.8
        ... .target sm_80
        ... .address_size 64
        ... .visible .entry nop(.param .u32 nop_param_0) { .reg .b32 %r<2>;
        ...   mov.u32 %r1, %tid.x; ret; }''')
        >>> [i.opcode for i in module.functions["nop"].instructions()]
        ['mov.u32', 'ret']
    """
    return _Parser(text, max_instructions).module(entry)


def immediate(text: str) -> Immediate | None:
    """Return the literal that ``text`` is, or None.

    Example:
        >>> immediate("-0x10"), immediate("0f3F800000").kind, immediate("%r1")
        (Immediate(value=-16, kind='int'), 'f32', None)
    """
    if _INTEGER.fullmatch(text):
        if len(text) > 40:
            raise ParseError(f"integer literal {text[:24]}... is too long")
        digits = text.rstrip("U")
        plain = digits.lstrip("-")
        octal = len(plain) > 1 and plain[0] == "0" and plain.isdigit()
        base = 8 if octal and not set(plain) & set("89") else 10 if plain.isdigit() else 0
        return Immediate(int(digits, base))
    if bits := _FLOAT_BITS.fullmatch(text):
        if bits[1]:
            return Immediate(int(bits[1], 16), "f32")
        return Immediate(int(bits[2], 16), "f64")
    if _DECIMAL.fullmatch(text):
        return Immediate(int.from_bytes(struct.pack("<d", float(text)), "little"), "f64")
    return None


def split_list(text: str) -> Iterator[str]:
    """Yield the items of a comma-separated list, commas in brackets not counting.

    Example:
        >>> list(split_list("{a, b}, [c+4], 1"))
        ['{a, b}', '[c+4]', '1']
    """
    if "{" not in text and "(" not in text:  # brackets of addresses hold no commas
        yield from (item for part in text.split(",") if (item := part.strip()))
        return
    depth = start = 0
    for position, character in enumerate(text):
        if character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
        elif character == "," and depth == 0:
            yield text[start:position].strip()
            start = position + 1
    last = text[start:].strip()
    if last:
        yield last


class _Lines:
    """Resolves ``.loc`` directives to lines of the kernel's own source file.

    A location inside an inlined header function counts for the line that called it; the file of the
    first location in a kernel is the kernel's own, since an entry function has a body there.
    """

    def __init__(self, text: str) -> None:
        entry = text.find(".entry")
        first = _LOC.search(text, max(entry, 0))
        self.own_file = int(first[1]) if first else None
        self.line: int | None = None
        self._inlined_at: dict[tuple[int, int, int], tuple[int, int, int]] = {}

    def locate(self, match: re.Match[str]) -> None:
        """Take a ``.loc`` match as the location of what follows."""
        place = (int(match[1]), int(match[2]), int(match[3]))
        if match[4]:
            self._inlined_at[place] = (int(match[4]), int(match[5]), int(match[6]))
        if place[1] == 0:
            return
        seen = set()
        while place[0] != self.own_file and place in self._inlined_at and place not in seen:
            seen.add(place)
            place = self._inlined_at[place]
        if place[0] == self.own_file:
            self.line = place[1]


class _Parser:
    def __init__(self, text: str, max_instructions: int) -> None:
        # Quoted strings are kept, comments become blanks of the same number of lines.
        self.text = _COMMENT.sub(lambda m: m[1] or "\n" * m[0].count("\n"), text)
        self.starts = [0, *(m.end() for m in re.finditer("\n", self.text))]
        self.position = 0
        self.result = Module()
        self.lines = _Lines(self.text)
        self.bodies: dict[str, tuple[int, Function]] = {}
        self.remaining = max_instructions
        self.max_instructions = max_instructions

    # -- module scope ------------------------------------------------------------------------------

    def module(self, entry: str | None) -> Module:
        """Parse everything at module scope, then the bodies that are needed."""
        while self._skip_space() < len(self.text):
            self._directive()
        work = list(self.bodies) if entry is None else [entry]
        while work:
            name = work.pop()
            if name in self.bodies:
                self.position, function = self.bodies.pop(name)
                self.result.functions[name] = function
                self.lines.line = None
                body = _Body(self, function)
                body.parse()
                work.extend(body.calls)
        return self.result

    def _directive(self) -> None:
        text, start = self.text, self.position
        if text.startswith((".version", ".target", ".address_size", ".file"), start):
            end = text.find("\n", start)
            line = text[start : end if end >= 0 else len(text)]
            if line.startswith(".target"):
                self.result.target = line.split()[1].rstrip(",") if len(line.split()) > 1 else ""
            self.position = start + len(line)
        elif text.startswith(".section", start):
            self.position = self._find("}", start) + 1
        elif match := _FUNCTION.match(text, start):
            self._function(match)
        elif text.startswith((".pragma", ".alias"), start):
            self.position = self._find(";", start) + 1
        else:
            end = self._find(";", start)
            statement = text[start:end].strip()
            self.position = end + 1
            match = _VARIABLE.fullmatch(statement)
            if match is None:
                raise ParseError(f"unknown PTX directive {statement[:60]!r} {self._where(start)}")
            variable = self._variable(match)
            self.result.variables[variable.name] = variable

    def _variable(self, match: re.Match[str]) -> Variable:
        space, align, vector, kind, name, extents, content = match.groups()
        element = self._bytes(kind) * int(vector or 1)
        size = element
        for extent in re.findall(r"\[(\d*)\]", extents):
            if len(extent) > 9:
                raise ParseError(f"PTX variable {name[:60]} is too large")
            size *= int(extent or 0)
        if size > _MAX_VARIABLE_BYTES:
            raise ParseError(f"PTX variable {name[:60]} is too large ({size} bytes)")
        initial, references = (
            self._initialiser(content, self._bytes(kind)) if content else (b"", {})
        )
        if len(initial) > size:
            raise ParseError(f"the initialiser of {name[:60]} is longer than the variable")
        return Variable(name, space, size, int(align or element), initial, references)

    def _initialiser(self, content: str, width: int) -> tuple[bytes, dict[int, str]]:
        data = bytearray()
        references: dict[int, str] = {}
        for item in re.findall(r"[^\s,{}]+", content):
            literal = immediate(item)
            if literal is None:
                match = re.fullmatch(r"(?:generic\()?([A-Za-z_$][\w$]*)\)?", item)
                if match is None or width != 8:
                    raise UnsupportedError(f"unsupported PTX initialiser {content.strip()[:60]!r}")
                references[len(data)] = match[1]
                literal = Immediate(0)
            data += (literal.value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        return bytes(data), references

    # -- functions ---------------------------------------------------------------------------------

    def _function(self, match: re.Match[str]) -> None:
        kind, returns, name, parameters, attributes = match.groups()
        function = Function(name, kind == "entry")
        function.returns = self._parameters(returns or "")
        function.parameters = self._parameters(parameters or "")
        if bound := _MAX_THREADS.search(attributes):
            x, y, z = (int(extent or 1) for extent in bound.groups())
            function.max_threads = x * y * z
        if function.entry:
            self.result.kernels.append(name)
        self.position = match.end()
        if self.position >= len(self.text):
            raise ParseError(f"PTX function {name[:60]} has no body")
        self.position += 1
        if self.text[self.position - 1] == "{":
            self.bodies[name] = (self.position, function)
            self._skip_body(name)

    def _skip_body(self, name: str) -> None:
        depth = 1
        for brace in _BRACE.finditer(self.text, self.position):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                self.position = brace.end()
                return
        raise ParseError(f"PTX function {name[:60]} has no closing brace")

    def _parameters(self, text: str) -> list[Parameter]:
        result: list[Parameter] = []
        offset = 0
        for item in split_list(text):
            match = _PARAMETER.fullmatch(item)
            if match is None:
                raise UnsupportedError(f"unsupported PTX parameter {item[:60]!r}")
            width = self._bytes(match[2])
            align = int(match[1] or width)
            size = width * int(match[4] or 1)
            offset = -(-offset // align) * align
            result.append(Parameter(match[3], match[2], align, size, offset))
            offset += size
        return result

    # -- helpers -----------------------------------------------------------------------------------

    def _skip_space(self) -> int:
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return self.position

    def _find(self, mark: str, start: int) -> int:
        end = self.text.find(mark, start)
        if end < 0:
            raise ParseError(f"PTX ends early: no {mark!r} after {self._where(start)}")
        return end

    def _where(self, position: int) -> str:
        return f"(PTX line {self.line_of(position)})"

    def line_of(self, position: int) -> int:
        """Return the 1-based PTX line of a text position."""
        return bisect.bisect_right(self.starts, position)

    @staticmethod
    def _bytes(kind: str) -> int:
        if kind not in WIDTH or kind == "pred":
            raise UnsupportedError(f"unsupported PTX type .{kind[:20]}")
        return WIDTH[kind] // 8


class _Scope:
    """The names declared between two braces, and where its instructions start."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.names: dict[str, str] = {}
        self.labels: dict[str, str] = {}


class _Body:
    """Parses one function body: scopes, registers, variables, labels, instructions."""

    def __init__(self, parser: _Parser, function: Function) -> None:
        self.parser = parser
        self.function = function
        self.scopes = [_Scope(0)]
        self.unique = 0
        self.calls: list[str] = []
        self.operands: dict[str, Operand] = {}  # by text, for the scope that is open

    def parse(self) -> None:
        """Parse up to and including the closing brace."""
        parser, text = self.parser, self.parser.text
        while self.scopes:
            start = parser._skip_space()
            if start >= len(text):
                raise ParseError(f"PTX function {self.function.name[:60]} ends early")
            character = text[start]
            if character in "{};":
                parser.position += 1
                self.operands.clear()
                if character == "{":
                    self.scopes.append(_Scope(len(self.function.body)))
                elif character == "}":
                    self._close(self.scopes.pop())
            elif match := _LOC.match(text, start):
                parser.lines.locate(match)
                end = text.find("\n", start)
                parser.position = end if end >= 0 else len(text)
            elif match := _LABEL.match(text, start):
                parser.position = match.end()
                self._label(match[1])
            else:
                end = parser._find(";", start)
                parser.position = end + 1
                self._statement(text[start:end].strip(), start)

    def _label(self, name: str) -> None:
        """Take a label, or the table of a ``brx.idx`` that the label names."""
        parser = self.parser
        start = parser._skip_space()
        if parser.text.startswith(".branchtargets", start):
            end = parser._find(";", start)
            parser.position = end + 1
            targets = split_list(parser.text[start + len(".branchtargets") : end])
            self.function.branch_tables[self._resolve(name)] = tuple(map(self._resolve, targets))
        elif parser.text.startswith(".callprototype", start):
            parser.position = parser._find(";", start) + 1
        else:
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
            match = _VARIABLE.fullmatch(statement)
            if match is None:
                raise ParseError(
                    f"unknown PTX directive {statement[:60]!r} {self.parser._where(start)}"
                )
            variable = self.parser._variable(match)
            variable.name = self._declare(variable.name)
            if variable.space == "param":  # the argument block of a call: private to the thread
                variable.space = "local"
            self.function.variables[variable.name] = variable
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
        parser = self.parser
        parser.remaining -= 1
        if parser.remaining < 0:
            raise TooLargeError(
                f"the kernel has more than {parser.max_instructions:,} PTX instructions"
            )
        guard: Register | Not | None = None
        if match := _GUARD.match(statement):
            register = Register(self._resolve(match[2]))
            guard = Not(register) if match[1] else register
            statement = statement[match.end() :]
        opcode = _OPCODE.match(statement)
        if opcode is None:
            raise ParseError(f"malformed PTX {statement[:60]!r} {parser._where(start)}")
        rest = statement[opcode.end() :]
        try:
            operands = tuple(map(self._known_operand, split_list(rest)))
        except ParseError as error:
            raise ParseError(f"{error.message} {parser._where(start)}", parser.lines.line) from None
        instruction = Instruction(
            opcode[0], operands, guard, parser.lines.line, parser.line_of(start)
        )
        self.function.body.append(instruction)
        if instruction.name == "call":
            self.calls += [operand.name for operand in operands if isinstance(operand, Symbol)]

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
            return Not(Register(self._resolve(text[1:].strip())))
        if "|" in text:
            one, _, other = text.partition("|")
            return Pair(self._name(one.strip()), self._name(other.strip()))
        literal = immediate(text)
        return literal if literal is not None else self._name(text)

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
