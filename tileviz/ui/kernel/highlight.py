"""CUDA text in spans of a class each, line by line, for the source view."""

from __future__ import annotations

import re

# fmt: off
_WORDS = frozenset((
    "auto", "bool", "break", "case", "char", "class", "const", "constexpr", "continue", "default",
    "do", "double", "else", "enum", "extern", "float", "for", "if", "inline", "int", "long",
    "namespace", "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch",
    "template", "typedef", "typename", "union", "unsigned", "using", "void", "volatile", "while",
    "__global__", "__device__", "__shared__", "__constant__", "__restrict__", "__launch_bounds__",
    "__forceinline__", "__syncthreads", "__syncwarp",
))
# fmt: on
_TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
  | (?P<text>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
  | (?P<rule>(?m:^)[ \t]*\#[^\n]*)
  | (?P<number>\b\d[\w.]*)
  | (?P<word>[A-Za-z_]\w*)
    """,
    re.VERBOSE | re.DOTALL,
)

Span = tuple[str, str]


def spans(source: str) -> list[list[Span]]:
    """Return every line as pairs (class, text); the class of plain text is "".

    Args:
        source: CUDA text, sound or not.

    Example:
        >>> spans("int x = 3; // n")
        [[('word', 'int'), ('', ' x = '), ('number', '3'), ('', '; '), ('comment', '// n')]]
    """
    lines: list[list[Span]] = [[]]
    end = 0
    for match in _TOKEN.finditer(source):
        kind = str(match.lastgroup)
        if kind == "word" and match[0] not in _WORDS:
            continue
        _add(lines, "", source[end : match.start()])
        _add(lines, kind, match[0])
        end = match.end()
    _add(lines, "", source[end:])
    return lines


def _add(lines: list[list[Span]], kind: str, text: str) -> None:
    first, *more = text.split("\n")
    if first:
        lines[-1].append((kind, first))
    for line in more:
        lines.append([(kind, line)] if line else [])
