"""The broadcast plan: the reference's decision, the tactic it replaces, and ours with its proof."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tileviz.dtypes import dtype as dtype_of
from tileviz.studies.broadcast.axes import Axis, classify
from tileviz.studies.broadcast.blocksize import block_size, early_block_size
from tileviz.studies.broadcast.cinn import FLAT_ROWS, Decision, decide
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.general import General, general
from tileviz.studies.broadcast.ours import THREADS, Ours, ours
from tileviz.studies.broadcast.proof import Proof, prove

SMALLEST_DESCRIBED = 128


@dataclass(frozen=True)
class Early:
    """Where the early description (#71434) says otherwise than the merged code.

    Attributes:
        applies: Whether it takes the group.
        block: Its block, or None where it does not say.
        note: What differs.
    """

    applies: bool
    block: tuple[int, int] | None
    note: str


@dataclass(frozen=True)
class BroadcastPlan:
    """Everything decided about a broadcast design.

    Attributes:
        design: The design.
        cinn: The reference's decision.
        early: The early description, where it differs.
        before: The general tactic; None where an extent is dynamic or the group reduces.
        ours: Our plan; None where an extent is dynamic or a load is no broadcast.
    """

    design: BroadcastDesign
    cinn: Decision
    early: Early | None
    before: General | None
    ours: Ours | None

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Every output axis, classified."""
        return classify(self.design)

    @cached_property
    def proof(self) -> Proof | None:
        """What is proven about our plan."""
        return None if self.ours is None else prove(self.ours)

    @property
    def ours_reason(self) -> str | None:
        """Why there is no plan of ours, or None."""
        if self.ours is not None:
            return None
        if self.design.dynamic:
            return "an extent is known only at run time; our plan needs all of them"
        return "a load is neither elementwise nor a broadcast"

    @property
    def loads_before(self) -> int | None:
        """Most loads of one operand value per thread under the general tactic; None: no operand."""
        if self.before is None:
            return None
        loads = [
            self.before.loads(position)
            for position, access in enumerate(self.design.accesses)
            if access != "elementwise"
        ]
        return max(loads, default=None)

    @property
    def loads_after(self) -> int | None:
        """Loads of one operand value per thread under the reference's tactic, where it applies."""
        return 1 if self.cinn.applies else None

    def to_json(self) -> dict[str, Any]:
        """Return the ``broadcast`` object of the results."""
        return {
            "study": "broadcast",
            "cinn": self._cinn_json(),
            "early": None
            if self.early is None
            else {
                "applies": self.early.applies,
                "block": None if self.early.block is None else list(self.early.block),
                "note": self.early.note,
            },
            "before": None
            if self.before is None
            else {
                "block": [self.before.threads, 1],
                "grid": [self.before.grid, 1],
                "coarsening": self.before.serial,
                "loads": self.loads_before,
            },
            "plan": self._ours_json(),
            "plan_reason": self.ours_reason,
        }

    def _cinn_json(self) -> dict[str, Any]:
        cinn, launch = self.cinn, self.cinn.launch
        use = cinn.lane_use
        return {
            "applies": cinn.applies,
            "reason": cinn.reason,
            "kind": None if launch is None else launch.kind,
            "block": None if launch is None else list(launch.block),
            "grid": None if launch is None else list(launch.grid),
            "coarsening": None if launch is None else launch.serial,
            "guard": cinn.guard,
            "launchable": cinn.launchable,
            "lane_use": None if use is None else round(use, 4),
            "loads_before": self.loads_before,
            "loads_after": self.loads_after,
            "branch": cinn.branch,
            "K": None if launch is None else launch.K,
            "loops": None if launch is None else [list(loop) for loop in launch.loops],
            "broadcast": list(cinn.groups.broadcast),
            "preserved": list(cinn.groups.preserved),
            "high": list(cinn.groups.high),
            "low": list(cinn.groups.low),
            "path": [
                {"token": s.token, "question": s.question, "answer": s.answer, "outcome": s.outcome}
                for s in cinn.steps
            ],
        }

    def _ours_json(self) -> dict[str, Any] | None:
        if self.ours is None or self.proof is None:
            return None
        return {
            "kind": self.ours.kind,
            "block": [THREADS, 1],
            "grid": [self.ours.grid, 1],
            "vector": self.ours.vector,
            "broadcast_loads_per_thread": self.ours.loads_per_thread,
            "steps": self.ours.steps,
            "period": self.ours.period,
            "tail": self.ours.tail,
            "index_bits": 64 if self.ours.wide else 32,
            "proof": {"coverage": self.proof.coverage, "loads": self.proof.loads},
        }


def plan(design: BroadcastDesign) -> BroadcastPlan:
    """Decide a broadcast design as the reference does, and plan our own kernel.

    Example:
        >>> from tileviz.studies.design import validated
        >>> seed = validated(BroadcastDesign, {"operands": [[192]], "out": [64, 56, 56, 192]})
        >>> decided = plan(seed)
        >>> decided.loads_before, decided.loads_after, decided.ours.loads_per_thread
        (4, 1, 1)
    """
    decision = decide(design)
    reduces = "reduce" in design.accesses
    before = None if design.dynamic or reduces else general(design)
    return BroadcastPlan(design, decision, _early(design, decision), before, ours(design))


def bytes_moved(design: BroadcastDesign) -> int:
    """Return the bytes a perfect kernel moves: x and y once, every operand once.

    Example:
        >>> from tileviz.studies.design import validated
        >>> row = validated(BroadcastDesign, {"operands": [[1, 1, 1, 192]],
        ...     "out": [256, 64, 64, 192], "expression": "batchnorm"})
        >>> bytes_moved(row) == 8 * 256 * 64 * 64 * 192 + 16 * 192
        True
    """
    count = 2 * design.elements
    for shape in design.shapes:
        size = 1
        for extent in shape:
            size *= extent
        count += size
    return count * dtype_of(design.dtype).bytes


def _early(design: BroadcastDesign, decision: Decision) -> Early | None:
    """Return the early description's answer where it is not the merged code's."""
    channels, launch = design.out[-1], decision.launch
    nhwc = decision.branch == "nhwc" and bool(decision.groups.broadcast)
    regular = set(design.accesses) <= {"broadcast", "elementwise"}
    if not (nhwc and regular) or channels < 1 or channels % 32:
        return None
    K = early_block_size(channels)
    if decision.reason == "nhwc_more_than_one_preserved_axis":
        # Below 128 channels the described range, an example there, holds no divisor.
        K = K or block_size(channels)
        note = "the description asks only that the last axis be preserved, as (1, H, 1, C) does; "
        note += "the merged code rejects a second preserved axis"
        return Early(True, (K, 1), note) if K else None
    if K is None or channels < SMALLEST_DESCRIBED:
        return None
    if launch is None:
        note = "the description has no upper bound on C; the merged code stops at C = 32768"
        return Early(True, (K, 1), note)
    notes = []
    if launch.K != K:
        notes.append(
            f"the description takes K as close to C as possible, {K}; "
            f"the merged code takes {launch.K}"
        )
    if launch.kind == "nhwc_wide":
        notes.append(
            "the description drops thread coarsening for large C; the merged code keeps 4 steps "
            f"whenever there are more than {FLAT_ROWS} rows"
        )
    return Early(True, (K, 1), "; ".join(notes)) if notes else None
