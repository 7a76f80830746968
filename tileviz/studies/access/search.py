"""The search for the smallest swizzle or padding that serves every access of a design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tileviz.errors import DesignError
from tileviz.studies.access.arrangements import coloured, padding, plain, swizzled
from tileviz.studies.access.candidates import Candidate, Columns, Cost, cute_columns, swizzle_terms
from tileviz.studies.access.demands import BANK_BITS, Demand, demand_of
from tileviz.studies.access.design import AccessDesign
from tileviz.studies.access.given import SwizzleBit, given_costs
from tileviz.studies.access.phases import Phase, phases_of
from tileviz.studies.access.swizzle_search import Search, satisfies
from tileviz.studies.access.tile import Swept, Tile

# Instructions of a tile up to which other vector widths are compared; more would take seconds.
_MAX_COMPARED = 1 << 14
# Choices of vector widths that are compared.
_MAX_CHOICES = 10


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes:
        design: The design.
        found: Whether an arrangement frees every access.
        proof: What is proved, and how, in a sentence or two.
        candidates: Free ones first, the smallest first; then what comes closest.
        pareto: The best arrangement for other vector widths, where the given ones clash.
        given: What the design's own layout pays.
        bits: For a swizzled layout: what each of its XORs buys.
        given_note: Why the design's own layout cannot serve at all, "" where it can.
    """

    design: AccessDesign
    found: bool
    proof: str
    candidates: tuple[Candidate, ...]
    pareto: tuple[Candidate, ...]
    given: tuple[Cost, ...]
    bits: tuple[SwizzleBit, ...]
    given_note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the ``search`` object of the results."""
        return {
            "study": "search",
            "found": self.found,
            "proof": self.proof,
            "candidates": [candidate.to_json() for candidate in self.candidates],
            "pareto": [candidate.to_json() for candidate in self.pareto],
            "given_note": self.given_note,
            "given": [cost.to_json() for cost in self.given],
            "bits": [{"term": bit.term, "buys": bit.buys, "idle": bit.idle} for bit in self.bits],
        }


def search(design: AccessDesign) -> SearchResult:
    """Search for the smallest swizzle or padding that serves every access of a design.

    Args:
        design: A shared-memory design with a layout; its own access and those in ``also`` are the
            phases. Padding and swizzle of its layout are taken off first.

    Raises:
        DesignError: The layout overlaps, or a pattern does not fit it.

    Example:
        >>> from tileviz.studies.design import validated
        >>> transpose = validated(AccessDesign, {"layout": "S[(32, 32):(32, 1)]",
        ...     "pattern": "column", "also": [{"op": "st", "pattern": "row"}]})
        >>> result = search(transpose)
        >>> result.found, [candidate.title for candidate in result.candidates]
        (True, ['Swizzle<5,0,5>', 'padding, 128 bytes more'])
    """
    tile = Tile.of(design)
    phases = phases_of(design)
    swept = [Swept.of(tile, phase) for phase in phases]
    untouched = plain(tile, swept)
    linear = _linear(tile, swept)
    padded = padding(tile, swept)
    free = [candidate for candidate in (*linear.candidates, *padded) if candidate.free]
    table = None
    if untouched.free:
        free = [untouched]
    elif not linear.free:
        table = coloured(tile, swept)
        free += [table] if table is not None and table.free else []
    if free:
        ranked = sorted(free, key=lambda c: (c.extra_bytes, c.kind == "table", len(c.terms)))
    else:
        closest = (untouched, *linear.candidates, *padded)
        ranked = sorted(closest, key=lambda c: (c.wavefronts, c.extra_bytes, len(c.terms)))[:3]
    proof = _proof(untouched, linear, padded, table)
    pareto: tuple[Candidate, ...] = ()
    instructions = sum(part.plain.executions for part in swept)
    if not (linear.free or untouched.free) and instructions <= _MAX_COMPARED:
        pareto = _pareto(tile, phases)
    note = ""
    given: tuple[Cost, ...] = ()
    bits: tuple[SwizzleBit, ...] = ()
    try:
        given, bits = given_costs(design, tile, swept)
    except DesignError as error:
        note = f"The given layout does not serve: {error.message}."
    return SearchResult(design, bool(free), proof, tuple(ranked), pareto, given, bits, note)


@dataclass(frozen=True)
class _Linear:
    """What the search over linear swizzles gave: candidates, and what is proved about them."""

    candidates: tuple[Candidate, ...]
    proof: str
    free: bool


def _linear(tile: Tile, swept: Sequence[Swept]) -> _Linear:
    low = max(part.phase.words for part in swept).bit_length() - 1
    demands = [demand_of(part.split) for part in swept]
    least = [demand.least(low) for demand in demands]
    if any(least):
        return _clashing(tile, swept, demands, least, low)
    bits = _bits(demands, tile.bits)
    search_rows = Search(demands, bits, low)
    rows = search_rows.keeping_rows()
    if rows.columns is not None:
        found = [rows.columns]
        cute = _cute(demands, bits, low)
        if cute is not None and cute != rows.columns:
            better = len(swizzle_terms(cute)) <= len(swizzle_terms(rows.columns))
            found = [cute] if better else [rows.columns, cute]
        terms = len(swizzle_terms(found[0]))
        if rows.complete:
            proof = f"No linear swizzle with fewer than {terms} XORs frees every access"
            proof += f"; {rows.tried} columns tried, all others excluded."
        else:
            proof = f"A swizzle with {terms} XORs; fewer were not excluded."
        candidates = tuple(swizzled(tile, swept, columns) for columns in found)
        return _Linear(candidates, proof, True)
    if not tile.by_dimension:
        proof = "No XOR within 128-byte lines frees every access"
        return _Linear((), proof + (" (complete search)." if rows.complete else ", so far."), False)
    every = Search(demands, bits, low).anywhere()
    if every.columns is not None:
        proof = "Only a swizzle that moves whole lines frees every access (complete search)."
        return _Linear((swizzled(tile, swept, every.columns),), proof, True)
    if every.complete:
        proof = f"No linear swizzle exists: complete search, {every.tried} columns tried."
        return _Linear((), proof, False)
    return _Linear((), "No linear swizzle was found; the search stopped early.", False)


def _clashing(
    tile: Tile, swept: Sequence[Swept], demands: Sequence[Demand], least: Sequence[int], low: int
) -> _Linear:
    """Return the best swizzle where vector widths exclude a free one."""
    worst = max(range(len(least)), key=lambda number: least[number])
    widest = max(swept, key=lambda part: part.phase.words).phase
    ways = least[worst] + 1
    proof = (
        f"Vectors of {widest.bytes} bytes stay whole, so every linear swizzle leaves "
        f"{swept[worst].phase.name} at {ways}-way conflicts or more"
    )
    for factor in (1, 2, 4, 8, 16):
        eased = [
            replace(demand, budget=(fixed + 1) * factor - 1 if fixed or factor > 1 else 0)
            for demand, fixed in zip(demands, least, strict=True)
        ]
        rows = Search(eased, _bits(demands, tile.bits), low).keeping_rows()
        if rows.columns is not None:
            reached = "reached" if factor == 1 else "not reached"
            candidate = swizzled(tile, swept, rows.columns)
            return _Linear((candidate,), f"{proof}; the bound is {reached}.", False)
    return _Linear((), f"{proof}.", False)


def _bits(demands: Sequence[Demand], bits: int) -> int:
    """Return the word bits that any difference has, or the tile's."""
    top = max(
        (int(demand.differences[-1]) for demand in demands if len(demand.differences)), default=0
    )
    return max(top.bit_length(), bits)


def _cute(demands: Sequence[Demand], bits: int, low: int) -> Columns | None:
    """Return the smallest one-block swizzle that keeps every demand, if there is one."""
    for size in range(1, BANK_BITS - low + 1):
        for distance in range(size, bits):
            for first in range(low, BANK_BITS - size + 1):
                # Lines stay in place, so sources lie above them.
                if first + distance < BANK_BITS:
                    continue
                columns = cute_columns(bits, first, size, distance)
                if satisfies(columns, demands):
                    return columns
    return None


def _proof(
    untouched: Candidate, linear: _Linear, padded: Sequence[Candidate], table: Candidate | None
) -> str:
    if untouched.free:
        return "Every access is free already: nothing smaller than nothing."
    pads = [candidate for candidate in padded if candidate.free]
    if pads:
        pad = f"Padding: {pads[0].extra_bytes} bytes; smaller pitches were tried and are not free."
    elif padded:
        pad = "No padding of one dimension frees them: every pitch modulo 128 bytes was tried."
    else:
        pad = "One dimension alone: there is nothing to pad."
    ending = ""
    if table is not None:
        ending = " Two accesses of one width always have a table (edge colouring)."
    elif not linear.free and not pads:
        ending = " Layouts that are not linear over bits are not excluded by this."
    return f"{linear.proof} {pad}{ending}"


def _pareto(tile: Tile, phases: Sequence[Phase]) -> tuple[Candidate, ...]:
    """Return the best arrangement for narrower vectors, none dominated by another.

    Compared are instructions, wavefronts and bytes, over the whole tile.
    """
    found: list[Candidate] = []
    for widths in _narrowed(tile, phases):
        swept = [Swept.of(tile, phase) for phase in widths]
        candidates = [*_linear(tile, swept).candidates, *padding(tile, swept), plain(tile, swept)]
        found.append(min(candidates, key=lambda c: (c.wavefronts, c.extra_bytes, len(c.terms))))
        found += [c for c in candidates if c.extra_bytes < found[-1].extra_bytes]
    kept = []
    for candidate in found:
        mine = _scores(candidate)
        others = (_scores(other) for other in found if other is not candidate)
        if not any(all(a <= b for a, b in zip(o, mine, strict=True)) and o != mine for o in others):
            kept.append(candidate)
    distinct = {_scores(candidate): candidate for candidate in kept}
    return tuple(distinct[key] for key in sorted(distinct))


def _scores(candidate: Candidate) -> tuple[int, int, int]:
    instructions = sum(cost.instructions for cost in candidate.costs)
    return instructions, candidate.wavefronts, candidate.bytes


def _narrowed(tile: Tile, phases: Sequence[Phase]) -> list[list[Phase]]:
    """Return the phases as given, and with vectors cut to 8 and 4 bytes, all or one at a time."""
    found = [list(phases)]
    for cap in (8, 4):
        cut = [_cut(phase, cap, tile.element_bytes) for phase in phases]
        found.append(cut)
        for number, phase in enumerate(cut):
            if phase != phases[number]:
                found.append([*phases[:number], phase, *phases[number + 1 :]])
    distinct: list[list[Phase]] = []
    for option in found:
        if option not in distinct:
            distinct.append(option)
    return distinct[:_MAX_CHOICES]


def _cut(phase: Phase, cap: int, element_bytes: int) -> Phase:
    """Return a phase with vectors of at most ``cap`` bytes, if its instruction has such."""
    if "matrix" in phase.op or phase.bytes <= cap or element_bytes > cap:
        return phase
    return replace(phase, bytes=cap)
