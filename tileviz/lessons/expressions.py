"""Where an answer lies: a path into an engine's result, with a little arithmetic.

``column.wavefronts``, ``demo.schedules[0].write.wavefronts``, ``race.run.problems[0].line``,
``swizzled.cell[5, 3].bank``, ``100 * order.metrics.l2_hit_rate``. The text is read with Python's
own parser, and only what is listed here is worked out.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from tileviz.errors import DesignError
from tileviz.lessons.results import Cells, Result, member

MAX_EXPRESSION = 200
_PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")
_LISTED = 16

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.RShift: operator.rshift,
}
_WHOLE_ONLY = (ast.BitXor, ast.BitAnd, ast.RShift)
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": len,
    "max": max,
    "min": min,
    "sum": sum,
    "round": round,
    "abs": abs,
}


def value_of(text: str, names: Mapping[str, Any]) -> Any:
    """Return what an expression comes to.

    Args:
        text: The expression.
        names: What its first words stand for: a ``Result`` a design, or a plain value.

    Raises:
        DesignError: It cannot be read, names something that is not there, or mixes up types.

    Example:
        >>> value_of("plain.cost - max(plain.groups) / 2", {"plain": {"cost": 9, "groups": [2, 4]}})
        7.0
        >>> value_of("plain.cots", {"plain": {"cost": 9}})
        Traceback (most recent call last):
        ...
        tileviz.errors.DesignError: plain.cots: cots: not in the result; it has cost
    """
    tree = _tree(text.strip())
    try:
        return _work_out(tree, names)
    except DesignError as error:
        # Where the fault is the whole expression, once is enough.
        said = str(error).removeprefix(f"{text.strip()}: ")
        raise DesignError(text.strip(), said) from None
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise DesignError(text.strip(), f"cannot be worked out: {error}") from None


def number_of(text: str, names: Mapping[str, Any]) -> float:
    """Return what an expression comes to, which must be a number.

    Raises:
        DesignError: It is none.

    Example:
        >>> number_of("a.b", {"a": {"b": "high"}})
        Traceback (most recent call last):
        ...
        tileviz.errors.DesignError: a.b: must be a number, is 'high'
    """
    found = value_of(text, names)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
        raise DesignError(text.strip(), f"must be a number, is {found!r}")
    return found


def holds(text: str, names: Mapping[str, Any]) -> bool:
    """Return whether a condition is true.

    Raises:
        DesignError: It is no condition.

    Example:
        >>> holds("a.b <= 4", {"a": {"b": 4}})
        True
    """
    found = value_of(text, names)
    if not isinstance(found, bool):
        raise DesignError(text.strip(), f"must be true or false, is {found!r}")
    return found


def first_words(text: str) -> tuple[str, ...]:
    """Return the names that an expression builds on, in their order.

    Raises:
        DesignError: It cannot be read.

    Example:
        >>> first_words("b.x - a.x * b.y")
        ('b', 'a')
    """
    found = [node for node in ast.walk(_tree(text.strip())) if isinstance(node, ast.Name)]
    ordered = sorted(found, key=lambda node: node.col_offset)
    return tuple(dict.fromkeys(node.id for node in ordered if node.id not in _FUNCTIONS))


def paths_in(text: str) -> tuple[tuple[str, str], ...]:
    """Return the paths of an expression: (design, the number's name in its plan).

    Raises:
        DesignError: It cannot be read.

    Example:
        >>> paths_in("100 * a.metrics.rate - b.schedules[0].write.cost")
        (('a', 'metrics.rate'), ('b', 'schedules.0.write.cost'))
    """
    inner: set[int] = set()
    found = []
    for node in ast.walk(_tree(text.strip())):
        if not isinstance(node, (ast.Attribute, ast.Subscript)) or id(node) in inner:
            continue
        names: list[str] = []
        here: ast.expr = node
        while isinstance(here, (ast.Attribute, ast.Subscript)):
            inner.add(id(here))
            names.append(here.attr if isinstance(here, ast.Attribute) else _index(here.slice))
            here = here.value
        if isinstance(here, ast.Name) and all(names):
            found.append((here.col_offset, here.id, ".".join(reversed(names))))
    return tuple(dict.fromkeys((name, path) for _, name, path in sorted(found)))


def _index(node: ast.expr) -> str:
    if isinstance(node, ast.Tuple):
        return ".".join(map(_index, node.elts))
    return str(node.value) if isinstance(node, ast.Constant) else ""


def filled(text: str, names: Mapping[str, Any]) -> str:
    """Return a text with every ``{{expression}}`` worked out.

    Raises:
        DesignError: One cannot be.

    Example:
        >>> filled("needs {{a.b}} wavefronts", {"a": {"b": 4096}})
        'needs 4,096 wavefronts'
    """
    return _PLACEHOLDER.sub(lambda found: shown(value_of(found[1], names)), text)


def expressions_in(text: str) -> tuple[str, ...]:
    """Return the expressions of a text's ``{{ }}``."""
    return tuple(found.strip() for found in _PLACEHOLDER.findall(text))


def shown(value: object) -> str:
    """Return a value as people read it.

    Example:
        >>> shown(0.5), shown([1, 2]), shown(True), shown(33)
        ('0.5', '1, 2', 'yes', '33')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{int(value):,}" if value.is_integer() and abs(value) < 1e15 else f"{value:,.6g}"
    if isinstance(value, (list, tuple)):
        more = ", …" if len(value) > _LISTED else ""
        return ", ".join(map(shown, value[:_LISTED])) + more
    # Where the value is typed text, a browser must not take it for a picture to fetch.
    return str(value).replace("![", "! [")


@lru_cache(maxsize=512)
def _tree(text: str) -> ast.expr:
    if len(text) > MAX_EXPRESSION:
        raise DesignError(text[:40] + "...", f"at most {MAX_EXPRESSION} characters are read")
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        message = "is no path into a result, such as NAME.wavefronts"
        raise DesignError(text or "value", message) from None


def _work_out(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant) and not isinstance(node.value, (bytes, complex)):
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise DesignError(node.id, f"unknown name; known: {', '.join(names)}")
        return names[node.id]
    if isinstance(node, ast.Attribute):
        value = _work_out(node.value, names)
        return value.part(node.attr) if isinstance(value, Result) else member(value, node.attr)
    if isinstance(node, ast.Subscript):
        return _item(_work_out(node.value, names), _work_out(node.slice, names))
    if isinstance(node, ast.Tuple):
        return tuple(_work_out(item, names) for item in node.elts)
    if isinstance(node, ast.BinOp):
        left, right = _work_out(node.left, names), _work_out(node.right, names)
        return _arithmetic(node.op, left, right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _arithmetic(ast.Sub(), 0, _work_out(node.operand, names))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        left, right = _work_out(node.left, names), _work_out(node.comparators[0], names)
        return bool(_COMPARISONS[type(node.ops[0])](left, right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id in _FUNCTIONS:
            return _FUNCTIONS[node.func.id](*(_work_out(item, names) for item in node.args))
        raise DesignError(node.func.id, f"unknown; there is {', '.join(_FUNCTIONS)}")
    raise DesignError(ast.unparse(node)[:60], "is more than a path and simple arithmetic")


def _item(value: Any, index: Any) -> Any:
    return value.at(index) if isinstance(value, Cells) else member(value, index)


def _arithmetic(op: ast.operator, left: Any, right: Any) -> Any:
    kinds = int if isinstance(op, _WHOLE_ONLY) else (int, float)
    numbers = all(isinstance(side, kinds) and not isinstance(side, bool) for side in (left, right))
    if type(op) not in _ARITHMETIC or not numbers:
        raise DesignError("", "arithmetic takes numbers, + - * / // % ^ & and >>")
    return _ARITHMETIC[type(op)](left, right)
