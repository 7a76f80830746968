"""Whether a stranger's kernel may run on this server's GPU: only when its owner says so.

The emulator runs any text in a worker without rights. A GPU has no such walls: one kernel can hang
the device for everybody who uses it.
"""

from __future__ import annotations

import os

from tileviz.cuda.kernel import Kernel
from tileviz.errors import DesignError

VARIABLE = "TILEVIZ_ALLOW_OWN_KERNELS_ON_GPU"
REASON = f"own kernels run on the emulator only; the server's owner can set {VARIABLE}=1"


def own_kernels_on_gpu() -> bool:
    """Return whether the owner of this server lets the pages run own kernels on its GPU."""
    return os.environ.get(VARIABLE, "").strip() == "1"


def check_runner(kernel: Kernel, on: str) -> None:
    """Refuse a runner that a page must not use for a kernel.

    A kernel without a reference is somebody's own text; the others are generated here.

    Args:
        kernel: What would run.
        on: The runner's name; everything but ``"emulator"`` may mean the GPU.

    Raises:
        DesignError: It is an own kernel, meant for the GPU, and the owner has not allowed it.

    Example:
        >>> check_runner(Kernel("", "k", (1, 1, 1), (32, 1, 1), ()), "emulator")
    """
    if kernel.reference is None and on != "emulator" and not own_kernels_on_gpu():
        raise DesignError("on", REASON, on)
