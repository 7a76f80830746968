"""The reference's launch, unfolded: block size K, block, grid and serial steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tileviz.studies.arithmetic import equals, product, shown
from tileviz.studies.broadcast.blocksize import MAX_BLOCK, MIN_BLOCK, early_block_size
from tileviz.studies.broadcast.cinn import FLAT_ROWS, NCHW_BLOCK, SERIAL, WARP, Decision, Launch
from tileviz.studies.derivation import Step

Steps = list[Step]
Part = Literal["block.0", "block.1", "grid.0", "grid.1", "coarsening"]
_BINDINGS: dict[str, Part] = {
    "blockIdx.x": "grid.0",
    "blockIdx.y": "grid.1",
    "threadIdx.x": "block.0",
    "threadIdx.y": "block.1",
    "serial": "coarsening",
}
_DYNAMIC = "An extent is known only at run time, so this is decided without its value."


@dataclass(frozen=True)
class CinnSteps:
    """The arithmetic of one decision that applies.

    Attributes:
        decision: The decision.
        launch: Its launch.
    """

    decision: Decision
    launch: Launch

    def part(self, part: Part) -> Steps:
        """Return the way to one extent of block or grid, or to the serial steps.

        Example:
            >>> from tileviz.studies.broadcast.plan import plan
            >>> from tileviz.studies.registry import preset
            >>> decision = plan(preset("broadcast-192").design).cinn
            >>> for step in CinnSteps(decision, decision.launch).part("grid.0"):
            ...     print(step.arithmetic)
            64 · 56 · 56 = 200,704
            max(1, floor(192 / 192)) = 1
            ceil(200,704 / (4 · 1)) = 50,176
        """
        value = self._value(part)
        if isinstance(value, str) or self.decision.elements < 0:
            return [Step(_DYNAMIC, "" if isinstance(value, str) else shown(value))]
        if self.launch.K is not None:
            return self._nhwc(part, value)
        return self._nchw(part, value)

    def loop(self, at: int) -> Steps:
        """Return the way to the extent of a loop: what its binding is an extent of."""
        extent, binding = self.launch.loops[at]
        part = _BINDINGS[binding]
        text = f"The loop is bound to {binding}." if binding != "serial" else "A serial loop."
        if extent == self._value(part):
            return [Step(text), *self.part(part)]
        return [Step(f"{text} {_DYNAMIC}", "" if isinstance(extent, str) else shown(extent))]

    def _value(self, part: Part) -> int | str:
        name, _, at = part.partition(".")
        if name == "coarsening":
            return self.launch.serial
        return self.launch.block[int(at)] if name == "block" else self.launch.grid[int(at)]

    # -- NHWC: the last axis is preserved ----------------------------------------------------------

    def block_size(self) -> Steps:
        """Return the way to K by the merged code's rule."""
        channels = self._channels()
        K = self.launch.K
        assert K is not None
        warps = channels // WARP
        first = Step("Channels in warps.", equals(f"{shown(channels)} / {WARP}", warps))
        if warps <= 3:
            text = "Up to 3 warps: four, or twice as many."
            return [first, Step(text, equals(f"{WARP} · max(4, 2 · {warps})", K))]
        if warps & (warps - 1) == 0:
            return [first, Step("A power of two: always 256.", shown(K))]
        if warps <= MAX_BLOCK // WARP:
            text = "Up to 32 warps: all channels are one block."
            return [first, Step(text, equals(f"{WARP} · {warps}", K))]
        best = K // WARP
        text = (
            f"More: the largest number of warps from {MIN_BLOCK // WARP} to {MAX_BLOCK // WARP} "
            f"that divides {warps:,}, {warps // best:,} times."
        )
        return [first, Step(text, equals(f"{shown(warps)} / {warps // best}", best)),
                Step("In threads.", equals(f"{WARP} · {best}", K))]  # fmt: skip

    def _channels(self) -> int:
        return self.decision.groups.out[-1]

    def _rows(self) -> tuple[Step, int]:
        groups = self.decision.groups
        rows = groups.size(groups.broadcast)
        extents = [groups.out[axis] for axis in groups.broadcast]
        return Step("Rows: the broadcast axes together.", equals(product(extents), rows)), rows

    def _nhwc(self, part: Part, value: int) -> Steps:
        kind, K, channels = self.launch.kind, self.launch.K or 1, self._channels()
        first, rows = self._rows()
        deep = max(1, K // channels)
        depth = Step(
            "Rows that a block takes side by side.",
            equals(f"max(1, floor({shown(K)} / {shown(channels)}))", deep),
        )
        if kind == "nhwc_flat":
            if part == "grid.0":
                wide = -(-channels // K)
                parts = Step("Blocks for one row.", equals(f"ceil({shown(channels)} / {K})", wide))
                line = equals(f"{shown(rows)} · {wide}", value)
                return [first, parts, Step("One row each.", line)]
            if part == "coarsening":
                text = f"At most {FLAT_ROWS} rows: no serial steps."
                return [first, Step(text, shown(value))]
        if part == "grid.0":
            line = equals(f"ceil({shown(rows)} / ({SERIAL} · {deep}))", value)
            return [first, depth, Step(f"A block takes {SERIAL} steps.", line)]
        if part == "coarsening":
            text = f"More than {FLAT_ROWS} rows: always {SERIAL} serial steps."
            return [first, Step(text, shown(value))]
        if part == "grid.1" and kind == "nhwc_wide":
            line = equals(f"{shown(channels)} / {K}", value)
            return [Step("Blocks along the channels.", line)]
        if part == "block.1" and kind == "nhwc_narrow":
            return [depth]
        if part == "block.0":
            if kind == "nhwc_narrow":
                return [Step("Fewer channels than K: a row of threads per row.", shown(value))]
            return [*self.block_size()[:-1], Step("K.", shown(value))]
        return [Step("This template does not use it.", shown(value))]

    # -- NCHW: the last axis is broadcast ----------------------------------------------------------

    def _nchw(self, part: Part, value: int) -> Steps:
        groups, kind = self.decision.groups, self.launch.kind
        high, preserved, low = (
            groups.size(axes) for axes in (groups.high, groups.preserved, groups.low)
        )

        def fused(name: str, axes: Sequence[int], size: int) -> Step:
            extents = product(groups.out[axis] for axis in axes)
            return Step(f"{name} axes together.", equals(extents, size))

        highs = fused("High", groups.high, high)
        kept = fused("Preserved", groups.preserved, preserved)
        lows = fused("Low", groups.low, low)
        if part == "block.0":
            if kind == "nchw_small":
                return [lows, Step("At most 256 low elements: a thread each.", shown(value))]
            return [lows, Step("More than 256 low elements: always 256 threads.", shown(value))]
        if part == "coarsening":
            if kind == "nchw_medium":
                line = equals(f"ceil({shown(low)} / {NCHW_BLOCK})", value)
                return [lows, Step("As many steps as cover the low axes.", line)]
            return [Step(f"This template takes {SERIAL} steps.", shown(value))]
        if kind == "nchw_small" and part == "grid.1":
            line = equals(f"ceil({shown(high)} / {SERIAL})", value)
            return [highs, Step("Four steps along the high axes.", line)]
        if kind == "nchw_medium" and part == "grid.1":
            return [highs]
        if kind == "nchw_large" and part == "grid.0":
            line = equals(f"ceil({shown(high)} · {shown(low)} / ({NCHW_BLOCK} · {SERIAL}))", value)
            return [highs, lows, Step("256 threads with 4 steps each.", line)]
        if part in ("grid.0", "grid.1"):
            return [kept]
        return [Step("This template does not use it.", shown(value))]


def early_steps(channels: int, value: int) -> Steps:
    """Return the way to the block size of the early description."""
    divisors = [K for K in range(MIN_BLOCK, MAX_BLOCK + 1, WARP) if channels % K == 0]
    if early_block_size(channels) != value:
        text = "No multiple of 32 from 128 to 1024 divides the channels; as the merged code has it."
        return [Step(text, shown(value))]
    near = ", ".join(map(shown, divisors))
    text = (
        f"Multiples of 32 from 128 to 1,024 that divide {channels:,}: {near}. The nearest to "
        f"{channels:,} is off by so much; it is taken."
    )
    away = abs(channels - value)
    sign = "−" if value <= channels else "+"
    return [
        Step(text, equals(f"max({shown(channels)}, {shown(value)}) − "
                          f"min({shown(channels)}, {shown(value)})", away)),
        Step("So K.", equals(f"{shown(channels)} {sign} {shown(away)}", value)),
    ]  # fmt: skip
