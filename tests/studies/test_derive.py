"""Every number of every preset unfolds to arithmetic that holds and ends in that very number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tileviz import api
from tileviz.studies.derivation import Derivation, Numbers
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import presets, study_of

Check = Callable[[Derivation], None]
# Results that are no numbers of a plan's own: text that happens to hold numbers.
_WORDS = ("facts", "proof", "path", "text")
_SAMPLES = 24


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, int | float]]:
    """Yield every number of a results document with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _WORDS:
                yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from leaves(item, f"{path}.{at}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def sampled(found: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return all numbers of short lists, and some of every long list."""
    chosen: dict[str, list[tuple[str, Any]]] = {}
    for path, value in found:
        kind = ".".join("#" if part.isdigit() else part for part in path.split("."))
        chosen.setdefault(kind, []).append((path, value))
    random = np.random.default_rng(7)
    result = []
    for same in chosen.values():
        picked = random.permutation(len(same))[:_SAMPLES] if len(same) > _SAMPLES else None
        result += same if picked is None else [same[at] for at in picked] + [same[0], same[-1]]
    return result


# Designs beside the presets: operations, widths and rejections that no preset shows.
FURTHER: dict[str, dict[str, Any]] = {
    "permute-global": {
        "study": "permute", "space": "global",
        "src": {"layout": "S[(32, 64):(64, 1)]"}, "dst": {"layout": "S[(32, 64):(1, 32)]"},
    },
    "permute-bytes": {
        "study": "permute", "dtype": "int8",
        "src": {"layout": "S[(8, 64):(64, 1)]"}, "dst": {"layout": "S[(8, 64):(1, 8)]"},
    },
    "permute-wide": {
        "study": "permute", "dtype": "float64",
        "src": {"layout": "S[(16, 16):(16, 1)]"}, "dst": {"layout": "S[(16, 16):(1, 16)]"},
    },
    "permute-region": {
        "study": "permute",
        "src": {"layout": "S[(16, 32):(32, 1)] + 64", "region": [[4, 8], [0, 32]]},
        "dst": {"layout": "Swizzle(0, 5, 5) o S[(4, 32):(32, 1)]"},
    },
    "permute-overlapping": {
        "study": "permute", "stages": {"count": 2},
        "src": {"layout": "S[(2, 1, 4, 32):(128, 128, 32, 1)]"},
        "dst": {"layout": "S[(2, 1, 4, 32):(128, 128, 33, 1)]"},
    },
    "permute-read-late": {
        "study": "permute", "stages": {"count": 2}, "in_place": True,
        "src": {"layout": "S[(2, 4, 32):(128, 32, 1)]"},
        "dst": {"layout": "S[(2, 4, 32):(-128, 1, 4)] + 128"},
    },
    "permute-odd": {
        "study": "permute",
        "src": {"layout": "S[(5, 9):(9, 1)]"}, "dst": {"layout": "S[(5, 9):(1, 5)]"},
    },
    "access-addresses": {
        "study": "access", "bytes": 8, "addresses": [0, 0, 256, 256, None, 512, 8, 1024],
    },
    "access-pairs": {
        "study": "access", "bytes": 16, "addresses": [16 * (lane // 2) for lane in range(32)],
    },
    "access-global": {
        "study": "access", "space": "global", "bytes": 4, "layout": "S[(64, 33):(40, 1)]",
        "pattern": "column",
    },
    "access-atom": {"study": "access", "op": "atom", "bytes": 4, "addresses": [0, 0, 4, 128]},
    "access-one-lane": {"study": "access", "addresses": [None, 4], "bytes": 4},
    "access-bytes": {
        "study": "access", "dtype": "int8", "layout": "Swizzle(2, 3, 3) o S[(32, 32):(32, 1)]",
        "pattern": "column",
    },
    "layout-canonicalize": {
        "study": "layout", "op": "canonicalize", "layout": "S[(4, 1, 32):(32, 7, 1)] + R[2:64]",
    },
    "layout-group": {
        "study": "layout", "op": "group", "layout": "S[(8, 32):(1, 8)]", "shape": [2, 4, 4, 8],
    },
    "layout-sum": {
        "study": "layout", "op": "direct_sum", "layout": "S[(4, 8):(8, 1)]",
        "outer": "S[(2, 2):(64, 32)]", "outer_shape": [2, 2], "inner_shape": [4, 8],
    },
    "layout-span": {"study": "layout", "op": "span", "layout": "S[(4, 8):(-8, 3)] + 24"},
    "layout-seen": {"study": "layout", "layout": "S[(4, 8):(8@laneid, 1)]", "shape": [2, 16]},
    "layout-carry": {
        "study": "layout", "op": "slice", "layout": "S[(3, 2, 4):(100, 7, 1)]", "shape": [24],
        "region": [[7, 9]],
    },
    "layout-none": {
        "study": "layout", "op": "group", "layout": "S[(6, 4):(4, 1)]", "shape": [5, 5],
    },
    **{
        f"broadcast-{name}": {"study": "broadcast", **fields}
        for name, fields in {
            "nothing": {"operands": [[8, 64]], "out": [8, 64]},
            "scalar": {"operands": [[1]], "out": [1000, 7]},
            "wide": {"operands": [[1152]], "out": [512, 1152]},
            "narrow": {"operands": [[64]], "out": [4096, 64], "dtype": "int8"},
            "flat": {"operands": [[384]], "out": [16, 384]},
            "medium": {"operands": [[1, 8, 1, 1]], "out": [4, 8, 32, 32]},
            "large": {"operands": [[1, 8, 1, 1]], "out": [4, 8, 64, 64], "dtype": "float64"},
            "dynamic": {"operands": [[192]], "out": [-1, 192]},
            "dynamic-nchw": {"operands": [[1, 64, 1, 1]], "out": [-1, 64, 32, 32]},
            "transposed": {"operands": [[16, 8]], "out": [8, 16]},
            "early": {"operands": [[768]], "out": [4096, 768]},
            "power": {"operands": [[512]], "out": [4096, 512]},
            "none": {"operands": [[1184]], "out": [64, 1184]},
            "two-axes": {"operands": [[12, 1, 192]], "out": [12, 50, 192]},
        }.items()
    },
    "kernel": {
        "study": "kernel", "source": "", "entry": "f", "grid": [3, 2], "block": [40, 3],
        "buffers": [{"name": "x", "dtype": "float16", "shape": [5, 7]}],
    },
    **{
        f"schedule-{name}": {
            "study": "schedule", "problem": [700, 900, 300], "tile": [64, 96, 32],
            "policy": name, "workers": 13, "l2_bytes": 200_000, **fields,
        }
        for name, fields in {
            "row_major": {"batch": 3, "dtype": "float4_e2m1fn"},
            "column_major": {}, "catlass_splitk": {"splitk": 3},
            "catlass_single_core_splitk": {}, "catlass_tail_splitk": {}, "catlass_streamk": {},
            "catlass_l1_full_load": {"offset": 2}, "catlass_column": {}, "catlass_aswt": {},
            "cutlass2": {"log_tile": 2, "batch": 2}, "cutlass2_nopadding": {},
            "cutlass3": {"cluster": [2, 1], "max_swizzle": 4}, "cutlass_sm100": {},
            "triton_grouped": {"group_m": 3}, "deepgemm": {}, "tilelang_panel": {"axis": "column"},
            "hilbert": {}, "morton": {}, "xcd_remap": {},
            "custom": {"order": [[0, 0], [0, 1], [0, 1], [20, 3]]},
        }.items()
    },
}  # fmt: skip
CASES = {found.name: found.document for found in presets()} | FURTHER
SHOWN = pytest.mark.parametrize("document", CASES.values(), ids=CASES)


@SHOWN
def test_a_kernel_declares_no_constant_that_it_does_not_use(document: dict[str, Any]) -> None:
    design = api.design(document)
    if design.study in ("kernel", "layout"):
        return
    try:
        source = api.kernel(design).source
    except NotRunnable:
        return
    code = re.sub(r"//.*", "", source)
    for line in re.findall(r"^constexpr \w+ (.*);", code, re.MULTILINE):
        for name in re.findall(r"(\w+) =", line):
            assert len(re.findall(rf"\b{name}\b", code)) > 1, name


def numbers_of(plan: Any) -> Numbers:
    """Return every number, those of a search included."""
    derive = study_of(plan.design).derive
    found: Numbers = derive.numbers(plan)
    return found + derive.further(plan) if hasattr(derive, "further") else found


@SHOWN
def test_every_number_of_the_results_unfolds_to_itself(
    document: dict[str, Any], check_derivation: Check
) -> None:
    plan = api.plan(api.design(document))
    numbers = numbers_of(plan)
    for path, value in sampled(list(leaves(plan.to_json()))):
        one = numbers.find(path)
        assert one.name == path
        # Results may be rounded.
        assert one.value == value or abs(one.value - value) <= 5e-5, path
        check_derivation(one)


@SHOWN
def test_every_number_that_is_listed_unfolds(
    document: dict[str, Any], check_derivation: Check
) -> None:
    numbers = numbers_of(api.plan(api.design(document)))
    names = [one.name for one in numbers] + [family.template for family in numbers.families]
    assert len(set(names)) == len(names)
    titles = [(one.group, one.label) for one in numbers]
    assert len(set(titles)) == len(titles)
    for one in numbers:
        check_derivation(one)
        assert one.to_json()["steps"]
    random = np.random.default_rng(3)
    for family in numbers.families:
        check_derivation(family.at())
        for _ in range(4):
            chosen = {p.name: p.choices[random.integers(len(p.choices))] for p in family.parameters}
            one = family.at(chosen)
            assert numbers.find(one.name).value == one.value
            check_derivation(one)
