"""Exports that stand alone: the executed kernel text inside a program that checks itself."""

from __future__ import annotations

from tileviz.cuda.kernel import Kernel
from tileviz.cuda.templates import render
from tileviz.export.host import HostBuffer, HostParameters


def standalone_cu(kernel: Kernel) -> str:
    """Return one .cu file: the kernel byte for byte, host code, and a check of what can be checked.

    With a host reference every element of the output is compared with it. Without one the program
    runs twice: every element of every output must be written, and both runs must agree.

    Args:
        kernel: A kernel; with a host reference it has one output and no scalars.

    Raises:
        ValueError: A buffer's element type is not of whole bytes.

    Example:
        >>> from tileviz import api
        >>> from tileviz.studies.registry import preset
        >>> demo = api.kernel(preset("permute-demo").design)
        >>> demo.source in standalone_cu(demo)
        True
    """
    given = HostParameters.of(kernel)
    target = given.targets[0] if given.targets else None
    dtype = "" if target is None else target.buffer.dtype
    text = kernel.source if kernel.source.endswith("\n") else f"{kernel.source}\n"
    rendered = render(
        "standalone.cu.jinja",
        kernel=_KERNEL,
        arch=needed_arch(kernel.source),
        entry=kernel.entry,
        reference=kernel.host_reference,
        buffers=given.buffers,
        scalars=given.scalars,
        inputs=given.inputs,
        targets=given.targets,
        ran=given.ran,
        target=target,
        arguments=[
            f"&{entry.device if isinstance(entry, HostBuffer) else entry.host}"
            for entry in given.every
        ],
        reference_arguments=", ".join(
            [*(buffer.host for buffer in given.buffers if buffer.role == "in"), "want"]
        ),
        grid=kernel.grid,
        block=kernel.block,
        shared_bytes=kernel.shared_bytes,
        tolerance=kernel.tolerance,
        numbers=any(buffer.masks for buffer in given.inputs),
        truths=any(buffer.truth for buffer in given.inputs),
        kind={"float16": (10, 15), "bfloat16": (7, 127)}.get(dtype),
    ).source
    # Last, so that no template rule touches a byte of it.
    return rendered.replace(_KERNEL, text, 1)


def needed_arch(source: str) -> int:
    """Return the compute capability that a text needs beyond what every compiler builds for, or 0.

    Example:
        >>> needed_arch('asm volatile("cp.async.wait_all;" ::: "memory");'), needed_arch("x = 1;")
        (80, 0)
    """
    return next((arch for mark, arch in _NEEDS.items() if mark in source), 0)


# Instructions that the default architecture of some compiler lacks, the newest first.
_NEEDS = {"stmatrix": 90, "cp.async": 80, "ldmatrix": 75}
_KERNEL = "%KERNEL%\n"
