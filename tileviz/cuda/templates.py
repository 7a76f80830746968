"""Kernel templates: CUDA text with named gaps, and the line each access ends up on."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_FOLDER = Path(__file__).with_name("templates")
_MARK = re.compile(r"[ \t]*@\{(\w+)\}")
_CONSTANTS = re.compile(r"constexpr (\w+) (\w+ = [^,;]+(?:, \w+ = [^,;]+)*);(.*)")
_COMMENT = re.compile(r"//.*")


@dataclass(frozen=True)
class Rendered:
    """A rendered template.

    Attributes:
        source: The CUDA text.
        lines: 1-based line of every mark ``@{name}`` of the template.
    """

    source: str
    lines: dict[str, int]


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_FOLDER),
        undefined=StrictUndefined,
        autoescape=False,  # the output is CUDA, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(template: str, **values: object) -> Rendered:
    """Fill in a template of ``cuda/templates``.

    A mark ``@{name}`` at the end of a line is taken out of the text; its line number comes back,
    so that a prediction can name the line on which its access stands. A constant of the whole text
    that nothing in it uses is left out: compilers warn of it.

    Args:
        template: File name.
        **values: The template's variables; a missing one is an error.
    """
    text = _environment().get_template(template).render(**values)
    kept, marks = [], {}
    for number, line in enumerate(_used(text.splitlines()), start=1):
        for name in _MARK.findall(line):
            marks[name] = number
        kept.append(_MARK.sub("", line))
    return Rendered("\n".join(kept) + "\n", marks)


def _used(lines: list[str]) -> list[str]:
    """Return lines without the constants that no other line uses.

    Example:
        >>> _used(["constexpr int A = 1, B = 2;  // sizes", "constexpr int C = 3;", "f(B);  // C"])
        ['constexpr int B = 2;  // sizes', 'f(B);  // C']
    """
    code = "\n".join(_COMMENT.sub("", line) for line in lines)
    times = Counter(re.findall(r"\w+", code))
    kept = []
    for line in lines:
        found = _CONSTANTS.fullmatch(line)
        if found is None:
            kept.append(line)
            continue
        kind, listed, rest = found.groups()
        constants = [one for one in listed.split(", ") if times[one.partition(" ")[0]] > 1]
        if constants:
            kept.append(f"constexpr {kind} {', '.join(constants)};{rest}")
    return kept
