"""What the worker needs of a device: small enough for a stand-in that has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tileviz.cuda.kernel import Array


@dataclass(frozen=True)
class Facts:
    """What a device says of itself.

    Attributes:
        name: Its name, ``NVIDIA H200``.
        capability: Compute capability: (9, 0) for ``sm_90``.
        driver: The newest CUDA version the driver knows, 13000 for 13.0.
        memory_bytes: Global memory.
        multiprocessors: Streaming multiprocessors.
        l2_bytes: L2 cache, 0 where it is not told.
        shared_bytes: Most shared memory a block may ask for.
        clock_mhz: Highest clock of the multiprocessors, 0 where it is not told.
        display: Whether kernels that run for seconds are ended, as on a card with a screen.
        library: The binding and its version: ``PyCUDA 2026.1``.
    """

    name: str
    capability: tuple[int, int]
    driver: int
    memory_bytes: int
    multiprocessors: int
    l2_bytes: int
    shared_bytes: int
    clock_mhz: float
    display: bool
    library: str

    @property
    def arch(self) -> str:
        """The real architecture: ``sm_90``."""
        return "sm_{}{}".format(*self.capability)

    @property
    def driver_text(self) -> str:
        """The CUDA version as people write it: ``13.0``."""
        return f"{self.driver // 1000}.{self.driver % 1000 // 10}"


@dataclass(frozen=True)
class Usage:
    """What a loaded kernel takes, as the driver tells: per thread, and shared per block."""

    registers: int
    local_bytes: int
    shared_bytes: int


class DeviceError(Exception):
    """The device, or the driver, refused something; the message is the driver's own text.

    Attributes:
        fatal: Whether the context is lost: then only a new process can use the device.
    """

    def __init__(self, message: str, *, fatal: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.fatal = fatal


@dataclass(frozen=True)
class Pointer:
    """Device memory given to a kernel: its address, and how many bytes are its own."""

    address: int
    bytes: int


@dataclass(frozen=True)
class Value:
    """A by-value argument: its NumPy type and the value."""

    dtype: str
    value: int | float


Argument = Pointer | Value
Action = Callable[[], None]


@dataclass(frozen=True)
class Launch:
    """A kernel with everything but its launch.

    Attributes:
        function: What ``Device.function`` returned.
        grid: Blocks in x, y, z.
        block: Threads in x, y, z.
        shared_bytes: Dynamic shared memory per block.
        arguments: In parameter order.
    """

    function: Any
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[Argument, ...]


class Event(Protocol):
    """A point in the stream of work."""

    def record(self) -> None:
        """Put the point behind everything launched so far."""

    def ready(self) -> bool:
        """Return whether the device has passed it."""

    def since(self, earlier: Any) -> float:
        """Return the microseconds between an earlier event and this one."""


class Device(Protocol):
    """A device with a context of its own. Everything may raise ``DeviceError``."""

    @property
    def facts(self) -> Facts:
        """What the device says of itself."""

    def free_bytes(self) -> int:
        """Return the bytes of device memory that are free."""

    def allocate(self, size: int) -> int:
        """Return the address of ``size`` new bytes, a multiple of 256."""

    def release(self, address: int) -> None:
        """Free what ``allocate`` gave; never raises."""

    def write(self, address: int, data: Array) -> None:
        """Copy an array to the device."""

    def read(self, address: int, size: int) -> Array:
        """Return ``size`` bytes of the device as uint8."""

    def fill(self, address: int, value: int, size: int) -> None:
        """Set bytes to ``value``, in stream order; may return before it is done."""

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy on the device, in stream order; may return before it is done."""

    def load(self, image: bytes) -> Any:
        """Load machine code, or PTX text that ends with a NUL, and return the module."""

    def function(self, module: Any, entry: str, shared_bytes: int) -> Any:
        """Return a kernel of a module, allowed that much dynamic shared memory."""

    def usage(self, function: Any) -> Usage:
        """Return what a kernel takes."""

    def prepare(self, launch: Launch) -> Action:
        """Pack the arguments once and return what launches the kernel, cheaply."""

    def event(self) -> Event:
        """Return a new event."""

    def close(self) -> None:
        """Give up the context; never raises."""
