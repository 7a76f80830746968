"""The access plan: what one warp instruction costs, group by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tileviz.errors import DesignError
from tileviz.layouts import ComposeLayout, TileLayout, parse_layout
from tileviz.memory import LANES, Accesses, Verdict, judge
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.phases import Phase, first_points, phases_of


@dataclass(frozen=True, eq=False)
class Judged:
    """A further access to the same layout, and its verdict."""

    phase: Phase
    accesses: Accesses
    verdict: Verdict


@dataclass(frozen=True, eq=False)
class AccessPlan:
    """One warp instruction and its verdict.

    Attributes:
        design: The design.
        accesses: The instruction, one row of 32 lanes.
        verdict: Wavefronts, or sectors and lines, and how well the rule is known.
        also: The first instruction of every further access.
    """

    design: AccessDesign
    accesses: Accesses
    verdict: Verdict
    also: tuple[Judged, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the ``access`` object of the results."""
        document = {"study": "access", **_verdict_json(self.verdict)}
        if self.also:
            document["also"] = [
                {"access": other.phase.name, **_verdict_json(other.verdict)} for other in self.also
            ]
        return document


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
    banks = verdict.banks
    return {
        "wavefronts": verdict.wavefronts,
        "ideal": verdict.ideal,
        "excess": verdict.excess,
        "n_way": verdict.n_way,
        "groups": [] if banks is None else [n for n in banks.passes[0].tolist() if n],
        "sectors": verdict.sectors,
        "lines": verdict.lines,
        "bytes_used": verdict.bytes_used,
        "confidence": verdict.evidence.confidence,
        "source": verdict.evidence.source,
    }


def plan(design: AccessDesign) -> AccessPlan:
    """Judge one warp instruction, and the first of every further access.

    Raises:
        DesignError: A coordinate lies outside the layout, or an address is not aligned.

    Example:
        >>> from tileviz.studies.design import validated
        >>> column = validated(AccessDesign, {"layout": "S[(32, 32):(32, 1)]", "pattern": "column"})
        >>> plan(column).verdict.wavefronts
        32
    """
    if design.addresses is not None:
        lanes = [*design.addresses, *[None] * (LANES - len(design.addresses))]
        active = np.array([lane is not None for lane in lanes])
        addresses = np.array([lane or 0 for lane in lanes], dtype=np.int64)
        accesses = Accesses.of(
            addresses, active=active, space=design.space, op=design.op, bytes=design.width
        )
        return AccessPlan(design, accesses, judge(accesses))
    layout = memory_layout(design)
    found = []
    for phase in phases_of(design):
        first = first_points(phase, layout.extents).accesses(layout, phase, design.space)
        found.append(Judged(phase, first, judge(first)))
    return AccessPlan(design, found[0].accesses, found[0].verdict, tuple(found[1:]))


def memory_layout(design: AccessDesign) -> TileLayout | ComposeLayout:
    """Return the design's layout.

    Raises:
        DesignError: It maps to another axis than memory.
    """
    layout = parse_layout(design.layout or "")
    if set(layout.axes) - {"m"}:
        raise DesignError("layout", "must map to memory (axis m) only", design.layout)
    return layout
