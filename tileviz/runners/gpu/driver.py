"""The one file that imports PyCUDA: a device of the machine, in a process that owns its context."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tileviz.cuda.kernel import Array
from tileviz.runners.gpu.arguments import pack
from tileviz.runners.gpu.device import Action, DeviceError, Event, Facts, Launch, Usage

DEVICE_VARIABLE = "TILEVIZ_GPU"


def _load() -> Any:
    """Import PyCUDA's driver binding.

    Raises:
        DeviceError: It is missing, or does not load here.
    """
    # The same device has the same number in every process, as in nvidia-smi.
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    try:
        import pycuda.driver as driver
    except ImportError as error:
        raise DeviceError(str(error)) from error
    return driver


def _library() -> str:
    import pycuda

    return f"PyCUDA {pycuda.VERSION_TEXT}"


def ordinal() -> int:
    """Return the number of the device to use: ``TILEVIZ_GPU``, or 0.

    Raises:
        DeviceError: The variable holds no number.
    """
    text = os.environ.get(DEVICE_VARIABLE, "0")
    if not text.isdecimal():
        raise DeviceError(f"{DEVICE_VARIABLE} must be the number of a device, not {text!r}")
    return int(text)


def look() -> Facts:
    """Return what the chosen device says of itself, without making a context.

    Raises:
        DeviceError: There is no driver, no device, or no PyCUDA that loads.
    """
    driver = _load()
    try:
        driver.init()
        return _facts(driver, driver.Device(ordinal()))
    except driver.Error as error:
        raise DeviceError(str(error)) from error


def _facts(driver: Any, device: Any) -> Facts:
    names = driver.device_attribute

    def attribute(name: str) -> int:
        known = getattr(names, name, None)
        return 0 if known is None else int(device.get_attribute(known))

    return Facts(
        name=device.name(),
        capability=tuple(device.compute_capability()),
        driver=driver.get_driver_version(),
        memory_bytes=device.total_memory(),
        multiprocessors=attribute("MULTIPROCESSOR_COUNT"),
        l2_bytes=attribute("L2_CACHE_SIZE"),
        shared_bytes=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        clock_mhz=attribute("CLOCK_RATE") / 1000,
        display=bool(attribute("KERNEL_EXEC_TIMEOUT")),
        library=_library(),
    )


class _Event:
    """An event of the default stream."""

    def __init__(self, owner: PycudaDevice) -> None:
        self._owner = owner
        with owner.translated():
            self._event = owner.driver.Event()

    def record(self) -> None:
        """Put the point behind everything launched so far."""
        try:  # cheaper than a context manager: this stands between two launches
            self._event.record()
        except self._owner.driver.Error as error:
            raise self._owner.translate(error) from error

    def ready(self) -> bool:
        """Return whether the device has passed it."""
        with self._owner.translated():
            return bool(self._event.query())

    def since(self, earlier: _Event) -> float:
        """Return the microseconds since an earlier event."""
        with self._owner.translated():
            return float(self._event.time_since(earlier._event)) * 1e3


class PycudaDevice:
    """The device ``TILEVIZ_GPU`` of this machine, with its primary context made current.

    Raises:
        DeviceError: There is none that can be used.
    """

    def __init__(self) -> None:
        self.driver = _load()
        self._memory: dict[int, Any] = {}
        with self.translated():
            self.driver.init()
            device = self.driver.Device(ordinal())
            self.facts = _facts(self.driver, device)
            self._context = device.retain_primary_context()
            self._context.push()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn PyCUDA's errors into ours, and find out whether the context is lost."""
        try:
            yield
        except self.driver.Error as error:
            raise self.translate(error) from error

    def translate(self, error: Exception) -> DeviceError:
        """Return our error for one of PyCUDA's."""
        # No class or code tells: after a sticky error every further call fails.
        try:
            self.driver.Context.synchronize()
        except self.driver.Error:
            return DeviceError(str(error), fatal=True)
        return DeviceError(str(error))

    def free_bytes(self) -> int:
        """Return the free device memory, in bytes."""
        with self.translated():
            return int(self.driver.mem_get_info()[0])

    def allocate(self, size: int) -> int:
        """Return the address of new memory."""
        with self.translated():
            allocation = self.driver.mem_alloc(max(size, 1))
        address = int(allocation)
        self._memory[address] = allocation
        return address

    def release(self, address: int) -> None:
        """Free memory; a failure is only printed."""
        allocation = self._memory.pop(address, None)
        if allocation is not None:
            try:
                allocation.free()
            except self.driver.Error as error:
                # The context is lost and this process about to end: nothing can be freed.
                print(f"not freed: {error}", file=sys.stderr)

    def write(self, address: int, data: Array) -> None:
        """Copy an array to the device."""
        if data.size:
            with self.translated():
                self.driver.memcpy_htod(address, np.ascontiguousarray(data))

    def read(self, address: int, size: int) -> Array:
        """Return bytes of the device."""
        content = np.empty(size, np.uint8)
        if size:
            with self.translated():
                self.driver.memcpy_dtoh(content, address)
        return content

    def fill(self, address: int, value: int, size: int) -> None:
        """Set bytes, in stream order."""
        if size:
            with self.translated():
                self.driver.memset_d8_async(address, value, size)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy on the device, in stream order."""
        if size:
            with self.translated():
                self.driver.memcpy_dtod_async(target, source, size)

    def load(self, image: bytes) -> Any:
        """Load machine code or PTX."""
        with self.translated():
            return self.driver.module_from_buffer(image)

    def function(self, module: Any, entry: str, shared_bytes: int) -> Any:
        """Return a kernel of a module."""
        names = self.driver.function_attribute
        with self.translated():
            function = module.get_function(entry)
            if shared_bytes:  # past 48 KiB a kernel must be allowed what it asks for
                function.set_attribute(names.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes)
            return function

    def usage(self, function: Any) -> Usage:
        """Return what a kernel takes."""
        names = self.driver.function_attribute
        with self.translated():
            return Usage(
                int(function.get_attribute(names.NUM_REGS)),
                int(function.get_attribute(names.LOCAL_SIZE_BYTES)),
                int(function.get_attribute(names.SHARED_SIZE_BYTES)),
            )

    def prepare(self, launch: Launch) -> Action:
        """Return what launches the kernel."""
        # A tenth of the cost of PyCUDA's own call: else the queue runs dry and events time Python.
        start = launch.function._launch_kernel
        packed = pack(launch.arguments)
        grid, block, shared = launch.grid, launch.block, launch.shared_bytes
        error_class = self.driver.Error

        def run() -> None:
            try:
                start(grid, block, packed, shared, None)
            except error_class as error:
                raise self.translate(error) from error

        return run

    def event(self) -> Event:
        """Return a new event."""
        return _Event(self)

    def close(self) -> None:
        """Give up the context; a failure is only printed."""
        try:
            self._context.pop()
        except self.driver.Error as error:
            print(f"the context was lost: {error}", file=sys.stderr)
