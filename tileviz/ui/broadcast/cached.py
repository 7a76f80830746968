"""The engine's answers that the page asks for again and again, shared by all sessions.

Designs are frozen and hashable, so they are the keys; what is kept is small and never changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tileviz.cuda.kernel import Kernel
from tileviz.export.snippets import standalone_cu
from tileviz.studies.broadcast import explain
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.kernel import kernel, prepare
from tileviz.studies.broadcast.picture import Picture, picture
from tileviz.studies.broadcast.plan import BroadcastPlan, plan
from tileviz.studies.broadcast.portion import VERSIONS, Version, portion
from tileviz.studies.errors import NotRunnable
from tileviz.studies.statement import Statement


@lru_cache(maxsize=64)
def plan_of(design: BroadcastDesign) -> BroadcastPlan:
    """Return the plan of a design."""
    return plan(design)


@lru_cache(maxsize=64)
def verdict_of(design: BroadcastDesign) -> Statement:
    """Return the one sentence about a design."""
    return explain.verdict(plan_of(design))


@dataclass(frozen=True)
class Code:
    """The CUDA of one version; predicting its accesses waits for a run.

    Attributes:
        source: The whole design's text; "" where there is none.
        note: What part of the design a run here handles, or why none; "" for all of it.
        reason: Why there is no text, "" where there is one.
    """

    source: str
    note: str = ""
    reason: str = ""


def kernel_of(design: BroadcastDesign, version: Version) -> Kernel:
    """Return the kernel that a run executes; not kept, its predicted addresses can be large.

    Raises:
        NotRunnable: There is none; the message says why.
    """
    return kernel(plan_of(design), version)


@lru_cache(maxsize=96)
def code_of(design: BroadcastDesign, version: Version) -> Code:
    """Return the CUDA of a version of a design, or the reason there is none."""
    try:
        source = prepare(plan_of(design), version, whole=True).rendered.source
    except NotRunnable as error:
        return Code("", reason=str(error))
    try:
        note = portion(plan_of(design), version).note
    except NotRunnable as error:
        note = f"does not run: {error}"
    return Code(source, note)


def standalone_of(design: BroadcastDesign, version: Version) -> str:
    """Return the text of `code_of` with a ``main`` around it, for the download.

    Raises:
        NotRunnable: There is no such kernel.
    """
    return standalone_cu(kernel(plan_of(design), version, whole=True))


def versions_of(design: BroadcastDesign) -> tuple[Version, ...]:
    """Return the versions that differ: where CINN declines, its kernel is the general one."""
    if plan_of(design).cinn.applies:
        return VERSIONS
    return tuple(version for version in VERSIONS if version != "cinn")


@lru_cache(maxsize=128)
def blocks_of(design: BroadcastDesign, version: Version) -> tuple[int, int] | str:
    """Return the blocks of a version and the threads of one, or why there is no such kernel."""
    try:
        made = prepare(plan_of(design), version, whole=True)
    except NotRunnable as error:
        return str(error)
    (x, y), (threads_x, threads_y) = made.grid, made.block
    return x * y, threads_x * threads_y


@lru_cache(maxsize=32)
def picture_of(design: BroadcastDesign, version: Version, operand: int, block: int) -> Picture:
    """Return one block of a version that `blocks_of` knows.

    Raises:
        NotRunnable: The design has no such kernel.
    """
    return picture(plan_of(design), version, operand, block)


def one_number(design: BroadcastDesign) -> str:
    """Return how large the output is and how often a thread loads a value, for the gallery.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> print(one_number(preset("broadcast-192").design))
        38,535,168 elements; 4 loads a thread, CINN 1, ours 1
        >>> print(one_number(preset("broadcast-1h1c").design))
        9,633,792 elements; 4 loads a thread, CINN declines, ours 1
    """
    made = plan_of(design)
    count = made.loads_before
    before = "no loads" if count is None else f"{count} load{'s' * (count != 1)} a thread"
    if made.cinn.launchable is False:
        cinn = "CINN cannot launch"
    else:
        cinn = "CINN 1" if made.cinn.applies else "CINN declines"
    ours = "no plan of ours" if made.ours is None else f"ours {made.ours.loads_per_thread}"
    size = "dynamic extents" if design.dynamic else f"{design.elements:,} elements"
    return f"{size}; {before}, {cinn}, {ours}"
