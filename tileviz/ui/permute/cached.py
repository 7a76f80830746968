"""The engine's answers that pages ask for again and again, shared by all sessions.

Designs are frozen and hashable, so they are the keys; what is kept is small and never changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tileviz.cuda.kernel import Kernel
from tileviz.errors import DesignError
from tileviz.export.snippets import standalone_cu
from tileviz.studies.errors import NotRunnable
from tileviz.studies.permute import explain
from tileviz.studies.permute.design import PermuteDesign
from tileviz.studies.permute.kernel import kernel
from tileviz.studies.permute.plan import Key, PermutePlan, plan


@lru_cache(maxsize=32)
def plan_of(design: PermuteDesign) -> PermutePlan:
    """Return the plan of a design.

    Raises:
        DesignError: A layout does not fit its buffer.
    """
    return plan(design)


@dataclass(frozen=True)
class Code:
    """The CUDA of one schedule, without the bulk of its predicted addresses.

    Attributes:
        source: The text that runs; "" where there is none.
        standalone: The same text with a ``main`` around it, for the download.
        read_line: Line of the read phase; likewise ``write_line``.
        reason: Why there is no text, "" where there is one.
    """

    source: str
    standalone: str = ""
    read_line: int | None = None
    write_line: int | None = None
    reason: str = ""


def kernel_of(design: PermuteDesign, k: Key | None) -> Kernel:
    """Return the kernel itself; not kept, because its predicted addresses can be large.

    Raises:
        NotRunnable: There is none; the message says why.
    """
    return kernel(plan_of(design), k)


@lru_cache(maxsize=64)
def code_of(design: PermuteDesign, k: Key | None) -> Code:
    """Return the CUDA of a design's schedule ``k``, or the reason there is none."""
    try:
        generated = kernel_of(design, k)
    except NotRunnable as error:
        return Code("", reason=str(error))
    # The copy loops around the phases index by i alone; the phases never do.
    phases = [access for access in generated.predicted if not access.text.endswith("[i]")]
    lines = {access.op: access.line for access in phases if access.space == design.space}
    return Code(generated.source, standalone_cu(generated), lines.get("ld"), lines.get("st"))


@lru_cache(maxsize=64)
def formulas_of(design: PermuteDesign, k: Key | None) -> tuple[tuple[str, str], ...]:
    """Return a schedule's formula in each of its forms; one of them is cut from the CUDA."""
    return explain.formulas(plan_of(design), k)


def checked(design: PermuteDesign) -> DesignError | None:
    """Return what is wrong with a design that only its plan can tell, or None."""
    try:
        plan_of(design)
    except DesignError as error:
        return error
    return None
