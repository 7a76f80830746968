"""The numbers of a user's own launch, unfolded; what it costs is measured (``runners.derive``)."""

from __future__ import annotations

from functools import partial
from math import prod

from tileviz.dtypes import dtype as dtype_of
from tileviz.studies.arithmetic import equals, product, shown
from tileviz.studies.derivation import Derivation, Numbers, Step
from tileviz.studies.kernel.plan import KernelPlan

_LAUNCH, _BUFFERS = "Launch", "Buffers"


def numbers(plan: KernelPlan) -> Numbers:
    """Return every number of a plan.

    Example:
        >>> from tileviz import api
        >>> mine = api.design(study="kernel", source="", entry="f", grid=[4, 2], block=[32, 8])
        >>> numbers(api.plan(mine)).find("threads").steps[0].arithmetic
        '4 · 2 · 1 · 32 · 8 · 1 = 2,048'
    """
    design = plan.design
    found = []
    for name, extents in (("grid", design.grid), ("block", design.block)):
        for at, (axis, extent) in enumerate(zip("xyz", extents, strict=True)):
            found.append(_made(f"{name}.{at}", _LAUNCH, f"{name}, {axis}", extent, "",
                               Step("As the launch says.", shown(extent))))  # fmt: skip
    line = equals(product((*design.grid, *design.block)), plan.threads)
    step = Step("Blocks of the grid, times threads of a block.", line)
    found.append(_made("threads", _LAUNCH, "threads", plan.threads, "", step))
    warps = -(-prod(design.block) // 32)
    line = equals(f"ceil({product(design.block)} / 32)", warps)
    step = Step("32 threads a warp; the last may be partly idle.", line)
    found.append(_made("warps", _LAUNCH, "warps a block", warps, "", step))
    for buffer in design.buffers:
        width = dtype_of(buffer.dtype).bytes
        count = prod(buffer.shape) * width
        line = equals(f"{product(buffer.shape)} · {width}", count)
        step = Step(f"Elements, {width} bytes each ({buffer.dtype}).", line)
        label = f"size of {buffer.name}"
        found.append(_made(f"bytes.{buffer.name}", _BUFFERS, label, count, "bytes", step))
    return Numbers(tuple(found))


def _made(name: str, group: str, label: str, value: int, unit: str, step: Step) -> Derivation:
    return Derivation(name, group, label, value, unit, partial(list[Step], [step]))
