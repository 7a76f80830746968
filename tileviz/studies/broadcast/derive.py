"""Every number of a broadcast plan, unfolded: decision, launches, loads, lane use, bandwidth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tileviz.dtypes import dtype as dtype_of
from tileviz.studies.arithmetic import Number, equals, product, shown
from tileviz.studies.broadcast import ours_steps
from tileviz.studies.broadcast.axes import Merged
from tileviz.studies.broadcast.bandwidth import PUBLISHED, V100_GB_PER_S
from tileviz.studies.broadcast.blocksize import Candidate, candidates
from tileviz.studies.broadcast.cinn import Launch
from tileviz.studies.broadcast.cinn_steps import CinnSteps, Part, early_steps
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.general import General
from tileviz.studies.broadcast.ours import THREADS, Ours
from tileviz.studies.broadcast.plan import BroadcastPlan, bytes_moved
from tileviz.studies.derivation import SHARE, Derivation, Family, Numbers, Parameter, Step

__all__ = ["numbers"]

Steps = Sequence[Step]
_CINN, _BEFORE, _OURS = "CINN's tactic", "General tactic, before", "Ours"
_AXES, _FINDER, _BANDWIDTH, _EARLY = "Axes", "Block size K", "Bandwidth", "Early description"
_PARTS: tuple[tuple[Part, str], ...] = (
    ("block.0", "block, x"),
    ("block.1", "block, y"),
    ("grid.0", "grid, x"),
    ("grid.1", "grid, y"),
    ("coarsening", "serial steps"),
)


def numbers(plan: BroadcastPlan) -> Numbers:
    """Return every number of a plan.

    Example:
        >>> from tileviz.studies.broadcast.plan import plan
        >>> from tileviz.studies.registry import preset
        >>> found = numbers(plan(preset("broadcast-192").design))
        >>> found.find("cinn.loads_before").steps[0].arithmetic
        '256 mod 192 = 64'
        >>> found.find("bytes").steps[-1].arithmetic
        '(2 · 38,535,168 + 192) · 4 = 308,282,112'
    """
    found = _decided(plan)
    if plan.early is not None and plan.early.block is not None:
        found += _early(plan, plan.early.block)
    if plan.before is not None:
        found += _before(plan, plan.before)
    if plan.ours is not None:
        found += _ours(plan, plan.ours)
    return Numbers((*found, *_axes(plan), *_bandwidth(plan.design)), _families(plan))


def _made(
    name: str, group: str, label: str, value: Number | str, unit: str, *steps: Step
) -> Derivation:
    return Derivation(name, group, label, value, unit, partial(list[Step], steps))


def _later(
    name: str,
    group: str,
    label: str,
    value: Number | str,
    work: Callable[[], Steps],
    unit: str = "",
) -> Derivation:
    return Derivation(name, group, label, value, unit, work)


# -- axes and decision -----------------------------------------------------------------------------


def _axes(plan: BroadcastPlan) -> list[Derivation]:
    """Return which axes are in each group."""
    groups = plan.cinn.groups
    why = {
        "broadcast": "Every operand that is broadcast at all is broadcast along it",
        "preserved": "Some broadcasting operand varies along it",
        "high": "A broadcast axis before the last run of them",
        "low": "One of the last run of neighbouring broadcast axes",
    }
    found = []
    for name, reason in why.items():
        for at, axis in enumerate(getattr(groups, name)):
            extent = groups.out[axis]
            size = "an extent known at run time" if extent < 0 else f"extent {extent:,}"
            step = Step(f"{reason}: axis {axis}, {size}.", shown(axis))
            label = f"{name} axis, number {at}"
            found.append(_made(f"cinn.{name}.{at}", _AXES, label, axis, "", step))
    if not plan.design.dynamic:
        elements = plan.design.elements
        step = ours_steps.elements_step(plan.design)
        found.append(_made("elements", _AXES, "elements of the output", elements, "", step))
    return found


def _decided(plan: BroadcastPlan) -> list[Derivation]:
    """Return the reference's launch, or which of its checks decides; and the loads it saves."""
    cinn, launch = plan.cinn, plan.cinn.launch
    found = []
    if plan.loads_before is not None and plan.before is not None:
        loads = partial(ours_steps.general_loads, plan.design, plan.before)
        label = "loads of a value a thread, before"
        found.append(_later("cinn.loads_before", _CINN, label, plan.loads_before, loads))
    number = [step.outcome for step in cinn.steps].index("decides") + 1
    said = cinn.decided_by
    step = Step(f"{len(cinn.steps)} checks; this one decides: {said.question} {said.answer}.")
    step = Step(step.text.replace("..", "."), shown(number))
    found.append(_made("cinn.check", _CINN, "deciding check", number, "", step))
    if launch is None:
        return found
    once = Step("No index of the operand names the serial loop, so it is loaded once.", "1")
    after = "loads of a value a thread, after"
    found.append(_made("cinn.loads_after", _CINN, after, 1, "", once))
    return found + _launch(plan, launch)


def _launch(plan: BroadcastPlan, launch: Launch) -> list[Derivation]:
    """Return block, grid, steps, loops and lane use of the reference's launch."""
    steps = CinnSteps(plan.cinn, launch)
    values: dict[Part, int | str] = {
        "block.0": launch.block[0],
        "block.1": launch.block[1],
        "grid.0": launch.grid[0],
        "grid.1": launch.grid[1],
        "coarsening": launch.serial,
    }
    found = [
        _later(f"cinn.{part}", _CINN, label, values[part], partial(steps.part, part))
        for part, label in _PARTS
    ]
    if launch.K is not None:
        found.append(_later("cinn.K", _CINN, "block size K", launch.K, steps.block_size))
    for at, (extent, binding) in enumerate(launch.loops):
        label = f"loop {at}, {binding}"
        work = partial(steps.loop, at)
        found.append(_later(f"cinn.loops.{at}.0", _CINN, label, extent, work))
    use, slots = plan.cinn.lane_use, launch.slots
    if use is not None and slots is not None:
        extents = (*launch.grid, *launch.block, launch.serial)
        sizes = [extent for extent in extents if isinstance(extent, int)]
        found.append(_made("cinn.lane_use", _CINN, "share of lanes used", use, SHARE,
            Step("Launched pairs of thread and step: grid, block, steps.",
                 equals(product(sizes), slots)),
            Step("Elements over that.", equals(f"{shown(plan.design.elements)} / {shown(slots)}",
                                               use))))  # fmt: skip
        found += _outputs("cinn", _CINN, launch.serial, plan.loads_after)
    return found


def _outputs(prefix: str, group: str, outputs: int, loads: int | None) -> list[Derivation]:
    """Return how many outputs of a thread share one load of a broadcast value."""
    if not loads:
        return []
    line = equals(f"{shown(outputs)} / {loads}", outputs / loads)
    step = Step("Outputs of a thread over its loads of one value.", line)
    name = f"{prefix}.outputs_a_load"
    return [_made(name, group, "outputs a load", outputs / loads, "", step)]


def _early(plan: BroadcastPlan, block: tuple[int, int]) -> list[Derivation]:
    channels = plan.design.out[-1]
    first = partial(early_steps, channels, block[0])
    second = Step("The description has one row of threads.", shown(block[1]))
    return [
        _later("early.block.0", _EARLY, "early description: block, x", block[0], first),
        _made("early.block.1", _EARLY, "early description: block, y", block[1], "", second),
    ]


# -- before and ours -------------------------------------------------------------------------------


def _before(plan: BroadcastPlan, tactic: General) -> list[Derivation]:
    """Return the general tactic's launch and loads."""
    design = plan.design
    one = Step("The general tactic has one dimension of blocks and threads.", "1")
    block = partial(ours_steps.general_block, design, tactic)
    grid = partial(ours_steps.general_grid, design, tactic)
    serial = partial(ours_steps.general_serial, design, tactic)
    found = [
        _later("before.block.0", _BEFORE, "block, x", tactic.threads, block),
        _made("before.block.1", _BEFORE, "block, y", 1, "", one),
        _later("before.grid.0", _BEFORE, "grid, x", tactic.grid, grid),
        _made("before.grid.1", _BEFORE, "grid, y", 1, "", one),
        _later("before.coarsening", _BEFORE, "serial steps", tactic.serial, serial),
        _use("before", _BEFORE, design.elements, (tactic.grid, tactic.threads, tactic.serial)),
    ]
    loads = plan.loads_before
    if loads is not None:
        work = partial(ours_steps.general_loads, design, tactic)
        found.append(_later("before.loads", _BEFORE, "loads of a value a thread", loads, work))
    return found + _outputs("before", _BEFORE, tactic.serial, loads)


def _use(prefix: str, group: str, useful: int, launched: Sequence[int]) -> Derivation:
    """Return the share of launched places that do useful work."""
    slots = 1
    for extent in launched:
        slots *= extent
    return _made(f"{prefix}.lane_use", group, "share of lanes used", useful / slots, SHARE,
        Step("Launched places: blocks, threads, steps.", equals(product(launched), slots)),
        Step("Useful ones over that.", equals(f"{shown(useful)} / {shown(slots)}",
                                              useful / slots)))  # fmt: skip


def _ours(plan: BroadcastPlan, ours: Ours) -> list[Derivation]:
    """Return our plan's launch, period, steps and loads."""
    design, count = plan.design, ours.loads_per_thread
    one = Step("Our kernels have one dimension of blocks and threads.", "1")
    block = Step("Our kernels always have 256 threads a block.", shown(THREADS))
    bits = 64 if ours.wide else 32
    loads = partial(ours_steps.load_steps, design, ours)
    label = "loads of a broadcast value a thread"
    return [
        _made("plan.block.0", _OURS, "block, x", THREADS, "", block),
        _made("plan.block.1", _OURS, "block, y", 1, "", one),
        _later("plan.grid.0", _OURS, "grid, x", ours.grid,
               partial(ours_steps.grid_steps, design, ours)),
        _made("plan.grid.1", _OURS, "grid, y", 1, "", one),
        _made("plan.vector", _OURS, "elements an access", ours.vector, "",
              *ours_steps.vector_steps(design, ours)),
        _later("plan.broadcast_loads_per_thread", _OURS, label, count, loads),
        _later("plan.steps", _OURS, "most vectors a thread", ours.steps,
               partial(ours_steps.step_steps, design, ours)),
        _later("plan.period", _OURS, "period of the operands", ours.period,
               partial(ours_steps.period_steps, ours)),
        _later("plan.tail", _OURS, "single elements at the end", ours.tail,
               partial(ours_steps.tail_steps, ours)),
        _later("plan.index_bits", _OURS, "bits of an index", bits,
               partial(ours_steps.index_bit_steps, ours)),
        _use("plan", _OURS, ours.vectors, (ours.grid, THREADS, ours.steps)),
        *_outputs("plan", _OURS, ours.steps * ours.vector, count),
    ]  # fmt: skip


# -- block sizes, operands, bandwidth --------------------------------------------------------------


def _families(plan: BroadcastPlan) -> tuple[Family, ...]:
    """Return the block-size finder, and where operands are read."""
    design, found = plan.design, []
    if plan.cinn.branch == "nhwc" and design.out[-1] > 0:
        found += _finder(design.out[-1])
    if plan.ours is not None:
        found.append(_operand_family(design))
    return tuple(found)


def _finder(channels: int) -> list[Family]:
    every = {one.K: one for one in candidates(channels)}
    sizes = Parameter("K", tuple(map(str, every)), str(min(every, key=lambda K: abs(K - 256))))

    def use(K: str) -> Derivation:
        one = every[int(K)]
        label = f"K = {K}: share of lanes used"
        return _later(
            f"block_size.{K}.lane_use",
            _FINDER,
            label,
            one.lane_use,
            partial(_use_steps, channels, one),
            SHARE,
        )

    def loads(K: str) -> Derivation:
        one = every[int(K)]
        label = f"K = {K}: loads in 4 serial steps"
        work = partial(_candidate_loads, channels, one)
        return _later(f"block_size.{K}.loads", _FINDER, label, one.loads, work)

    return [
        Family("block_size.{K}.lane_use", _FINDER, "lane use of any block size", (sizes,), use),
        Family("block_size.{K}.loads", _FINDER, "loads with any block size", (sizes,), loads),
    ]


def _use_steps(channels: int, one: Candidate) -> Steps:
    if one.packs:
        text = f"{channels:,} channels divide {one.K} threads: a block takes whole rows."
        return [Step(text, equals(f"{one.K} / {one.K}", 1))]
    blocks = -(-channels // one.K)
    line = equals(f"ceil({shown(channels)} / {one.K})", blocks)
    share = equals(f"{shown(channels)} / ({blocks} · {one.K})", one.lane_use)
    return [Step("Blocks for a row of channels.", line), Step("Channels over threads.", share)]


def _candidate_loads(channels: int, one: Candidate) -> Steps:
    rest, back = channels % one.K, one.K % channels
    return [
        Step("K divides C where this is 0.", equals(f"{shown(channels)} mod {one.K}", rest)),
        Step("C divides K where this is 0.", equals(f"{one.K} mod {shown(channels)}", back)),
        Step(
            "Either keeps a thread's channel in all steps: 1 load. Neither: one a step.",
            shown(one.loads),
        ),
    ]


def _operand_family(design: BroadcastDesign) -> Family:
    """Return which element of an operand any output element needs."""

    def make(operand: str, element: int) -> Derivation:
        position = design.names.index(operand)
        merged = Merged.of(design.out, (design.shapes[position],))
        found = partial(
            ours_steps.operand_index_steps, design, merged.extents, merged.masks[0], element
        )
        label = f"element {element:,}: index in {operand}"
        name = f"index.{operand}.{element}"
        return _later(name, _AXES, label, found()[1], lambda: found()[0])

    parameters = (
        Parameter("operand", design.names, design.names[0]),
        Parameter("element", range(design.elements), min(1000, design.elements - 1)),
    )
    label = "operand index of any output element"
    return Family("index.{operand}.{element}", _AXES, label, parameters, make)


def _bandwidth(design: BroadcastDesign) -> list[Derivation]:
    """Return the bytes that a perfect kernel moves, and the published rows."""
    found = []
    if not design.dynamic and "reduce" not in design.accesses:
        width, sizes = dtype_of(design.dtype).bytes, []
        for shape in design.shapes:
            size = 1
            for extent in shape:
                size *= extent
            sizes.append(size)
        operands = " + ".join(map(shown, sizes)) or "0"
        moved = bytes_moved(design)
        line = equals(f"(2 · {shown(design.elements)} + {operands}) · {width}", moved)
        text = f"x and y once, every operand once, {width} bytes an element."
        steps = (ours_steps.elements_step(design), Step(text, line))
        found.append(_made("bytes", _BANDWIDTH, "bytes moved at best", moved, "bytes", *steps))
    for at, row in enumerate(PUBLISHED):
        where = "×".join(map(str, row.shape))
        rate = row.bytes / row.us / 1000
        count = Step(
            "x and y in float32, and four values a channel.",
            equals(f"8 · {product(row.shape)} + 16 · {row.shape[3]}", row.bytes),
        )
        speed = Step(
            "Over the published time.", equals(f"{shown(row.bytes)} / {row.us:g} / 1000", rate)
        )
        peak = f"{shown(row.bytes)} / {row.us:g} / 1000 / {V100_GB_PER_S:g}"
        share = Step("Over the V100's 900 GB/s.", equals(peak, rate / V100_GB_PER_S))
        base, label = f"published.{at}", f"published, {where}"
        found += [
            _made(f"{base}.bytes", _BANDWIDTH, f"{label}: bytes", row.bytes, "bytes", count),
            _made(f"{base}.gb_per_s", _BANDWIDTH, label, rate, "GB/s", count, speed),
            _made(
                f"{base}.share",
                _BANDWIDTH,
                f"{label}: share",
                rate / V100_GB_PER_S,
                SHARE,
                count,
                share,
            ),
        ]
    return found
