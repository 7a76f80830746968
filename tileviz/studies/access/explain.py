"""The access plan and the search for a swizzle, in words."""

from __future__ import annotations

from tileviz.memory import weakest
from tileviz.studies.access.candidates import Candidate
from tileviz.studies.access.plan import AccessPlan
from tileviz.studies.access.search import SearchResult
from tileviz.studies.statement import State, Statement, TextTable
from tileviz.words import counted


def verdict(plan: AccessPlan | SearchResult) -> Statement:
    """Return the one sentence that sums up an access, or a search.

    Example:
        >>> from tileviz import api
        >>> verdict(api.plan(api.design(study="access", bytes=4, addresses=[0, 128]))).sentence
        '2 wavefronts, ideal 1, 2-way bank conflict.'
    """
    if isinstance(plan, SearchResult):
        return _found(plan)
    judged = plan.verdict
    state: State = "attention" if judged.excess else "ok"
    facts = f"Rule {judged.evidence.source}."
    every = weakest(judged.evidence, *(other.verdict.evidence for other in plan.also))
    if every.source != judged.evidence.source:
        together = "both" if len(plan.also) == 1 else f"all {1 + len(plan.also)}"
        facts += f" Of {together} accesses: {every.source}."
    if judged.wavefronts is None:
        sectors, lines = counted(judged.sectors or 0, "sector"), counted(judged.lines or 0, "line")
        return Statement(state, f"{sectors} in {lines}, ideal {judged.ideal}.", facts)
    many = f"{counted(judged.wavefronts, 'wavefront')}, ideal {judged.ideal}"
    ending = f"{judged.n_way}-way bank conflict" if judged.excess else "conflict-free"
    return Statement(state, f"{many}, {ending}.", facts)


def _found(result: SearchResult) -> Statement:
    best = result.candidates[0]
    if not result.found:
        return Statement("attention", "No swizzle or padding frees every access.", result.proof)
    if best.kind == "plain":
        return Statement("ok", "Every access is free as the tile is.", result.proof)
    extra = f" and {best.extra_bytes} bytes more" if best.extra_bytes else " and no memory"
    how = best.title if best.kind != "padding" else "padding"
    return Statement("ok", f"{how} frees every access{extra}.", result.proof)


def tables(plan: AccessPlan | SearchResult) -> tuple[TextTable, ...]:
    """Return the passes of every group of lanes, or the candidates of a search."""
    if isinstance(plan, SearchResult):
        return _search_tables(plan)
    banks = plan.verdict.banks
    found = []
    if banks is not None:
        rows = tuple((str(g), str(n)) for g, n in enumerate(banks.passes[0].tolist()) if n)
        found.append(TextTable("groups of lanes", ("group", "passes"), rows))
    if plan.also:
        others = tuple(
            (
                other.phase.name,
                str(other.verdict.cost),
                str(other.verdict.ideal),
                other.verdict.evidence.source,
            )
            for other in plan.also
        )
        heads = ("access", "cost", "ideal", "rule")
        found.append(TextTable("the same layout also serves", heads, others))
    return tuple(found)


def _search_tables(result: SearchResult) -> tuple[TextTable, ...]:
    found = [_candidates("candidates", result.candidates)]
    if result.pareto:
        found.append(_candidates("other vector widths, none better in all", result.pareto))
    if result.given_note:
        found.append(TextTable("the given layout", (result.given_note,), ()))
    given = tuple((cost.access, str(cost.wavefronts), str(cost.ideal)) for cost in result.given)
    head = ("access", "wavefronts", "ideal")
    if given:
        found.append(TextTable("the given layout, over the whole tile", head, given))
    if result.bits:
        rows = tuple((bit.term, str(bit.buys), "yes" if bit.idle else "") for bit in result.bits)
        head = ("XOR of the given swizzle", "buys wavefronts", "idle")
        found.append(TextTable("what each bit buys", head, rows))
    best = result.candidates[0]
    lines = tuple((line,) for line in best.index.splitlines()[:8])
    found.append(TextTable("index of an element, in CUDA", (best.title,), lines))
    return tuple(found)


def _candidates(title: str, candidates: tuple[Candidate, ...]) -> TextTable:
    columns = ("arrangement", "layout", "extra bytes", "instructions", "wavefronts (ideal)")
    rows = tuple(
        (
            candidate.title,
            candidate.layout or candidate.note,
            str(candidate.extra_bytes),
            str(sum(cost.instructions for cost in candidate.costs)),
            ", ".join(f"{cost.wavefronts} ({cost.ideal})" for cost in candidate.costs),
        )
        for candidate in candidates
    )
    return TextTable(title, columns, rows)
