"""A user's own kernel in words."""

from __future__ import annotations

from tileviz.studies.kernel.plan import KernelPlan
from tileviz.studies.statement import Statement, TextTable


def verdict(plan: KernelPlan) -> Statement:
    """Return the one sentence that sums up a launch."""
    design = plan.design
    grid, block = ("×".join(map(str, extents)) for extents in (design.grid, design.block))
    sentence = f"{design.entry}: {grid} blocks of {block} threads."
    return Statement("ok", sentence, "Nothing is predicted for your own text; run it to measure.")


def tables(plan: KernelPlan) -> tuple[TextTable, ...]:
    """Return the parameters, for the terminal."""
    design = plan.design
    rows: list[tuple[str, ...]] = [
        (b.name, b.dtype, "×".join(map(str, b.shape)), b.role) for b in design.buffers
    ]
    rows += [(s.name, s.dtype, str(s.value), "scalar") for s in design.scalars]
    return (TextTable("parameters", ("name", "dtype", "shape or value", "role"), tuple(rows)),)
