"""The reference's decision: CINN's ``TileBroadcastTactic`` as merged, check by check.

NCHW of #70092 and NHWC of #71464, with the later fixes. The tactic decides for the whole fused
group; whatever it declines goes to the general tactic.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from tileviz.studies.broadcast.axes import AxisGroups
from tileviz.studies.broadcast.blocksize import block_size
from tileviz.studies.broadcast.design import DYNAMIC, BroadcastDesign

WARP = 32
SERIAL = 4
NCHW_BLOCK = 256
SMALL_LOW, MEDIUM_LOW = 256, 2048
FLAT_ROWS = 64
MAX_GRID = (2**31 - 1, 65535)
MAX_THREADS = 1024

Kind = Literal[
    "nhwc_flat",
    "nhwc_equal",
    "nhwc_narrow",
    "nhwc_wide",
    "nchw_small",
    "nchw_medium",
    "nchw_large",
]
Extent = int | str
Loops = tuple[tuple[Extent, str], ...]

# Why the tactic declines, in words, by the oracle's names.
REASONS: dict[str, str] = {
    "not_elementwise_or_broadcast": (
        "a load is neither elementwise nor an order-preserving broadcast, or the group reduces"
    ),
    "no_common_broadcast_axis": "no axis is broadcast in every broadcasting operand",
    "nchw_group_empty": (
        "the last axis is broadcast, so axes before it must be broadcast, then preserved"
    ),
    "low_not_multiple_of_32": "the last run of broadcast axes is not a multiple of 32 elements",
    "nhwc_more_than_one_preserved_axis": "the last axis is preserved, and another one too",
    "channels_not_multiple_of_32": "the channels are not a multiple of 32",
    "no_block_size": "no block size of 128 to 1024 threads divides the channels",
}


@dataclass(frozen=True)
class Step:
    """One check of the decision.

    Attributes:
        token: The reason it rejects with, or the name of a step that only chooses.
        question: What is asked.
        answer: What was found, "" where the step was not reached.
        outcome: ``pass``, ``decides`` (the last step reached) or ``skipped``.
    """

    token: str
    question: str
    answer: str = ""
    outcome: Literal["pass", "decides", "skipped"] = "skipped"


@dataclass(frozen=True)
class Launch:
    """The reference's launch of one kind.

    Attributes:
        kind: Which template.
        block: Threads in x and y.
        grid: Blocks in x and y; text where an extent is dynamic.
        serial: Serial steps of a thread.
        loops: The loop nest, outermost first: extent and binding.
        K: The NHWC block size, or None.
    """

    kind: Kind
    block: tuple[int, int]
    grid: tuple[Extent, Extent]
    serial: int
    loops: Loops
    K: int | None = None

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1]

    @property
    def slots(self) -> int | None:
        """Launched (thread, step) pairs, None where the grid is dynamic."""
        x, y = self.grid
        if isinstance(x, str) or isinstance(y, str):
            return None
        return x * y * self.threads * self.serial


@dataclass(frozen=True)
class Decision:
    """What the reference decides for a design.

    Attributes:
        groups: The shared axis groups.
        steps: Every check in order, with the one that decided.
        reason: Why it declines, or None.
        launch: The launch, or None where it declines.
        elements: Elements of the output, -1 where dynamic.
    """

    groups: AxisGroups
    steps: tuple[Step, ...]
    reason: str | None
    launch: Launch | None
    elements: int

    @property
    def applies(self) -> bool:
        """Whether the tactic takes the group."""
        return self.launch is not None

    @property
    def branch(self) -> Literal["nchw", "nhwc"]:
        """Which half of the tactic is asked: by the last axis."""
        return "nchw" if self.groups.last_is_broadcast else "nhwc"

    @property
    def decided_by(self) -> Step:
        """The step that decided."""
        return next(step for step in self.steps if step.outcome == "decides")

    @property
    def lane_use(self) -> float | None:
        """Useful (thread, step) pairs over launched ones; None where unknown."""
        slots = None if self.launch is None else self.launch.slots
        return None if slots is None else self.elements / slots

    @property
    def guard(self) -> bool | None:
        """Whether an ``if`` masks launched pairs; None where unknown."""
        slots = None if self.launch is None else self.launch.slots
        return None if slots is None else slots != self.elements

    @property
    def launchable(self) -> bool | None:
        """Whether a device accepts the launch: the tactic does not check its grid."""
        if self.launch is None or self.launch.slots is None:
            return None
        fits = (
            isinstance(extent, int) and extent <= limit
            for extent, limit in zip(self.launch.grid, MAX_GRID, strict=True)
        )
        return all(fits) and self.launch.threads <= MAX_THREADS


@dataclass
class _Path:
    """Steps as they are taken."""

    steps: list[Step] = field(default_factory=list)
    reason: str | None = None

    def check(self, token: str, question: str, passes: bool, answer: str) -> bool:
        """Take a step; return whether the decision goes on."""
        if self.reason is not None:
            self.steps.append(Step(token, question))
            return False
        outcome: Literal["pass", "decides"] = "pass" if passes else "decides"
        self.steps.append(Step(token, question, answer, outcome))
        if not passes:
            self.reason = token
        return passes


def decide(design: BroadcastDesign) -> Decision:
    """Decide a design as the reference does.

    Example:
        >>> from tileviz.studies.design import validated
        >>> seed = validated(BroadcastDesign, {"operands": [[192]], "out": [64, 56, 56, 192]})
        >>> decision = decide(seed)
        >>> decision.launch.kind, decision.launch.block, decision.launch.grid
        ('nhwc_equal', (192, 1), (50176, 1))
        >>> decide(seed.model_copy(update={"operands": ((33,),), "out": (8, 33)})).reason
        'channels_not_multiple_of_32'
    """
    groups, path = AxisGroups.of(design), _Path()
    path.check("flag_off", "Is the tactic's flag on?", True, "on by default")
    others = [
        f"{name} is read as a {access}"
        for name, access in zip(design.names, design.accesses, strict=True)
        if access in ("transpose", "reduce")
    ]
    path.check(
        "not_elementwise_or_broadcast",
        "Is every load elementwise or a plain broadcast, and nothing reduced?",
        not others,
        others[0] if others else "yes",
    )
    path.check(
        "no_common_broadcast_axis",
        "Is some axis broadcast in every broadcasting operand?",
        bool(groups.broadcast),
        f"axes {_listed(groups.broadcast)}" if groups.broadcast else "none",
    )
    nchw = groups.last_is_broadcast
    launch = _nchw(groups, path) if nchw else _nhwc(groups, path)
    return Decision(groups, _closed(path, launch), path.reason, launch, design.elements)


def _closed(path: _Path, launch: Launch | None) -> tuple[Step, ...]:
    """Append the choice of the template, which decides where no check did."""
    question = "Which template?"
    if launch is None:
        return (*path.steps, Step("kind", question))
    answer = f"{launch.kind}: block {_times(launch.block)}, grid {_times(launch.grid)}, "
    answer += f"{launch.serial} serial step{'s' * (launch.serial > 1)}"
    return (*path.steps, Step("kind", question, answer, "decides"))


def _nchw(groups: AxisGroups, path: _Path) -> Launch | None:
    """Take the checks of the branch whose last axis is broadcast."""
    parts = {"high": groups.high, "preserved": groups.preserved, "low": groups.low}
    empty = [name for name, axes in parts.items() if not axes]
    path.check(
        "nchw_group_empty",
        "Last axis broadcast: are there high, preserved and low axes?",
        not empty,
        f"no {' and no '.join(empty)} axes" if empty else "all three",
    )
    high, preserved, low = (groups.size(axes) for axes in parts.values())
    passed = path.check(
        "low_not_multiple_of_32",
        "Are the low axes a multiple of 32 elements?",
        low != DYNAMIC and low % WARP == 0,
        "dynamic" if low == DYNAMIC else f"{low} = 32 * {low // WARP} + {low % WARP}",
    )
    if not passed:
        return None
    launch = _nchw_launch(high, preserved, low)
    if DYNAMIC not in (high, preserved):
        return launch
    grid = _dynamic_grid(launch, high)
    bound = {"blockIdx.x": grid[0], "blockIdx.y": grid[1]}
    loops = tuple((bound.get(where, extent), where) for extent, where in launch.loops)
    return replace(launch, grid=grid, loops=loops)


def _nchw_launch(high: int, preserved: int, low: int) -> Launch:
    loops: Loops
    if low <= SMALL_LOW:
        rows = -(-high // SERIAL)
        grid = (preserved, rows)
        loops = ((rows, "blockIdx.y"), (SERIAL, "serial"), (preserved, "blockIdx.x"))
        return Launch("nchw_small", (low, 1), grid, SERIAL, (*loops, (low, "threadIdx.x")))
    block, inner = (NCHW_BLOCK, 1), (NCHW_BLOCK, "threadIdx.x")
    if low <= MEDIUM_LOW:
        serial = -(-low // NCHW_BLOCK)
        loops = ((high, "blockIdx.y"), (preserved, "blockIdx.x"), (serial, "serial"), inner)
        return Launch("nchw_medium", block, (preserved, high), serial, loops)
    chunks = -(-high * low // (NCHW_BLOCK * SERIAL))
    loops = ((preserved, "blockIdx.y"), (chunks, "blockIdx.x"), (SERIAL, "serial"), inner)
    return Launch("nchw_large", block, (chunks, preserved), SERIAL, loops)


def _dynamic_grid(launch: Launch, high: int) -> tuple[Extent, Extent]:
    """Return the symbolic grid of a launch with a dynamic extent."""
    x, y = launch.grid
    if launch.kind == "nchw_small":
        split = "floor(high/4)+1 (dynamic split adds one when it cannot prove exactness)"
        return "P", split if high == DYNAMIC else y
    if launch.kind == "nchw_medium":
        return "P", "high" if high == DYNAMIC else y
    return "floor(high*low/1024)+1 or exact" if high == DYNAMIC else x, "P"


def _nhwc(groups: AxisGroups, path: _Path) -> Launch | None:
    """Take the checks of the branch whose last axis is preserved."""
    kept = groups.preserved
    path.check(
        "nhwc_more_than_one_preserved_axis",
        "Last axis preserved: is it the only preserved axis?",
        len(kept) == 1,
        "yes" if len(kept) == 1 else f"axes {_listed(kept)} are preserved",
    )
    channels, rows = groups.out[-1], groups.size(groups.broadcast)
    path.check(
        "channels_not_multiple_of_32",
        "Are the channels a multiple of 32?",
        channels != DYNAMIC and channels % WARP == 0,
        "dynamic"
        if channels == DYNAMIC
        else f"{channels} = 32 * {channels // WARP} + {channels % WARP}",
    )
    K = None if path.reason else block_size(channels)
    passed = path.check(
        "no_block_size",
        "Is there a block size K?",
        K is not None,
        "none" if K is None else f"K = {K}",
    )
    if not passed or K is None:
        return None
    return _nhwc_launch(rows, channels, K)


def _nhwc_launch(rows: int, channels: int, K: int) -> Launch:
    loops: Loops
    inner = (K, "threadIdx.x")
    # A dynamic row count is kept as -1, which is at most 64: the flat template takes it.
    if rows <= FLAT_ROWS:
        parts = -(-channels // K)
        count: Extent = rows * parts
        if rows == DYNAMIC:
            count = f"B*{parts}" if parts > 1 else "B"
        loops = ((count, "blockIdx.x"), inner)
        return Launch("nhwc_flat", (K, 1), (count, 1), 1, loops, K)
    deep = max(1, K // channels)
    blocks = -(-rows // (SERIAL * deep))
    outer = ((blocks, "blockIdx.x"), (SERIAL, "serial"))
    if channels == K:
        return Launch("nhwc_equal", (K, 1), (blocks, 1), SERIAL, (*outer, inner), K)
    if channels < K:
        loops = (*outer, (deep, "threadIdx.y"), (channels, "threadIdx.x"))
        return Launch("nhwc_narrow", (channels, deep), (blocks, 1), SERIAL, loops, K)
    loops = (*outer, (channels // K, "blockIdx.y"), inner)
    return Launch("nhwc_wide", (K, 1), (blocks, channels // K), SERIAL, loops, K)


def _listed(axes: tuple[int, ...]) -> str:
    return ", ".join(map(str, axes))


def _times(extents: tuple[Extent, ...]) -> str:
    return " × ".join(map(str, extents))
