"""The engine's answers about comparisons, shared by all sessions.

Designs are frozen and hashable, so they are the keys; what is kept is small and never changed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tileviz.comparing.code import Code, CodeDifference, code_of, differences
from tileviz.comparing.comparison import Compared, Comparison, compare_planned
from tileviz.comparing.pairs import read_side
from tileviz.errors import DesignError
from tileviz.figures.overview import Picture, pictures
from tileviz.figures.tokens import Theme
from tileviz.studies.design import Design
from tileviz.studies.registry import study_of
from tileviz.studies.statement import Statement


@lru_cache(maxsize=128)
def design_of(text: str) -> Design | DesignError:
    """Return the design that a side's text names, or what is wrong with it."""
    try:
        return read_side(text, _check)
    except DesignError as error:
        return error


@lru_cache(maxsize=16)
def plan_of(design: Design) -> Any:
    """Return the plan of a design that has one."""
    return study_of(design).plan(design)


def _check(design: Design) -> Design:
    """Return a design that can be planned; its plan is kept for what comes next."""
    plan_of(design)
    return design


@lru_cache(maxsize=64)
def verdict_of(design: Design) -> Statement:
    """Return a design's own verdict."""
    said: Statement = study_of(design).explain.verdict(plan_of(design))
    return said


@lru_cache(maxsize=8)
def comparison_of(left: Design, right: Design, names: tuple[str, str], note: str) -> Comparison:
    """Return the comparison of two designs of one study."""
    one, two = (
        Compared(name, design, plan_of(design), verdict_of(design))
        for name, design in zip(names, (left, right), strict=True)
    )
    return compare_planned(one, two, note)


@lru_cache(maxsize=4)
def pictures_of(designs: tuple[Design, ...], theme: Theme) -> tuple[tuple[Picture, ...], ...]:
    """Return the pictures of designs of one study on one scale; nobody may change them."""
    return pictures([plan_of(design) for design in designs], theme)


@lru_cache(maxsize=64)
def cuda_of(design: Design) -> Code:
    """Return the CUDA of a design, or why there is none."""
    return code_of(design, plan_of(design))


@lru_cache(maxsize=32)
def cuda_difference(left: Design, right: Design) -> CodeDifference:
    """Return both CUDA texts beside each other."""
    return differences(cuda_of(left).source, cuda_of(right).source)
