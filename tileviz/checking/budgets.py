"""What may be limited, and the limits as a person writes them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tileviz.errors import DesignError
from tileviz.studies.design import Design, shown
from tileviz.studies.registry import STUDIES

Sense = Literal["max", "min"]
Source = Literal["plan", "accesses", "compiler"]


@dataclass(frozen=True)
class Measure:
    """A number that may be limited.

    Attributes:
        name: In JSON.
        about: What it counts, in words.
        source: Where it comes from: the plan alone, the kernel's accesses (predicted, or measured
            by a run), or the compiler.
        sense: ``max`` for a most, ``min`` for a least.
    """

    name: str
    about: str
    source: Source
    sense: Sense = "max"

    @property
    def option(self) -> str:
        """Its option on the command line, without the dashes."""
        return f"{self.sense}-{self.name.replace('_', '-')}"


_MOST = sys.float_info.max

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("excess", "wavefronts above the ideal", "accesses"),
        Measure("line_excess", "wavefronts above the ideal on the worst line", "accesses"),
        Measure("wavefronts", "shared-memory wavefronts", "accesses"),
        Measure("sectors", "32-byte sectors of global memory", "accesses"),
        Measure("excess_sectors", "sectors above the ideal", "accesses"),
        Measure("n_way", "most passes that one group of lanes needs", "plan"),
        Measure("loads_per_thread", "loads of one broadcast value by a thread", "plan"),
        Measure("hit_rate", "share of bytes found in L2", "plan", "min"),
        Measure("miss_bytes", "bytes read past L2", "plan"),
        Measure("balance", "most work of a worker over the mean", "plan"),
        Measure("registers", "registers per thread", "compiler"),
        Measure("spills", "bytes of spilled registers per thread", "compiler"),
        Measure("shared_bytes", "static shared memory per block, in bytes", "compiler"),
    )
}

_SHARED = ("excess", "line_excess", "wavefronts")
_GLOBAL = ("sectors", "excess_sectors")
_COMPILED = ("registers", "spills", "shared_bytes")
_NAMES: dict[str, tuple[str, ...]] = {
    "permute": (*_SHARED, *_GLOBAL, *_COMPILED),
    "access": ("excess", "wavefronts", "n_way", *_GLOBAL, *_COMPILED),
    "layout": (),
    "kernel": (*_SHARED, *_GLOBAL, *_COMPILED),
    "schedule": ("hit_rate", "miss_bytes", "balance", *_SHARED, *_GLOBAL, *_COMPILED),
    "broadcast": ("loads_per_thread", *_GLOBAL, *_COMPILED),
}


@dataclass(frozen=True)
class Budget:
    """A limit for one number of designs of one study, or of every study.

    Attributes:
        name: Of the measure.
        limit: Largest allowed value; the smallest for a measure with a least.
        study: For which designs, "" for all.
        strict: Whether a design that has no such number is at fault. A budget of a file that holds
            for all studies is for the designs that have it.
    """

    name: str
    limit: float
    study: str = ""
    strict: bool = True

    @property
    def measure(self) -> Measure:
        """What is limited."""
        return MEASURES[self.name]


def names_of(design: Design) -> tuple[str, ...]:
    """Return the names of what may be limited for a design.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> names_of(preset("broadcast-192").design)[:2]
        ('loads_per_thread', 'sectors')
    """
    names = _NAMES[design.study]
    if _is_global(design):
        # Nothing lies in shared memory; excess and its worst line count sectors then.
        return tuple(name for name in names if name not in ("wavefronts", "n_way"))
    if design.study == "access":
        return tuple(name for name in names if name not in _GLOBAL)
    return names


def read_budgets(given: Mapping[str, Any], *, strict: bool = True) -> tuple[Budget, ...]:
    """Return the budgets of an object: names to limits, or studies to such objects.

    A name may be written as on the command line (``max-excess``), with underscores, or without
    its ``max``.

    Args:
        given: The object.
        strict: Whether a budget for all studies is one that every design must have; if not, it is
            for the designs that have it, as in a file that several studies share.

    Raises:
        DesignError: A name is unknown, or of no budget that its study has, or a limit is no number
            of 0 or more.

    Example:
        >>> read_budgets({"max-excess": 0, "schedule": {"min_hit_rate": 0.8}}, strict=False)
        (Budget(name='excess', limit=0, study='', strict=False),
         Budget(name='hit_rate', limit=0.8, study='schedule', strict=True))
    """
    if not isinstance(given, Mapping):
        raise DesignError("budgets", "an object of names and limits is expected", shown(given))
    found: list[Budget] = []
    for name, value in given.items():
        if name in STUDIES:
            if not isinstance(value, Mapping):
                raise DesignError(name, "an object of names and limits is expected", shown(value))
            found += [_budget(inner, limit, name) for inner, limit in value.items()]
        else:
            found.append(replace(_budget(name, value, ""), strict=strict))
    for at, budget in enumerate(found):
        if any((other.name, other.study) == (budget.name, budget.study) for other in found[:at]):
            message = "stands twice, in two spellings; which one holds?"
            raise DesignError(budget.measure.option, message, budget.limit)
    return tuple(found)


def _budget(name: str, limit: Any, study: str) -> Budget:
    plain = str(name).replace("-", "_")
    sense, _, rest = plain.partition("_")
    prefixed = sense in ("max", "min")
    known = MEASURES.get(rest if prefixed else plain)
    if known is None or (prefixed and sense != known.sense):
        options = ", ".join(measure.option for measure in MEASURES.values())
        raise DesignError(shown_name(name), f"no such budget; there are {options}", shown(limit))
    # What has a least is a share; whole numbers beyond every float are no limit either.
    most, allowed = (1.0, "from 0 to 1") if known.sense == "min" else (_MOST, "of 0 or more")
    number = isinstance(limit, (int, float)) and not isinstance(limit, bool)
    if not number or not 0 <= limit <= most:
        raise DesignError(known.option, f"a number {allowed} is expected", shown(limit))
    if study and known.name not in _NAMES[study]:
        message = f"{_one(study)} design has no such budget; {_has(_NAMES[study])}"
        raise DesignError(known.option, message, limit)
    return Budget(known.name, limit, study)


def _one(study: str) -> str:
    return f"an {study}" if study == "access" else f"a {study}"


def _has(names: Sequence[str]) -> str:
    options = [MEASURES[name].option for name in names]
    return f"it has {', '.join(options)}" if options else "nothing of it can be limited"


def shown_name(name: object) -> str:
    """Return a name as a message repeats it."""
    text = str(name)
    return text if len(text) <= 40 else f"{text[:40]}..."


def budgets_for(design: Design, budgets: Sequence[Budget]) -> tuple[Budget, ...]:
    """Return the budgets of a design; those for its study come before those for all.

    Raises:
        DesignError: None is for it, or a strict one that it does not have; names those it has.
    """
    names = names_of(design)
    has = _has(names)
    chosen: dict[str, Budget] = {}
    for budget in budgets:
        if not (budget.strict or budget.name in names):
            continue
        if budget.study in ("", design.study) and not (
            budget.name in chosen and chosen[budget.name].study
        ):
            chosen[budget.name] = budget
    if not chosen:
        raise DesignError("budgets", f"none is given for a {design.study} design; {has}", None)
    for budget in chosen.values():
        if budget.name not in names:
            where = " in global memory" if _is_global(design) else ""
            message = f"{_one(design.study)} design{where} has no such budget; {has}"
            raise DesignError(budget.measure.option, message, budget.limit)
    return tuple(chosen.values())


def _is_global(design: Design) -> bool:
    return getattr(design, "space", "") == "global"
