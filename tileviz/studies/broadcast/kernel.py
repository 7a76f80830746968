"""The CUDA of a broadcast plan in three versions: before, CINN's tactic, ours."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.expr import Var
from tileviz.cuda.kernel import Buffer, Kernel
from tileviz.cuda.templates import Rendered, render
from tileviz.dtypes import dtype as dtype_of
from tileviz.memory import Accesses
from tileviz.studies.broadcast.axes import position
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.expressions import EPSILON
from tileviz.studies.broadcast.general import operand_digits
from tileviz.studies.broadcast.ours import THREADS
from tileviz.studies.broadcast.plan import BroadcastPlan
from tileviz.studies.broadcast.portion import VERSIONS, Portion, Version, operand_size, portion
from tileviz.studies.broadcast.reference import reference
from tileviz.studies.broadcast.scalar import ScalarSchedule, general_schedule, tactic_schedule
from tileviz.studies.broadcast.scalar_kernel import predict_scalar, render_scalar
from tileviz.studies.broadcast.text import common
from tileviz.studies.broadcast.values import ValueType
from tileviz.studies.broadcast.vector import VectorSchedule
from tileviz.studies.broadcast.vector_kernel import predict_vector, render_vector
from tileviz.studies.errors import NotRunnable

# Launches of up to this size are predicted whole, bigger ones by one block.
PREDICTED_THREADS = 1 << 16
PREDICTED_ELEMENTS = 1 << 21
PREDICTED_SLOTS = 1 << 24

Blocks = NDArray[np.int64]
Schedule = ScalarSchedule | VectorSchedule


@dataclass(frozen=True, eq=False)
class Prepared:
    """One version of a plan, scheduled and written.

    Attributes:
        design: The design.
        version: Which version.
        portion: How much of the design it handles.
        schedule: Which elements each thread handles.
        rendered: The text.
    """

    design: BroadcastDesign
    version: Version
    portion: Portion
    schedule: Schedule
    rendered: Rendered

    @property
    def grid(self) -> tuple[int, int]:
        """Blocks in x and y."""
        return self.portion.grid

    @property
    def block(self) -> tuple[int, int]:
        """Threads in x and y."""
        if isinstance(self.schedule, VectorSchedule):
            return (THREADS, 1)
        return self.schedule.places.block

    @property
    def threads(self) -> int:
        """Threads of the launch."""
        return self.grid[0] * self.grid[1] * self.block[0] * self.block[1]

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return dtype_of(self.design.dtype).bytes

    @property
    def slots(self) -> int:
        """Most (thread, step) pairs of a block."""
        if isinstance(self.schedule, VectorSchedule):
            stride = self.grid[0] * THREADS
            most = -(-self.schedule.vectors // stride) if self.schedule.stationary else 0
            return THREADS * max(self.schedule.plan.unroll, most)
        return self.schedule.threads * self.schedule.serial

    def blocks(self) -> Blocks:
        """Return the blocks that a prediction speaks of: all, or one in the middle."""
        count = self.grid[0] * self.grid[1]
        few = self.threads <= PREDICTED_THREADS and self.portion.elements <= PREDICTED_ELEMENTS
        return np.arange(count) if few else np.array([count // 2])

    def predict(self, blocks: Blocks | None = None) -> tuple[Accesses, ...]:
        """Return the accesses of some blocks, from the expressions printed in the text.

        Args:
            blocks: Linear block numbers (x fastest), int64 ``[block]``; None for `blocks`.

        Returns:
            The accesses; none where the blocks do too much to be followed.
        """
        wanted = self.blocks() if blocks is None else blocks
        if len(wanted) * self.slots > PREDICTED_SLOTS:
            return ()
        if isinstance(self.schedule, VectorSchedule):
            return predict_vector(self.design, self.schedule, self.rendered, wanted)
        return predict_scalar(self.design, self.schedule, self.rendered, wanted)


def prepare(plan: BroadcastPlan, version: Version = "ours", whole: bool | None = None) -> Prepared:
    """Schedule and write one version of a plan.

    Args:
        plan: A broadcast plan.
        version: ``before`` (the general tactic), ``cinn`` (the broadcast tactic, or the general
            one where it declines) or ``ours``.
        whole: All of the design, a sample, or what an emulator manages (None).

    Raises:
        NotRunnable: The design has no such kernel, and why.
    """
    design = plan.design
    if version not in VERSIONS:
        raise ValueError(f"no such version: {version}")
    _check_runnable(plan, version)
    part = portion(plan, version, whole)
    header = [_description(plan, version)]
    if version == "ours":
        assert plan.ours is not None
        ours = VectorSchedule(plan.ours, part.elements, part.grid[0])
        return Prepared(design, version, part, ours, render_vector(design, ours, header))
    launch = plan.cinn.launch
    if version == "cinn" and launch is not None:
        tactic = tactic_schedule(design, launch)
    else:
        assert plan.before is not None
        tactic = general_schedule(design, plan.before)
    text = render_scalar(design, tactic, header)
    cut = replace(tactic, places=replace(tactic.places, grid=part.grid))
    return Prepared(design, version, part, cut, text)


def kernel(plan: BroadcastPlan, version: Version = "ours", whole: bool | None = None) -> Kernel:
    """Generate one version of a plan's kernel.

    Args:
        plan: A broadcast plan.
        version: ``before``, ``cinn`` or ``ours``.
        whole: All of the design (True), a sample (False), or all where an emulator manages that
            and else a sample (None). The text is the same, but for our own count of vectors.

    Raises:
        NotRunnable: The design has no such kernel, and why.

    Example:
        >>> from tileviz.studies.design import validated
        >>> from tileviz.studies.broadcast.plan import plan
        >>> seed = plan(validated(BroadcastDesign, {"operands": [[192]], "out": [8, 28, 28, 192]}))
        >>> [line.strip() for line in kernel(seed, "cinn").source.splitlines() if "b[" in line]
        ['const float b_value = b[c];']
    """
    made = prepare(plan, version, whole)
    design, part = plan.design, made.portion
    values = ValueType.of(design.dtype)
    return Kernel(
        source=made.rendered.source,
        entry="broadcast",
        grid=(*part.grid, 1),
        block=(*made.block, 1),
        parameters=_buffers(design, part),
        reference=reference(design, part, values),
        host_reference=_host_reference(design, part),
        numpy_reference=_numpy_reference(design, part),
        predicted=made.predict(),
        predicted_whole=len(made.blocks()) == part.grid[0] * part.grid[1],
        predict=made.predict,
        tolerance=values.tolerance(design.formula),
        part=part.note,
    )


def whole(plan: BroadcastPlan) -> Kernel:
    """Return our kernel of all of a design, for programs that run elsewhere.

    Raises:
        NotRunnable: The design has no such kernel, and why.

    Example:
        >>> from tileviz import api
        >>> from tileviz.studies.registry import preset
        >>> published = api.plan(preset("broadcast-published-256x64x64x192").design)
        >>> whole(published).buffers[0].count, kernel(published).buffers[0].count
        (201326592, 14412288)
    """
    return kernel(plan, whole=True)


def _check_runnable(plan: BroadcastPlan, version: Version) -> None:
    if plan.ours_reason is not None:
        raise NotRunnable(plan.ours_reason)
    values = ValueType.of(plan.design.dtype)
    if plan.design.formula.floating and not values.floating:
        raise NotRunnable(f"{plan.design.expression} needs a floating type, not {values.name}")
    if version == "cinn" and plan.cinn.launchable is False:
        assert plan.cinn.launch is not None
        x, y = plan.cinn.launch.grid
        raise NotRunnable(f"the tactic's grid of {x} × {y} blocks cannot be launched: y over 65535")


def _description(plan: BroadcastPlan, version: Version) -> str:
    if version == "ours":
        assert plan.ours is not None
        return f"Ours, {plan.ours.kind}: {_loads(plan.ours.loads_per_thread)}."
    launch = plan.cinn.launch
    if version == "cinn" and launch is not None:
        steps = f"{launch.serial} step{'s' * (launch.serial > 1)} a thread"
        return f"CINN's broadcast tactic, {launch.kind}: {steps}, {_loads(1)}."
    assert plan.before is not None
    serial = plan.before.serial
    steps = f"{serial} step{'s' * (serial > 1)} a thread, {_loads(plan.loads_before or 0)}"
    if version == "cinn":
        return f"CINN's broadcast tactic declines ({plan.cinn.reason}). General tactic: {steps}."
    return f"Before, the general tactic: {steps}."


def _loads(count: int) -> str:
    if count == 0:
        return "no operand is broadcast"
    return f"broadcast values loaded {'once' if count == 1 else f'{count} times'}"


def _buffers(design: BroadcastDesign, part: Portion) -> tuple[Buffer, ...]:
    whole = design.out if part.complete else (part.elements,)
    found = [Buffer("x", design.dtype, whole, "in")]
    for k, (name, shape) in enumerate(zip(design.names, design.shapes, strict=True)):
        needed = operand_size(design, k, part.elements)
        full = int(np.prod(shape, dtype=np.int64))
        fitting = (shape or (1,)) if needed == full else (needed,)
        found.append(Buffer(name, design.dtype, fitting, "in", positive=name == "var"))
    found.append(Buffer("y", design.dtype, whole, "out"))
    return tuple(found)


def _host_reference(design: BroadcastDesign, part: Portion) -> str:
    """Return the expression in C++, straight from the shapes."""
    shared = common(design, [])
    text = shared["formula"].replace("fmaf(", "std::fma(").replace("rsqrtf(", "1 / std::sqrt(")
    text = text.replace("rsqrt(", "1 / std::sqrt(")
    return render(
        "broadcast_reference.cpp.jinja",
        **{**shared, "formula": text},
        elements=part.elements,
        reads=_reads(design),
    ).source


def _numpy_reference(design: BroadcastDesign, part: Portion) -> str:
    """Return the expression in Python, straight from the shapes."""
    shared = common(design, [])
    text = shared["formula"].replace("fmaf(", "fma(").replace("rsqrtf(", "rsqrt(")
    return render(
        "broadcast_reference.py.jinja",
        **{**shared, "formula": text, "epsilon": EPSILON},
        elements=part.elements,
        reads=[(name, index.replace(" / ", " // ")) for name, index in _reads(design)],
    ).source


def _reads(design: BroadcastDesign) -> list[tuple[str, str]]:
    """Return every operand's name, and its index as a formula of the flat index ``i``."""
    return [
        (name, str(position(Var("i"), operand_digits(design, k))))
        for k, name in enumerate(design.names)
    ]
