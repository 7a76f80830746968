"""Fixtures that every folder of tests shares."""

from __future__ import annotations

import ast
import json
import math
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Speed is measured in benchmarks/; on a busy machine a deadline only makes tests flaky.
settings.register_profile("project", deadline=None)
settings.load_profile("project")

_DATA = Path(__file__).parent / "oracle" / "data"


@cache
def _load(name: str) -> Any:
    return json.loads((_DATA / f"{name}.json").read_text())


def pytest_generate_tests(metafunc: Any) -> None:
    """Parametrise ``@pytest.mark.oracle(file, section, id_fields...)`` tests by their cases."""
    marker = metafunc.definition.get_closest_marker("oracle")
    if marker is None:
        return
    document = _load(marker.args[0])
    section = marker.kwargs.get("section")
    keep = marker.kwargs.get("keep", lambda case: True)
    cases = [case for case in (document[section] if section else document) if keep(case)]
    ids = [str(case.get("id", index)) for index, case in enumerate(cases)]
    metafunc.parametrize("case", cases, ids=ids)


# -- the arithmetic of derivations, by a reading of the text that the engine has no part in ------

_OPERATORS: dict[type[Any], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: Fraction,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.USub: operator.neg,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "max": lambda *values: max(values),
    "min": lambda *values: min(values),
    "ceil": math.ceil,
    "floor": math.floor,
    "lcm": math.lcm,
    "gcd": math.gcd,
}


def _evaluated(text: str) -> Any:
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    for sign, python in (("·", "*"), ("−", "-"), (" mod ", " % ")):
        plain = plain.replace(sign, python)

    def of(node: ast.AST) -> Any:
        if isinstance(node, ast.Constant):
            return Fraction(str(node.value)) if isinstance(node.value, float) else node.value
        if isinstance(node, ast.BinOp):
            return _OPERATORS[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.UnaryOp):
            return _OPERATORS[type(node.op)](of(node.operand))
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name), text
        return _FUNCTIONS[node.func.id](*map(of, node.args))

    return of(ast.parse(plain.strip(), mode="eval").body)


def _check_arithmetic(text: str) -> Any:
    """Check every equation of a line; return the value of its last side."""
    first, *rest = re.split(r"([=≈])", text)
    value = _evaluated(first)
    for sign, side in zip(rest[::2], rest[1::2], strict=True):
        right = _evaluated(side)
        digits = len(side.strip().partition(".")[2])
        slack = Fraction(1, 10**digits) if sign == "≈" else 0
        assert abs(Fraction(value) - Fraction(right)) <= slack, text
        value = right
    return value


def _check_derivation(one: Any) -> None:
    """Check that every line of a derivation is true, and that its last one gives its value."""
    lines = [step.arithmetic for step in one.steps if step.arithmetic]
    values = [_check_arithmetic(line) for line in lines]
    assert all(step.text for step in one.steps) and one.steps, one.name
    assert one.label and one.group and not one.label.endswith("."), one.name
    if type(one.value) is int:
        assert values[-1] == one.value, (one.name, lines)
    elif type(one.value) is float:
        assert math.isclose(values[-1], one.value, rel_tol=1e-4, abs_tol=1e-9), (one.name, lines)
    for row in (row for step in one.steps for row in step.bits):
        assert row.low < row.high and row.bits >> row.high == 0, (one.name, row)


@pytest.fixture(scope="session")
def check_arithmetic() -> Callable[[str], Any]:
    """Return a function that evaluates a line of arithmetic, and checks its equations."""
    return _check_arithmetic


@pytest.fixture(scope="session")
def check_derivation() -> Callable[[Any], None]:
    """Return a function that checks a derivation: every line true, the last one its value."""
    return _check_derivation
