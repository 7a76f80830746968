"""The pieces of PTX syntax that module scope and function bodies share."""

from __future__ import annotations

import bisect
import re
import struct
from collections.abc import Iterator

from tileviz.emulator.errors import ParseError, TooLargeError, UnsupportedError
from tileviz.emulator.ptx import WIDTH, Immediate, Variable

_COMMENT = re.compile(r'("[^"\n]*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_SPACE = re.compile(r"\s*")
LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:[^\n]*?inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_VARIABLE = re.compile(
    r"(?:\.(?:visible|weak|extern|common)\s+)*\.(shared|local|global|const|param)\s+"
    r"(?:\.align\s+(\d+)\s+)?(?:\.v([24])\s+)?\.(\w+)\s+([\w$%]+)\s*((?:\[\d*\]\s*)*)(?:=(.*))?",
    re.DOTALL,
)
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?")
_FLOAT_BITS = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")
_DECIMAL = re.compile(r"-?\d+\.\d*(?:[eE][+-]?\d+)?")

_MAX_VARIABLE_BYTES = 1 << 26


class Text:
    """PTX text without its comments, and a position in it."""

    def __init__(self, text: str) -> None:
        # Quoted strings are kept, comments become blanks of the same number of lines.
        self.text = _COMMENT.sub(lambda m: m[1] or "\n" * m[0].count("\n"), text)
        self.position = 0
        self._starts = [0, *(m.end() for m in re.finditer("\n", self.text))]

    def skip_space(self) -> int:
        """Go to the next character that is no blank; return its position."""
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return self.position

    def skip_line(self) -> str:
        """Go past the end of the line; return what was left of it."""
        start, end = self.position, self.text.find("\n", self.position)
        self.position = end if end >= 0 else len(self.text)
        return self.text[start : self.position]

    def find(self, mark: str) -> int:
        """Return the position of the next ``mark``."""
        end = self.text.find(mark, self.position)
        if end < 0:
            raise ParseError(f"PTX ends early: no {mark!r} after {self.where(self.position)}")
        return end

    def statement(self) -> str:
        """Go past the next semicolon; return what lies before it."""
        start, end = self.position, self.find(";")
        self.position = end + 1
        return self.text[start:end].strip()

    def line_of(self, position: int) -> int:
        """Return the 1-based PTX line of a position."""
        return bisect.bisect_right(self._starts, position)

    def where(self, position: int) -> str:
        """Return a position for a message."""
        return f"(PTX line {self.line_of(position)})"


class Budget:
    """How many instructions may still be read."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._left = most

    def take(self) -> None:
        """Count an instruction."""
        self._left -= 1
        if self._left < 0:
            raise TooLargeError(f"the kernel has more than {self.most:,} PTX instructions")


def type_bytes(kind: str) -> int:
    """Return the size of a type in memory."""
    if kind not in WIDTH or kind == "pred":
        raise UnsupportedError(f"unsupported PTX type .{kind[:20]}")
    return WIDTH[kind] // 8


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


class Lines:
    """Resolves ``.loc`` directives to lines of the kernel's own source file.

    A location inside an inlined header function counts for the line that called it; the file of the
    first location in a kernel is the kernel's own, since an entry function has a body there.
    """

    def __init__(self, text: str) -> None:
        entry = text.find(".entry")
        first = LOC.search(text, max(entry, 0))
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


def variable(statement: str) -> Variable | None:
    """Return the variable that a statement declares, or None if it declares none."""
    match = _VARIABLE.fullmatch(statement)
    if match is None:
        return None
    space, align, vector, kind, name, extents, content = match.groups()
    element = type_bytes(kind) * int(vector or 1)
    size = element
    for extent in re.findall(r"\[(\d*)\]", extents):
        if len(extent) > 9:
            raise ParseError(f"PTX variable {name[:60]} is too large")
        size *= int(extent or 0)
    if size > _MAX_VARIABLE_BYTES:
        raise ParseError(f"PTX variable {name[:60]} is too large ({size} bytes)")
    initial, references = _initialiser(content, type_bytes(kind)) if content else (b"", {})
    if len(initial) > size:
        raise ParseError(f"the initialiser of {name[:60]} is longer than the variable")
    return Variable(name, space, size, int(align or element), initial, references)


def _initialiser(content: str, width: int) -> tuple[bytes, dict[int, str]]:
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
