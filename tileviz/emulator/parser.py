"""PTX text to a `Module`, with a source line on every instruction.

The parser accepts what NVVM 7 (compute_50 to compute_90) and NVVM 20 (compute_100 and up) print,
and inline assembly. Only structure is read here: whether an opcode is implemented is for the
operations to say. The text may be hostile (inline assembly reaches it unchecked), so every pattern
is linear.
"""

from __future__ import annotations

import re

from tileviz.emulator.body import Body
from tileviz.emulator.errors import ParseError, UnsupportedError
from tileviz.emulator.ptx import Function, Module, Parameter
from tileviz.emulator.syntax import Budget, Lines, Text, split_list, type_bytes, variable

_BRACE = re.compile(r"[{}]")
_FUNCTION = re.compile(
    r"(?:\.(?:visible|weak|extern)\s+)*\.(entry|func)\s*(?:\.noreturn\s*)?"
    r"(?:\(([^)]*)\)\s*)?([\w$]+)\s*(?:\(([^)]*)\))?([^{;]*)"
)
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+"
    r"(?:\.ptr\s*(?:\.(?:global|shared|local|const)\s*)?(?:\.align\s+\d+\s+)?)?([\w$]+)"
    r"(?:\[(\d+)\])?\s*"
)
_MAX_THREADS = re.compile(r"\.(?:maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")


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


class _Parser:
    def __init__(self, text: str, max_instructions: int) -> None:
        self.text = Text(text)
        self.result = Module()
        self.lines = Lines(self.text.text)
        self.bodies: dict[str, tuple[int, Function]] = {}
        self.budget = Budget(max_instructions)

    # -- module scope ------------------------------------------------------------------------------

    def module(self, entry: str | None) -> Module:
        """Parse everything at module scope, then the bodies that are needed."""
        while self.text.skip_space() < len(self.text.text):
            self._directive()
        work = list(self.bodies) if entry is None else [entry]
        while work:
            name = work.pop()
            if name in self.bodies:
                self.text.position, function = self.bodies.pop(name)
                self.result.functions[name] = function
                self.lines.line = None
                body = Body(self.text, self.lines, self.budget, function)
                body.parse()
                work.extend(body.calls)
        return self.result

    def _directive(self) -> None:
        text, start = self.text, self.text.position
        rest = text.text
        if rest.startswith((".version", ".target", ".address_size", ".file"), start):
            words = text.skip_line().replace(",", " ").split()
            if words[0] == ".target":
                self.result.target = words[1] if len(words) > 1 else ""
        elif rest.startswith(".section", start):
            text.position = text.find("}") + 1
        elif match := _FUNCTION.match(rest, start):
            self._function(match)
        else:
            statement = text.statement()
            if statement.startswith((".pragma", ".alias")):
                return
            declared = variable(statement)
            if declared is None:
                raise ParseError(f"unknown PTX directive {statement[:60]!r} {text.where(start)}")
            self.result.variables[declared.name] = declared

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
        text = self.text
        text.position = match.end()
        if text.position >= len(text.text):
            raise ParseError(f"PTX function {name[:60]} has no body")
        text.position += 1
        if text.text[text.position - 1] == "{":  # else a declaration
            self.bodies[name] = (text.position, function)
            self._skip_body(name)

    def _skip_body(self, name: str) -> None:
        depth = 1
        for brace in _BRACE.finditer(self.text.text, self.text.position):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                self.text.position = brace.end()
                return
        raise ParseError(f"PTX function {name[:60]} has no closing brace")

    def _parameters(self, text: str) -> list[Parameter]:
        result: list[Parameter] = []
        offset = 0
        for item in split_list(text):
            match = _PARAMETER.fullmatch(item)
            if match is None:
                raise UnsupportedError(f"unsupported PTX parameter {item[:60]!r}")
            width = type_bytes(match[2])
            align = int(match[1] or width)
            size = width * int(match[4] or 1)
            offset = -(-offset // align) * align
            result.append(Parameter(match[3], match[2], align, size, offset))
            offset += size
        return result
