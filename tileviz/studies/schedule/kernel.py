"""The CUDA of a schedule: a tiled product that computes its tiles in the plan's order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tileviz.cuda.kernel import Array, Buffer, Kernel, Reference
from tileviz.cuda.templates import Rendered, render
from tileviz.studies.errors import NotRunnable
from tileviz.studies.schedule.device import order_values
from tileviz.studies.schedule.indices import Indices
from tileviz.studies.schedule.plan import SchedulePlan
from tileviz.studies.schedule.predict import prediction
from tileviz.studies.schedule.tiling import Tiling

KINDS = {"float32": "float", "float16": "half", "bfloat16": "bfloat"}
MAX_SIZE = (1 << 31) - 1


def kernel(plan: SchedulePlan, *, persistent: bool = False) -> Kernel:
    """Generate the product of a plan: float32 C = A B, or C += A B where K is split.

    Args:
        plan: A schedule plan.
        persistent: Launch one block a worker that walks its tasks, instead of a block a task.

    Returns:
        A kernel with buffers ``a`` (M x K), ``b`` (K x N) and ``c`` (M x N), batch outermost.

    Raises:
        NotRunnable: The design has no kernel, and why.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> from tileviz.studies.schedule.plan import plan
        >>> made = kernel(plan(make_design({"study": "schedule", "problem": [300, 500, 64],
        ...     "tile": [64, 64], "policy": "catlass", "offset": 3, "dtype": "float32"})))
        >>> made.grid, made.block, [buffer.name for buffer in made.buffers]
        ((40, 1, 1), (256, 1, 1), ['a', 'b', 'c'])
    """
    builder = Builder.of(plan, persistent)
    rendered = builder.render()
    expected = prediction(plan, builder.tiling, rendered, adds=builder.adds, persistent=persistent)
    return Kernel(
        source=rendered.source,
        entry="gemm",
        grid=(builder.blocks, 1, 1),
        block=(builder.tiling.threads, 1, 1),
        parameters=builder.buffers,
        reference=_reference(plan, builder.adds),
        host_reference=builder.reference_text("gemm_reference.cpp.jinja"),
        numpy_reference=builder.reference_text("gemm_reference.py.jinja"),
        predicted=expected.accesses,
        predicted_whole=expected.whole,
        predict=expected.of_blocks,
        tolerance=_tolerance(plan.design.problem[2]),
    )


@dataclass(frozen=True, eq=False)
class Builder:
    """The parts of one kernel.

    Attributes:
        plan: The plan.
        tiling: How a block's threads share a tile.
        persistent: Whether a block walks several tasks.
    """

    plan: SchedulePlan
    tiling: Tiling
    persistent: bool

    @classmethod
    def of(cls, plan: SchedulePlan, persistent: bool) -> Builder:
        """Return the builder of a plan.

        Raises:
            NotRunnable: The design has no kernel, and why.
        """
        design = plan.design
        if design.dtype not in KINDS:
            known = ", ".join(KINDS)
            raise NotRunnable(f"the product runs with {known}, not {design.dtype}")
        if max(*design.problem, *design.tile) > MAX_SIZE:
            raise NotRunnable(f"sizes up to {MAX_SIZE} are run")
        covered = plan.metrics.coverage
        if not covered.exact:
            wrong = covered.named(covered.missing)[:1] or covered.named(covered.repeated)[:1]
            word = "missed" if len(covered.missing) else "repeated"
            raise NotRunnable(f"tile {wrong[0]} is {word}: the result would be wrong")
        return cls(plan, Tiling.of(plan), persistent)

    @property
    def adds(self) -> bool:
        """Whether several tasks add to one element of C."""
        return self.plan.design.chosen.splits_k

    @property
    def blocks(self) -> int:
        """Blocks launched."""
        schedule = self.plan.schedule
        if not self.persistent:
            return len(schedule)
        return min(schedule.tasks.turns or schedule.workers, len(schedule))

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The three matrices."""
        (m, n, k), kind = self.plan.design.problem, self.plan.design.dtype
        batch = self.plan.design.batch
        weights = self.plan.schedule.planes
        return (
            Buffer("a", kind, (batch, m, k) if batch > 1 else (m, k), "in"),
            Buffer("b", kind, (weights, k, n) if weights > 1 else (k, n), "in"),
            Buffer(
                "c",
                "float32",
                (batch, m, n) if batch > 1 else (m, n),
                "inout" if self.adds else "out",
            ),
        )

    def render(self) -> Rendered:
        """Fill in the template."""
        plan, tiling = self.plan, self.tiling
        return render(
            "gemm.cu.jinja",
            header=self._header(),
            persistent=self.persistent,
            kind=KINDS[plan.design.dtype],
            planes=plan.schedule.planes,
            index=Indices.of(tiling).texts(),
            add="atomic" if self.adds else "",
            **tiling.values(),
            **order_values(plan),
        )

    def _header(self) -> list[str]:
        design = self.plan.design
        m, n, k = design.problem
        settings = design.parameters.model_dump(mode="json")
        words = ", ".join(
            f"{name} {value}"
            for name, value in settings.items()
            if not isinstance(value, list) or len(value) < 3
        )
        launch = f"{self.blocks} persistent blocks" if self.persistent else "one block a task"
        return [
            f"C[{m}, {n}] {'+=' if self.adds else '='} A[{m}, {k}] B[{k}, {n}], {design.dtype} in,"
            f" float32 out, {launch}.",
            f"Tile order: {design.chosen.title}{f' ({words})' if words else ''}.",
        ]

    def reference_text(self, template: str) -> str:
        """Return the product as text, in the template's language."""
        design = self.plan.design
        return render(
            template,
            kind=KINDS[design.dtype],
            width=4 if design.dtype == "float32" else 2,
            planes=self.plan.schedule.tasks.heights or (design.problem[0],) * design.batch,
            n=design.problem[1],
            k=design.problem[2],
            adds=self.adds,
        ).source


def _tolerance(depth: int) -> float:
    """Return the relative error allowed: rounding of sums grows with the root of their length."""
    return float(1e-5 * max(1.0, (depth / 1024) ** 0.5))


def _reference(plan: SchedulePlan, adds: bool) -> Reference:
    """Return the product in NumPy."""
    design, schedule = plan.design, plan.schedule
    (_, n, k), dtype = design.problem, design.dtype
    heights = schedule.tasks.heights or (design.problem[0],) * design.batch
    ends = np.cumsum(heights).tolist()

    def multiply(inputs: Mapping[str, Array]) -> dict[str, Array]:
        a = _values(inputs["a"], dtype).reshape(-1, k)
        b = _values(inputs["b"], dtype).reshape(-1, k, n)
        found = np.empty((len(a), n), np.float64)
        for plane, (end, height) in enumerate(zip(ends, heights, strict=True)):
            found[end - height : end] = a[end - height : end] @ b[plane]
        if adds:
            found += _values(inputs["c"], "float32").reshape(found.shape)
        return {"c": found.astype(np.float32).reshape(-1)}

    return multiply


def _values(flat: Array, dtype: str) -> Any:
    """Return an input as float64."""
    if dtype == "bfloat16":
        return (flat.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return flat.astype(np.float64)
