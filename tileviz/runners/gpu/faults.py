"""Driver and PyCUDA texts in the words of people: what happened, and the remedy."""

from __future__ import annotations

from dataclasses import dataclass

from tileviz.emulator.problems import Kind

INSTALL = "python -m tileviz.runners.install_gpu"
OLDER_NVRTC = "pip install nvidia-cuda-nvrtc-cu12==12.9.86"


@dataclass(frozen=True)
class Fault:
    """One fault, explained.

    Attributes:
        message: One line: what happened.
        fix: The command or step that helps, "" where there is none.
        kind: For a fault of the kernel, the kind of problem; None for one of the machine, which
            another runner need not have.
    """

    message: str
    fix: str = ""
    kind: Kind | None = None

    @property
    def line(self) -> str:
        """Message and remedy in one line."""
        return f"{self.message}; {self.fix}" if self.fix else self.message


# The first row whose words occur in the text holds; texts are those of cuGetErrorString.
_ROWS: tuple[tuple[str, Fault], ...] = (
    ("No module named 'pycuda", Fault("PyCUDA is not installed", INSTALL)),
    (
        "libcuda.so.1: cannot open",
        Fault("no NVIDIA driver: libcuda.so.1 is not found", "install the NVIDIA driver"),
    ),
    (
        "nvcuda.dll",
        Fault("no NVIDIA driver: nvcuda.dll is not found", "install the NVIDIA driver"),
    ),
    (
        "undefined symbol: cu",
        Fault("PyCUDA was built for a newer CUDA than this driver has", f"{INSTALL} --force"),
    ),
    (
        "DLL load failed",
        Fault("PyCUDA was built for another CUDA or Python", f"{INSTALL} --force"),
    ),
    (
        "undefined symbol",
        Fault("PyCUDA was built for another Python or NumPy", f"{INSTALL} --force"),
    ),
    ("numpy", Fault("PyCUDA was built for another NumPy", f"{INSTALL} --force")),
    (
        "driver is a stub library",
        Fault(
            "the libcuda.so.1 that is loaded is a toolkit's stub, not a driver",
            "take the stubs folder out of LD_LIBRARY_PATH",
        ),
    ),
    (
        "no CUDA-capable device",
        Fault("the driver finds no GPU", "look at nvidia-smi and CUDA_VISIBLE_DEVICES"),
    ),
    (
        "invalid device ordinal",
        Fault("there is no GPU of that number", "set TILEVIZ_GPU to one that nvidia-smi lists"),
    ),
    (
        "driver version is insufficient",
        Fault("the NVIDIA driver is too old", "update it; 525 is the oldest that works"),
    ),
    (
        "unsupported display driver",
        Fault("driver and libcuda.so.1 do not belong together", "restart after a driver update"),
    ),
    (
        "driver/library version mismatch",
        Fault("driver and libcuda.so.1 do not belong together", "restart after a driver update"),
    ),
    (
        "forward compatibility",
        Fault("this GPU takes no compatibility driver", "update the NVIDIA driver"),
    ),
    (
        "system not yet initialized",
        Fault("the GPU system is not initialised", "start nvidia-fabricmanager"),
    ),
    (
        "busy or unavailable",
        Fault(
            "another process holds the GPU for itself",
            "end it, or set the compute mode to Default with nvidia-smi -c 0",
        ),
    ),
    (
        "out of memory",
        Fault("the GPU has no memory left", "make the buffers smaller, or end other GPU programs"),
    ),
    (
        "unsupported toolchain",
        Fault("NVRTC is newer than this driver understands", OLDER_NVRTC),
    ),
    (
        "no kernel image is available",
        Fault("the compiled text is for another GPU", "use an NVRTC that knows this GPU"),
    ),
    (
        "illegal memory access",
        Fault(
            "illegal memory access: the kernel used an address outside every allocation",
            "run it on the emulator, which names buffer, thread and line",
            "out_of_bounds",
        ),
    ),
    (
        "misaligned address",
        Fault(
            "misaligned address: a wide access is not a multiple of its width",
            "run it on the emulator, which names thread and line",
            "misaligned",
        ),
    ),
    (
        "launch timed out",
        Fault(
            "the driver ended the kernel: on a GPU with a screen it may run for a second or two",
            "make it shorter",
            "limit",
        ),
    ),
    (
        "device-side assert",
        Fault("an assert in the kernel failed", "read its text on the server's output", "trap"),
    ),
    ("illegal instruction", Fault("illegal instruction, or __trap()", "", "trap")),
    (
        "unspecified launch failure",
        Fault(
            "the kernel failed: often shared memory out of bounds, or a trap",
            "run it on the emulator, which names thread and line",
            "trap",
        ),
    ),
    (
        "too many resources",
        Fault(
            "a block asks for more registers or shared memory than the GPU has",
            "make the block smaller",
            "limit",
        ),
    ),
    (
        "named symbol not found",
        Fault("the compiled text has no kernel of that name", "", "compile"),
    ),
    (
        "cuFuncSetAttribute failed: invalid argument",
        Fault("a block asks for more shared memory than the GPU has", "ask for less", "limit"),
    ),
    (
        "cuLaunchKernel failed: invalid argument",
        Fault("the GPU refuses the launch: grid, block or shared memory", "", "limit"),
    ),
)


def explain(text: str) -> Fault:
    """Return what a text of the driver or of PyCUDA means; itself where it is not known.

    Example:
        >>> explain("cuInit failed: no CUDA-capable device is detected").line
        'the driver finds no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES'
        >>> explain("cuCtxSynchronize failed: misaligned address").kind
        'misaligned'
    """
    for words, fault in _ROWS:
        if words in text:
            return fault
    return Fault(" ".join(text.split())[:300] or "the GPU driver failed without a word")
