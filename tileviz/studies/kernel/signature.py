"""The kernels of a CUDA text, read from it by their tokens: names, and parameters in order.

The compiler alone knows C++; this reads what can be read without it, to fill a form. What it cannot
tell (a type of one's own, the size of a buffer) is left for a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from tileviz.studies.kernel.design import MAX_PARAMETERS, MAX_SOURCE, ScalarDesign

Role = Literal["in", "out", "inout", "scalar"]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TOKEN = re.compile(
    r'[A-Za-z_]\w*|\d[\w.]*|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?|==|[^\s\w]'
)
# fmt: off
_QUALIFIERS = frozenset((
    "const", "volatile", "restrict", "__restrict", "__restrict__", "__grid_constant__", "struct",
))
# Attributes of a kernel whose parentheses are not its parameters.
_ATTRIBUTES = frozenset((
    "__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__block_size__", "__align__",
))
# fmt: on
_MAX_KERNELS = 64
_MAX_NAMED = 3
_OPEN, _CLOSE = "([{<", ")]}>"
_TYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "bfloat16": "bfloat16",
    "__nv_bfloat16": "bfloat16",
    "nv_bfloat16": "bfloat16",
    "__nv_fp8_e4m3": "float8_e4m3fn",
    "__nv_fp8_e5m2": "float8_e5m2",
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "int8_t": "int8",
    "unsigned char": "uint8",
    "uchar": "uint8",
    "uint8_t": "uint8",
    "short": "int16",
    "int16_t": "int16",
    "unsigned short": "uint16",
    "ushort": "uint16",
    "uint16_t": "uint16",
    "int": "int32",
    "signed": "int32",
    "signed int": "int32",
    "int32_t": "int32",
    "unsigned": "uint32",
    "unsigned int": "uint32",
    "uint": "uint32",
    "uint32_t": "uint32",
    "long": "int64",
    "long int": "int64",
    "long long": "int64",
    "long long int": "int64",
    "int64_t": "int64",
    "ptrdiff_t": "int64",
    "unsigned long": "uint64",
    "unsigned long int": "uint64",
    "unsigned long long": "uint64",
    "unsigned long long int": "uint64",
    "uint64_t": "uint64",
    "size_t": "uint64",
    "half2": "float16x2",
    "__half2": "float16x2",
    "__nv_bfloat162": "bfloat16x2",
}
_VECTORS = {
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "uint": "uint32",
    "short": "int16",
    "ushort": "uint16",
    "char": "int8",
    "uchar": "uint8",
    "longlong": "int64",
    "ulonglong": "uint64",
}
_VECTOR = re.compile(r"([a-z]+)([234])")


@dataclass(frozen=True)
class Parameter:
    """One parameter as the text declares it.

    Attributes:
        name: Its name, "" where it has none.
        dtype: The element type, "" where it is a type of one's own.
        role: ``"scalar"``, or for a pointer what the kernel does with it: ``"in"`` where it is
            const, ``"out"`` where it is only assigned to, else ``"inout"``.
        text: The declaration.
    """

    name: str
    dtype: str
    role: Role
    text: str


@dataclass(frozen=True)
class Signature:
    """One kernel of a text.

    Attributes:
        name: The function's name.
        extern_c: Whether it has C linkage, so that it can be found by its name.
        parameters: Its parameters, in order.
    """

    name: str
    extern_c: bool
    parameters: tuple[Parameter, ...]


def signatures(source: str) -> tuple[Signature, ...]:
    """Return the ``__global__`` functions that a text defines, in order.

    Args:
        source: CUDA C++ text, sound or not; what comes after ``MAX_SOURCE`` is not read.

    Example:
        >>> text = 'extern "C" __global__ void k(const float* x, float* y, int n) { y[0] = x[n]; }'
        >>> [(p.name, p.dtype, p.role) for p in signatures(text)[0].parameters]
        [('x', 'float32', 'in'), ('y', 'float32', 'out'), ('n', 'int32', 'scalar')]
    """
    tokens = _TOKEN.findall(_COMMENT.sub(" ", source[:MAX_SOURCE]))
    found: dict[str, Signature] = {}
    for start, linked in islice(_kernels(tokens), _MAX_KERNELS):
        read = _read(tokens, start, linked)
        if read is not None and read.name not in found:
            found[read.name] = read
    return tuple(found.values())


def missing_entry(source: str, entry: str) -> str:
    """Return what is wrong where a text has no kernel of a name; "" where it has, or may have.

    Example:
        >>> missing_entry('extern "C" __global__ void add(int n) {}', "turn")
        'The text has no kernel “turn”; it has “add”.'
        >>> missing_entry('extern "C" __global__ void add(int n) {}', "add")
        ''
    """
    names = [kernel.name for kernel in signatures(source)]
    if entry in names:
        return ""
    if names:
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        found = ", ".join(f"“{name}”" for name in names[:_MAX_NAMED])
        return f"The text has no kernel “{entry}”; it has {found}{more}."
    # A macro may make one that cannot be read here.
    return "" if "__global__" in source or "#define" in source else "The text has no kernel."


def _kernels(tokens: Sequence[str]) -> Iterator[tuple[int, bool]]:
    """Yield where each ``__global__`` is, and whether what it declares has C linkage."""
    braces: list[bool] = []
    linked = False
    for at, token in enumerate(tokens):
        if token == "extern":
            linked = tokens[at + 1 : at + 2] == ['"C"']
        elif token == "{":
            braces.append(linked)
            linked = False
        elif token in "};":
            if token == "}" and braces:
                braces.pop()
            linked = False
        elif token == "__global__":
            yield at, linked or any(braces)


def _read(tokens: Sequence[str], start: int, linked: bool) -> Signature | None:
    """Read one kernel from its ``__global__`` on; None where it is no definition."""
    at = start + 1
    while at + 1 < len(tokens) and tokens[at] not in (";", "{", "__global__"):
        if tokens[at + 1] == "(":
            end = _closing(tokens, at + 1)
            if tokens[at] not in _ATTRIBUTES:
                break
            at = end
        linked |= tokens[at : at + 2] == ["extern", '"C"']
        at += 1
    else:
        return None
    if end + 1 >= len(tokens) or tokens[end + 1] != "{":
        return None
    body = tokens[end + 2 : _closing(tokens, end + 1)]
    declared = [part for part in _split(tokens[at + 2 : end]) if part and part != ["void"]]
    parameters = tuple(_parameter(part, body) for part in declared[:MAX_PARAMETERS])
    return Signature(tokens[at], linked, parameters)


def _closing(tokens: Sequence[str], start: int) -> int:
    """Return where the bracket at ``start`` closes, the end of the text where it does not."""
    opening = tokens[start]
    closing = _CLOSE[_OPEN.index(opening)]
    depth = 0
    for at in range(start, len(tokens)):
        depth += (tokens[at] == opening) - (tokens[at] == closing)
        if not depth:
            return at
    return len(tokens)


def _split(tokens: Sequence[str]) -> list[list[str]]:
    """Part tokens at commas that are in no bracket."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        if token == "," and not depth:
            parts.append([])
            continue
        depth += (token in _OPEN) - (token in _CLOSE)
        parts[-1].append(token)
    return parts


def _parameter(tokens: list[str], body: Sequence[str]) -> Parameter:
    text = " ".join(tokens)
    ends = [at for at, token in enumerate(tokens) if token in ("=", "[")]
    pointer = "*" in tokens or "[" in tokens
    declared = tokens[: ends[0]] if ends else tokens
    words = [token for token in declared if token not in _QUALIFIERS and token != "*"]
    name = words.pop() if len(words) > 1 and words[-1].isidentifier() else ""
    kind = _dtype(words)
    if not pointer:
        return Parameter(name, _by_value(kind), "scalar", text)
    before = declared[: declared.index("*")] if "*" in declared else declared
    role: Role = "in" if "const" in before else _use(name, body)
    return Parameter(name, kind, role, text)


def _by_value(kind: str) -> str:
    """Return the type by which a scalar of a kind is passed, "" where there is none."""
    if kind == "bool":
        return "uint8"
    return kind if kind in get_args(ScalarDesign.model_fields["dtype"].annotation) else ""


def _dtype(words: Sequence[str]) -> str:
    joined = " ".join(word for word in words if word not in ("std", ":"))
    if joined in _TYPES:
        return _TYPES[joined]
    vector = _VECTOR.fullmatch(joined)
    if vector and vector[1] in _VECTORS:
        return f"{_VECTORS[vector[1]]}x{vector[2]}"
    return ""


def _use(name: str, body: Sequence[str]) -> Role:
    """Return ``out`` where every use of a pointer is an element that is assigned to."""
    # threadIdx.y is no use of y.
    uses = [at for at, token in enumerate(body) if token == name and body[at - 1] != "."]
    return "out" if uses and all(_assigned(body, at + 1) for at in uses) else "inout"


def _assigned(body: Sequence[str], at: int) -> bool:
    if body[at : at + 1] != ["["]:
        return False
    end = _closing(body, at)
    return list(body[end + 1 : end + 2]) == ["="]
