"""The engine's own words for what a design costs and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tileviz.errors import DesignError
from tileviz.lessons.results import plan_of, run_of
from tileviz.studies.access.cell import why as why_access
from tileviz.studies.access.plan import AccessPlan
from tileviz.studies.access.shown import instruction, sweeps
from tileviz.studies.broadcast.plan import BroadcastPlan
from tileviz.studies.derivation import Derivation
from tileviz.studies.design import Design
from tileviz.studies.kernel.plan import KernelPlan
from tileviz.studies.permute.explain import why as why_permute
from tileviz.studies.registry import study_of
from tileviz.studies.schedule.explain import LABELS, figures


def reason(design: Design) -> str:
    """Return the verdict of a design and how it comes about.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> print(reason(preset("banks-padding-33").design))
        1 wavefront, ideal 1, conflict-free. Neighbouring lanes are 132 bytes apart. No bank is
        asked for two different words, so one pass serves all lanes.
    """
    plan = plan_of(design)
    if design.study == "schedule":
        # Its verdict tries every setting; here only its own figures count.
        pairs = zip(LABELS, figures(plan.metrics), strict=True)
        return f"{', '.join(f'{label} {value}' for label, value in pairs)}."
    said = study_of(design).explain.verdict(plan)
    further = _FURTHER.get(design.study)
    more = further(plan) if further is not None else said.facts
    return f"{said.sentence} {more}".strip()


def unfolded(design: Design, path: str) -> Derivation | None:
    """Return a number of a design's plan with its arithmetic, or None where it has none.

    Args:
        design: The design.
        path: The number's path in the plan's results.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> unfolded(preset("banks-transpose-32x32").design, "excess").title
        'excess = 31'
    """
    try:
        found: Derivation = study_of(design).derive.numbers(plan_of(design)).find(path)
    except DesignError:
        return None
    return found


def _of_access(plan: AccessPlan) -> str:
    sweep = sweeps(plan.design)[0]
    return why_access(instruction(plan.design, sweep, sweep.start))


def _of_broadcast(plan: BroadcastPlan) -> str:
    facts = study_of(plan.design).explain.verdict(plan).facts
    return facts if plan.proof is None else f"{facts} Why once: {plan.proof.loads}."


def _of_kernel(plan: KernelPlan) -> str:
    """Say what the emulator found; where a lesson shows a kernel, it has been run."""
    problems = run_of(plan.design)["problems"]
    if problems:
        return f"{problems[0]['message'][:1].upper()}{problems[0]['message'][1:]}."
    return "Ran to its end; the emulator found no fault."


_FURTHER: dict[str, Callable[[Any], str]] = {
    "access": _of_access,
    "permute": why_permute,
    "broadcast": _of_broadcast,
    "kernel": _of_kernel,
}
