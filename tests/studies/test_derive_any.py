"""Numbers of designs that nobody picked: every result unfolds, whatever the design."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tileviz as tv
from tileviz.studies.derivation import Derivation
from tileviz.studies.schedule.policies import NAMES

Check = Callable[[Derivation], None]
Document = dict[str, Any]
_SAMPLES = 8


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, int | float]]:
    """Yield numbers of a results document; of long lists only a few."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in ("facts", "proof", "path", "text", "index"):
                yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        step = max(len(value) // _SAMPLES, 1)
        for at in range(0, len(value), step):
            yield from leaves(value[at], f"{path}.{at}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def unfolds(document: Document, check: Check) -> None:
    """Check every number of a design, listed or of a family."""
    try:
        design = tv.design(document)
        plan = tv.plan(design)
    except tv.DesignError:
        return
    numbers = tv.explain(design)
    for path, value in leaves(plan.to_json()):
        one = numbers.find(path)
        assert abs(float(one.value) - value) <= 5e-5, (path, one.value, value)
        check(one)
    random = np.random.default_rng(5)
    for one in numbers:
        check(one)
    for family in numbers.families:
        chosen = {p.name: p.choices[random.integers(len(p.choices))] for p in family.parameters}
        check(family.at(chosen))


@settings(max_examples=50)
@given(
    out=st.lists(st.sampled_from((1, 2, 3, 7, 32, 33, 56, 64, 96, 192, 256, 1056)), max_size=4),
    keep=st.lists(st.booleans(), min_size=4, max_size=4),
    dtype=st.sampled_from(("float32", "float16", "int8", "float64")),
    sms=st.sampled_from((1, 80, 132)),
)
def test_any_broadcast(
    out: list[int], keep: list[bool], dtype: str, sms: int, check_derivation: Check
) -> None:
    operand = [extent if kept else 1 for extent, kept in zip(out, keep, strict=False)]
    unfolds(
        {"study": "broadcast", "operands": [operand], "out": out, "dtype": dtype, "sm_count": sms},
        check_derivation,
    )


@settings(max_examples=50)
@given(
    problem=st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 30)),
    tile=st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9)),
    policy=st.sampled_from(tuple(set(NAMES) - {"custom", "catlass_conv2d"})),
    workers=st.integers(1, 20),
    l2=st.integers(1, 2000),
    dtype=st.sampled_from(("float16", "float4_e2m1fn", "int8")),
    offset=st.integers(1, 9),
    direction=st.sampled_from(("zn", "nz")),
)
def test_any_schedule(
    problem: tuple[int, int, int],
    tile: tuple[int, int, int],
    policy: str,
    workers: int,
    l2: int,
    dtype: str,
    offset: int,
    direction: str,
    check_derivation: Check,
) -> None:
    document: Document = {
        "study": "schedule", "problem": list(problem), "tile": list(tile), "policy": policy,
        "workers": workers, "l2_bytes": l2, "dtype": dtype,
    }  # fmt: skip
    if policy in ("catlass", "catlass_splitk", "catlass_streamk", "catlass_l1_full_load"):
        document |= {"offset": offset, "direction": direction}
    unfolds(document, check_derivation)


@settings(max_examples=50)
@given(
    extents=st.lists(st.sampled_from((1, 2, 3, 4, 8)), min_size=1, max_size=3),
    strides=st.lists(st.integers(-40, 40), min_size=3, max_size=3),
    replica=st.booleans(),
    op=st.sampled_from(("apply", "span", "canonicalize")),
)
def test_any_layout(
    extents: list[int], strides: list[int], replica: bool, op: str, check_derivation: Check
) -> None:
    used = strides[: len(extents)]
    text = f"S[({','.join(map(str, extents))},):({','.join(map(str, used))},)]"
    text += " + R[2:512]" if replica else ""
    unfolds({"study": "layout", "op": op, "layout": f"{text} + 300"}, check_derivation)


@settings(max_examples=50)
@given(
    rows=st.sampled_from((1, 2, 4, 5, 8, 16)),
    columns=st.sampled_from((8, 12, 16, 32, 64)),
    pad=st.sampled_from((0, 1, 4)),
    dtype=st.sampled_from(("int8", "float16", "float32", "float64")),
    space=st.sampled_from(("shared", "global")),
)
def test_any_permute(
    rows: int, columns: int, pad: int, dtype: str, space: str, check_derivation: Check
) -> None:
    document: Document = {
        "study": "permute", "dtype": dtype, "space": space,
        "src": {"layout": f"S[({rows}, {columns}):({columns + pad}, 1)]"},
        "dst": {"layout": f"S[({rows}, {columns}):(1, {rows + pad})]"},
    }  # fmt: skip
    unfolds(document, check_derivation)


@settings(max_examples=50)
@given(
    rows=st.sampled_from((8, 16, 32)),
    columns=st.sampled_from((8, 32, 40, 64)),
    letters=st.sampled_from(("", "Swizzle(3, 3, 3) o ", "Swizzle(0, 5, 5) o ")),
    pattern=st.sampled_from(("row", "column", "ldmatrix")),
    op=st.sampled_from(("ld", "st", "atom", "ldgsts.ca", "ldmatrix.x4")),
    width=st.sampled_from((None, 2, 4, 8, 16)),
    dtype=st.sampled_from(("float16", "float32")),
    space=st.sampled_from(("shared", "global")),
)
def test_any_access(
    rows: int,
    columns: int,
    letters: str,
    pattern: str,
    op: str,
    width: int | None,
    dtype: str,
    space: str,
    check_derivation: Check,
) -> None:
    document: Document = {
        "study": "access", "layout": f"{letters}S[({rows}, {columns}):({columns}, 1)]",
        "pattern": pattern, "op": op, "bytes": width, "dtype": dtype, "space": space,
    }  # fmt: skip
    unfolds(document, check_derivation)


@pytest.mark.parametrize(
    "document",
    [
        {"study": "layout", "layout": "S[1:1]"},
        {"study": "broadcast", "operands": [[1]], "out": []},
        {"study": "permute", "src": {"layout": "S[1:1]"}, "dst": {"layout": "S[1:1]"}},
        {"study": "access", "addresses": [None], "bytes": 4},
        {"study": "schedule", "problem": [1, 1, 1], "tile": [1, 1, 1], "policy": "row_major"},
    ],
    ids=lambda document: document["study"],
)
def test_the_smallest_designs(document: Document, check_derivation: Check) -> None:
    unfolds(document, check_derivation)
