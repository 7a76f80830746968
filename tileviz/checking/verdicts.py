"""Checking a design against its budgets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tileviz import api
from tileviz.checking.budgets import Budget, Sense, budgets_for, read_budgets
from tileviz.cuda.kernel import Kernel
from tileviz.emulator.client import compile_source
from tileviz.errors import DesignError
from tileviz.runners import Run
from tileviz.runners.compare import AccessRow, Totals, compare
from tileviz.studies.design import Design, shown
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import as_design, study_of

ARCH = "sm_80"
MAX_LINES = 12

_ARCH = re.compile(r"sm_\d{2,3}[af]?", re.ASCII)

Number = int | float


@dataclass(frozen=True)
class LineExcess:
    """What one source line costs above the ideal; ``line`` is None where there is no text yet."""

    line: int | None
    excess: int
    text: str

    @property
    def words(self) -> str:
        """The line, its excess and its text.

        Example:
            >>> LineExcess(7, 31, "y = tile[x];").words, LineExcess(None, 31, "").words
            ('line 7: 31 above the ideal, y = tile[x];', 'this access: 31 above the ideal')
        """
        where = "this access" if self.line is None else f"line {self.line}"
        text = f", {self.text}" if self.text else ""
        return f"{where}: {self.excess} above the ideal{text}"

    def to_json(self) -> dict[str, Any]:
        """Return ``{"line", "excess", "text"}``."""
        return dict(vars(self))


@dataclass(frozen=True)
class Verdict:
    """One budget and the value that stands against it.

    Attributes:
        name: Of the measure.
        limit: What is allowed.
        sense: ``max`` for a most, ``min`` for a least.
        value: What was found; None where there is none, and ``note`` says why.
        unit: What it counts, in words.
        source: ``predicted``, ``measured`` or ``compiled``.
        scope: Over what it was counted.
        lines: The source lines at fault, worst first.
        note: Why there is no value, "" otherwise.
    """

    name: str
    limit: Number
    sense: Sense
    value: Number | None
    unit: str
    source: str
    scope: str = ""
    lines: tuple[LineExcess, ...] = ()
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether the value keeps to the limit; a value that is not there does not."""
        if self.value is None:
            return False
        return self.value >= self.limit if self.sense == "min" else self.value <= self.limit

    @property
    def sentence(self) -> str:
        """The verdict in words.

        Example:
            >>> Verdict("excess", 0, "max", 31, "wavefronts above the ideal", "predicted").sentence
            'excess is 31, at most 0 allowed: wavefronts above the ideal, predicted'
        """
        allowed = f"at {'least' if self.sense == 'min' else 'most'} {_text(self.limit)} allowed"
        found = f"is {_text(self.value)}" if self.value is not None else "is not known"
        why = f"; {self.note}" if self.note else ""
        scope = f", {self.scope}" if self.scope else ""
        return f"{self.name} {found}, {allowed}: {self.unit}, {self.source}{scope}{why}"

    def to_json(self) -> dict[str, Any]:
        """Return one element of ``budgets``."""
        return {
            "name": self.name,
            "limit": self.limit,
            "value": self.value,
            "passed": self.passed,
            "sense": self.sense,
            "unit": self.unit,
            "source": self.source,
            "scope": self.scope,
            "lines": [line.to_json() for line in self.lines],
            "note": self.note,
        }


@dataclass(frozen=True)
class Check:
    """A design against its budgets.

    Attributes:
        design: The design.
        budgets: One a budget; a run adds ``problems``, which must be none.
        notes: What no budget asks for and a person should know, in sentences.
    """

    design: Design
    budgets: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every budget is kept."""
        return all(verdict.passed for verdict in self.budgets)

    def to_json(self) -> dict[str, Any]:
        """Return the ``check`` object of the interface."""
        return {
            "passed": self.passed,
            "study": self.design.study,
            "budgets": [verdict.to_json() for verdict in self.budgets],
            "notes": list(self.notes),
        }


def check(
    design: Design | Mapping[str, Any],
    budgets: Mapping[str, Any] | Sequence[Budget],
    *,
    run: bool = False,
    on: api.On = "auto",
    seed: int = 0,
    arch: str = ARCH,
) -> Check:
    """Check a design against budgets, by prediction where that suffices.

    Args:
        design: The design, or its document.
        budgets: Names and limits, see `read_budgets`, or budgets.
        run: Whether to run the kernel and count its accesses instead of predicting them. A
            user's own kernel, of which nothing is predicted, is run when a budget asks for it.
        on: Where it runs.
        seed: Of the inputs.
        arch: The architecture whose registers and spills are limited.

    Raises:
        DesignError: It is no design, or it does not have such a budget; names those it has. Or the
            budget needs a run or a compiler that there is not.

    Example:
        >>> column = api.design(study="access", layout="S[(32, 32):(32, 1)]", pattern="column")
        >>> found = check(column, {"max_excess": 0})
        >>> found.passed, found.budgets[0].value
        (False, 31)
    """
    if not _ARCH.fullmatch(arch):
        raise DesignError("arch", "must be one such as sm_80 or sm_90a", shown(arch))
    design = as_design(design)
    given = read_budgets(budgets) if isinstance(budgets, Mapping) else budgets
    chosen = budgets_for(design, given)
    work = _Work(design, run, on, seed, arch, {budget.measure.source for budget in chosen})
    verdicts = [work.verdict(budget) for budget in chosen]
    if work.done is not None:
        verdicts.append(_problems(work.done))
    return Check(design, tuple(verdicts), work.notes)


class _Work:
    """What the budgets of one design need, made once: plan, accesses, compiled kernel."""

    def __init__(
        self, design: Design, run: bool, on: api.On, seed: int, arch: str, sources: set[str]
    ) -> None:
        self._design = design
        self._arch = arch
        self._rows: list[tuple[AccessRow, Totals]] = []
        self._resources: dict[str, Number] = {}
        self._note = ""
        self._scope = ""
        self._no_resources = ""
        self.done: Run | None = None
        self._plan = api.plan(design)
        try:
            if run or ("accesses" in sources and design.study == "kernel"):
                self._measure(on, seed)
            elif "accesses" in sources:
                self._predict()
            if "compiler" in sources:
                self._compile()
        except NotRunnable as error:
            self._note = self._no_resources = str(error)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the plan warns of, whatever its budgets are."""
        overlap = getattr(self._plan, "overlap", None)
        return () if overlap is None else (overlap.sentence, overlap.loss)

    def verdict(self, budget: Budget) -> Verdict:
        """Return the value that stands against a budget."""
        name, measure = budget.name, budget.measure
        unit = measure.about
        if measure.source == "plan":
            value = _PLANNED[name](self._plan)
            note = "" if value is not None else "the plan has none"
            return Verdict(name, budget.limit, measure.sense, value, unit, "predicted", note=note)
        if measure.source == "compiler":
            value = self._resources.get(name)
            scope = f"for {self._arch}"
            note = self._no_resources
            return Verdict(name, budget.limit, "max", value, unit, "compiled", scope, note=note)
        source = "predicted" if self.done is None else "measured"
        if self._note:
            return Verdict(name, budget.limit, "max", None, unit, source, note=self._note)
        if self._counts_sectors(name):
            unit = unit.replace("wavefronts", "sectors")
        value, lines = self._counted(name)
        return Verdict(name, budget.limit, "max", value, unit, source, self._scope, lines)

    def _counts_sectors(self, name: str) -> bool:
        in_global = getattr(self._design, "space", "") == "global"
        return name in ("sectors", "excess_sectors") or in_global

    def _counted(self, name: str) -> tuple[int, tuple[LineExcess, ...]]:
        """Return a count over the accesses, and the lines that are above their ideal."""
        space = "global" if self._counts_sectors(name) else "shared"
        rows = [(row, totals) for row, totals in self._rows if row.space == space]
        if name in ("wavefronts", "sectors"):
            return sum(_cost(totals) for _, totals in rows), ()
        excess: dict[int | None, LineExcess] = {}
        for row, totals in rows:
            before = excess[row.line].excess if row.line in excess else 0
            total = before + _cost(totals) - totals.ideal
            excess[row.line] = LineExcess(row.line, total, row.text)
        lines = sorted((e for e in excess.values() if e.excess), key=lambda e: -e.excess)
        worst = max((line.excess for line in lines), default=0)
        total = sum(line.excess for line in lines)
        return (worst if name == "line_excess" else total), tuple(lines[:MAX_LINES])

    def _predict(self) -> None:
        design, plan = self._design, self._plan
        if design.study == "access":
            # The plan holds the very accesses; the kernel only adds copies around them.
            rows = compare([plan.accesses, *(other.accesses for other in plan.also)], ())
            self._rows = [(row, row.predicted) for row in rows if row.predicted is not None]
            return
        small = study_of(design).emulated(design)
        if small != design:
            plan = api.plan(small)
            self._scope = "in the same order of smaller tiles"
        kernel: Kernel = study_of(small).kernel(plan)
        if not kernel.predicted_whole:
            self._scope = "in the blocks that are predicted"
        rows = compare(kernel.predicted, (), text=kernel.line)
        self._rows = [(row, row.predicted) for row in rows if row.predicted is not None]

    def _measure(self, on: api.On, seed: int) -> None:
        self._plan, self.done = api.run(self._design, on=on, seed=seed)
        self._rows = [(row, row.measured) for row in self.done.accesses]
        if self.done.traced_blocks is not None:
            self._scope = f"in {len(self.done.traced_blocks)} traced blocks"
        problems = self.done.problems
        if problems and not self.done.accesses:
            self._note = f"it did not run: {problems[0].message}"
        elif self.done.traced_blocks == ():
            self._note = self.done.note or "no block was counted"

    def _compile(self) -> None:
        kernel: Kernel = study_of(self._design).kernel(self._plan)
        texts = compile_source(kernel.source, entry=kernel.entry, image_arch=self._arch)
        if texts.resources is not None:
            used = texts.resources
            self._resources = {
                "registers": used.registers,
                "spills": used.spill_bytes,
                "shared_bytes": used.shared_bytes,
            }
            return
        problem = texts.problems[0] if texts.problems else None
        where = f", line {problem.line}" if problem is not None and problem.line else ""
        self._no_resources = f"{problem.message}{where}" if problem else "the compiler says nothing"


def _cost(totals: Totals) -> int:
    paid = totals.wavefronts if totals.sectors is None else totals.sectors
    return paid or 0


def _problems(done: Run) -> Verdict:
    """Return the verdict that every run adds: no fault, and no wrong element."""
    count = len(done.problems) + (done.mismatch is not None)
    note = ""
    if done.problems:
        first = done.problems[0]
        at = f"line {first.line}"
        where = f", {at}" if first.line and at not in first.message else ""
        note = f"{first.message}{where}"
    elif done.mismatch is not None:
        wrong = done.mismatch
        note = f"{wrong.count:,} elements are wrong, first {wrong.buffer}{list(wrong.index)}"
    return Verdict("problems", 0, "max", count, "faults of the run", "measured", note=note)


def _loads(plan: Any) -> Number | None:
    return None if plan.ours is None else int(plan.ours.loads_per_thread)


def _figure(name: str) -> Any:
    return lambda plan: plan.scalars()[name]


_PLANNED: dict[str, Any] = {
    "n_way": lambda plan: max(
        verdict.n_way or 0 for verdict in (plan.verdict, *(other.verdict for other in plan.also))
    ),
    "loads_per_thread": _loads,
    "hit_rate": _figure("l2_hit_rate"),
    "miss_bytes": _figure("miss_bytes"),
    "balance": _figure("balance"),
}


def _text(value: Number | None) -> str:
    return f"{value:.6g}" if isinstance(value, float) else f"{value}"
