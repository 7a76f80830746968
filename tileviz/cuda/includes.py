"""The lexical check before any compile: which preprocessor texts are let through.

The compiler prints the lines of a file it includes into its log, and ``__has_include`` tells
whether a file exists. This check lets through the headers that are passed in memory and nothing
else. Where the compiler and this check could read a text differently, the text is refused.
"""

from __future__ import annotations

import re

from tileviz.cuda.prelude import ALLOWED_INCLUDES
from tileviz.errors import DesignError

MAX_SOURCE_BYTES = 1 << 19

_TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
  | (?P<raw>\b(?:u8|u|U|L)?R")
  | (?P<string>"(?:\\.|[^"\\\n])*"?)
  | (?P<number>\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z_]|[0-9A-Za-z_.])*)
  | (?P<word>[A-Za-z_$][A-Za-z0-9_$]*)
  | (?P<char>'(?:\\.|[^'\\\n])*'?)
  | (?P<newline>\n)
  | (?P<blank>[ \t\v\f]+)
  | (?P<paste>\#\#|%:%:)
  | (?P<hash>\#|%:)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r"""include[ \t\v\f]*(?:<([^<>"\n]*)>|"([^<>"\n]*)")[ \t\v\f]*""")
_DIRECTIVE = re.compile("define|undef|if|ifdef|ifndef|elif|else|endif|include|pragma|error|warning")
_UNROLL = re.compile(r'\s*\(\s*"(?:no)?unroll[^"\\]*"\s*\)')
_PRAGMAS = re.compile(r"(?:no)?unroll\b|once\b|nv_\w+|diag_\w+|(?:push|pop)_macro\b")
# Also the halves and the ready-made macros that could paste __has_include together.
_BANNED_WORDS = re.compile(r"__has_include\w*|__has_embed\w*|__has_?|__pragma|_NV_\w+")
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_BLANK_SPLICE = re.compile(r"\\[ \t\v\f]+\n")
_BANNED_ASM = re.compile(r"\.\s*(?:include|incbin)\b")
_PLAIN_BODY = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]*)[uUlL]*")
# Joins the two halves of a continued line while the check runs; no source may hold it.
_SPLICE = "\x00"


def _refuse(message: str, line: int) -> DesignError:
    return DesignError("source", f"line {line}: {message}")


def check_source(source: str) -> None:
    """Refuse a text that could make the compiler read a file.

    Args:
        source: CUDA C++ text.

    Raises:
        DesignError: With the field ``source``, naming the line and what is allowed.

    Example:
        >>> check_source("#include <cuda_fp16.h>")
        >>> check_source("#if __has_include(<passwd>)")
        Traceback (most recent call last):
        tileviz.errors.DesignError: source: line 1: __has_include is not allowed
    """
    if not isinstance(source, str):
        raise DesignError("source", "must be text", type(source).__name__)
    text = source.replace("\r\n", "\n")
    _check_characters(source, text)
    spliced = text.replace("\\\n", _SPLICE)
    joined = spliced.replace(_SPLICE, "")
    # Most texts hold no directive and no banned word: they need no reading.
    if any(mark in joined for mark in ("#", "%:", "__", "_Pragma", "_NV_", "inc", 'R"')):
        _Checker(spliced, joined).run()


def _check_characters(source: str, text: str) -> None:
    """Refuse what the compiler's first phases might read differently from this check."""
    try:
        size = len(source.encode())
    except UnicodeEncodeError as error:
        raise DesignError("source", "holds a character that is not valid text") from error
    if size > MAX_SOURCE_BYTES:
        message = f"{size} bytes of CUDA; at most {MAX_SOURCE_BYTES} are allowed"
        raise DesignError("source", message)
    for mark, what in (("\0", "a NUL character"), ("\r", "a lone carriage return")):
        if mark in text:
            raise _refuse(f"holds {what}", text.count("\n", 0, text.index(mark)) + 1)
    joined = text.replace("\\\n", "")
    if _TRIGRAPH.search(text) or _TRIGRAPH.search(joined):
        raise DesignError("source", "trigraphs such as ??= are not allowed")
    if _BLANK_SPLICE.search(text) or _BLANK_SPLICE.search(joined) or "\\\n" in joined:
        raise DesignError("source", "a continued line must end in its backslash, without blanks")


class _Checker:
    """Reads the text as the compiler's first phases do, one logical line at a time."""

    def __init__(self, spliced: str, joined: str) -> None:
        self.spliced = spliced
        self.text = joined
        self.pasting = False
        self.odd_macros: set[str] = set()
        self.conditions: list[tuple[str, int]] = []

    def refuse(self, message: str, offset: int) -> DesignError:
        """Return the error for the fault at ``offset`` of the joined text."""
        line, left = 1, offset
        for piece in self.spliced.split(_SPLICE):
            line += piece.count("\n", 0, left)
            if left <= len(piece):
                break
            left -= len(piece)
            line += 1
        return _refuse(message, line)

    def run(self) -> None:
        """Check every token, and every directive as a whole."""
        parts: list[str] = []
        directive, fresh, start = False, True, 0
        for match in _TOKEN.finditer(self.text):
            kind, token = match.lastgroup, match[0]
            if kind == "newline":
                if directive:
                    self.check_directive("".join(parts), start)
                parts, directive, fresh = [], False, True
            elif kind in ("comment", "blank"):
                # One blank for any run of them keeps the expressions below linear.
                if directive and parts and parts[-1] != " ":
                    parts.append(" ")
            elif kind == "hash" and fresh:
                directive, fresh, parts, start = True, False, [], match.start()
            else:
                fresh = False
                self.check_token(str(kind), token, match.start(), match.end())
                if directive:
                    parts.append(token)
        if directive:
            self.check_directive("".join(parts), start)
        self.check_conditions()

    def check_token(self, kind: str, token: str, start: int, end: int) -> None:
        """Refuse a banned word, raw string or text, wherever it stands."""
        if kind == "raw":
            raise self.refuse("raw strings are not allowed", start)
        if kind == "word":
            if _BANNED_WORDS.fullmatch(token):
                raise self.refuse(f"{token[:60]} is not allowed", start)
            if token == "_Pragma" and not _UNROLL.match(self.text, end, end + 200):
                raise self.refuse('only _Pragma("unroll") is allowed', start)
        elif kind == "string" and _BANNED_ASM.search(token):
            raise self.refuse("file directives are not allowed in text", start)
        elif kind == "paste":
            self.pasting = True

    def check_directive(self, body: str, start: int) -> None:
        """Refuse a directive that is not on the list; note macros and conditions."""
        body = body.strip(" ")
        word = re.match(r"[A-Za-z_]\w*", body)
        name = word[0] if word else ""
        if body and not _DIRECTIVE.fullmatch(name):
            raise self.refuse(f"#{body.split(' ')[0][:40]} is not allowed", start)
        rest = body[len(name) :].strip(" ")
        if name == "include":
            self.check_include(body, start)
        elif name == "pragma" and not _PRAGMAS.match(rest):
            raise self.refuse(f"#pragma {rest[:40]} is not allowed", start)
        elif name == "define":
            definition = re.match(r"[A-Za-z_$][\w$]*", rest)
            if definition and not _PLAIN_BODY.fullmatch(rest[definition.end() :].strip(" ()")):
                self.odd_macros.add(definition[0])
        elif name in ("if", "elif"):
            self.conditions.append((rest, start))

    def check_include(self, body: str, start: int) -> None:
        """Refuse an include that is not spelled outright or not on the list."""
        allowed = ", ".join(sorted(ALLOWED_INCLUDES))
        match = _INCLUDE.fullmatch(body)
        if match is None:
            message = f"an include must name its header outright; allowed: {allowed}"
            raise self.refuse(message, start)
        name = match[1] if match[1] is not None else match[2]
        if name not in ALLOWED_INCLUDES:
            shown = name if len(name) <= 60 else name[:57] + "..."
            raise self.refuse(f'cannot include "{shown}"; allowed: {allowed}', start)

    def check_conditions(self) -> None:
        """Pasted tokens can spell ``__has_include`` inside a condition: allow only plain ones."""
        if not self.pasting:
            return
        for body, start in self.conditions:
            plain = re.sub(r"\bdefined ?\(? ?[A-Za-z_$][\w$]*", "0", body)
            for word in re.findall(r"[A-Za-z_$][\w$]*", plain):
                if word in self.odd_macros:
                    message = f'condition uses the macro "{word}" in a text that pastes tokens'
                    raise self.refuse(message, start)
