"""The engine's answers about comparisons, shared by all sessions.

Designs are frozen and hashable, so they are the keys; what is kept is small and never changed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tileviz.comparing.code import Code, CodeDifference, code_of, differences
from tileviz.comparing.comparison import Comparison, compare
from tileviz.comparing.pairs import read_side
from tileviz.errors import DesignError
from tileviz.studies.design import Design
from tileviz.studies.registry import study_of
from tileviz.studies.statement import Statement


@lru_cache(maxsize=128)
def design_of(text: str) -> Design | DesignError:
    """Return the design that a side's text names, or what is wrong with it."""
    try:
        return read_side(text)
    except DesignError as error:
        return error


@lru_cache(maxsize=32)
def plan_of(design: Design) -> Any:
    """Return the plan of a design that has one."""
    return study_of(design).plan(design)


@lru_cache(maxsize=64)
def verdict_of(design: Design) -> Statement:
    """Return a design's own verdict."""
    said: Statement = study_of(design).explain.verdict(plan_of(design))
    return said


@lru_cache(maxsize=32)
def comparison_of(left: Design, right: Design, names: tuple[str, str], note: str) -> Comparison:
    """Return the comparison of two designs of one study."""
    return compare(left, right, left_name=names[0], right_name=names[1], note=note)


@lru_cache(maxsize=64)
def cuda_of(design: Design) -> Code:
    """Return the CUDA of a design, or why there is none."""
    return code_of(design, plan_of(design))


@lru_cache(maxsize=32)
def cuda_difference(left: Design, right: Design) -> CodeDifference:
    """Return both CUDA texts beside each other."""
    return differences(cuda_of(left).source, cuda_of(right).source)
