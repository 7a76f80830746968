"""The engine's answers that the Banks page asks for again and again, shared by all sessions.

Designs are frozen and hashable, so they are the keys; what is kept is small and never changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tileviz.cuda.kernel import Kernel
from tileviz.errors import DesignError
from tileviz.export.snippets import standalone_cu
from tileviz.layouts import ComposeLayout
from tileviz.studies.access import derive, explain
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.kernel import kernel
from tileviz.studies.access.plan import AccessPlan, memory_layout, plan
from tileviz.studies.access.search import SearchResult, search
from tileviz.studies.access.shown import Instruction, Sweep, instruction, sweeps
from tileviz.studies.derivation import Numbers
from tileviz.studies.design import validated
from tileviz.studies.errors import NotRunnable
from tileviz.studies.statement import Statement


@lru_cache(maxsize=64)
def plan_of(design: AccessDesign) -> AccessPlan:
    """Return the plan of a design.

    Raises:
        DesignError: A coordinate lies outside the layout, or an address is not aligned.
    """
    return plan(design)


def checked(design: AccessDesign) -> DesignError | None:
    """Return what is wrong with a design that only its plan can tell, or None."""
    try:
        plan_of(design)
    except DesignError as error:
        return error
    return None


@lru_cache(maxsize=8)
def sweeps_of(design: AccessDesign) -> tuple[Sweep, ...]:
    """Return every access of a design, each with all its instructions."""
    return sweeps(design)


@lru_cache(maxsize=128)
def instruction_of(design: AccessDesign, access: int, number: int) -> Instruction:
    """Return one instruction of a design's access.

    Raises:
        DesignError: An address of it is below 0, or no multiple of the width.
    """
    return instruction(design, sweeps_of(design)[access], number)


@lru_cache(maxsize=64)
def search_of(design: AccessDesign) -> SearchResult | DesignError:
    """Return what a search for a swizzle or padding found, or why there is none."""
    try:
        return search(design)
    except DesignError as error:
        return error


def numbers_of(design: AccessDesign) -> Numbers:
    """Return every number of a design's plan, and of its search where there is one."""
    found, result = derive.numbers(plan_of(design)), search_of(design)
    return found if isinstance(result, DesignError) else found + derive.searched(result)


def with_layout(design: AccessDesign, layout: str) -> AccessDesign:
    """Return a design with another layout.

    Raises:
        DesignError: The layout does not fit.
    """
    return validated(AccessDesign, {**design.document(), "layout": layout})


@lru_cache(maxsize=64)
def verdict_of(design: AccessDesign) -> Statement:
    """Return the verdict, with what the swizzle is worth and what else the layout serves.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> verdict_of(preset("banks-tma-128b").design).facts.partition(". ")[0]
        'Without the swizzle: 32 wavefronts'
    """
    made = plan_of(design)
    said = explain.verdict(made)
    facts = []
    if design.layout is not None:
        layout = memory_layout(design)
        if isinstance(layout, ComposeLayout):
            bare = with_layout(design, str(layout.tile))
            if checked(bare) is None:
                cost = plan_of(bare).verdict.cost
                unit = "sector" if design.space == "global" else "wavefront"
                facts.append(f"Without the swizzle: {cost} {unit}{'s' * (cost != 1)}.")
    facts += [
        f"Also {other.phase.name}: {other.verdict.cost}, ideal {other.verdict.ideal}."
        for other in made.also
    ]
    return Statement(said.state, said.sentence, " ".join([*facts, said.facts]))


@dataclass(frozen=True)
class Code:
    """The CUDA of a design's micro-kernel, without the bulk of its predicted addresses.

    Attributes:
        source: The text that runs; "" where there is none.
        standalone: The same text with a ``main`` around it, for the download.
        line: Line of the access.
        text: Its text.
        reason: Why there is no text, "" where there is one.
    """

    source: str
    standalone: str = ""
    line: int | None = None
    text: str = ""
    reason: str = ""


def kernel_of(design: AccessDesign) -> Kernel:
    """Return the micro-kernel itself.

    Raises:
        NotRunnable: There is none; the message says why.
    """
    return kernel(plan_of(design))


@lru_cache(maxsize=64)
def code_of(design: AccessDesign) -> Code:
    """Return the CUDA of a design, or the reason there is none."""
    try:
        made = kernel_of(design)
    except NotRunnable as error:
        return Code("", reason=str(error))
    standalone = standalone_cu(made)
    line = None if made.subject is None else made.subject.line
    return Code(made.source, standalone, line, "" if line is None else made.line(line))


def shown_design(design: AccessDesign, access: int, number: int) -> AccessDesign:
    """Return the design of one instruction alone; the design itself for its own first.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> tile = preset("banks-transpose-32x32").design
        >>> found = shown_design(tile, 1, 0)
        >>> found.op, found.pattern, found.also
        ('st', 'row', ())
    """
    sweep = sweeps_of(design)[access]
    if sweep.points is None or (access == 0 and number == sweep.start):
        return design
    fields = {**design.document(), "also": []}
    if access:
        other = design.also[access - 1]
        fields |= {"op": other.op, "bytes": other.bytes, "pattern": other.pattern}
    if number != sweep.start:
        points = sweep.points.coordinates[:, number].T.tolist()
        active = sweep.points.active[number].tolist()
        fields["pattern"] = [p if there else None for p, there in zip(points, active, strict=True)]
    return validated(AccessDesign, fields)


def one_number(design: AccessDesign) -> str:
    """Return what an access costs, in a few words, for the gallery.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> one_number(preset("banks-transpose-32x32").design)
        'ld 4 B column: 32 wavefronts, ideal 1'
    """
    made = plan_of(design)
    unit = "sector" if made.verdict.banks is None else "wavefront"
    cost = made.verdict.cost
    many = f"{cost} {unit}{'s' * (cost != 1)}, ideal {made.verdict.ideal}"
    return f"{sweeps_of(design)[0].name}: {many}"
