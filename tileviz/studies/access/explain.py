"""The access plan in words."""

from __future__ import annotations

from tileviz.studies.access.plan import AccessPlan
from tileviz.studies.statement import State, Statement, TextTable


def verdict(plan: AccessPlan) -> Statement:
    """Return the one sentence that sums up an access.

    Example:
        >>> from tileviz import api
        >>> verdict(api.plan(api.design(study="access", bytes=4, addresses=[0, 128]))).sentence
        '2 wavefronts, ideal 1, 2-way bank conflict.'
    """
    judged = plan.verdict
    state: State = "attention" if judged.excess else "ok"
    facts = f"Rule {judged.evidence.source}."
    if judged.wavefronts is None:
        sentence = f"{judged.sectors} sectors in {judged.lines} lines, ideal {judged.ideal}."
        return Statement(state, sentence, facts)
    many = f"{judged.wavefronts} wavefront{'s' * (judged.wavefronts != 1)}, ideal {judged.ideal}"
    ending = f"{judged.n_way}-way bank conflict" if judged.excess else "conflict-free"
    return Statement(state, f"{many}, {ending}.", facts)


def tables(plan: AccessPlan) -> tuple[TextTable, ...]:
    """Return the passes of every group of lanes, for the terminal."""
    banks = plan.verdict.banks
    if banks is None:
        return ()
    rows = tuple((str(g), str(n)) for g, n in enumerate(banks.passes[0].tolist()) if n)
    return (TextTable("groups of lanes", ("group", "passes"), rows),)
