"""The numbers that each study compares, and what has to agree before they can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from tileviz.comparing.measures import Direction, Measure, Value
from tileviz.cuda.kernel import source_lines
from tileviz.dtypes import dtype as dtype_of

Work = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class StudyNumbers:
    """How two plans of a study are compared.

    Attributes:
        measures: Makes the numbers of two plans; is told whether both do the same work.
        work: What a plan does, as (name, value): absolute numbers compare only where it is equal.
        remarks: What else is worth a word about two plans.
        neither: What is said where no deciding number differs; "" for the usual words.
    """

    measures: Callable[[Any, Any, bool], Sequence[Measure]]
    work: Callable[[Any], Work]
    remarks: Callable[[Any, Any], Sequence[str]] = lambda left, right: ()
    neither: Callable[[Any, Any], str] = lambda left, right: ""


_TIMES = ("times the ideal", "times the ideal")
_UNITS = {"shared": ("wavefront", "wavefronts"), "global": ("sector", "sectors")}


# -- permute --------------------------------------------------------------------------------------


def _permute(left: Any, right: Any, same_work: bool) -> list[Measure]:
    unit = _UNITS[left.design.space]
    fewer: Direction = "lower" if same_work else ""
    return [
        Measure("schedule", "has a schedule", lambda p: p.chosen is not None, "yes", "higher", True,
                words=("has a schedule", "has none")),
        Measure("overwritten", "elements lost to overlapping stages", _overwritten,
                better="lower", decides=True, unit=("element lost", "elements lost")),
        Measure("total", f"both phases, {unit[1]}", _total("cost"), better=fewer,
                decides=same_work, unit=unit),
        Measure("per_ideal", "times the ideal", _per_ideal, "times", "lower", not same_work,
                slack=1e-9, unit=_TIMES),
        Measure("read", "read", _phase("read"), better=fewer, unit=unit, aside=same_work),
        Measure("write", "write", _phase("write"), better=fewer, unit=unit, aside=same_work),
        Measure("ideal", "ideal", _total("ideal"), unit=unit),
        Measure("excess", "excess", _total("excess"), better=fewer, unit=unit),
        Measure("plain", "plain order (k = 0)", _plain, better=fewer, unit=unit, aside=same_work),
        Measure("lower_bound", "proven bound, a phase",
                lambda p: None if p.ours is None else p.ours.to_json()["lower_bound"], unit=unit),
        Measure("registers", "accesses a phase",
                lambda p: None if p.chosen is None else p.chosen.registers),
        Measure("kind", "kind", lambda p: None if p.ours is None else p.ours.to_json()["kind"],
                "text"),
        Measure("reference", "reference", _reference, "text", aside=True),
    ]  # fmt: skip


def _overwritten(plan: Any) -> Value:
    """Return how many elements overlapping stages lose; None where there is one stage."""
    if plan.design.stage_count == 1:
        return None
    return 0 if plan.overlap is None else int(plan.overlap.count)


def _phase(name: str) -> Callable[[Any], Value]:
    """Return what takes the cost of one phase."""
    return lambda plan: None if plan.chosen is None else getattr(plan.chosen, name).cost


def _total(what: str) -> Callable[[Any], Value]:
    """Return what takes a figure of both phases together."""

    def of(plan: Any) -> Value:
        chosen = plan.chosen
        if chosen is None:
            return None
        total: int = getattr(chosen.read, what) + getattr(chosen.write, what)
        return total

    return of


def _per_ideal(plan: Any) -> Value:
    cost, ideal = _total("cost")(plan), _total("ideal")(plan)
    return None if not isinstance(cost, int) or not ideal else cost / float(ideal)


def _plain(plan: Any) -> Value:
    cost: Value = plan.schedules[0].cost if plan.schedules else None
    return cost


def _reference(plan: Any) -> Value:
    found = plan.reference
    words = {"ok": f"accepts, k = {found.k}", "fail": "declines", "reject": "rejects"}
    return words[found.outcome]


def _permute_work(plan: Any) -> Work:
    design = plan.design
    return (
        ("elements", prod(plan.extents)),
        ("dtype", design.tile_dtype("src")),
        ("space", design.space),
    )


# -- schedule -------------------------------------------------------------------------------------


def _schedule(left: Any, right: Any, same_work: bool) -> list[Measure]:
    # Smaller tiles read more and hit more: then only what is missed tells.
    same_tile = left.design.tile == right.design.tile
    fewer: Direction = "lower" if same_work else ""

    def figure(name: str) -> Callable[[Any], Value]:
        return lambda plan: plan.scalars()[name]

    return [
        Measure("wrong_tiles", "tiles missed or repeated",
                lambda p: len(p.metrics.coverage.missing) + len(p.metrics.coverage.repeated),
                better="lower", decides=True, unit=("wrong tile", "wrong tiles")),
        Measure("l2_hit_rate", "L2 hit rate", figure("l2_hit_rate"), "percent", "higher",
                same_work and same_tile, slack=0.005),
        Measure("miss_bytes", "missed in L2", figure("miss_bytes"), "bytes",
                fewer, same_work and not same_tile, aside=same_work),
        Measure("balance", "balance, largest / mean", figure("balance"), "ratio", "lower",
                same_work, slack=0.005),
        Measure("mean_wave_footprint_bytes", "mean wave footprint",
                figure("mean_wave_footprint_bytes"), "bytes", fewer, aside=same_work),
        Measure("padding", "padding", figure("padding"), "percent", "lower"),
        Measure("waves", "waves", figure("waves")),
        Measure("count", "tasks", lambda p: len(p.schedule)),
        Measure("operand_bytes", "A and B, whole tiles", lambda p: p.metrics.operand_bytes,
                "bytes"),
    ]  # fmt: skip


def _schedule_work(plan: Any) -> Work:
    design = plan.design
    return (("problem", design.problem), ("batch", design.batch), ("dtype", design.dtype))


def _schedule_remarks(left: Any, right: Any) -> list[str]:
    one, two = left.design, right.design
    found = []
    if (one.workers, one.l2_bytes) != (two.workers, two.l2_bytes):
        found.append("Their machines differ, in workers or L2.")
    if one.tile != two.tile:
        found.append("Tiles differ: hit rates are of different reads.")
    return found


def _schedule_neither(left: Any, right: Any) -> str:
    if _schedule_work(left) == _schedule_work(right):
        return ""
    return "Open: the products differ, so no number says which order is better."


# -- broadcast ------------------------------------------------------------------------------------


def _broadcast(left: Any, right: Any, same_work: bool) -> list[Measure]:
    def ours(name: str) -> Callable[[Any], Value]:
        return lambda plan: None if plan.ours is None else getattr(plan.ours, name)

    loads = ("load per thread", "loads per thread")
    same_type = left.design.dtype == right.design.dtype
    return [
        Measure("plan", "has our plan", lambda p: p.ours is not None, "yes", "higher", True,
                words=("has a plan of ours", "has none")),
        Measure("broadcast_loads_per_thread", "ours: loads of a value", ours("loads_per_thread"),
                better="lower", decides=True, unit=loads),
        Measure("applies", "CINN's tactic applies", lambda p: p.cinn.applies, "yes", "higher",
                True, words=("is taken by CINN's tactic", "is declined")),
        Measure("launchable", "CINN's kernel launches", lambda p: p.cinn.launchable, "yes",
                "higher", True, words=("can be launched", "exceeds the grid")),
        Measure("loads_before", "general tactic: loads of a value", lambda p: p.loads_before,
                better="lower", unit=loads, aside=True),
        Measure("loads_after", "CINN: loads of a value", lambda p: p.loads_after,
                better="lower", unit=loads),
        Measure("lane_use", "CINN: lanes used", lambda p: p.cinn.lane_use, "percent", "higher",
                True, slack=0.005),
        Measure("vector", "ours: elements an access", ours("vector"),
                better="higher" if same_type else "", decides=same_type,
                unit=("element", "elements")),
        Measure("kind", "ours: kind", ours("kind"), "text"),
        Measure("grid", "ours: blocks", ours("grid")),
        Measure("steps", "ours: steps", ours("steps")),
        Measure("K", "CINN: block size K",
                lambda p: None if p.cinn.launch is None else p.cinn.launch.K),
        Measure("bytes", "bytes moved, at least", _bytes_moved, "bytes"),
    ]  # fmt: skip


def _bytes_moved(plan: Any) -> Value:
    from tileviz.studies.broadcast.plan import bytes_moved

    return None if plan.design.dynamic else bytes_moved(plan.design)


def _broadcast_work(plan: Any) -> Work:
    design = plan.design
    elements: object = "dynamic" if design.dynamic else design.elements
    return (
        ("elements", elements),
        ("dtype", design.dtype),
        ("expression", design.expression),
    )


# -- access ---------------------------------------------------------------------------------------


def _access(left: Any, right: Any, same_work: bool) -> list[Measure]:
    unit = _UNITS[left.design.space]
    fewer: Direction = "lower" if same_work else ""
    found = [
        Measure("cost", _access_name(left), lambda p: p.verdict.cost, better=fewer,
                decides=same_work, unit=unit),
        Measure("per_ideal", "times the ideal", _access_ratio, "times", "lower", not same_work,
                slack=1e-9, unit=_TIMES),
        Measure("ideal", "ideal", lambda p: p.verdict.ideal, unit=unit),
        Measure("excess", "excess", lambda p: p.verdict.excess, better=fewer, unit=unit),
        Measure("n_way", "most passes of one group (n-way)", lambda p: p.verdict.n_way,
                better="lower", aside=True),
        Measure("lines", "lines of 128 bytes", lambda p: p.verdict.lines, better=fewer),
        Measure("bytes_used", "bytes asked for", lambda p: p.verdict.bytes_used),
    ]  # fmt: skip
    names = list(dict.fromkeys(other.phase.name for plan in (left, right) for other in plan.also))
    for number, name in enumerate(names):
        found.insert(
            2 + number,
            Measure(f"also.{name}", f"also {name}", _also(name), better=fewer, decides=same_work,
                    unit=unit),
        )  # fmt: skip
    return found


def _access_name(plan: Any) -> str:
    from tileviz.studies.access.phases import phases_of

    design = plan.design
    name = f"{design.op} {design.width} B" if design.layout is None else phases_of(design)[0].name
    return f"{name}, {_UNITS[design.space][1]}"


def _access_ratio(plan: Any) -> Value:
    ideal = plan.verdict.ideal
    return plan.verdict.cost / ideal if ideal else None


def _also(name: str) -> Callable[[Any], Value]:
    def of(plan: Any) -> Value:
        return next((o.verdict.cost for o in plan.also if o.phase.name == name), None)

    return of


def _access_work(plan: Any) -> Work:
    design = plan.design
    return (
        ("space", design.space),
        ("op", design.op),
        ("bytes", design.width),
        ("lanes", int(plan.accesses.active.sum())),
    )


# -- layout ---------------------------------------------------------------------------------------


def _layout(left: Any, right: Any, same_work: bool) -> list[Measure]:
    return [
        Measure("result", "gives a layout", lambda p: p.result is not None, "yes", "higher", True,
                words=("gives a layout", "gives none")),
        Measure("one_to_one", "one-to-one", _one_to_one, "yes", "higher", True,
                words=("is one-to-one", "is not")),
        Measure("elements", "elements", lambda p: _facts(p).size),
        Measure("copies", "copies of each", lambda p: _facts(p).copies),
        Measure("span", "span, elements", _span, aside=True),
        Measure("idle", "idle addresses", lambda p: _facts(p).idle, aside=True),
        Measure("digits", "digits", lambda p: len(_tile(p).shard)),
    ]  # fmt: skip


def _made(plan: Any) -> Any:
    return plan.operand if plan.result is None else plan.result


def _tile(plan: Any) -> Any:
    made = _made(plan)
    return getattr(made, "tile", made)


@lru_cache(maxsize=4)
def _facts(plan: Any) -> Any:
    """Return what is true of a plan's layout; five numbers ask, and large layouts are sorted."""
    from tileviz.studies.layout.forms import facts_of

    shape = plan.operand_shape if plan.result is None else plan.result_shape
    return facts_of(_made(plan), shape)


def _one_to_one(plan: Any) -> Value:
    facts = _facts(plan)
    return facts.collision is None if facts.checked else None


def _span(plan: Any) -> Value:
    spans = dict(_facts(plan).span)
    return next(iter(spans.values())) if len(spans) == 1 else None


def _layout_work(plan: Any) -> Work:
    return (("elements", _facts(plan).size),)


def _layout_neither(left: Any, right: Any) -> str:
    """Say how many elements lie elsewhere, counted over every element."""
    from tileviz.studies.layout.physical import MAX_ADDRESSES

    one, two = _made(left), _made(right)
    if one.size != two.size or one.size > MAX_ADDRESSES:
        return "Neither is better: nothing here says which layout is wanted."
    tables = one.table(), two.table()
    if set(tables[0]) != set(tables[1]):
        return "Neither is better: they map to different axes."
    moved: Any = 0
    for axis in tables[0]:
        moved = moved | (tables[0][axis].ravel() != tables[1][axis].ravel())
    count = int(moved.sum()) if tables[0] else 0
    if not count:
        return f"Equal: all {one.size:,} elements have the same address."
    return f"Neither is better: {count:,} of {one.size:,} elements have another address."


# -- kernel ---------------------------------------------------------------------------------------


def _kernel(left: Any, right: Any, same_work: bool) -> list[Measure]:
    return [
        Measure("threads", "threads", lambda p: p.threads),
        Measure("blocks", "blocks", lambda p: prod(p.design.grid)),
        Measure("block", "threads a block", lambda p: prod(p.design.block)),
        Measure("shared_bytes", "dynamic shared bytes", lambda p: p.design.shared_bytes),
        Measure("lines", "lines of text", lambda p: len(source_lines(p.design.source))),
        Measure("buffer_bytes", "bytes of buffers", _buffer_bytes),
    ]


def _buffer_bytes(plan: Any) -> Value:
    total = 0
    for buffer in plan.design.buffers:
        total += prod(buffer.shape) * dtype_of(buffer.dtype).bytes
    return total


def _kernel_work(plan: Any) -> Work:
    return tuple(
        (b.name, f"{'×'.join(map(str, b.shape))} {b.dtype} {b.role}") for b in plan.design.buffers
    )


def _kernel_neither(left: Any, right: Any) -> str:
    return "Open: nothing is predicted for kernels of your own; run both to compare them."


# A further study is one entry here; one without an entry still has inputs, tables and CUDA.
NUMBERS: dict[str, StudyNumbers] = {
    "permute": StudyNumbers(_permute, _permute_work),
    "schedule": StudyNumbers(_schedule, _schedule_work, _schedule_remarks, _schedule_neither),
    "broadcast": StudyNumbers(_broadcast, _broadcast_work),
    "access": StudyNumbers(_access, _access_work),
    "layout": StudyNumbers(_layout, _layout_work, neither=_layout_neither),
    "kernel": StudyNumbers(_kernel, _kernel_work, neither=_kernel_neither),
}
