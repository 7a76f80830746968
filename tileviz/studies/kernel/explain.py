"""A user's own kernel in words."""

from __future__ import annotations

from tileviz.studies.kernel.plan import KernelPlan
from tileviz.studies.statement import Statement, TextTable


def launch(plan: KernelPlan) -> str:
    """Return the launch in words.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> from tileviz.studies.kernel.plan import plan
        >>> launch(plan(preset("kernel-transpose").design))
        '2×2 blocks of 32×8 threads, 1,024 in all'
    """
    design = plan.design
    blocks, threads = _extents(design.grid), _extents(design.block)
    many = f"{blocks} block{'s' * (blocks != '1')} of {threads} thread{'s' * (threads != '1')}"
    return many if blocks == "1" else f"{many}, {plan.threads:,} in all"


def _extents(three: tuple[int, int, int]) -> str:
    """Return extents without the ones at their end."""
    used = max((axis for axis in range(3) if three[axis] > 1), default=0)
    return "×".join(f"{extent:,}" for extent in three[: used + 1])


def verdict(plan: KernelPlan) -> Statement:
    """Return the one sentence that sums up a launch."""
    sentence = f"{plan.design.entry}: {launch(plan)}."
    return Statement("ok", sentence, "Nothing is predicted for your own text; run it to measure.")


def tables(plan: KernelPlan) -> tuple[TextTable, ...]:
    """Return the parameters in the order of the signature, for the terminal."""
    design = plan.design
    rows: dict[str, tuple[str, ...]] = {
        b.name: (b.name, b.dtype, "×".join(map(str, b.shape)), b.role) for b in design.buffers
    }
    rows |= {s.name: (s.name, s.dtype, str(s.value), "scalar") for s in design.scalars}
    ordered = tuple(rows[name] for name in design.order or tuple(rows))
    return (TextTable("parameters", ("name", "dtype", "shape or value", "role"), ordered),)
