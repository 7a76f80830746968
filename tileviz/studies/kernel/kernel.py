"""A user's own kernel as a ``Kernel``: no reference, no prediction."""

from __future__ import annotations

from tileviz.cuda.kernel import Buffer, Kernel, Scalar
from tileviz.studies.kernel.plan import KernelPlan


def kernel(plan: KernelPlan) -> Kernel:
    """Return the kernel of a plan, its parameters in the order of the signature."""
    design = plan.design
    parameters: dict[str, Buffer | Scalar] = {
        buffer.name: Buffer(buffer.name, buffer.dtype, buffer.shape, buffer.role)
        for buffer in design.buffers
    }
    parameters |= {s.name: Scalar(s.name, s.dtype, s.value) for s in design.scalars}
    return Kernel(
        source=design.source,
        entry=design.entry,
        grid=design.grid,
        block=design.block,
        parameters=tuple(parameters[name] for name in design.order or tuple(parameters)),
        shared_bytes=design.shared_bytes,
    )
