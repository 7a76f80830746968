"""Every number of every preset unfolds to arithmetic that holds and ends in that very number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tileviz import api
from tileviz.studies.derivation import Derivation, Numbers
from tileviz.studies.registry import Preset, presets, study_of

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


DERIVED = [found for found in presets() if found.study in ("permute", "access")]
SHOWN = pytest.mark.parametrize("shown", DERIVED, ids=lambda found: found.name)


def numbers_of(plan: Any) -> Numbers:
    """Return every number, those of a search included."""
    derive = study_of(plan.design).derive
    found: Numbers = derive.numbers(plan)
    return found + derive.further(plan) if hasattr(derive, "further") else found


@SHOWN
def test_every_number_of_the_results_unfolds_to_itself(
    shown: Preset, check_derivation: Check
) -> None:
    plan = api.plan(shown.design)
    numbers = numbers_of(plan)
    for path, value in sampled(list(leaves(plan.to_json()))):
        one = numbers.find(path)
        assert one.name == path
        # Results may be rounded.
        assert one.value == value or abs(one.value - value) <= 5e-5, path
        check_derivation(one)


@SHOWN
def test_every_number_that_is_listed_unfolds(shown: Preset, check_derivation: Check) -> None:
    numbers = numbers_of(api.plan(shown.design))
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
