"""Which order to use: every policy and setting by the model, the best, and the rule of thumb."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tileviz.errors import DesignError
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.metrics import Metrics
from tileviz.studies.schedule.plan import plan
from tileviz.studies.schedule.policies.base import DIRECTIONS, Direction

OFFSETS: tuple[int, ...] = tuple(range(1, 17))
# A sweep of so many tasks takes less than half a second.
QUICK_TASKS = 8192
SAME = 0.005


@dataclass(frozen=True)
class Candidate:
    """A policy with its parameters.

    Attributes:
        policy: Its name.
        parameters: Its parameters, name and value.
        label: A few words for people.
    """

    policy: str
    parameters: tuple[tuple[str, Any], ...]
    label: str

    def design(self, like: ScheduleDesign) -> ScheduleDesign:
        """Return the candidate on the product, workers and cache of a design."""
        return like.with_policy(self.policy, **dict(self.parameters))


@dataclass(frozen=True)
class Outcome:
    """What a candidate costs.

    Attributes:
        candidate: The candidate.
        hit_rate: L2 hit rate; where pruned, no more than this; None where it cannot be known.
        miss_bytes: Bytes read from memory; where pruned, no less than this.
        balance: Most work of a worker over the mean.
        footprint_bytes: Mean bytes that a wave reads.
        padding: Share of launched tasks outside the grid.
        pruned: Whether a bound already showed it worse, so that it was not followed.
    """

    candidate: Candidate
    hit_rate: float | None
    miss_bytes: int | None
    balance: float
    footprint_bytes: float
    padding: float
    pruned: bool = False


@dataclass(frozen=True)
class Step:
    """Progress of a sweep: how many candidates are done, of how many, and the newest outcome."""

    done: int
    total: int
    outcome: Outcome


@dataclass(frozen=True)
class Recommendation:
    """What a sweep found.

    Attributes:
        best: Our pick: of those within half a point of the best hit rate, the best balanced.
        rule: The reference's rule of thumb: offset 3, Zn where M > N, else Nz.
        outcomes: Everything tried.
        fits: Whether A and B fit in L2: then no order can change what is read from memory.
        edge: The largest offset tried, where the best has it and the grid has room for more; a
            larger one may be better still. None elsewhere.
    """

    best: Outcome
    rule: Outcome
    outcomes: tuple[Outcome, ...]
    fits: bool
    edge: int | None = None

    @property
    def offsets(self) -> tuple[int, ...]:
        """The CATLASS offsets tried, in either direction."""
        settings = (dict(outcome.candidate.parameters) for outcome in self.outcomes)
        return tuple(sorted({one["offset"] for one in settings if "offset" in one}))

    @property
    def tried(self) -> str:
        """What was tried, in words: ``offsets 1 to 16``."""
        if any(outcome.candidate.policy != "catlass" for outcome in self.outcomes):
            return f"{len(self.outcomes)} settings of several policies"
        return f"offsets {ranges(self.offsets)}"

    @property
    def at_the_edge(self) -> str:
        """That a larger offset may be better, as a clause; "" where the best is inside."""
        if self.edge is None:
            return ""
        return f"best at the edge of the offsets tried, {ranges(self.offsets)}"

    @property
    def gain(self) -> float:
        """Points of hit rate, 0 to 1, that our pick has over the rule of thumb."""
        if self.best.hit_rate is None or self.rule.hit_rate is None:
            return 0.0
        return self.best.hit_rate - self.rule.hit_rate

    @property
    def sentence(self) -> str:
        """What to do, in a sentence."""
        best, rule = self.best, self.rule
        if self.fits:
            slower = best.balance < rule.balance - SAME
            advice = f"; {best.candidate.label} is better balanced" if slower else ""
            return f"A and B fit in L2, so the order cannot change what is read{advice}."
        if best.hit_rate is None or rule.hit_rate is None:
            return f"{best.candidate.label} is the best balanced; L2 could not be followed."
        if best.candidate == rule.candidate or (
            abs(self.gain) < SAME and best.balance >= rule.balance - SAME
        ):
            return f"The rule of thumb, {rule.candidate.label}, is as good as any tried."
        points = f"{100 * best.hit_rate:.1f}% against {100 * rule.hit_rate:.1f}%"
        balance = f"balance {best.balance:.3f} against {rule.balance:.3f}"
        edge = f"; {self.at_the_edge}" if self.edge is not None else ""
        return (
            f"{best.candidate.label} beats the rule of thumb, {rule.candidate.label}: "
            f"L2 hit rate {points}, {balance}{edge}."
        )


def ranges(numbers: Iterable[int], to: str = " to ", then: str = ", ") -> str:
    """Return numbers as text, runs of three or more as one.

    Example:
        >>> ranges([1, 2, 3, 32, 64]), ranges([1, 2, 3, 32], "..", ",")
        ('1 to 3, 32, 64', '1..3,32')
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = []
    for run in runs:
        parts += [f"{run[0]}{to}{run[-1]}"] if len(run) > 2 else list(map(str, run))
    return then.join(parts)


def catlass(offset: int, direction: Direction) -> Candidate:
    """Return a CATLASS candidate.

    Example:
        >>> catlass(3, "nz").label
        'catlass Nz 3'
    """
    parameters = (("offset", offset), ("direction", direction))
    return Candidate("catlass", parameters, f"catlass {direction.capitalize()} {offset}")


def rule_of_thumb(design: ScheduleDesign) -> Candidate:
    """Return the reference's advice: offset 3, strips of rows where M > N.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> tall = make_design({"study": "schedule", "problem": [9, 3, 1], "tile": [1, 1],
        ...                     "policy": "row_major"})
        >>> rule_of_thumb(tall).label
        'catlass Zn 3'
    """
    return catlass(3, "zn" if design.problem[0] > design.problem[1] else "nz")


def offsets_and_directions(
    design: ScheduleDesign, offsets: Iterable[int] = OFFSETS
) -> tuple[Candidate, ...]:
    """Return every CATLASS offset and direction, those that give the same order only once."""
    return tuple(
        catlass(offset, direction)
        for direction, along in _along(design).items()
        for offset in offsets
        if offset <= along or offset == 1
    )


def other_policies() -> tuple[Candidate, ...]:
    """Return one or a few settings of every other policy that computes whole tiles."""
    found = [Candidate(name, (), name.replace("_", "-")) for name in ("row_major", "column_major")]
    found += [
        Candidate("triton_grouped", (("group_m", size),), f"Triton GROUP_M {size}")
        for size in (4, 8, 16)
    ]
    found += [
        Candidate("cutlass2", (("log_tile", log),), f"CUTLASS 2.x log {log}") for log in (1, 2, 3)
    ]
    found += [
        Candidate(
            "cutlass3",
            (("max_swizzle", size), ("raster_option", raster)),
            f"CUTLASS 3.x {raster} {size}",
        )
        for size in (2, 4, 8)
        for raster in ("AlongM", "AlongN")
    ]
    titles = {"deepgemm": "DeepGEMM", "hilbert": "Hilbert", "morton": "Morton",
              "xcd_remap": "XCD remap"}  # fmt: skip
    found += [Candidate(name, (), title) for name, title in titles.items()]
    return tuple(found)


def sweep(
    design: ScheduleDesign, candidates: Sequence[Candidate], *, prune: bool = True
) -> Iterator[Step]:
    """Follow candidates one by one; stop asking for more to cancel.

    Args:
        design: Its product, tiles, workers and cache are used; its policy is not.
        candidates: What to try.
        prune: Leave out, by a bound, what cannot be the best.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> design = make_design({"study": "schedule", "problem": [1024, 1024, 64],
        ...     "tile": [64, 64], "policy": "row_major", "workers": 8, "l2_bytes": 65536})
        >>> steps = list(sweep(design, offsets_and_directions(design, (1, 2)), prune=False))
        >>> [(step.done, round(step.outcome.hit_rate, 3)) for step in steps]
        [(1, 0.615), (2, 0.773), (3, 0.615), (4, 0.773)]
    """
    total = len(candidates)
    least: int | None = None
    for done, candidate in enumerate(candidates, start=1):
        outcome = _outcome(design, candidate, least if prune else None)
        if outcome is None:
            continue
        if not outcome.pruned and outcome.miss_bytes is not None:
            least = outcome.miss_bytes if least is None else min(least, outcome.miss_bytes)
        yield Step(done, total, outcome)


def explore(design: ScheduleDesign, *, prune: bool = True) -> Iterator[Step]:
    """Follow CATLASS offsets 1 to 16 in both directions, then larger ones while they get better.

    On small grids: as long as the best is at the edge, the offset is doubled, up to the grid's end.

    Args:
        design: As for ``sweep``.
        prune: Likewise.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> tall = make_design({"study": "schedule", "problem": [8192, 8192, 2048],
        ...     "tile": [128, 128], "policy": "row_major", "workers": 768, "l2_bytes": 1 << 24})
        >>> found = recommend(tall, [step.outcome for step in explore(tall)])
        >>> found.best.candidate.label, found.tried, found.edge
        ('catlass Zn 32', 'offsets 1 to 16, 32, 64', None)
    """
    outcomes: list[Outcome] = []
    candidates, before = offsets_and_directions(design), 0
    while candidates:
        for step in sweep(design, candidates, prune=prune):
            outcomes.append(step.outcome)
            yield Step(before + step.done, before + step.total, step.outcome)
        before += len(candidates)
        candidates = _further(design, outcomes)


def _further(design: ScheduleDesign, outcomes: Sequence[Outcome]) -> tuple[Candidate, ...]:
    """Return what to try next: twice the offset at the edge, none where the best is inside."""
    if not outcomes or design.grid.tiles * design.batch > QUICK_TASKS:
        return ()
    edge = recommend(design, outcomes).edge
    if edge is None:
        return ()
    return tuple(
        catlass(min(2 * edge, along), direction)
        for direction, along in _along(design).items()
        if along > edge
    )


def _outcome(design: ScheduleDesign, candidate: Candidate, least: int | None) -> Outcome | None:
    """Return what a candidate costs, or None where it does not take this grid."""
    try:
        metrics = plan(candidate.design(design)).metrics
    except DesignError:
        return None
    reads = metrics.read_bytes
    bound = least_misses(metrics)
    # Half a point of slack: what is close to the best may still be better balanced.
    pruned = least is not None and bound > least + SAME * reads
    missed = None if pruned else metrics.misses
    miss_bytes = bound if pruned else None if missed is None else missed.missed_bytes
    rate = 1 - bound / reads if pruned else None if missed is None else missed.hit_rate
    return Outcome(
        candidate,
        rate,
        miss_bytes,
        metrics.balance,
        float(metrics.footprints.mean()),
        metrics.padding,
        pruned,
    )


def least_misses(metrics: Metrics) -> int:
    """Return bytes that any cache of this size must miss: everything once, or wave by wave.

    What a wave reads either was in the cache before it, which holds ``l2_bytes``, or is missed.
    """
    over = metrics.footprints - metrics.l2_bytes
    return max(int(over[over > 0].sum()), 0)


def recommend(design: ScheduleDesign, outcomes: Sequence[Outcome]) -> Recommendation:
    """Return our pick of outcomes, beside the rule of thumb.

    Args:
        design: The design that was swept.
        outcomes: At least one.

    Raises:
        ValueError: There are none.
    """
    if not outcomes:
        raise ValueError("nothing was tried")
    rule = rule_of_thumb(design)
    found = next((o for o in outcomes if o.candidate == rule and not o.pruned), None)
    known = found or _outcome(design, rule, None) or outcomes[0]
    followed = [outcome for outcome in outcomes if not outcome.pruned] or list(outcomes)
    top = max(outcome.hit_rate or 0.0 for outcome in followed)
    close = [outcome for outcome in followed if (outcome.hit_rate or 0.0) >= top - SAME]
    best = min(close, key=_preference)
    fits = plan(rule.design(design)).metrics.operand_bytes <= design.l2_bytes
    edge = None if fits else _edge(design, best.candidate, outcomes)
    return Recommendation(best, known, tuple(outcomes), fits, edge)


def _edge(design: ScheduleDesign, best: Candidate, outcomes: Sequence[Outcome]) -> int | None:
    """Return the offset of the best where it is the largest tried and the grid has room."""
    if best.policy != "catlass":
        return None
    chosen = dict(best.parameters)
    tried = [
        int(settings["offset"])
        for settings in (dict(outcome.candidate.parameters) for outcome in outcomes
                         if outcome.candidate.policy == "catlass")
        if settings["direction"] == chosen["direction"]
    ]  # fmt: skip
    room = _along(design)[chosen["direction"]]
    offset = int(chosen["offset"])
    return offset if offset == max(tried) and len(tried) > 1 and offset < room else None


def _along(design: ScheduleDesign) -> dict[Direction, int]:
    """Return the largest offset of each direction; larger ones give the same order."""
    return dict(zip(DIRECTIONS, (design.grid.rows, design.grid.columns), strict=True))


def _preference(outcome: Outcome) -> tuple[float, float, float]:
    return round(outcome.balance, 3), -(outcome.hit_rate or 0.0), outcome.footprint_bytes


def recommended(
    design: ScheduleDesign,
    candidates: Sequence[Candidate] | None = None,
    progress: Callable[[Step], None] | None = None,
) -> Recommendation:
    """Sweep and recommend in one call.

    Args:
        design: The design.
        candidates: What to try; what ``explore`` tries by default.
        progress: Called after each.
    """
    outcomes = []
    for step in sweep(design, candidates) if candidates else explore(design):
        outcomes.append(step.outcome)
        if progress is not None:
            progress(step)
    return recommend(design, outcomes)
