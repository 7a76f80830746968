"""What the compiler says: its error messages, and the resources ptxas reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FRONT = re.compile(
    r"^(?P<file>.*?)\((?P<line>\d+)\): (?P<kind>(catastrophic )?error|warning)( #[\w-]+)?: "
    r"(?P<text>.*)$"
)
_PTX_LINE = re.compile(
    r"^ptxas .*?, line (?P<line>\d+); (?P<kind>error|fatal|warning)\s*: (?P<text>.*)$"
)
_BACK = re.compile(r"^(?:ptxas|nvrtc):?\s+(?P<kind>error|fatal|warning)\s*: (?P<text>.*)$")
_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)' for")
_SPILL = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")

_MAX_TEXT = 300


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler.

    Attributes:
        kind: ``"error"`` or ``"warning"``.
        message: The text, one line.
        line: 1-based line in the CUDA source, or None (back-end messages speak of PTX lines).
        excerpt: The source line with a caret under the fault, or "".
    """

    kind: str
    message: str
    line: int | None = None
    excerpt: str = ""


@dataclass(frozen=True)
class Resources:
    """What one compiled kernel takes of a multiprocessor.

    Attributes:
        registers: 32-bit registers per thread.
        shared_bytes: Static shared memory per block, in bytes.
        spill_bytes: Bytes per thread of register spill stores and loads together.
    """

    registers: int
    shared_bytes: int
    spill_bytes: int


class NvrtcNotFound(RuntimeError):
    """No NVRTC library on this machine, or it cannot be loaded; says what to do."""


class CompileError(Exception):
    """The CUDA text does not compile.

    Attributes:
        message: The first error, one line.
        line: Its 1-based source line, or None.
        diagnostics: Every message of the log.
    """

    def __init__(
        self, message: str, line: int | None = None, diagnostics: Sequence[Diagnostic] = ()
    ) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.message = message
        self.line = line
        self.diagnostics = tuple(diagnostics)

    @classmethod
    def from_log(cls, log: str, fallback: str, *, name: str) -> CompileError:
        """Make the error from a compiler log; ``fallback`` where the log names no error."""
        diagnostics = parse_log(log, name=name)
        for diagnostic in diagnostics:
            if diagnostic.kind == "error":
                return cls(diagnostic.message, diagnostic.line, diagnostics)
        first = next((line.strip() for line in log.splitlines() if line.strip()), "")
        text = f"{fallback}: {first[:_MAX_TEXT]}" if first else fallback
        return cls(text, None, diagnostics)


def parse_log(log: str, *, name: str = "kernel.cu", limit: int = 100) -> tuple[Diagnostic, ...]:
    """Return the messages of an NVRTC log, at most ``limit``.

    Lines are kept only for messages about the file ``name``.

    Example:
        >>> parse_log('kernel.cu(3): error: expected a ";"\\n  int x\\n       ^\\n')
        (Diagnostic(kind='error', message='expected a ";"', line=3, excerpt='  int x\\n       ^'),)
    """
    lines = log.split("\n")
    found: list[Diagnostic] = []
    for index, text in enumerate(lines):
        if len(found) >= limit:
            break
        if match := _FRONT.match(text):
            kind = "warning" if match["kind"] == "warning" else "error"
            line = int(match["line"]) if match["file"] == name else None
            after = [extra[:_MAX_TEXT] for extra in lines[index + 1 : index + 3]]
            has_caret = len(after) == 2 and after[1].strip() == "^"
            excerpt = "\n".join(after) if has_caret else ""
            found.append(Diagnostic(kind, match["text"][:_MAX_TEXT], line, excerpt))
        elif match := _PTX_LINE.match(text) or _BACK.match(text):
            kind = "warning" if match["kind"] == "warning" else "error"
            found.append(Diagnostic(kind, match["text"].strip()[:_MAX_TEXT]))
    return tuple(found)


def parse_resources(log: str) -> dict[str, Resources]:
    """Return each entry function's resources from a ``--ptxas-options=-v`` log.

    Example:
        >>> parse_resources('''ptxas info    : Compiling entry function 'k' for 'sm_80'
        ... ptxas         .     8 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
        ... ptxas info    : Used 63 registers, used 1 barriers, 8448 bytes smem, 388 bytes cmem[0]
        ... ''')
        {'k': Resources(registers=63, shared_bytes=8448, spill_bytes=12)}
    """
    found: dict[str, Resources] = {}
    name, spill = "", 0
    for text in log.split("\n"):
        if match := _ENTRY.search(text):
            name, spill = match["name"], 0
        elif match := _SPILL.search(text):
            spill = int(match[1]) + int(match[2])
        elif name and (match := _REGISTERS.search(text)):
            shared = _SHARED.search(text)
            found[name] = Resources(int(match[1]), int(shared[1]) if shared else 0, spill)
            name = ""
    return found
